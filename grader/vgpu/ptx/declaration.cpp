#include "vgpu/ptx/declaration.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace scanlab::ptx {
namespace {

constexpr std::uint64_t largest_variable = std::uint64_t{1} << 40;  // bytes
constexpr std::uint64_t largest_alignment = std::uint64_t{1} << 20;
constexpr std::size_t most_dimensions = 16;

std::uint32_t parse_alignment(Cursor& cursor) {
  const std::uint64_t align = cursor.expect_integer("an alignment", largest_alignment);
  if (!std::has_single_bit(align)) cursor.fail("an alignment must be a power of two");
  return static_cast<std::uint32_t>(align);
}

/// The attributes in parentheses; whether `.managed` is one of them.
bool parse_attributes(Cursor& cursor) {
  bool is_managed = false;
  cursor.expect('(', "after '.attribute'");
  for (int depth = 1; depth > 0;) {
    if (cursor.peek().kind == TokenKind::end) cursor.fail_expected("')' after the attributes");
    const Token token = cursor.take();
    is_managed |= token.kind == TokenKind::directive && token.text == "managed";
    if (token.is('(')) ++depth;
    if (token.is(')')) --depth;
  }
  return is_managed;
}

std::uint64_t element_size(const DeclarationHead& head) {
  return std::uint64_t{size_of(head.type)} * head.vector_width;
}

std::uint64_t checked_product(const Cursor& cursor, std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > largest_variable) cursor.fail("a variable is too large");
  return product;
}

/// The address of a symbol as an initialiser writes it: foo, foo+8, generic(foo)+8.
struct Address {
  std::string symbol;
  std::int64_t addend = 0;
  bool generic = false;
};

/// Fills Variable::init and Variable::relocations.
class InitialiserParser {
 public:
  /// `dimensions` in elements, the innermost last; a leading 0 means as many as there are values.
  InitialiserParser(Cursor& cursor, Variable& variable, std::vector<std::uint64_t> dimensions, bool is_array,
                    InitialiserContext& context)
      : cursor_(cursor),
        variable_(variable),
        dimensions_(std::move(dimensions)),
        is_array_(is_array),
        unsized_(dimensions_.front() == 0),
        size_(size_of(variable.type)),
        context_(context) {}

  void parse() {
    if (!unsized_) {
      spend(variable_.size);
      variable_.init.resize(variable_.size);
    }
    if (!is_array_) {
      value(0);
    } else {
      std::uint64_t end = unsized_ ? largest_variable / size_ : 1;
      for (const std::uint64_t n : dimensions_) end *= unsized_ ? 1 : n;
      list(0, 0, end);
    }
    if (unsized_) variable_.size = variable_.init.size();
    open_ = false;
  }

 private:
  void spend(std::uint64_t bytes) {
    if (bytes > context_.bytes_left) cursor_.fail("the module has too much initialised data");
    context_.bytes_left -= bytes;
  }

  /// { … } of dimension `level`, which covers the elements from `begin` to `end`.
  void list(std::size_t level, std::uint64_t begin, std::uint64_t end) {
    cursor_.expect('{', "before the initial values of '" + variable_.name + "'");
    std::uint64_t stride = 1;
    for (std::size_t i = level + 1; i < dimensions_.size(); ++i) stride *= dimensions_[i];
    std::uint64_t element = begin;
    while (!cursor_.is('}')) {
      const bool nested = cursor_.is('{');
      if (nested && level + 1 >= dimensions_.size()) cursor_.fail("'" + variable_.name + "' has fewer dimensions");
      if (nested && stride != 0) element = (element + stride - 1) / stride * stride;
      const std::uint64_t count = nested ? stride : 1;
      if (element + count > end) cursor_.fail("too many initial values for '" + variable_.name + "'");
      if (nested) {
        list(level + 1, element, element + stride);
      } else {
        value(element);
      }
      element += count;
      if (!cursor_.accept(',')) break;
    }
    cursor_.expect('}', "after the initial values of '" + variable_.name + "'");
  }

  std::byte* place(std::uint64_t element) {
    const std::uint64_t end = (element + 1) * size_;
    if (end > variable_.init.size()) {
      spend(end - variable_.init.size());
      variable_.init.resize(end);
    }
    return variable_.init.data() + element * size_;
  }

