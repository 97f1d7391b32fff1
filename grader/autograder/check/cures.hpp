// What can be tried to see whether it is the cause of a failure, and what is reported of it.
#pragma once

#include <optional>
#include <vector>

#include "autograder/check/trial.hpp"
#include "autograder/device/amendment.hpp"
#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/process/submission.hpp"

namespace scanlab::grade {

/// A change of one line, and how a learner is asked for it: "put __syncthreads(); before line 24".
struct Cure {
  Amendment amendment;
  std::string text;
  bool is_in_a_branch = false;  ///< a barrier, where neither of two accesses is: not all threads may come there
};

/// Changes that may be the cure of a race or a missing fence, the likeliest first; none of other findings. Of a program
/// with marks, what may be missing there; of another, what a line should do otherwise.
std::vector<Cure> cures_of(const vgpu::Finding& finding, const Plan& plan);

/// Makes a failing call of a check again, on a virtual device, with one thing put right each time, and adds to its
/// failure what that shows. Each trial has a process, and memory, of its own.
class Cures : CheckOnDevice {
 public:
  /// All of them outlive it. `submission` is restarted for each trial.
  Cures(const Plan& plan, const CheckPlan& check, Device& device, Submission& submission)
      : CheckOnDevice{plan, check, device}, submission_(submission) {}

  void explain(TrialResult& tried, const Case& which);
  /// Of a check that has passed: the plan's barriers that no access needs, each for itself, under its schedules.
  std::vector<vgpu::Finding> needless_barriers();

 private:
  void by_barriers(TrialResult& tried, const Case& which);
  void by_zeros(TrialResult& tried, const Case& which);
  void by_room(TrialResult& tried, const Case& which);
  /// Whether a barrier that is moved was the cure, or one of the barriers that together are.
  bool by_moves(TrialResult& tried, const Case& which);
  void by_amendments(TrialResult& tried, const Case& which);

  enum class Effect {
    none,       ///< the mistake is still there, or another one has come
    gone,       ///< it is gone, and others like it are left
    another,    ///< and what is left is another mistake, which many elements show without it as well
    all_gone,   ///< as are all of its kind that are about the same variable
    all_right,  ///< and so is everything else, under each schedule
  };
  struct Outcome {
    Effect effect = Effect::none;
    std::optional<std::size_t> wrong_at;  ///< with so many elements the output is wrong
  };
  /// What a change does to the first mistake of a call with few elements, and with many.
  Outcome outcome_of(const Device::Trying& how, const TrialResult& tried, const Case& which);
  /// What another schedule shows; none: all is right under each.
  std::optional<TrialResult> other_schedule(const Device::Trying& how, const Case& which, const vgpu::Finding& mistake);
  /// An amendment with so many barriers more that no race is left, at a few places at most; none if that is not enough.
  std::optional<Amendment> with_more_barriers(Amendment amendment, const Case& which);
  TrialResult run_with(const Device::Trying& how, const Case& which);
  Case with_many_elements(Case which) const;

  Submission& submission_;
  bool has_amended_ = false;  ///< the latest trial
};

}  // namespace scanlab::grade
