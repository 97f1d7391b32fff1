// A check: an observer that finds mistakes in what kernels do.
#pragma once

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// What orders the lanes of a warp: bar.warp.sync alone, as PTX promises; or shuffles and votes as well, by which lanes
/// wait for each other, and on which working code relies.
enum class LaneOrder : std::uint8_t { ptx, practice };

class Check : public Observer {
 public:
  /// Of all launches that have ended since the last reset.
  const FindingList& findings() const { return findings_; }
  /// Forgets the findings. Between launches only.
  virtual void reset() { findings_.clear(); }

 protected:
  FindingList findings_;
};

}  // namespace scanlab::vgpu
