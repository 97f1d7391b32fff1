// The command lines of vgpu-run and vgpu-bench.
#pragma once

#include <fmt/format.h>
#include <getopt.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace scanlab {

/// A wrong command line; an empty text when it has been reported already.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CommandOption {
  const char* name;                       ///< "seed" of --seed
  int has_argument;                       ///< as getopt_long has it
  std::function<void(const char*)> take;  ///< with its argument, or null
};

/// Takes the options of a command line, and --help, which prints `usage` and ends the process. Returns where the other
/// words begin. `letters` are getopt's: "+h" where options stand before all of them. Throws UsageError.
inline int take_options(int argc, char** argv, const char* letters, const char* usage,
                        const std::vector<CommandOption>& options) {
  constexpr int first = 256;  // behind all letters
  std::vector<option> known = {{"help", no_argument, nullptr, 'h'}};
  for (const CommandOption& each : options)
    known.push_back({each.name, each.has_argument, nullptr, first + static_cast<int>(&each - options.data())});
  known.push_back({});
  for (int c; (c = getopt_long(argc, argv, letters, known.data(), nullptr)) != -1;) {
    if (c == 'h') {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (c < first) throw UsageError("");  // getopt has said what is wrong
    options[static_cast<std::size_t>(c - first)].take(optarg);
  }
  return optind;
}

/// A whole number; with `most`, from 1 to that. Throws UsageError that names the option.
template <class Number>
Number number(const char* option, std::string_view text, std::optional<Number> most = std::nullopt) {
  Number value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = problem == std::errc{} && end == text.data() + text.size();
  if (is_number && (!most || (value >= 1 && value <= *most))) return value;
  const std::string range = most ? fmt::format(" from 1 to {}", *most) : "";
  throw UsageError(fmt::format("--{} takes a number{}, not \"{}\"", option, range, text));
}

}  // namespace scanlab
