// Variables at module level and in bodies, and their initial values.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "texts.hpp"

using namespace scanlab::ptx;
using namespace scanlab::ptx::test;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class T>
std::vector<T> values(const Variable& variable) {
  std::vector<T> result(variable.init.size() / sizeof(T));
  std::memcpy(result.data(), variable.init.data(), result.size() * sizeof(T));
  return result;
}

}  // namespace

TEST_CASE("a variable's size is the product of its dimensions and its vector width") {
  struct Case {
    std::string text;
    std::uint64_t size;
    std::uint32_t align;
  };
  const Case c = GENERATE(Case{".global .u32 x;", 4, 4}, Case{".global .align 8 .b8 x[24];", 24, 8},
                          Case{".const .f64 x[2][3][5];", 240, 8}, Case{".shared .v4 .f32 x[7];", 112, 16},
                          Case{".global .b128 x;", 16, 16}, Case{".extern .shared .align 16 .b8 x[];", 0, 16},
                          Case{".global .align 1 .b8 x[1099511627776];", std::uint64_t{1} << 40, 1},
                          Case{".global .attribute(.managed) .align 4 .u32 x;", 4, 4},
                          Case{".global .attribute(.unified(0x1234, 5)) .u16 x[(2+3)*4];", 40, 2});
  CAPTURE(c.text);
  const Module module = parse_items(c.text);
  const Variable& x = variable(module, "x");
  CHECK(x.size == c.size);
  CHECK(x.align == c.align);
  CHECK(x.init.empty());
}

TEST_CASE("a variable without initial values takes no memory, however large it is") {
  const Module module = parse_items(".global .b8 x[1099511627776]; .shared .b8 y[1099511627776];");
  CHECK(variable(module, "x").init.empty());
  CHECK(variable(module, "y").init.empty());
}

TEST_CASE("a variable that is too large, negative or oddly aligned is refused") {
  CHECK_THAT(error_of(header + ".global .b8 x[1099511627777];"), ContainsSubstring("too large"));
  CHECK_THAT(error_of(header + ".global .b64 x[4294967296][4294967296];"), ContainsSubstring("too large"));
  CHECK_THAT(error_of(header + ".global .b64 x[][4294967296][4294967296];"), ContainsSubstring("too large"));
  CHECK_THAT(error_of(header + ".global .b8 x[-1];"), ContainsSubstring("negative"));
  CHECK_THAT(error_of(header + ".global .align 3 .b8 x;"), ContainsSubstring("power of two"));
  CHECK_THAT(error_of(header + ".global .b8 x[999999999999] = {1};"), ContainsSubstring("too much initialised data"));
}

TEST_CASE("initial values fill the variable, and what is not written is zero") {
  const Module module = parse_items(R"(
    .global .align 4 .b8 bytes[6] = {1, 0x02, 03, 0b100, 0XFF};
    .const .s16 shorts[3] = {-1, 2, -32768};
    .global .u64 wide = 0xFFFFFFFFFFFFFFFFU;
    .global .f32 floats[4] = {0f3F800000, -2.5, 1e10, 3};
    .global .f64 doubles[3] = {0d3FF0000000000000, -0.5, 0f40000000};
    .global .u32 open[] = {7, 8, 9};
    .global .s32 sums[4] = {1+2*3, (1<<4)|1, 7 > 3 ? 10 : 20, ~0};
    .global .b32 raw = 0f3F800000;
  )");
  CHECK(values<std::uint8_t>(variable(module, "bytes")) == std::vector<std::uint8_t>{1, 2, 3, 4, 255, 0});
  CHECK(values<std::int16_t>(variable(module, "shorts")) == std::vector<std::int16_t>{-1, 2, -32768});
  CHECK(values<std::uint64_t>(variable(module, "wide")) == std::vector<std::uint64_t>{~std::uint64_t{0}});
  CHECK(values<float>(variable(module, "floats")) == std::vector<float>{1.0F, -2.5F, 1e10F, 3.0F});
  CHECK(values<double>(variable(module, "doubles")) == std::vector<double>{1.0, -0.5, 2.0});
  CHECK(variable(module, "open").size == 12);
  CHECK(values<std::uint32_t>(variable(module, "open")) == std::vector<std::uint32_t>{7, 8, 9});
  CHECK(values<std::int32_t>(variable(module, "sums")) == std::vector<std::int32_t>{7, 17, 10, -1});
  CHECK(values<std::uint32_t>(variable(module, "raw")) == std::vector<std::uint32_t>{0x3F800000});
}

