#include "autograder/scan/method_diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace scanlab::grade {

namespace {

/// More are not tried: each way of doing it wrong is done for all elements.
constexpr std::size_t most_worked_through = 4096;
/// So few elements look alike whatever is missing.
constexpr std::size_t too_few_to_tell = 64;

std::vector<std::size_t> doubling(std::size_t below) {
  std::vector<std::size_t> strides;
  for (std::size_t stride = 1; stride < below; stride *= 2) strides.push_back(stride);
  return strides;
}

/// The terms of an inclusive scan: an exclusive one is that of the elements one place further right.
template <typename T>
std::vector<T> terms_of(const Evidence<T>& e) {
  std::vector<T> terms(e.x.begin(), e.x.end());
  if (e.scan.kind == Kind::inclusive) return terms;
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = i % e.scan.section == 0 ? identity<T>() : e.x[i - 1];
  return terms;
}

/// What comes out of this work on each section, made whole by identities.
template <typename T, typename Work>
bool equals_work(const Evidence<T>& e, const std::vector<T>& terms, Work work) {
  std::vector<T> y;
  for (std::size_t first = 0; first < terms.size(); first += e.scan.section) {
    const std::size_t last = std::min(terms.size(), first + e.scan.section);
    std::vector<T> s(e.scan.section, identity<T>());
    std::copy(&terms[first], &terms[0] + last, s.begin());
    work(s);
    y.insert(y.end(), s.begin(), s.begin() + static_cast<std::ptrdiff_t>(last - first));
  }
  return equals_candidate(e, [&](std::size_t i) { return y[i]; });
}

// --- steps -----------------------------------------------------------------------------------------------------------

template <typename T>
void step(std::vector<T>& s, std::size_t guard, std::size_t distance) {
  for (std::size_t i = s.size(); i-- > guard;) s[i] = combine(s[i - distance], s[i]);
}

template <typename T>
std::optional<Diagnosis> recognise_strides(const Evidence<T>& e, const std::vector<T>& terms) {
  const std::vector<std::size_t> strides = doubling(e.scan.section);
  if (equals_work(e, terms, [&](std::vector<T>& s) {
        for (const std::size_t stride : strides) step(s, stride, 1);
      })) {
    return diagnosis(
        "wrong.strides",
        "each step adds the direct neighbour: add s_xy[t - stride], the element `stride` places to the left");
  }
  if (equals_work(e, terms, [&](std::vector<T>& s) {
        for (std::size_t stride = 1; stride < s.size(); ++stride) step(s, stride, stride);
      })) {
    return diagnosis("wrong.strides", "the stride grows by 1 from step to step: it has to double, stride *= 2");
  }
  // Floats are right then, but for rounding.
  if (equals_work(e, terms, [&](std::vector<T>& s) {
        for (std::size_t k = strides.size(); k-- > 0;) step(s, strides[k], strides[k]);
      })) {
    return diagnosis("wrong.strides",
                     "the strides go from large to small, which adds elements that are no neighbours: they have to go "
                     "from small to large, stride = 1, 2, 4 …");
  }
  return std::nullopt;
}

// --- trees -----------------------------------------------------------------------------------------------------------

using Strides = std::vector<std::size_t>;

/// Where the places of a level begin: p = 2 * stride - 1, and from there on every 2 * stride.
enum class Places { right, one_too_far };

std::size_t first_place(std::size_t stride, Places places) {
  return 2 * stride - (places == Places::right ? 1 : 0);
}

template <typename T>
void reduce(std::vector<T>& s, const Strides& strides, Places places, std::size_t end) {
  for (const std::size_t stride : strides)
    for (std::size_t p = first_place(stride, places); p < end; p += 2 * stride) s[p] = combine(s[p - stride], s[p]);
}

enum class Giving { right, to_itself, like_the_reduction, replaces };

template <typename T>
void distribute(std::vector<T>& s, const Strides& strides, Places places, Giving how) {
  for (const std::size_t stride : strides) {
    const std::size_t beyond = how == Giving::like_the_reduction ? 0 : stride;
    for (std::size_t p = first_place(stride, places); p + beyond < s.size(); p += 2 * stride) {
      if (how == Giving::right) s[p + stride] = combine(s[p], s[p + stride]);
      if (how == Giving::to_itself) s[p] = combine(s[p], s[p + stride]);
      if (how == Giving::like_the_reduction) s[p] = combine(s[p - stride], s[p]);
      if (how == Giving::replaces) s[p + stride] = s[p];
    }
  }
}

/// Rising strides without those from `first` to `last`.
Strides without(Strides strides, std::size_t first, std::size_t last) {
  std::erase_if(strides, [&](std::size_t stride) { return stride >= first && stride <= last; });
  return strides;
}

Strides falling(Strides strides) {
  std::ranges::reverse(strides);
  return strides;
}

std::string levels_text(std::size_t first, std::size_t last) {
  if (first == last) return fmt::format("the level with a stride of {}", first);
  return fmt::format("the levels with strides of {} to {}", first, last);
}

/// Levels of the trees that are missing, or in another order.
template <typename T>
std::optional<Diagnosis> recognise_levels(const Evidence<T>& e, const std::vector<T>& terms) {
  const std::size_t top = e.scan.section / 2;
  const Strides up = doubling(e.scan.section), down = doubling(top);
  const auto equals = [&](const Strides& reduction, const Strides& distribution) {
    return equals_work(e, terms, [&](std::vector<T>& s) {
      reduce(s, reduction, Places::right, s.size());
      distribute(s, distribution, Places::right, Giving::right);
    });
  };
  if (equals(up, {})) {
    return diagnosis("wrong.steps_missing",
                     "after the reduction tree nothing is added: the distribution tree is missing, or does not reach "
                     "the places that lack something");
  }
  if (equals(up, down))
    return diagnosis(
        "wrong.strides",
        "the distribution tree's strides go from small to large: what is complete lies far apart at first, "
        "so they have to go from large to small, section_size / 4 down to 1");
  std::optional<Diagnosis> found;
  for (std::size_t first = 1; first <= top; first *= 2) {
    for (std::size_t last = first; last <= top && !found; last *= 2) {
      const bool at_an_end = first == last || first == 1 || last >= top / 2;
      if (!at_an_end) continue;
      if (last < top && equals(up, falling(without(down, first, last)))) {
        const char* const where = last == top / 2 ? ": it has to begin with a stride of section_size / 4"
                                  : first == 1    ? ": it has to go down to a stride of 1"
                                                  : "";
        found = diagnosis("wrong.steps_missing", "{} of the distribution tree {} missing{}", levels_text(first, last),
                          first == last ? "is" : "are", where);
      } else if (equals(without(up, first, last), falling(down))) {
        const char* const where = last == top  ? ": it has to go up to a stride of section_size / 2"
                                  : first == 1 ? ": it has to begin with a stride of 1"
                                               : "";
        found = diagnosis("wrong.steps_missing", "{} of the reduction tree {} missing{}", levels_text(first, last),
                          first == last ? "is" : "are", where);
      }
    }
  }
  return found;
}

template <typename T>
std::optional<Diagnosis> recognise_trees(const Evidence<T>& e, const std::vector<T>& terms) {
  const std::size_t top = e.scan.section / 2;
  const Strides up = doubling(e.scan.section), down = doubling(top);
  const auto equals_with = [&](Places of_reduction, Places of_distribution, Giving how, std::size_t end) {
    return equals_work(e, terms, [&](std::vector<T>& s) {
      reduce(s, up, of_reduction, end);
      distribute(s, falling(down), of_distribution, how);
    });
  };
  const std::size_t size = e.scan.section;
  const std::optional<Diagnosis> levels = recognise_levels(e, terms);
  for (const auto& [of_reduction, of_distribution, name] :
       {std::tuple{Places::one_too_far, Places::one_too_far, "both trees"},
        std::tuple{Places::one_too_far, Places::right, "the reduction tree"},
        std::tuple{Places::right, Places::one_too_far, "the distribution tree"}}) {
    if (equals_with(of_reduction, of_distribution, Giving::right, size)) {
      if (levels)  // a few elements show no difference
        return diagnosis("wrong.steps_missing", "a level of the trees is missing, or their places are off by one");
      return diagnosis("wrong.places",
                       "the places of {} are one too far right: (t + 1) * 2 * stride - 1 is the last place of what is "
                       "summed up, here the - 1 is missing",
                       name);
    }
  }
  if (equals_with(Places::right, Places::right, Giving::to_itself, size)) {
    return diagnosis("wrong.places",
                     "the distribution tree changes the places that are complete: s_xy[p] stays as it is, and is added "
                     "to s_xy[p + stride]");
  }
  if (equals_with(Places::right, Places::right, Giving::like_the_reduction, size)) {
    return diagnosis("wrong.places",
                     "the distribution tree does what the reduction tree has done: here the places p are complete, and "
                     "s_xy[p] is added to s_xy[p + stride]");
  }
  if (equals_with(Places::right, Places::right, Giving::replaces, size)) {
    return diagnosis("wrong.places",
                     "the distribution tree replaces what stands in s_xy[p + stride]: it has to be added to, s_xy[p] + "
                     "s_xy[p + stride]");
  }
  if (equals_with(Places::right, Places::right, Giving::right, size / 2) ||
      equals_work(e, terms, [&](std::vector<T>& s) {
        for (const std::size_t stride : up)
          for (std::size_t i = s.size() / 2; i-- > stride;) s[i] = combine(s[i - stride], s[i]);
      })) {
    return diagnosis("wrong.steps_missing",
                     "only the first {} places of a section take part: there are as many threads, and each has two "
                     "places to look after, t and t + block_size",
                     size / 2);
  }
  return levels;
}

// --- runs ------------------------------------------------------------------------------------------------------------

/// What a wrong program of runs makes of a section, for run r, place k in it.
template <typename T>
struct Runs {
  std::vector<T> x;        ///< of the section
  std::size_t length = 0;  ///< of a run

