// vgpu-bench: how fast the virtual GPU runs the kernels of kernels.cu, on one core.
#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "vgpu/bench/measure.hpp"
#include "vgpu/bench/report.hpp"

namespace {

using namespace scanlab::bench;

/// Exit codes of the kit: 1 for a wrong result, 2 for a wrong command line, 3 for the kit's own fault.
constexpr int exit_wrong = 1, exit_usage = 2, exit_kit = 3;

constexpr const char* usage =
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
    "  --help\n";

constexpr unsigned largest_repeat = 1000;
constexpr unsigned largest_threads = 1024;

/// A wrong command line; an empty text when it has been reported already.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void list() {
  for (const Recipe& recipe : recipes()) fmt::print("{}\n", recipe.name);
  for (const ObserverSet& set : observer_sets()) fmt::print("--observers {}\n", set.name);
  for (const scanlab::vgpu::NamedFastPath& path : scanlab::vgpu::fast_paths) fmt::print("--without {}\n", path.name);
}

std::uint32_t number(const char* option, std::string_view text, std::uint32_t largest) {
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 1 || value > largest)
    throw UsageError(fmt::format("--{} takes a number from 1 to {}, not \"{}\"", option, largest, text));
  return value;
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
  static const option known[] = {{"n", required_argument, nullptr, 'n'},
                                 {"repeat", required_argument, nullptr, 'r'},
                                 {"filter", required_argument, nullptr, 'f'},
                                 {"json", required_argument, nullptr, 'j'},
                                 {"list", no_argument, nullptr, 'l'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {"observers", required_argument, nullptr, 'o'},
                                 {"threads", required_argument, nullptr, 't'},
                                 {"without", required_argument, nullptr, 'w'},
                                 {nullptr, 0, nullptr, 0}};
  CommandLine line;
  const auto contains = [](std::string_view part) {
    return [=](std::string_view name) { return name.find(part) != std::string_view::npos; };
  };
  const auto is = [](std::string_view wanted) { return [=](std::string_view name) { return name == wanted; }; };
  for (int c; (c = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    switch (c) {
      case 'n':
        line.n = number("n", optarg, largest_n);
        break;
      case 'r':
        line.repeat = number("repeat", optarg, largest_repeat);
        break;
      case 'f':
        choose(recipes(), line.recipes, contains(optarg), fmt::format("no kernel's name contains \"{}\"", optarg));
        break;
      case 't':
        line.threads = number("threads", optarg, largest_threads);
        break;
      case 'w':
        choose(scanlab::vgpu::fast_paths, line.without, is(optarg),
               fmt::format("no fast path is called \"{}\"", optarg));
        break;
      case 'o':
        choose(observer_sets(), line.observers, is(optarg),
               fmt::format("no set of observers is called \"{}\"", optarg));
        break;
      case 'j':
        line.json = optarg;
        break;
      case 'l':
        list();
        std::exit(0);
      case 'h':
        std::fputs(usage, stdout);
        std::exit(0);
      default:
        throw UsageError("");  // getopt has said what is wrong
    }
  }
  if (optind == argc) throw UsageError("no file with kernels given");
  if (optind + 1 < argc) throw UsageError("more than one file with kernels given");
  line.kernels = argv[optind];
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
