// One call of an entry on fresh data, with everything that can be checked afterwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograder/check/task.hpp"
#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/process/submission.hpp"
#include "vgpu/checks/cost/assumptions.hpp"

namespace scanlab::grade {

/// In the place of a hash, where none is made.
inline constexpr std::uint64_t no_hash = 0;

/// What a right result says of all others (provenance.hpp).
struct ProofOf {
  std::vector<vgpu::Breach> breaches;  ///< what it would have to assume, and where the call breaks that
  bool blocks_talk = false;            ///< it is one for this schedule only

  /// Does the result hold for every input?
  bool holds() const { return std::ranges::all_of(breaches, &vgpu::Breach::is_of_order); }
  /// … and in every order of blocks and warps?
  bool holds_in_every_order() const { return breaches.empty() && !blocks_talk; }
};

/// Who has written an output that is wrong.
struct Written {
  std::string text;             ///< one sentence: "y[5] is written by thread 5 of block 0 in scan.cu:31"
  std::optional<Where> where;   ///< of the last that has; nothing where it is the host
  bool is_overwritten = false;  ///< it was right before
};

struct TrialResult {
  std::optional<Failure> failure;       ///< complete but for the diagnosis by other runs
  bool is_wrong_output = false;         ///< … and all that is known is that the output's values are wrong
  std::string printed;                  ///< by the program and its kernels, in this call
  bool is_right = false;                ///< its outputs are, whatever else was found
  std::vector<vgpu::Finding> findings;  ///< the most basic first; the failure's own is the first one
  std::uint64_t findings_total = 0;     ///< with those that were left out
  std::uint64_t output_hash = no_hash;  ///< of what is looked at of the outputs, seeded with the hash given
  std::uint64_t mistake = 0;            ///< the wrong output's Mistake::fingerprint; 0: all is right
  std::vector<std::pair<std::string, double>> counts;
  std::vector<vgpu::Finding> costs;  ///< the lines that cost most, where work was counted
  std::optional<ProofOf> proof;      ///< of a right scan whose elements are names, and whose additions are remembered
  std::string unfollowed = {};       ///< of a right scan that was to be: why its additions are not counted
  std::optional<std::size_t> first_wrong = {};  ///< element of d_y
  std::optional<Written> written = {};          ///< the output that was watched, if it is wrong
};

/// A detail of causes.
inline constexpr const char* right_by_luck =
    "the output happened to be right: it need not be, with another schedule or on a GPU";

/// What a counter has to know of a call.
Counting counting_for(std::string_view counter);

/// What works on a check of a plan has these; all of them outlive it.
struct CheckOnDevice {
  const Plan& plan_;
  const CheckPlan& check_;
  Device& device_;
};

/// Calls of one check at one size. The memory is the same for all of them, and is filled again before each.
class Trial {
 public:
  virtual ~Trial() = default;
  /// `hash`: no_hash, where it is not asked what the outputs were.
  virtual TrialResult run(Submission& submission, const Case& which, Counting counting, std::uint64_t hash) = 0;
  /// The same call on values, where elements have been names.
  virtual TrialResult run_on_values(Submission& submission, const Case& which) = 0;
  /// From now on calls are made on values, and say of this element of d_y who has written it.
  virtual void watch(std::size_t output) = 0;
};

/// Allocates for n elements; all arguments outlive it.
std::unique_ptr<Trial> make_trial(const Plan& plan, const CheckPlan& check, Device& device, std::size_t n);

/// "inclusive scan of floats, n = 1025, seed 7, schedule reversed"
std::string headline_of(const Plan& plan, const CheckPlan& check, const Device& device, const Case& which);
/// "grader/scanlab check 02 --n 1025 --seed 7 --schedule reversed"
std::string again_command(const Plan& plan, const Device& device, const Case& which);
/// … in one execution: "grader/scanlab check 07 --n 2048 --seed 7 --trail 'inclusive:1:0.0 1.0=i'"
std::string again_command(const Plan& plan, const CheckPlan& check, const Case& which);
/// … of all schedules, or of all cases as well: "grader/scanlab check 02 --seed 7". `more` stands at the end.
std::string again_command(const Plan& plan, std::optional<std::size_t> n = {}, const std::string& more = {});

}  // namespace scanlab::grade
