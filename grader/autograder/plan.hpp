// What the judge is asked to do: plan.json, version 1, written by the CLI from a lab.toml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograder/element.hpp"
#include "autograder/operation.hpp"
#include "autograder/result.hpp"
#include "vgpu/core/run/schedule.hpp"

namespace scanlab::grade {

struct Limits {
  double seconds = 20;                            ///< of a check; see TimeLimit
  std::uint64_t warp_instructions = 200'000'000;  ///< a launch on the virtual GPU
  std::size_t output_bytes = 65536;               ///< stdout and stderr of one call together
};

/// `check --prove`: all executions of calls whose blocks talk to each other.
struct Prove {
  std::uint64_t blocks = 0;             ///< of a launch, at most
  std::uint64_t warp_instructions = 0;  ///< of all runs together, at most
  double seconds = 0;                   ///< of processor time, of all runs; beside limits.seconds
};

/// A call of a correctness check, by what is seen of it.
struct PlannedCall {
  std::size_t n = 0;
  vgpu::Schedule::Order order = vgpu::Schedule::Order::in_order;
  unsigned repeat = 0;
  auto operator<=>(const PlannedCall&) const = default;
};

/// A call whose work is counted, and what the counter may say of it.
struct CountedCall : PlannedCall {
  std::optional<double> at_most, at_least;
};

struct CheckPlan {
  using Kind = contract::CheckKind;
  std::string name, title;
  Kind kind = Kind::correctness;
  Operation entry = Operation::inclusive;      ///< which function is called
  Operation operation = Operation::inclusive;  ///< which operation's output its own is compared with
  ElementType element = ElementType::float_;
  double points = 0;
  std::string needs;    ///< name of a check that must pass first; empty: none
  std::string explain;  ///< shown when the check fails; may be empty
  std::string profile;  ///< of the virtual GPU; empty: the plan's
  // correctness
  std::vector<std::size_t> sizes;  ///< ascending
  std::vector<vgpu::Schedule::Order> schedules;
  unsigned repeats = 1;  ///< calls for each size and schedule …
  /// … of at most so many elements; of more there is one, under the schedules in turn the first, the second …
  std::size_t repeated_up_to = std::numeric_limits<std::size_t>::max();
  std::vector<PlannedCall> extra;  ///< further sizes, each under this one schedule; their `repeat` is 0
  std::optional<Prove> prove;      ///< of scans, on the virtual GPU
  /// Counts that have to be kept as well where all is right, of calls of this check; at most one.
  std::vector<CheckPlan> work;
  // count
  std::string counter;
  std::vector<CountedCall> calls;  ///< in the check's order; each has to keep its limits
  std::string among;               ///< the correctness check that makes these calls; empty: this one does
  // timing: ratios of the submission's time to the reference solution's
  std::size_t n = 0;
  double full = 1;      ///< all points up to this one
  double none = 2;      ///< none above this one, which is larger; in proportion between
  double seconds = 60;  ///< wall time in which rounds are begun
};

/// A place of a submission where a statement can be put, and where it is tried what that would change: the program has
/// `pmevent LINE` there.
struct Mark {
  unsigned line = 0;      ///< before which it stands, in the learner's file
  unsigned at = 0;        ///< … and in the file that was compiled
  std::string code;       ///< of the line
  unsigned branches = 0;  ///< it stands in so many, which not all threads may take
};

struct Plan {
  using Device = contract::Device;
  std::string lab, title;
  Device device = Device::vgpu;
  std::string profile = "small";  ///< of the virtual GPU, where a check names no other
  std::uint64_t seed = 0;
  std::size_t section = 0;     ///< elements; 0: the whole array is one scan
  std::size_t block_size = 0;  ///< thread t has places t, t + block_size … of a section; 0: place t only
  std::string source;          ///< the submission's file, as messages show it
  std::vector<Mark> marks;     ///< none: it is the submission itself
  std::vector<unsigned>
      barriers;       ///< lines of the learner's whose barrier is left out by way of trial, if all is right
  std::string again;  ///< "grader/scanlab check 02": how the learner runs this again
  Limits limits;
  std::string trail;  ///< of the execution that is to be shown, and nothing else (vgpu::Schedule::trail); empty: none
  std::map<std::string, std::filesystem::path> runners;  ///< by element name
  /// PTX that is tried in the place of the runners' own, which has the same kernels; empty: it is the submission
  /// itself.
  std::filesystem::path device_code;
  std::string host_breach;      ///< what of the program's host code no proof covers: "scan.cu:12 uses clock, …"
  std::string host_state;       ///< what proofs assume of it: "what d_sums (scan.cu:12) keeps is …"
  bool is_brief = false;        ///< a failure is neither made smaller nor explained: what is tried is right, or is not
  bool has_provenance = false;  ///< that of affine maps keeps their names only (runner/by_name)
  /// Of the lab's reference solution, by element name; empty: it is not here, and nothing can be timed.
  std::map<std::string, std::filesystem::path> reference;
  /// The command that starts a runner, here a sandbox's; empty: the runner itself. In its words "{program}" stands for
  /// the runner's path, and "{status}" for a descriptor to which 'r' is written when the runner is about to begin.
  std::vector<std::string> launcher;
  /// A runner whose answers can be trusted (runner/honest.cpp), on a GPU; empty: there is none.
  std::filesystem::path honest_runner;
  std::vector<CheckPlan> checks;

  /// Labs whose scan is of the whole array have sections, too: as a rule of so many.
  std::size_t elements_of_a_section() const { return section == 0 ? 1024 : section; }
};

/// The thread that element i belongs to: by sections, that of one block. Of a whole array it is not known.
std::optional<Where> place_of(const Plan& plan, std::size_t i);

/// Without the blank space around it, as texts in a rubric have it.
std::string_view trimmed(std::string_view text);

/// Throws KitFault that names the place: "checks[2].sizes[0]: expected a whole number from 0 to 1073741824, got -1".
/// Unknown keys are errors: a misspelt limit must not silently mean no limit.
Plan parse_plan(std::string_view json);
Plan read_plan(const std::filesystem::path& path);

}  // namespace scanlab::grade
