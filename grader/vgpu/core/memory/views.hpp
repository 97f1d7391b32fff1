// Weak memory: what a strong access (volatile, relaxed, acquire, release, atomic) to global memory may see that is not
// the latest value. README.md, "Weak memory", says what is shown and what is not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/memory/known_writes.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// How far an access or a fence is seen. There is one device, so that the system is the device.
enum class Reach : std::uint8_t { block, device };
inline Reach reach_of(Access::Scope scope) {
  return scope == Access::Scope::block ? Reach::block : Reach::device;
}

/// A strong access of one thread, or its plain write to a location of strong accesses. A thread's strong writes have
/// numbers, from 1; its plain ones others, from first_plain.
struct StrongOperation {
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  static constexpr std::uint32_t first_plain = 1u << 31;
  std::uint64_t block = nowhere;  ///< nowhere: what was in memory before
  std::uint32_t thread = 0, number = 0, line = 0;
  bool is_initial() const { return block == nowhere; }
  bool is_same_as(const StrongOperation& o) const {
    return block == o.block && thread == o.thread && number == o.number;
  }
};

/// One of the writes to a location.
struct LocationWrite {
  /// What a write carries to those who read it: what its writer knew at its release, for threads of any block, and for
  /// those of the blocks of the threads that have released.
  struct Message {
    KnownWrites device;
    std::vector<std::pair<std::uint64_t, KnownWrites>> blocks;
  };

  std::array<std::byte, 16> value{};  ///< not of the newest, whose value stands in memory
  StrongOperation writer;
  std::uint32_t rank = 0;  ///< its place in modification order
  std::uint32_t turn = 0;  ///< how many writes its thread had made before
  Reach reach = Reach::device;
  bool is_strong = false;
  bool is_tied = false;    ///< of a read-modify-write: nothing comes between it and the write before it
  bool is_repeat = false;  ///< of one that has left the value as it was
  std::shared_ptr<const Message> message;
};

/// Chooses among what the memory model allows.
class MemoryChooser {
 public:
  enum class Kind : std::uint8_t {
    read,    ///< which write a read returns; 0: the newest
    update,  ///< the same for a read-modify-write
    place,   ///< after which write a new one comes in modification order; 0: after the newest
  };
  /// The writes to choose from, the newest first.
  struct Question {
    Kind kind = Kind::read;
    std::uint32_t location = 0;
    std::span<const std::uint32_t> writes;
    const StrongOperation* by = nullptr;
  };
  /// What has been done.
  struct Answer {
    enum class Effect : std::uint8_t { read, write, update, fence } effect = Effect::read;
    StrongOperation by;
    bool may_update = false;  ///< a read-modify-write that writes, or would, had it read another write
    std::uint32_t location = 0;
    std::uint32_t read = 0;                          ///< the write that was read
    std::uint32_t written = 0;                       ///< the write that was made; 0: none
    std::span<const std::uint32_t> allowed, placed;  ///< the writes to choose from: of a read, of a write
    std::uint64_t updating = 0;                      ///< a bit for each of `allowed`: reading that one, it would write
    unsigned chosen = 0, chosen_place = 0;
  };
  virtual ~MemoryChooser() = default;
  /// May the warp make its next strong access now? Else its turn ends before it.
  virtual bool may_act(Warp&, const Inst*) { return true; }
  virtual unsigned choose(const Question& question) = 0;
  virtual void happened(const Answer&) {}
};

