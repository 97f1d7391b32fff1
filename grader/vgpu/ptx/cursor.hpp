// A place in the token stream with one token of look-ahead, and the constant expressions of PTX (ISA chapter 4.6).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "vgpu/ptx/lexer.hpp"

namespace scanlab::ptx {

/// Every reading function throws ParseError when the text has something else.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : lexer_(text), current_(lexer_.next()), ahead_(lexer_.next()) {}

  const Token& peek() const { return current_; }
  const Token& ahead() const { return ahead_; }
  Token take() {
    const Token taken = std::exchange(current_, ahead_);
    ahead_ = lexer_.next();
    return taken;
  }

  bool is(char first, char second = '\0') const { return current_.is(first, second); }
  bool at_directive(std::string_view name) const {
    return current_.kind == TokenKind::directive && current_.text == name;
  }
  bool accept(char c) {
    if (!is(c)) return false;
    take();
    return true;
  }
  bool accept_directive(std::string_view name) {
    if (!at_directive(name)) return false;
    take();
    return true;
  }
  /// `where` completes "expected ';' …", for instance "after 'add.s32'".
  void expect(char c, std::string_view where) {
    if (!accept(c)) fail_expected("'" + std::string(1, c) + "' " + std::string(where));
  }
  /// Up to the next such character.
  void skip_to(char c, std::string_view where) {
    while (!is(c)) {
      if (current_.kind == TokenKind::end) fail_expected("'" + std::string(1, c) + "' " + std::string(where));
      take();
    }
  }
  std::string_view expect_identifier(std::string_view what) { return expect(TokenKind::identifier, what).text; }
  std::string_view expect_directive(std::string_view what) { return expect(TokenKind::directive, what).text; }
  std::string_view expect_string(std::string_view what) { return expect(TokenKind::string, what).text; }
  /// An integer literal from 0 to `limit`.
  std::uint64_t expect_integer(std::string_view what, std::uint64_t limit) {
    if (current_.kind == TokenKind::integer && current_.bits > limit)
      fail(std::string(what) + " is too large: " + spelling(current_));
    return expect(TokenKind::integer, what).bits;
  }

  std::uint32_t line() const { return current_.line; }
  [[noreturn]] void fail(const std::string& message) const { fail_at(current_.line, message); }
  /// "expected WHAT, found TOKEN".
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail("expected " + std::string(what) + ", found " + spelling(current_));
  }

 private:
  Token expect(TokenKind kind, std::string_view what) {
    if (current_.kind != kind) fail_expected(what);
    return take();
  }

  Lexer lexer_;
  Token current_;
  Token ahead_;
};

/// The value of a constant expression.
struct Constant {
  enum class Kind : std::uint8_t { integer, single, real };
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  std::uint64_t bits = 0;  ///< two's complement, a float in the low half, or a double

  double as_double() const;
};

/// Whether the token can begin a constant expression.
bool begins_constant(const Token& token);
/// Reads and evaluates one; integers have 64 bits, signed unless an operand is unsigned, as in C.
Constant parse_constant(Cursor& cursor);
/// The same, integers only, as two's complement.
std::int64_t parse_integer_constant(Cursor& cursor);

}  // namespace scanlab::ptx
