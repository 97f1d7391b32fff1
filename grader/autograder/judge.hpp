// Runs the checks of a plan, one at a time, and keeps their results.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograder/check/checks.hpp"
#include "autograder/device/device.hpp"
#include "autograder/device/devices.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"

namespace scanlab::grade {

class Judge {
 public:
  explicit Judge(Plan plan);

  const Plan& plan() const { return plan_; }

  /// Runs check `i` of the plan; never throws: what the kit cannot do is the verdict `error`. A check whose `needs` has
  /// not passed (or has not run) is skipped. So is one that cannot be run here, and then no points are to be won or
  /// lost: work is counted on the virtual GPU only, time is measured on a GPU only.
  const CheckResult& run(std::size_t i);

  /// So far. A check that has not run is skipped, and its points are its not_run_points.
  Result result() const;

 private:
  /// The calls of a correctness check whose work is counted, none of them made yet.
  CountedCalls& counted_in(const CheckPlan& check);
  void perform(const CheckPlan& check, CheckResult& result);
  void check_work(const CheckPlan& host, const CheckPlan& work, CheckResult& result);
  /// Empty: it can be run here.
  std::string reason_not_run_here(const CheckPlan& check) const;
  /// The check that this one needs, where that has not passed; otherwise null.
  const CheckResult* missing_need(const CheckPlan& check) const;
  /// The one for this check's profile, and with its kernels watched or not.
  Device& device(const CheckPlan& check);

  Plan plan_;
  /// By profile, each made for the first check that needs it.
  std::map<std::pair<std::string, Checking>, std::unique_ptr<Device>> devices_;
  std::vector<CheckResult> results_;
  std::map<std::string, CountedCalls> counted_;  ///< by the correctness check that has made them
};

}  // namespace scanlab::grade
