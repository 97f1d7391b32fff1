// Input data by seed: chosen so that mistakes show in the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "autograder/element.hpp"

namespace scanlab::grade {

/// What Random(seed) gives at the k-th call, k from 1, as a function.
inline std::uint64_t random_number(std::uint64_t seed, std::uint64_t k) {
  std::uint64_t z = seed + k * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// SplitMix64 (public domain, Sebastiano Vigna): small, seedable, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() { return random_number(seed_, ++calls_); }
  /// Uniform in [0, bound), bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t seed_, calls_ = 0;
};

/// Mixes names and numbers into a seed, so that every call of every check has data of its own.
std::uint64_t mix(std::uint64_t seed, std::uint64_t value);
std::uint64_t mix(std::uint64_t seed, std::string_view text);

/// Which floats: `integers` are added without any rounding, whatever the order, and so prove the arithmetic to the last
/// bit; `magnitudes` are rounded, and so look like real data.
enum class Family { integers, magnitudes };

/// `n` small nonzero integers of both signs, more positive than negative, so that no sum hides a mistake by symmetry.
/// The absolute values of any `section` consecutive ones (0: of all) sum to at most 2^24, for as long as there are
/// fewer than 2^24 of them: every partial sum, in any order, is then exact in a float.
std::vector<float> integer_floats(std::size_t n, std::size_t section, std::uint64_t seed);

/// `n` floats of both signs with full 24-bit fractions and magnitudes from 2^-10 to 2^6.
std::vector<float> magnitude_floats(std::size_t n, std::uint64_t seed);

/// `n` maps with random odd a (so that no map forgets what came before it) and random b.
std::vector<Affine> affine_maps(std::size_t n, std::uint64_t seed);

/// The input of one call.
template <typename T>
std::vector<T> make_input(std::size_t n, std::size_t section, Family family, std::uint64_t seed);

}  // namespace scanlab::grade
