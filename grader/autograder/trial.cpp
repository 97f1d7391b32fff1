#include "autograder/trial.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <type_traits>

#include "autograder/diagnosis.hpp"
#include "autograder/messages.hpp"
#include "autograder/oracle.hpp"

namespace scanlab::grade {

namespace {

constexpr std::size_t shown_lines = 10;

std::uint64_t data_seed(const Plan& plan, const CheckPlan& check, const Case& which) {
  std::uint64_t seed = mix(plan.seed, name_of(check.element));
  seed = mix(seed, entry_name(check.entry));
  seed = mix(seed, which.n);
  seed = mix(seed, vgpu::name_of(which.data_order));
  return mix(seed, which.repeat);
}

/// Integers and rounded floats in turn, for each size both when there are two repeats.
Family family_of(const Case& which) {
  return (which.n + which.repeat) % 2 == 0 ? Family::magnitudes : Family::integers;
}

std::string tolerance_text(const Reference<float>& reference, std::size_t i) {
  return reference.tolerance[i] == 0
             ? "the sum is exact in a float, in any order of additions"
             : fmt::format("any order of additions stays within {:.3g} of it", reference.tolerance[i]);
}
std::string tolerance_text(const Reference<Affine>&, std::size_t) {
  return {};
}

std::string elements(std::size_t n) {
  return n == 1 ? "1 element" : fmt::format("{} elements", n);
}

template <typename T>
class TypedTrial : public Trial {
 public:
  TypedTrial(const Plan& plan, const CheckPlan& check, Device& device, std::size_t n)
      : plan_(plan),
        check_(check),
        device_(device),
        n_(n),
        x_(device, n * sizeof(T), fmt::format("d_x, the input ({})", elements(n))),
        y_(device, n * sizeof(T), fmt::format("d_y, the output ({})", elements(n))) {}

  TrialResult run(Submission& submission, const Case& which, Counting counting, std::uint64_t hash) override {
    const std::uint64_t seed = data_seed(plan_, check_, which);
    const std::vector<T> x = make_input<T>(n_, plan_.section, family_of(which), seed);
    device_.write(x_, x.data());
    device_.fill(y_, unwritten_byte);

    const vgpu::Schedule schedule{which.order, mix(seed, "schedule")};
    CallReport report = submission.call(check_.entry, x_, y_, n_, schedule, counting);
    TrialResult result;
    result.counts = std::move(report.counts);
    result.output_hash = hash;
    if (report.failure) {
      result.failure = std::move(report.failure);
      if (!result.failure->cause.next.empty()) add_detail(*result.failure, result.failure->cause.next);
    } else {
      // Taken at once: whatever the submission does later is too late.
      std::vector<T> y(n_);
      device_.read(y_, y.data());
      result.output_hash = hash_bytes(hash, y.data(), n_ * sizeof(T));
      result.failure = memory_failure(x);
      if (!result.failure) {
        result.failure = output_failure(x, y, result.mistake);
        result.is_wrong_output = result.failure.has_value();
      }
    }
    if (result.failure) complete(*result.failure, submission, which);
    return result;
  }

 private:
  static void add_detail(Failure& failure, const std::string& line) {
    if (!line.empty()) failure.cause.details.push_back(line);
  }

  /// Where, what was printed, and how to run it again.
  void complete(Failure& failure, Submission& submission, const Case& which) const {
    Cause& cause = failure.cause;
    cause.headline = headline_of(plan_, check_, device_, which);
    if (const auto lines = first_lines(submission.output(), shown_lines); !lines.empty()) {
      cause.details.push_back("the program printed:");
      for (const std::string& line : lines) cause.details.push_back("  " + line);
    }
    cause.next = again_command(plan_, device_, which);
  }

