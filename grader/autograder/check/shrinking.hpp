// The smallest case that shows a failure, and what the sizes say about it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autograder/check/trial.hpp"
#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"

namespace scanlab::grade {

/// A failure that the command of its case shows again: in a process of its own, this size and schedule only.
struct Replayed {
  Case which;
  TrialResult tried;
};

/// Runs one check's cases alone, each in a fresh process, and remembers which sizes are right. Stops when that is
/// enough work, which does not depend on time: what is found until then holds.
class Shrinking {
 public:
  /// All of them outlive it. `passed` are the sizes that the check has found right so far.
  Shrinking(const Plan& plan, const CheckPlan& check, Device& device, TimeLimit& limit, vgpu::Schedule::Order order,
            std::set<std::size_t> passed);

  /// The failure called `id` at n elements or fewer: the smallest that was found. Nothing when it does not show alone.
  std::optional<Replayed> smallest(std::size_t n, const std::string& id);

  /// What a larger size of the check shows about a wrong output that n elements cannot: a cause whose id is none of the
  /// `unclear` ones.
  std::optional<Replayed> larger(std::size_t n, const std::vector<std::string>& unclear);

  /// "right for n = 1024 and 2048 and wrong for n = 1: only whole sections of 1024 come out right", where the sizes say
  /// so; otherwise empty. After smallest().
  std::string meaning_of_sizes();

 private:
  /// The first failure of all the repeats at n elements.
  std::optional<Replayed> replay(std::size_t n);
  bool is_right(std::size_t n);
  bool has_time() const;

  const Plan& plan_;
  const CheckPlan& check_;
  Device& device_;
  TimeLimit& limit_;
  const double enough_;  ///< of what the limit counts, seconds
  const vgpu::Schedule::Order order_;
  std::set<std::size_t> right_, wrong_;
  unsigned replays_ = 0;
  std::size_t elements_ = 0;  ///< of all replays
};

}  // namespace scanlab::grade
