#include "autograder/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

namespace scanlab::grade {

namespace {

constexpr std::size_t warp = 32;
constexpr std::size_t usual_section = 1024;
/// Beyond this many elements some patterns take too long to try.
constexpr std::size_t most_elements = 1u << 14;

bool is_nan(float value) {
  return std::isnan(value);
}
bool is_nan(Affine) {
  return false;
}

/// True when `y` is what summing these ranges would have given.
template <typename T>
bool equals_sums(const Evidence<T>& e, std::span<const Range> ranges, Operands operands = Operands::in_order) {
  return compare(e.y, sums_of(e.x, ranges, operands)).ok();
}

template <typename T>
bool equals_scan(const Evidence<T>& e, Scan scan) {
  return equals_sums(e, ranges_of(scan, e.x.size()));
}

/// Elements that still hold what the judge wrote there.
template <typename T>
std::optional<std::string> recognise_unwritten(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const auto unwritten =
      static_cast<std::size_t>(std::count_if(e.y.begin(), e.y.end(), [](T value) { return is_unwritten(value); }));
  const std::size_t first = e.comparison.first;
  if (unwritten == n) return "nothing is ever written to d_y: is a TODO still open, or is no kernel launched?";
  if (unwritten == 0 || unwritten != e.comparison.wrong) return std::nullopt;
  if (first + unwritten != n) {
    return fmt::format("{} of the {} elements of d_y are never written", unwritten, n);
  }
  const std::size_t section = e.scan.section;
  if (section != 0 && n % section != 0 && first == n - n % section) {
    return "the last, partial section is never written: is the number of blocks rounded up?";
  }
  if (section != 0 && first == section) return "only the first section is written: is there one block a section?";
  if (unwritten == 1) return "the last element of d_y is never written";
  return fmt::format("d_y is never written from element {} on", first);
}

/// Whole outputs that one mistake explains.
template <typename T>
std::optional<std::string> recognise_other_scan(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const Scan scan = e.scan;
  const bool inclusive = scan.operation == Operation::inclusive;

  if (equals_sums(e, ranges_of({inclusive ? Operation::exclusive : Operation::inclusive, scan.section}, n))) {
    return inclusive
               ? "this is the exclusive scan: here y[i] must include x[i]"
               : "this is the inclusive scan: here y[i] must end before x[i], and the first element is identity()";
  }
  std::vector<Range> ranges(n);
  for (std::size_t i = 0; i < n; ++i) ranges[i] = {i, i + 1};
  if (equals_sums(e, ranges)) return "the output equals the input: nothing has been added";
  for (std::size_t i = 0; i < n; ++i) ranges[i] = {i, i};
  if (equals_sums(e, ranges)) return "every element is identity(): nothing has been read from d_x, or nothing added";

  if (scan.section != 0 && equals_scan(e, {scan.operation, 0})) {
    return fmt::format(
        "the sum goes on from one section into the next: each section of {} elements is a scan of its own",
        scan.section);
  }
  if (scan.section == 0 && n > usual_section && equals_scan(e, {scan.operation, usual_section})) {
    return fmt::format(
        "each section of {} elements is scanned on its own: the sums of the sections before it are missing",
        usual_section);
  }
  if (!std::is_same_v<T, float> && equals_sums(e, ranges_of(scan, n), Operands::swapped)) {
    return "the operands are swapped: write earlier + later, with the element from further left on the left";
  }
  if (equals_scan(e, {scan.operation, warp})) {
    return "each warp has scanned its own 32 elements: the sums of the warps before it are missing";
  }
  return std::nullopt;
}

/// Mistakes in the bounds of the sums.
template <typename T>
std::optional<std::string> recognise_bounds(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const std::vector<Range> right = ranges_of(e.scan, n);
  if (n > most_elements) return std::nullopt;

  std::vector<Range> ranges = right;
  if (e.scan.section != 0 && e.scan.operation == Operation::exclusive && n > e.scan.section) {
    for (Range& range : ranges) range.begin -= range.begin > 0 ? 1 : 0;
    if (equals_sums(e, ranges)) {
      return "each section but the first also counts the element before it: a section's first element is identity()";
    }
  }
  const std::size_t longest = std::min(n, e.scan.section == 0 ? usual_section : e.scan.section);
  for (std::size_t window = 2; window < longest; window *= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      ranges[i] = right[i];
      if (ranges[i].end - ranges[i].begin > window) ranges[i].begin = ranges[i].end - window;
    }
    if (equals_sums(e, ranges)) {
      return fmt::format(
          "each element is the sum of at most {0} elements: the steps with a stride of {0} and more are "
          "missing",
          window);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t end = e.scan.section == 0 ? n : std::min(n, right[i].begin + e.scan.section);
    ranges[i] = {e.scan.operation == Operation::inclusive ? i : i + 1, end};
  }
  if (equals_sums(e, ranges)) return "the scan runs from right to left";
  return std::nullopt;
}

/// What can be said from the places of the wrong elements alone.
template <typename T>
std::string recognise_places(const Evidence<T>& e) {
  const std::size_t n = e.y.size(), first = e.comparison.first, section = e.scan.section;
  const std::size_t step = section == 0 ? n : section;
  bool only_firsts = true, only_lasts = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (e.reference->accepts(i, e.y[i])) continue;
    only_firsts = only_firsts && i % step == 0;
    only_lasts = only_lasts && (i % step == step - 1 || i == n - 1);
  }
  if (only_firsts && (n > 1 || e.scan.operation == Operation::exclusive)) {
    return e.scan.operation == Operation::exclusive
               ? "only the first element of a section is wrong: it must be identity()"
               : "only the first element of a section is wrong: it is x itself";
  }
  const std::size_t in_section = section == 0 ? first : first % section;
  if (first == in_section && first >= warp && first % warp == 0) {
    return fmt::format(
        "the first {} elements, those of {}, are right: the warps do not see each other's sums as they "
        "should",
        first, first == warp ? "warp 0" : fmt::format("warps 0 to {}", first / warp - 1));
  }
  if (only_lasts && n > 1) {
    return section == 0 ? "only the last element is wrong" : "only the last element of a section is wrong";
  }
  if (section != 0 && n % section != 0 && n > section && first >= n - n % section) {
    return "only the last, partial section is wrong: what do threads beyond the last element load, and do all threads "
           "reach each barrier?";
  }
  if (section != 0 && first >= section) {
    return first % section == 0 && first == section
               ? "the first section is right, the next is not: do blocks share something, or index as if they were "
                 "block 0?"
               : fmt::format("section {} is the first wrong one; all sections before it are right", first / section);
  }
  if (first > 0) return fmt::format("the elements before y[{}] are right", first);
  return e.comparison.wrong == n ? "no element is right" : "already y[0] is wrong";
}

}  // namespace

template <typename T>
std::string recognise(const Evidence<T>& e) {
  if (const auto text = recognise_unwritten(e)) return *text;
  const std::size_t first = e.comparison.first;
  if (is_nan(e.y[first]) && !is_unwritten(e.y[first])) {
    return fmt::format(
        "y[{}] is not a number, and no input is: it was computed from an element of d_y, or of other "
        "memory, that had not been written yet",
        first);
  }
  if (const auto text = recognise_other_scan(e)) return *text;
  if (const auto text = recognise_bounds(e)) return *text;
  return recognise_places(e);
}

template std::string recognise(const Evidence<float>&);
template std::string recognise(const Evidence<Affine>&);

}  // namespace scanlab::grade
