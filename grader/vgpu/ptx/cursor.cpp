#include "vgpu/ptx/cursor.hpp"

#include <bit>
#include <limits>
#include <utility>

namespace scanlab::ptx {

double Constant::as_double() const {
  switch (kind) {
    case Kind::single:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Kind::real:
      return std::bit_cast<double>(bits);
    case Kind::integer:
      break;
  }
  return is_unsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<std::int64_t>(bits));
}

namespace {

constexpr int deepest_expression = 64;
constexpr std::uint64_t warp_size = 32;

bool begins_literal(const Token& token) {
  return token.kind == TokenKind::integer || token.kind == TokenKind::single || token.kind == TokenKind::real ||
         (token.kind == TokenKind::identifier && token.text == "WARP_SZ");
}

/// Precedence climbing over the operators of C, without assignment.
class ConstantParser {
 public:
  explicit ConstantParser(Cursor& cursor) : cursor_(cursor) {}

  Constant conditional(int depth) {
    const Constant condition = binary(1, depth);
    if (!cursor_.is('?')) return condition;
    cursor_.take();
    const Constant yes = conditional(deeper(depth));
    cursor_.expect(':', "in a constant expression");
    const Constant no = conditional(deeper(depth));
    return truth(condition) ? yes : no;
  }

 private:
  int deeper(int depth) const {
    if (depth >= deepest_expression) cursor_.fail("a constant expression is nested too deeply");
    return depth + 1;
  }

  bool truth(const Constant& value) const { return integer(value).bits != 0; }

  const Constant& integer(const Constant& value) const {
    if (value.kind != Constant::Kind::integer) cursor_.fail("a constant expression needs an integer here");
    return value;
  }

  /// How strongly an operator binds; 0 for what is none.
  static int precedence(const Token& token) {
    static constexpr std::pair<std::uint16_t, int> operators[] = {
        {punct('|', '|'), 1}, {punct('&', '&'), 2}, {punct('|'), 3},      {punct('^'), 4}, {punct('&'), 5},
        {punct('=', '='), 6}, {punct('!', '='), 6}, {punct('<'), 7},      {punct('>'), 7}, {punct('<', '='), 7},
        {punct('>', '='), 7}, {punct('<', '<'), 8}, {punct('>', '>'), 8}, {punct('+'), 9}, {punct('-'), 9},
        {punct('*'), 10},     {punct('/'), 10},     {punct('%'), 10}};
    for (const auto& [punctuation, strength] : operators)
      if (punctuation == token.punctuation) return strength;
    return 0;
  }

  Constant binary(int weakest, int depth) {
    Constant left = unary(depth);
    for (;;) {
      const Token op = cursor_.peek();
      const int strength = precedence(op);
      if (strength < weakest || strength == 0) return left;
      cursor_.take();
      const Constant right = binary(strength + 1, deeper(depth));
      left = apply(op, left, right);
    }
  }

  Constant apply(const Token& op, const Constant& left, const Constant& right) const {
    if (left.kind != Constant::Kind::integer || right.kind != Constant::Kind::integer)
      return apply_real(op, left, right);
    const std::uint64_t a = left.bits;
    const std::uint64_t b = right.bits;
    const auto sa = static_cast<std::int64_t>(a);
    const auto sb = static_cast<std::int64_t>(b);
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const auto arithmetic = [&](std::uint64_t bits) { return Constant{Constant::Kind::integer, is_unsigned, bits}; };
    const auto comparison = [](bool holds) { return Constant{Constant::Kind::integer, false, holds ? 1U : 0U}; };
    if (op.is('|', '|')) return comparison(a != 0 || b != 0);
    if (op.is('&', '&')) return comparison(a != 0 && b != 0);
    if (op.is('|')) return arithmetic(a | b);
    if (op.is('^')) return arithmetic(a ^ b);
    if (op.is('&')) return arithmetic(a & b);
    if (op.is('=', '=')) return comparison(a == b);
    if (op.is('!', '=')) return comparison(a != b);
    if (op.is('<')) return comparison(is_unsigned ? a < b : sa < sb);
    if (op.is('>')) return comparison(is_unsigned ? a > b : sa > sb);
    if (op.is('<', '=')) return comparison(is_unsigned ? a <= b : sa <= sb);
    if (op.is('>', '=')) return comparison(is_unsigned ? a >= b : sa >= sb);
    if (op.is('<', '<')) return {Constant::Kind::integer, left.is_unsigned, b > 63 ? 0 : a << b};
    if (op.is('>', '>')) {
      if (left.is_unsigned) return {Constant::Kind::integer, true, b > 63 ? 0 : a >> b};
      return {Constant::Kind::integer, false, static_cast<std::uint64_t>(sa >> (b > 63 ? 63 : b))};
    }
    if (op.is('+')) return arithmetic(a + b);
    if (op.is('-')) return arithmetic(a - b);
    if (op.is('*')) return arithmetic(a * b);
    if (b == 0) cursor_.fail("a constant expression divides by zero");
    const bool quotient = op.is('/');
    if (is_unsigned) return arithmetic(quotient ? a / b : a % b);
    if (sb == -1) return arithmetic(quotient ? 0 - a : 0);  // the smallest integer / -1 overflows in C++
    return arithmetic(static_cast<std::uint64_t>(quotient ? sa / sb : sa % sb));
  }

