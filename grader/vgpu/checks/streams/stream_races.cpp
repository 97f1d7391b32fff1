#include "vgpu/checks/streams/stream_races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "vgpu/checks/race.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

/// What is kept in all: pieces of work, and spans.
constexpr std::size_t most_kept = 1u << 15, most_kept_spans = 1u << 20;
/// Work that touches the same again and again is kept once, as far as it is among the latest of its stream.
constexpr std::size_t latest = 4;
/// Arrays in which work may be found to race with another stream.
constexpr std::size_t most_arrays = 8;

}  // namespace

std::string name_of(const Stream& stream) {
  if (stream.is_legacy()) return "the default stream";
  if (stream.is_branch) return fmt::format("branch {} of a graph", stream.number % Stream::most_branches);
  return fmt::format("{} #{}", stream.is_per_thread ? "the default stream of thread" : "stream", stream.number);
}

std::string StreamRaces::name_of(const Done& done) {
  return done.kernel.empty() ? std::string(done.work.call) : "kernel " + ptx::source_name(done.kernel.c_str());
}

bool StreamRaces::Done::is_call_of(std::string_view name) const {
  return kernel.empty() && work.call == name;
}

bool StreamRaces::Done::is_same_as(const Done& other) const {
  return kernel == other.kernel && std::string_view(work.call) == other.work.call && work.host == other.work.host &&
         has_fence == other.has_fence && hears_host == other.hears_host && has_host_fence == other.has_host_fence &&
         may_be_heard == other.may_be_heard && spans == other.spans;
}

StreamRaces::StreamRaces(Memory& memory, GlobalRaces& launches) : memory_(memory), launches_(launches) {
  memory_.listen(this);
  launches_.at_end = [this](const KernelInfo& kernel) { launched(kernel); };
}

StreamRaces::~StreamRaces() {
  launches_.at_end = nullptr;
  memory_.ignore(this);
}

FindingList StreamRaces::findings() const {
  FindingList all = findings_;
  for (const auto& [access, finding] : suspected_) all.add(finding);
  return all;
}

std::vector<Breach> StreamRaces::breaches() const {
  std::vector<Breach> all;
  if (!left_out().empty())
    all.push_back({Breach::What::work_order, {}});
  else if (meeting_)
    all.push_back(*meeting_);
  if (exchange_) all.push_back(*exchange_);
  if (function_) all.push_back(*function_);
  return all;
}

void StreamRaces::reset() {
  meeting_.reset();
  exchange_.reset();
  function_.reset();
  suspected_.clear();
  findings_.clear();
  reported_.clear();
  left_out_.clear();
  host_waited_for_all();
}

void StreamRaces::give_up(const char* why) {
  left_out_ = why;
  is_lost_ = true;
  now_.reset();
  done_.clear();
  kept_ = kept_spans_ = 0;
}

// --- the order -------------------------------------------------------------------------------------------------------

void StreamRaces::recorded(std::uint64_t event, const Stream& stream) {
  if (!order_.record(event, stream)) give_up("there are too many events or streams to follow");
}

void StreamRaces::waits(const Stream& stream, std::uint64_t event) {
  if (!order_.wait(stream, event)) give_up("there are too many streams to follow");
}

void StreamRaces::host_waited(const Stream& stream) {
  order_.host_waits(stream);
  forget_known();
}

void StreamRaces::host_waited(std::uint64_t event) {
  order_.host_waits(event);
  forget_known();
}

void StreamRaces::host_waited_for_all() {
  settle(nullptr);
  order_.host_waits_for_all();
  done_.clear();
  kept_ = kept_spans_ = 0;
}

/// What the host has waited for, it may have notified the function of. A function that is submitted when the work
/// already runs hardly waits for that: then what was known when it was submitted counts.
bool StreamRaces::is_open_to(std::uint64_t id, const Function& function, const Done& work) const {
  if (order_.comes_before(work.place, id)) return false;
  return work.moment < function.moment || !order_.is_known_to_host(work.place);
}

void StreamRaces::forget_known() {
  const auto is_open_to_function = [&](const Done& work) {
    return std::ranges::any_of(functions_, [&](const auto& f) { return is_open_to(f.first, f.second, work); });
  };
  for (std::deque<Done>& line : done_)
    while (!line.empty() && order_.is_known_to_host(line.front().place) && !is_open_to_function(line.front())) {
      --kept_;
      kept_spans_ -= line.front().spans.size();
      line.pop_front();
    }
}

