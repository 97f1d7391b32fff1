#include "autograder/check/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "autograder/cause.hpp"
#include "autograder/check/inputs.hpp"
#include "autograder/device/call_findings.hpp"
#include "autograder/device/element_writes.hpp"
#include "autograder/device/provenance.hpp"
#include "autograder/hash.hpp"
#include "autograder/process/messages.hpp"
#include "vgpu/checks/finding_order.hpp"
#include "vgpu/checks/global/stale_read_finding.hpp"

namespace scanlab::grade {

namespace {

std::uint64_t data_seed(const Plan& plan, const CheckPlan& check, const Case& which) {
  std::uint64_t seed = mix(plan.seed, name_of(check.element));
  seed = mix(seed, entry_name(check.entry));
  seed = mix(seed, which.n);
  seed = mix(seed, name_of(which.data_order));
  return mix(seed, which.repeat);
}

/// A counter of what additions are for.
struct AdditionCounter {
  const char* name;
  double (*of)(const vgpu::AdditionWork& work);
};
constexpr AdditionCounter addition_counters[] = {
    {"useful_additions", [](const vgpu::AdditionWork& work) { return static_cast<double>(work.useful); }},
    {"wasted_additions", [](const vgpu::AdditionWork& work) { return static_cast<double>(work.wasted); }},
    {"span", [](const vgpu::AdditionWork& work) { return static_cast<double>(work.span); }},
    {"busiest_adder", [](const vgpu::AdditionWork& work) { return static_cast<double>(work.busiest_thread); }},
    {"shared_prefixes", [](const vgpu::AdditionWork& work) { return static_cast<double>(work.shared_prefixes); }},
    {"useful_efficiency", [](const vgpu::AdditionWork& work) { return work.efficiency(); }},
};

template <typename T>
class TypedTrial : public Trial, CheckOnDevice {
 public:
  TypedTrial(const Plan& plan, const CheckPlan& check, Device& device, std::size_t n)
      : CheckOnDevice{plan, check, device},
        task_(make_task<T>(plan, check)),
        n_(n),
        memory_(device, check.entry, n, sizeof(T), fmt::format(" ({})", elements_text(n))) {}

  TrialResult run(Submission& submission, const Case& which, Counting counting, std::uint64_t hash) override {
    const bool are_maps = std::is_same_v<T, Affine> && plan_.has_provenance;
    if (watched_) return run(submission, which, counting, hash, are_maps ? Elements::maps : Elements::values);
    if (!names_elements(counting)) return run(submission, which, counting, hash, Elements::values);
    if (std::is_same_v<T, Affine> && !submission.is_explored() && n_ > Provenance::most_remembered &&
        counting != Counting::additions) {
      // Too many for a graph: names take longer, and only explain what is wrong.
      TrialResult computed = run(submission, which, counting, hash, Elements::maps);
      if (!computed.is_wrong_output) return computed;
      TrialResult named = run(submission, which, counting, hash, Elements::names);
      return named.is_wrong_output ? std::move(named) : std::move(computed);
    }
    TrialResult named = run(submission, which, counting, hash, Elements::names);
    if (std::is_same_v<T, Affine>) return named;
    const Provenance& provenance = *device_.provenance();
    if (!named.failure && !provenance.graph()->looked_at()) return named;
    // Floats are numbers to a program: it may subtract or compare them and be right, and do other work for others.
    const std::string unfollowed = provenance.why_not_followed();
    const ProofOf proof{provenance.breaches(), provenance.graph()->blocks_talk()};
    TrialResult result = run(submission, which, counting, hash, Elements::values);
    if (result.failure) return named.is_wrong_output && result.is_wrong_output ? named : result;
    result.unfollowed = unfollowed;
    if (!proof.holds()) result.proof = proof;
    return result;
  }

  TrialResult run_on_values(Submission& submission, const Case& which) override {
    const bool are_maps = std::is_same_v<T, Affine> && plan_.has_provenance;
    return run(submission, which, Counting::off, no_hash, are_maps ? Elements::maps : Elements::values);
  }

  void watch(std::size_t output) override { watched_ = output; }

 private:
  enum class Elements { values, names, maps };

  /// Affine maps are names in the whole program; floats where work is counted, so that it is known what it was for.
  bool names_elements(Counting counting) const {
    if (std::is_same_v<T, Affine>) return plan_.has_provenance;
    return counting == Counting::additions && device_.provenance() && !has_count(check_.entry) &&
           n_ <= Provenance::most_floats;
  }

