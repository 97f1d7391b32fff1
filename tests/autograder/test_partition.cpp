// Compaction and split: the oracle, the inputs, and what wrong outputs are said to come from.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <functional>
#include <set>

#include "autograder/partition/partition_diagnosis.hpp"
#include "autograder/partition/partition_inputs.hpp"

using namespace scanlab::grade;
using Catch::Matchers::ContainsSubstring;

namespace {

using Floats = std::vector<float>;
using Maps = std::vector<Affine>;

/// A call as a submission would make it, on outputs that hold what the judge writes there.
template <typename T>
struct Attempt {
  std::vector<T> x, y;
  std::int32_t count = unwritten_count;

  Attempt(std::size_t n, Pattern pattern) : x(partition_input<T>(n, pattern, 7)), y(n) {
    std::memset(static_cast<void*>(y.data()), unwritten_byte, n * sizeof(T));
  }

  /// How many of the elements from x[begin] to x[end - 1] are kept.
  std::size_t kept(std::size_t begin, std::size_t end) const {
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) count += is_kept(x[i]);
    return count;
  }

  void put(std::size_t at, std::size_t i) {
    if (at < y.size()) y[at] = x[i];
  }
};

template <typename T>
using Program = std::function<void(Attempt<T>&)>;

/// What the judge says of what `program` makes of n elements.
template <typename T>
std::string diagnosis(Others others, std::size_t n, const Program<T>& program, Pattern pattern = Pattern::half) {
  Attempt<T> attempt(n, pattern);
  program(attempt);
  const Partition<T> right = partition_of<T>(attempt.x, others);
  const PartitionEvidence<T> evidence{attempt.x, attempt.y, attempt.count, others, right};
  const auto text_of = [](const Diagnosis& found) { return found.id + ": " + found.text; };
  if (first_wrong(evidence) < right.y.size()) return text_of(recognise_partition(evidence));
  REQUIRE(attempt.count != static_cast<std::int64_t>(right.kept));
  return text_of(recognise_count(evidence));
}

/// A program that puts each kept element x[i], one after the other, to the place that `place` gives.
template <typename T>
Program<T> keeps_at(const std::function<std::size_t(const Attempt<T>&, std::size_t)>& place) {
  return [place](Attempt<T>& a) {
    for (std::size_t i = 0; i < a.x.size(); ++i) {
      if (is_kept(a.x[i])) a.put(place(a, i), i);
    }
  };
}

/// … and each of the others as well.
template <typename T>
Program<T> splits_at(const std::function<std::size_t(const Attempt<T>&, std::size_t)>& kept,
                     const std::function<std::size_t(const Attempt<T>&, std::size_t)>& others) {
  return [kept, others](Attempt<T>& a) {
    for (std::size_t i = 0; i < a.x.size(); ++i) a.put(is_kept(a.x[i]) ? kept(a, i) : others(a, i), i);
  };
}

template <typename T>
std::size_t right_place(const Attempt<T>& a, std::size_t i) {
  return a.kept(0, i);
}
template <typename T>
std::size_t right_place_of_other(const Attempt<T>& a, std::size_t i) {
  return a.kept(0, a.x.size()) + i - a.kept(0, i);
}

/// Right elements, and this for their number.
template <typename T>
Program<T> counts(const std::function<std::size_t(const Attempt<T>&)>& count) {
  return [count](Attempt<T>& a) {
    keeps_at<T>(right_place<T>)(a);
    a.count = static_cast<std::int32_t>(count(a));
  };
}

}  // namespace

TEST_CASE("compaction keeps the order, a split that of the others too", "[partition]") {
  const Floats x = {3, -1, 4, 0, -5, 9};
  CHECK(partition_of<float>(x, Others::dropped).y == Floats{3, 4, 9});
  CHECK(partition_of<float>(x, Others::behind).y == Floats{3, 4, 9, -1, 0, -5});
  CHECK(partition_of<float>(x, Others::behind).kept == 3);
  const Maps maps = {{1, 0}, {3, 1}, {1, 2}, {5, 7}};
  CHECK(partition_of<Affine>(maps, Others::behind).y == Maps{{3, 1}, {5, 7}, {1, 0}, {1, 2}});
  CHECK(partition_of<float>({}, Others::behind).kept == 0);
}

