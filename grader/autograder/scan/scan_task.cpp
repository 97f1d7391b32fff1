#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "autograder/check/inputs.hpp"
#include "autograder/check/output_rows.hpp"
#include "autograder/check/task.hpp"
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
    if (!outputs.provenance && is_scan_of(x, scan_, std::span<const T>(y))) return std::nullopt;
    const Reference<T> reference = reference_of<T>(x, scan_);
    const Comparison comparison = outputs.provenance ? compare_sums(outputs) : compare<T>(y, reference);
    if (comparison.ok()) return std::nullopt;

    const std::size_t first = comparison.first;
    Diagnosis diagnosis = recognise<T>({x, y, scan_, &reference, comparison, places_of_a_thread()});
    Cause cause{.id = std::move(diagnosis.id),
                .rationale = std::move(diagnosis.text),
                .expected = text_of(reference.value(first)),
                .actual = fmt::format("y[{}] = {}", first, text_of(y[first])),
                .where = place_of(plan_, first),
                .details = {wrong_text(comparison.wrong, x.size(), comparison.last)},
                .fact = std::move(diagnosis.fact)};
    const std::string tolerance = is_unwritten(y[first]) ? std::string() : tolerance_text(reference, first);
    if (!tolerance.empty()) cause.details.push_back(tolerance);
    if (outputs.provenance) explain_by_sums(cause, outputs, first);
    cause.outputs = output_rows(x, y.size(), first, [&](OutputRow& row) { fill(row, outputs, reference); });
    return Mistake{std::move(cause), fingerprint_of(y, reference), first};
  }

  bool accepts(std::span<const T> x, std::size_t i, T value) const override {
    return reference_of<T>(x, scan_).accepts(i, value);
  }

 private:
  /// Of maps that are names, what they are the sums of says more than their values.
  void fill(OutputRow& row, const Outputs<T>& outputs, const Reference<T>& reference) const {
    const std::size_t i = row.i;
    if (outputs.provenance) {
      const std::optional<ElementRange>& is = outputs.intervals[i];
      row.sum = outputs.provenance->text(outputs.names[i]);
      row.expected_sum = Provenance::text(interval(i));
      row.is_wrong = !is_right(is, interval(i));
      if (std::is_same_v<T, Affine>) return row.x.clear();
    } else {
      row.is_wrong = !reference.accepts(i, outputs.y[i]);
    }
    row.y = is_unwritten(outputs.y[i]) ? "unwritten" : text_of(outputs.y[i]);
    row.expected = text_of(reference.value(i));
  }

  static bool is_right(const std::optional<ElementRange>& is, ElementRange expected) {
    return is && (*is == expected || (is->first == is->last && expected.first == expected.last));
  }

  std::size_t places_of_a_thread() const {
    if (plan_.section == 0) return 0;
    return plan_.block_size == 0 ? 1 : plan_.section / plan_.block_size;
  }

  /// The elements that output i has to be the sum of.
  ElementRange interval(std::size_t i) const {
    const Range range = range_of(scan_, i);
    return {static_cast<std::uint32_t>(range.begin), static_cast<std::uint32_t>(range.end)};
  }

  Comparison compare_sums(const Outputs<T>& outputs) const {
    Comparison comparison;
    for (std::size_t i = 0; i < outputs.names.size(); ++i) {
      if (!is_right(outputs.intervals[i], interval(i))) comparison.add(i);
    }
    return comparison;
  }

  /// What is seen of the sums is more than what may be concluded from values.
  void explain_by_sums(Cause& cause, const Outputs<T>& outputs, std::size_t first) const {
    const ElementName name = outputs.names[first];
    cause.actual = fmt::format("y[{}] = {}", first, outputs.provenance->text(name));
    cause.expected = Provenance::text(interval(first));
    if (is_unwritten(outputs.y[first])) return;
    const SumMistake mistake = outputs.provenance->explain(name, interval(first), fmt::format("y[{}]", first));
    if (cause.id == "wrong.other")
      replace_explanation(cause, cause.id, mistake.text);
    else if (!cause.fact.empty() && outputs.provenance->graph())
      cause.rationale = fmt::format("{}: {}", std::exchange(cause.fact, {}), mistake.text);
    else if (mistake.is_order && cause.id != "wrong.operand_order")
      cause.rationale = mistake.text;  // no element is missing, whatever the values look like
    else
      cause.of_sums.push_back(mistake.text);
    if (mistake.is_order) cause.id = "wrong.operand_order";
    const bool is_lost = explain_by_lost_sum(cause, *outputs.provenance, first);
    if (!is_lost) add_first_wrong_addition(cause, mistake);
    cause.details.insert(cause.details.end(), cause.of_sums.begin(), cause.of_sums.end());
  }

  static void add_first_wrong_addition(Cause& cause, const SumMistake& mistake) {
    if (!mistake.where || mistake.where->line == 0) return;
    Where& where = cause.where ? *cause.where : cause.where.emplace();
    where.file = mistake.where->file;
    where.line = mistake.where->line;
    cause.of_sums.push_back(fmt::format("{}:{} {}{}{}", where.file, where.line, first_wrong_addition,
                                        mistake.added.empty() ? "" : ": ", mistake.added));
  }

  /// Where the right sum was made, it is the way from there to the output that is wrong.
  bool explain_by_lost_sum(Cause& cause, const Provenance& provenance, std::size_t first) const {
    const ElementRange expected = interval(first);
    if (expected.last - expected.first < 2 ||
        std::ranges::find(lost_sums_look_like, cause.id) == lost_sums_look_like.end())
      return false;
    // Another thread's is a part of what it adds up for itself.
    const std::optional<Where> own = place_of(plan_, first);
    if (!own || !own->thread || !own->block || plan_.block_size != 0) return false;
    const std::optional<vgpu::SourcePlace> made = provenance.made(expected, (*own->block)[0], (*own->thread)[0]);
    if (!made || made->line == 0) return false;
    cause.id = sum_not_stored;
    cause.rationale = fmt::format(
        "thread {} makes the right sum in {}:{}, but y[{}] gets something else: does each thread write its element "
        "back "
        "in every step, are buffers swapped, and is the result taken from the right one, not from the other buffer?",
        (*own->thread)[0], made->file, made->line, first);
    Where& where = cause.where ? *cause.where : cause.where.emplace();
    where.file = made->file;
    where.line = made->line;
    return true;
  }

  const Plan& plan_;
  Scan scan_;
};

}  // namespace

template <typename T>
std::unique_ptr<Task<T>> make_scan_task(const Plan& plan, const CheckPlan& check) {
  return std::make_unique<ScanTask<T>>(plan,
                                       check.operation == Operation::inclusive ? Kind::inclusive : Kind::exclusive);
}

template std::unique_ptr<Task<float>> make_scan_task(const Plan&, const CheckPlan&);
template std::unique_ptr<Task<Affine>> make_scan_task(const Plan&, const CheckPlan&);

}  // namespace scanlab::grade
