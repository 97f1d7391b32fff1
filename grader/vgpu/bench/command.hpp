// What the command lines of `vgpu-bench` and `pocl-bench` share.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/bench/cases.hpp"
#include "vgpu/core/run/fast_paths.hpp"

namespace scanlab::bench {

/// Exit codes of the kit: 1 for a wrong result, 2 for a wrong command line, 3 for the kit's own fault. 77 is Meson's
/// for "there is nothing to run on".
enum class Exit { passed = 0, wrong = 1, usage = 2, kit = 3, nothing_to_run_on = 77 };

/// A wrong command line; an empty text when it has been reported already.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A kernel failed or gave something else than the host: its speed means nothing.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device that would be measured is not on this machine.
struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The options of both programs.
struct Arguments {
  std::uint32_t n = 1u << 20;
  unsigned repeat = 7;
  unsigned threads = 0;                     ///< of the host, to compare with one; 0: as many as there are processors
  std::vector<const Recipe*> recipes;       ///< chosen by --filter, else all
  std::vector<std::string_view> observers;  ///< names, of --observers
  std::vector<const vgpu::NamedFastPath*> without;  ///< switched off for times of their own
  std::string json;                                 ///< a file, "-" for stdout, or empty
  std::string kernels;                              ///< the file with the kernels
};

struct Program {
  const char* name;
  const char* usage;
  bool has_observers;
  std::function<void()> list;  ///< prints what --list asks for
};

/// Throws UsageError. --help and --list print and end the process.
Arguments parse(int argc, char** argv, const Program& program);

/// Throws UsageError when the file cannot be read or is empty.
std::string read_file(const std::string& path);

/// Prints the table, and writes the JSON where the arguments want it.
void report(const Arguments& arguments, std::string_view table, const nlohmann::ordered_json& value);

/// Throws WrongResult when `got` is not what `made` must give; `where` stands in the message.
void verify(const Case& made, const Words& got, std::string_view where);

/// Runs `body`; what it throws becomes a line on stderr and an exit code.
int guarded(const Program& program, const std::function<void()>& body);

}  // namespace scanlab::bench
