#include "vgpu/bench/command.hpp"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace scanlab::bench {
namespace {

constexpr unsigned largest_repeat = 1000;
constexpr unsigned largest_threads = 1024;

std::uint32_t number(const char* option, std::string_view text, std::uint32_t largest) {
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 1 || value > largest)
    throw UsageError(fmt::format("--{} takes a number from 1 to {}, not \"{}\"", option, largest, text));
  return value;
}

void choose(std::string_view filter, std::vector<const Recipe*>& chosen) {
  bool found = false;
  std::string known;
  for (const Recipe& recipe : recipes()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", recipe.name);
    if (std::string_view(recipe.name).find(filter) == std::string_view::npos) continue;
    found = true;
    if (std::ranges::find(chosen, &recipe) == chosen.end()) chosen.push_back(&recipe);
  }
  if (!found) throw UsageError(fmt::format("no kernel's name contains \"{}\"; there are {}", filter, known));
}

const vgpu::NamedFastPath& path_called(std::string_view name) {
  std::string known;
  for (const vgpu::NamedFastPath& path : vgpu::fast_paths) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", path.name);
    if (path.name == name) return path;
  }
  throw UsageError(fmt::format("no fast path is called \"{}\"; there are {}", name, known));
}

int complain(const Program& program, std::string_view text, Exit code) {
  if (!text.empty()) fmt::print(stderr, "{}: {}\n", program.name, text);
  if (code == Exit::usage) fmt::print(stderr, "{0}: see {0} --help\n", program.name);
  return static_cast<int>(code);
}

}  // namespace

Arguments parse(int argc, char** argv, const Program& program) {
  static const option known[] = {
      {"n", required_argument, nullptr, 'n'},
      {"repeat", required_argument, nullptr, 'r'},
      {"filter", required_argument, nullptr, 'f'},
      {"json", required_argument, nullptr, 'j'},
      {"list", no_argument, nullptr, 'l'},
      {"help", no_argument, nullptr, 'h'},
      // Only vgpu-bench has the last three.
      {program.has_observers ? "observers" : nullptr, required_argument, nullptr, 'o'},
      {"threads", required_argument, nullptr, 't'},
      {"without", required_argument, nullptr, 'w'},
      {nullptr, 0, nullptr, 0},
  };
  Arguments arguments;
  for (int c; (c = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    switch (c) {
      case 'n':
        arguments.n = number("n", optarg, largest_n);
        break;
      case 'r':
        arguments.repeat = number("repeat", optarg, largest_repeat);
        break;
      case 'f':
        choose(optarg, arguments.recipes);
        break;
      case 't':
        arguments.threads = number("threads", optarg, largest_threads);
        break;
      case 'w':
        arguments.without.push_back(&path_called(optarg));
        break;
      case 'o':
        arguments.observers.push_back(optarg);
        break;
      case 'j':
        arguments.json = optarg;
        break;
      case 'l':
        program.list();
        std::exit(0);
      case 'h':
        std::fputs(program.usage, stdout);
        std::exit(0);
      default:
        throw UsageError("");  // getopt has said what is wrong
    }
  }
  if (optind == argc) throw UsageError("no file with kernels given");
  if (optind + 1 < argc) throw UsageError("more than one file with kernels given");
  arguments.kernels = argv[optind];
  if (arguments.recipes.empty()) choose("", arguments.recipes);
  return arguments;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.view().empty()) throw UsageError(fmt::format("cannot read {}", path));
  return std::move(text).str();
}

void report(const Arguments& arguments, std::string_view table, const nlohmann::ordered_json& value) {
  if (arguments.json != "-") fmt::print("{}", table);
  if (arguments.json.empty()) return;
  const std::string text = value.dump(2) + "\n";
  if (arguments.json == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(arguments.json, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw UsageError(fmt::format("cannot write {}", arguments.json));
}

void verify(const Case& made, const Words& got, std::string_view where) {
  const auto [at, expected] = std::ranges::mismatch(got, made.expected);
  if (at == got.end()) return;
  throw WrongResult(fmt::format("{}, {}: word {} of {} is {:#010x}, expected {:#010x}", made.name, where,
                                at - got.begin(), got.size(), *at, *expected));
}

int guarded(const Program& program, const std::function<void()>& body) {
  try {
    body();
    return static_cast<int>(Exit::passed);
  } catch (const UsageError& problem) {
    return complain(program, problem.what(), Exit::usage);
  } catch (const WrongResult& problem) {
    return complain(program, problem.what(), Exit::wrong);
  } catch (const NoDevice& problem) {
    return complain(program, problem.what(), Exit::nothing_to_run_on);
  } catch (const std::exception& problem) {
    return complain(program, problem.what(), Exit::kit);
  }
}

}  // namespace scanlab::bench
