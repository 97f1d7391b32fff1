#include "vgpu/bench/timing.hpp"

#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace scanlab::bench {
namespace {

double now_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

}  // namespace

Stopwatch::Stopwatch() : start_{now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_PROCESS_CPUTIME_ID)} {}

Sample Stopwatch::elapsed() const {
  const double cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
  return {wall - start_.wall_ns, cpu - start_.cpu_ns};
}

double min_cpu_ns(const std::vector<Sample>& samples) {
  return std::ranges::min(samples, {}, &Sample::cpu_ns).cpu_ns;
}

double min_wall_ns(const std::vector<Sample>& samples) {
  return std::ranges::min(samples, {}, &Sample::wall_ns).wall_ns;
}

double median_cpu_ns(std::vector<Sample> samples) {
  std::ranges::sort(samples, {}, &Sample::cpu_ns);
  const std::size_t half = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[half].cpu_ns;
  return (samples[half - 1].cpu_ns + samples[half].cpu_ns) / 2;
}

nlohmann::ordered_json json(const std::vector<Sample>& samples) {
  nlohmann::ordered_json cpu = nlohmann::ordered_json::array(), wall = nlohmann::ordered_json::array();
  for (const Sample& sample : samples) {
    cpu.push_back(sample.cpu_ns);
    wall.push_back(sample.wall_ns);
  }
  return {{"cpu_ns", cpu}, {"wall_ns", wall}};
}

}  // namespace scanlab::bench
