#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograder/check/output_rows.hpp"
#include "autograder/hash.hpp"
#include "autograder/partition/partition_diagnosis.hpp"
#include "autograder/partition/partition_inputs.hpp"
#include "autograder/scan/scan_oracle.hpp"

namespace scanlab::grade {

namespace {

template <typename T>
class PartitionTask : public Task<T> {
 public:
  explicit PartitionTask(Others others) : others_(others) {}

  std::vector<T> input(const Case& which, std::uint64_t seed) const override {
    return partition_input<T>(which.n, pattern_of(which), seed);
  }

  std::size_t relevant(std::span<const T> x) const override {
    if (others_ == Others::behind) return x.size();
    return static_cast<std::size_t>(std::count_if(x.begin(), x.end(), [](T element) { return is_kept(element); }));
  }

  std::optional<Mistake> mistake(std::span<const T> x, const Outputs<T>& outputs) const override {
    const Partition<T> right = partition_of(x, others_);
    const bool is_count_right = std::cmp_equal(outputs.kept, right.kept);
    const PartitionEvidence<T> evidence{x, outputs.y, outputs.kept, others_, right};
    Cause cause;
    const std::size_t first = first_wrong(evidence);
    if (first < right.y.size()) {
      cause = elements_cause(evidence, first);
      cause.outputs = output_rows(x, right.y.size(), first, [&](OutputRow& row) {
        row.y = is_unwritten(outputs.y[row.i]) ? "unwritten" : text_of(outputs.y[row.i]);
        row.expected = text_of(right.y[row.i]);
        row.is_wrong = !(outputs.y[row.i] == right.y[row.i]);
      });
      if (!is_count_right) {
        cause.details.push_back(fmt::format("*d_kept = {}, expected {}", text_of_count(outputs.kept), right.kept));
      }
    } else if (!is_count_right) {
      Diagnosis diagnosis = recognise_count(evidence);
      cause = {.id = std::move(diagnosis.id),
               .rationale = std::move(diagnosis.text),
               .expected = fmt::to_string(right.kept),
               .actual = fmt::format("*d_kept = {}", text_of_count(outputs.kept)),
               .details = {"the elements of d_y are right"}};
    } else {
      return std::nullopt;
    }
    cause.details.push_back(
        fmt::format("of {}, {} {} to be kept", elements_text(x.size()), right.kept, right.kept == 1 ? "is" : "are"));
    const std::uint64_t of_elements = hash_bytes(hash_start, outputs.y.data(), right.y.size() * sizeof(T));
    return Mistake{std::move(cause), hash_bytes(of_elements, &outputs.kept, sizeof outputs.kept),
                   first < right.y.size() ? std::optional(first) : std::nullopt};
  }

  bool accepts(std::span<const T> x, std::size_t i, T value) const override {
    return partition_of(x, others_).y[i] == value;
  }

 private:
  static Cause elements_cause(const PartitionEvidence<T>& e, std::size_t first) {
    Comparison found;
    for (std::size_t i = first; i < e.right.y.size(); ++i)
      if (!(e.y[i] == e.right.y[i])) found.add(i);
    Diagnosis diagnosis = recognise_partition(e);
    return {.id = std::move(diagnosis.id),
            .rationale = std::move(diagnosis.text),
            .expected = text_of(e.right.y[first]),
            .actual = fmt::format("y[{}] = {}", first, text_of(e.y[first])),
            .details = {wrong_text(found.wrong, e.right.y.size(), found.last)}};
  }

  Others others_;
};

}  // namespace

template <typename T>
std::unique_ptr<Task<T>> make_partition_task(const CheckPlan& check) {
  return std::make_unique<PartitionTask<T>>(check.operation == Operation::split ? Others::behind : Others::dropped);
}

template std::unique_ptr<Task<float>> make_partition_task(const CheckPlan&);
template std::unique_ptr<Task<Affine>> make_partition_task(const CheckPlan&);

}  // namespace scanlab::grade
