// Runs the cases on a virtual GPU under every set of observers, checks what they give, and takes the time.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/bench/cases.hpp"
#include "vgpu/core/run/fast_paths.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::bench {

/// A kernel failed or gave something else than the host: its speed means nothing.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The observers that listen while a kernel runs.
struct ObserverSet {
  const char* name;  ///< as in --observers and in the JSON
  std::function<std::vector<std::unique_ptr<vgpu::Observer>>()> make;
  bool has_all_checks;  ///< beside those, what `check` and a grade attach
};

/// All sets, in the order of the table's columns.
const std::vector<ObserverSet>& observer_sets();

/// What is measured.
struct Arguments {
  std::uint32_t n = 1u << 20;
  unsigned repeat = 7;
  unsigned threads = 0;  ///< of the host, to compare with one; 0: as many as there are processors
  std::vector<const Recipe*> recipes;
  std::vector<const ObserverSet*> observers;
  std::vector<const vgpu::NamedFastPath*> without;  ///< switched off for times of their own
};

/// One launch: the time on the clock, and the processor time of this process (all its threads), which other programs
/// disturb less.
struct Sample {
  double wall_ns = 0, cpu_ns = 0;
};

/// A case under one set of observers.
struct Series {
  const ObserverSet* observers = nullptr;
  const vgpu::NamedFastPath* without = nullptr;  ///< switched off, or null
  std::vector<Sample> samples;
  /// "both", "both without rows".
  std::string name() const;
};

/// Launches without observers, in turn on one thread of the host and on several.
struct Parallel {
  const vgpu::NamedFastPath* without = nullptr;
  unsigned threads = 0;
  std::vector<Sample> one, several;
};

/// The fastest launch's time on the clock.
double min_wall_ns(const std::vector<Sample>& samples);

struct Measured {
  std::string name, title;
  std::uint64_t threads = 0, block_threads = 0, warp_instructions = 0;
  double active_lanes = 0;  ///< a warp-instruction
  std::vector<Series> series;
  std::vector<Parallel> parallel;  ///< none when there is only one thread

  /// Nanoseconds of processor time a simulated thread; the fastest launch, and the one in the middle.
  double min_ns(const Series& s) const;
  double median_ns(const Series& s) const;
  /// Million warp-instructions per second, from a time per thread.
  double million_a_second(double ns_a_thread) const;
};

/// Each round launches every case under every set once, so that a slow phase of the machine hits all alike. The launch
/// before the first round is checked and not timed. Throws WrongResult, or ptx::ParseError for unreadable PTX.
std::vector<Measured> measure(std::string_view ptx, const Arguments& arguments);

/// What was measured, as a table for people and as JSON (report.cpp).
std::string table(const std::vector<Measured>& all, const Arguments& arguments);
nlohmann::ordered_json json(const std::vector<Measured>& all, const Arguments& arguments);

}  // namespace scanlab::bench
