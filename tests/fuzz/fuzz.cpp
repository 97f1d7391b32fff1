// Loads damaged PTX and fat binaries and launches what they hold: an error or a fault each, never a crash, a hang, or
// gigabytes. Build with -Db_sanitize=address,undefined for a long campaign.
//
//     fuzz [--seed S] [--count N] [--only K] [--keep FILE] CORPUS.fatbin…
//
// Case K of seed S is always the same; --only runs it alone, --keep writes what it loads to a file.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damage.hpp"
#include "vgpu/checks/cost/counters.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/ptx/fatbin.hpp"

namespace {

using namespace scanlab;
using fuzz::Random;

/// Beyond these a case counts as a hang, or as hungry. With sanitizers everything takes several times as long.
constexpr unsigned case_seconds = 20;
constexpr long memory_kib = 3l << 20;

struct Options {
  std::uint64_t seed = 1, count = 10000;
  std::optional<std::uint64_t> only;
  std::string keep;
  std::vector<std::string> corpus;
};

struct Tally {
  std::uint64_t unreadable = 0, refused = 0, faults = 0, ran = 0;
};

volatile std::uint64_t current_case = 0;

void on_signal(int signal) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, "case %llu: %s\n", static_cast<unsigned long long>(current_case),
                                   signal == SIGALRM ? "hangs" : "crashes");
  (void)!write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  _exit(1);
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Arguments as a program might pass them: pointers into an allocation, small numbers, anything.
std::vector<std::byte> random_parameters(const vgpu::KernelAttributes& kernel, vgpu::Address buffer, Random& random) {
  std::vector<std::byte> parameters(std::min<std::size_t>(kernel.parameter_bytes, 4096));
  for (std::size_t at = 0; at + 8 <= parameters.size(); at += 8) {
    std::uint64_t value = random() % 4 != 0 ? buffer : random() % 2 == 0 ? random() % 100 : random();
    std::memcpy(parameters.data() + at, &value, 8);
  }
  // The last parameter is often a count.
  if (parameters.size() >= 4 && random() % 2 == 0) {
    const auto count = static_cast<std::uint32_t>(random() % 70);
    std::memcpy(parameters.data() + (parameters.size() - 4) / 4 * 4, &count, 4);
  }
  return parameters;
}

void launch_all(vgpu::Device& device, vgpu::LoadedModule* module, const std::vector<std::string>& kernels,
                Random& random, Tally& tally) {
  const vgpu::Address buffer = device.memory().allocate(4096, "buffer");
  device.memory().fill(buffer, std::byte{1}, 4096);
  for (const std::string& name : kernels) {
    const auto attributes = device.attributes(module, name);
    if (!attributes) continue;
    const std::vector<std::byte> parameters = random_parameters(*attributes, buffer, random);
    vgpu::LaunchRequest request;
    request.module = module;
    request.kernel = name;
    request.grid = {static_cast<std::uint32_t>(1 + random() % 3), 1, 1};
    request.block = {static_cast<std::uint32_t>(1 + random() % 70), static_cast<std::uint32_t>(1 + random() % 2), 1};
    if (random() % 20 == 0) request.block.x = static_cast<std::uint32_t>(random());
    if (random() % 20 == 0) request.grid.y = static_cast<std::uint32_t>(random() % 70000);
    request.dynamic_shared = random() % 8 == 0 ? random() % 200000 : 32 * (random() % 3);
    request.cooperative = random() % 16 == 0;
    request.parameters = parameters;
    const vgpu::LaunchResult result = device.launch(request);
    using Status = vgpu::LaunchResult::Status;
    if (result.status == Status::ok)
      ++tally.ran;
    else if (result.status == Status::fault)
      ++tally.faults;
    else
      ++tally.refused;
    if (result.fault) (void)result.fault->text();
  }
}

/// Names of kernels as they stand in the text, whether the text can be parsed or not.
std::vector<std::string> kernels_of(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    at += 7;
    const std::size_t end = text.find_first_of("( \n\t", at);
    if (end != std::string::npos && names.size() < 16) names.push_back(text.substr(at, end - at));
  }
  return names;
}