  TrialResult run(Submission& submission, const Case& which, Counting counting, std::uint64_t hash, Elements elements) {
    const std::uint64_t seed = data_seed(plan_, check_, which);
    const std::vector<T> x = task_->input(which, seed);
    using Remember = Provenance::Remember;
    const bool is_small =
        n_ <= (counting == Counting::additions ? Provenance::most_counted : Provenance::most_explained);
    begin(x, seed, elements, is_small && !submission.is_explored() ? Remember::additions : Remember::bounds);
    device_.write(memory_.x, given_.data());
    memory_.blank();
    const Buffer& y = memory_.y;
    const auto writes = watched_ ? device_.watch({y.address + *watched_ * sizeof(T), sizeof(T)}) : nullptr;

    const vgpu::Schedule schedule{which.order, mix(seed, "schedule"), which.trail};
    device_.expect_elements(n_);
    CallReport report = submission.call(check_.entry, memory_, schedule, counting);
    TrialResult result;
    result.counts = std::move(report.counts);
    result.costs = std::move(report.costs);
    result.output_hash = hash;
    if (report.failure) {
      result.failure = std::move(report.failure);
      Cause& cause = result.failure->cause;
      if (!cause.next.empty()) cause.details.push_back(cause.next);
    } else {
      // Taken at once: whatever the submission does later is too late.
      if (elements != Elements::values) device_.provenance()->end();
      const Outputs<T> outputs = read_outputs(x);
      outputs_ = outputs.names;
      if (hash != no_hash) {
        result.output_hash = hash_bytes(hash, outputs.y.data(), task_->relevant(x) * sizeof(T));
        if (memory_.kept) result.output_hash = hash_bytes(result.output_hash, &outputs.kept, sizeof outputs.kept);
      }
      add_undefined_values(x, report);
      result.failure = memory_failure();
      if (!result.failure) {
        if (std::optional<Mistake> mistake = task_->mistake(x, outputs)) {
          result.failure = Failure{Verdict::fail, std::move(mistake->cause)};
          result.is_wrong_output = true;
          result.mistake = mistake->fingerprint;
          result.first_wrong = mistake->first;
          if (writes) result.written = written_by(x, *writes);
        }
      }
    }
    result.is_right = !result.failure;
    if (result.is_right) add_provenance(result, report, counting);
    result.printed = submission.output();
    add_stale_read(result, report, submission, which);
    result.findings = std::move(report.findings);
    result.findings_total = report.findings_total;
    settle(result);
    if (result.failure) complete(*result.failure, result.printed, which);
    return result;
  }

  /// What the graph of additions says of a right result.
  void add_provenance(TrialResult& result, const CallReport& report, Counting counting) const {
    const vgpu::AdditionGraph* graph = provenance_ ? provenance_->graph() : nullptr;
    if (!graph || has_count(check_.entry)) return;  // compaction asks of each element whether to keep it
    ProofOf proof{provenance_->breaches(), graph->blocks_talk()};
    std::ranges::copy(report.breaches, std::back_inserter(proof.breaches));
    if (provenance_->knows_breaches() || !proof.breaches.empty()) result.proof = proof;
    if (counting != Counting::additions) return;
    const vgpu::AdditionWork work = graph->work(outputs_);
    for (const AdditionCounter& counter : addition_counters) result.counts.emplace_back(counter.name, counter.of(work));
    std::ranges::move(costly_additions(work), std::back_inserter(result.costs));
  }

  /// Under the schedule `weak`: an old value that a thread has read for want of a fence, where a result is wrong or a
  /// wait does not end. It is the cause only if the same call is right where nothing that is read is old; a right
  /// program may read an old value, and look again.
  void add_stale_read(TrialResult& result, CallReport& report, Submission& submission, const Case& which) const {
    if (!result.failure) return;
    const auto is_explained = [](const vgpu::StaleRead& read) { return !read.cure().empty(); };
    const auto culprit = std::ranges::find_if(report.stale_reads, is_explained);
    if (culprit == report.stale_reads.end()) return;
    Case other = which;
    other.order = vgpu::Schedule::Order::random;
    other.trail.clear();
    submission.restart();
    if (make_trial(plan_, check_, device_, n_)->run(submission, other, Counting::off, no_hash).failure) return;
    report.findings.push_back(vgpu::finding_of(*culprit));
    ++report.findings_total;
    vgpu::sort_most_basic_first(report.findings);
  }

