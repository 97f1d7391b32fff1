// An access to global memory as its race check remembers it, and what it finds.
#pragma once

#include <cstdint>

#include "vgpu/checks/footprint.hpp"
#include "vgpu/checks/global/grid_clock.hpp"
#include "vgpu/checks/open_reads.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// How an access touches global memory. Strong ones (PTX: relaxed, acquire, release; volatile; atomics) do not race
/// with each other, unless one has the scope of a block and the other is another block's.
struct GlobalHow {
  How::Kind kind = How::Kind::read;
  bool is_strong = false;
  bool is_for_block = false;  ///< a strong one whose scope is the block
  bool is_for_host = false;   ///< a strong one whose scope is the whole system: the host may take part
  bool is_copy = false;       ///< a read by an asynchronous copy
  bool is_read_only = false;  ///< a load of what no thread of the launch may write (Access::is_read_only)

  bool is_atomic() const { return kind == How::Kind::atomic || kind == How::Kind::idle; }
  /// Does it change what others may read?
  bool writes() const { return kind != How::Kind::read && kind != How::Kind::idle; }
  bool reads() const { return kind == How::Kind::read || is_atomic(); }
  bool is_plain_read() const { return kind == How::Kind::read && !is_strong; }
  bool operator==(const GlobalHow&) const = default;
};

/// Strong accesses of two blocks, or of two launches.
inline bool can_race(GlobalHow a, GlobalHow b) {
  if (!a.writes() && !b.writes()) return false;
  return !a.is_strong || !b.is_strong || a.is_for_block || b.is_for_block;
}

/// Which lanes access it, how, and when.
struct PastAccess {
  Moment when = 0;
  std::uint64_t order = 0;  ///< among all accesses of the launch
  std::uint32_t block = 0;
  std::uint32_t line = 0;  ///< index into ptx::Module::lines
  std::uint32_t warp = 0;
  Mask lanes = 0;
  GlobalHow how;
  std::uint8_t bytes = 0;  ///< of a lane
};

inline bool can_race(const PastAccess& a, const PastAccess& b) {
  return can_race(a.how, b.how) && (a.block != b.block || !a.how.is_strong || !b.how.is_strong);
}

/// Two accesses to the same bytes of global memory that nothing orders, or only nearly.
struct GlobalConflict {
  enum class Cause : std::uint8_t {
    unordered,
    lanes_of_one,  ///< two lanes of one store, with different values
    no_fence,      ///< flags lead from the earlier one to the later one, but the earlier one's thread has no fence
    reader_fence,  ///< as before, with the writer's fence, and without the reader's
  };
  struct Side {
    std::uint32_t line = 0;
    std::uint32_t block = 0;
    unsigned thread = 0;
    GlobalHow how;
  };
  Cause cause = Cause::unordered;
  Side earlier, later;
  std::uint64_t address = 0;         ///< of the first byte that both touch
  std::uint32_t bytes = 0;           ///< of the smaller access
  ReadUse use = ReadUse::unknown;    ///< of a plain read beside an atomic
  SeenFlag flag;                     ///< for no_fence; else one that was set too early, if any
  bool has_reader_fence = false;     ///< for no_fence: behind the flag
  bool has_waited = true;            ///< of strong ones: the later thread has not only taken a number from a counter
  bool has_several_writers = false;  ///< other lanes have done the same to it as the earlier thread, which writes
  const Memory* memory = nullptr;    ///< for the names of what lies there
};

}  // namespace scanlab::vgpu
