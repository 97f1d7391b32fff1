// Races of a launch where shuffles and votes order no accesses to memory, as PTX has it.
#pragma once

#include <array>
#include <vector>

#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/checks/global/global_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/core/run/device.hpp"

namespace scanlab::grade {

/// Looks for them on a device. A proof ends with one; a grade does not, since GPUs keep this order in practice.
class LaneRaces {
 public:
  explicit LaneRaces(vgpu::Device& device) : device_(device) {}
  LaneRaces(const LaneRaces&) = delete;
  LaneRaces& operator=(const LaneRaces&) = delete;
  ~LaneRaces() { end(); }

  /// Forgets what was found, and looks from now on, unless no program of the device shuffles or votes.
  void begin() {
    end();
    shared_.reset();
    global_.reset();
    if (!device_.may_shuffle()) return;
    for (vgpu::Observer* race : races()) device_.attach(race);
  }
  void end() {
    for (vgpu::Observer* race : races()) device_.detach(race);
  }
  std::vector<vgpu::Breach> breaches() const {
    std::vector<vgpu::Breach> all;
    for (const vgpu::Finding& race : shared_.findings().list()) add(race, all);
    for (const vgpu::Finding& race : global_.findings().list()) add(race, all);
    return all;
  }

 private:
  std::array<vgpu::Observer*, 2> races() { return {&shared_, &global_}; }
  /// What races in any case is a mistake, and no proof is asked for.
  static void add(const vgpu::Finding& race, std::vector<vgpu::Breach>& all) {
    if (race.weight == vgpu::Finding::Weight::mistake && !race.parts.empty())
      all.push_back({vgpu::Breach::What::warp_order, race.parts.back().where});
  }

  vgpu::Device& device_;
  vgpu::SharedRaces shared_{vgpu::LaneOrder::ptx};
  vgpu::GlobalRaces global_{vgpu::LaneOrder::ptx};
};

}  // namespace scanlab::grade
