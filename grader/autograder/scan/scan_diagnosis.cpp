#include "autograder/scan/scan_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "autograder/scan/method_diagnosis.hpp"

namespace scanlab::grade {

namespace {

constexpr std::size_t warp = 32;
constexpr std::size_t usual_section = 1024;
/// Beyond this many elements some patterns take too long to try.
constexpr std::size_t most_elements = 1u << 14;

/// True when `y` is what summing these ranges would have given. Most guesses do not fit the first wrong element.
template <typename T>
bool equals_sums(const Evidence<T>& e, std::span<const Range> ranges, Operands operands = Operands::in_order) {
  const std::size_t first = e.comparison.first;
  return are_sums_of(e.x, ranges.subspan(first, 1), e.y.subspan(first, 1), operands) &&
         are_sums_of(e.x, ranges, e.y, operands);
}

template <typename T>
bool equals_scan(const Evidence<T>& e, Scan scan) {
  return equals_sums(e, ranges_of(scan, e.x.size()));
}

/// Elements that still hold what the judge wrote there.
template <typename T>
std::optional<Diagnosis> recognise_unwritten(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const auto unwritten =
      static_cast<std::size_t>(std::count_if(e.y.begin(), e.y.end(), [](T value) { return is_unwritten(value); }));
  const std::size_t first = e.comparison.first;
  if (unwritten == n)
    return diagnosis("wrong.unwritten",
                     "nothing is ever written to d_y: is a TODO still open, is no kernel launched, or do its threads "
                     "return before they write?");
  if (unwritten == 0 || unwritten != e.comparison.wrong) return std::nullopt;
  if (first + unwritten != n) {
    if (unwritten == 1) return diagnosis("wrong.unwritten", "y[{}] is never written, all others are", first);
    return diagnosis("wrong.unwritten", "{} of the {} elements of d_y are never written, y[{}] is the first", unwritten,
                     n, first);
  }
  const std::size_t section = e.scan.section == 0 ? usual_section : e.scan.section;
  if (n > section && n % section != 0 && first == n - n % section) {
    return diagnosis(
        "wrong.last_section",
        "the last, partial section is never written: is the number of blocks rounded up, and does each block write "
        "its own section of d_y?");
  }
  if (first == section)
    return diagnosis("wrong.unwritten",
                     "only the first section is written: is there one block a section, and does each write its own?");
  if (unwritten == 1) return diagnosis("wrong.unwritten", "the last element of d_y, y[{}], is never written", first);
  return diagnosis("wrong.unwritten", "d_y is never written from element {} on", first);
}

/// Whole outputs that one mistake explains.
template <typename T>
std::optional<Diagnosis> recognise_other_scan(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const Scan scan = e.scan;
  const bool inclusive = scan.kind == Kind::inclusive;

  if (equals_sums(e, ranges_of({inclusive ? Kind::exclusive : Kind::inclusive, scan.section}, n))) {
    return Diagnosis{
        "wrong.inclusive_exclusive",
        inclusive ? "this is the exclusive scan: here y[i] must include x[i]"
                  : "this is the inclusive scan: here y[i] must end before x[i], and the first element is identity()"};
  }
  std::vector<Range> ranges = ranges_of({Kind::inclusive, scan.section}, n);
  if (!inclusive) {
    for (Range& range : ranges)
      if (range.end - range.begin == 1) range.end = range.begin;
    if (equals_sums(e, ranges)) {
      return diagnosis("wrong.inclusive_exclusive",
                       "but for its first element this is the inclusive scan: here y[i] must end before x[i]");
    }
    for (Range& range : ranges) range.begin += range.end > range.begin;
    if (equals_sums(e, ranges)) {
      return diagnosis("wrong.inclusive_exclusive",
                       "x[i] is added before y[i] is written, as in an inclusive scan: here y[i] must end before x[i]; "
                       "read x[i - shift<kind>]");
    }
  }
  for (std::size_t i = 0; i < n; ++i) ranges[i] = {i, i + 1};
  if (equals_sums(e, ranges))
    return diagnosis("wrong.nothing_added", "the output equals the input: nothing has been added{}",
                     e.places == 1 ? ", or the sums are lost: is each written back, and are buffers swapped?" : "");
  for (std::size_t i = 0; i < n; ++i) ranges[i] = {i, i};
  if (equals_sums(e, ranges))
    return diagnosis("wrong.nothing_added",
                     "every element is identity(): nothing has been read from d_x, or nothing added");

  if (scan.section != 0 && equals_scan(e, {scan.kind, 0})) {
    return diagnosis("wrong.sections",
                     "the sum goes on from one section into the next: each section of {} elements is a scan of its own",
                     scan.section);
  }
  if (scan.section == 0 && n > usual_section && equals_scan(e, {scan.kind, usual_section})) {
    return diagnosis(
        "wrong.block_sums",
        "each section of {} elements is scanned on its own: the sums of the sections before it are missing",
        usual_section);
  }
  if (!std::is_same_v<T, float> && equals_sums(e, ranges_of(scan, n), Operands::swapped)) {
    return diagnosis("wrong.operand_order",
                     "the operands are swapped: write earlier + later, with the element from further left on the left");
  }
  if (equals_scan(e, {scan.kind, warp})) {
    return diagnosis("wrong.warp_sums",
                     "each 32 elements, one for each lane of a warp, are scanned on their own: the sums of those "
                     "before are missing");
  }
  return std::nullopt;
}

/// Mistakes in how a sum begins, and in which element is added when.
template <typename T>
std::optional<Diagnosis> recognise_begin(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const bool inclusive = e.scan.kind == Kind::inclusive;
  const auto first_of = [&](std::size_t i) { return range_of(e.scan, i).begin; };
  const auto right = [&](std::size_t i) { return e.reference->value(i); };
  std::vector<Range> ranges = ranges_of(e.scan, n);
  if (inclusive) {
    for (Range& range : ranges) ++range.begin;
    if (equals_sums(e, ranges))
      return diagnosis("wrong.first_missing", "x[0] is missing in every sum: begin with it, not with identity()");
    if (equals_candidate(e, [&](std::size_t i) { return combine(e.x[first_of(i)], right(i)); }))
      return diagnosis(
          "wrong.first_twice",
          "x[0] is added twice: once where the sum begins, and again in the loop, which should begin one later");
    const auto is_first = [&](std::size_t i) { return i == first_of(i); };
    if (e.places > 0) return std::nullopt;  // what follows are mistakes with one running sum
    if (equals_candidate(e, [&](std::size_t i) { return is_first(i) ? e.x[i] : right(i - 1); }))
      return diagnosis("wrong.inclusive_exclusive",
                       "y[i] is written before x[i] is added, as in an exclusive scan: here y[i] must include x[i]");
    if (equals_candidate(e,
                         [&](std::size_t i) { return is_first(i) ? e.x[i] : combine(e.x[first_of(i)], right(i - 1)); }))
      return diagnosis("wrong.inclusive_exclusive",
                       "x[i - 1] is added where x[i] is meant, so that x[0] counts twice: here y[i] must include x[i]");
    if (n > 2 &&
        equals_candidate(e, [&](std::size_t i) { return is_first(i) ? e.x[i] : combine(e.x[first_of(i)], e.x[i]); }))
      return diagnosis(
          "wrong.steps_missing",
          "y[i] is x[0] + x[i]: what is added is not kept in the running sum, so that x[1] to x[i - 1] are "
          "missing");
  } else {
    if (equals_candidate(e, [&](std::size_t i) { return combine(e.x[first_of(i)], right(i)); }))
      return diagnosis("wrong.identity",
                       "each sum begins with x[0]: that of an exclusive scan must be identity() at first");
  }
  return std::nullopt;
}

/// Right results in the wrong places.
template <typename T>
std::optional<Diagnosis> recognise_shifted(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const bool inclusive = e.scan.kind == Kind::inclusive;
  const auto first_of = [&](std::size_t i) { return range_of(e.scan, i).begin; };
  const auto right = [&](std::size_t i) { return e.reference->value(i); };
  const auto is_last = [&](std::size_t i) { return i + 1 == n || first_of(i + 1) != first_of(i); };
  if (n > 2 && equals_candidate(e, [&](std::size_t i) { return is_last(i) ? e.y[i] : right(i + 1); }))
    return diagnosis("wrong.places",
                     "each result stands one place too far left: y[i] is what y[i + 1] has to be; look at the index "
                     "with which d_y is written");
  if (n > 2 && equals_candidate(e, [&](std::size_t i) { return i == first_of(i) ? identity<T>() : right(i - 1); }))
    return diagnosis("wrong.places", "each result stands one place too far right{}: y[i] is what y[i - 1] has to be",
                     inclusive ? "" : ", as if shift<kind> were taken into account twice");
  return std::nullopt;
}

/// Mistakes in what a hierarchical scan adds to its sections. An exclusive scan is looked at as the inclusive one of
/// the input moved by one.
template <typename T>
std::optional<Diagnosis> recognise_offsets(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  if (e.scan.section != 0 || n <= usual_section) return std::nullopt;
  std::vector<T> x(e.x.begin(), e.x.end());
  if (e.scan.kind == Kind::exclusive) {
    x.insert(x.begin(), identity<T>());
    x.pop_back();
  }
  const Reference<T> own = reference_of<T>(x, {Kind::inclusive, usual_section});
  const Reference<T> all = reference_of<T>(x, {Kind::inclusive, 0});
  const auto before = [&](std::size_t i) {  // the sum of all sections before that of element i
    const std::size_t first = i - i % usual_section;
    return first == 0 ? identity<T>() : all.value(first - 1);
  };
  const auto through = [&](std::size_t i) {  // … and of its own
    return all.value(std::min(n, i - i % usual_section + usual_section) - 1);
  };
  if (equals_candidate(e, [&](std::size_t i) { return own.value(i); })) {
    return diagnosis(
        "wrong.block_sums",
        "each section is scanned on its own, from the element before it on: the sums of the sections before it are "
        "missing. If sums are added: they have to be scanned inclusively, whatever the kind of the scan");
  }
  std::vector<Range> ranges(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t sums = i / usual_section;  // that many stand before, and the last of them is added
    ranges[i] = {sums == 0 ? 0 : (sums - 1) / usual_section * usual_section * usual_section, i + 1};
  }
  if (n > usual_section * usual_section && equals_sums(e, ranges)) {
    return diagnosis(
        "wrong.block_sums",
        "there are more sums of sections than the {} that one section holds, and these were scanned section by "
        "section: that scan needs sums of its own and an addition, as that of the whole array does",
        usual_section);
  }
  const auto previous = [&](std::size_t i) {
    return i < usual_section ? identity<T>() : own.value(i - i % usual_section - 1);
  };
  if (equals_candidate(e, [&](std::size_t i) { return combine(previous(i), own.value(i)); })) {
    return diagnosis(
        "wrong.block_sums",
        "only the sum of the one section before it is added to a section, not of all: scan the sums before "
        "they are added, or add each to all later sections");
  }
  const auto all_but_previous = [&](std::size_t i) {
    return i < usual_section ? identity<T>() : before(i - usual_section);
  };
  if (equals_candidate(e, [&](std::size_t i) { return combine(all_but_previous(i), own.value(i)); })) {
    return diagnosis(
        "wrong.block_sums",
        "each section lacks the sum of the section just before it: section b needs the sum of sections 0 to b - 1, "
        "which is element b - 1 of the sums' inclusive scan and element b of their exclusive one");
  }
  if (equals_candidate(e, [&](std::size_t i) { return combine(own.value(i), before(i)); })) {
    return diagnosis("wrong.operand_order",
                     "the operands of the last addition are swapped: the sum of the sections before comes earlier, so "
                     "it stands on the left of the +");
  }
  const auto too_much = [&](std::size_t i) { return combine(through(i), own.value(i)); };
  if (equals_candidate(e, too_much) ||
      equals_candidate(e, [&](std::size_t i) { return i < usual_section ? own.value(i) : too_much(i); })) {
    return diagnosis("wrong.block_sums",
                     "a section's own sum is added to it too: section b needs the sum of sections 0 to b - 1, which is "
                     "element b - 1 of the sums' inclusive scan");
  }
  const std::size_t first = e.comparison.first, reached = first % usual_section;
  const auto too_few = [&](std::size_t i) {
    return i % usual_section < reached ? combine(before(i), own.value(i)) : own.value(i);
  };
  if (first > usual_section && reached != 0 && equals_candidate(e, too_few)) {
    return diagnosis("wrong.block_sums",
                     "only the first {} of a section {} the sum of the sections before it: each of its {} "
                     "elements needs it, from a thread of its own or from a loop",
                     reached == 1 ? "element" : fmt::format("{} elements", reached), reached == 1 ? "gets" : "get",
                     usual_section);
  }
  const std::size_t later = (n - 1) / usual_section;  // sections behind the first one
  const std::size_t left_out = e.comparison.wrong % later == 0 ? e.comparison.wrong / later : 0;
  const auto too_late = [&](std::size_t i) {
    return i % usual_section < left_out ? own.value(i) : combine(before(i), own.value(i));
  };
  if (first % usual_section == 0 && left_out > 0 && usual_section + left_out < n && equals_candidate(e, too_late)) {
    return diagnosis("wrong.block_sums",
                     "the first {} of a section {} not get the sum of the sections before it, and all others do: is "
                     "thread 0 left out? What is before the section has to be added to the elements of all threads",
                     left_out == 1 ? "element" : fmt::format("{} elements", left_out), left_out == 1 ? "does" : "do");
  }
  if (e.scan.kind == Kind::exclusive) {
    for (std::size_t first = usual_section; first < n; first += usual_section) x[first] = identity<T>();
    const Reference<T> shortened = reference_of<T>(x, {Kind::inclusive, 0});
    if (equals_candidate(e, [&](std::size_t i) { return shortened.value(i); })) {
      return diagnosis("wrong.block_sums",
                       "the last element of each section is missing in all sections after it: the last result of a "
                       "section's exclusive scan is not the sum of the whole section");
    }
  }
  return std::nullopt;
}

/// Mistakes in the steps of a scan whose strides double.
template <typename T>
std::optional<Diagnosis> recognise_steps(const Evidence<T>& e) {
  constexpr std::size_t most = 1500;  // each element is summed up again
  const std::size_t n = e.y.size(), section = e.scan.section == 0 ? n : e.scan.section;
  if (n > most || e.places > 1) return std::nullopt;
  const bool inclusive = e.scan.kind == Kind::inclusive;
  const auto term = [&](std::size_t i) {  // an exclusive scan adds up the elements one place further right
    return inclusive ? e.x[i] : i % section == 0 ? identity<T>() : e.x[i - 1];
  };
  for (std::size_t stride = 1; stride < std::min(n, section); stride *= 2) {
    const auto without_it = [&](std::size_t i) {
      T sum = identity<T>();
      for (std::size_t distance = i % section + 1; distance-- > 0;)
        if ((distance & stride) == 0) sum = combine(sum, term(i - distance));
      return sum;
    };
    if (equals_candidate(e, without_it)) {
      return diagnosis("wrong.steps_missing", "the step with a stride of {} is missing", stride);
    }
  }
  const auto without_first = [&](std::size_t i) {
    T sum = i % section == 0 ? term(i) : identity<T>();
    for (std::size_t k = i - i % section + 1; k <= i; ++k) sum = combine(sum, term(k));
    return sum;
  };
  if (equals_candidate(e, without_first)) {
    return diagnosis(
        "wrong.first_missing",
        "the first element is missing in all sums but its own: each sum has to begin with it; where it is "
        "made in steps, the thread whose index is s has an earlier element in the step with stride s, too");
  }
  return std::nullopt;
}

/// Mistakes in the bounds of the sums.
template <typename T>
std::optional<Diagnosis> recognise_bounds(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  const std::vector<Range> right = ranges_of(e.scan, n);
  if (n > most_elements) return std::nullopt;

  std::vector<Range> ranges = right;
  if (e.scan.section != 0 && e.scan.kind == Kind::exclusive && n > e.scan.section) {
    for (Range& range : ranges) range.begin -= range.begin > 0 ? 1 : 0;
    if (equals_sums(e, ranges)) {
      return diagnosis(
          "wrong.identity",
          "each section but the first also counts the element before it: a section's first element is identity()");
    }
  }
  const std::size_t longest = std::min(n, e.scan.section == 0 ? usual_section : e.scan.section);
  for (std::size_t window = 2; window < longest; window *= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      ranges[i] = right[i];
      if (ranges[i].end - ranges[i].begin > window) ranges[i].begin = ranges[i].end - window;
    }
    if (equals_sums(e, ranges)) {
      if (e.places != 1)
        return diagnosis("wrong.steps_missing",
                         "each element is the sum of at most {} elements: what lies further left is missing", window);
      const std::size_t longest = e.scan.section == 0 ? n : std::min(n, e.scan.section);
      return diagnosis("wrong.steps_missing", "each element is the sum of at most {0} elements: the step{1} missing",
                       window,
                       2 * window >= longest ? fmt::format(" with a stride of {} is", window)
                                             : fmt::format("s with a stride of {} and more are", window));
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t end = e.scan.section == 0 ? n : std::min(n, right[i].begin + e.scan.section);
    ranges[i] = {e.scan.kind == Kind::inclusive ? i : i + 1, end};
  }
  if (equals_sums(e, ranges)) return diagnosis("wrong.direction", "the scan runs from right to left");
  return std::nullopt;
}

/// What can be said from the places of the wrong elements alone.
template <typename T>
Diagnosis recognise_places(const Evidence<T>& e) {
  const std::size_t n = e.y.size(), first = e.comparison.first, section = e.scan.section;
  const std::size_t step = section == 0 ? n : section;
  bool only_firsts = true, only_lasts = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (e.reference->accepts(i, e.y[i])) continue;
    only_firsts = only_firsts && i % step == 0;
    only_lasts = only_lasts && (i % step == step - 1 || i == n - 1);
  }
  if (only_firsts && (n > 1 || e.scan.kind == Kind::exclusive)) {
    if (e.scan.kind == Kind::exclusive)
      return diagnosis("wrong.identity", "only the first element of a section is wrong: it must be identity()");
    return diagnosis("wrong.first_element", "only the first element of a section is wrong: it is x itself");
  }
  if (section == 0 && first >= usual_section && first % warp == 0) {  // tiles may have any size
    return guess(
        "wrong.block_sums",
        fmt::format("the first {} elements{} are right", first,
                    first % usual_section == 0 ? fmt::format(" ({} * {})", first / usual_section, usual_section) : ""),
        "from there on the wrong sum of the elements before is added, or none, or blocks share something, or "
        "index as if they were another");
  }
  const std::size_t in_section = section == 0 ? first : first % section;
  if (section == 0 && first >= warp && first % warp == 0) {  // what belongs to which warp is up to the learner
    return guess("wrong.warp_sums",
                 fmt::format("the first {} elements are right, {} a warp has lanes", first,
                             first == warp ? "as many as" : fmt::format("{} times as many as", first / warp)),
                 "what a warp or a block sums up does not reach those behind it");
  }
  if (first == in_section && first >= warp && first % warp == 0) {
    return guess("wrong.warp_sums",
                 fmt::format("the first {} elements, those of {}, are right", first,
                             first == warp ? "warp 0" : fmt::format("warps 0 to {}", first / warp - 1)),
                 "the warps do not see each other's sums as they should");
  }
  if (only_lasts && n > 2) {
    return Diagnosis{"wrong.last_element",
                     section == 0 ? "only the last element is wrong" : "only the last element of a section is wrong"};
  }
  if (section != 0 && n % section != 0 && n > section && first >= n - n % section) {
    return diagnosis("wrong.last_section",
                     "only the last, partial section is wrong: what do threads beyond the last element load, and do "
                     "all threads reach each barrier?");
  }
  if (section != 0 && first >= section) {
    if (first == section) {
      return diagnosis(
          "wrong.sections",
          "the first section is right, the next is not: do blocks share something, or index as if they were block 0?");
    }
    return diagnosis("wrong.sections", "section {} is the first wrong one; all sections before it are right",
                     first / section);
  }
  if (first > 0) return diagnosis("wrong.other", "the elements before y[{}] are right", first);
  return Diagnosis{"wrong.other", e.comparison.wrong == n ? "no element is right" : "already y[0] is wrong"};
}

}  // namespace