// --- a piece of work -------------------------------------------------------------------------------------------------

void StreamRaces::work_begin(const Work& work) {
  settle(nullptr);
  now_.reset();
  released_.reset();
  if (is_lost_) return;
  Done done;
  done.work = work;
  done.moment = ++moment_;
  if (!order_.submit(work.stream, work.host, done.place)) return give_up("there are too many streams to follow");
  now_ = std::move(done);
  spans_.clear();
  if (work.read_too) touch(work.read_too, work.bytes_too, How::Kind::read);
  if (work.written_too) touch(work.written_too, work.bytes_too, How::Kind::write);
}

void StreamRaces::touch(Address address, std::uint64_t bytes, How::Kind kind) {
  if (!now_) return;
  AccessSite site;
  site.how.kind = kind;
  spans_.add(address, 0, 1, bytes, site);
}

void StreamRaces::copied(Address to, Address from, std::uint64_t bytes) {
  touch(from, bytes, How::Kind::read);
  touch(to, bytes, How::Kind::write);
}

/// cudaMallocAsync: before it, in the order of its stream, there is no such memory.
void StreamRaces::allocated(const Allocation& a) {
  if (HostPlace place = std::exchange(comes_, {}); !place.empty() && allocated_at_.size() < most_kept)
    allocated_at_[a.base] = std::move(place);
  else
    allocated_at_.erase(a.base);
  if (now_ && now_->work.call == allocates) touch(a.base, a.size, How::Kind::write);
}

void StreamRaces::released(const Allocation& a) {
  if (!now_ || now_->work.call != frees) return;
  touch(a.base, a.size, How::Kind::write);
  released_ = a;
}

std::string StreamRaces::label_of(const Allocation& array) const {
  std::string label = array.label;
  const auto made = allocated_at_.find(array.base);
  const std::size_t number = label.find(" #");
  if (made == allocated_at_.end() || !source_of || number == label.npos) return label;
  SourcePlace place = source_of(made->second);
  place.file.erase(0, place.file.rfind('/') + 1);
  if (place.line != 0) label.insert(std::min(label.find(" (", number), label.size()), " in " + place_text(place));
  return label;
}

void StreamRaces::launched(const KernelInfo& kernel) {
  if (!now_) return;
  now_->kernel = kernel.name;
  now_->module = kernel.module;
  now_->has_fence = launches_.has_fence();
  launches_.collect(spans_);
  for (const std::uint32_t line : launches_.guesses()) guesses_.emplace(kernel.module, line);
}

void StreamRaces::work_end() {
  if (!now_) return;
  if (spans_.is_too_large()) {
    left_out_ = fmt::format("kernel {} touches too many separate places", ptx::source_name(now_->kernel.c_str()));
    spans_.clear();
  }
  now_->spans = spans_.list();
  if (now_->module) note_signals();
  now_->reach.reserve(now_->spans.size());
  Address reach = 0;
  for (const AccessedSpan& t : now_->spans) now_->reach.push_back(reach = std::max(reach, t.span.end));
  if (!now_->spans.empty()) {
    for (std::size_t line = 0; line < done_.size(); ++line) {
      if (line == now_->place.line) continue;
      std::vector<Address> reported;
      for (auto earlier = done_[line].rbegin(); earlier != done_[line].rend(); ++earlier) {
        if (order_.comes_after(earlier->place)) break;
        compare_with(*earlier, reported);
      }
    }
    keep();
  }
  now_.reset();
  forget_known();
}

void StreamRaces::note_signals() {
  bool has_strong = false, is_watched = true, has_plain = false;
  for (const AccessedSpan& t : now_->spans) {
    const bool writes = t.site.how.writes();
    if (!t.site.how.is_for_host && !(writes && launches_.has_signal_for_host())) continue;
    const Allocation* const a = memory_.find(t.span.begin, 1);
    // A __managed__ variable is shared when the host first uses it, which may be later.
    const bool is_variable = a && a->label.starts_with("__managed__");
    if (!a || !(a->shared || a->on_host || is_variable)) continue;
    now_->hears_host |= !writes;
    has_strong |= writes && t.site.how.is_for_host;
    has_plain |= writes && !t.site.how.is_for_host;
    // The program's side sees uses of what it finds by the launch's parameters.
    const auto is_in = [&](Address argument) { return a->contains(argument, 1); };
    is_watched &= is_variable || std::ranges::any_of(now_->work.arguments, is_in);
  }
  now_->has_host_fence = launches_.has_fence_for_host();
  now_->may_be_heard = has_strong ? !is_watched : has_plain;
}

