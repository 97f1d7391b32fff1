// Splits a PTX text into tokens: PTX ISA chapter 4, with directives (".visible") and modifiers (".f32") as one kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {

enum class TokenKind : std::uint8_t {
  end,
  identifier,  ///< foo, %r1, $L__BB0_2, and the lone "_"
  directive,   ///< a dot and what follows it, "::" included; `text` is without the dot
  integer,     ///< `bits`
  real,        ///< `bits` of a double: 0d… or decimal
  single,      ///< `bits` of a float in the low half: 0f…
  string,      ///< `text` is what stands between the quotes, escapes as written
  punctuation,
};

/// The code of a punctuation token of one or two characters.
constexpr std::uint16_t punct(char first, char second = '\0') {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(first) | (static_cast<unsigned char>(second) << 8));
}

/// Views into the text that the lexer was made with.
struct Token {
  TokenKind kind = TokenKind::end;
  bool is_unsigned = false;       ///< integer written with U, or too large for a signed one
  std::uint16_t punctuation = 0;  ///< punct(…), 0 for every other kind
  std::uint32_t line = 1;         ///< 1-based
  std::uint64_t bits = 0;
  std::string_view text;  ///< as written (see the kinds)

  bool is(char first, char second = '\0') const { return punctuation == punct(first, second); }
};

/// Reads one token after another. Throws ParseError for a character or a number that PTX does not have.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();

 private:
  void skip_blanks();
  Token made(Token token, TokenKind kind, std::size_t begin, std::size_t end) const;
  Token number(Token token);
  Token bits_of_float(Token token, TokenKind kind, std::size_t digits);
  Token decimal_float(Token token, std::size_t end);
  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
};

// Not <cctype>: its answers depend on the locale, and it is undefined for negative characters.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool continues_name(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

/// A ParseError whose text names the line.
[[noreturn]] void fail_at(std::uint32_t line, const std::string& message);
/// What a message calls a token: "'foo'", "'.visible'", "the end of the text".
std::string spelling(const Token& token);

}  // namespace scanlab::ptx
