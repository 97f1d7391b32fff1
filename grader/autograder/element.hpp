// The two element types that submissions are compiled for, as the judge sees them: floats, and affine maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "vgpu/core/contract.hpp"

namespace scanlab::grade {

/// The map x -> a * x + b modulo 2^32, laid out as scanlab.cuh's Element: exact, associative, not commutative.
struct Affine {
  std::uint32_t a = 1, b = 0;
  bool operator==(const Affine&) const = default;
};
static_assert(sizeof(Affine) == 8);

/// Its name is also the key of the runner that was built for it.
using ElementType = contract::Element;
std::size_t bytes_of(ElementType type);

/// The scan's operator: apply `earlier`, then `later`.
inline Affine combine(Affine earlier, Affine later) {
  return {earlier.a * later.a, later.a * earlier.b + later.b};
}
inline float combine(float earlier, float later) {
  return earlier + later;
}

/// 0, and the map that changes nothing.
template <typename T>
T identity() {
  return {};
}

/// What compaction keeps, and a split puts in front: scanlab.cuh's keep(element).
inline bool is_kept(float element) {
  return element > 0;
}
inline bool is_kept(Affine element) {
  return element.b % 2 != 0;
}

/// The byte that fills an output before each call. As floats it makes NaN, so that whatever is computed from an
/// unwritten output stays visibly wrong; ordinary garbage such as -1e-16 would vanish in a rounded sum.
inline constexpr unsigned char unwritten_byte = 0xFF;
/// True when these are still the bytes that the judge put there. (A device's own NaN has another bit pattern.)
bool is_unwritten(float value);
bool is_unwritten(Affine value);

/// The bytes that fill *d_kept before each call. They make a number far below 0: what a submission adds to it, instead
/// of setting it first, stays recognisable.
inline constexpr unsigned char unwritten_count_byte = 0x81;
inline constexpr std::int32_t unwritten_count = static_cast<std::int32_t>(0x01010101u * unwritten_count_byte);

/// As messages show it: "523776", "0.333333343", "(a = 3, b = 17)", "unwritten".
std::string text_of(float value);
std::string text_of(Affine value);
/// … of *d_kept.
std::string text_of_count(std::int32_t count);
/// "1 element", "33 elements".
std::string elements_text(std::size_t n);
/// "3 of 33 elements are wrong, the last is y[32]".
std::string wrong_text(std::size_t wrong, std::size_t n, std::size_t last);

}  // namespace scanlab::grade
