// Which characters names and numbers of PTX are made of. Not <cctype>: its answers depend on the locale, and it is
// undefined for negative characters.
#pragma once

namespace scanlab::ptx {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool continues_name(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

}  // namespace scanlab::ptx
