#include "vgpu/core/memory/views.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "vgpu/core/warp/warp.hpp"

namespace scanlab::vgpu {
namespace {

constexpr std::uint64_t granule_bytes = 16;  // no strong access crosses one
constexpr std::size_t filter_bits = 1 << 16;

std::size_t filter_place(std::uint64_t granule) {
  return static_cast<std::size_t>(granule * 0x9E3779B97F4A7C15ull >> 48) % filter_bits;
}

bool is_strong(const Access& a) {
  return a.order != Access::Order::weak;
}
bool acquires(Access::Order order) {
  return order == Access::Order::acquire || order == Access::Order::acq_rel;
}
bool releases(Access::Order order) {
  return order == Access::Order::release || order == Access::Order::acq_rel;
}

using Message = LocationWrite::Message;

KnownWrites& of_block(Message& message, std::uint64_t block) {
  for (auto& [b, known] : message.blocks)
    if (b == block) return known;
  return message.blocks.emplace_back(block, KnownWrites{}).second;
}

void join_messages(Message& to, const Message& from, const WriteRanks& ranks) {
  to.device.join(from.device, ranks);
  for (const auto& [block, known] : from.blocks) of_block(to, block).join(known, ranks);
}

}  // namespace

// --- choosers --------------------------------------------------------------------------------------------------------

std::uint64_t RandomChooser::next() {
  // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

unsigned RandomChooser::choose(const Question& question) {
  const std::uint64_t r = next();
  const auto count = static_cast<unsigned>(question.writes.size());
  const auto any_but_newest = static_cast<unsigned>(1 + (r >> 32) % (count - 1));
  if (question.kind != Kind::read) return r & 7 ? 0 : any_but_newest;
  return r & 1 ? 0 : r & 2 ? count - 1 : any_but_newest;
}

// --- state -----------------------------------------------------------------------------------------------------------

struct Views::Location {
  Address address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t line = 0;  ///< of the first access
  /// Accesses of several sizes meet here: each reads the latest value, and knows what all before it have released.
  bool is_mixed = false;
  std::vector<LocationWrite> writes;  ///< in the order in which they were made; the first is the initial value
  std::vector<std::uint32_t> order;   ///< the same in modification order, by their numbers
  std::uint32_t forgotten = 0;        ///< how many came before the first of `writes`: no thread reads them any more

  /// A write by its number. One that is forgotten is older than all others.
  LocationWrite& of(std::uint32_t write) { return writes[write - forgotten]; }
  const LocationWrite& of(std::uint32_t write) const { return writes[write - forgotten]; }
  std::uint32_t rank(std::uint32_t write) const { return write < forgotten ? 0 : of(write).rank; }
  std::uint32_t count() const { return forgotten + static_cast<std::uint32_t>(writes.size()); }

  /// The writes to choose from of a thread which knows of `known`, the newest first: those for whose places in
  /// modification order is_offered(place) is true.
  template <class IsOffered>
  void offer(std::vector<std::uint32_t>& to, std::uint32_t known, IsOffered is_offered) const {
    to.clear();
    const std::size_t most = std::min(most_offered, order.size());
    const std::size_t oldest = std::max<std::size_t>(rank(known), order.size() - most);
    for (std::size_t k = order.size(); k-- > oldest;)
      if (is_offered(k)) to.push_back(order[k]);
  }
  bool is_newest(std::size_t place) const { return place + 1 == order.size(); }
  /// May another write come right behind this one?
  bool has_place_behind(std::size_t place) const { return is_newest(place) || !of(order[place + 1]).is_tied; }
  static constexpr std::size_t most_offered = 64;
  static constexpr std::size_t most_kept = 1024;
  /// Keeps the newer half, where modification order is that in which they were made.
  void forget() {
    if (order.back() != count() - 1 || !std::ranges::is_sorted(order)) return;
    const std::size_t half = order.size() / 2;
    forgotten = order[half];
    writes.erase(writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(half));
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half));
    for (std::size_t k = 0; k < order.size(); ++k) writes[k].rank = static_cast<std::uint32_t>(k);
  }
};

