// What libFuzzer is given: for each target what an input is, how it is changed, and what must hold of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../draws.hpp"

namespace scanlab::fuzz {

using Random = std::mt19937_64;

/// libFuzzer's own changes to bytes, in place; the new size, at most `most`.
std::size_t change_bytes(std::uint8_t* data, std::size_t size, std::size_t most);

struct Target {
  std::string_view name;
  void (*run)(Bytes input);
  /// A changed input, from this one and from others that came before it.
  std::string (*change)(std::string input, const std::vector<std::string>& others, Random& random);
  void (*begin)() = nullptr;  ///< once, before the first
};

extern const Target ptx_target, kernels_target, fatbin_target, session_target, runner_target, plan_target;

/// Something that must always hold does not: libFuzzer keeps the input.
[[noreturn]] inline void broken(const std::string& what) {
  std::fprintf(stderr, "BROKEN: %s\n", what.c_str());
  std::abort();
}

inline std::string text_of(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// The input is a list of records of `bytes` each: one more, one less, one elsewhere, or one changed.
std::string change_records(std::string input, std::size_t bytes, const std::vector<std::string>& others,
                           Random& random);

}  // namespace scanlab::fuzz
