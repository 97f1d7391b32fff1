// What a call did, as JSON: schema "scanlab-accesses", version 3. README.md describes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "vgpu/checks/cost/addition_graph.hpp"
#include "vgpu/checks/cost/step_tracer.hpp"
#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

/// `graph` is null where elements have no names.
nlohmann::ordered_json accesses_json(const std::vector<vgpu::TracedLaunch>& launches, const vgpu::FindingList& races,
                                     const vgpu::AdditionGraph* graph);

}  // namespace scanlab::grade
