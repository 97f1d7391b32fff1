#include "autograder/partition/partition_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "autograder/check/inputs.hpp"

namespace scanlab::grade {

namespace {

using Flags = std::vector<char>;

void fill_by_chance(Flags& flags, std::size_t begin, std::size_t end, std::uint64_t sixteenths, Random& random) {
  for (std::size_t i = begin; i < end; ++i) flags[i] = random.below(16) < sixteenths;
}

void fill_runs(Flags& flags, std::size_t begin, std::size_t end, Random& random) {
  bool kept = random.below(2) == 0;
  while (begin < end) {
    const std::size_t next = std::min<std::size_t>(end, begin + 1 + random.below(100));
    std::fill(flags.begin() + static_cast<std::ptrdiff_t>(begin), flags.begin() + static_cast<std::ptrdiff_t>(next),
              kept);
    begin = next;
    kept = !kept;
  }
}

/// Stretches that end anywhere: sections and warps begin and end within all patterns. Each pattern comes as often as
/// the others, in a random order, so that the share of kept elements is close to a half.
void fill_mixture(Flags& flags, Random& random) {
  constexpr int runs = -1;
  std::array kinds = {0, 1, 8, 8, 15, 16, runs};  // chances in sixteenths
  const std::size_t longest = std::clamp<std::size_t>(flags.size() / 4, 32, 2048);
  std::size_t next = kinds.size();
  for (std::size_t begin = 0; begin < flags.size();) {
    if (next == kinds.size()) {
      for (std::size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[random.below(i)]);
      next = 0;
    }
    const std::size_t end = std::min<std::size_t>(flags.size(), begin + 1 + random.below(longest));
    const int kind = kinds[next++];
    if (kind == runs) {
      fill_runs(flags, begin, end, random);
    } else {
      fill_by_chance(flags, begin, end, static_cast<std::uint64_t>(kind), random);
    }
    begin = end;
  }
}

/// The same element, kept or not.
float with_flag(float x, bool is_kept) {
  return std::copysign(x, is_kept ? 1.0f : -1.0f);
}
Affine with_flag(Affine x, bool is_kept) {
  return {x.a, is_kept ? x.b | 1u : x.b & ~1u};
}

}  // namespace

Pattern pattern_of(const Case& which) {
  constexpr std::array others = {Pattern::half, Pattern::none,        Pattern::few,  Pattern::all,
                                 Pattern::runs, Pattern::all_but_one, Pattern::most, Pattern::one};
  if (which.repeat == 0) return Pattern::mixture;
  return others[(which.n + which.repeat + static_cast<std::size_t>(which.data_order)) % others.size()];
}

std::vector<char> kept_flags(std::size_t n, Pattern pattern, std::uint64_t seed) {
  Random random(seed);
  Flags flags(n, pattern == Pattern::all || pattern == Pattern::all_but_one);
  if (pattern == Pattern::mixture) fill_mixture(flags, random);
  if (pattern == Pattern::half) fill_by_chance(flags, 0, n, 8, random);
  if (pattern == Pattern::few) fill_by_chance(flags, 0, n, 1, random);
  if (pattern == Pattern::most) fill_by_chance(flags, 0, n, 15, random);
  if (pattern == Pattern::runs) fill_runs(flags, 0, n, random);
  if ((pattern == Pattern::one || pattern == Pattern::all_but_one) && n > 0) flags[random.below(n)] ^= 1;
  return flags;
}

template <typename T>
std::vector<T> partition_input(std::size_t n, Pattern pattern, std::uint64_t seed) {
  Random random(mix(seed, "identities"));
  const Flags flags = kept_flags(n, pattern, mix(seed, "flags"));
  std::vector<T> x = make_input<T>(n, 0, Family::magnitudes, seed);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = with_flag(x[i], flags[i]);
    if (!flags[i] && random.below(4) == 0) x[i] = identity<T>();
  }
  return x;
}

template std::vector<float> partition_input(std::size_t, Pattern, std::uint64_t);
template std::vector<Affine> partition_input(std::size_t, Pattern, std::uint64_t);

}  // namespace scanlab::grade
