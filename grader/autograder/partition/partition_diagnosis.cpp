#include "autograder/partition/partition_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

namespace scanlab::grade {

namespace {

constexpr std::size_t usual_section = 1024;

/// Any strict order will do, to compare two arrays as sets.
std::uint64_t key_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint64_t key_of(Affine value) {
  return std::uint64_t{value.a} << 32 | value.b;
}

template <typename T>
bool are_same_but_for_order(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return false;
  std::vector<std::uint64_t> left(a.size()), right(b.size());
  std::transform(a.begin(), a.end(), left.begin(), [](T value) { return key_of(value); });
  std::transform(b.begin(), b.end(), right.begin(), [](T value) { return key_of(value); });
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  return left == right;
}

/// The kept elements of x and the others by their indices, and where each stands in its own order.
struct Indices {
  std::vector<std::size_t> kept, others;
  std::vector<std::size_t> kept_before;  ///< of each i from 0 to n: how many of x[0] … x[i - 1] are kept
};

template <typename T>
Indices indices_of(std::span<const T> x) {
  Indices indices;
  indices.kept_before.reserve(x.size() + 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    indices.kept_before.push_back(indices.kept.size());
    (is_kept(x[i]) ? indices.kept : indices.others).push_back(i);
  }
  indices.kept_before.push_back(indices.kept.size());
  return indices;
}

template <typename T>
using Span = std::span<const T>;

template <typename T>
Span<T> kept_part(const PartitionEvidence<T>& e) {
  return e.y.first(e.right.kept);
}

/// Those of d_y that only the elements in question are ever put to, y[begin] to y[end - 1].
struct Places {
  std::size_t begin = 0, end = 0;
};

/// True when the elements of `indices` went to the places that `place` gives: each such place holds one of those that
/// went there, and all other places of `own` are unwritten. At least two elements must have gone.
template <typename T, typename Place>
bool went_to(const PartitionEvidence<T>& e, const std::vector<std::size_t>& indices, Places own, Place place) {
  if (indices.size() < 2) return false;
  enum : char { nothing, another, one_of_them };
  std::vector<char> found(e.y.size(), nothing);
  for (const std::size_t i : indices) {
    const std::size_t at = place(i);
    if (at >= e.y.size()) continue;  // it went beyond the end, if anywhere
    found[at] = found[at] == one_of_them || e.y[at] == e.x[i] ? one_of_them : another;
  }
  for (std::size_t at = 0; at < e.y.size(); ++at) {
    if (found[at] == another) return false;
    if (found[at] == nothing && at >= own.begin && at < own.end && !is_unwritten(e.y[at])) return false;
  }
  return true;
}

template <typename T>
std::optional<Diagnosis> recognise_unwritten(const PartitionEvidence<T>& e) {
  const auto unwritten = static_cast<std::size_t>(
      std::count_if(e.y.begin(), e.y.end(), [](const T& value) { return is_unwritten(value); }));
  if (unwritten == e.y.size())
    return diagnosis("wrong.unwritten",
                     "nothing is ever written to d_y: is a TODO still open, or is no kernel launched?");
  if (e.others == Others::behind && first_wrong(e) == e.right.kept && unwritten == e.y.size() - e.right.kept) {
    return diagnosis(
        "wrong.unwritten",
        "the kept elements are right, and nothing is ever written behind them: a split puts the others there");
  }
  return std::nullopt;
}

/// Whole outputs that one mistake explains.
template <typename T>
std::optional<Diagnosis> recognise_other_places(const PartitionEvidence<T>& e, const Indices& indices) {
  const std::vector<std::size_t>& before = indices.kept_before;
  const std::size_t n = e.x.size();
  const Places own{0, e.others == Others::dropped ? n : e.right.kept};

  if (went_to(e, indices.kept, own, [](std::size_t i) { return i; })) {
    return diagnosis("wrong.places",
                     "each kept element stands where it stood in d_x: it has to go to the place that the scan gives "
                     "it, y[place] and not y[i]");
  }
  if (went_to(e, indices.others, {0, e.others == Others::dropped ? n : 0},
              [&](std::size_t i) { return i - before[i]; })) {
    if (e.others == Others::dropped)
      return diagnosis("wrong.keep", "the others are kept: keep(element) is true for those that stay");
    if (went_to(e, indices.kept, {}, [&](std::size_t i) { return indices.others.size() + before[i]; })) {
      return diagnosis("wrong.keep", "the others stand in front: the kept elements come first");
    }
  }
  // In a split, the last kept element and the first of the others then go to the same place.
  std::vector<std::size_t> kept = indices.kept;
  if (e.others == Others::behind && !kept.empty()) kept.pop_back();
  if (went_to(e, kept, own, [&](std::size_t i) { return before[i] + 1; })) {
    return diagnosis("wrong.places",
                     "each kept element stands one place too far right: an inclusive scan of the flags counts the "
                     "element itself; its place is how many are kept before it");
  }
  if (n > usual_section) {
    const auto first_of_section = [](std::size_t i) { return i - i % usual_section; };
    if (went_to(e, indices.kept, own, [&](std::size_t i) { return before[i] - before[first_of_section(i)]; })) {
      return diagnosis("wrong.block_sums",
                       "each section of {} elements puts what it keeps from y[0] on: the number of elements that the "
                       "sections before it keep is missing in the places",
                       usual_section);
    }
    if (went_to(e, indices.kept, own,
                [&](std::size_t i) { return first_of_section(i) + before[i] - before[first_of_section(i)]; })) {
      return diagnosis("wrong.block_sums",
                       "each section of {} elements puts what it keeps at its own beginning: what counts is how many "
                       "elements the sections before it keep, not how many they have",
                       usual_section);
    }
  }
  for (const std::size_t chunk : {std::size_t{512}, std::size_t{256}, std::size_t{128}, std::size_t{32}}) {
    if (n <= chunk) continue;
    const auto place = [&](std::size_t i) { return before[i - i % usual_section] + before[i] - before[i - i % chunk]; };
    if (went_to(e, indices.kept, own, place)) {
      return diagnosis("wrong.warp_sums",
                       "within a section, each {} elements put what they keep at the same places: the number of "
                       "elements that the warps, or rows, before them keep is missing",
                       chunk);
    }
  }
  return std::nullopt;
}

/// "y[3] holds x[9], and x[5], which comes before it, stands at y[7]", of a part that begins at y[begin].
template <typename T>
std::string exchanged_pair(const PartitionEvidence<T>& e, const std::vector<std::size_t>& indices, std::size_t begin) {
  std::size_t at = begin;
  while (e.y[at] == e.right.y[at]) ++at;
  const std::size_t first = indices[at - begin];  // x[first] has to stand at y[at]
  const auto second = std::find_if(indices.begin(), indices.end(), [&](std::size_t i) { return e.x[i] == e.y[at]; });
  const auto found = std::find(e.y.begin() + static_cast<std::ptrdiff_t>(at), e.y.end(), e.x[first]);
  return fmt::format("y[{}] holds x[{}], and x[{}], which comes before it in d_x, stands at y[{}]", at, *second, first,
                     found - e.y.begin());
}

template <typename T>
std::optional<Diagnosis> recognise_order(const PartitionEvidence<T>& e, const Indices& indices) {
  const std::size_t kept = e.right.kept;
  if (first_wrong(e) < kept) {
    if (!are_same_but_for_order(kept_part(e), Span<T>(e.right.y).first(kept))) return std::nullopt;
    return diagnosis("wrong.not_stable",
                     "all kept elements are there, but not in their order: {}. Whose turn it is must not decide on the "
                     "place, only how many are kept before",
                     exchanged_pair(e, indices.kept, 0));
  }
  const Span<T> others = e.y.subspan(kept);
  const Span<T> right = Span<T>(e.right.y).subspan(kept);
  if (std::equal(others.begin(), others.end(), right.rbegin(), right.rend())) {
    return diagnosis("wrong.not_stable",
                     "the kept elements are right, the others stand behind them from right to left: a split is stable, "
                     "it keeps the order of the others too");
  }
  if (are_same_but_for_order(others, right)) {
    return diagnosis("wrong.not_stable",
                     "the kept elements are right, and all others stand behind them, but not in their order: {}",
                     exchanged_pair(e, indices.others, kept));
  }
  return std::nullopt;
}

/// Mistakes in the places of a split's others.
template <typename T>
std::optional<Diagnosis> recognise_others(const PartitionEvidence<T>& e, const Indices& indices) {
  if (e.others == Others::dropped || indices.others.empty()) return std::nullopt;
  const std::vector<std::size_t>& before = indices.kept_before;
  const std::size_t kept = e.right.kept, n = e.x.size();
  const auto own_place = [&](std::size_t i) { return i - before[i]; };

  // Where both a kept element and another one went, either may be found.
  bool both_from_the_beginning = kept > 1 && indices.others.size() > 1;
  for (std::size_t at = 0; at < n && both_from_the_beginning; ++at) {
    const bool is_kept_one = at < kept && e.y[at] == e.x[indices.kept[at]];
    const bool is_other_one = at < indices.others.size() && e.y[at] == e.x[indices.others[at]];
    both_from_the_beginning =
        is_kept_one || is_other_one || (at >= kept && at >= indices.others.size() && is_unwritten(e.y[at]));
  }
  if (both_from_the_beginning) {
    return diagnosis(
        "wrong.others",
        "the others are put from y[0] on as well: the number of all kept elements is missing in their places");
  }
  // The first of them and the last kept element then go to the same place.
  const std::vector<std::size_t> all_but_first(indices.others.begin() + 1, indices.others.end());
  if (went_to(e, all_but_first, {kept, n}, [&](std::size_t i) { return kept + own_place(i) - 1; })) {
    return diagnosis("wrong.others",
                     "the others stand one place too far left: the place of x[i] among them is i minus the number of "
                     "elements kept before it, behind all the kept ones");
  }
  if (first_wrong(e) < kept) return std::nullopt;
  const auto own_section = [&](std::size_t i) {
    const std::size_t first = i - i % usual_section;
    return kept + own_place(i) - own_place(first);
  };
  if (n > usual_section && went_to(e, indices.others, {kept, n}, own_section)) {
    return diagnosis("wrong.others",
                     "the kept elements are right, but each section of {} puts its others to the same places: those of "
                     "the sections before it are missing in them",
                     usual_section);
  }
  return diagnosis("wrong.others", "all {} kept elements are right; y[{}] is the first wrong place among the others",
                   kept, first_wrong(e));
}

/// What can be said from the first wrong place alone.
template <typename T>
Diagnosis recognise_places(const PartitionEvidence<T>& e, const Indices& indices) {
  const std::size_t first = first_wrong(e);
  const std::size_t wanted = indices.kept[first];
  const std::string place =
      fmt::format("y[{}] has to be x[{}], for {} of the elements before that are kept", first, wanted, first);
  if (is_unwritten(e.y[first]))
    return diagnosis("wrong.unwritten", "y[{}] is never written: it has to be x[{}]", first, wanted);
  const auto found = std::find(e.x.begin(), e.x.end(), e.y[first]);
  if (found == e.x.end()) return diagnosis("wrong.places", "{}; what stands there is no element of d_x", place);
  const auto index = static_cast<std::size_t>(found - e.x.begin());
  if (!is_kept(*found))
    return diagnosis("wrong.places", "{}; what stands there is x[{}], which is not kept", place, index);
  const std::size_t section = wanted / usual_section;
  if (section > 0 && indices.kept_before[section * usual_section] == first) {
    return diagnosis("wrong.block_sums",
                     "what the first {} of {} elements keep is right: from there on the wrong number of elements kept "
                     "before is added to a section's places, or blocks share something",
                     section == 1 ? "section" : fmt::format("{} sections", section), usual_section);
  }
  return diagnosis("wrong.places", "{}; what stands there is x[{}]", place, index);
}

}  // namespace

template <typename T>
std::size_t first_wrong(const PartitionEvidence<T>& e) {
  const auto [right, _] = std::mismatch(e.right.y.begin(), e.right.y.end(), e.y.begin());
  return static_cast<std::size_t>(right - e.right.y.begin());
}

template <typename T>
Diagnosis recognise_partition(const PartitionEvidence<T>& e) {
  if (const auto text = recognise_unwritten(e)) return *text;
  const Indices indices = indices_of(e.x);
  if (const auto text = recognise_other_places(e, indices)) return *text;
  if (const auto text = recognise_order(e, indices)) return *text;
  if (const auto text = recognise_others(e, indices)) return *text;
  return recognise_places(e, indices);
}

template <typename T>
Diagnosis recognise_count(const PartitionEvidence<T>& e) {
  const std::int64_t n = static_cast<std::int64_t>(e.x.size()), kept = static_cast<std::int64_t>(e.right.kept);
  const std::int64_t count = e.count;
  if (count == unwritten_count) {
    return Diagnosis{
        "wrong.unwritten",
        n == 0 ? "*d_kept is not written: for n = 0 too it has to become 0, on the device (cudaMemset, for example)"
               : "*d_kept is never written: who knows how many elements are kept in all?"};
  }
  if (count == unwritten_count + kept) {
    return diagnosis("wrong.stale_scratch",
                     "the right number has been added to what was in *d_kept before: set it to 0 first, in every call");
  }
  const Indices indices = indices_of(e.x);
  if (count == 0 && kept == 1) {
    // With more elements it shows which of them.
    return diagnosis("wrong.other",
                     "*d_kept is 0: either it stays as it was at first, or the element itself is not counted, as in an "
                     "exclusive scan of the flags");
  }
  if (n > 0 && is_kept(e.x.back()) && count == kept - 1) {
    return diagnosis("wrong.count",
                     "one too few, as many as are kept before the last element: is its own flag counted, and is it the "
                     "last element's thread that writes the number?");
  }
  const auto last_section = static_cast<std::size_t>(n > 0 ? (n - 1) / std::int64_t{usual_section} : 0);
  const auto before_last = static_cast<std::int64_t>(indices.kept_before[last_section * usual_section]);
  if (last_section > 0 && count == kept - before_last) {
    return diagnosis("wrong.count", "this is what the last section keeps: what the sections before it keep is missing");
  }
  if (last_section > 0 && count == before_last)
    return diagnosis("wrong.count", "what the last section keeps is missing");
  if (count == n) return diagnosis("wrong.count", "this is the number of all elements: only those that are kept count");
  if (count == n - kept)
    return diagnosis("wrong.count", "this is the number of the others: keep(element) is true for those that stay");
  constexpr auto section = std::int64_t{usual_section};
  const std::int64_t padded = (n + section - 1) / section * section;
  if (padded > n && count == padded - kept)
    return diagnosis("wrong.count",
                     "this is the number of the others, with {} places beyond the end: a flag is 1 for an element that "
                     "is kept, and 0 for all else",
                     padded - n);
  if (padded > n && count == padded - n + kept)
    return diagnosis("wrong.count", "this counts {} places beyond the end, too: the identities there are not kept",
                     padded - n);
  if (kept > 0 && count == 2 * kept) return diagnosis("wrong.count", "each kept element has been counted twice");
  if (count == 0)
    return diagnosis(
        "wrong.count",
        "the elements are right, but their number is left at 0, or what the last section keeps is missing");
  return Diagnosis{"wrong.count", count < kept ? "the elements are right, but too few of them are counted"
                                               : "the elements are right, but too many are counted"};
}

template std::size_t first_wrong(const PartitionEvidence<float>&);
template std::size_t first_wrong(const PartitionEvidence<Affine>&);
template Diagnosis recognise_partition(const PartitionEvidence<float>&);
template Diagnosis recognise_partition(const PartitionEvidence<Affine>&);
template Diagnosis recognise_count(const PartitionEvidence<float>&);
template Diagnosis recognise_count(const PartitionEvidence<Affine>&);

}  // namespace scanlab::grade