  Constant apply_real(const Token& op, const Constant& left, const Constant& right) const {
    static_assert(std::numeric_limits<double>::is_iec559);
    const double a = left.as_double(), b = right.as_double();
    const auto real = [](double value) {
      return Constant{Constant::Kind::real, false, std::bit_cast<std::uint64_t>(value)};
    };
    if (op.is('+')) return real(a + b);
    if (op.is('-')) return real(a - b);
    if (op.is('*')) return real(a * b);
    if (!op.is('/')) cursor_.fail("a constant expression needs integers for '" + std::string(op.text) + "'");
    if (b == 0) cursor_.fail("a constant expression divides by zero");
    return real(a / b);
  }

  Constant unary(int depth) {
    if (cursor_.accept('+')) return unary(deeper(depth));
    if (cursor_.accept('-')) {
      Constant value = unary(deeper(depth));
      if (value.kind == Constant::Kind::integer)
        value.bits = 0 - value.bits;
      else
        value.bits ^= std::uint64_t{1} << (value.kind == Constant::Kind::single ? 31 : 63);
      return value;
    }
    if (cursor_.accept('!')) return {Constant::Kind::integer, false, truth(unary(deeper(depth))) ? 0U : 1U};
    if (cursor_.accept('~')) {
      const Constant value = integer(unary(deeper(depth)));
      return {Constant::Kind::integer, value.is_unsigned, ~value.bits};
    }
    if (cursor_.is('(')) return parenthesis(depth);
    return literal();
  }

  /// ( expression ), or a cast: (.s64) operand, (.u64) operand.
  Constant parenthesis(int depth) {
    cursor_.take();
    if (cursor_.at_directive("s64") || cursor_.at_directive("u64")) {
      const bool to_unsigned = cursor_.take().text == "u64";
      cursor_.expect(')', "after the type of a cast");
      const Constant value = integer(unary(deeper(depth)));
      return {Constant::Kind::integer, to_unsigned, value.bits};
    }
    const Constant value = conditional(deeper(depth));
    cursor_.expect(')', "in a constant expression");
    return value;
  }

  Constant literal() {
    const TokenKind kind = cursor_.peek().kind;
    if (!begins_literal(cursor_.peek())) cursor_.fail_expected("a constant");
    const Token taken = cursor_.take();
    if (kind == TokenKind::identifier) return {Constant::Kind::integer, false, warp_size};
    if (kind == TokenKind::integer) return {Constant::Kind::integer, taken.is_unsigned, taken.bits};
    return {kind == TokenKind::single ? Constant::Kind::single : Constant::Kind::real, false, taken.bits};
  }

  Cursor& cursor_;
};

}  // namespace

bool begins_constant(const Token& token) {
  return begins_literal(token) || token.is('-') || token.is('+') || token.is('~') || token.is('!') || token.is('(');
}

Constant parse_constant(Cursor& cursor) {
  return ConstantParser(cursor).conditional(0);
}

std::int64_t parse_integer_constant(Cursor& cursor) {
  const Constant value = parse_constant(cursor);
  if (value.kind != Constant::Kind::integer) cursor.fail("expected an integer, found a floating-point number");
  return static_cast<std::int64_t>(value.bits);
}

}  // namespace scanlab::ptx
