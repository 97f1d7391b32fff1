#include "autograder/scan/scan_task.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "autograder/check/inputs.hpp"
#include "autograder/hash.hpp"
#include "autograder/scan/scan_diagnosis.hpp"

namespace scanlab::grade {

namespace {

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

/// Where rounding may differ (atomics add in another order each time), only whether an element is right counts.
template <typename T>
std::uint64_t fingerprint_of(const std::vector<T>& y, const Reference<T>& reference) {
  std::uint64_t hash = hash_start;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool is_right = reference.accepts(i, y[i]);
    bool is_exact = true;
    if constexpr (std::is_same_v<T, float>) is_exact = reference.tolerance[i] == 0;
    hash = is_exact ? hash_bytes(hash, &y[i], sizeof(T)) : hash_bytes(hash, &is_right, sizeof(is_right));
  }
  return hash;
}

template <typename T>
class ScanTask : public Task<T> {
 public:
  ScanTask(const Plan& plan, Kind kind) : plan_(plan), scan_{kind, plan.section} {}

  std::vector<T> input(const Case& which, std::uint64_t seed) const override {
    return make_input<T>(which.n, scan_.section, family_of(which), seed);
  }

  std::size_t relevant(std::span<const T> x) const override { return x.size(); }

  std::optional<Mistake> mistake(std::span<const T> x, const Outputs<T>& outputs) const override {
    const std::vector<T>& y = outputs.y;
    const Reference<T> reference = reference_of<T>(x, scan_);
    const Comparison comparison = compare<T>(y, reference);
    if (comparison.ok()) return std::nullopt;

    const std::size_t first = comparison.first;
    Cause cause;
    cause.actual = fmt::format("y[{}] = {}", first, text_of(y[first]));
    cause.expected = text_of(reference.value(first));
    cause.where = place_of(plan_, first);
    Diagnosis diagnosis = recognise<T>({x, y, scan_, &reference, comparison});
    cause.id = std::move(diagnosis.id);
    cause.rationale = std::move(diagnosis.text);
    cause.details.push_back(wrong_text(comparison.wrong, x.size(), comparison.last));
    const std::string tolerance = is_unwritten(y[first]) ? std::string() : tolerance_text(reference, first);
    if (!tolerance.empty()) cause.details.push_back(tolerance);
    return Mistake{std::move(cause), fingerprint_of(y, reference)};
  }

 private:
  const Plan& plan_;
  Scan scan_;
};

}  // namespace

template <typename T>
std::unique_ptr<Task<T>> make_scan_task(const Plan& plan, Kind kind) {
  return std::make_unique<ScanTask<T>>(plan, kind);
}

template std::unique_ptr<Task<float>> make_scan_task(const Plan&, Kind);
template std::unique_ptr<Task<Affine>> make_scan_task(const Plan&, Kind);

}  // namespace scanlab::grade