struct Views::Thread {
  KnownWrites now;
  KnownWrites released_to_block, released_to_device;  ///< at its latest fence of that scope, or a wider one
  struct AtLocation {
    std::uint32_t location = 0;
    KnownWrites block, device;
  };
  /// What writes that it has read carried: known from the next fence on, or the next acquire of the location.
  std::vector<AtLocation> pending;
  /// What it has released by a write to a location: its later writes there carry it too.
  std::vector<AtLocation> released;
  static AtLocation& at(std::vector<AtLocation>& all, std::uint32_t location) {
    const auto known = std::ranges::find(all, location, &AtLocation::location);
    return known == all.end() ? all.emplace_back(location) : *known;
  }
  std::uint32_t writes = 0, plain_writes = 0;
  std::uint32_t turn() const { return writes + plain_writes; }
  std::uint32_t fences = 0;
  /// Writes of other threads that it has read last, for the account of a stale read.
  struct Seen {
    StrongOperation write, read;
    std::uint32_t location = 0, index = 0, fences = 0;
  };
  static constexpr std::size_t most_seen = 8;
  std::vector<Seen> seen;
};

struct Views::BlockState {
  std::uint64_t block = 0;
  std::vector<Thread> threads;
  bool knows_any = false;  ///< one of its threads knows of a write
  KnownWrites shared;      ///< what has been passed on through strong accesses to shared memory
  struct Arrived {
    KnownWrites known;
    std::vector<std::pair<std::uint32_t, Mask>> waiting;  ///< warps and lanes
    struct Arrival {
      std::uint32_t warp = 0, stamp = 0;
      Mask lanes = 0;
    };
    std::vector<Arrival> all;  ///< where instants are followed
  };
  std::array<Arrived, 16> barriers;
  std::uint32_t interval = 1;
  struct WarpState {
    std::uint32_t stamp = 1;
    std::uint32_t met = 0;   ///< when all its lanes have met last: each knows what the others did up to then
    bool has_acted = false;  ///< since the stamp was new
  };
  std::vector<WarpState> warps;
  /// The stamp of what the warp has done up to now; what it does next has another.
  std::uint32_t stamp_out(std::uint32_t warp) {
    WarpState& w = warps[warp];
    return std::exchange(w.has_acted, false) ? w.stamp++ : w.stamp - 1;
  }
};

Views::Views(Memory& memory, MemoryChooser& chooser, std::uint64_t threads_of_block)
    : memory_(memory), chooser_(chooser), threads_of_block_(threads_of_block), filter_(filter_bits / 64) {}
Views::~Views() = default;

void Views::forget_threads() {
  blocks_.clear();
}

std::uint32_t Views::rank(KnownWrite write) const {
  if (write.location >= first_instant) return write.write;
  const Location& at = locations_[write.location];
  return at.is_mixed ? 0 : at.rank(write.write);
}

const LocationWrite& Views::write_of(std::uint32_t location, std::uint32_t write) const {
  return locations_[location].of(write);
}

std::span<const std::byte> Views::value_of(std::uint32_t location, std::uint32_t write) const {
  const Location& at = locations_[location];
  const bool is_newest = write == at.order.back();
  return {is_newest ? memory_.host(at.address) : at.of(write).value.data(), at.bytes};
}

std::span<const std::uint32_t> Views::order_of(std::uint32_t location) const {
  return locations_[location].order;
}

bool Views::carries_no_more(const LocationWrite& one, const LocationWrite& other) const {
  return carries_no_more(one, other, *this);
}

bool Views::carries_no_more(const LocationWrite& one, const LocationWrite& other, const WriteRanks& ranks) const {
  if (!one.message) return true;
  static const Message nothing;
  const bool are_read_alike = one.is_strong == other.is_strong && one.reach == other.reach &&
                              (one.reach == Reach::device || one.writer.block == other.writer.block);
  const Message& theirs = other.message && are_read_alike ? *other.message : nothing;
  if (!theirs.device.includes(one.message->device, ranks)) return false;
  return std::ranges::all_of(one.message->blocks, [&](const auto& block) {
    const auto same = std::ranges::find(theirs.blocks, block.first, [](const auto& b) { return b.first; });
    if (same == theirs.blocks.end()) return theirs.device.includes(block.second, ranks);
    if (same->second.includes(block.second, ranks)) return true;
    KnownWrites known = same->second;
    known.join(theirs.device, *this);
    return known.includes(block.second, ranks);
  });
}

