// Runs the checks of a plan, one at a time, and keeps their results.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograder/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"
#include "autograder/virtual_device.hpp"

namespace scanlab::grade {

class Judge {
 public:
  explicit Judge(Plan plan);

  const Plan& plan() const { return plan_; }

  /// Runs check `i` of the plan; never throws: what the kit cannot do is the verdict `error`. A check whose `needs` has
  /// not passed (or has not run) is skipped. So is one that cannot be run here, and then no points are to be won or
  /// lost: work is counted on the virtual GPU only, time is measured on a GPU only.
  const CheckResult& run(std::size_t i);

  /// So far. A check that has not run is skipped, and its points are among the result's not_run_points.
  Result result() const;

 private:
  /// Only the order of the operands tells apart what the same check has found right for floats.
  void compare_with_floats(const CheckPlan& check, CheckResult& result) const;
  void perform(const CheckPlan& check, CheckResult& result);
  /// Why a check cannot be run here; empty: it can.
  std::string obstacle(const CheckPlan& check) const;
  bool is_ready(const CheckPlan& check, CheckResult& result) const;
  Device& device(const CheckPlan& check);

  Plan plan_;
  /// By profile, each made for the first check that needs it.
  std::map<std::pair<std::string, Checking>, std::unique_ptr<Device>> devices_;
  std::vector<CheckResult> results_;
};

}  // namespace scanlab::grade
