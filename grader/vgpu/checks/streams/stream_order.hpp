// Which work of a program comes after which, by CUDA's rules for streams: work of one stream goes on in its order; the
// legacy default stream waits for all blocking streams, and they for it; events pass on what a stream has done; what
// the host has waited for is before everything that it submits later.
//
// A clock holds for each stream how much of its work is known to be done. The host counts as one, however many threads
// it has: what one of them has waited for, the others may know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vgpu/core/run/work.hpp"

namespace scanlab::vgpu {

class StreamOrder {
 public:
  /// A piece of work: the `number`-th, from 1, of those in a line of work. Lines are streams; one that nothing can
  /// happen in any more passes its line on to another stream, which goes on with the numbers.
  struct Place {
    std::size_t line = 0;
    std::uint64_t number = 0;
  };

  /// Work of the stream begins; it comes after what the stream knows now. False: too many streams to follow.
  bool submit(const Stream& stream, Work::Host host, Place& place);
  /// Of the work that was submitted last: does it come after that?
  bool comes_after(const Place& place) const { return known_.at(place.line) >= place.number; }
  /// It does not, but its stream waits for an event of that one's stream: one that was recorded too early.
  bool has_waited_too_early(const Place& place) const;
  /// What its stream has waited for last: nothing; an event that was not recorded, or its own; that of `waited_for`.
  enum class LastWait : std::uint8_t { none, unrecorded, own, other };
  LastWait last_wait() const { return last_wait_; }
  const Stream& waited_for() const { return waited_for_; }
  /// All that is submitted from now on comes after it.
  bool is_known_to_host(const Place& place) const { return host_.at(place.line) >= place.number; }

  /// Was that known to be done where the event was recorded?
  bool comes_before(const Place& place, std::uint64_t event) const {
    const auto recorded = events_.find(event);
    return recorded == events_.end() || recorded->second.known.at(place.line) >= place.number;
  }

  /// False: there is too much to remember, and the order is not known from here on.
  bool record(std::uint64_t event, const Stream& stream);
  bool wait(const Stream& stream, std::uint64_t event);
  void host_waits(const Stream& stream);
  void host_waits(std::uint64_t event);
  void host_waits_for_all();
  /// The host knows that this work has begun: what was before it in its stream is done.
  void host_knows_begun(const Place& place);
  void drop(const Stream& stream);
  void drop(std::uint64_t event) { events_.erase(event); }

  /// Streams that have had work.
  std::size_t streams() const { return lines_.size(); }

 private:
  static constexpr std::size_t most_streams = 256, most_events = 1u << 16;

  class Clock {
   public:
    std::uint64_t at(std::size_t line) const { return line < done_.size() ? done_[line] : 0; }
    void set(std::size_t line, std::uint64_t number);
    void join(const Clock& other);

   private:
    std::vector<std::uint64_t> done_;
  };
  struct Line {
    Stream stream;
    std::uint64_t count = 0;  ///< of its work
    Clock known;              ///< what the stream's next work comes after
    Clock waits;              ///< for events of each line: how much work it had at the latest of them, + 1
    bool is_dropped = false;
    LastWait last_wait = LastWait::none;
    Stream waited_for;
  };

  static std::uint64_t name_of(const Stream& stream) {
    return std::uint64_t{stream.is_branch} << 33 | std::uint64_t{stream.is_per_thread} << 32 | stream.number;
  }
  /// Null when there are too many.
  Line* line_of(const Stream& stream);
  /// What an action in the stream comes after, now.
  Line* arrive(const Stream& stream);

  std::vector<Line> lines_;
  std::unordered_map<std::uint64_t, std::size_t> line_by_name_;
  struct Event {
    Clock known;
    std::size_t line = 0;
    std::uint64_t number = 0;  ///< of the line's work until then
  };
  std::unordered_map<std::uint64_t, Event> events_;
  Clock host_;
  Clock known_, waits_;  ///< of the work that was submitted last
  LastWait last_wait_ = LastWait::none;
  Stream waited_for_;
};

}  // namespace scanlab::vgpu
