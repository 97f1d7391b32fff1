// vgpu-bench: how fast the virtual GPU runs the kernels of kernels.cu, on one core.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "vgpu/bench/measure.hpp"
#include "vgpu/server/command_line.hpp"

namespace {

using namespace scanlab;
using namespace scanlab::bench;

/// Exit codes of the kit: 1 for a wrong result, 2 for a wrong command line, 3 for the kit's own fault.
constexpr int exit_wrong = 1, exit_usage = 2, exit_kit = 3;

constexpr const char* usage = R"(usage: vgpu-bench [OPTIONS] KERNELS.ptx
Measures how fast the virtual GPU runs kernels.cu, compiled to PTX, and checks the results.

  --n N               elements (default 1048576)
  --repeat R          timed launches of each kernel under each set of observers (default 7)
  --filter TEXT       only the kernels whose name contains it; may stand several times
  --observers NAME    only this set of observers; may stand several times (default: all)
  --without PATH      times with this fast path switched off beside the others; may stand several times
  --threads N         time launches on N threads of the host too (default: as many as there are processors)
  --json FILE         write the times there; - is stdout, without the table
  --list              print the names of the kernels and of the sets of observers
  --help
)";

constexpr unsigned largest_repeat = 1000;
constexpr unsigned largest_threads = 1024;

void list() {
  for (const Recipe& recipe : recipes()) fmt::print("{}\n", recipe.name);
  for (const ObserverSet& set : observer_sets()) fmt::print("--observers {}\n", set.name);
  for (const scanlab::vgpu::NamedFastPath& path : scanlab::vgpu::fast_paths) fmt::print("--without {}\n", path.name);
}

/// Adds those of `all` that `fits(name)` is true for to `chosen`, each once; where none fits, says which there are.
template <typename All, typename Chosen, typename Fits>
void choose(const All& all, std::vector<Chosen>& chosen, Fits fits, const std::string& complaint) {
  bool found = false;
  std::string known;
  for (const auto& each : all) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
    if (!fits(std::string_view(each.name))) continue;
    found = true;
    if (std::ranges::find(chosen, &each) == chosen.end()) chosen.push_back(&each);
  }
  if (!found) throw UsageError(fmt::format("{}; there are {}", complaint, known));
}

struct CommandLine : Arguments {
  std::string kernels, json;  ///< files; "-" for stdout, or empty: no JSON
};

/// Throws UsageError. --help and --list print and end the process.
CommandLine parse(int argc, char** argv) {
  CommandLine line;
  const auto contains = [](std::string_view part) {
    return [=](std::string_view name) { return name.find(part) != std::string_view::npos; };
  };
  const auto is = [](std::string_view wanted) { return [=](std::string_view name) { return name == wanted; }; };
  const auto filter = [&](const char* text) {
    choose(recipes(), line.recipes, contains(text), fmt::format("no kernel's name contains \"{}\"", text));
  };
  const auto observers = [&](const char* text) {
    choose(observer_sets(), line.observers, is(text), fmt::format("no set of observers is called \"{}\"", text));
  };
  const auto without = [&](const char* text) {
    choose(scanlab::vgpu::fast_paths, line.without, is(text), fmt::format("no fast path is called \"{}\"", text));
  };
  const auto into = [](const char* name, unsigned& value, unsigned most) {
    return CommandOption{name, required_argument,
                         [=, &value](const char* text) { value = number<unsigned>(name, text, most); }};
  };
  const int first = take_options(argc, argv, "h", usage,
                                 {into("n", line.n, largest_n),
                                  into("repeat", line.repeat, largest_repeat),
                                  {"filter", required_argument, filter},
                                  {"json", required_argument, [&](const char* text) { line.json = text; }},
                                  {"list", no_argument,
                                   [](const char*) {
                                     list();
                                     std::exit(0);
                                   }},
                                  {"observers", required_argument, observers},
                                  into("threads", line.threads, largest_threads),
                                  {"without", required_argument, without}});
  if (first == argc) throw UsageError("no file with kernels given");
  if (first + 1 < argc) throw UsageError("more than one file with kernels given");
  line.kernels = argv[first];
  if (line.recipes.empty()) choose(recipes(), line.recipes, contains(""), "");
  if (line.observers.empty()) choose(observer_sets(), line.observers, contains(""), "");
  std::ranges::sort(line.observers);  // as the table's columns stand
  return line;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.view().empty()) throw UsageError(fmt::format("cannot read {}", path));
  return std::move(text).str();
}

void run(int argc, char** argv) {
  const CommandLine line = parse(argc, argv);
  const std::vector<Measured> all = measure(read_file(line.kernels), line);
  if (line.json != "-") fmt::print("{}", table(all, line));
  if (line.json.empty()) return;
  const std::string text = json(all, line).dump(2) + "\n";
  if (line.json == "-") return fmt::print("{}", text);
  std::ofstream file(line.json, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw UsageError(fmt::format("cannot write {}", line.json));
}

}  // namespace

int main(int argc, char** argv) {
  const auto complain = [](std::string_view text, int code) {
    if (!text.empty()) fmt::print(stderr, "vgpu-bench: {}\n", text);
    if (code == exit_usage) fmt::print(stderr, "vgpu-bench: see vgpu-bench --help\n");
    return code;
  };
  try {
    run(argc, argv);
    return 0;
  } catch (const UsageError& problem) {
    return complain(problem.what(), exit_usage);
  } catch (const WrongResult& problem) {
    return complain(problem.what(), exit_wrong);
  } catch (const std::exception& problem) {
    return complain(problem.what(), exit_kit);
  }
}
