// The check barrier.divergent: the threads of a warp that meet at a barrier stand at different __syncthreads().
//
// A GPU counts arrivals, not lines, so the block goes on: but some threads are a barrier ahead of the others from there
// on. Whole warps that meet from different lines are not reported: programs whose warps have different roles are
// written like that, and GPUs promise as much. Where no thread arrives any more the device itself reports a deadlock,
// under the same id.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/checks/check.hpp"

namespace scanlab::vgpu {

class DivergentBarriers : public Check {
 public:
  /// Arrivals by another instruction than lanes of the same warp that wait already are reported to all observers.
  std::uint32_t interests() const override { return 0; }
  void kernel_begin(const KernelInfo& kernel) override;
  void kernel_end() override;
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void loads(const AccessRun&) override {}  // by default each warp's are reported one by one
  void stores(const AccessRun&) override {}
  void barrier_arrive(const Actor& actor, Mask lanes, std::uint32_t id, Arrival how) override;
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override;
  std::unique_ptr<Observer> fork() const override;
  void join(Observer& fork) override;

 private:
  /// A line, and the first thread of a warp that has arrived there.
  struct Arrived {
    std::uint32_t line = 0;
    unsigned thread = 0;
  };
  struct Example {
    std::uint64_t block = 0;
    unsigned threads[2] = {0, 0};
    std::uint64_t count = 0;
  };
  using Lines = std::pair<std::uint32_t, std::uint32_t>;

  void add(const Lines& lines, const Example& example);

  std::shared_ptr<const KernelInfo> kernel_;  ///< while it runs
  std::vector<std::vector<Arrived>>
      arrived_;                     ///< at the block's own barrier, by resident place: an entry per line and warp
  std::map<Lines, Example> found_;  ///< in this launch
};

}  // namespace scanlab::vgpu
