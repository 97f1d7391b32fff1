// Versions, functions, their parameters and directives.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "texts.hpp"

using namespace scanlab::ptx;
using namespace scanlab::ptx::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the version and the target are read with what nvcc adds to them") {
  struct Case {
    std::string text;
    std::uint32_t major, minor, sm;
  };
  const Case c =
      GENERATE(Case{".version 9.0\n.target sm_80\n", 9, 0, 80}, Case{".version 6.5 .target sm_75, debug", 6, 5, 75},
               Case{".version 8.10\n.target sm_90a, texmode_independent", 8, 10, 90},
               Case{"//\n/* text\n */ .version 8.7 .target sm_120f", 8, 7, 120});
  CAPTURE(c.text);
  const Module module = parse(c.text);
  CHECK(module.version_major == c.major);
  CHECK(module.version_minor == c.minor);
  CHECK(module.target_sm == c.sm);
}

TEST_CASE("a text that is not PTX is reported as such") {
  CHECK_THAT(error_of(""), ContainsSubstring("no '.version'"));
  CHECK_THAT(error_of("int main() {}"), ContainsSubstring("expected a directive, found 'int'"));
  CHECK_THAT(error_of(".version 9"), ContainsSubstring("version"));
  CHECK_THAT(error_of(header + ".address_size 32"), ContainsSubstring("64 bits"));
}

TEST_CASE("an unknown directive is named with its line") {
  try {
    parse(header + "\n.frobnicate 7;");
    FAIL("no error");
  } catch (const ParseError& error) {
    CHECK(error.ptx_line == 5);
    CHECK_THAT(error.what(), ContainsSubstring("PTX line 5") && ContainsSubstring("'.frobnicate'"));
  }
}

TEST_CASE("trailing zeros of the text are not part of it") {
  std::string text = header;
  text.append(5, '\0');
  CHECK(parse(text).target_sm == 80);
}

TEST_CASE("a declaration is kept until its definition comes, in its place") {
  const Module module = parse_items(
      ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
      ".func (.param .b32 r) f (.param .b32 a);\n"
      ".visible .entry k() { ret; }\n"
      ".weak .func (.param .b32 r) f (.param .b32 a) { ret; }\n");
  REQUIRE(module.functions.size() == 3);
  CHECK_FALSE(module.functions[0].is_defined);
  CHECK(module.functions[1].name == "f");
  CHECK(module.functions[1].is_defined);
  CHECK_FALSE(module.functions[1].is_entry);
  CHECK(module.functions[2].is_entry);
  CHECK(module.find_function("f") == &module.functions[1]);
  CHECK(module.find_function("g") == nullptr);
  CHECK_THAT(error_of(header + ".func f { ret; } .func f { ret; }"), ContainsSubstring("'f' is defined twice"));
}

TEST_CASE("parameters keep their own alignment, not that of what they point to") {
  const Module module = parse_items(R"(
    .visible .entry k(
      .param .u64 .ptr .global .align 128 a,
      .param .align 8 .b8 b[24],
      .param .f32 c,
      .param .u64 .ptr d
    ) { ret; }
    .func (.param .align 8 .b8 r[32]) g (.reg .b32 n) { add.s32 n, n, 1; ret; }
  )");
  const Function& k = module.functions.at(0);
  REQUIRE(k.parameters.size() == 4);
  CHECK(k.parameters[0].align == 8);
  CHECK(k.parameters[0].size == 8);
  CHECK(k.parameters[1].align == 8);
  CHECK(k.parameters[1].size == 24);
  CHECK(k.parameters[2].type == Type::f32);
  CHECK(k.parameters[3].name == "d");
  const Function& g = module.functions.at(1);
  CHECK(g.returns.at(0).size == 32);
  CHECK(g.parameters.at(0).space == StateSpace::reg);
  CHECK(g.registers.at(0).name == "n");
  CHECK(g.instructions.at(0).operands.at(0).reg == 0);
}

TEST_CASE("a function without parentheses has no parameters") {
  const Module module = parse_items(".entry a { exit; } .func b() { ret; } .func () c () { ret; }");
  CHECK(module.functions.size() == 3);
  CHECK(module.functions[2].parameters.empty());
}

TEST_CASE("launch bounds are read and other performance directives are passed over") {
  const Module module = parse_items(R"(
    .visible .entry k() .maxntid 16, 8, 2 .minnctapersm 2 .maxnreg 64 .pragma "nounroll"; { ret; }
    .visible .entry l() .reqntid 32, 4 .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
    .func m() .noreturn { exit; }
    .visible .entry n() .blocksareclusters .maxclusterrank 4 .maxnctapersm 1 { ret; }
  )");
  CHECK(module.functions[0].max_threads == 256);
  CHECK(module.functions[1].required_threads[0] == 32);
  CHECK(module.functions[1].required_threads[1] == 4);
  CHECK(module.functions[1].required_threads[2] == 1);
  CHECK(module.functions[3].max_threads == 0);
  CHECK_THAT(error_of(header + ".entry k .maxntid 65536, 65536 { ret; }"), ContainsSubstring("too large"));
  CHECK_THAT(error_of(header + ".entry k .maxntid 1, 1, 1, 1 { ret; }"), ContainsSubstring("more than three"));
  CHECK_THAT(error_of(header + ".entry k .novelty { ret; }"), ContainsSubstring("'.novelty'"));
}

TEST_CASE("an alias is the function under a second name") {
  const Module module = parse_items(".func f { ret; }\n.func g;\n.alias g, f;");
  CHECK(module.find_function("g")->is_defined);
  CHECK(module.find_function("g")->instructions.size() == 1);
  CHECK_THAT(error_of(header + ".func f { ret; } .alias g, f;"), ContainsSubstring(".alias"));
}

TEST_CASE("debugging sections are passed over, whatever is in them") {
  const Module module = parse_items(R"(
    .func f { $L__begin: ret; }
    .section .debug_info {
      .b32 100 // length
      .b64 $L__begin
      .b32 .debug_abbrev
      $L__here:
      .b8 1, 2, -3
      .b32 $L__end-$L__here
    }
    .section .debug_loc { }
    .func g { ret; }
  )");
  CHECK(module.functions.size() == 2);
  CHECK_THAT(error_of(header + ".section .debug_info { .b8 1"), ContainsSubstring("after a section"));
}