void run_case(const std::vector<std::string>& binaries, const std::vector<std::string>& texts, Random& random,
              const std::string& keep, Tally& tally) {
  std::string text;
  if (random() % 8 == 0) {
    const std::string bytes = fuzz::damaged_binary(binaries[random() % binaries.size()], random);
    if (!keep.empty()) std::ofstream(keep, std::ios::binary) << bytes;
    try {
      text = ptx::read_fatbin(std::as_bytes(std::span(bytes))).front().text;
    } catch (const ptx::FatbinError&) {
      ++tally.unreadable;
      return;
    }
  } else {
    text = fuzz::damaged_text(texts[random() % texts.size()], texts, random);
    if (!keep.empty()) std::ofstream(keep, std::ios::binary) << text;
  }
  vgpu::DeviceProfile profile = vgpu::small_profile();
  profile.memory = 16 << 20;
  vgpu::Device device(profile);
  device.print = [](std::string_view) {};
  device.max_warp_instructions = 5000;
  using Order = vgpu::Schedule::Order;
  constexpr Order orders[] = {Order::random, Order::lockstep, Order::in_order};
  device.schedule.order = orders[random() % 3];
  vgpu::Counters counters;
  const bool is_observed = random() % 4 == 0;
  if (is_observed) device.attach(&counters);
  try {
    vgpu::LoadedModule* module = device.load(text);
    launch_all(device, module, kernels_of(text), random, tally);
    device.unload(module);
  } catch (const ptx::ParseError&) {
    ++tally.unreadable;
  }
  if (is_observed) device.detach(&counters);
}

/// Random numbers of one case of a seed.
Random random_of(std::uint64_t seed, std::uint64_t k) {
  std::seed_seq both{seed, k};
  return Random(both);
}

std::vector<std::string> texts_of(const std::vector<std::string>& binaries) {
  std::vector<std::string> texts;
  for (const std::string& bytes : binaries)
    for (ptx::PtxImage& image : ptx::read_fatbin(std::as_bytes(std::span(bytes))))
      texts.push_back(std::move(image.text));
  return texts;
}

long most_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int run(const Options& options) {
  std::vector<std::string> binaries;
  for (const std::string& path : options.corpus) binaries.push_back(contents(path));
  const std::vector<std::string> texts = texts_of(binaries);
  signal(SIGALRM, on_signal);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback([] { on_signal(SIGABRT); });
#else
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) signal(number, on_signal);
#endif
  Tally tally;
  const std::uint64_t first = options.only.value_or(0), end = options.only ? first + 1 : options.count;
  for (std::uint64_t k = first; k < end; ++k) {
    current_case = k;
    alarm(case_seconds);
    Random random = random_of(options.seed, k);
    try {
      run_case(binaries, texts, random, options.keep, tally);
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "case %llu: exception: %s\n", static_cast<unsigned long long>(k), problem.what());
      return 1;
    }
    alarm(0);
    if (most_memory_kib() > memory_kib) {
      std::fprintf(stderr, "case %llu: takes more than %ld MiB\n", static_cast<unsigned long long>(k),
                   memory_kib / 1024);
      return 1;
    }
  }
  std::printf("%llu cases of seed %llu: %llu unreadable; of their kernels %llu ran, %llu faulted, %llu were refused\n",
              static_cast<unsigned long long>(end - first), static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(tally.unreadable), static_cast<unsigned long long>(tally.ran),
              static_cast<unsigned long long>(tally.faults), static_cast<unsigned long long>(tally.refused));
  // A fuzzer that only ever meets a closed door tests the door.
  return !options.only && (tally.ran == 0 || tally.faults == 0 || tally.unreadable == 0) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string_view argument = argv[k];
    const bool has_value = k + 1 < argc;
    if (argument == "--seed" && has_value)
      options.seed = std::strtoull(argv[++k], nullptr, 10);
    else if (argument == "--count" && has_value)
      options.count = std::strtoull(argv[++k], nullptr, 10);
    else if (argument == "--only" && has_value)
      options.only = std::strtoull(argv[++k], nullptr, 10);
    else if (argument == "--keep" && has_value)
      options.keep = argv[++k];
    else
      options.corpus.emplace_back(argument);
  }
  if (options.corpus.empty()) {
    std::fputs("usage: fuzz [--seed S] [--count N] [--only K] [--keep FILE] CORPUS.fatbin…\n", stderr);
    return 2;
  }
  return run(options);
}
