#include "vgpu/core/memory/views.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace scanlab::vgpu {

void Views::forget_threads() {
  causality_.forget_threads();
  stale_.forget_threads();
}

bool Views::knows_newest(Address address, std::uint64_t bytes, const Actor& actor, unsigned lane) const {
  const KnownWrites& known = causality_.thread(actor, lane).now;
  bool all = true;
  locations_.for_each_in(address, bytes, [&](std::uint32_t location) {
    all = all && known.of(location) == locations_[location].newest();
  });
  return all;
}

// --- strong accesses -------------------------------------------------------------------------------------------------

MemoryChooser::Answer Views::begin(const StrongAccess& access, MemoryChooser::Answer::Effect effect) {
  MemoryChooser::Answer answer;
  answer.effect = effect;
  answer.by = access.operation();
  answer.location = locations_.at(access.address, access.bytes, access.actor.line);
  return answer;
}

unsigned Views::chosen(MemoryChooser::Kind kind, std::uint32_t location, std::span<const std::uint32_t> writes,
                       const StrongOperation& by) {
  return writes.size() == 1 ? 0 : chooser_.choose({kind, location, writes, &by});
}

/// If the access releases, `t`, which is the thread's view or a copy, releases what it knows.
void Views::release(ThreadView& t, std::uint32_t location, const StrongAccess& access) {
  if (!access.releases()) return;
  causality_.publish(t, access.actor, access.lane);
  t.release(location, access.reach());
}

/// The thread has read the write of its choice.
void Views::note_read(ThreadView& t, const MemoryChooser::Answer& answer, const LocationWrite& w,
                      const StrongAccess& access) {
  if (t.now.of(answer.location) != answer.read) t.now.set({answer.location, answer.read});
  t.observe(answer.location, w, access, locations_);
  stale_.read(access.actor, access.lane, answer.by, {answer.location, answer.read});
}

/// The thread makes its next write. `before` is the write that a read-modify-write has read.
LocationWrite Views::make_write(ThreadView& t, MemoryChooser::Answer& answer, const StrongAccess& access,
                                const LocationWrite* before) {
  LocationWrite w;
  w.turn = t.turn();
  answer.by.number = ++t.writes;
  w.writer = answer.by;
  w.reach = access.reach();
  w.is_strong = true;
  w.is_tied = before;
  release(t, answer.location, access);
  w.message = t.message(answer.location, access, before, locations_);
  return w;
}

/// Writes where accesses of different sizes overlap.
void Views::write_mixed(std::uint32_t location, const StrongAccess& access,
                        const std::shared_ptr<const LocationWrite::Message>& message, const std::byte* from) {
  LocationWrite& all = locations_[location].all();
  if (message) {
    LocationWrite::Message joined = *all.message;
    joined.join(*message, locations_);
    all.message = std::make_shared<const LocationWrite::Message>(std::move(joined));
  }
  std::memcpy(memory_.host(access.address), from, access.bytes);
}

void Views::note_initial(const Location& at, const StrongAccess& access) const {
  if (on_initial && !allowed_.empty() && at.of(allowed_.back()).writer.is_initial()) on_initial(access);
}

bool Views::read(const StrongAccess& access, std::byte* to) {
  ThreadView& t = causality_.learning_thread(access.actor, access.lane);
  MemoryChooser::Answer answer = begin(access, MemoryChooser::Answer::Effect::read);
  const std::uint32_t location = answer.location;
  const Location& at = locations_[location];
  if (at.is_mixed()) {
    std::memcpy(to, memory_.host(access.address), access.bytes);
    t.observe(location, at.all(), access, locations_);
    chooser_.happened(answer);
    return true;
  }
  locations_.offer(allowed_, location, t.now.of(location), access.actor.line, [](std::size_t) { return true; });
  note_initial(at, access);
  answer.allowed = allowed_;
  answer.chosen = chosen(MemoryChooser::Kind::read, location, allowed_, answer.by);
  answer.read = allowed_[answer.chosen];
  const bool is_newest = answer.chosen == 0;
  std::memcpy(to, locations_.value_of(location, answer.read).data(), access.bytes);
  if (!is_newest) stale_.stale_read(access, answer.by, {location, answer.read});
  note_read(t, answer, at.of(answer.read), access);
  chooser_.happened(answer);
  return is_newest;
}

