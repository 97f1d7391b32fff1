// What the judge found, and its form as JSON (schema "scanlab-checks", version 1).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autograder/cause.hpp"
#include "vgpu/checks/finding.hpp"
#include "vgpu/core/contract.hpp"

namespace scanlab::grade {

/// The kit could not do its part (no runner, a full disk …). Never the submission's failure: verdict `error`, exit 3.
struct KitFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws KitFault with the text of errno behind `what`.
[[noreturn]] void throw_errno(const std::string& what);

using Verdict = contract::CheckVerdict;

/// A verdict that is not `pass`, with its cause.
struct Failure {
  Verdict verdict = Verdict::fail;
  Cause cause = {};
};

/// What a count was compared with, at n elements.
struct CountLimits {
  std::size_t n = 0;
  std::optional<double> at_least, at_most;
};

struct CheckResult {
  std::string name, title;
  Verdict verdict = Verdict::skipped;
  double points = 0, max_points = 0;
  double not_run_points = 0;  ///< what it is worth elsewhere, when it cannot be run here: max_points is 0 then
  std::optional<Cause> cause;
  std::optional<std::vector<std::pair<std::string, double>>> counts;  ///< by counter's name
  std::optional<CountLimits> limits;                                  ///< of `counts`
  std::optional<std::vector<std::pair<std::string, double>>> times;   ///< of a timing check: what was measured
  double seconds = 0;                                                 ///< wall time
  std::optional<std::uint64_t> output_hash;  ///< of all outputs under the first schedule: equal on every device
  std::string breach;                        ///< what a proof would have to assume, and was seen broken
  std::vector<std::string> proof;            ///< of a correctness check that passed: what its calls prove, in sentences
  std::vector<std::string> printed;          ///< of a correctness check: first lines of the first call that printed
  std::vector<vgpu::Finding> findings;       ///< the most basic first; of a check that failed, the first is its cause
  std::uint64_t findings_total = 0;          ///< with those that were left out
};

/// What has been found of the checks of a plan, in its order; the CLI says what that comes to.
struct Result {
  std::string device;
  std::vector<CheckResult> checks;
};

/// The JSON text, indented, with a newline at its end. Text that is not UTF-8 (a submission's output) is replaced.
std::string to_json(const Result& result);
/// Writes beside `path` and renames, so that a reader sees all of it or nothing. Throws KitFault.
void write_atomically(const std::filesystem::path& path, const std::string& text);

}  // namespace scanlab::grade
