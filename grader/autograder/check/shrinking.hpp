// The smallest case that shows a failure, and what the sizes say about it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograder/check/trial.hpp"
#include "autograder/device/device.hpp"
#include "autograder/hash.hpp"
#include "autograder/plan.hpp"
#include "autograder/process/submission.hpp"

namespace scanlab::grade {

/// A failure that the command of its case shows again: in a process of its own, this size and schedule only.
struct Replayed {
  Case which;
  TrialResult tried;
};

/// Runs one check's cases alone, each in a fresh process, and remembers which sizes are right. Stops when that is
/// enough work, which does not depend on time: what is found until then holds.
class Shrinking : CheckOnDevice {
 public:
  /// All of them outlive it. `passed` are the sizes that the check has found right so far.
  Shrinking(const Plan& plan, const CheckPlan& check, Device& device, TimeLimit& limit, vgpu::Schedule::Order order,
            std::set<std::size_t> passed)
      : CheckOnDevice{plan, check, device},
        limit_(limit),
        enough_(limit.spent() + most_seconds),
        order_(order),
        right_(std::move(passed)) {}

  /// The failure called `id` at n elements or fewer: the smallest that was found. Nothing when it does not show alone.
  std::optional<Replayed> smallest(std::size_t n, const std::string& id) {
    const auto fails_alike = [&](std::size_t size) {
      std::optional<Replayed> found = replay(size);
      if (found && found->tried.failure->cause.id != id) found.reset();
      return found;
    };
    std::optional<Replayed> best = fails_alike(n);
    const auto next_right = right_.lower_bound(n);
    if (!best || next_right == right_.begin()) return best;
    std::size_t low = *std::prev(next_right), high = n;  // right and wrong

    const std::vector<std::size_t> sizes = boundaries(low, high, section());
    std::size_t begin = 0, end = sizes.size();  // of those that may be the first to fail
    while (begin < end && has_time()) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (std::optional<Replayed> found = fails_alike(sizes[middle])) {
        best = std::move(found);
        high = sizes[middle];
        end = middle;
      } else {
        low = sizes[middle];
        begin = middle + 1;
      }
    }
    while (high - low > 1 && has_time()) {
      const std::size_t middle = low + (high - low) / 2;
      if (std::optional<Replayed> found = fails_alike(middle)) {
        best = std::move(found);
        high = middle;
      } else {
        low = middle;
      }
    }
    return best;
  }

  /// The same race with so many elements that the threads of `found` have one each: at n = 1 it is not expected that
  /// threads 991 and 992 do anything. Nothing where that is not known, or is no race.
  std::optional<Replayed> with_elements(const Replayed& found) {
    const std::string& id = found.tried.failure->cause.id;
    if (id != "race.shared" || plan_.section == 0 || found.tried.findings.empty() || !has_time()) return std::nullopt;
    const vgpu::Finding& race = found.tried.findings.front();
    std::size_t n = 0;
    for (const vgpu::Finding::Part& part : race.parts)
      if (part.has_thread) n = std::max<std::size_t>(n, part.thread[0] + 1);
    const std::size_t block = race.has_block ? race.block[0] : 0;
    n = block * plan_.section + (plan_.block_size == 0 ? n : plan_.section);
    if (n <= found.which.n || n > most_with_elements) return std::nullopt;
    std::optional<Replayed> larger = replay(n);
    if (larger && larger->tried.failure->cause.id != id) larger.reset();
    return larger;
  }

  /// What a larger size of the check shows about a wrong output that n elements cannot: a cause whose id is none of the
  /// `unclear` ones.
  std::optional<Replayed> larger(std::size_t n, const std::vector<std::string>& unclear) {
    constexpr unsigned most = 4;
    unsigned count = 0;
    std::size_t whole = 0;  // of as many sections, up to two
    for (const std::size_t size : check_.sizes) {
      if (size <= n || !has_time()) continue;
      const bool is_next = count++ < most, is_whole = whole < 2 && size >= (whole + 1) * section();
      if (!is_next && !is_whole) continue;
      whole += size >= (whole + 1) * section();
      std::optional<Replayed> found = replay(size);
      if (found && found->tried.is_wrong_output &&
          std::ranges::find(unclear, found->tried.failure->cause.id) == unclear.end())
        return found;
    }
    return std::nullopt;
  }