/// Ranks that say which value is known: a write that repeats the value before it is no newer than that one. Who reads
/// the location itself knows it, and instants order plain accesses only, which no value depends on.
class Views::ValueRanks : public WriteRanks {
 public:
  ValueRanks(const Views& views, std::uint32_t location) : views_(views), location_(location) {}
  std::uint32_t rank(KnownWrite write) const override {
    if (write.location >= first_instant || write.location == location_) return 0;
    const Location& at = views_.locations_[write.location];
    std::uint32_t rank = views_.rank(write);
    while (rank > 0 && at.of(at.order[rank]).is_repeat) --rank;
    return rank;
  }

 private:
  const Views& views_;
  const std::uint32_t location_;
};

/// Can it matter whether `w` is read, or the thread's own write right behind it, of the same value?
bool Views::is_seen_behind(const Thread& t, std::uint32_t location, const LocationWrite& w, const Strong& access) {
  const auto is_here = [&](const Thread::AtLocation& r) { return r.location == location; };
  if (!w.message && !releases(access.order) && t.released_to_block.is_empty() && t.released_to_device.is_empty() &&
      std::ranges::none_of(t.released, is_here))
    return false;
  Thread as = t;
  observe(as, location, w, access);
  LocationWrite own;
  own.writer = operation(access.actor, access.lane);
  own.reach = reach_of(access.scope);
  own.is_strong = true;
  release(as, location, access, own, &w);
  const ValueRanks ranks(*this, location);
  return !carries_no_more(own, w, ranks) || !carries_no_more(w, own, ranks);
}

Views::Thread& Views::thread_of(const Actor& actor, unsigned lane) {
  return blocks_[actor.slot]->threads[actor.warp * warp_size + lane];
}

StrongOperation Views::operation(const Actor& actor, unsigned lane) {
  return {actor.block, actor.warp * warp_size + lane, 0, actor.line};
}

Address Views::address_of(std::uint32_t location) const {
  return locations_[location].address;
}

std::uint32_t Views::location_at(Address address, std::uint32_t bytes, std::uint32_t line) {
  const std::uint64_t granule = address / granule_bytes;
  std::vector<std::uint32_t>& here = granules_[granule];
  bool overlaps = false;
  for (const std::uint32_t k : here) {
    const Location& at = locations_[k];
    if (at.is_mixed || (at.address == address && at.bytes == bytes)) return k;
    const bool is_here = at.address < address + bytes && address < at.address + at.bytes;
    if (is_here && !mixed_sizes_) mixed_sizes_ = {at.line, line};
    overlaps |= is_here;
  }
  if (overlaps) {
    make_mixed(granule);
    return here.front();
  }
  const auto location = static_cast<std::uint32_t>(locations_.size());
  here.push_back(location);
  const std::size_t place = filter_place(granule);
  filter_[place / 64] |= std::uint64_t{1} << place % 64;
  Location& made = locations_.emplace_back();
  made.address = address;
  made.bytes = bytes;
  made.line = line;
  made.writes.emplace_back();
  made.order.push_back(0);
  return location;
}

void Views::make_mixed(std::uint64_t granule) {
  std::vector<std::uint32_t>& here = granules_[granule];
  const auto all = std::make_shared<Message>();
  for (const std::uint32_t k : here)
    for (const LocationWrite& w : locations_[k].writes)
      if (w.message) join_messages(*all, *w.message, *this);
  here.assign(1, static_cast<std::uint32_t>(locations_.size()));
  Location& made = locations_.emplace_back();
  made.address = granule * granule_bytes;
  made.bytes = granule_bytes;
  made.is_mixed = true;
  made.writes.emplace_back().message = all;
  made.writes.front().is_strong = true;
  made.order.push_back(0);
}

template <class Visit>
void Views::for_each_location_in(Address address, std::uint64_t bytes, Visit visit) {
  for (std::uint64_t g = address / granule_bytes; g <= (address + bytes - 1) / granule_bytes; ++g) {
    const std::size_t place = filter_place(g);
    if (!(filter_[place / 64] >> place % 64 & 1)) continue;
    const auto found = granules_.find(g);
    if (found == granules_.end()) continue;
    for (const std::uint32_t k : found->second) {
      const Location& at = locations_[k];
      if (!at.is_mixed && at.address < address + bytes && address < at.address + at.bytes) visit(k);
    }
  }
}

/// Another write is about to become the newest.
void Views::keep_newest(Location& at) {
  std::memcpy(at.of(at.order.back()).value.data(), memory_.host(at.address), at.bytes);
}

