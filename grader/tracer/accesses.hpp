// What a call did, as JSON: schema "scanlab-accesses", version 1. README.md describes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "vgpu/checks/cost/step_tracer.hpp"
#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

nlohmann::ordered_json accesses_json(const std::vector<vgpu::TracedLaunch>& launches, const vgpu::FindingList& races);

}  // namespace scanlab::grade
