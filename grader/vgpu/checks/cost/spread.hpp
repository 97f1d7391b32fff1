// How the work of launches is spread: what the busiest warp and the busiest block of each did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// A set of whole numbers, kept as ranges.
class Ranges {
 public:
  /// Adds `begin` to `end` - 1.
  void add(std::uint64_t begin, std::uint64_t end);
  /// How many numbers there are.
  std::uint64_t count();

 private:
  void merge();

  struct Range {
    std::uint64_t begin, end;
  };
  static constexpr std::size_t first_merge = 64;
  std::vector<Range> ranges_;  ///< up to the last merge apart and ascending
  std::size_t next_merge_ = first_merge;
};

/// Summed over the launches since the last reset, for launches come one after the other: what one warp does in many of
/// them is as long as what it does in one. Work that others do beside it makes neither figure smaller.
class Spread : public Observer {
 public:
  /// Instructions of the warp of each launch that has executed most, for each `section_words` that its block has read
  /// or written, if these are several times as many: a block that stays may scan many sections. Blocks have to run one
  /// after the other, as by index: then what a block waits for is there, and waiting takes few instructions.
  std::uint64_t busiest_warp() const { return warp_ + launch_warp_; }
  /// Different 4-byte words of global memory that the block of each launch with most of them has read or written.
  /// Looking at a word again and again adds nothing. Blocks have to run side by side, or the first may take all the
  /// work.
  std::uint64_t busiest_block() const { return block_ + launch_block_; }
  static constexpr std::uint64_t section_words = 2048;  ///< 1024 floats in, 1024 out
  void reset() { *this = {}; }

  std::uint32_t interests() const override { return warp_work; }
  void kernel_begin(const KernelInfo&) override;
  void executed_by(std::uint64_t block, std::uint32_t warp, std::uint64_t count) override;
  void block_end(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override { touch(access); }
  void store(const Access& access) override { touch(access); }
  void atomic(const Access& access) override { touch(access); }
  std::unique_ptr<Observer> fork() const override { return std::make_unique<Spread>(); }
  void join(Observer& fork) override;

 private:
  struct Running {
    std::vector<std::uint64_t> instructions;  ///< by warp
    Ranges words;
  };
  Running& running(std::uint64_t block);
  void touch(const Access& access);

  std::unordered_map<std::uint64_t, Running> blocks_;  ///< that run, by index
  std::uint64_t latest_block_ = 0;
  Running* latest_ = nullptr;  ///< of `latest_block_`, or null
  std::uint64_t launch_warp_ = 0, launch_block_ = 0;
  std::uint64_t warp_ = 0, block_ = 0;  ///< of the launches before
};

}  // namespace scanlab::vgpu
