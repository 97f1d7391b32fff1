// Step traces: what each thread of one block reads and writes, and in which barrier interval. It judges nothing; what
// the values mean is for its caller (grader/tracer).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// One access of one thread.
struct TracedAccess {
  enum class Does : std::uint8_t { read, write, atomic };
  Does does = Does::read;
  bool has_value = false;        ///< what an atomic or an asynchronous copy leaves is not known beforehand
  std::uint32_t interval = 0;    ///< how many barriers of the block were complete before it
  std::uint32_t warp_syncs = 0;  ///< how often its warp has synchronised by itself since then
  std::uint32_t thread = 0;      ///< within the block
  std::uint32_t array = 0;       ///< index into TracedLaunch::arrays
  std::uint32_t place = 0;       ///< index into TracedLaunch::places
  std::uint32_t bytes = 0;
  std::uint64_t offset = 0;              ///< bytes from the array's beginning
  std::uint64_t time = 0;                ///< how many accesses of warps came before in the launch, of all its blocks
  std::array<std::uint32_t, 8> value{};  ///< that it reads or writes, `bytes` of it
};

/// A shared variable, or an allocation of global memory.
struct TracedArray {
  std::string name;
  ptx::StateSpace space = ptx::StateSpace::shared;
  std::uint64_t bytes = 0;
};

/// Where an access stands: the learner's own line, and the lines from which it was called as an inlined function.
struct TracedPlace : SourcePlace {
  std::vector<SourcePlace> callers;
};

/// A kernel launch, and what the traced block did in it.
struct TracedLaunch {
  std::string kernel;  ///< as the learner wrote it
  Dim3 grid, block;
  bool has_block = false;     ///< the traced block is one of its grid's, and has begun
  bool has_shuffles = false;  ///< lanes may pass values without memory
  std::vector<TracedArray> arrays;
  std::vector<TracedPlace> places;
  std::vector<std::uint32_t> barriers;  ///< that ended an interval: their places
  std::vector<TracedAccess> accesses;   ///< in the order in which they happened
  std::uint64_t left_out = 0;           ///< accesses beyond the limit, whatever they touch
};

/// Follows one block of every launch from the first on.
class StepTracer : public Observer {
 public:
  /// Of a launch about `most_accesses` are kept at most.
  StepTracer(std::uint64_t block, std::uint64_t most_accesses) : block_(block), most_accesses_(most_accesses) {}

  const std::vector<TracedLaunch>& launches() const { return launches_; }

  std::uint32_t interests() const override { return warp_syncs | counted_arrivals | plain_shared; }
  void kernel_begin(const KernelInfo& kernel) override;
  void kernel_end() override { kernel_.reset(); }
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override { add(access, TracedAccess::Does::read); }
  void store(const Access& access) override { add(access, TracedAccess::Does::write); }
  void atomic(const Access& access) override { add(access, TracedAccess::Does::atomic); }
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override;
  void warp_sync(const Actor& actor, Mask, WarpSync) override {
    if (actor.block == block_) ++warp_syncs_[actor.warp];
  }

 private:
  struct Found {
    std::uint32_t array = 0;
    std::uint64_t offset = 0;
  };

  void add(const Access& access, TracedAccess::Does does);
  std::optional<Found> find(const Access& access, unsigned lane);
  /// The number of the array with this key, which make() describes.
  template <class Make>
  std::uint32_t array_of(std::uint64_t key, Make make);
  std::uint32_t place_of(std::uint32_t line);

  std::uint64_t block_, most_accesses_;
  std::vector<TracedLaunch> launches_;

  // While a kernel runs.
  std::unique_ptr<const KernelInfo> kernel_;
  std::map<std::uint64_t, std::uint32_t> arrays_;  ///< by address: shared windows and global memory do not overlap
  std::map<std::uint32_t, std::uint32_t> places_;  ///< by line of the module
  std::vector<std::uint32_t> warp_syncs_;          ///< by warp, in this interval
  std::uint64_t time_ = 0;
};

}  // namespace scanlab::vgpu