void StreamRaces::keep() {
  if (order_.is_known_to_host(now_->place)) return;
  const std::size_t line = now_->place.line;
  if (done_.size() <= line) done_.resize(line + 1);
  std::deque<Done>& done = done_[line];
  const auto oldest = done.end() - static_cast<std::ptrdiff_t>(std::min(done.size(), latest));
  // Whatever races with the earlier of two alike races with the later one too.
  if (const auto alike = std::find_if(oldest, done.end(), [&](const Done& d) { return d.is_same_as(*now_); });
      alike != done.end()) {
    --kept_;
    kept_spans_ -= alike->spans.size();
    done.erase(alike);
  }
  ++kept_;
  kept_spans_ += now_->spans.size();
  done.push_back(*std::move(now_));
  if (kept_ <= most_kept && kept_spans_ <= most_kept_spans) return;
  left_out_ = "the host waits for nothing for too long: the earliest work was forgotten";
  for (std::deque<Done>& all : done_)
    for (std::size_t half = (all.size() + 1) / 2; half > 0; --half) {
      --kept_;
      kept_spans_ -= all.front().spans.size();
      all.pop_front();
    }
}

// --- two pieces of work ----------------------------------------------------------------------------------------------

/// The later kernel may have waited for a flag of the earlier one: it looks, with a fence, where that one, with a
/// fence, has set something. Then threads order themselves.
bool StreamRaces::is_by_flags(const Done& earlier) const {
  if (!earlier.has_fence || !now_->has_fence) return false;
  for (const AccessedSpan& look : now_->spans) {
    if (!look.site.how.is_strong || look.site.how.writes()) continue;
    for (const AccessedSpan& set : earlier.spans)
      if (set.site.how.is_strong && set.site.how.writes() && first_common_byte(look.span, set.span)) return true;
  }
  return false;
}

bool StreamRaces::may_race(const Done& earlier, const AccessedSpan& first, const AccessedSpan& second) const {
  const auto site = [&](const Done& done, const AccessedSpan& accessed) {
    GlobalHow how = accessed.site.how;
    how.is_strong |= !how.writes() && done.module && guesses_.contains({done.module, accessed.site.line});
    return how;
  };
  return can_race(first.site.how, second.site.how) && can_race(site(earlier, first), site(*now_, second));
}

SourcePlace StreamRaces::place_of(const Done& work, const AccessedSpan& touched) const {
  if (work.module) return own_place(*work.module, touched.site.line);
  SourcePlace place;
  if (source_of) place = source_of(work.work.place);
  if (place.line == 0) place.function = name_of(work);
  return place;
}

void StreamRaces::compare_with(Done& earlier, std::vector<Address>& reported) {
  if (earlier.reach.back() <= now_->spans.front().span.begin || now_->reach.back() <= earlier.spans.front().span.begin)
    return;
  const bool has_own_order = earlier.may_be_ordered() || now_->hears_host;
  std::optional<bool> by_flags;
  for (const AccessedSpan& later : now_->spans) {
    const auto from = std::ranges::upper_bound(earlier.reach, later.span.begin) - earlier.reach.begin();
    for (auto first = earlier.spans.begin() + from; first != earlier.spans.end() && first->span.begin < later.span.end;
         ++first) {
      if (!first->site.how.writes() && !later.site.how.writes()) continue;
      const bool is_race = !has_own_order && may_race(earlier, *first, later);
      if (!is_race && meeting_) continue;
      const std::optional<Address> byte = first_common_byte(first->span, later.span);
      if (!byte) continue;
      if (!meeting_) meeting_ = {Breach::What::work_order, place_of(*now_, later), place_of(earlier, *first)};
      if (!is_race) continue;
      if (!by_flags) by_flags = is_by_flags(earlier);
      if (*by_flags || reported.size() == most_arrays) return;
      const Allocation* const array = released_ && released_->contains(*byte, 1) ? &*released_ : memory_.find(*byte, 1);
      // The heap's memory goes from thread to thread by ways that are not observed.
      if (!array || array->on_heap || std::ranges::find(reported, array->base) != reported.end()) continue;
      reported.push_back(array->base);
      const std::pair pair(now_->place.line, array->base);
      if (std::ranges::find(earlier.reported, pair) != earlier.reported.end()) continue;
      earlier.reported.push_back(pair);
      findings_.add(describe(earlier, *first, later, *array, *byte));
    }
  }
}