std::uint32_t Views::append(std::uint32_t location, LocationWrite write) {
  Location& at = locations_[location];
  keep_newest(at);
  return insert(location, at.order.back(), std::move(write));
}

std::uint32_t Views::insert(std::uint32_t location, std::uint32_t before, LocationWrite write) {
  Location& at = locations_[location];
  if (at.order.size() > Location::most_kept && before == at.order.back()) at.forget();
  const std::uint32_t made = at.count();
  const std::uint32_t place = at.of(before).rank + 1;
  write.rank = place;
  at.order.insert(at.order.begin() + place, made);
  at.writes.push_back(std::move(write));
  for (std::size_t k = place + 1; k < at.order.size(); ++k) ++at.of(at.order[k]).rank;
  return made;
}

// --- strong accesses -------------------------------------------------------------------------------------------------

/// PTX's "morally strong": both are strong, and the scope of each includes the other's thread.
bool Views::are_strong_together(const LocationWrite& w, const Strong& access) const {
  if (!w.is_strong) return false;
  if (w.writer.is_initial()) return true;  // stands for all that is mixed
  return w.writer.block == access.actor.block || (w.reach == Reach::device && reach_of(access.scope) == Reach::device);
}

/// The thread has read `w`, or it does now what an acquire does to what it has read at this location.
void Views::observe(Thread& t, std::uint32_t location, const LocationWrite& w, const Strong& access) {
  const std::uint64_t block = access.actor.block;
  if (access.is_reduction) return;
  if (w.message && are_strong_together(w, access)) {
    KnownWrites to_block, to_device = w.message->device;
    for (const auto& [b, known] : w.message->blocks)
      if (b == block) to_block = known;
    if (!to_block.is_empty() || !to_device.is_empty()) {
      Thread::AtLocation& at = Thread::at(t.pending, location);
      at.block.join(to_block, *this);
      at.device.join(to_device, *this);
    }
  }
  if (!acquires(access.order)) return;
  for (const Thread::AtLocation& p : t.pending) {
    if (p.location != location) continue;
    t.now.join(p.block, *this);
    if (reach_of(access.scope) == Reach::device) t.now.join(p.device, *this);
  }
}

/// What the write `w` carries. `before`: the write that it has read, of a read-modify-write.
void Views::release(Thread& t, std::uint32_t location, const Strong& access, LocationWrite& w,
                    const LocationWrite* before) {
  if (releases(access.order)) {
    publish(t, access.actor, access.lane);
    t.now.settle();
    Thread::AtLocation& at = Thread::at(t.released, location);
    at.block = t.now;
    if (reach_of(access.scope) == Reach::device) at.device = t.now;
  }
  Message message;
  KnownWrites to_block = t.released_to_block;
  message.device = t.released_to_device;
  for (const Thread::AtLocation& r : t.released)
    if (r.location == location) {
      to_block.join(r.block, *this);
      message.device.join(r.device, *this);
    }
  if (!to_block.is_empty()) of_block(message, access.actor.block) = std::move(to_block);
  if (before && before->message && are_strong_together(*before, access))
    join_messages(message, *before->message, *this);
  if (message.device.is_empty() && message.blocks.empty()) return;
  message.device.settle();
  for (auto& [block, known] : message.blocks) known.settle();
  w.message = std::make_shared<const Message>(std::move(message));
}

unsigned Views::chosen(MemoryChooser::Kind kind, std::uint32_t location, std::span<const std::uint32_t> writes,
                       const StrongOperation& by) {
  return writes.size() == 1 ? 0 : chooser_.choose({kind, location, writes, &by});
}

MemoryChooser::Answer Views::begin(const Strong& access, MemoryChooser::Answer::Effect effect) {
  blocks_[access.actor.slot]->knows_any = true;
  MemoryChooser::Answer answer;
  answer.effect = effect;
  answer.by = operation(access.actor, access.lane);
  answer.location = location_at(access.address, access.bytes, access.actor.line);
  return answer;
}

/// The thread has read that write, of its choice.
void Views::note_read(Thread& t, const MemoryChooser::Answer& answer, const LocationWrite& w, const Strong& access) {
  if (t.now.of(answer.location) != answer.read) t.now.set({answer.location, answer.read});
  observe(t, answer.location, w, access);
  if (w.writer.is_initial() || (w.writer.block == answer.by.block && w.writer.thread == answer.by.thread)) return;
  if (t.seen.size() == Thread::most_seen) t.seen.erase(t.seen.begin());
  t.seen.push_back({w.writer, answer.by, answer.location, answer.read, t.fences});
}

