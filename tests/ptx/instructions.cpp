// Instructions, operands, scopes and labels.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "texts.hpp"

using namespace scanlab::ptx;
using namespace scanlab::ptx::test;
using Catch::Matchers::ContainsSubstring;
using Kind = Operand::Kind;

namespace {

Instruction only(const std::string& text) {
  const Function f = parse_body(text);
  REQUIRE(f.instructions.size() == 1);
  return f.instructions[0];
}

Operand second_operand(const std::string& written) {
  return only("mov.b32 %r1, " + written + ";").operands.at(1);
}

std::string body_error(const std::string& body) {
  return error_of(kernel(body));
}

const std::string& register_name(const Function& f, const Operand& operand) {
  return f.registers.at(static_cast<std::size_t>(operand.reg)).name;
}

}  // namespace

TEST_CASE("modifiers are kept in order, with their double colons") {
  const Instruction in = only("ld.global.nc.L1::no_allocate.L2::128B.v2.f32 {%f1, %f2}, [%rd1+-8];");
  CHECK(in.opcode == "ld");
  CHECK(in.modifiers == std::vector<std::string>{"global", "nc", "L1::no_allocate", "L2::128B", "v2", "f32"});
  CHECK(in.spelling() == "ld.global.nc.L1::no_allocate.L2::128B.v2.f32");
  CHECK(in.has("v2"));
  CHECK_FALSE(in.has("v4"));
  CHECK(in.ptx_line == 5);
}

TEST_CASE("a guard is a register, plain or negated") {
  CHECK(only("ret;").guard == -1);
  const Instruction plain = only("@%p1 ret;");
  CHECK(plain.guard >= 0);
  CHECK_FALSE(plain.guard_negated);
  CHECK(only("@!%p1 ret;").guard_negated);
  CHECK_THAT(body_error("@%q1 ret;"), ContainsSubstring("'%q1' is not declared"));
}

TEST_CASE("integers of every base and sign have 64 bits") {
  struct Case {
    std::string written;
    std::uint64_t bits;
  };
  const Case c = GENERATE(
      Case{"0", 0}, Case{"-1", ~std::uint64_t{0}}, Case{"0x1F", 31}, Case{"0X1fU", 31}, Case{"017", 15},
      Case{"0b101", 5}, Case{"18446744073709551615", ~std::uint64_t{0}}, Case{"0xFFFFFFFFFFFFFFFFU", ~std::uint64_t{0}},
      Case{"-9223372036854775808", std::uint64_t{1} << 63}, Case{"WARP_SZ", 32}, Case{"(1+2)", 3},
      Case{"(WARP_SZ-1)*2", 62}, Case{"-(3)", static_cast<std::uint64_t>(-3)}, Case{"2+3*4-20/3% 4", 12},
      Case{"1<<3|1", 9}, Case{"-8>>1", static_cast<std::uint64_t>(-4)}, Case{"(.u64)(-8)>>60", 15}, Case{"1?2:3", 2},
      Case{"!5", 0}, Case{"~0", ~std::uint64_t{0}}, Case{"-1<0&&-1>0U", 1}, Case{"1<<64", 0},
      Case{"(1<<63)/-1", std::uint64_t{1} << 63}, Case{"-5 % 3", static_cast<std::uint64_t>(-2)});
  CAPTURE(c.written);
  const Operand operand = second_operand(c.written);
  CHECK(operand.kind == Kind::integer);
  CHECK(operand.bits == c.bits);
}

TEST_CASE("floating-point constants keep their bits") {
  CHECK(second_operand("0f3F800000").bits == 0x3F800000);
  CHECK(second_operand("0F3f800000").is_single);
  CHECK(second_operand("-0f3F800000").bits == 0xBF800000);
  CHECK(second_operand("0d3FF0000000000000").bits == std::bit_cast<std::uint64_t>(1.0));
  CHECK_FALSE(second_operand("0d3FF0000000000000").is_single);
  CHECK(second_operand("2.5e-3").bits == std::bit_cast<std::uint64_t>(2.5e-3));
  CHECK(second_operand("0.0").kind == Kind::floating);
  CHECK(second_operand("0f7FC00000").bits == 0x7FC00000);
}

