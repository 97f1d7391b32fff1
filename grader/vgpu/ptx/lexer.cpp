#include "vgpu/ptx/lexer.hpp"

#include <bit>
#include <charconv>

#include "vgpu/ptx/characters.hpp"

namespace scanlab::ptx {
namespace {

bool starts_name(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

constexpr std::string_view two_character_operators[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
constexpr std::size_t longest_quoted_spelling = 60;

}  // namespace

void fail_at(std::uint32_t line, const std::string& message) {
  throw ParseError("PTX line " + std::to_string(line) + ": " + message, line);
}

std::string spelling(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  std::string text(token.text.substr(0, longest_quoted_spelling));
  if (token.text.size() > longest_quoted_spelling) text += "…";
  if (token.kind == TokenKind::string) return "\"" + text + "\"";
  return (token.kind == TokenKind::directive ? "'." : "'") + text + "'";
}

void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
      ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == '/' && at(position_ + 1) == '*') {
      const std::size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) fail_at(line_, "a /* comment does not end");
      for (; position_ < end; ++position_) line_ += text_[position_] == '\n';
      position_ = end + 2;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_blanks();
  Token token;
  token.line = line_;
  if (position_ >= text_.size()) return token;

  const std::size_t begin = position_;
  const char c = text_[begin];
  if (starts_name(c) && (c != '%' || continues_name(at(begin + 1)))) {
    do ++position_;
    while (continues_name(at(position_)));
    token.kind = TokenKind::identifier;
    token.text = text_.substr(begin, position_ - begin);
    return token;
  }
  if (is_digit(c)) return number(token);
  if (c == '.' && continues_name(at(begin + 1))) {
    ++position_;
    while (continues_name(at(position_)) ||
           (at(position_) == ':' && at(position_ + 1) == ':' && continues_name(at(position_ + 2)))) {
      position_ += at(position_) == ':' ? 2 : 1;
    }
    token.kind = TokenKind::directive;
    token.text = text_.substr(begin + 1, position_ - begin - 1);
    return token;
  }
  if (c == '"') {
    ++position_;
    while (at(position_) != '"') {
      if (at(position_) == '\\') ++position_;
      if (position_ >= text_.size() || text_[position_] == '\n') fail_at(line_, "a string does not end on its line");
      ++position_;
    }
    token.kind = TokenKind::string;
    token.text = text_.substr(begin + 1, position_ - begin - 1);
    ++position_;
    return token;
  }
  token.kind = TokenKind::punctuation;
  for (const std::string_view operator_text : two_character_operators) {
    if (text_.substr(begin, 2) != operator_text) continue;
    position_ += 2;
    token.text = text_.substr(begin, 2);
    token.punctuation = punct(operator_text[0], operator_text[1]);
    return token;
  }
  if (std::string_view("{}()[]<>,;:@!|&^~?=+-*/%").find(c) == std::string_view::npos) {
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    fail_at(line_, std::string("a character that PTX does not have: 0x") + digits[byte >> 4] + digits[byte & 15]);
  }
  ++position_;
  token.text = text_.substr(begin, 1);
  token.punctuation = punct(c);
  return token;
}

Token Lexer::bits_of_float(Token token, TokenKind kind, std::size_t digits) {
  const std::size_t begin = position_;
  position_ += 2;
  for (std::size_t i = 0; i < digits; ++i, ++position_) {
    const int value = hex_value(at(position_));
    if (value > 15) fail_at(line_, "a floating-point constant needs " + std::to_string(digits) + " hexadecimal digits");
    token.bits = token.bits << 4 | static_cast<unsigned>(value);
  }
  if (continues_name(at(position_))) fail_at(line_, "a floating-point constant has too many digits");
  token.kind = kind;
  token.text = text_.substr(begin, position_ - begin);
  return token;
}

Token Lexer::decimal_float(Token token, std::size_t end) {
  if (at(end) == '.') {
    ++end;
    while (is_digit(at(end))) ++end;
  }
  if (at(end) == 'e' || at(end) == 'E') {
    ++end;
    if (at(end) == '+' || at(end) == '-') ++end;
    while (is_digit(at(end))) ++end;
  }
  token.kind = TokenKind::real;
  token.text = text_.substr(position_, end - position_);
  double value = 0;
  const auto [rest, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (error != std::errc{} || rest != token.text.data() + token.text.size() || continues_name(at(end))) {
    fail_at(line_, "no number: " + spelling(token));
  }
  token.bits = std::bit_cast<std::uint64_t>(value);
  position_ = end;
  return token;
}

Token Lexer::number(Token token) {
  const char prefix = at(position_) == '0' ? at(position_ + 1) : '\0';
  if (prefix == 'f' || prefix == 'F') return bits_of_float(token, TokenKind::single, 8);
  if (prefix == 'd' || prefix == 'D') return bits_of_float(token, TokenKind::real, 16);

  std::size_t end = position_;
  unsigned base = 10;
  if (prefix == 'x' || prefix == 'X') {
    base = 16;
    end += 2;
  } else if (prefix == 'b' || prefix == 'B') {
    base = 2;
    end += 2;
  } else {
    while (is_digit(at(end))) ++end;
    if (at(end) == '.' || at(end) == 'e' || at(end) == 'E') return decimal_float(token, end);
    end = position_;
    if (is_digit(prefix)) base = 8;
  }
  const std::size_t first_digit = end;
  bool overflows = false;
  for (; static_cast<unsigned>(hex_value(at(end))) < base; ++end) {
    overflows |= __builtin_mul_overflow(token.bits, std::uint64_t{base}, &token.bits);
    overflows |= __builtin_add_overflow(token.bits, static_cast<std::uint64_t>(hex_value(at(end))), &token.bits);
  }
  token.kind = TokenKind::integer;
  token.is_unsigned = token.bits >> 63 != 0;
  const bool has_digits = end > first_digit;
  if (at(end) == 'U') {
    ++end;
    token.is_unsigned = true;
  }
  token.text = text_.substr(position_, end - position_);
  if (!has_digits || continues_name(at(end))) fail_at(line_, "no number: " + spelling(token));
  if (overflows) fail_at(line_, "more than 64 bits: " + spelling(token));
  position_ = end;
  return token;
}

}  // namespace scanlab::ptx
