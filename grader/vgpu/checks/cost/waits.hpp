// The length of the line of blocks in which each waits for the one before it.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Follows which warp waits for which block through global memory. A warp has waited for another block's when it asks
/// for a word again, by a strong read or an atomic that changes nothing, and finds that the other has written it since;
/// what it does in between changes nothing. It stands one place further back in the line than the other stood when it
/// wrote: so the longest line is the least number of waits that must come one after the other, in this run. What it
/// reads else brings it to the place of the writer, and a barrier all of its block to that of the last. An atomic that
/// changes the word asks for it only where nothing was done since the one before: otherwise it takes a number.
///
/// Blocks have to run side by side for that, as under the random schedule.
class Waits : public Observer {
 public:
  /// The longest line since the last reset.
  std::uint64_t longest() const { return longest_; }
  void reset() { *this = {}; }

  std::uint32_t interests() const override { return 0; }
  void kernel_begin(const KernelInfo&) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override;
  void barrier_complete(const Actor&, std::uint32_t id, Meeting) override;

 private:
  struct Written {
    std::uint64_t block = 0, time = 0;
    std::uint64_t place = 0;  ///< of the warp, when it wrote
  };
  struct Warp {
    std::uint64_t place = 0;                                 ///< in the longest line that ends with it
    std::uint64_t latest = 0;                                ///< the word of its last access
    std::unordered_map<std::uint64_t, std::uint64_t> asked;  ///< when it last asked for a word
  };
  enum class Asks : std::uint8_t { no, yes, if_latest };

  Warp& warp_of(const Actor& actor) { return blocks_[actor.block][actor.warp]; }
  void read(const Access& access, Asks asks);
  void write(const Access& access);

  std::unordered_map<std::uint64_t, Written> written_;              ///< by word
  std::unordered_map<std::uint64_t, std::array<Warp, 32>> blocks_;  ///< their warps, by block
  std::uint64_t time_ = 0, longest_ = 0;
};

}  // namespace scanlab::vgpu