  T own(std::size_t r, std::size_t k) const {  // the run's elements up to this one
    T sum = x[r * length];
    for (std::size_t j = 1; j <= k; ++j) sum = combine(sum, x[r * length + j]);
    return sum;
  }
  T run(std::size_t r) const { return own(r, length - 1); }
  std::size_t count() const { return x.size() / length; }
};

template <typename T>
std::optional<Diagnosis> recognise_runs(const Evidence<T>& e, const std::vector<T>& terms) {
  const std::size_t length = e.places;
  /// own(runs, r, k): what phase 1 makes of an element; sum(runs, r): what run r puts into the sums.
  const auto usual_own = [](const Runs<T>& runs, std::size_t r, std::size_t k) { return runs.own(r, k); };
  const auto usual_sum = [](const Runs<T>& runs, std::size_t r) { return runs.run(r); };
  const auto equals = [&](auto own, auto sum, auto pick) {
    return equals_work(e, terms, [&](std::vector<T>& s) {
      const Runs<T> runs{s, length};
      std::vector<T> sums, scanned;
      for (std::size_t r = 0; r < runs.count(); ++r) {
        sums.push_back(sum(runs, r));
        scanned.push_back(r == 0 ? sums[0] : combine(scanned.back(), sums[r]));
      }
      for (std::size_t r = 0; r < runs.count(); ++r) {
        for (std::size_t k = 0; k < length; ++k) {
          const T mine = own(runs, r, k);
          const std::optional<T> before = pick(sums, scanned, r, k);
          s[r * length + k] = before ? combine(*before, mine) : mine;
        }
      }
    });
  };
  using Sums = std::vector<T>;
  using Picked = std::optional<T>;
  const auto usual_pick = [](const Sums&, const Sums& scanned, std::size_t r, std::size_t) {
    return r == 0 ? Picked() : Picked(scanned[r - 1]);
  };
  const auto says = [](const char* text) { return Diagnosis{"wrong.run_sums", text}; };
  if (equals(usual_own, usual_sum, [](const Sums&, const Sums&, std::size_t, std::size_t) { return Picked(); }))
    return says("each run is scanned on its own: what all runs before it sum up to is missing (phase 3)");
  if (equals(usual_own, usual_sum,
             [](const Sums&, const Sums& scanned, std::size_t r, std::size_t) {
               return r == 0 ? Picked() : Picked(scanned[r]);
             }) ||
      equals(usual_own, usual_sum,
             [](const Sums&, const Sums& scanned, std::size_t r, std::size_t) { return Picked(scanned[r]); }))
    return says("a run's own sum is added to it, too: add s_sums[t - 1], the sum of the runs before it, not s_sums[t]");
  if (equals(usual_own, usual_sum, [](const Sums& sums, const Sums&, std::size_t r, std::size_t) {
        return r == 0 ? Picked() : Picked(sums[r - 1]);
      }))
    return says(
        "only the sum of the one run before it is added to a run: the sums have to be scanned first, by scan_sums");
  if (equals(usual_own, usual_sum, [](const Sums&, const Sums& scanned, std::size_t r, std::size_t k) {
        return r == 0 ? Picked() : Picked(scanned[k]);
      }))
    return says("which sum is added depends on the element's place in the run: it depends on the run, s_sums[t - 1]");
  if (equals(usual_own, usual_sum, [&](const Sums&, const Sums& scanned, std::size_t r, std::size_t k) {
        return r == 0 || k == length - 1 ? Picked() : Picked(scanned[r - 1]);
      }))
    return says("the last element of each run lacks what the runs before it sum up to: phase 3 leaves it out");
  if (equals(usual_own, usual_sum, [](const Sums&, const Sums& scanned, std::size_t r, std::size_t k) {
        return r == 0 || k == 0 ? Picked() : Picked(scanned[r - 1]);
      }))
    return says("the first element of each run lacks what the runs before it sum up to: phase 3 leaves it out");
  if (equals(usual_own, usual_sum, [](const Sums&, const Sums& scanned, std::size_t r, std::size_t) {
        return r <= 1 ? Picked() : Picked(scanned[r - 1]);
      }))
    return says("only the second run, that of thread 1, lacks what comes before it: all threads but thread 0 add it");
  const auto plain = [](const Runs<T>& runs, std::size_t r, std::size_t k) { return runs.x[r * runs.length + k]; };
  if (equals(
          plain, [](const Runs<T>& runs, std::size_t r) { return runs.x[(r + 1) * runs.length - 1]; }, usual_pick))
    return says("the elements of a run are not added to each other: phase 1, the scan of each run, is missing");
  if (equals(
          usual_own, [](const Runs<T>& runs, std::size_t r) { return runs.x[r * runs.length]; }, usual_pick))
    return says("the first element of each run is taken for its sum: after phase 1 that is its last element");
  const auto short_own = [](const Runs<T>& runs, std::size_t r, std::size_t k) {
    return k + 1 == runs.length ? runs.x[r * runs.length + k] : runs.own(r, k);
  };
  if (equals(
          short_own, [](const Runs<T>& runs, std::size_t r) { return runs.x[(r + 1) * runs.length - 1]; }, usual_pick))
    return says("phase 1 ends before the last element of a run: nothing is added to it");
  const auto first_only = [](const Runs<T>& runs, std::size_t r, std::size_t k) {
    const T first = runs.x[r * runs.length];
    return k == 0 ? first : combine(first, runs.x[r * runs.length + k]);
  };
  if (equals(
          first_only, [&](const Runs<T>& runs, std::size_t r) { return first_only(runs, r, runs.length - 1); },
          usual_pick))
    return says(
        "in phase 1 only the first element of a run is added to each: add the one before, s_run[k - 1], which "
        "holds the sum so far");
  return std::nullopt;
}

}  // namespace

template <typename T>
std::optional<Diagnosis> recognise_method(const Evidence<T>& e) {
  const std::size_t n = e.y.size();
  if (e.scan.section == 0 || n > most_worked_through || n < 2) return std::nullopt;
  const std::vector<T> terms = terms_of(e);
  std::optional<Diagnosis> found;
  if (e.places == 1) return recognise_strides(e, terms);
  if (e.places == 2) found = recognise_trees(e, terms);
  if (e.places > 2) found = recognise_runs(e, terms);
  // Those that only more elements would show to differ: only this much is sure.
  if (found && n <= too_few_to_tell) found->id = "wrong.other";
  return found;
}

template std::optional<Diagnosis> recognise_method(const Evidence<float>&);
template std::optional<Diagnosis> recognise_method(const Evidence<Affine>&);

}  // namespace scanlab::grade