  /// The input changed, or memory around the buffers did.
  std::optional<Failure> memory_failure(const std::vector<T>& x) const {
    std::vector<T> now(n_);
    device_.read(x_, now.data());
    for (std::size_t i = 0; i < n_; ++i) {
      if (std::memcmp(&now[i], &x[i], sizeof(T)) == 0) continue;
      Failure failure;
      failure.cause.rationale = "the input was changed: d_x is for reading only";
      failure.cause.actual = fmt::format("x[{}] = {}", i, text_of(now[i]));
      failure.cause.expected = text_of(x[i]);
      failure.cause.where = place_of(i);
      return failure;
    }
    for (const auto& [buffer, name] : {std::pair<const Buffer&, const char*>{x_, "d_x"}, {y_, "d_y"}}) {
      const std::optional<std::string> damage = device_.damaged_guard(buffer);
      if (!damage) continue;
      Failure failure;
      failure.cause.rationale = fmt::format("a write outside {}: {}", name, *damage);
      failure.cause.details.push_back("every thread must compare its index with n before it writes");
      return failure;
    }
    return std::nullopt;
  }

  /// Where rounding may differ (atomics add in another order each time), only whether an element is right counts.
  static std::uint64_t mistake_of(const std::vector<T>& y, const Reference<T>& reference) {
    std::uint64_t hash = hash_start;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool is_right = reference.accepts(i, y[i]);
      bool is_exact = true;
      if constexpr (std::is_same_v<T, float>) is_exact = reference.tolerance[i] == 0;
      hash = is_exact ? hash_bytes(hash, &y[i], sizeof(T)) : hash_bytes(hash, &is_right, sizeof(is_right));
    }
    return hash;
  }

  std::optional<Failure> output_failure(const std::vector<T>& x, const std::vector<T>& y,
                                        std::uint64_t& mistake) const {
    const Scan scan{check_.operation, plan_.section};
    const Reference<T> reference = reference_of<T>(x, scan);
    const Comparison comparison = compare<T>(y, reference);
    if (comparison.ok()) return std::nullopt;
    mistake = mistake_of(y, reference);

    const std::size_t first = comparison.first;
    Failure failure;
    Cause& cause = failure.cause;
    cause.actual = fmt::format("y[{}] = {}", first, text_of(y[first]));
    cause.expected = text_of(reference.value(first));
    cause.where = place_of(first);
    cause.rationale = recognise<T>({x, y, scan, &reference, comparison});
    cause.details.push_back(comparison.wrong == 1 ? fmt::format("1 of {} is wrong", elements(n_))
                                                  : fmt::format("{} of {} elements are wrong, the last is y[{}]",
                                                                comparison.wrong, n_, comparison.last));
    if (!is_unwritten(y[first])) add_detail(failure, tolerance_text(reference, first));
    return failure;
  }

  /// By sections, element i belongs to one thread of one block; of a whole array that is not known.
  std::optional<Where> place_of(std::size_t i) const {
    if (plan_.section == 0) return std::nullopt;
    Where where;
    where.file = plan_.source;
    where.block = {i / plan_.section, 0, 0};
    const std::size_t place = i % plan_.section;
    where.thread = {plan_.block_size == 0 ? place : place % plan_.block_size, 0, 0};
    return where;
  }

  const Plan& plan_;
  const CheckPlan& check_;
  Device& device_;
  std::size_t n_;
  OwnedBuffer x_, y_;
};

}  // namespace

std::uint64_t hash_bytes(std::uint64_t hash, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001B3u;
  return hash;
}

std::unique_ptr<Trial> make_trial(const Plan& plan, const CheckPlan& check, Device& device, std::size_t n) {
  if (check.element == ElementType::floats) return std::make_unique<TypedTrial<float>>(plan, check, device, n);
  return std::make_unique<TypedTrial<Affine>>(plan, check, device, n);
}

std::string headline_of(const Plan& plan, const CheckPlan& check, const Device& device, const Case& which) {
  return fmt::format("{} scan of {}, n = {}, seed {}{}{}", name_of(check.operation),
                     check.element == ElementType::floats ? "floats" : "affine maps", which.n, plan.seed,
                     device.is_virtual() ? fmt::format(", schedule {}", vgpu::name_of(which.order)) : std::string(),
                     which.repeat == 0 ? std::string() : fmt::format(", call {}", which.repeat + 1));
}

std::string again_command(const Plan& plan, const Device& device, const Case& which) {
  if (plan.again.empty()) return {};
  return fmt::format("{} --n {} --seed {}{}", plan.again, which.n, plan.seed,
                     device.is_virtual() ? fmt::format(" --schedule {}", vgpu::name_of(which.order)) : std::string());
}

}  // namespace scanlab::grade
