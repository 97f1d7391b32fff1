// Damaged texts: a module or a ParseError, never anything else, and soon.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "texts.hpp"

using namespace scanlab::ptx;
using namespace scanlab::ptx::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A little of everything.
const std::string sample = header + R"(
.func (.param .b32 func_retval0) _Z1fi ( .param .b32 _Z1fi_param_0 ) ;
.global .align 8 .u64 table[2] = {_Z1fi, generic(table)+8};
.global .align 1 .u8 packed[4] = {1, 0xFF(table), 0xFF00(table), 0xFF0000(table)};
.const .f32 m[2][3] = {{1.0, 0f3F800000}, {-2.5e3}};
.extern .shared .align 16 .b8 dyn[];
.visible .entry _Z1kPf( .param .u64 .ptr .global .align 4 _Z1kPf_param_0, .param .align 8 .b8 b[24] )
.maxntid 256, 1, 1
{
	.reg .pred %p<4>; .reg .f32 %f<5>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
	.shared .align 4 .b8 _ZZ1kPfE2xy[1024];
	.loc	1 7 0
	ld.param.u64 	%rd1, [_Z1kPf_param_0];
	mov.u32 	%r1, %tid.x;
	setp.lt.and.s32 	%p1|%p2, %r1, (4+WARP_SZ), !%p3;
	@!%p1 bra 	$L__BB0_2;
	{ // callseq 0, 0
	.reg .b32 temp_param_reg;
	.param .b32 param0;
	st.param.b32 	[param0+0], %r1;
	.param .b32 retval0;
	proto : .callprototype (.param .b32 _) _ (.param .b32 _);
	call.uni (retval0), %rd1, ( param0 ), proto;
	}
	.loc	2 12 2, function_name $L__info_string0, inlined_at 1 7 0
	ld.global.v2.f32 {%f1, _}, [%rd1+-8];
$L__BB0_2:
	ts: .branchtargets $L__BB0_2, out;
	brx.idx %r1, ts;
out:
	mov.u32 %r2, _ZZ1kPfE2xy+4;
	ret;
}
.file	1 "/labs/scan.cu"
.section	.debug_str
{
$L__info_string0:
.b8 95,90,51,111,110,101,118,0
}
)";

void parse_damaged(const std::string& text) {
  try {
    const Module module = parse(text);
    for (const Function& function : module.functions) {
      source_name(function.name);
      for (const Instruction& in : function.instructions) {
        if (in.line >= module.lines.size()) FAIL("a place that does not exist");
        for (const Operand& operand : in.operands) {
          if (operand.reg >= static_cast<std::int32_t>(function.registers.size())) FAIL("a register out of range");
          if (operand.target > static_cast<std::int32_t>(function.instructions.size())) FAIL("a target out of range");
        }
      }
    }
    for (const LineInfo& line : module.lines) {
      if (line.file >= module.files.size()) FAIL("a file that does not exist");
    }
  } catch (const ParseError& error) {
    if (error.ptx_line == 0) FAIL("an error without a line");
  }
}

std::string repeated(const std::string& piece, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += piece;
  return result;
}

}  // namespace

TEST_CASE("the undamaged sample is read") {
  const Module module = parse(sample);
  CHECK(module.functions.size() == 2);
  CHECK(module.functions[1].max_threads == 256);
}

TEST_CASE("a text that is cut off anywhere is refused or read") {
  for (std::size_t size = 0; size < sample.size(); ++size) parse_damaged(sample.substr(0, size));
}

TEST_CASE("a text without any one of its characters is refused or read") {
  for (std::size_t at = 0; at < sample.size(); ++at) parse_damaged(std::string(sample).erase(at, 1));
}

TEST_CASE("random damage is refused or read") {
  const unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string pieces = "{}[]()<>,;:@!|&^?+-.%_$0xfd\"/* \n\x01\xFF";
  for (int round = 0; round < 4000; ++round) {
    std::string text = sample;
    for (unsigned hits = 1 + random() % 3; hits > 0; --hits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = pieces[random() % pieces.size()];
          break;
        case 1:
          text.insert(at, 1, pieces[random() % pieces.size()]);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text.erase(at, random() % 20);
          break;
      }
    }
    parse_damaged(text);
  }
}

TEST_CASE("nesting has a limit") {
  CHECK_THAT(error_of(kernel(repeated("{", 100000))), ContainsSubstring("too deeply"));
  CHECK_THAT(error_of(kernel("mov.b32 %r1, " + repeated("(", 100000) + "1;")), ContainsSubstring("too deeply"));
  CHECK_THAT(error_of(kernel("mov.b32 %r1, " + repeated("-", 100000) + "1;")), ContainsSubstring("too deeply"));
  CHECK_THAT(error_of(kernel("mov.b32 %r1, " + repeated("1?", 100000))), ContainsSubstring("too deeply"));
  CHECK_THAT(error_of(kernel("mov.b32 %r1, " + repeated("{", 100000))), ContainsSubstring("too deeply"));
  CHECK_THAT(error_of(kernel("ld.b32 %r1, [%rd1" + repeated(",[%rd1", 100000))), ContainsSubstring("too deeply"));
  CHECK_THAT(error_of(header + ".global .b8 x" + repeated("[1]", 100000)), ContainsSubstring("too many dimensions"));
  CHECK_FALSE(error_of(header + ".section .x " + repeated("{", 100000)).empty());
  CHECK_FALSE(error_of(header + ".global .attribute" + repeated("(", 100000)).empty());
}

TEST_CASE("many statements take time in proportion to them") {
  CHECK(error_of(kernel("mov.b32 %r1, 1" + repeated("+1", 100000) + ";")).empty());
  CHECK(error_of(kernel(repeated("{ .param .b32 p; L: st.param.b32 [p], 1; bra L; }", 20000))).empty());
  CHECK_THAT(error_of(kernel(".reg .b32 %x<4294967295>;")), ContainsSubstring("too many registers"));
}
