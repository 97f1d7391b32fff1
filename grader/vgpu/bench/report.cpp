#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vgpu/bench/measure.hpp"

namespace scanlab::bench {
namespace {

/// {"cpu_ns": […], "wall_ns": […]}
nlohmann::ordered_json json(const std::vector<Sample>& samples) {
  nlohmann::ordered_json cpu = nlohmann::ordered_json::array(), wall = nlohmann::ordered_json::array();
  for (const Sample& sample : samples) {
    cpu.push_back(sample.cpu_ns);
    wall.push_back(sample.wall_ns);
  }
  return {{"cpu_ns", cpu}, {"wall_ns", wall}};
}

}  // namespace

std::string table(const std::vector<Measured>& all, const Arguments& arguments) {
  std::string text = fmt::format(
      "n = {}, {} launches each, processor time; ns a thread: min / median, M: million warp-instructions a second "
      "(median)\n{:<26}{:>9}{:>7}",
      arguments.n, arguments.repeat, "kernel", "threads", "lanes");
  for (const Series& series : all.front().series) {
    const std::string name = series.without ? fmt::format("-{}", series.without->name) : series.observers->name;
    text += fmt::format("{:>17}{:>7}", name.substr(0, 17), "M");
  }
  text += '\n';
  for (const Measured& measured : all) {
    text += fmt::format("{:<26}{:>9}{:>7.1f}", measured.title, measured.threads, measured.active_lanes);
    for (const Series& series : measured.series) {
      const double median = measured.median_ns(series);
      text +=
          fmt::format("{:>8.2f} /{:>7.2f}{:>7.0f}", measured.min_ns(series), median, measured.million_a_second(median));
    }
    text += '\n';
  }
  if (all.front().parallel.empty()) return text;
  text += fmt::format("\ntime on the clock, ms a launch behind another, fastest of {}\n{:<26}{:>12}{:>12}{:>8}\n",
                      arguments.repeat, "kernel", "1 thread",
                      fmt::format("{} threads", all.front().parallel.front().threads), "ratio");
  for (const Measured& measured : all) {
    for (const Parallel& p : measured.parallel) {
      const double one = min_wall_ns(p.one), several = min_wall_ns(p.several);
      text += fmt::format("{:<26}{:>12.2f}{:>12.2f}{:>8.2f}{}\n", measured.title, one * 1e-6, several * 1e-6,
                          one / several, p.without ? fmt::format("  without {}", p.without->name) : "");
    }
  }
  return text;
}

nlohmann::ordered_json json(const std::vector<Measured>& all, const Arguments& arguments) {
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  for (const Measured& measured : all) {
    nlohmann::ordered_json observers = nlohmann::ordered_json::object();
    for (const Series& series : measured.series) observers[series.name()] = json(series.samples);
    cases.push_back({{"name", measured.name},
                     {"title", measured.title},
                     {"threads", measured.threads},
                     {"block_threads", measured.block_threads},
                     {"warp_instructions", measured.warp_instructions},
                     {"active_lanes", measured.active_lanes},
                     {"observers", observers}});
    if (measured.parallel.empty()) continue;
    const Parallel& p = measured.parallel.front();
    cases.back()["parallel"] = {{"threads", p.threads}, {"one", json(p.one)}, {"several", json(p.several)}};
  }
  return {{"schema", "scanlab-vgpu-bench"},
          {"version", 1},
          {"n", arguments.n},
          {"repeat", arguments.repeat},
          {"cases", cases}};
}

}  // namespace scanlab::bench
