// What was measured, as a table for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "vgpu/bench/measure.hpp"

namespace scanlab::bench {

std::string table(const std::vector<Measured>& all, const Arguments& arguments);
nlohmann::ordered_json json(const std::vector<Measured>& all, const Arguments& arguments);

}  // namespace scanlab::bench