/// The choices of a seed. Every second read returns the newest write, so that every loop that waits ends.
class RandomChooser : public MemoryChooser {
 public:
  explicit RandomChooser(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull) {}
  unsigned choose(const Question& question) override;

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

/// A read that has returned an old value, or several alike.
struct StaleAccess {
  StrongOperation read, returned, newer;
  std::uint32_t bytes = 0;
  Address address = 0;
  /// The pair that makes it a mistake: the reader had read `flag`, a write by the thread of `newer`, that came after
  /// it.
  bool has_flag = false;
  StrongOperation flag, flag_read;
  enum class Missing : std::uint8_t {
    unknown,
    release,       ///< between the two writes
    acquire,       ///< between the two reads
    both,          ///< at both places
    device_scope,  ///< what orders them has the scope of a block
  } missing = Missing::unknown;
  std::uint64_t count = 1;
};

/// When a warp does something: `interval` counts the barriers of its whole block, `stamp` what its lanes have made
/// known to others.
struct Instant {
  std::uint64_t block = 0;
  std::uint32_t warp = 0, interval = 0, stamp = 0;
};

/// Two strong accesses of different sizes to the same bytes, by their lines.
struct MixedSizes {
  std::uint32_t line = 0, other_line = 0;
};

/// The view machine of one launch: for each location its writes in modification order, for each thread the oldest write
/// of each location that it may still read. It hears of barriers, plain accesses and the blocks' beginnings as an
/// observer; strong accesses to global memory and fences are executed by it.
class Views : public Observer, private WriteRanks {
 public:
  /// `chooser` has to outlive it.
  Views(Memory& memory, MemoryChooser& chooser, std::uint64_t threads_of_block);
  ~Views() override;

  struct Strong {
    Actor actor;
    unsigned lane = 0;
    Address address = 0;
    std::uint32_t bytes = 0;  ///< 1 to 16, aligned
    Access::Order order = Access::Order::relaxed;
    Access::Scope scope = Access::Scope::device;
    bool is_reduction =
        false;  ///< gives no value, so that no acquire begins with it (PTX ISA, "Release and Acquire Patterns")
  };
  /// Reads into `to`. False when it was not the newest value.
  bool read(const Strong& access, std::byte* to);
  void write(const Strong& access, const std::byte* from);
  /// now(before, after) gives the value after from the value before, both of access.bytes, and false where it is not
  /// written, by a compare-and-swap that fails; `old` gets the value before.
  /// True when another look may see something else: a value has changed, or the one before was not the newest.
  using Compute = std::function<bool(const std::byte* before, std::byte* after)>;
  bool update(const Strong& access, const Compute& now, std::byte* old);
  enum class Fence : std::uint8_t { acquire_release, sequential };
  void fence(const Actor& actor, Mask mask, Access::Scope scope, Fence kind);

  /// Stale reads, those of the same lines together; at most `most_stale` of them.
  const std::vector<StaleAccess>& stale() const { return stale_; }
  static constexpr std::size_t most_stale = 64;

  /// The launch has ended: only its writes will be asked for.
  void forget_threads();

  /// From now on threads know, too, what others have done before what they know of: what PTX calls causality order.
  void follow_instants() { follows_instants_ = true; }
  /// Of what a warp does now.
  Instant instant(const Actor& actor);
  /// Of the lanes that did something at `then`: those of which it has not happened before what `lane` does now. The
  /// lanes of one warp count as ordered.
  Mask unordered(const Instant& then, Mask lanes, const Actor& actor, unsigned lane);
  /// The same, if the lane had a fence now.
  Mask unordered_behind_fence(const Instant& then, Mask lanes, const Actor& actor, unsigned lane);
  /// Has the lane read, or learned of, the newest write to each location in these bytes?
  bool knows_newest(Address address, std::uint64_t bytes, const Actor& actor, unsigned lane);

  /// The first that were seen; those are not shown as the memory model has them.
  const std::optional<MixedSizes>& mixed_sizes() const { return mixed_sizes_; }

  bool may_act(Warp& w, const Inst* i) { return chooser_.may_act(w, i); }
  Address address_of(std::uint32_t location) const;
  const LocationWrite& write_of(std::uint32_t location, std::uint32_t write) const;
  /// What a write has left there: of the newest, what stands in memory now.
  std::span<const std::byte> value_of(std::uint32_t location, std::uint32_t write) const;
  /// The writes of a location in modification order.
  std::span<const std::uint32_t> order_of(std::uint32_t location) const;
  /// Does one of these writes to a location carry nothing to its readers that the other does not carry too?
  bool carries_no_more(const LocationWrite& one, const LocationWrite& other) const;