void Views::write(const StrongAccess& access, const std::byte* from) {
  ThreadView& t = causality_.learning_thread(access.actor, access.lane);
  MemoryChooser::Answer answer = begin(access, MemoryChooser::Answer::Effect::write);
  const std::uint32_t location = answer.location;
  LocationWrite w = make_write(t, answer, access, nullptr);
  const Location& at = locations_[location];
  if (at.is_mixed()) {
    write_mixed(location, access, w.message, from);
    chooser_.happened(answer);
    return;
  }
  locations_.offer(placed_, location, t.now.of(location), access.actor.line,
                   [&](std::size_t k) { return at.has_place_behind(k); });
  answer.placed = placed_;
  answer.chosen_place = chosen(MemoryChooser::Kind::place, location, placed_, answer.by);
  if (answer.chosen_place == 0) {
    answer.written = locations_.append(location, std::move(w), access.actor.line);
    std::memcpy(memory_.host(access.address), from, access.bytes);
  } else {
    std::memcpy(w.value.data(), from, access.bytes);
    answer.written = locations_.insert(location, placed_[answer.chosen_place], std::move(w));
  }
  t.now.set({location, answer.written});
  chooser_.happened(answer);
}

/// Whether it can matter if `w` is read, or the thread's own write right behind it, of the same value.
bool Views::is_seen_behind(const ThreadView& t, std::uint32_t location, const LocationWrite& w,
                           const StrongAccess& access) {
  if (!w.message && !access.releases() && !t.has_released_to(location)) return false;
  ThreadView as = t;
  as.observe(location, w, access, locations_);
  LocationWrite own;
  own.writer = access.operation();
  own.reach = access.reach();
  own.is_strong = true;
  release(as, location, access);
  own.message = as.message(location, access, &w, locations_);
  const ValueRanks ranks(locations_, location);
  return !own.carries_no_more_than(w, ranks) || !w.carries_no_more_than(own, ranks);
}

bool Views::update(const StrongAccess& access, const Compute& now, std::byte* old) {
  using Effect = MemoryChooser::Answer::Effect;
  ThreadView& t = causality_.learning_thread(access.actor, access.lane);
  MemoryChooser::Answer answer = begin(access, Effect::update);
  const std::uint32_t location = answer.location;
  std::byte* const host = memory_.host(access.address);
  std::array<std::byte, 16> before{}, after{};
  bool writes = false, changes = false;
  const auto compute = [&](const std::byte* value) {
    std::memcpy(before.data(), value, access.bytes);
    writes = now(before.data(), after.data());
    changes = std::memcmp(before.data(), after.data(), access.bytes) != 0;
  };
  const Location& at = locations_[location];
  if (at.is_mixed()) {
    compute(host);
    std::memcpy(old, before.data(), access.bytes);
    t.observe(location, at.all(), access, locations_);
    release(t, location, access);
    write_mixed(location, access, t.message(location, access, nullptr, locations_), after.data());
    chooser_.happened(answer);
    return changes;
  }
  // An atomic that leaves the value as it was writes nothing, unless its write can be told from the one that it reads.
  const auto effect_on = [&](std::uint32_t read) {
    compute(locations_.value_of(location, read).data());
    return changes || (writes && is_seen_behind(t, location, at.of(read), access)) ? Effect::update : Effect::read;
  };
  // Its write comes right behind the one that it reads, so there has to be a place.
  std::uint64_t number = 1;
  locations_.offer(allowed_, location, t.now.of(location), access.actor.line, [&](std::size_t k) {
    const bool updates = effect_on(at.order()[k]) == Effect::update;
    answer.may_update |= updates;
    if (updates && !at.has_place_behind(k)) return false;
    if (updates) answer.updating |= number;
    number <<= 1;
    return true;
  });
  note_initial(at, access);
  answer.allowed = allowed_;
  answer.chosen = chosen(MemoryChooser::Kind::update, location, allowed_, answer.by);
  answer.read = allowed_[answer.chosen];
  const bool is_newest = answer.chosen == 0;
  answer.effect = effect_on(answer.read);
  std::memcpy(old, before.data(), access.bytes);
  if (!is_newest && !changes) stale_.stale_read(access, answer.by, {location, answer.read});
  const LocationWrite read = at.of(answer.read);
  note_read(t, answer, read, access);
  if (answer.effect == Effect::update) {
    LocationWrite w = make_write(t, answer, access, &read);
    w.is_repeat = !changes;
    if (is_newest) {
      answer.written = locations_.append(location, std::move(w), access.actor.line);
      std::memcpy(host, after.data(), access.bytes);
    } else {
      w.value = after;
      answer.written = locations_.insert(location, answer.read, std::move(w));
    }
    t.now.set({location, answer.written});
  } else if (writes) {
    release(t, location, access);  // its later writes there carry what it releases here
  }
  chooser_.happened(answer);
  return changes || !is_newest;
}

