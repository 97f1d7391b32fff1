// Counters that launches count up, and that are not set back in between: an index that a later launch takes from one
// lies too far back. What is known of them goes into what is said about a fault.
#pragma once

#include <cstdint>
#include <map>

#include "vgpu/checks/check.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::vgpu {

class CarriedCounters : public Check, private MemoryListener {
 public:
  explicit CarriedCounters(Memory& memory);
  ~CarriedCounters() override;

  /// Of an access behind an array by a block that has taken a number from such a counter in this launch: says so.
  void explain(Fault& fault) const;

  std::uint32_t interests() const override { return 0; }
  void kernel_begin(const KernelInfo& kernel) override;
  void loads(const AccessRun&) override {}
  void stores(const AccessRun& run) override;
  void store(const Access& access) override { stores({access, 1, 0}); }
  void atomic(const Access& access) override;

 private:
  /// A histogram is none.
  static constexpr std::size_t most_counters = 64;

  void written(Address address, std::uint64_t bytes) override;
  void copied(Address to, Address, std::uint64_t bytes) override { written(to, bytes); }
  void released(const Allocation& a) override { written(a.base, a.size); }

  Memory& memory_;
  std::uint64_t launch_ = 0;
  std::map<Address, std::uint64_t> counted_;  ///< in which launch last
  std::map<Address, std::uint64_t> carried_;  ///< what launches before this one have left there
  std::map<std::uint64_t, Address> taken_;    ///< by block: the carried counter from which it has taken a number
};

}  // namespace scanlab::vgpu
