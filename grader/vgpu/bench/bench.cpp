// vgpu-bench: how fast the virtual GPU runs the kernels of kernels.cu, on one core.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "vgpu/bench/command.hpp"
#include "vgpu/bench/measure.hpp"
#include "vgpu/bench/report.hpp"

namespace {

using namespace scanlab::bench;

void list() {
  for (const Recipe& recipe : recipes()) fmt::print("{}\n", recipe.name);
  for (const ObserverSet& set : observer_sets()) fmt::print("--observers {}\n", set.name);
  for (const scanlab::vgpu::NamedFastPath& path : scanlab::vgpu::fast_paths) fmt::print("--without {}\n", path.name);
}

const Program program{
    "vgpu-bench",
    "usage: vgpu-bench [OPTIONS] KERNELS.ptx\n"
    "Measures how fast the virtual GPU runs kernels.cu, compiled to PTX, and checks the results.\n"
    "\n"
    "  --n N               elements (default 1048576)\n"
    "  --repeat R          timed launches of each kernel under each set of observers (default 7)\n"
    "  --filter TEXT       only the kernels whose name contains it; may stand several times\n"
    "  --observers NAME    only this set of observers; may stand several times (default: all)\n"
    "  --without PATH      times with this fast path switched off beside the others; may stand several times\n"
    "  --threads N         time launches on N threads of the host too (default: as many as there are processors)\n"
    "  --json FILE         write the times there; - is stdout, without the table\n"
    "  --list              print the names of the kernels and of the sets of observers\n"
    "  --help\n",
    true,
    list,
};

/// The sets with these names, in the order of the columns; all when there are no names.
std::vector<const ObserverSet*> chosen_sets(const std::vector<std::string_view>& names) {
  std::string known;
  std::vector<const ObserverSet*> chosen;
  for (const ObserverSet& set : observer_sets()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", set.name);
    if (names.empty() || std::ranges::find(names, set.name) != names.end()) chosen.push_back(&set);
  }
  for (const std::string_view name : names) {
    if (std::ranges::none_of(chosen, [&](const ObserverSet* set) { return name == set->name; }))
      throw UsageError(fmt::format("no set of observers is called \"{}\"; there are {}", name, known));
  }
  return chosen;
}

void run(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv, program);
  const std::vector<const ObserverSet*> sets = chosen_sets(arguments.observers);
  const std::vector<Measured> all = measure(read_file(arguments.kernels), arguments, sets);
  report(arguments, table(all, arguments), json(all, arguments));
}

}  // namespace

int main(int argc, char** argv) {
  return guarded(program, [&] { run(argc, argv); });
}
