// The race check of one block: what its threads do to shared memory, in the order in which they do it.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/checks/block_sync.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/checks/shared/access_log.hpp"
#include "vgpu/checks/shared/access_shadow.hpp"
#include "vgpu/checks/shared/pending_copies.hpp"
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
  std::uint64_t address = 0;  ///< of the first byte that both touch, in the block's window
  std::uint32_t bytes = 0;    ///< of the smaller access
  std::uint64_t block = 0;
};

class ConflictSink {
 public:
  virtual ~ConflictSink() = default;
  virtual void conflict(const Conflict&) = 0;
};

class BlockRaces {
 public:
  explicit BlockRaces(ConflictSink& sink) : sink_(sink) {}

  /// `has_log`: accesses are compared as rows, as long as that suffices.
  void begin(std::uint64_t block, unsigned threads, std::uint64_t window_bytes, bool has_log);

  /// An access to shared memory.
  void access(const AccessRun& run, How::Kind kind);
  /// One to global memory, which may synchronise threads of the block.
  void global_access(const Access& a, BlockSync::Effect effect) {
    if (!is_idle_) sync_.strong_access(a, effect);
  }
  void fence(unsigned warp, Mask lanes);
  void arrive(unsigned warp, Mask lanes, std::uint32_t id, Observer::Arrival how) {
    sync_.arrive(warp, lanes, id, how);
  }
  void complete(std::uint32_t id, Observer::Meeting meeting) {
    if (sync_.complete(id, meeting)) begin_interval();
  }
  void meet(unsigned warp, Mask lanes) {
    if (!is_idle_) sync_.meet(warp, lanes);
  }
  void commit(unsigned warp, Mask lanes) { copies_.commit(warp, lanes); }
  void wait(unsigned warp, Mask lanes, std::uint32_t left);

 private:
  void begin_interval();
  How how_of(const Access& a, How::Kind kind) const;
  void enter(const AccessRun& run, How how);
  void enter_shadow(const Access& a, Footprint what);
  bool is_harmless(const Access& a, Footprint what, unsigned lane, Footprint earlier, unsigned thread,
                   std::uint64_t address, std::uint32_t bytes) const;
  void move_log_to_shadow();
  void compare_lanes(const Access& a, Footprint what);
  void compare_with_copies(const Access& a, Footprint what);
  void synchronise(const Access& a, How::Kind kind);

  ConflictSink& sink_;
  std::uint64_t block_ = 0, window_bytes_ = 0;
  unsigned threads_ = 0;
  bool is_idle_ = true;  ///< no access since the threads last met: nothing can be ordered yet
  bool has_log_ = true;
  bool in_shadow_ = false;   ///< the log has gone over into the shadow memory
  bool has_shadow_ = false;  ///< it has been made ready for this block
  BlockSync sync_;
  AccessLog log_;
  AccessShadow shadow_;
  PendingCopies copies_;
  std::vector<Mask> has_fenced_;  ///< of each warp the lanes that have ever executed a fence
  std::vector<AccessShadow::Piece> pieces_;
};

}  // namespace scanlab::vgpu
