// Random numbers out of a fuzzer's input, or out of a seed.
#pragma once

#include <cstdint>
#include <span>

namespace scanlab::fuzz {

using Bytes = std::span<const std::uint8_t>;

/// Numbers drawn from an input, two bytes each; when it has come to its end, from a generator that the input seeds. So
/// that one request, or one action of a runner, changes when its own bytes do and no other.
class Draws {
 public:
  explicit Draws(Bytes input) : input_(input) {
    for (const std::uint8_t byte : input) seed_ = (seed_ ^ byte) * 0x100000001B3;
  }
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t operator()() {
    if (input_.size() < 2) return after_the_end();
    const std::uint64_t drawn = static_cast<std::uint64_t>(input_[0] | input_[1] << 8);
    input_ = input_.subspan(2);
    // Half of them small, half of them anything.
    return drawn < 0x8000 ? drawn : (drawn ^ drawn << 21) * 0x9E3779B97F4A7C15;
  }

 private:
  std::uint64_t after_the_end() {
    std::uint64_t x = seed_ += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
  }

  Bytes input_;
  std::uint64_t seed_ = 0xCBF29CE484222325;
};

}  // namespace scanlab::fuzz