TEST_CASE("numbers that PTX does not have are refused") {
  const std::string written =
      GENERATE("0x", "0b2", "08", "12ab", "18446744073709551616", "0x10000000000000000", "0f3F80000", "0f3F8000000",
               "0d3FF", "1e", "1.5.5", "1/0", "1%0", "1.5%2.0", "~1.5", "(1", "1?2", "()", "-", "0U7", "1..2");
  CAPTURE(written);
  CHECK_FALSE(body_error("mov.b32 %r1, " + written + ";").empty());
}

TEST_CASE("addresses have a register, a symbol or neither as their base") {
  const Function f = parse_body(
      ".shared .b8 s[64]; ld.u32 %r1, [%rd1]; ld.u32 %r1, [%rd1+8]; ld.u32 %r1, [%rd1-8]; ld.u32 %r1, [%rd1+-8];"
      "ld.shared.u32 %r1, [s]; ld.shared.u32 %r1, [s+4]; ld.shared.u32 %r1, [16]; ld.param.u32 %r1, [k_param_1+0];");
  const auto address = [&](std::size_t i) { return f.instructions.at(i).operands.at(1); };
  CHECK(address(0).kind == Kind::address);
  CHECK(register_name(f, address(0)) == "%rd1");
  CHECK(address(1).offset == 8);
  CHECK(address(2).offset == -8);
  CHECK(address(3).offset == -8);
  CHECK(address(4).name == "s");
  CHECK(address(4).reg == -1);
  CHECK(address(5).offset == 4);
  CHECK(address(6).bits == 16);
  CHECK(address(6).name.empty());
  CHECK(address(7).name == "k_param_1");
}

TEST_CASE("vectors, pairs, sinks, symbols, negated predicates and special registers are distinguished") {
  const Function f = parse_body(R"(
    .shared .b8 s[64];
    mov.b64 {%r1, _}, %rd1;
    setp.lt.and.s32 %p1|%p2, %r1, -4, !%p3;
    shfl.sync.up.b32 %r1|_, %r2, 1, 0, -1;
    mov.u32 %r3, s+16;
    mov.u32 %r4, %tid.x;
    mov.u32 %r5, %envreg2;
    tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];
  )");
  const auto& in = f.instructions;
  CHECK(in[0].operands[0].kind == Kind::vector);
  CHECK(in[0].operands[0].elements.at(1).kind == Kind::sink);
  CHECK(in[1].operands[0].kind == Kind::pair);
  CHECK(register_name(f, in[1].operands[0].elements.at(1)) == "%p2");
  CHECK(in[1].operands[3].negated);
  CHECK(in[2].operands[0].elements.at(1).kind == Kind::sink);
  CHECK(in[2].operands[4].bits == ~std::uint64_t{0});
  CHECK(in[3].operands[1].kind == Kind::symbol);
  CHECK(in[3].operands[1].offset == 16);
  CHECK(in[4].operands[1].kind == Kind::special);
  CHECK(in[4].operands[1].name == "%tid.x");
  CHECK(in[5].operands[1].name == "%envreg2");
  CHECK(in[6].opcode == "tex");
  CHECK(in[6].operands[1].elements.at(0).kind == Kind::vector);
}

TEST_CASE("a register is found by its number in the range that was declared") {
  const Function f = parse_body(
      ".reg .b32 %a<3>, %a1<10>, single; .reg .f64 %a10<2>; mov.b32 %a2, %a0; mov.b32 %a10, single; mov.f64 %a101, "
      "%a100;");
  CHECK(register_name(f, f.instructions[0].operands[0]) == "%a2");
  CHECK(f.registers.at(static_cast<std::size_t>(f.instructions[1].operands[0].reg)).type == Type::b32);
  CHECK(register_name(f, f.instructions[1].operands[1]) == "single");
  CHECK(f.registers.at(static_cast<std::size_t>(f.instructions[2].operands[0].reg)).type == Type::f64);
  const std::string missing = GENERATE("%a3", "%a01", "%a", "%b1", "%r32", "%r99999999999999999999", "%tidy");
  CAPTURE(missing);
  CHECK_THAT(body_error(".reg .b32 %a<3>; mov.b32 %r1, " + missing + ";"), ContainsSubstring("is not declared"));
}

