// Races of a launch where shuffles and votes order no accesses to memory, as PTX has it.
#pragma once

#include <array>
#include <vector>

#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/checks/global/global_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/core/run/device.hpp"

namespace scanlab::vgpu {

/// Looks for them on a device. A proof ends with one; a grade does not, since GPUs keep this order in practice.
class LaneRaces {
 public:
  explicit LaneRaces(Device& device) : device_(device) {}
  LaneRaces(const LaneRaces&) = delete;
  LaneRaces& operator=(const LaneRaces&) = delete;
  ~LaneRaces() { end(); }

  /// Forgets what was found, and looks from now on, unless no program of the device shuffles or votes.
  void begin() {
    end();
    shared_.reset();
    global_.reset();
    if (!device_.may_shuffle()) return;
    for (Observer* race : races()) device_.attach(race);
  }
  void end() {
    for (Observer* race : races()) device_.detach(race);
  }
  std::vector<Breach> breaches() const {
    std::vector<Breach> all;
    for (const Finding& race : shared_.findings().list()) add(race, all);
    for (const Finding& race : global_.findings().list()) add(race, all);
    return all;
  }

 private:
  std::array<Observer*, 2> races() { return {&shared_, &global_}; }
  /// What races in any case is a mistake, and no proof is asked for.
  static void add(const Finding& race, std::vector<Breach>& all) {
    if (race.weight == Finding::Weight::mistake && !race.parts.empty())
      all.push_back({Breach::What::warp_order, race.parts.back().where});
  }

  Device& device_;
  SharedRaces shared_{LaneOrder::ptx};
  GlobalRaces global_{LaneOrder::ptx};
};

}  // namespace scanlab::vgpu
