// Takes times, and sums them up.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace scanlab::bench {

/// One launch: the time on the clock, and the processor time of this process (all its threads), which other programs
/// disturb less.
struct Sample {
  double wall_ns = 0, cpu_ns = 0;
};

class Stopwatch {
 public:
  Stopwatch();
  Sample elapsed() const;

 private:
  Sample start_;
};

/// Of the processor times.
double min_cpu_ns(const std::vector<Sample>& samples);
double median_cpu_ns(std::vector<Sample> samples);
/// Of the times on the clock.
double min_wall_ns(const std::vector<Sample>& samples);

/// {"cpu_ns": […], "wall_ns": […]}
nlohmann::ordered_json json(const std::vector<Sample>& samples);

}  // namespace scanlab::bench