  /// A mistake that was found fails the call, whatever the output; and what is most basic is the cause.
  void settle(TrialResult& result) const {
    std::vector<vgpu::Finding>& findings = result.findings;
    const auto is_own = [&](const vgpu::Finding& finding) { return finding.id == result.failure->cause.id; };
    if (result.failure && result.failure->verdict != Verdict::error && std::ranges::none_of(findings, is_own)) {
      findings.push_back(finding_of(result.failure->cause));
      ++result.findings_total;
      vgpu::sort_most_basic_first(findings);
    }
    const auto exited = std::ranges::find(findings, "barrier.exited", &vgpu::Finding::id);
    if (result.is_wrong_output && exited != findings.end())
      result.failure->cause.details.push_back(
          fmt::format("{} before the barrier in {}", exited->details.front(), place_text(exited->parts.front().where)));
    if (findings.empty() || findings.front().weight != vgpu::Finding::Weight::mistake) return;
    if (result.failure && is_own(findings.front())) return;
    Cause cause = cause_of(findings.front());
    if (!result.failure && cause.id == scan_on_host_id) {
      // right everywhere, and not made where it has to be
    } else if (!result.failure) {
      cause.details.push_back(right_by_luck);
    } else if (result.is_wrong_output) {
      const Cause& seen = result.failure->cause;
      cause.details.push_back(fmt::format("{}, expected {}", seen.actual, seen.expected));
      // Two threads at one place: the places are wrong, and the output shows how.
      if (has_count(check_.entry) && findings.front().kind == "write-after-write")
        cause.details.push_back(seen.rationale);
    } else {
      cause.details.push_back(result.failure->cause.actual.empty() ? result.failure->cause.rationale
                                                                   : result.failure->cause.actual);
    }
    result.failure = Failure{result.failure ? result.failure->verdict : Verdict::fail, std::move(cause)};
    result.is_wrong_output = false;
  }

  /// What has got into the outputs, though nothing has written it.
  void add_undefined_values(const std::vector<T>& x, CallReport& report) {
    const auto add = [&](const Buffer& buffer, std::size_t bytes) {
      if (std::optional<vgpu::Finding> finding = device_.undefined_value(buffer, bytes)) {
        report.findings.push_back(*std::move(finding));
        ++report.findings_total;
      }
    };
    add(memory_.y, task_->relevant(x) * sizeof(T));
    if (memory_.kept) add(*memory_.kept, sizeof(std::int32_t));
    vgpu::sort_most_basic_first(report.findings);
  }

  /// What the program is given for x.
  void begin(const std::vector<T>& x, std::uint64_t seed, Elements elements, Provenance::Remember remember) {
    provenance_ = elements == Elements::names ? device_.provenance() : nullptr;
    if (elements == Elements::maps) device_.provenance()->begin_maps();
    if (elements != Elements::names) {
      given_ = x;
      return;
    }
    if (!provenance_) throw KitFault("this device has no names for elements");
    if constexpr (std::is_same_v<T, float>)
      given_ = provenance_->begin(x);
    else
      given_ = provenance_->begin(x, seed, remember);
  }

  Outputs<T> read_outputs(const std::vector<T>& x) const {
    Outputs<T> outputs;
    outputs.y.resize(n_);
    device_.read(memory_.y, outputs.y.data());
    if (memory_.kept) device_.read(*memory_.kept, &outputs.kept);
    if (!provenance_) return outputs;
    auto sums = provenance_->sums<T>(x, std::move(outputs.y));
    outputs.y = std::move(sums.values);
    outputs.names = std::move(sums.names);
    outputs.intervals = std::move(sums.intervals);
    outputs.provenance = provenance_;
    return outputs;
  }

  /// Nothing where no one has, or where the element is right: a call that is made again may be wrong elsewhere.
  std::optional<Written> written_by(const std::vector<T>& x, const ElementWrites& seen) const {
    const std::size_t i = *watched_;
    const std::vector<ElementWrites::Write> writes = seen.writes();
    const auto is_right = [&](const ElementWrites::Bytes& bytes) {
      T value;
      std::memcpy(&value, bytes.data(), sizeof value);
      return task_->accepts(x, i, value);
    };
    if (is_right(seen.now())) return std::nullopt;
    const auto who = [](const ElementWrites::Write& write) {
      return fmt::format("thread {} of block {} in {}", write.thread[0], write.block[0], vgpu::place_text(write.where));
    };
    if (seen.has_host_written_last() || writes.empty()) {
      if (writes.empty() && !seen.is_changed()) return std::nullopt;
      const auto right =
          std::find_if(writes.rbegin(), writes.rend(), [&](const auto& write) { return is_right(write.after); });
      Written written{.text = {}, .where = {}, .is_overwritten = right != writes.rend()};
      constexpr const char* host = "the host (cudaMemcpy, cudaMemset)";
      written.text =
          written.is_overwritten
              ? fmt::format("y[{}] is right when {} writes it, and then {} writes over it", i, who(*right), host)
              : fmt::format("y[{}] is written {}by {}", i, writes.empty() ? "" : "last ", host);
      return written;
    }
    const std::optional<WrongWrite> found = wrong_write(writes, is_right);
    if (!found) return std::nullopt;
    const ElementWrites::Write& last = *found->wrong;
    Written written{.text = {}, .where = {}, .is_overwritten = found->right != nullptr};
    written.where = Where{last.where.file, last.where.line, ptx::source_name(last.kernel), last.block, last.thread};
    written.text = found->right
                       ? fmt::format("y[{}] is right when {} writes it, and {} writes something else there after that",
                                     i, who(*found->right), who(last))
                       : fmt::format("y[{}] is written {}by {}", i, writes.size() == 1 ? "" : "last ", who(last));
    return written;
  }

