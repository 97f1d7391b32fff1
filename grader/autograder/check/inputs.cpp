#include "autograder/check/inputs.hpp"

#include <algorithm>
#include <cmath>

namespace scanlab::grade {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  return Random(Random(seed).next() ^ (value * 0xD6E8FEB86659FD93u)).next();
}

std::uint64_t mix(std::uint64_t seed, std::string_view text) {
  for (const char c : text) seed = mix(seed, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return seed;
}

std::vector<float> integer_floats(std::size_t n, std::size_t section, std::uint64_t seed) {
  constexpr std::uint64_t exact_limit = 1u << 24;
  const std::uint64_t terms = std::max<std::uint64_t>(section == 0 ? n : std::min(section, n), 1);
  const std::uint64_t largest = std::clamp<std::uint64_t>(exact_limit / terms, 1, 9);
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const auto magnitude = static_cast<float>(1 + random.below(largest));
    value = random.below(3) == 0 ? -magnitude : magnitude;
  }
  return values;
}

std::vector<float> magnitude_floats(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const std::uint64_t bits = random.next();
    const auto fraction = static_cast<float>((1u << 23) | (bits & 0x7FFFFF));  // 24 bits, the highest one set
    const int exponent = static_cast<int>((bits >> 23) & 0xF) - 10 - 23;
    const float magnitude = std::ldexp(fraction, exponent);
    value = random.below(3) == 0 ? -magnitude : magnitude;
  }
  return values;
}

std::vector<Affine> affine_maps(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<Affine> values(n);
  for (Affine& value : values) {
    const std::uint64_t bits = random.next();
    value = {static_cast<std::uint32_t>(bits) | 1u, static_cast<std::uint32_t>(bits >> 32)};
  }
  return values;
}

template <>
std::vector<float> make_input(std::size_t n, std::size_t section, Family family, std::uint64_t seed) {
  return family == Family::integers ? integer_floats(n, section, seed) : magnitude_floats(n, seed);
}

template <>
std::vector<Affine> make_input(std::size_t n, std::size_t, Family, std::uint64_t seed) {
  return affine_maps(n, seed);
}

}  // namespace scanlab::grade