void Views::fence(const Actor& actor, Mask mask, Access::Scope scope, Fence kind) {
  for (const unsigned lane : lanes_in(mask)) {
    stale_.fence(actor, lane);
    causality_.fence(actor, lane, reach_of(scope), kind);
    if (kind != Fence::sequential) continue;
    MemoryChooser::Answer answer;
    answer.effect = MemoryChooser::Answer::Effect::fence;
    answer.by = StrongOperation::of(actor, lane);
    chooser_.happened(answer);
  }
}

// --- what it hears as an observer ------------------------------------------------------------------------------------

void Views::block_begin(std::uint64_t block, std::uint32_t slot) {
  causality_.begin_block(block, slot);
  stale_.begin_block(slot);
}

/// Calls visit(view, location, lane) where plain accesses meet locations of strong ones.
template <class Visit>
void Views::for_each_plain(const Access& a, Visit visit) {
  if (a.space != ptx::StateSpace::global || a.order != Access::Order::weak || locations_.is_empty()) return;
  for (const unsigned lane : lanes_in(a.mask))
    locations_.for_each_in(a.at(lane), a.bytes, [&](std::uint32_t location) {
      visit(causality_.learning_thread(a.actor, lane), location, lane);
    });
}

void Views::load(const Access& a) {
  if (a.space == ptx::StateSpace::shared && a.order != Access::Order::weak)
    return causality_.access_shared(a, true, false);
  for_each_plain(a, [&](ThreadView& t, std::uint32_t location, unsigned) {
    t.now.set({location, locations_[location].newest()});
  });
}

void Views::store(const Access& a) {
  if (a.space == ptx::StateSpace::shared && a.order != Access::Order::weak)
    return causality_.access_shared(a, false, true);
  for_each_plain(a, [&](ThreadView& t, std::uint32_t location, unsigned lane) {
    LocationWrite w;
    w.writer = StrongOperation::of(a.actor, lane);
    w.turn = t.turn();
    w.writer.number = StrongOperation::first_plain + t.plain_writes++;
    t.now.set({location, locations_.append(location, std::move(w), a.actor.line)});
  });
}

void Views::atomic(const Access& a) {
  // To look whether an mbarrier's phase is complete passes on nothing.
  const bool only_looks = a.phase && a.order == Access::Order::acquire;
  if (a.space == ptx::StateSpace::shared) causality_.access_shared(a, true, !only_looks);
}

}  // namespace scanlab::vgpu
