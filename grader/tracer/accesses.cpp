#include "tracer/accesses.hpp"

#include <nlohmann/json.hpp>

namespace scanlab::grade {

namespace {

using Json = nlohmann::ordered_json;
using vgpu::TracedAccess;

const char* name_of(TracedAccess::Does does) {
  switch (does) {
    case TracedAccess::Does::read:
      return "read";
    case TracedAccess::Does::write:
      return "write";
    case TracedAccess::Does::atomic:
      return "atomic";
  }
  return "?";
}

Json triple(vgpu::Dim3 of) {
  return {of.x, of.y, of.z};
}

/// A row, for there are many: does, interval, warp syncs, thread, array, offset, bytes, place, value (null: unknown).
Json row(const TracedAccess& a) {
  Json value = nullptr;
  if (a.has_value) {
    value = Json::array();
    // A number of 1 or 2 bytes has a word of its own; the bytes after it are 0.
    for (std::uint32_t k = 0; 4 * k < a.bytes; ++k) value.push_back(a.value[k]);
  }
  return {name_of(a.does), a.interval, a.warp_syncs, a.thread, a.array, a.offset, a.bytes, a.place, std::move(value)};
}

Json launch_json(const vgpu::TracedLaunch& launch) {
  Json arrays = Json::array(), places = Json::array(), accesses = Json::array();
  for (const vgpu::TracedArray& a : launch.arrays) {
    const char* const space = a.space == ptx::StateSpace::shared ? "shared" : "global";
    arrays.push_back({{"name", a.name}, {"space", space}, {"bytes", a.bytes}});
  }
  for (const vgpu::SourcePlace& p : launch.places) places.push_back({{"file", p.file}, {"line", p.line}});
  for (const TracedAccess& a : launch.accesses) accesses.push_back(row(a));
  return {{"kernel", launch.kernel},       {"grid", triple(launch.grid)},         {"block", triple(launch.block)},
          {"has_block", launch.has_block}, {"has_shuffles", launch.has_shuffles}, {"arrays", std::move(arrays)},
          {"places", std::move(places)},   {"barriers", launch.barriers},         {"accesses", std::move(accesses)},
          {"left_out", launch.left_out}};
}

}  // namespace

Json accesses_json(const std::vector<vgpu::TracedLaunch>& launches, const vgpu::FindingList& races) {
  Json all = Json::array(), found = Json::array();
  for (const vgpu::TracedLaunch& launch : launches) all.push_back(launch_json(launch));
  for (const vgpu::Finding& race : races.list()) found.push_back(to_json(race));
  return {{"schema", "scanlab-accesses"}, {"version", 1}, {"launches", std::move(all)}, {"races", std::move(found)}};
}

}  // namespace scanlab::grade
