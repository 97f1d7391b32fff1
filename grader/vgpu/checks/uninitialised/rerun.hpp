// What one more run of a launch does: where it branches, which addresses it takes, what it reads unwritten and what it
// stores; and where that is not what another run has done.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "vgpu/checks/uninitialised/page_journal.hpp"
#include "vgpu/checks/uninitialised/shared_bytes.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// A read by one lane of an element of which some bytes have not been written, or none.
struct BlankRead {
  ptx::StateSpace space = ptx::StateSpace::global;
  std::uint64_t address = 0;  ///< in global memory, or in the block's shared window
  std::uint32_t bytes = 0;
  std::uint32_t line = 0, thread = 0;
  std::uint64_t block = 0;
  std::uint64_t unwritten = 0;  ///< a bit for each byte, the first lowest

  bool is_unwritten(std::uint32_t k) const { return unwritten >> k & 1; }
  bool is_partial() const { return std::popcount(unwritten) != static_cast<int>(bytes); }
};

/// What a warp does that depends on its data: which way it branches, and where it reads and writes.
struct Event {
  std::uint64_t what = 0;  ///< lanes that jump, or a hash of the addresses
  Mask lanes = 0;
  std::uint32_t line = 0;
  enum class Kind : std::uint8_t { branch, access } kind = Kind::access;
  bool operator==(const Event&) const = default;
};
/// The events of each warp of a run, up to a limit.
struct Trace {
  static constexpr std::size_t most_events = 2u << 20;
  std::unordered_map<std::uint64_t, std::vector<Event>> warps;
  std::size_t events = 0;
  bool is_complete() const { return events < most_events; }
};

/// The place of an event in a run.
struct EventPlace {
  std::uint64_t block = 0;
  std::uint32_t warp = 0;
  std::size_t index = 0;
};

class Rerun : public Observer {
 public:
  Rerun(const KernelInfo& kernel, Memory& memory, ByteSet& defined);

  // What is wanted; to be set before the run.
  Trace* record = nullptr;
  const Trace* compare_with = nullptr;
  std::vector<BlankRead>* blank_reads = nullptr;  ///< the first of each element, at most `most_reads`
  const BlankRead* only = nullptr;                ///< then all those of this element
  std::optional<EventPlace> look_at;              ///< see `addresses`
  std::vector<Address> look_for;                  ///< see `stores`
  static constexpr std::size_t most_reads = 1u << 18;

  // What was found.
  /// The first event that is not as in the other run.
  struct Difference {
    EventPlace place;
    std::optional<Event> expected;  ///< none: the other run has ended before it
    Event got;
    std::array<std::uint64_t, warp_size> addresses;
  };
  const std::optional<Difference>& difference() const { return difference_; }
  /// Of the access `look_at`.
  const std::array<std::uint64_t, warp_size>& addresses() const { return addresses_; }
  /// The last store to the byte `look_for[k]`.
  struct Store {
    Address address = 0;
    std::uint32_t bytes = 0, line = 0, thread = 0;
    std::uint64_t block = 0;
  };
  const std::vector<std::optional<Store>>& stores() const { return stores_; }
  /// What it changes in memory.
  PageJournal& journal() { return journal_; }

  std::uint32_t interests() const override { return branches | plain_shared; }
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override;
  void branch(const Actor& actor, Mask active, Mask taken) override;

 private:
  void note_read(const Access& access);
  void note_write(const Access& access);
  void note_event(const Access& access);
  void note(const Actor& actor, const Event& event, const Access* access);

  const KernelInfo& kernel_;
  ByteSet& defined_;
  PageJournal journal_;
  std::vector<SharedBytes> shared_;                                   ///< by resident place
  std::unordered_map<std::uint64_t, std::size_t> next_;               ///< event of each warp
  std::unordered_map<std::uint64_t, std::vector<bool>> seen_shared_;  ///< bytes with a blank read, by block
  std::unordered_map<std::uint64_t, bool> seen_global_;
  std::optional<Difference> difference_;
  std::array<std::uint64_t, warp_size> addresses_{};
  std::vector<std::optional<Store>> stores_;
};

}  // namespace scanlab::vgpu