TEST_CASE("only the registers that are used take an index") {
  const Function f = parse_body(".reg .b32 %many<16777216>; mov.b32 %many7, %many16777215; mov.b32 %many7, 1;");
  CHECK(f.registers.size() == 2);
}

TEST_CASE("names of sibling scopes are separate, and inner names hide outer ones") {
  const Function f = parse_body(R"(
    { .reg .b32 temp; .param .b32 param0; st.param.b32 [param0+0], temp; }
    { .reg .f32 temp; .param .b64 param0; st.param.b64 [param0+0], temp; }
    .reg .b64 outer;
    { .reg .b32 outer; mov.b32 outer, 1; { mov.b32 outer, 2; } }
    mov.b64 outer, 3;
  )");
  CHECK(f.instructions[0].operands[0].name == "param0");
  CHECK(f.instructions[1].operands[0].name == "param0#2");
  CHECK(f.variables.at(1).size == 8);
  CHECK(f.instructions[0].operands[1].reg != f.instructions[1].operands[1].reg);
  CHECK(f.instructions[2].operands[0].reg == f.instructions[3].operands[0].reg);
  CHECK(f.instructions[4].operands[0].reg != f.instructions[2].operands[0].reg);
  CHECK_THAT(body_error("{ .reg .b32 t; } mov.b32 %r1, t;"), ContainsSubstring("'t' is not declared"));
  CHECK_THAT(body_error(".reg .b32 t; .reg .b32 t;"), ContainsSubstring("declared twice"));
}

TEST_CASE("branches go to labels before and after them") {
  const Function f = parse_body("again: @%p1 bra done; bra.uni again; done: ret; end:");
  CHECK(f.labels.at("again") == 0);
  CHECK(f.labels.at("done") == 2);
  CHECK(f.labels.at("end") == 3);
  CHECK(f.instructions[0].operands[0].kind == Kind::label);
  CHECK(f.instructions[0].operands[0].target == 2);
  CHECK(f.instructions[1].operands[0].target == 0);
  CHECK(f.instructions[1].operands[0].name == "again");
}

TEST_CASE("labels of inline assembly are local to its braces") {
  const Function f = parse_body(
      "{ wait: @%p1 bra done; bra wait; done: } { wait: @%p1 bra done; bra wait; done: } { bra outer; } outer: ret;");
  CHECK(f.instructions[0].operands[0].target == 2);
  CHECK(f.instructions[1].operands[0].target == 0);
  CHECK(f.instructions[2].operands[0].target == 4);
  CHECK(f.instructions[3].operands[0].target == 2);
  CHECK(f.instructions[3].operands[0].name == "wait#2");
  CHECK(f.labels.at("wait#2") == 2);
  CHECK(f.instructions[4].operands[0].target == 5);
  CHECK_THAT(body_error("{ inside: } bra inside;"), ContainsSubstring("'inside' is not defined"));
  CHECK_THAT(body_error("bra nowhere;"), ContainsSubstring("'nowhere' is not defined"));
  CHECK_THAT(body_error("a: a: ret;"), ContainsSubstring("defined twice"));
}

TEST_CASE("a branch table lists its labels") {
  const Function f = parse_body("table: .branchtargets a, b, a; brx.idx.uni %r1, table; a: ret; b: ret;");
  CHECK(f.branch_targets.at("table") == std::vector<std::string>{"a", "b", "a"});
  CHECK(f.instructions[0].operands[1].kind == Kind::label);
  CHECK(f.instructions[0].operands[1].name == "table");
  CHECK_THAT(body_error("t: .branchtargets a; brx.idx %r1, t;"), ContainsSubstring("'a' is not defined"));
  CHECK_THAT(body_error("brx.idx %r1, t;"), ContainsSubstring("branch table 't'"));
}

