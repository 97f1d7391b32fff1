// pocl-bench: how fast PoCL runs the same kernels, compiled for this processor, on one core.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "vgpu/bench/command.hpp"
#include "vgpu/bench/pocl.hpp"

namespace {

using namespace scanlab::bench;

void list() {
  for (const Recipe& recipe : recipes()) fmt::print("{}\n", recipe.name);
}

const Program program{
    "pocl-bench",
    "usage: pocl-bench [OPTIONS] KERNELS.cl\n"
    "Measures how fast PoCL runs kernels in OpenCL C on one core, and checks the results.\n"
    "\n"
    "  --n N            elements (default 1048576)\n"
    "  --repeat R       timed launches of each kernel (default 7)\n"
    "  --filter TEXT    only the kernels whose name contains it; may stand several times\n"
    "  --json FILE      write the times there; - is stdout, without the table\n"
    "  --list           print the names of the kernels (the file may lack some)\n"
    "  --help\n",
    false,
    list,
};

struct Measured {
  Case made;
  std::unique_ptr<Pocl::Prepared> prepared;
  std::vector<Sample> samples;
};

std::vector<Measured> measure(Pocl& pocl, const Arguments& arguments) {
  std::vector<Measured> all;
  for (const Recipe* recipe : arguments.recipes) {
    Case made = recipe->make(arguments.n);
    if (!pocl.has_kernel(made.kernel)) continue;
    Measured& measured = all.emplace_back(Measured{std::move(made), nullptr, {}});
    measured.prepared = pocl.prepare(measured.made);
    measured.prepared->launch();  // PoCL compiles the kernel for this size of block now
    verify(measured.made, measured.prepared->output(), "PoCL");
  }
  for (unsigned round = 0; round < arguments.repeat; ++round) {
    for (Measured& measured : all) measured.samples.push_back(measured.prepared->launch());
  }
  return all;
}

std::string table(const std::vector<Measured>& all, const Pocl& pocl) {
  std::string text = fmt::format("{}, {}\n{:<26}{:>12}{:>24}\n", pocl.version(), pocl.processor(), "kernel",
                                 "work-items", "ns each: min / median");
  for (const Measured& measured : all) {
    const double threads = static_cast<double>(measured.made.threads());
    text += fmt::format("{:<26}{:>12}{:>15.2f} /{:>7.2f}\n", measured.made.title, measured.made.threads(),
                        min_cpu_ns(measured.samples) / threads, median_cpu_ns(measured.samples) / threads);
  }
  return text;
}

nlohmann::ordered_json as_json(const std::vector<Measured>& all, const Pocl& pocl, const Arguments& arguments) {
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  for (const Measured& measured : all) {
    cases.push_back(
        {{"name", measured.made.name}, {"threads", measured.made.threads()}, {"times", json(measured.samples)}});
  }
  return {{"schema", "scanlab-pocl-bench"},
          {"version", 1},
          {"pocl", pocl.version()},
          {"processor", pocl.processor()},
          {"n", arguments.n},
          {"repeat", arguments.repeat},
          {"cases", cases}};
}

void run(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv, program);
  Pocl pocl(read_file(arguments.kernels));
  const std::vector<Measured> all = measure(pocl, arguments);
  report(arguments, table(all, pocl), as_json(all, pocl, arguments));
}

}  // namespace

int main(int argc, char** argv) {
  return guarded(program, [&] { run(argc, argv); });
}
