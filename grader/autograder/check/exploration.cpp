#include "autograder/check/exploration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograder/hash.hpp"
#include "autograder/process/submission.hpp"

namespace scanlab::grade {

namespace {

using Order = vgpu::Schedule::Order;

/// Elements; a tile may be of any size up to a quarter of it.
constexpr std::size_t largest_n = std::size_t{1} << 17;

class CallsExplorer : CheckOnDevice {
 public:
  CallsExplorer(const Plan& plan, const CheckPlan& check, Device& device)
      : CheckOnDevice{plan, check, device},
        limit_(plan.limits.seconds + check.prove->seconds, device.counted_time()),
        left_(check.prove->warp_instructions),
        seconds_(check.prove->seconds) {}

  Explored run() {
    if (const std::uint64_t blocks = blocks_of(1); blocks > 1) explored_.least_blocks = blocks;
    const std::size_t tile = explored_.least_blocks > 0 ? 0 : largest_with_one_block();
    if (tile == 0) return std::move(explored_);
    for (const std::size_t n : {tile + 1, 2 * tile, 3 * tile, 4 * tile})
      if (!explore(n)) break;
    return std::move(explored_);
  }

 private:
  /// 0: no two blocks talk, however many elements there are.
  std::size_t largest_with_one_block() {
    std::size_t high = 2;
    while (blocks_of(high) <= 1)
      if ((high *= 2) > largest_n) return 0;
    std::size_t low = high / 2;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (blocks_of(middle) <= 1 ? low : high) = middle;
    }
    return low;
  }

  /// Of the largest launch of a call whose blocks talk.
  std::uint64_t blocks_of(std::size_t n) {
    ExploredCall call;
    tried(n, call);
    return call.blocks;
  }

  TrialResult tried(std::size_t n, ExploredCall& call) {
    Submission submission(plan_, device_, check_.element, limit_);
    submission.explore(&call);
    Case which = explored_case(n, {});
    which.order = Order::lockstep;
    return make_trial(plan_, check_, device_, n)->run(submission, which, Counting::off, hash_start);
  }

  /// False when no further one need be tried.
  bool explore(std::size_t n) {
    ExploredCall call;
    call.warp_instructions = left_;
    call.seconds = seconds_;
    call.most_blocks = check_.prove->blocks;
    TrialResult first = tried(n, call);
    left_ = call.warp_instructions;
    seconds_ = call.seconds;
    if (call.blocks == 0 || call.blocks > call.most_blocks) return false;
    explored_.calls.push_back(
        {n, call.blocks, call.executions, call.why_not, call.broken, call.is_each_by_itself, call.breaches});
    if (first.failure) return fail(explored_case(n, {}), std::move(first));
    for (std::string& trail : call.trails) {
      Case which = explored_case(n, std::move(trail));
      Submission submission(plan_, device_, check_.element, limit_);
      TrialResult one = make_trial(plan_, check_, device_, n)->run(submission, which, Counting::off, hash_start);
      if (one.failure) return fail(std::move(which), std::move(one));
    }
    return call.why_not.empty();
  }

  /// False: no further call need be tried.
  bool fail(Case which, TrialResult result) {
    explored_.failed = std::move(which);
    explored_.tried = std::move(result);
    return false;
  }

  TimeLimit limit_;
  std::uint64_t left_;  ///< warp instructions of all runs
  double seconds_;      ///< of processor time, of all runs
  Explored explored_;
};

}  // namespace

Case explored_case(std::size_t n, std::string trail) {
  return {n, n % 2 == 0 ? 1u : 0u, Order::weak, Order::weak, std::move(trail)};
}

std::vector<std::string> Explored::tested_only() const {
  std::vector<std::string> sentences;
  const auto add = [&](const std::string& what) {
    std::string sentence = "tested, not proved: " + what;
    if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(std::move(sentence));
  };
  for (const Call& call : calls) {
    for (const vgpu::BrokenAssumption& broken : call.broken) add(broken.text());
    if (call.is_each_by_itself)
      add("the executions of each launch by itself, of which one leaves different memory for the next");
  }
  return sentences;
}

std::vector<std::string> Explored::sentences(const std::string& condition) const {
  if (least_blocks > 0)
    return {fmt::format("not explored: {} blocks talk to each other, also where there is one element", least_blocks)};
  if (std::vector<std::string> tested = tested_only(); !tested.empty()) return tested;
  std::vector<std::string> sentences;
  std::string sizes;
  std::uint64_t executions = 0, blocks = 0;
  for (const Call& call : calls) {
    if (!call.why_not.empty()) {
      sentences.push_back(
          fmt::format("not all executions explored of n = {} ({} blocks): {}", call.n, call.blocks, call.why_not));
      continue;
    }
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", call.n);
    executions += call.executions;
    blocks = call.blocks;
  }
  if (!sizes.empty())
    sentences.insert(
        sentences.begin(),
        fmt::format("right in all executions that PTX's memory model allows of n = {} (up to {} blocks, all "
                    "of them resident, without load buffering, {} execution{}){}",
                    sizes, blocks, executions, executions == 1 ? "" : "s", condition));
  return sentences;
}

Explored explore(const Plan& plan, const CheckPlan& check, Device& device) {
  return CallsExplorer(plan, check, device).run();
}

}  // namespace scanlab::grade
