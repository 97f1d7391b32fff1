#include "vgpu/bench/measure.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vgpu/checks/check_suite.hpp"
#include "vgpu/checks/cost/counters.hpp"
#include "vgpu/checks/global/global_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/core/run/parallel.hpp"

namespace scanlab::bench {
namespace {

Sample now() {
  const auto ns = [](clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  return {ns(CLOCK_MONOTONIC), ns(CLOCK_PROCESS_CPUTIME_ID)};
}

/// Throws WrongResult when `got` is not what `made` must give; `where` stands in the message.
void verify(const Case& made, const Words& got, std::string_view where) {
  const auto [at, expected] = std::ranges::mismatch(got, made.expected);
  if (at == got.end()) return;
  throw WrongResult(fmt::format("{}, {}: word {} of {} is {:#010x}, expected {:#010x}", made.name, where,
                                at - got.begin(), got.size(), *at, *expected));
}

template <typename... Observers>
std::vector<std::unique_ptr<vgpu::Observer>> make() {
  std::vector<std::unique_ptr<vgpu::Observer>> made;
  (made.push_back(std::make_unique<Observers>()), ...);
  return made;
}

/// All fast paths but one, or all.
vgpu::FastPaths paths_without(const vgpu::NamedFastPath* without) {
  vgpu::FastPaths paths;
  if (without) paths.*without->is_on = false;
  return paths;
}

/// A case in the memory of a device.
class Prepared {
 public:
  Prepared(vgpu::Device& device, vgpu::LoadedModule* module, Case made) : device_(device), case_(std::move(made)) {
    request_.module = module;
    request_.kernel = case_.kernel;
    request_.grid = case_.grid;
    request_.block = case_.block;
    for (const Words& input : case_.inputs) {
      const vgpu::Address address = allocate(4 * input.size());
      device_.memory().write(address, input.data(), 4 * input.size());
      add_parameter(address);
    }
    output_ = allocate(4 * case_.expected.size());
    add_parameter(output_);
    add_parameter(case_.size);
    // Kept for the addresses and sizes only.
    case_.inputs.clear();
  }

  const Case& made() const { return case_; }

  /// Launches once; the warp-instructions it took. Throws WrongResult when it fails.
  std::uint64_t launch(Sample& sample) {
    request_.parameters = parameters_;
    const Sample before = now();
    const vgpu::LaunchResult result = device_.launch(request_);
    const Sample after = now();
    sample = {after.wall_ns - before.wall_ns, after.cpu_ns - before.cpu_ns};
    if (result.status != vgpu::LaunchResult::Status::ok)
      throw WrongResult(fmt::format("{}: {}", case_.name, result.fault ? result.fault->text() : result.message));
    return result.warp_instructions;
  }

  /// Makes every element of the output one that no kernel here gives.
  void spoil() { device_.memory().fill(output_, std::byte{0xff}, 4 * case_.expected.size()); }

  Words output() const {
    Words got(case_.expected.size());
    device_.memory().read(got.data(), output_, 4 * got.size());
    return got;
  }

 private:
  vgpu::Address allocate(std::uint64_t bytes) {
    const vgpu::Address address = device_.memory().allocate(bytes);
    if (address == 0) throw WrongResult(fmt::format("{}: the device has no room for it", case_.name));
    return address;
  }

  template <typename T>
  void add_parameter(T value) {
    const std::size_t at = (parameters_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    parameters_.resize(at + sizeof value);
    std::memcpy(&parameters_[at], &value, sizeof value);
  }

  vgpu::Device& device_;
  Case case_;
  vgpu::LaunchRequest request_;
  std::vector<std::byte> parameters_;
  vgpu::Address output_ = 0;
};

/// A virtual GPU with all cases in its memory.
class Bench {
 public:
  explicit Bench(std::string_view ptx) : module_(device.load(ptx)) {}
  void add(Case made) { prepared.emplace_back(device, module_, std::move(made)); }
  /// Launches one of `prepared` as `series` has it.
  std::uint64_t launch(std::size_t k, const Series& series, Sample& sample) {
    const auto observers = series.observers->make();
    for (const auto& observer : observers) device.attach(observer.get());
    device.fast_paths = paths_without(series.without);
    const std::uint64_t instructions = prepared[k].launch(sample);
    for (const auto& observer : observers) device.detach(observer.get());
    return instructions;
  }

  vgpu::Device device{vgpu::small_profile()};
  std::vector<Prepared> prepared;

 private:
  vgpu::LoadedModule* module_;
};

/// One without checks, and one under those of a grade from the beginning: they follow what the host writes.
struct Benches {
  explicit Benches(std::string_view ptx) : plain(ptx), graded(ptx) {}
  Bench& of(const Series& series) { return series.observers->has_all_checks ? graded : plain; }

  Bench plain, graded;
  vgpu::CheckSuite checks{graded.device};
};

/// A launch that is checked and not timed. `launch` gives the warp-instructions, which have to be those of the others;
/// `how` stands in messages.
template <typename Launch>
void check_launch(Prepared& prepared, Measured& measured, const std::string& how, Launch launch) {
  prepared.spoil();
  Sample ignored;
  const std::uint64_t instructions = launch(ignored);
  verify(prepared.made(), prepared.output(), how);
  if (measured.warp_instructions != 0 && instructions != measured.warp_instructions)
    throw WrongResult(fmt::format("{}: {} warp-instructions with {}, {} with observers {}", measured.name, instructions,
                                  how, measured.warp_instructions, measured.series.front().name()));
  measured.warp_instructions = instructions;
}

/// Once a set of observers.
void warm_up(Benches& benches, std::size_t k, Measured& measured) {
  for (const Series& series : measured.series) {
    Bench& bench = benches.of(series);
    check_launch(bench.prepared[k], measured, fmt::format("observers {}", series.name()),
                 [&](Sample& sample) { return bench.launch(k, series, sample); });
  }
  // The active lanes are a fact about the kernel, whichever observers are timed.
  vgpu::Counters counters;
  benches.plain.device.attach(&counters);
  Sample ignored;
  benches.plain.prepared[k].launch(ignored);
  benches.plain.device.detach(&counters);
  measured.active_lanes = 32 * counters.counts().warp_efficiency();
}

/// On several threads.
void check_parallel(vgpu::Device& device, Prepared& prepared, Measured& measured, const Parallel& parallel) {
  device.threads = parallel.threads;
  device.fast_paths = paths_without(parallel.without);
  check_launch(prepared, measured, fmt::format("{} threads", parallel.threads),
               [&](Sample& sample) { return prepared.launch(sample); });
  device.threads = 1;
}

}  // namespace

const std::vector<ObserverSet>& observer_sets() {
  static const std::vector<ObserverSet> sets = {
      {"none", make<>, false},
      {"counters", make<vgpu::Counters>, false},
      {"race", make<vgpu::SharedRaces>, false},
      {"both", make<vgpu::Counters, vgpu::SharedRaces>, false},
      {"global", make<vgpu::GlobalRaces>, false},
      {"all", make<vgpu::Counters>, true},
  };
  return sets;
}

std::string Series::name() const {
  return without ? fmt::format("{} without {}", observers->name, without->name) : observers->name;
}

double min_wall_ns(const std::vector<Sample>& samples) {
  return std::ranges::min(samples, {}, &Sample::wall_ns).wall_ns;
}

double Measured::min_ns(const Series& s) const {
  return std::ranges::min(s.samples, {}, &Sample::cpu_ns).cpu_ns / static_cast<double>(threads);
}

double Measured::median_ns(const Series& s) const {
  std::vector<Sample> samples = s.samples;
  std::ranges::sort(samples, {}, &Sample::cpu_ns);
  const std::size_t half = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[half].cpu_ns : (samples[half - 1].cpu_ns + samples[half].cpu_ns) / 2;
  return median / static_cast<double>(threads);
}

double Measured::million_a_second(double ns_a_thread) const {
  return static_cast<double>(warp_instructions) / (ns_a_thread * static_cast<double>(threads)) * 1e3;
}

std::vector<Measured> measure(std::string_view ptx, const Arguments& arguments) {
  const unsigned threads =
      arguments.threads ? std::min(arguments.threads, vgpu::Team::most_threads) : vgpu::default_threads();
  Benches benches(ptx);
  std::vector<Measured> all;
  for (const Recipe* recipe : arguments.recipes) {
    Case made = recipe->make(arguments.n);
    made.name = recipe->name;
    benches.plain.add(made);
    benches.graded.add(made);
    Measured& measured = all.emplace_back();
    measured.name = recipe->name;
    measured.title = recipe->title;
    measured.threads = made.threads();
    measured.block_threads = made.block.count();
    for (const ObserverSet* observers : arguments.observers) {
      measured.series.push_back({observers, nullptr, {}});
      for (const vgpu::NamedFastPath* without : arguments.without) measured.series.push_back({observers, without, {}});
    }
    warm_up(benches, all.size() - 1, measured);
    if (threads == 1) continue;
    measured.parallel.push_back({nullptr, threads, {}, {}});
    for (const vgpu::NamedFastPath* without : arguments.without)
      if (without->is_parallel) measured.parallel.push_back({without, threads, {}, {}});
    for (const Parallel& parallel : measured.parallel)
      check_parallel(benches.plain.device, benches.plain.prepared.back(), measured, parallel);
  }
  vgpu::Device& device = benches.plain.device;
  for (unsigned round = 0; round < arguments.repeat; ++round) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (Series& series : all[k].series) {
        Bench& bench = benches.of(series);
        // What a launch without some path leaves in caches, and in the memory of checks, must not cost the next series.
        Sample ignored;
        if (!arguments.without.empty()) bench.launch(k, series, ignored);
        bench.launch(k, series, series.samples.emplace_back());
      }
      for (Parallel& parallel : all[k].parallel) {
        device.fast_paths = paths_without(parallel.without);
        for (auto* const samples : {&parallel.one, &parallel.several}) {
          device.threads = samples == &parallel.one ? 1 : threads;
          // The second of two, as in a program that launches again and again: the threads are awake.
          Sample ignored;
          benches.plain.prepared[k].launch(ignored);
          benches.plain.prepared[k].launch(samples->emplace_back());
        }
      }
      device.threads = 1;
    }
  }
  return all;
}

}  // namespace scanlab::bench
