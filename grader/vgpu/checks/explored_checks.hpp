// What is looked for in each run of an exploration, besides races on global memory (core/explore/races.hpp): what the
// exploration does not change, and mistakes that one execution only may have.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "vgpu/checks/byte_set.hpp"
#include "vgpu/checks/check.hpp"
#include "vgpu/checks/cost/thread_orders.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/checks/uninitialised/shared_bytes.hpp"
#include "vgpu/checks/uninitialised/uninitialised.hpp"
#include "vgpu/core/explore/exploration.hpp"

namespace scanlab::vgpu {

/// Reports the first read of a launch of bytes that nobody has written, whatever becomes of it.
class UnwrittenReads : public Observer {
 public:
  /// `before`: what has been written before the launch.
  UnwrittenReads(const Uninitialised& before, std::function<void(const Breach&)> report)
      : before_(before), report_(std::move(report)) {}

  std::uint32_t interests() const override { return plain_shared; }
  void kernel_begin(const KernelInfo& kernel) override;
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override { loads({access, 1, 0}); }
  void store(const Access& access) override { stores({access, 1, 0}); }
  void loads(const AccessRun& run) override;
  void stores(const AccessRun& run) override;
  void atomic(const Access& access) override;
  void may_read_initial(const Actor& actor, std::uint64_t address, std::uint32_t bytes) override;

 private:
  void note(const Actor& actor);

  const Uninitialised& before_;
  std::function<void(const Breach&)> report_;
  KernelInfo kernel_;
  bool is_known_ = false;
  std::vector<SharedBytes> shared_;                        ///< by slot
  ByteSet written_;                                        ///< by this launch, of what was not before
  std::vector<std::pair<Address, std::uint64_t>> ranges_;  ///< of it
};

/// Reports stores to global memory by which lanes of a warp leave different values at one place.
class LaneStores : public Observer {
 public:
  explicit LaneStores(std::function<void(const Breach&)> report) : report_(std::move(report)) {}

  void kernel_begin(const KernelInfo& kernel) override { module_ = kernel.module; }
  void store(const Access& access) override;

 private:
  std::function<void(const Breach&)> report_;
  const ptx::Module* module_ = nullptr;
};

/// Reports read-only loads (Access::is_read_only) of bytes that the launch writes in any of its runs, which are
/// undefined whatever orders the two. A run ends where another has been before, so that no run need have both.
class ReadOnlyLoads : public Observer {
 public:
  explicit ReadOnlyLoads(std::function<void(const Breach&)> report) : report_(std::move(report)) {}

  /// Of another launch.
  void begin_launch();
  void kernel_begin(const KernelInfo& kernel) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override { store(access); }

 private:
  struct Read {
    Address first, end;
    std::uint32_t line;
  };
  void note(std::uint32_t line);

  std::function<void(const Breach&)> report_;
  const ptx::Module* module_ = nullptr;
  bool has_loads_ = false;  ///< the module has such loads
  ByteSet read_, written_;  ///< by the launch
  std::vector<Read> reads_;
  std::vector<std::pair<Address, std::uint64_t>> writes_;
};

/// The observers of an exploration, and what they have found in the runs that count.
class ExploredChecks {
 public:
  /// `before`: what had been written before each launch.
  ExploredChecks(const Uninitialised& before, std::function<void(const Breach&)> report);
  ExploredChecks(const ExploredChecks&) = delete;
  ExploredChecks& operator=(const ExploredChecks&) = delete;

  /// The observers of another launch that is explored.
  const ExplorationObservers& begin_launch();

 private:
  /// Hears of the beginning of a run before the others, and of its end behind them.
  class Run : public Observer {
   public:
    explicit Run(ExploredChecks& checks) : checks_(checks) {}
    void kernel_begin(const KernelInfo&) override { checks_.seen_.clear(); }
    void kernel_end() override { checks_.report_seen(); }

   private:
    ExploredChecks& checks_;
  };
  /// The same of the checks that see each path of a block once.
  class Path : public Observer {
   public:
    explicit Path(ExploredChecks& checks) : checks_(checks) {}
    void kernel_begin(const KernelInfo&) override { checks_.begin_path(); }
    void kernel_end() override { checks_.end_path(); }

   private:
    ExploredChecks& checks_;
  };
  void report_seen();
  void begin_path();
  void end_path();

  std::function<void(const Breach&)> report_;
  std::vector<Breach> seen_;  ///< in a run that has not ended
  Run run_{*this};
  Path path_{*this};
  Unexplored unexplored_;
  UnwrittenReads unwritten_;
  LaneStores lane_stores_;
  ReadOnlyLoads read_only_loads_;
  SharedRaces shared_races_{LaneOrder::ptx};
  bool across_warps_ = true;
  std::unique_ptr<Check> divergent_barriers_;
  ExplorationObservers observers_;
};

}  // namespace scanlab::vgpu
