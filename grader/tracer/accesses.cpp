#include "tracer/accesses.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace scanlab::grade {

namespace {

using Json = nlohmann::ordered_json;
using vgpu::TracedAccess;
using Graph = vgpu::AdditionGraph;

/// More than the sums in a section of any scan; parts come first, so what is left out is part of nothing that is not.
constexpr std::size_t most_names = 1u << 17;

const char* name_of(TracedAccess::Does does) {
  return does == TracedAccess::Does::read ? "read" : does == TracedAccess::Does::write ? "write" : "atomic";
}

Json triple(vgpu::Dim3 of) {
  return {of.x, of.y, of.z};
}

Json place_json(const vgpu::SourcePlace& place) {
  return {{"file", place.file}, {"line", place.line}};
}

/// A row, for there are many: does, interval, warp syncs, thread, array, offset, bytes, place, value (null: unknown),
/// time.
Json row(const TracedAccess& a) {
  Json value = nullptr;
  if (a.has_value) {
    value = Json::array();
    // A number of 1 or 2 bytes has a word of its own; the bytes after it are 0.
    for (std::uint32_t k = 0; 4 * k < a.bytes; ++k) value.push_back(a.value[k]);
  }
  return {name_of(a.does), a.interval, a.warp_syncs, a.thread,         a.array,
          a.offset,        a.bytes,    a.place,      std::move(value), a.time};
}

Json launch_json(const vgpu::TracedLaunch& launch) {
  Json arrays = Json::array(), places = Json::array(), accesses = Json::array();
  for (const vgpu::TracedArray& a : launch.arrays) {
    const char* const space = a.space == ptx::StateSpace::shared ? "shared" : "global";
    arrays.push_back({{"name", a.name}, {"space", space}, {"bytes", a.bytes}});
  }
  for (const vgpu::TracedPlace& p : launch.places) {
    Json& place = places.emplace_back(place_json(p));
    place["callers"] = Json::array();
    for (const vgpu::SourcePlace& caller : p.callers) place["callers"].push_back(place_json(caller));
  }
  for (const TracedAccess& a : launch.accesses) accesses.push_back(row(a));
  return {{"kernel", launch.kernel},       {"grid", triple(launch.grid)},         {"block", triple(launch.block)},
          {"has_block", launch.has_block}, {"has_shuffles", launch.has_shuffles}, {"arrays", std::move(arrays)},
          {"places", std::move(places)},   {"barriers", launch.barriers},         {"accesses", std::move(accesses)},
          {"left_out", launch.left_out}};
}

/// Which nodes are accessed, as a whole or by halves, or are operands of a sum that is one of these; the identity and
/// all inputs.
std::vector<bool> nodes_to_write(const std::vector<vgpu::TracedLaunch>& launches, const Graph& graph) {
  std::vector<bool> chosen(graph.nodes());
  std::unordered_set<std::uint32_t> words;  // of what is no name: a half may travel with a tag
  for (const vgpu::TracedLaunch& launch : launches)
    for (const TracedAccess& a : launch.accesses)
      for (std::uint32_t k = 0; a.has_value && 4 * k < a.bytes; k += 2)
        if (const auto node = graph.find(std::uint64_t{a.value[k + 1]} << 32 | a.value[k]))
          chosen[*node] = true;
        else
          words.insert({a.value[k], a.value[k + 1]});
  for (Graph::Node node = 0; node < graph.nodes(); ++node) {
    const vgpu::ElementName name = graph.name(node);
    if (words.contains(static_cast<std::uint32_t>(name)) || words.contains(static_cast<std::uint32_t>(name >> 32)))
      chosen[node] = true;
  }
  for (auto node = static_cast<Graph::Node>(graph.nodes()); node-- > 0;) {
    if (!graph.is_sum(node)) chosen[node] = true;
    if (!chosen[node] || !graph.is_sum(node)) continue;
    for (const Graph::Node operand : {graph.earlier(node), graph.later(node)})
      if (operand != Graph::unknown) chosen[operand] = true;
  }
  return chosen;
}

/// The names that accesses have moved, and what they are the sums of; those are numbered anew.
Json elements_json(const std::vector<vgpu::TracedLaunch>& launches, const Graph& graph) {
  const std::vector<bool> chosen = nodes_to_write(launches, graph);
  std::vector<std::size_t> numbers(graph.nodes());
  const auto number = [&](Graph::Node node) { return node == Graph::unknown ? Json() : Json(numbers[node]); };
  Json names = Json::array(), sums = Json::array(), places = Json::array(), looked_at;
  for (Graph::Node node = 0; node < graph.nodes(); ++node) {
    if (!chosen[node] || names.size() == most_names) continue;
    numbers[node] = names.size();
    const vgpu::ElementName name = graph.name(node);
    names.push_back({static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32)});
    if (!graph.is_sum(node)) continue;
    const vgpu::Adder& by = graph.adder(node);
    sums.push_back({number(graph.earlier(node)), number(graph.later(node)), by.launch, by.block, by.thread, by.place});
  }
  for (const vgpu::SourcePlace& place : graph.places()) places.push_back(place_json(place));
  if (const auto place = graph.looked_at()) looked_at = place_json(*place);
  return {{"names", std::move(names)},
          {"sums", std::move(sums)},
          {"places", std::move(places)},
          {"looked_at", std::move(looked_at)}};
}

}  // namespace

Json accesses_json(const std::vector<vgpu::TracedLaunch>& launches, const vgpu::FindingList& races,
                   const Graph* graph) {
  Json all = Json::array(), found = Json::array();
  for (const vgpu::TracedLaunch& launch : launches) all.push_back(launch_json(launch));
  for (const vgpu::Finding& race : races.list()) found.push_back(to_json(race));
  return {{"schema", "scanlab-accesses"},
          {"version", 3},
          {"launches", std::move(all)},
          {"elements", graph ? elements_json(launches, *graph) : Json()},
          {"races", std::move(found)}};
}

}  // namespace scanlab::grade