/// A write that the thread makes now.
LocationWrite Views::make_write(Thread& t, MemoryChooser::Answer& answer, const Strong& access,
                                const LocationWrite* before) {
  LocationWrite w;
  w.turn = t.turn();
  answer.by.number = ++t.writes;
  w.writer = answer.by;
  w.reach = reach_of(access.scope);
  w.is_strong = true;
  w.is_tied = before;
  release(t, answer.location, access, w, before);
  return w;
}

/// What is written where accesses of several sizes meet.
void Views::write_mixed(std::uint32_t location, const Strong& access, const LocationWrite& w, const std::byte* from) {
  LocationWrite& all = locations_[location].writes.front();
  if (w.message) {
    Message joined = *all.message;
    join_messages(joined, *w.message, *this);
    all.message = std::make_shared<const Message>(std::move(joined));
  }
  std::memcpy(memory_.host(access.address), from, access.bytes);
}

bool Views::read(const Strong& access, std::byte* to) {
  Thread& t = thread_of(access.actor, access.lane);
  MemoryChooser::Answer answer = begin(access, MemoryChooser::Answer::Effect::read);
  const std::uint32_t location = answer.location;
  const Location& at = locations_[location];
  if (at.is_mixed) {
    std::memcpy(to, memory_.host(access.address), access.bytes);
    observe(t, location, at.writes.front(), access);
    chooser_.happened(answer);
    return true;
  }
  at.offer(allowed_, t.now.of(location), [](std::size_t) { return true; });
  answer.allowed = allowed_;
  answer.chosen = chosen(MemoryChooser::Kind::read, location, allowed_, answer.by);
  answer.read = allowed_[answer.chosen];
  const bool is_newest = answer.chosen == 0;
  std::memcpy(to, value_of(location, answer.read).data(), access.bytes);
  if (!is_newest) note_stale(t, answer.by, access, location, answer.read);
  note_read(t, answer, at.of(answer.read), access);
  chooser_.happened(answer);
  return is_newest;
}

void Views::write(const Strong& access, const std::byte* from) {
  Thread& t = thread_of(access.actor, access.lane);
  MemoryChooser::Answer answer = begin(access, MemoryChooser::Answer::Effect::write);
  const std::uint32_t location = answer.location;
  LocationWrite w = make_write(t, answer, access, nullptr);
  const Location& at = locations_[location];
  if (at.is_mixed) {
    write_mixed(location, access, w, from);
    chooser_.happened(answer);
    return;
  }
  at.offer(placed_, t.now.of(location), [&](std::size_t k) { return at.has_place_behind(k); });
  answer.placed = placed_;
  answer.chosen_place = chosen(MemoryChooser::Kind::place, location, placed_, answer.by);
  if (answer.chosen_place == 0) {
    answer.written = append(location, std::move(w));
    std::memcpy(memory_.host(access.address), from, access.bytes);
  } else {
    std::memcpy(w.value.data(), from, access.bytes);
    answer.written = insert(location, placed_[answer.chosen_place], std::move(w));
  }
  t.now.set({location, answer.written});
  chooser_.happened(answer);
}

