// The counters: how much work a launch did, and how well it used the hardware.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Exact counts, summed over the launches since the last reset. Sectors are 32 bytes; a request is one warp's access.
struct Counts {
  std::uint64_t launches = 0;
  std::uint64_t threads = 0;  ///< that the launches started, whether they had work or not
  std::uint64_t thread_instructions = 0, warp_instructions = 0;
  std::uint64_t additions = 0;                        ///< floating-point add, sub, fma; a thread
  std::uint64_t warp_additions = 0;                   ///< the same, a warp
  std::uint64_t barriers = 0;                         ///< completed block barriers, each once per block
  std::uint64_t shared_loads = 0, shared_stores = 0;  ///< of warps, up to 128 bytes each
  std::uint64_t bank_conflict_replays = 0;            ///< extra passes over the 32 banks of 4 bytes
  std::uint64_t global_requests = 0, global_sectors = 0;
  std::uint64_t global_bytes = 0;  ///< asked for by threads
  std::uint64_t atomics = 0;       ///< a thread, global and shared, that change what they find; mbarriers are none
  std::uint64_t fences = 0;        ///< warp requests: fences between blocks, and releases and acquires of global memory

  double warp_efficiency() const;      ///< active lanes per instruction, over 32; 1 when nothing ran
  double addition_efficiency() const;  ///< active lanes per addition, over 32; 1 when nothing was added
  Counts& operator+=(const Counts& other);
  /// Names as in lab.toml, with values; counts as whole numbers.
  std::vector<std::pair<std::string, double>> named() const;
};

class Counters : public Observer {
 public:
  const Counts& counts() const { return counts_; }
  void reset() { counts_ = {}; }

  std::uint32_t interests() const override { return plain_shared | work; }
  void kernel_begin(const KernelInfo&) override;
  void executed(Mask mask, std::uint64_t count) override;
  void addition(Mask mask, std::uint64_t warps) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void loads(const AccessRun& run) override;
  void stores(const AccessRun& run) override;
  void atomic(const Access& access) override;
  void fence(const Actor&, Mask, Access::Scope scope) override;
  void barrier_complete(const Actor&, std::uint32_t, Meeting) override { ++counts_.barriers; }
  std::unique_ptr<Observer> fork() const override { return std::make_unique<Counters>(); }
  void join(Observer& fork) override { counts_ += static_cast<const Counters&>(fork).counts_; }

 private:
  void access(const Access& access, std::uint64_t times = 1);
  void accesses(const AccessRun& run);
  Counts counts_;
};

}  // namespace scanlab::vgpu