  /// Where, what was printed, and how to run it again.
  void complete(Failure& failure, const std::string& printed, const Case& which) const {
    Cause& cause = failure.cause;
    cause.headline = headline_of(plan_, check_, device_, which);
    add_printed(cause, printed);
    cause.next = again_command(plan_, device_, which);
  }

  /// Elements of d_x, from one on.
  Buffer input(std::size_t begin, std::size_t count) const {
    const Buffer& x = memory_.x;
    return {x.address + begin * sizeof(T), count * sizeof(T)};
  }

  /// The first element of the input that is not what it was.
  std::optional<std::size_t> changed_input() const {
    constexpr std::size_t part = (std::size_t{1} << 20) / sizeof(T);  // fits into a cache
    std::vector<T> now(std::min(n_, part));
    for (std::size_t begin = 0; begin < n_; begin += part) {
      const std::size_t count = std::min(part, n_ - begin);
      device_.read(input(begin, count), now.data());
      if (std::memcmp(now.data(), &given_[begin], count * sizeof(T)) == 0) continue;
      for (std::size_t i = 0; i < count; ++i)
        if (std::memcmp(&now[i], &given_[begin + i], sizeof(T)) != 0) return begin + i;
    }
    return std::nullopt;
  }

  /// The input changed, or memory around the buffers did.
  std::optional<Failure> memory_failure() const {
    if (const std::optional<std::size_t> changed = changed_input()) {
      const std::size_t i = *changed;
      T now;
      device_.read(input(i, 1), &now);
      const std::string is = provenance_ ? provenance_->text(provenance_->name_of(now)) : text_of(now);
      return Failure{Verdict::fail,
                     {.id = "input.changed",
                      .rationale = "the input was changed: d_x is for reading only",
                      .expected = provenance_ ? fmt::format("x{}", i) : text_of(given_[i]),
                      .actual = fmt::format("x[{}] = {}", i, is),
                      .where = place_of(plan_, i)}};
    }
    const std::optional<std::string> damage = memory_.damage();
    if (!damage) return std::nullopt;
    return Failure{Verdict::fail,
                   {.id = "bounds.global",
                    .rationale = *damage,
                    .details = {"every thread must compare its index with n before it writes"}}};
  }

  std::unique_ptr<Task<T>> task_;
  std::size_t n_;
  CallMemory memory_;
  std::vector<T> given_;              ///< what stood in d_x before the call
  Provenance* provenance_ = nullptr;  ///< where elements are names,
  std::vector<ElementName> outputs_;  ///< and those of the output
  std::optional<std::size_t> watched_;
};

}  // namespace

Counting counting_for(std::string_view counter) {
  const bool is_of_additions =
      std::ranges::find(addition_counters, counter, &AdditionCounter::name) != std::end(addition_counters);
  return is_of_additions ? Counting::additions : Counting::work;
}

std::unique_ptr<Trial> make_trial(const Plan& plan, const CheckPlan& check, Device& device, std::size_t n) {
  if (check.element == ElementType::float_) return std::make_unique<TypedTrial<float>>(plan, check, device, n);
  return std::make_unique<TypedTrial<Affine>>(plan, check, device, n);
}

std::string headline_of(const Plan& plan, const CheckPlan& check, const Device& device, const Case& which) {
  return fmt::format("{} of {}, n = {}, seed {}{}{}", noun_of(check.operation),
                     check.element == ElementType::float_ ? "floats" : "affine maps", which.n, plan.seed,
                     !device.is_virtual()  ? std::string()
                     : which.trail.empty() ? fmt::format(", schedule {}", name_of(which.order))
                                           : std::string(", one execution of all"),
                     which.repeat == 0 ? std::string() : fmt::format(", call {}", which.repeat + 1));
}

std::string again_command(const Plan& plan, std::optional<std::size_t> n, const std::string& more) {
  if (plan.again.empty()) return {};
  return fmt::format("{}{} --seed {}{}", plan.again, n ? fmt::format(" --n {}", *n) : "", plan.seed, more);
}

std::string again_command(const Plan& plan, const Device& device, const Case& which) {
  const bool has_schedule = device.is_virtual();
  return again_command(plan, which.n, has_schedule ? fmt::format(" --schedule {}", name_of(which.order)) : "");
}

std::string again_command(const Plan& plan, const CheckPlan& check, const Case& which) {
  return again_command(plan, which.n, fmt::format(" --trail '{}:{}'", check.name, which.trail));
}

}  // namespace scanlab::grade
