// Source places of instructions.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "texts.hpp"

using namespace scanlab::ptx;
using namespace scanlab::ptx::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const LineInfo& place(const Module& module, std::size_t instruction) {
  return module.lines.at(module.functions.at(0).instructions.at(instruction).line);
}

}  // namespace

TEST_CASE("an instruction has the place of the latest .loc before it") {
  const Module module = parse(kernel(R"(
    mov.u32 %r1, 0;
    .loc 1 10 3
    mov.u32 %r1, 1;
    mov.u32 %r1, 2;
    .loc 2 20 5
    mov.u32 %r1, 3;
    .loc 1 10 3
    mov.u32 %r1, 4;
  )") + ".file 1 \"/labs/scan.cu\"\n.file 2 \"/labs/scanlab.cuh\", 123456, 789\n");
  CHECK(module.functions[0].instructions[0].line == 0);
  CHECK(place(module, 1).line == 10);
  CHECK(place(module, 2).column == 3);
  CHECK(module.files.at(place(module, 3).file) == "/labs/scanlab.cuh");
  CHECK(module.functions[0].instructions[4].line == module.functions[0].instructions[1].line);
  CHECK(module.lines.size() == 3);
  CHECK(module.lines.at(module.functions[0].line).line == 10);
}

TEST_CASE("a .loc of line 0 keeps the place before it, but not that of another function") {
  const Module module = parse_items(R"(
    .entry k { .loc 1 0 5
      ret; .loc 1 7 0
      ret; .loc 1 0 0
      ret; }
    .func f { .loc 1 0 0
      ret; }
  )");
  CHECK(module.functions[0].instructions[0].line == 0);
  CHECK(place(module, 1).line == 7);
  CHECK(place(module, 2).line == 7);
  CHECK(module.functions[1].instructions[0].line == 0);
  CHECK(module.functions[1].line == 0);
}

TEST_CASE("code of line 0 that begins a block belongs to the first place in it") {
  const Module module = parse_items(R"(
    .entry k { .reg .b32 %r<4>; .reg .pred %p;
      .loc 1 7 1
      mov.u32 %r1, 0;
      @%p bra L1;
      .loc 1 0 1
      mov.u32 %r1, 1;
      mov.u32 %r2, 1;
      .loc 1 8 1
      mov.u32 %r3, 1;
      .loc 1 0 1
      mov.u32 %r1, 2;
      .loc 1 9 1
      mov.u32 %r2, 2;
      .loc 1 0 1
    L1:
      mov.u32 %r1, 3;
      .loc 1 11 1
      ret; }
  )");
  std::vector<unsigned> lines;
  for (const auto& in : module.functions[0].instructions) lines.push_back(module.lines.at(in.line).line);
  // In the middle of a block the previous place goes on, as before.
  CHECK(lines == std::vector<unsigned>{7, 7, 8, 8, 8, 8, 9, 11, 11});
}

TEST_CASE("inlined code names its function and has the chain of calls behind it") {
  const Module module = parse(kernel(R"(
    .loc 1 30 4
    mov.u32 %r1, 0;
    .loc 2 12 2, function_name $L__info_string0, inlined_at 1 30 4
    mov.u32 %r1, 1;
    .loc 3 99 1, function_name $L__info_string0+8, inlined_at 2 12 2
    mov.u32 %r1, 2;
    .loc 3 50 1, function_name $L__info_string1, inlined_at 1 77 7
    mov.u32 %r1, 3;
  )") + R"(
    .section .debug_str {
      $L__info_string0:
      .b8 95,90,51,111,110,101,118,0
      .b8 95,90,51,116,119,111,118
      .b8 0
      $L__info_string1:
      .b8 99,0
    })");
  const LineInfo& inlined = place(module, 1);
  CHECK(inlined.function == "one()");
  REQUIRE(inlined.inlined_at >= 0);
  CHECK(module.lines.at(static_cast<std::size_t>(inlined.inlined_at)).line == 30);

  const LineInfo& twice = place(module, 2);
  CHECK(twice.function == "two()");
  CHECK(module.lines.at(static_cast<std::size_t>(twice.inlined_at)).function == "one()");

  const LineInfo& unknown_call = place(module, 3);
  CHECK(unknown_call.function == "c");
  const LineInfo& call = module.lines.at(static_cast<std::size_t>(unknown_call.inlined_at));
  CHECK(call.line == 77);
  CHECK(call.inlined_at == -1);
}

TEST_CASE("a call at line 0 is left out of the chain") {
  const Module module = parse(kernel(R"(
    .loc 1 30 4
    .loc 2 0 2, function_name $L__s, inlined_at 1 30 4
    .loc 3 9 1, function_name $L__s, inlined_at 2 0 2
    ret;
  )"));
  const LineInfo& inlined = place(module, 0);
  CHECK(inlined.line == 9);
  CHECK(inlined.function.empty());
  CHECK(module.lines.at(static_cast<std::size_t>(inlined.inlined_at)).line == 30);
}

TEST_CASE("a file number without .file is a nameless file") {
  const Module module = parse(kernel(".loc 9 1 1\nret;"));
  CHECK(module.files.size() == 10);
  CHECK(module.files.at(place(module, 0).file).empty());
}

TEST_CASE("file numbers and .loc attributes out of range are refused") {
  CHECK_THAT(error_of(header + ".file 4000000000 \"x\""), ContainsSubstring("number of a file is too large"));
  CHECK_THAT(error_of(kernel(".loc 4000000000 1 1")), ContainsSubstring("too large"));
  CHECK_THAT(error_of(kernel(".loc 1 1 1, novelty 3\nret;")), ContainsSubstring("'novelty'"));
  CHECK_THAT(error_of(header + ".file 1 \"x\ny\""), ContainsSubstring("string"));
}