TEST_CASE("no identity is kept", "[partition]") {
  CHECK_FALSE(is_kept(identity<float>()));
  CHECK_FALSE(is_kept(identity<Affine>()));
}

TEST_CASE("inputs are kept where their pattern says so", "[partition]") {
  const auto kept = [](Pattern pattern, std::size_t n) {
    const std::vector<char> flags = kept_flags(n, pattern, 9);
    return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), 1));
  };
  for (const std::size_t n : {1u, 2u, 33u, 4096u}) {
    CHECK(kept(Pattern::none, n) == 0);
    CHECK(kept(Pattern::all, n) == n);
    CHECK(kept(Pattern::one, n) == 1);
    CHECK(kept(Pattern::all_but_one, n) == n - 1);
  }
  CHECK(kept(Pattern::one, 0) == 0);
  const auto between = [&](Pattern pattern, std::size_t least, std::size_t most) {
    const std::size_t count = kept(pattern, 65536);
    return count > least && count < most;
  };
  CHECK(between(Pattern::half, 32000, 33500));
  CHECK(between(Pattern::few, 3800, 4400));
  CHECK(between(Pattern::most, 61100, 61800));
  CHECK(between(Pattern::runs, 27000, 38000));
}

TEST_CASE("about half of a mixture is kept, whatever the seed: counts of work rely on it", "[partition]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<char> flags = kept_flags(65536, Pattern::mixture, seed);
    const auto kept = std::count(flags.begin(), flags.end(), 1);
    CHECK(kept > 65536 * 2 / 5);
    CHECK(kept < 65536 * 3 / 5);
  }
}

