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
#include <stdexcept>
#include <string>
#include <string_view>

#include "vgpu/bench/measure.hpp"
#include "vgpu/bench/report.hpp"

namespace {

using namespace scanlab;

constexpr const char* usage =
    "usage: vgpu-bench [OPTIONS] KERNELS.ptx\n"
    "Measures how fast the virtual GPU runs kernels.cu, compiled to PTX, and checks their results.\n"
    "\n"
    "  --n N               elements (default 1048576)\n"
    "  --repeat R          timed launches of each kernel under each set of observers (default 7)\n"
    "  --filter TEXT       only the kernels whose name contains it; may stand several times\n"
    "  --observers NAME    only this set of observers; may stand several times (default: all)\n"
    "  --json FILE         write the measurements there; - is stdout, without the table\n"
    "  --list              print the names of the kernels and of the sets of observers\n"
    "  --help\n";

/// Exit codes of the kit: 1 for a wrong result, 2 for a wrong command line, 3 for the kit's own fault.
constexpr int exit_wrong = 1, exit_usage = 2, exit_kit = 3;

constexpr unsigned largest_repeat = 1000;

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Arguments {
  bench::Options options;
  std::string ptx, json;
};

std::uint32_t number(const char* option, std::string_view text, std::uint32_t largest) {
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 1 || value > largest)
    throw UsageError(fmt::format("--{} takes a number from 1 to {}, not \"{}\"", option, largest, text));
  return value;
}

void list() {
  for (const bench::Recipe& recipe : bench::recipes()) fmt::print("{}\n", recipe.name);
  for (const bench::ObserverSet& set : bench::observer_sets()) fmt::print("--observers {}\n", set.name);
}

const bench::ObserverSet& observers_by_name(std::string_view name) {
  std::string known;
  for (const bench::ObserverSet& set : bench::observer_sets()) {
    if (name == set.name) return set;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", set.name);
  }
  throw UsageError(fmt::format("no set of observers is called \"{}\"; there are {}", name, known));
}

void add_recipes(std::string_view filter, std::vector<const bench::Recipe*>& chosen) {
  bool found = false;
  for (const bench::Recipe& recipe : bench::recipes()) {
    if (std::string_view(recipe.name).find(filter) == std::string_view::npos) continue;
    found = true;
    if (std::ranges::find(chosen, &recipe) == chosen.end()) chosen.push_back(&recipe);
  }
  if (!found) throw UsageError(fmt::format("no kernel's name contains \"{}\"; see --list", filter));
}

Arguments parse(int argc, char** argv) {
  static const option known[] = {{"n", required_argument, nullptr, 'n'},
                                 {"repeat", required_argument, nullptr, 'r'},
                                 {"filter", required_argument, nullptr, 'f'},
                                 {"json", required_argument, nullptr, 'j'},
                                 {"observers", required_argument, nullptr, 'o'},
                                 {"list", no_argument, nullptr, 'l'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  Arguments arguments;
  bench::Options& options = arguments.options;
  for (int c; (c = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    switch (c) {
      case 'n':
        options.n = number("n", optarg, bench::largest_n);
        break;
      case 'r':
        options.repeat = number("repeat", optarg, largest_repeat);
        break;
      case 'f':
        add_recipes(optarg, options.recipes);
        break;
      case 'o':
        if (const bench::ObserverSet* set = &observers_by_name(optarg);
            std::ranges::find(options.observers, set) == options.observers.end())
          options.observers.push_back(set);
        break;
      case 'j':
        arguments.json = optarg;
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
  if (optind + 1 != argc) throw UsageError(optind == argc ? "no PTX file given" : "more than one PTX file given");
  arguments.ptx = argv[optind];
  if (options.recipes.empty()) add_recipes("", options.recipes);
  if (options.observers.empty())
    for (const bench::ObserverSet& set : bench::observer_sets()) options.observers.push_back(&set);
  return arguments;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.view().empty()) throw UsageError(fmt::format("cannot read {}", path));
  return std::move(text).str();
}

int run(const Arguments& arguments) {
  const std::string ptx = read_file(arguments.ptx);
  const std::vector<bench::Measured> all = bench::measure(ptx, arguments.options);
  if (arguments.json != "-") fmt::print("{}", bench::table(all, arguments.options));
  if (arguments.json.empty()) return 0;
  const std::string text = bench::json(all, arguments.options).dump(2) + "\n";
  if (arguments.json == "-") {
    fmt::print("{}", text);
    return 0;
  }
  std::ofstream file(arguments.json, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw UsageError(fmt::format("cannot write {}", arguments.json));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const UsageError& problem) {
    if (*problem.what() != '\0') fmt::print(stderr, "vgpu-bench: {}\n", problem.what());
    std::fputs(usage, stderr);
    return exit_usage;
  } catch (const bench::WrongResult& problem) {
    fmt::print(stderr, "vgpu-bench: {}\n", problem.what());
    return exit_wrong;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "vgpu-bench: {}\n", problem.what());
    return exit_kit;
  }
}