  void value(std::uint64_t element) {
    std::byte* bytes = place(element);
    const Token& token = cursor_.peek();
    if (token.kind == TokenKind::identifier && token.text != "WARP_SZ") {
      add_address(element * size_, 0, static_cast<std::uint32_t>(size_), address());
    } else if (token.kind == TokenKind::integer && cursor_.ahead().is('(')) {
      masked_address(element);
    } else {
      const std::uint64_t bits = bits_of(parse_constant(cursor_));
      std::memcpy(bytes, &bits, std::min<std::size_t>(size_, sizeof bits));
    }
  }

  std::uint64_t bits_of(const Constant& constant) const {
    switch (variable_.type) {
      case Type::f32:
        return std::bit_cast<std::uint32_t>(constant.kind == Constant::Kind::single
                                                ? std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits))
                                                : static_cast<float>(constant.as_double()));
      case Type::f64:
        return std::bit_cast<std::uint64_t>(constant.as_double());
      default:
        break;
    }
    const bool fits = constant.kind == Constant::Kind::integer ||
                      size_ == (constant.kind == Constant::Kind::single ? sizeof(float) : sizeof(double));
    if (!fits) cursor_.fail("'" + variable_.name + "' cannot hold a floating-point value of this kind");
    return constant.bits;
  }

  Address address() {
    Address result;
    const std::uint32_t line = cursor_.line();
    std::string_view name = cursor_.expect_identifier("the name of a symbol");
    result.generic = name == "generic" && cursor_.is('(');
    if (result.generic) {
      cursor_.take();
      name = cursor_.expect_identifier("the name of a symbol");
      addend(result);
      cursor_.expect(')', "after the name in generic(…)");
    }
    addend(result);
    result.symbol = name;
    context_.uses.push_back({name, line});
    return result;
  }

  void addend(Address& result) {
    if (!cursor_.is('+') && !cursor_.is('-')) return;
    const std::int64_t more = parse_integer_constant(cursor_);
    if (__builtin_add_overflow(result.addend, more, &result.addend)) cursor_.fail("an offset is too large");
  }

  /// 0xFF00(foo): some bytes of an address. nvcc writes pointers in packed structures as eight such bytes.
  void masked_address(std::uint64_t element) {
    const std::uint64_t mask = cursor_.take().bits;
    if (mask == 0) cursor_.fail("a mask of an address must not be 0");
    const int low = std::countr_zero(mask) / 8;
    const int bytes = (64 - std::countl_zero(mask)) / 8 - low;
    const std::uint64_t whole = (bytes == 8 ? 0 : std::uint64_t{1} << (8 * bytes)) - 1;
    if (bytes <= 0 || mask != whole << (8 * low) || static_cast<std::uint32_t>(bytes) > size_) {
      cursor_.fail("a mask of an address must select whole bytes that fit the element");
    }
    cursor_.expect('(', "after the mask of an address");
    const Address masked = address();
    cursor_.expect(')', "after a masked address");
    add_address(element * size_, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(bytes), masked);
  }

  /// Bytes `low` to `low + bytes` of an address go to `offset`; they may continue the address before them.
  void add_address(std::uint64_t offset, std::uint32_t low, std::uint32_t bytes, const Address& address) {
    auto& all = variable_.relocations;
    if (low == 0) {
      open_ = false;
      all.push_back({offset, bytes, address.symbol, address.addend, address.generic});
      open_ = bytes < sizeof(std::uint64_t);
      return;
    }
    if (!open_ || all.back().size != low || all.back().offset + low != offset || all.back().symbol != address.symbol ||
        all.back().addend != address.addend || all.back().generic != address.generic) {
      cursor_.fail("the bytes of an address in '" + variable_.name + "' are not in order");
    }
    all.back().size += bytes;
    open_ = all.back().size < sizeof(std::uint64_t);
  }

  Cursor& cursor_;
  Variable& variable_;
  std::vector<std::uint64_t> dimensions_;
  bool is_array_;
  bool unsized_;
  std::uint64_t size_;  // bytes an element
  bool open_ = false;   // whether the last relocation may get more bytes
  InitialiserContext& context_;
};

}  // namespace

