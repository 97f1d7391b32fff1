// All checks of a device together: what `run --check` and the judge attach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/checks/check.hpp"
#include "vgpu/checks/streams/stream_races.hpp"
#include "vgpu/core/run/device.hpp"

namespace scanlab::vgpu {

class CarriedCounters;
class Uninitialised;

class CheckSuite {
 public:
  /// Listens to the device from now on, to the end of its life.
  explicit CheckSuite(Device& device);
  ~CheckSuite();
  CheckSuite(const CheckSuite&) = delete;
  CheckSuite& operator=(const CheckSuite&) = delete;

  void reset();
  Uninitialised& uninitialised() { return *uninitialised_; }
  /// Adds what the checks know of the cause of a fault of the latest launch.
  void explain(Fault& fault) const;
  /// To be notified of the streams in which the work is.
  WorkListener* work() { return &*streams_; }
  /// See StreamRaces::left_out.
  std::string left_out() const { return streams_->left_out(); }

  struct Findings {
    std::vector<Finding> list;  ///< the most basic first: mistakes before advice, memory before order before cost
    std::uint64_t total = 0;    ///< with those that were left out
    bool has_mistake() const;
  };
  /// Of all launches that have ended since the last reset.
  Findings findings() const;

 private:
  Device& device_;
  std::vector<std::unique_ptr<Check>> checks_;
  Uninitialised* uninitialised_ = nullptr;  ///< one of them
  CarriedCounters* counters_ = nullptr;     ///< another
  std::optional<StreamRaces> streams_;
};

}  // namespace scanlab::vgpu