bool Views::update(const Strong& access, const Compute& now, std::byte* old) {
  using Effect = MemoryChooser::Answer::Effect;
  Thread& t = thread_of(access.actor, access.lane);
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
  if (at.is_mixed) {
    compute(host);
    std::memcpy(old, before.data(), access.bytes);
    observe(t, location, at.writes.front(), access);
    LocationWrite w;
    release(t, location, access, w, nullptr);
    write_mixed(location, access, w, after.data());
    chooser_.happened(answer);
    return changes;
  }
  // The write of an atomic that leaves the value as it was is none, unless it can be told from the one that it reads.
  const auto effect_on = [&](std::uint32_t read) {
    compute(value_of(location, read).data());
    return changes || (writes && is_seen_behind(t, location, at.of(read), access)) ? Effect::update : Effect::read;
  };
  // What it writes comes right behind what it reads: if there is still a place.
  std::uint64_t number = 1;
  at.offer(allowed_, t.now.of(location), [&](std::size_t k) {
    const bool updates = effect_on(at.order[k]) == Effect::update;
    answer.may_update |= updates;
    if (updates && !at.has_place_behind(k)) return false;
    if (updates) answer.updating |= number;
    number <<= 1;
    return true;
  });
  answer.allowed = allowed_;
  answer.chosen = chosen(MemoryChooser::Kind::update, location, allowed_, answer.by);
  answer.read = allowed_[answer.chosen];
  const bool is_newest = answer.chosen == 0;
  answer.effect = effect_on(answer.read);
  std::memcpy(old, before.data(), access.bytes);
  if (!is_newest && !changes) note_stale(t, answer.by, access, location, answer.read);
  const LocationWrite read = at.of(answer.read);
  note_read(t, answer, read, access);
  if (answer.effect == Effect::update) {
    LocationWrite w = make_write(t, answer, access, &read);
    w.is_repeat = !changes;
    if (is_newest) {
      answer.written = append(location, std::move(w));
      std::memcpy(host, after.data(), access.bytes);
    } else {
      w.value = after;
      answer.written = insert(location, answer.read, std::move(w));
    }
    t.now.set({location, answer.written});
  } else if (writes) {
    LocationWrite same;
    release(t, location, access, same, &read);  // its later writes there carry that
  }
  chooser_.happened(answer);
  return changes || !is_newest;
}

void Views::fence(const Actor& actor, Mask mask, Access::Scope scope, Fence kind) {
  const Reach reach = reach_of(scope);
  for (const unsigned lane : lanes_in(mask)) {
    Thread& t = thread_of(actor, lane);
    ++t.fences;
    for (Thread::AtLocation& p : t.pending) {
      t.now.join(p.block, *this);
      p.block.clear();
      if (reach == Reach::device) t.now.join(p.device, *this);
    }
    if (reach == Reach::device) t.pending.clear();
    publish(t, actor, lane);
    if (kind == Fence::sequential) {
      KnownWrites& of_block = sequential_of_block_[actor.block];
      t.now.join(of_block, *this);
      if (reach == Reach::device) t.now.join(sequential_, *this);
      t.now.settle();
      of_block = t.now;
      if (reach == Reach::device) sequential_ = t.now;
    }
    t.now.settle();
    t.released_to_block = t.now;
    if (reach == Reach::device) t.released_to_device = t.now;
    if (kind == Fence::sequential) {
      MemoryChooser::Answer answer;
      answer.effect = MemoryChooser::Answer::Effect::fence;
      answer.by = operation(actor, lane);
      chooser_.happened(answer);
    }
  }
}

// --- stale reads -----------------------------------------------------------------------------------------------------

void Views::note_stale(Thread& t, const StrongOperation& by, const Strong& access, std::uint32_t location,
                       std::uint32_t read) {
  const Location& at = locations_[location];
  const std::uint32_t newer_index = at.order[at.of(read).rank + 1];
  const LocationWrite &returned = at.of(read), &newer = at.of(newer_index);
  const auto known = std::ranges::find_if(stale_, [&](const StaleAccess& s) {
    return s.read.line == by.line && s.returned.line == returned.writer.line && s.newer.line == newer.writer.line;
  });
  if (known != stale_.end()) {
    ++known->count;
    if (known->has_flag) return;
  }
  StaleAccess made{by, returned.writer, newer.writer, access.bytes, access.address, false, {}, {}, {}, 1};
  using Missing = StaleAccess::Missing;
  for (auto seen = t.seen.rbegin(); seen != t.seen.rend() && !made.has_flag; ++seen) {
    if (seen->write.block != newer.writer.block || seen->write.thread != newer.writer.thread ||
        seen->location == location || seen->index < locations_[seen->location].forgotten ||
        locations_[seen->location].of(seen->index).turn < newer.turn)
      continue;
    made.has_flag = true;
    made.flag = seen->write;
    made.flag_read = seen->read;
    const LocationWrite& flag = locations_[seen->location].of(seen->index);
    const auto carries = [&](const KnownWrites& known) { return rank({location, known.of(location)}) >= newer.rank; };
    bool is_released = false, is_released_to_block = false;
    if (flag.message) {
      is_released = carries(flag.message->device);
      for (const auto& [block, known] : flag.message->blocks)
        if (carries(known)) (block == by.block ? is_released : is_released_to_block) = true;
    }
    const bool has_fence = t.fences != seen->fences;
    if (!is_released && is_released_to_block)
      made.missing = Missing::device_scope;
    else if (is_released && has_fence)
      made.missing = Missing::device_scope;
    else
      made.missing = is_released ? Missing::acquire : has_fence ? Missing::release : Missing::both;
  }
  if (known == stale_.end()) {
    if (stale_.size() < most_stale) stale_.push_back(made);
  } else if (made.has_flag) {
    made.count = known->count;
    *known = made;
  }
}