TEST_CASE("a call of any form has returns, callee, arguments and perhaps a prototype") {
  const Module module = parse_items(R"(
    .func (.param .b32 r) f (.param .b32 a);
    .func g;
    .entry k {
      .reg .b64 %rd<4>; .param .b32 ret0; .param .b32 arg0;
      call.uni (ret0), f, (arg0);
      call f, (arg0);
      call g;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;
      call (ret0), %rd1, (arg0), proto;
      call (ret0), f, (arg0, 7);
      list: .calltargets f, g;
      call %rd1, list;
    }
  )");
  const auto& in = module.functions.at(2).instructions;
  REQUIRE(in.size() == 6);
  const auto shape = [&](std::size_t i) {
    const auto& o = in.at(i).operands;
    CHECK(o[0].kind == Kind::vector);
    CHECK(o[2].kind == Kind::vector);
    return std::vector<std::size_t>{o[0].elements.size(), o[2].elements.size(), o.size()};
  };
  CHECK(shape(0) == std::vector<std::size_t>{1, 1, 3});
  CHECK(in[0].operands[1].kind == Kind::symbol);
  CHECK(in[0].operands[0].elements[0].name == "ret0");
  CHECK(shape(1) == std::vector<std::size_t>{0, 1, 3});
  CHECK(shape(2) == std::vector<std::size_t>{0, 0, 3});
  CHECK(shape(3) == std::vector<std::size_t>{1, 1, 4});
  CHECK(in[3].operands[1].kind == Kind::reg);
  CHECK(in[3].operands[3].kind == Kind::label);
  CHECK(in[3].operands[3].name == "proto");
  CHECK(shape(4) == std::vector<std::size_t>{1, 2, 3});
  CHECK(shape(5) == std::vector<std::size_t>{0, 0, 4});
}

TEST_CASE("registers may have a part after them, or be negated") {
  const Function f =
      parse_body("vmad.s32.u32.u32 %r1, -%r2.b3, %r3.h1, 7; vadd4.u32.u32.u32 %r1.b20, %r2.b7531, %r3, %r1;");
  REQUIRE(f.instructions.size() == 2);
  const auto& mad = f.instructions[0].operands;
  CHECK(mad[0].part.empty());
  CHECK(mad[1].negated);
  CHECK(mad[1].part == "b3");
  CHECK_FALSE(mad[2].negated);
  CHECK(mad[2].part == "h1");
  CHECK(f.instructions[1].operands[0].part == "b20");
  CHECK(f.instructions[1].operands[1].part == "b7531");
  CHECK_THAT(body_error("mov.b32 %r1, -%tid.x;"), ContainsSubstring("expected"));
  CHECK_THAT(body_error("add.s32 %r1, -unknown, 1;"), ContainsSubstring("expected"));
}

TEST_CASE("comments, pragmas and empty statements are not instructions") {
  const Function f = parse_body("// begin inline asm\n;;{ /* ret; */ } .pragma \"nounroll\";\nret; // }");
  CHECK(f.instructions.size() == 1);
  CHECK(f.instructions[0].ptx_line == 7);
}

TEST_CASE("a damaged statement says what was expected, and where") {
  CHECK_THAT(body_error("add.s32 %r1, %r2 %r3;"), ContainsSubstring("after an operand of 'add.s32', found '%r3'"));
  CHECK_THAT(body_error("add.s32 %r1, ;"), ContainsSubstring("expected an operand, found ';'"));
  CHECK_THAT(body_error("ld.u32 %r1, [%rd1;"), ContainsSubstring("expected ']' after an address"));
  CHECK_THAT(body_error("7;"), ContainsSubstring("expected a statement"));
  CHECK_THAT(body_error(".novelty x;"), ContainsSubstring("'.novelty' is not known in a function"));
  CHECK_THAT(body_error("ret; {"), ContainsSubstring("expected '}' after the body of 'k', found the end of the text"));
  CHECK_THAT(body_error("mov.b32 %r1, unknown;"), ContainsSubstring("PTX line 5: 'unknown' is not declared"));
  CHECK_THAT(body_error("mov.b32 %r1, \x80;"), ContainsSubstring("0x80"));
  CHECK_THAT(body_error(".reg .v2 .f32 v;"), ContainsSubstring("vector registers"));
}