  std::uint32_t interests() const override { return arrivals | warp_syncs; }
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override;
  void barrier_arrive(const Actor& actor, Mask mask, std::uint32_t id, Arrival arrival) override;
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override;
  void warp_sync(const Actor& actor, Mask mask) override;

 private:
  struct Location;
  struct Thread;
  struct BlockState;
  class ValueRanks;

  bool carries_no_more(const LocationWrite& one, const LocationWrite& other, const WriteRanks& ranks) const;
  bool is_seen_behind(const Thread& t, std::uint32_t location, const LocationWrite& w, const Strong& access);
  std::uint32_t rank(KnownWrite write) const override;
  Thread& thread_of(const Actor& actor, unsigned lane);
  static StrongOperation operation(const Actor& actor, unsigned lane);
  std::uint32_t location_at(Address address, std::uint32_t bytes, std::uint32_t line);
  template <class Visit>
  void for_each_location_in(Address address, std::uint64_t bytes, Visit visit);
  void make_mixed(std::uint64_t granule);
  // Instants are known as writes are, of locations that stand for blocks, warps and lanes.
  static constexpr std::uint32_t first_instant = 1u << 31;
  std::uint32_t block_location(std::uint64_t block) const;
  std::uint32_t warp_location(std::uint64_t block, std::uint32_t warp) const;
  void publish(Thread& t, const Actor& actor, unsigned lane);
  void publish_arrivals(BlockState& b, KnownWrites& to, std::uint32_t id);
  static void know(KnownWrites& all, KnownWrite instant);
  void keep_newest(Location& at);
  std::uint32_t append(std::uint32_t location, LocationWrite write);
  std::uint32_t insert(std::uint32_t location, std::uint32_t before, LocationWrite write);
  bool are_strong_together(const LocationWrite& w, const Strong& access) const;
  void observe(Thread& t, std::uint32_t location, const LocationWrite& w, const Strong& access);
  void release(Thread& t, std::uint32_t location, const Strong& access, LocationWrite& w, const LocationWrite* before);
  void note_stale(Thread& t, const StrongOperation& by, const Strong& access, std::uint32_t location,
                  std::uint32_t read);
  void through_shared(const Access& access, bool reads, bool writes);
  template <class Visit>
  void for_each_plain(const Access& access, Visit visit);
  MemoryChooser::Answer begin(const Strong& access, MemoryChooser::Answer::Effect effect);
  void note_read(Thread& t, const MemoryChooser::Answer& answer, const LocationWrite& w, const Strong& access);
  LocationWrite make_write(Thread& t, MemoryChooser::Answer& answer, const Strong& access, const LocationWrite* before);
  void write_mixed(std::uint32_t location, const Strong& access, const LocationWrite& w, const std::byte* from);
  unsigned chosen(MemoryChooser::Kind kind, std::uint32_t location, std::span<const std::uint32_t> writes,
                  const StrongOperation& by);

  Memory& memory_;
  MemoryChooser& chooser_;
  const std::uint64_t threads_of_block_;
  std::vector<Location> locations_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> granules_;  ///< locations by address / 16
  std::vector<std::uint64_t> filter_;                                       ///< bits: may the granule have locations?
  std::vector<std::unique_ptr<BlockState>> blocks_;                         ///< by slot
  KnownWrites sequential_;                                                  ///< of fence.sc of the device
  std::unordered_map<std::uint64_t, KnownWrites> sequential_of_block_;
  std::vector<StaleAccess> stale_;
  std::vector<std::uint32_t> allowed_, placed_;  ///< for a question
  std::optional<MixedSizes> mixed_sizes_;
  bool follows_instants_ = false;
};

}  // namespace scanlab::vgpu