  /// "right for n = 1024 and 2048 and wrong for n = 1: only whole sections of 1024 come out right", where the sizes say
  /// so; otherwise empty. After smallest().
  std::string meaning_of_sizes() {
    if (wrong_.empty()) return {};
    const std::size_t own_section = section();
    for (const auto& [multiple, name] : {std::pair{warp, "warps of 32"}, std::pair{own_section, "sections"}}) {
      const std::size_t unit = multiple;  // clang 14 gives lambdas no structured bindings
      if (std::ranges::any_of(wrong_, [&](std::size_t n) { return n % unit == 0; })) continue;
      if (std::ranges::any_of(right_, [&](std::size_t n) { return n % unit != 0; })) continue;
      // Between two right sizes there has to be a wrong one: 1025 says nothing of warps.
      if (*wrong_.begin() > 2 * unit || !is_right(unit) || !is_right(2 * unit)) continue;
      return fmt::format("right for n = {} and {}, wrong for n = {}: only whole {} come out right{}", unit, 2 * unit,
                         joined(wrong_), name, unit == own_section ? fmt::format(", of {} elements", unit) : "");
    }
    const bool all_wrong = std::ranges::all_of(right_, [&](std::size_t n) { return n == 0 || n == own_section; });
    if (all_wrong && *wrong_.begin() < own_section && is_right(own_section) && !is_right(2 * own_section) &&
        has_time()) {
      return fmt::format("right for n = {} only, wrong for n = {}: is the number of elements taken for granted?",
                         own_section, joined(wrong_));
    }
    return {};
  }

 private:
  static constexpr unsigned most_replays = 40;
  /// Elements in all replays together, about two seconds' work: what is found must not depend on how fast a machine is.
  static constexpr std::size_t most_elements = std::size_t{1} << 22;
  /// For programs that take far longer than their number of elements suggests.
  static constexpr double most_seconds = 10;
  static constexpr std::size_t most_with_elements = std::size_t{1} << 14;
  static constexpr std::size_t warp = 32;

  std::size_t section() const { return plan_.elements_of_a_section(); }

  /// Sizes between two others at which programs begin to fail: around powers of two, whole warps and sections. Rising.
  static std::vector<std::size_t> boundaries(std::size_t above, std::size_t below, std::size_t section) {
    std::set<std::size_t> sizes;
    const auto add = [&](std::size_t centre) {
      for (const std::size_t n : {centre - 1, centre, centre + 1})
        if (n > above && n < below) sizes.insert(n);
    };
    for (std::size_t power = 1; power <= below; power *= 2) add(power);
    for (std::size_t k = 1; k <= 4; ++k) add(k * warp);
    for (std::size_t k = 1; k <= 4; ++k) add(k * section);
    return {sizes.begin(), sizes.end()};
  }

  static std::string joined(const std::set<std::size_t>& sizes) {
    constexpr std::size_t shown = 3;
    std::string text;
    std::size_t k = 0;
    for (const std::size_t n : sizes) {
      if (k == shown) return text + " …";
      text += (k == 0 ? "" : k + 1 == sizes.size() ? " and " : ", ") + std::to_string(n);
      ++k;
    }
    return text;
  }

  /// The first failure of all the repeats at n elements.
  std::optional<Replayed> replay(std::size_t n) {
    ++replays_;
    elements_ += n * check_.repeats;
    Submission submission(plan_, device_, check_.element, limit_);
    const std::unique_ptr<Trial> trial = make_trial(plan_, check_, device_, n);
    for (unsigned repeat = 0; repeat < check_.repeats; ++repeat) {
      const Case which{n, repeat, order_, order_};
      TrialResult tried = trial->run(submission, which, Counting::off, no_hash);
      if (!tried.failure) continue;
      wrong_.insert(n);
      return Replayed{which, std::move(tried)};
    }
    right_.insert(n);
    return std::nullopt;
  }

  bool is_right(std::size_t n) {
    if (right_.contains(n)) return true;
    if (wrong_.contains(n) || !has_time()) return false;
    return !replay(n);
  }

  bool has_time() const {
    return replays_ < most_replays && elements_ < most_elements && limit_.spent() < enough_ &&
           limit_.out() == TimeLimit::Out::nothing;
  }

  TimeLimit& limit_;
  const double enough_;  ///< of what the limit counts, seconds
  const vgpu::Schedule::Order order_;
  std::set<std::size_t> right_, wrong_;
  unsigned replays_ = 0;
  std::size_t elements_ = 0;  ///< of all replays
};

}  // namespace scanlab::grade
