// The race check of one block: what its threads do to shared memory, in the order in which they do it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "vgpu/checks/block_sync.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/checks/open_reads.hpp"
#include "vgpu/checks/pending_copies.hpp"
#include "vgpu/checks/repeated_blocks.hpp"
#include "vgpu/checks/shared/access_log.hpp"
#include "vgpu/checks/shared/access_shadow.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Two accesses to the same bytes that nothing orders.
struct Conflict {
  struct Side {
    std::uint32_t line = 0;
    unsigned thread = 0;
    How how;
  };
  enum class Between : std::uint8_t { accesses, lanes_of_one, copy } between = Between::accesses;
  Side earlier, later;
  ReadUse use = ReadUse::unknown;  ///< of a plain read beside an atomic
  /// A flag of the earlier thread that the later one has seen, without the fences that would order them.
  std::optional<FlagTrail::Seen> flag;
  bool is_before_flag = false;  ///< the earlier access comes before it
  bool is_by_both = false;      ///< the earlier thread, which reads, makes the later access as well, at the same place
  std::uint64_t address = 0;    ///< of the first byte that both touch, in the block's window
  std::uint32_t bytes = 0;      ///< of the smaller access
  std::uint64_t block = 0;
};

class BlockRaces {
 public:
  BlockRaces(ConflictSink<Conflict>& sink, RepeatedBlocks& repeated) : sink_(sink), repeated_(repeated), open_(sink) {}

  /// `has_log`: accesses are compared as rows, as long as that suffices.
  void begin(std::uint64_t block, unsigned threads, std::uint64_t window_bytes, bool has_log);

  /// An access to shared memory.
  void access(const AccessRun& run, How::Kind kind);
  /// One to global memory, which may synchronise threads of the block.
  void global_access(const Access& a, BlockSync::Effect effect) {
    if (is_idle_) return;
    part();
    sync_.strong_access(a, effect);
  }
  void fence(unsigned warp, Mask lanes);
  void arrive(unsigned warp, Mask lanes, std::uint32_t id, Observer::Arrival how) {
    part();
    sync_.arrive(warp, lanes, id, how);
  }
  void complete(std::uint32_t id, Observer::Meeting meeting);
  void meet(unsigned warp, Mask lanes);
  void commit(unsigned warp, Mask lanes) {
    part();
    copies_.commit(warp, lanes);
  }
  void wait(unsigned warp, Mask lanes, std::uint32_t left) { keep_complete(copies_.take(warp, lanes, left)); }
  /// No thread of the block goes on.
  void end() {
    repetition_.end(repeated_);
    open_.end();
  }

 private:
  template <class... Step>
  bool repeats(BlockStep::Kind kind, const Step&... step) {
    return repetition_.repeats([&](std::span<const BlockStep> steps) { catch_up(steps); }, kind, step...);
  }
  void part();
  void catch_up(std::span<const BlockStep> steps);
  void compare(const AccessRun& run, How::Kind kind);
  void begin_interval();
  How how_of(const Access& a, How::Kind kind) const;
  void enter(const AccessRun& run, How how);
  void enter_shadow(const Access& a, Footprint what);
  bool is_harmless(const Access& a, Footprint what, unsigned lane, Footprint earlier, unsigned thread,
                   std::uint64_t address, std::uint32_t bytes) const;
  void decide(const Access& a);
  void forget_guesses(const AccessRun& run);
  static std::uint64_t place_of(unsigned thread, std::uint64_t address) {
    return std::uint64_t{thread} << 32 | address / word_bytes;
  }
  void move_log_to_shadow();
  void compare_lanes(const Access& a, Footprint what);
  void compare_with_copies(const Access& a, Footprint what);
  void keep_complete(const std::vector<PendingCopies::Copy>& copies);
  void synchronise(const Access& a, How::Kind kind);

  ConflictSink<Conflict>& sink_;
  RepeatedBlocks& repeated_;
  RepeatedBlocks::Block repetition_;  ///< while it goes on, nothing below but is_idle_ and has_fenced_ is up to date
  std::uint64_t block_ = 0, window_bytes_ = 0;
  bool is_idle_ = true;  ///< no access since the threads last met: nothing can be ordered yet
  bool has_log_ = true;
  bool in_shadow_ = false;   ///< the log has gone over into the shadow memory
  bool has_shadow_ = false;  ///< it has been made ready for this block
  BlockSync sync_;
  AccessLog log_;
  AccessShadow shadow_;
  PendingCopies copies_;
  OpenReads<Conflict> open_;
  std::uint64_t order_ = 0;                    ///< of plain reads that are open
  std::unordered_set<std::uint64_t> guesses_;  ///< words that threads have read plainly, and then checked
  std::vector<Mask> has_fenced_;               ///< of each warp the lanes that have ever executed a fence
  std::vector<WordPiece> pieces_;
};

}  // namespace scanlab::vgpu