std::string StreamRaces::vain_wait(const Stream& needed) const {
  using enum StreamOrder::LastWait;
  if (now_->work.stream.is_branch) return "";  // the program has not written what that waits for
  switch (order_.last_wait()) {
    case unrecorded:
      return "an event that had not been recorded yet, so for nothing";
    case own:
      return "an event of its own, which it comes after anyway";
    case other:
      if (order_.waited_for() == needed) return "";  // one of an earlier round
      return fmt::format("an event of {} only", vgpu::name_of(order_.waited_for()));
    case none:
      break;
  }
  return "";
}

Finding StreamRaces::describe(const Done& earlier, const AccessedSpan& first, const AccessedSpan& second,
                              const Allocation& array, Address byte) const {
  const Done& later = *now_;
  const Hazard hazard = hazard_between(first.site.how, second.site.how);
  Finding f;
  f.id = "race.global";
  f.kind = vgpu::name_of(hazard);
  f.kernel = later.kernel.empty() && earlier.kernel.empty()
                 ? std::string()
                 : ptx::source_name((later.kernel.empty() ? earlier : later).kernel.c_str());
  f.variable = array.label.substr(0, array.label.find(" #"));
  // Copies count bytes: the other side knows how large an element is.
  const std::uint32_t bytes = earlier.module && later.module ? std::min(first.site.bytes, second.site.bytes)
                                                             : std::max(first.site.bytes, second.site.bytes);
  f.element = (byte - array.base) / bytes;
  const bool are_branches = earlier.work.stream.is_branch && later.work.stream.is_branch;
  f.headline = fmt::format("RACE ({}): {} {} of {}, {} and {} in two {}", f.kind,
                           earlier.module || later.module ? "element" : "byte", *f.element, label_of(array),
                           name_of(earlier), name_of(later), are_branches ? "branches of a graph" : "streams");
  f.parts = parts_of_work(earlier, first);
  std::ranges::move(parts_of_work(later, second), std::back_inserter(f.parts));
  const std::string a = vgpu::name_of(earlier.work.stream), b = vgpu::name_of(later.work.stream);
  const std::string what = later.is_call_of(frees)         ? "it may be freed while it is still in use"
                           : earlier.is_call_of(allocates) ? "it may be used before it is there"
                                                           : may_happen(hazard);
  if (earlier.work.host == Work::Host::has_waited) {
    f.weight = Finding::Weight::advice;
    f.headline.replace(0, f.headline.find(':'), "RACE (advice)");
    f.advice = fmt::format(
        "cudaMemcpy from pageable memory may return while its last bytes are still on their way, and {} does not wait "
        "for {}: synchronise in between (cudaStreamSynchronize), or copy in {}",
        b, a, b);
    return f;
  }
  if (order_.has_waited_too_early(earlier.place)) {
    f.details.push_back(fmt::format("{} waits for an event of {} that was recorded before this", b, a));
    f.advice = fmt::format(
        "so {}: call cudaEventRecord behind the first of the two, and cudaStreamWaitEvent behind that", what);
    return f;
  }
  if (const std::string wait = vain_wait(earlier.work.stream); !wait.empty())
    f.details.push_back(fmt::format("{} waits for {}", b, wait));
  if (are_branches) {
    f.advice = fmt::format(
        "{} does not wait for {}: {}; put cudaEventRecord and cudaStreamWaitEvent between the two, or capture both in "
        "one stream",
        b, a, what);
    return f;
  }
  const bool is_about_default = earlier.work.stream.is_legacy() || later.work.stream.is_legacy();
  f.advice = fmt::format(
      "{} does not wait for {}{}: {}; put cudaEventRecord and cudaStreamWaitEvent between the two, or a "
      "synchronisation, or use one stream for both",
      b, a, is_about_default ? ", as one of them is cudaStreamNonBlocking" : "", what);
  return f;
}

}  // namespace scanlab::vgpu