TEST_CASE("inner braces begin at the next row of an array") {
  const Module module = parse_items(R"(
    .global .u8 m[2][3] = {{1, 2}, {3}};
    .global .u8 flat[2][2] = {1, 2, 3, 4};
    .global .u8 cube[2][2][2] = {{{1}, {2}}, {{3, 4}}};
    .global .u8 open[][2] = {{1}, {2}, {3}};
  )");
  CHECK(values<std::uint8_t>(variable(module, "m")) == std::vector<std::uint8_t>{1, 2, 0, 3, 0, 0});
  CHECK(values<std::uint8_t>(variable(module, "flat")) == std::vector<std::uint8_t>{1, 2, 3, 4});
  CHECK(values<std::uint8_t>(variable(module, "cube")) == std::vector<std::uint8_t>{1, 0, 2, 0, 3, 4, 0, 0});
  CHECK(values<std::uint8_t>(variable(module, "open")) == std::vector<std::uint8_t>{1, 0, 2, 0, 3});
}

TEST_CASE("too many initial values, or braces, are refused") {
  const std::string text =
      GENERATE(".global .u8 x[2] = {1, 2, 3};", ".global .u8 x[2][2] = {{1, 2, 3}};",
               ".global .u8 x[2][2] = {{1}, {2}, {3}};", ".global .u8 x[2] = {{1}};", ".global .u8 x[2] = 1;",
               ".shared .u8 x[2] = {1};", ".global .u8 x = 1.5;", ".global .u8 x[2] = {1 2};");
  CAPTURE(text);
  CHECK_FALSE(error_of(header + text).empty());
}

TEST_CASE("addresses in initial values become relocations") {
  const Module module = parse_items(R"(
    .func f ;
    .global .u32 d[4];
    .global .u64 a[5] = {d, generic(d)+8, f, d-4, 5};
    .global .u64 single = generic(d);
  )");
  const Variable& a = variable(module, "a");
  CHECK(values<std::uint64_t>(a) == std::vector<std::uint64_t>{0, 0, 0, 0, 5});
  REQUIRE(a.relocations.size() == 4);
  CHECK(a.relocations[0].symbol == "d");
  CHECK_FALSE(a.relocations[0].generic);
  CHECK(a.relocations[1].offset == 8);
  CHECK(a.relocations[1].addend == 8);
  CHECK(a.relocations[1].generic);
  CHECK(a.relocations[2].symbol == "f");
  CHECK(a.relocations[3].addend == -4);
  CHECK(variable(module, "single").relocations.at(0).size == 8);
}

TEST_CASE("the masked bytes of an address, as packed structures have them, become one relocation") {
  const Module module = parse_items(R"(
    .global .u32 d[4];
    .global .align 1 .u8 x[10] = {120, 0XFF(generic(d)+12), 0xFF00(generic(d)+12), 0xFF0000(generic(d)+12),
      0xFF000000(generic(d)+12), 0xFF00000000(generic(d)+12), 0xFF0000000000(generic(d)+12),
      0xFF000000000000(generic(d)+12), 0xFF00000000000000(generic(d)+12), 9};
    .global .u32 halves[2] = {0xFFFFFFFF(d), 0xFFFFFFFF00000000(d)};
  )");
  const Variable& x = variable(module, "x");
  REQUIRE(x.relocations.size() == 1);
  CHECK(x.relocations[0].offset == 1);
  CHECK(x.relocations[0].size == 8);
  CHECK(x.relocations[0].addend == 12);
  CHECK(x.init.at(9) == std::byte{9});
  REQUIRE(variable(module, "halves").relocations.size() == 1);
  CHECK(variable(module, "halves").relocations[0].size == 8);
}