std::optional<StateSpace> state_space_from_directive(std::string_view name) {
  static constexpr std::pair<std::string_view, StateSpace> spaces[] = {
      {"reg", StateSpace::reg},       {"param", StateSpace::param}, {"global", StateSpace::global},
      {"shared", StateSpace::shared}, {"local", StateSpace::local}, {"const", StateSpace::constant},
  };
  for (const auto& [directive, space] : spaces)
    if (directive == name) return space;
  return std::nullopt;
}

DeclarationHead parse_declaration_head(Cursor& cursor, StateSpace space) {
  DeclarationHead head;
  head.space = space;
  for (;;) {
    const std::string_view word = cursor.expect_directive("a type");
    if (word == "align") {
      head.align = parse_alignment(cursor);
    } else if (word == "attribute") {
      head.is_managed |= parse_attributes(cursor);
    } else if (word == "v2" || word == "v4" || word == "v8") {
      head.vector_width = static_cast<std::uint32_t>(word[1] - '0');
    } else {
      head.type = type_from_suffix(word);
      if (head.type == Type::none) cursor.fail("'." + std::string(word) + "' is no type that this parser knows");
      break;
    }
  }
  if (space == StateSpace::reg) {
    if (head.vector_width != 1) cursor.fail("vector registers are not supported");
  } else if (head.type == Type::pred) {
    cursor.fail("'.pred' values exist in registers only");
  }
  return head;
}

Variable parse_declarator(Cursor& cursor, const DeclarationHead& head, bool is_extern, InitialiserContext& context) {
  Variable variable;
  variable.name = cursor.expect_identifier("the name of a variable");
  variable.space = head.space;
  variable.is_managed = head.is_managed;
  variable.type = head.type;
  variable.is_extern = is_extern;
  const std::uint64_t natural = element_size(head);
  variable.align = std::max(1U, head.align != 0 ? head.align : static_cast<std::uint32_t>(natural));

  std::vector<std::uint64_t> dimensions;
  while (cursor.accept('[')) {
    if (dimensions.size() == most_dimensions) cursor.fail("'" + variable.name + "' has too many dimensions");
    std::uint64_t n = 0;
    if (!cursor.is(']')) {
      const std::int64_t written = parse_integer_constant(cursor);
      if (written < 0) cursor.fail("'" + variable.name + "' has a negative size");
      n = static_cast<std::uint64_t>(written);
    } else if (!dimensions.empty()) {
      cursor.fail("only the first dimension of '" + variable.name + "' may be left open");
    }
    cursor.expect(']', "after a dimension of '" + variable.name + "'");
    dimensions.push_back(n);
  }
  const bool is_array = !dimensions.empty() || head.vector_width > 1;
  if (dimensions.empty()) dimensions.push_back(1);
  if (head.vector_width > 1) dimensions.push_back(head.vector_width);

  const bool unsized = dimensions.front() == 0;
  variable.size = size_of(head.type);
  for (std::size_t i = unsized ? 1 : 0; i < dimensions.size(); ++i) {
    variable.size = checked_product(cursor, variable.size, dimensions[i]);
  }
  if (unsized) variable.size = 0;
  if (cursor.accept('=')) {
    if (head.space != StateSpace::global && head.space != StateSpace::constant) {
      cursor.fail("only .global and .const variables have initial values, not '" + variable.name + "'");
    }
    InitialiserParser(cursor, variable, std::move(dimensions), is_array, context).parse();
  }
  return variable;
}

Variable parse_parameter(Cursor& cursor) {
  const std::string_view word = cursor.expect_directive("'.param'");
  const auto space = state_space_from_directive(word);
  if (space != StateSpace::param && space != StateSpace::reg) {
    cursor.fail("expected '.param' or '.reg', found '." + std::string(word) + "'");
  }
  const DeclarationHead head = parse_declaration_head(cursor, *space);
  // ".ptr .global .align 8" describes what the parameter points to, not the parameter.
  if (cursor.accept_directive("ptr")) {
    if (cursor.peek().kind == TokenKind::directive && state_space_from_directive(cursor.peek().text)) cursor.take();
    if (cursor.accept_directive("align")) parse_alignment(cursor);
  }
  InitialiserContext none;
  return parse_declarator(cursor, head, false, none);
}

}  // namespace scanlab::ptx