template <typename T>
Diagnosis recognise(const Evidence<T>& e) {
  if (const auto text = recognise_unwritten(e)) return *text;
  const std::size_t first = e.comparison.first;
  if constexpr (std::is_same_v<T, float>) {
    if (std::isnan(e.y[first]) && !is_unwritten(e.y[first])) {
      return diagnosis("wrong.uninitialised",
                       "y[{}] is not a number, and no input is: it was computed from an element that had not been "
                       "written yet, of d_y or of an array (one that is not __shared__ is each thread's own)",
                       first);
    }
    // Fresh memory of the virtual GPU holds -1.7e38.
    if (std::fabs(e.y[first]) > 1e30f) {
      return diagnosis("wrong.uninitialised",
                       "y[{}] is far larger than any sum of the input: it was computed from memory that no thread had "
                       "written (neither cudaMalloc nor __shared__ sets anything to zero), or from what a shuffle got "
                       "from a lane that takes no part in it",
                       first);
    }
  }
  if (e.y.size() == 1) {
    const bool is_known = e.scan.kind == Kind::exclusive && !(e.y[0] == e.x[0]);
    if (is_known) return {"wrong.identity", "the first element of an exclusive scan must be identity()"};
    return {"wrong.other", "already y[0] is wrong"};  // many mistakes look like that
  }
  if (const auto text = recognise_other_scan(e)) return *text;
  if (const auto text = recognise_begin(e)) return *text;
  if (const auto text = recognise_shifted(e)) return *text;
  if (const auto text = recognise_offsets(e)) return *text;
  if (const auto text = recognise_method(e)) return *text;
  if (const auto text = recognise_bounds(e)) return *text;
  if (const auto text = recognise_steps(e)) return *text;
  return recognise_places(e);
}

template Diagnosis recognise(const Evidence<float>&);
template Diagnosis recognise(const Evidence<Affine>&);

}  // namespace scanlab::grade