TEST_CASE("a mixture has sections of which nothing is kept, everything, and something", "[partition]") {
  const std::vector<char> flags = kept_flags(1u << 18, Pattern::mixture, 7);
  std::set<int> seen;
  for (std::size_t begin = 0; begin < flags.size(); begin += 1024) {
    const auto at = flags.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = std::count(at, at + 1024, 1);
    seen.insert(count == 0 ? 0 : count == 1024 ? 2 : 1);
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("the elements of an input differ, but for the identities among the others", "[partition]") {
  const Floats x = partition_input<float>(1000, Pattern::half, 7);
  const Maps maps = partition_input<Affine>(1000, Pattern::half, 7);
  const std::vector<char> flags = kept_flags(1000, Pattern::half, 0);
  std::set<float> values(x.begin(), x.end());
  const auto zeros = std::count(x.begin(), x.end(), 0.0f);
  CHECK(zeros > 60);
  CHECK(zeros < 200);
  CHECK(values.size() == static_cast<std::size_t>(1000 - zeros + 1));
  for (std::size_t i = 0; i < 1000; ++i) CHECK(is_kept(x[i]) == is_kept(maps[i]));
  CHECK(partition_input<float>(1000, Pattern::half, 7) == x);
  CHECK(partition_input<float>(1000, Pattern::half, 8) != x);
}

TEST_CASE("the first call of a size meets a mixture, the others every pattern", "[partition]") {
  std::set<Pattern> seen;
  for (std::size_t n = 1000; n < 1008; ++n) {
    CHECK(pattern_of({n, 0}) == Pattern::mixture);
    seen.insert(pattern_of({n, 1}));
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("elements at wrong places are reported by where they went", "[partition]") {
  using A = Attempt<float>;
  const auto compacted = [](const std::function<std::size_t(const A&, std::size_t)>& place, std::size_t n = 3000) {
    return diagnosis<float>(Others::dropped, n, keeps_at<float>(place));
  };
  CHECK_THAT(diagnosis<float>(Others::dropped, 100, [](A&) {}), ContainsSubstring("nothing is ever written"));
  CHECK_THAT(compacted([](const A&, std::size_t i) { return i; }), ContainsSubstring("where it stood in d_x"));
  CHECK_THAT(compacted([](const A& a, std::size_t i) { return a.kept(0, i + 1); }),
             ContainsSubstring("one place too far right"));
  CHECK_THAT(compacted([](const A& a, std::size_t i) { return a.kept(i - i % 1024, i); }),
             ContainsSubstring("each section of 1024 elements puts what it keeps from y[0] on"));
  CHECK_THAT(compacted([](const A& a, std::size_t i) { return i - i % 1024 + a.kept(i - i % 1024, i); }),
             ContainsSubstring("at its own beginning"));
  for (const std::size_t chunk : {32u, 256u}) {
    CHECK_THAT(compacted([&](const A& a, std::size_t i) { return a.kept(0, i - i % 1024) + a.kept(i - i % chunk, i); }),
               ContainsSubstring("each " + std::to_string(chunk) + " elements put what they keep at the same places"));
  }
  CHECK_THAT(compacted([](const A& a, std::size_t i) { return a.kept(0, i) + (i < 1024 ? 0 : 3); }),
             ContainsSubstring("is never written"));
  CHECK_THAT(compacted([](const A& a, std::size_t i) { return a.kept(0, i) - (i < 1024 ? 0 : 3); }),
             ContainsSubstring("has to be x["));
  CHECK_THAT(diagnosis<float>(Others::dropped, 2500,
                              [](A& a) {
                                keeps_at<float>(right_place<float>)(a);
                                for (std::size_t i = a.kept(0, 1024); i + 1 < a.kept(0, 2500); ++i) a.y[i] = a.y[i + 1];
                              }),
             ContainsSubstring("what the first section of 1024 elements keep is right"));
}

TEST_CASE("elements that should have been dropped, or come from elsewhere, are reported", "[partition]") {
  using A = Attempt<Affine>;
  CHECK_THAT(diagnosis<Affine>(Others::dropped, 200,
                               [](A& a) {
                                 for (std::size_t i = 0; i < 200; ++i) {
                                   if (!is_kept(a.x[i])) a.put(i - a.kept(0, i), i);
                                 }
                               }),
             ContainsSubstring("the others are kept"));
  CHECK_THAT(diagnosis<Affine>(Others::dropped, 200, [](A& a) { a.y = a.x; }), ContainsSubstring("which is not kept"));
  CHECK_THAT(diagnosis<Affine>(Others::dropped, 200,
                               [](A& a) {
                                 keeps_at<Affine>(right_place<Affine>)(a);
                                 a.y[3] = {2, 2};
                               }),
             ContainsSubstring("no element of d_x"));
}

TEST_CASE("an order that is not stable is reported with a pair", "[partition]") {
  const std::string text = diagnosis<float>(Others::dropped, 100, [](Attempt<float>& a) {
    keeps_at<float>(right_place<float>)(a);
    std::swap(a.y[2], a.y[5]);
  });
  CHECK_THAT(text, ContainsSubstring("all kept elements are there, but not in their order: y[2] holds x["));
  CHECK_THAT(text, ContainsSubstring("stands at y[5]"));
}

TEST_CASE("a split's others at wrong places are reported", "[partition]") {
  using A = Attempt<float>;
  const auto split = [](const std::function<std::size_t(const A&, std::size_t)>& others) {
    return diagnosis<float>(Others::behind, 3000, splits_at<float>(right_place<float>, others));
  };
  CHECK_THAT(diagnosis<float>(Others::behind, 3000, keeps_at<float>(right_place<float>)),
             ContainsSubstring("nothing is ever written behind them"));
  CHECK_THAT(split([](const A& a, std::size_t i) { return i - a.kept(0, i); }),
             ContainsSubstring("from y[0] on as well"));
  CHECK_THAT(split([](const A& a, std::size_t i) { return right_place_of_other(a, i) - 1; }),
             ContainsSubstring("one place too far left"));
  CHECK_THAT(split([](const A& a, std::size_t i) { return 3000 - 1 - (i - a.kept(0, i)); }),
             ContainsSubstring("from right to left"));
  CHECK_THAT(split([](const A& a, std::size_t i) {
               const std::size_t first = i - i % 1024;
               return a.kept(0, 3000) + i - first - a.kept(first, i);
             }),
             ContainsSubstring("puts its others to the same places"));
  CHECK_THAT(diagnosis<float>(Others::behind, 3000,
                              splits_at<float>([](const A& a, std::size_t i) { return a.kept(0, i + 1); },
                                               right_place_of_other<float>)),
             ContainsSubstring("one place too far right"));
  CHECK_THAT(
      diagnosis<float>(Others::behind, 3000,
                       splits_at<float>([](const A& a, std::size_t i) { return 3000 - a.kept(0, 3000) + a.kept(0, i); },
                                        [](const A& a, std::size_t i) { return i - a.kept(0, i); })),
      ContainsSubstring("the others stand in front"));
  const auto spoilt = [](const std::function<void(A&, std::size_t)>& spoil) {
    return diagnosis<float>(Others::behind, 3000, [&](A& a) {
      splits_at<float>(right_place<float>, right_place_of_other<float>)(a);
      std::size_t at = a.kept(0, 3000) + 10;  // an element that is not an identity, and so differs from the others
      while (a.y[at] == 0 || a.y[at + 1] == 0) ++at;
      spoil(a, at);
    });
  };
  CHECK_THAT(spoilt([](A& a, std::size_t at) { std::swap(a.y[at], a.y[at + 1]); }),
             ContainsSubstring("all others stand behind them, but not in their order"));
  CHECK_THAT(spoilt([](A& a, std::size_t at) { a.y[at] = 5; }), ContainsSubstring("kept elements are right; y["));
}

TEST_CASE("a wrong number is reported by what it is the number of", "[partition]") {
  using A = Attempt<float>;
  const auto counted = [](const std::function<std::size_t(const A&)>& count, Pattern pattern = Pattern::most) {
    return diagnosis<float>(Others::dropped, 3000, counts<float>(count), pattern);
  };
  CHECK_THAT(diagnosis<float>(Others::dropped, 3000, keeps_at<float>(right_place<float>)),
             ContainsSubstring("*d_kept is never written"));
  CHECK_THAT(diagnosis<float>(Others::dropped, 0, [](A&) {}), ContainsSubstring("for n = 0 too"));
  CHECK_THAT(counted([](const A& a) { return a.kept(0, 2999); }, Pattern::all), ContainsSubstring("own flag"));
  CHECK_THAT(counted([](const A& a) { return a.kept(2048, 3000); }), ContainsSubstring("what the last section keeps:"));
  CHECK_THAT(counted([](const A& a) { return a.kept(0, 2048); }), ContainsSubstring("last section keeps is missing"));
  CHECK_THAT(counted([](const A&) { return 3000; }), ContainsSubstring("number of all elements"));
  CHECK_THAT(counted([](const A& a) { return 3072 - a.kept(0, 3000); }),
             ContainsSubstring("number of the others, with 72 places beyond the end"));
  CHECK_THAT(counted([](const A& a) { return 72 + a.kept(0, 3000); }), ContainsSubstring("counts 72 places beyond"));
  CHECK_THAT(counted([](const A& a) { return 3000 - a.kept(0, 3000); }), ContainsSubstring("number of the others"));
  CHECK_THAT(counted([](const A& a) { return 2 * a.kept(0, 3000); }), ContainsSubstring("twice"));
  CHECK_THAT(counted([](const A&) { return 0; }), ContainsSubstring("left at 0"));
  CHECK_THAT(counted([](const A&) { return 0; }, Pattern::one), ContainsSubstring("either it stays as it was"));
  CHECK_THAT(counted([](const A& a) { return a.kept(0, 3000) + 5; }), ContainsSubstring("too many are counted"));
  CHECK_THAT(counted([](const A& a) { return a.kept(0, 3000) - 5; }), ContainsSubstring("too few of them"));
  CHECK_THAT(diagnosis<float>(Others::dropped, 3000,
                              [](A& a) {
                                keeps_at<float>(right_place<float>)(a);
                                a.count += static_cast<std::int32_t>(a.kept(0, 3000));
                              }),
             ContainsSubstring("set it to 0 first"));
}

TEST_CASE("every wrong partition has a sentence", "[partition]") {
  for (const Others others : {Others::dropped, Others::behind}) {
    for (const Pattern pattern : {Pattern::half, Pattern::all, Pattern::one, Pattern::all_but_one, Pattern::mixture}) {
      for (const std::size_t n : {1u, 2u, 33u, 1025u}) {
        for (std::size_t wrong = 0; wrong < n; wrong += 11) {
          Attempt<Affine> a(n, pattern);
          Partition<Affine> right = partition_of<Affine>(a.x, others);
          std::copy(right.y.begin(), right.y.end(), a.y.begin());
          if (wrong >= right.y.size()) break;
          a.y[wrong].a += 2;
          CHECK_FALSE(recognise_partition<Affine>({a.x, a.y, 0, others, right}).text.empty());
        }
      }
    }
  }
}