// --- what an observer hears ------------------------------------------------------------------------------------------

void Views::block_begin(std::uint64_t block, std::uint32_t slot) {
  if (blocks_.size() <= slot) blocks_.resize(slot + 1);
  blocks_[slot] = std::make_unique<BlockState>();
  blocks_[slot]->block = block;
  const std::uint64_t warps = (threads_of_block_ + warp_size - 1) / warp_size;
  blocks_[slot]->threads.resize(warps * warp_size);
  blocks_[slot]->warps.resize(warps);
}

/// Strong accesses to shared memory pass on all that is known: there, nothing is stale.
void Views::through_shared(const Access& a, bool reads, bool writes) {
  BlockState& b = *blocks_[a.actor.slot];
  if (!b.knows_any && !follows_instants_) return;
  for (const unsigned lane : lanes_in(a.mask)) {
    Thread& t = thread_of(a.actor, lane);
    if (writes) publish(t, a.actor, lane);
    if (writes) b.shared.join(t.now, *this);
    if (reads) t.now.join(b.shared, *this);
  }
}

/// Calls visit(location, lane) where plain accesses meet locations of strong ones.
template <class Visit>
void Views::for_each_plain(const Access& a, Visit visit) {
  if (a.space != ptx::StateSpace::global || is_strong(a) || locations_.empty()) return;
  for (const unsigned lane : lanes_in(a.mask)) {
    for_each_location_in(a.at(lane), a.bytes, [&](std::uint32_t location) {
      blocks_[a.actor.slot]->knows_any = true;
      visit(location, lane);
    });
  }
}

void Views::load(const Access& a) {
  if (a.space == ptx::StateSpace::shared && is_strong(a)) return through_shared(a, true, false);
  for_each_plain(a, [&](std::uint32_t location, unsigned lane) {
    thread_of(a.actor, lane).now.set({location, locations_[location].order.back()});
  });
}

void Views::store(const Access& a) {
  if (a.space == ptx::StateSpace::shared && is_strong(a)) return through_shared(a, false, true);
  for_each_plain(a, [&](std::uint32_t location, unsigned lane) {
    Thread& t = thread_of(a.actor, lane);
    LocationWrite w;
    w.writer = operation(a.actor, lane);
    w.turn = t.turn();
    w.writer.number = StrongOperation::first_plain + t.plain_writes++;
    t.now.set({location, append(location, std::move(w))});
  });
}

void Views::atomic(const Access& a) {
  if (a.space == ptx::StateSpace::shared) through_shared(a, true, true);
}

void Views::barrier_arrive(const Actor& actor, Mask mask, std::uint32_t id, Arrival arrival) {
  BlockState& b = *blocks_[actor.slot];
  BlockState::Arrived& at = b.barriers[id];
  if (arrival == Arrival::waits) at.waiting.emplace_back(actor.warp, mask);
  if (follows_instants_) at.all.push_back({actor.warp, b.stamp_out(actor.warp), mask});
  if (!b.knows_any) return;
  for (const unsigned lane : lanes_in(mask)) at.known.join(thread_of(actor, lane).now, *this);
}

void Views::barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) {
  BlockState& b = *blocks_[actor.slot];
  BlockState::Arrived& at = b.barriers[id];
  if (meeting == Meeting::all)
    ++b.interval;
  else
    publish_arrivals(b, at.known, id);
  at.all.clear();
  at.known.settle();
  if (!at.known.is_empty())
    for (const auto& [warp, mask] : at.waiting)
      for (const unsigned lane : lanes_in(mask)) b.threads[warp * warp_size + lane].now = at.known;
  at.known.clear();
  at.waiting.clear();
}

