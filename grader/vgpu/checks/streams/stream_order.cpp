#include "vgpu/checks/streams/stream_order.hpp"

#include <algorithm>

namespace scanlab::vgpu {

void StreamOrder::Clock::set(std::size_t line, std::uint64_t number) {
  if (done_.size() <= line) done_.resize(line + 1);
  done_[line] = number;
}

void StreamOrder::Clock::join(const Clock& other) {
  if (done_.size() < other.done_.size()) done_.resize(other.done_.size());
  for (std::size_t k = 0; k < other.done_.size(); ++k) done_[k] = std::max(done_[k], other.done_[k]);
}

StreamOrder::Line* StreamOrder::line_of(const Stream& stream) {
  const auto known = line_by_name_.find(name_of(stream));
  if (known != line_by_name_.end()) return &lines_[known->second];
  const auto is_free = [&](const Line& line) {
    return line.is_dropped && host_.at(static_cast<std::size_t>(&line - lines_.data())) >= line.count;
  };
  auto line = std::ranges::find_if(lines_, is_free);
  if (line == lines_.end()) {
    if (lines_.size() == most_streams) return nullptr;
    line = lines_.insert(lines_.end(), Line{});
  }
  line->stream = stream;
  line->known = line->waits = {};
  line->last_wait = LastWait::none;
  line->is_dropped = false;
  line_by_name_.emplace(name_of(stream), static_cast<std::size_t>(line - lines_.begin()));
  return &*line;
}

StreamOrder::Line* StreamOrder::arrive(const Stream& stream) {
  Line* const line = line_of(stream);
  if (!line) return nullptr;
  line->known.join(host_);
  if (stream.is_legacy()) {
    for (const Line& other : lines_)
      if (!other.stream.is_non_blocking && &other != line) line->known.join(other.known);
  } else if (!stream.is_non_blocking) {
    const auto legacy = line_by_name_.find(name_of(Stream{}));
    if (legacy != line_by_name_.end()) line->known.join(lines_[legacy->second].known);
  }
  return line;
}

bool StreamOrder::submit(const Stream& stream, Work::Host host, Place& place) {
  Line* const line = arrive(stream);
  if (!line) return false;
  if (host == Work::Host::has_waited) host_.join(line->known);
  known_ = line->known;
  waits_ = line->waits;
  last_wait_ = line->last_wait;
  waited_for_ = line->waited_for;
  place = {static_cast<std::size_t>(line - lines_.data()), ++line->count};
  line->known.set(place.line, place.number);
  if (host == Work::Host::waits) host_.join(line->known);
  return true;
}

bool StreamOrder::has_waited_too_early(const Place& place) const {
  const std::uint64_t waited = waits_.at(place.line);
  return waited > host_.at(place.line) && waited <= place.number;
}

bool StreamOrder::record(std::uint64_t event, const Stream& stream) {
  const Line* const line = arrive(stream);
  if (!line || (events_.size() >= most_events && !events_.contains(event))) return false;
  events_[event] = {line->known, static_cast<std::size_t>(line - lines_.data()), line->count};
  return true;
}

bool StreamOrder::wait(const Stream& stream, std::uint64_t event) {
  Line* const line = arrive(stream);
  if (!line) return false;
  const auto recorded = events_.find(event);
  line->last_wait = LastWait::unrecorded;
  if (recorded == events_.end()) return true;
  const Event& event_then = recorded->second;
  line->known.join(event_then.known);
  line->waits.set(event_then.line, event_then.number + 1);
  line->waited_for = lines_[event_then.line].stream;
  line->last_wait = line->waited_for == stream ? LastWait::own : LastWait::other;
  return true;
}

void StreamOrder::host_waits(const Stream& stream) {
  // To wait for a stream is no work in it: it does not wait for others first. Only the legacy stream's end is also that
  // of the blocking ones (both as measured on an H200 with CUDA 13.0).
  if (stream.is_legacy()) {
    if (const Line* const line = arrive(stream)) host_.join(line->known);
  } else if (const auto line = line_by_name_.find(name_of(stream)); line != line_by_name_.end()) {
    host_.join(lines_[line->second].known);
  }
}

void StreamOrder::host_waits(std::uint64_t event) {
  if (const auto recorded = events_.find(event); recorded != events_.end()) host_.join(recorded->second.known);
}

void StreamOrder::host_waits_for_all() {
  for (const Line& line : lines_) host_.set(static_cast<std::size_t>(&line - lines_.data()), line.count);
}

void StreamOrder::host_knows_begun(const Place& place) {
  if (host_.at(place.line) + 1 < place.number) host_.set(place.line, place.number - 1);
}

void StreamOrder::drop(const Stream& stream) {
  const auto line = line_by_name_.find(name_of(stream));
  if (line == line_by_name_.end()) return;
  lines_[line->second].is_dropped = true;
  line_by_name_.erase(line);
}

}  // namespace scanlab::vgpu