TEST_CASE("bytes of an address that are out of order are refused") {
  const std::string values = GENERATE("{0xFF00(d)}", "{0xFF(d), 0xFF0000(d)}", "{0xFF(d), 0xFF00(d+1)}", "{0x0F(d)}",
                                      "{0xFFFF(d)}", "{0(d)}", "{0xFF(d), 7, 0xFF00(d)}");
  CAPTURE(values);
  CHECK_FALSE(error_of(header + ".global .u32 d; .global .u8 x[8] = " + values + ";").empty());
}

TEST_CASE("an address of a symbol that is declared nowhere is refused with its name and line") {
  try {
    parse(header + ".global .u64 x = nowhere;\n");
    FAIL("no error");
  } catch (const ParseError& error) {
    CHECK(error.ptx_line == 4);
    CHECK_THAT(error.what(), ContainsSubstring("nowhere"));
  }
}

TEST_CASE("a definition replaces an extern declaration, and a second definition is refused") {
  const Module module = parse_items(".extern .global .u32 x[4]; .visible .global .u32 x[4] = {1};");
  REQUIRE(module.variables.size() == 1);
  CHECK_FALSE(module.variables[0].is_extern);
  CHECK(module.variables[0].init.size() == 16);
  CHECK_THAT(error_of(header + ".global .u32 x; .global .u32 x;"), ContainsSubstring("'x' is defined twice"));
  CHECK_THAT(error_of(header + ".func x; .global .u32 x;"), ContainsSubstring("is a function already"));
  CHECK_THAT(error_of(header + ".global .u32 x; .func x;"), ContainsSubstring("is a variable already"));
}

TEST_CASE("shared, local and parameter variables of a body belong to the function") {
  const Function f = parse_body(".shared .align 4 .b8 s[32]; .local .align 8 .b8 depot[16]; .param .b32 q; ret;");
  REQUIRE(f.variables.size() == 3);
  CHECK(f.variables[0].space == StateSpace::shared);
  CHECK(f.variables[1].space == StateSpace::local);
  CHECK(f.variables[1].size == 16);
  CHECK(f.variables[2].space == StateSpace::param);
}

TEST_CASE("statics of a function and dynamic shared memory belong to the module") {
  const Module module = parse(kernel(R"(
    .global .u32 counter = 3; .const .f32 table[2] = {1.0, 2.0}; .extern .shared .align 16 .b8 dynamic[];
    mov.u32 %r1, dynamic;)"));
  CHECK(variable(module, "counter").init.size() == 4);
  CHECK(variable(module, "table").space == StateSpace::constant);
  CHECK(variable(module, "dynamic").is_extern);
  CHECK(module.functions[0].variables.empty());
}

TEST_CASE("dynamic shared memory that two functions declare is one variable") {
  const Module module = parse_items(
      ".extern .shared .b8 d[];\n.func a { .extern .shared .b8 d[]; ret; }\n.func b { .extern .shared .b8 d[]; ret; }");
  CHECK(module.variables.size() == 1);
}

TEST_CASE("a local name that hides a name of the module gets a name of its own") {
  const Module module = parse_items(
      ".shared .u32 x; .entry k { .reg .b32 %r<4>; ld.shared.u32 %r1, [x]; { .shared .u32 x; st.shared.u32 [x], %r1; } "
      "ld.shared.u32 %r2, [x]; ret; }");
  const Function& k = module.functions.at(0);
  REQUIRE(k.variables.size() == 1);
  CHECK(k.variables[0].name == "x#2");
  CHECK(k.instructions[0].operands[1].name == "x");
  CHECK(k.instructions[1].operands[0].name == "x#2");
  CHECK(k.instructions[2].operands[1].name == "x");
}