void Views::warp_sync(const Actor& actor, Mask mask) {
  BlockState& b = *blocks_[actor.slot];
  if (follows_instants_) {
    if (mask == full_mask)
      b.warps[actor.warp].met = b.stamp_out(actor.warp);
    else
      for (const unsigned lane : lanes_in(mask)) publish(thread_of(actor, lane), actor, lane);
  }
  if (!b.knows_any) return;
  Thread* const threads = &b.threads[actor.warp * warp_size];
  const auto first = first_lane(mask);
  bool differ = false;
  for (const unsigned lane : lanes_in(mask)) differ = differ || !threads[lane].now.is_same_as(threads[first].now);
  if (!differ) return;
  KnownWrites all;
  for (const unsigned lane : lanes_in(mask)) all.join(threads[lane].now, *this);
  all.settle();
  for (const unsigned lane : lanes_in(mask)) threads[lane].now = all;
}

// --- causality order -------------------------------------------------------------------------------------------------

/// Each block has a location, whose write is the interval that has begun, and behind it one for each of its warps, and
/// one for each lane, whose writes are stamps.
std::uint32_t Views::block_location(std::uint64_t block) const {
  const std::uint64_t warps = (threads_of_block_ + warp_size - 1) / warp_size;
  return first_instant + static_cast<std::uint32_t>(block * (1 + warps * (1 + warp_size)));
}

std::uint32_t Views::warp_location(std::uint64_t block, std::uint32_t warp) const {
  return block_location(block) + 1 + warp * (1 + warp_size);
}

void Views::know(KnownWrites& all, KnownWrite instant) {
  if (all.of(instant.location) < instant.write) all.set(instant);
}

Instant Views::instant(const Actor& actor) {
  BlockState& b = *blocks_[actor.slot];
  b.warps[actor.warp].has_acted = true;
  return {b.block, actor.warp, b.interval, b.warps[actor.warp].stamp};
}

/// Whoever knows what the lane knows now knows what it has done, and what has happened before that in its block.
void Views::publish(Thread& t, const Actor& actor, unsigned lane) {
  if (!follows_instants_) return;
  BlockState& b = *blocks_[actor.slot];
  b.knows_any = true;
  const std::uint32_t of_warp = warp_location(b.block, actor.warp), stamp = b.stamp_out(actor.warp);
  know(t.now, {block_location(b.block), b.interval});
  know(t.now, {of_warp, b.warps[actor.warp].met});
  know(t.now, {of_warp + 1 + lane, stamp});
}

/// A barrier that waits for some of the block's threads is complete.
void Views::publish_arrivals(BlockState& b, KnownWrites& to, std::uint32_t id) {
  for (const auto& [warp, stamp, lanes] : b.barriers[id].all) {
    b.knows_any = true;
    const std::uint32_t of_warp = warp_location(b.block, warp);
    if (lanes == full_mask)
      know(to, {of_warp, stamp});
    else
      for (const unsigned lane : lanes_in(lanes)) know(to, {of_warp + 1 + lane, stamp});
  }
}

namespace {

Mask unknown(const KnownWrites& known, std::uint32_t of_block, std::uint32_t of_warp, const Instant& then, Mask lanes) {
  if (known.of(of_block) > then.interval || known.of(of_warp) >= then.stamp) return 0;
  for (const unsigned lane : lanes_in(lanes))
    if (known.of(of_warp + 1 + lane) >= then.stamp) lanes &= ~(Mask{1} << lane);
  return lanes;
}

}  // namespace

Mask Views::unordered(const Instant& then, Mask lanes, const Actor& actor, unsigned lane) {
  const BlockState& b = *blocks_[actor.slot];
  if (then.block == b.block && (then.warp == actor.warp || then.interval < b.interval)) return 0;
  return unknown(thread_of(actor, lane).now, block_location(then.block), warp_location(then.block, then.warp), then,
                 lanes);
}

Mask Views::unordered_behind_fence(const Instant& then, Mask lanes, const Actor& actor, unsigned lane) {
  for (const Thread::AtLocation& p : thread_of(actor, lane).pending)
    for (const KnownWrites* known : {&p.block, &p.device})
      lanes = unknown(*known, block_location(then.block), warp_location(then.block, then.warp), then, lanes);
  return lanes;
}

bool Views::knows_newest(Address address, std::uint64_t bytes, const Actor& actor, unsigned lane) {
  const KnownWrites& known = thread_of(actor, lane).now;
  bool all = true;
  for_each_location_in(address, bytes, [&](std::uint32_t location) {
    all = all && known.of(location) == locations_[location].order.back();
  });
  return all;
}

}  // namespace scanlab::vgpu
