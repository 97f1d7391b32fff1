#include "autograder/element.hpp"

#include <fmt/format.h>

#include <bit>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::grade {

namespace {
bool is_unwritten(std::uint32_t word) {
  return word == 0x01010101u * unwritten_byte || word == vgpu::unwritten_output;
}
}  // namespace

std::size_t bytes_of(ElementType type) {
  return type == ElementType::float_ ? sizeof(float) : sizeof(Affine);
}

bool is_unwritten(float value) {
  return is_unwritten(std::bit_cast<std::uint32_t>(value));
}

bool is_unwritten(Affine value) {
  return value.a == value.b && is_unwritten(value.a);
}

std::string text_of(float value) {
  if (is_unwritten(value)) return "unwritten";
  if (value == 0) return "0";  // not "-0"
  return fmt::format("{:.9g}", value);
}

std::string text_of(Affine value) {
  if (is_unwritten(value)) return "unwritten";
  return fmt::format("(a = {}, b = {})", value.a, value.b);
}

std::string text_of_count(std::int32_t count) {
  return count == unwritten_count ? "unwritten" : fmt::to_string(count);
}

std::string elements_text(std::size_t n) {
  return n == 1 ? "1 element" : fmt::format("{} elements", n);
}

std::string wrong_text(std::size_t wrong, std::size_t n, std::size_t last) {
  return wrong == 1 ? fmt::format("1 of {} is wrong", elements_text(n))
                    : fmt::format("{} of {} elements are wrong, the last is y[{}]", wrong, n, last);
}

}  // namespace scanlab::grade
