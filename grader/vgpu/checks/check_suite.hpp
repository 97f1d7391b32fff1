// All checks of a device together: what `run --check` and the judge attach.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/checks/check.hpp"
#include "vgpu/checks/global/carried_counters.hpp"
#include "vgpu/checks/global/global_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/checks/streams/stream_races.hpp"
#include "vgpu/checks/uninitialised/uninitialised.hpp"
#include "vgpu/core/run/device.hpp"

namespace scanlab::vgpu {

class CheckSuite {
 public:
  /// Listens to the device from now on, to the end of its life.
  explicit CheckSuite(Device& device);
  ~CheckSuite();
  CheckSuite(const CheckSuite&) = delete;
  CheckSuite& operator=(const CheckSuite&) = delete;

  void reset();
  Uninitialised& uninitialised() { return uninitialised_; }
  const Uninitialised& uninitialised() const { return uninitialised_; }
  /// Adds what the checks know of the cause of a fault of the latest launch.
  void explain(Fault& fault) const { counters_.explain(fault); }
  /// To be notified of the streams in which the work is.
  WorkListener* work() { return &streams_; }
  /// See StreamRaces::source_of.
  void locate_host_by(std::function<SourcePlace(const HostPlace&)> source_of) {
    streams_.source_of = std::move(source_of);
  }
  /// See StreamRaces::breaches and SharedRaces::breaches.
  std::vector<Breach> breaches() const;
  /// See StreamRaces::left_out.
  std::string left_out() const { return streams_.left_out(); }

  /// A barrier at which warps meet from different lines is a mistake: it is none where they have different roles.
  bool across_warps = false;

  struct Findings {
    std::vector<Finding> list;  ///< the most basic first: mistakes before advice, memory before order before cost
    std::uint64_t total = 0;    ///< with those that were left out
    bool has_mistake() const;
  };
  /// Of all launches that have ended since the last reset.
  Findings findings() const;

 private:
  Device& device_;
  const std::vector<std::unique_ptr<Check>> others_;  ///< to which nothing else refers
  SharedRaces shared_races_;
  GlobalRaces global_races_;
  StreamRaces streams_;
  Uninitialised uninitialised_;
  CarriedCounters counters_;
  std::vector<Check*> checks_;  ///< in the order in which they are asked
};

}  // namespace scanlab::vgpu
