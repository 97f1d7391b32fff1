// The length of the line of blocks in which each waits for the one before it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Follows which warp waits for which block through global memory. A warp has waited for another block's when it reads
/// a word again and finds that the other has written it since. It stands one place further back in the line than the
/// other stood when it wrote: so the longest line is the least number of waits that must come one after the other, in
/// this run. Blocks have to run side by side for that, as under the random schedule.
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

 private:
  struct Written {
    std::uint64_t block = 0, time = 0;
    std::uint64_t place = 0;  ///< of the warp, when it wrote
  };
  struct Warp {
    std::uint64_t place = 0;                                ///< in the longest line that ends with it
    std::unordered_map<std::uint64_t, std::uint64_t> read;  ///< when it last read a word, since it last stored one
  };

  Warp& warp_of(const Actor& actor) { return warps_[actor.block << 6 | actor.warp]; }
  void read(const Access& access, Warp& warp);
  void write(const Access& access, const Warp& warp);

  std::unordered_map<std::uint64_t, Written> written_;  ///< by word
  std::unordered_map<std::uint64_t, Warp> warps_;
  std::uint64_t time_ = 0, longest_ = 0;
};

}  // namespace scanlab::vgpu
