// Changes of a program's code as it is loaded: which instructions they touch, and which they leave alone.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "autograder/device/amendment.hpp"
#include "vgpu/ptx/module.hpp"

using namespace scanlab;
using scanlab::grade::Amendment;
using Change = Amendment::Change;

namespace {

/// One kernel of a file "scan.cu"; lines 5 and 6 update memory, 7 is a loop with a mark, a barrier and a call that was
/// inlined from line 8.
constexpr const char* text = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<3>;
  .shared .align 4 .b8 s[64];
  .loc 1 4 1
  ld.param.u64 %rd1, [p];
  .loc 1 5 1
  ld.global.u32 %r1, [%rd1+4];
  add.s32 %r2, %r1, 3;
  st.global.u32 [%rd1+4], %r2;
  .loc 1 6 1
  ld.shared.f32 %f1, [s+8];
  add.f32 %f2, %f3, %f1;
  st.shared.f32 [s+8], %f2;
L1:
  .loc 1 7 1
  pmevent 7;
  bar.sync 0;
  .loc 1 8 1
  pmevent 8;
  .loc 2 3 1, function_name $L__info, inlined_at 1 8 1
  ld.global.u32 %r3, [%rd1];
  .loc 1 9 1
  ld.global.u32 %r4, [%rd1+8];
  add.s32 %r5, %r4, %r3;
  st.global.u32 [%rd1+12], %r5;
  setp.eq.s32 %p1, %r3, 0;
  @%p1 bra L1;
  ret;
}
.file 1 "scan.cu"
.file 2 "operators.cuh"
.section .debug_str
{
$L__info:
.b8 102, 0
}
)";

std::vector<std::string> spellings(const ptx::Module& module) {
  std::vector<std::string> all;
  for (const ptx::Instruction& instruction : module.functions.front().instructions)
    all.push_back(instruction.spelling());
  return all;
}

/// How the code reads after a change, and whether there was anything to change.
struct Amended {
  std::vector<std::string> code;
  bool is_changed = false;
};

Amended amended(Change change, unsigned line, const char* file = "scan.cu") {
  ptx::Module module = ptx::parse(text);
  Amended result;
  result.is_changed = grade::amend(module, {change, line, file});
  result.code = spellings(module);
  return result;
}

/// The instructions that a change has made others of: "17: pmevent -> bar.sync".
std::vector<std::string> differences(const Amended& now) {
  const std::vector<std::string> before = spellings(ptx::parse(text));
  REQUIRE(before.size() == now.code.size());
  std::vector<std::string> found;
  for (std::size_t k = 0; k < before.size(); ++k)
    if (before[k] != now.code[k]) found.push_back(before[k] + " -> " + now.code[k]);
  CHECK(now.is_changed != found.empty());
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a mark becomes a barrier or a fence, and no other does", "[amendment]") {
  CHECK(differences(amended(Change::barrier, 7)) == Texts{"pmevent -> bar.sync"});
  CHECK(differences(amended(Change::warp_barrier, 8)) == Texts{"pmevent -> bar.warp.sync"});
  CHECK(differences(amended(Change::fence, 8)) == Texts{"pmevent -> membar.gl"});
  CHECK(differences(amended(Change::barrier, 9)).empty());
}

TEST_CASE("other marks become barriers besides", "[amendment]") {
  ptx::Module module = ptx::parse(text);
  Amended result;
  result.is_changed = grade::amend(module, {.change = Change::fence, .line = 8, .barriers = {7, 9}});
  result.code = spellings(module);
  CHECK(differences(result) == Texts{"pmevent -> bar.sync", "pmevent -> membar.gl"});
}

TEST_CASE("an update of one place becomes one atomic", "[amendment]") {
  CHECK(differences(amended(Change::atomic, 5)) ==
        Texts{"ld.global.u32 -> pmevent", "add.s32 -> atom.global.add.u32", "st.global.u32 -> add.s32"});
  CHECK(differences(amended(Change::atomic, 6)) ==
        Texts{"ld.shared.f32 -> pmevent", "add.f32 -> atom.shared.add.f32", "st.shared.f32 -> add.f32"});

  ptx::Module module = ptx::parse(text);
  REQUIRE(grade::amend(module, {Change::atomic, 6, "scan.cu"}));
  const ptx::Function& function = module.functions.front();
  const auto atom = std::ranges::find(function.instructions, std::string("atom"), &ptx::Instruction::opcode);
  const auto name = [&](const ptx::Operand& o) { return function.registers[static_cast<std::size_t>(o.reg)].name; };
  REQUIRE(atom != function.instructions.end());
  CHECK(name(atom->operands[0]) == "%f1");             // what was there before
  CHECK(name(atom->operands[2]) == "%f3");             // what is added
  CHECK(name(std::next(atom)->operands[0]) == "%f2");  // and what is there now, for whatever uses it
}

TEST_CASE("a value that is used before it is changed, or stored, makes no atomic", "[amendment]") {
  const auto with = [](std::string_view in_between, std::string_view behind) {
    std::string code = text;
    code.insert(code.find(behind), std::string(in_between) + "\n  ");
    return code;
  };
  for (const std::string& code : {with("mul.lo.s32 %r7, %r1, 5;", "add.s32 %r2, %r1, 3;"),
                                  with("mul.lo.s32 %r7, %r2, 5;", "st.global.u32 [%rd1+4], %r2;")}) {
    ptx::Module module = ptx::parse(code);
    CHECK(!grade::amend(module, {Change::atomic, 5, "scan.cu"}));
  }
}

TEST_CASE("a barrier is moved: left out in its line, and put at a mark", "[amendment]") {
  const auto moved = [](unsigned mark, unsigned from) {
    ptx::Module module = ptx::parse(text);
    Amended result;
    result.is_changed = grade::amend(module, {.change = Change::barrier, .line = mark, .without = from});
    result.code = spellings(module);
    return result;
  };
  CHECK(differences(moved(8, 7)) == Texts{"bar.sync -> pmevent", "pmevent -> bar.sync"});
  CHECK(!moved(8, 9).is_changed);  // there is none
}

TEST_CASE("a sum that is stored elsewhere is no update", "[amendment]") {
  CHECK(differences(amended(Change::atomic, 9)).empty());
  CHECK(differences(amended(Change::atomic, 4)).empty());
}

TEST_CASE("plain accesses of a line become volatile, also those of what it calls", "[amendment]") {
  CHECK(differences(amended(Change::strong, 5)) ==
        Texts{"ld.global.u32 -> ld.volatile.global.u32", "st.global.u32 -> st.volatile.global.u32"});
  CHECK(differences(amended(Change::strong, 8)) == Texts{"ld.global.u32 -> ld.volatile.global.u32"});
  CHECK(differences(amended(Change::strong, 3, "operators.cuh")) == Texts{"ld.global.u32 -> ld.volatile.global.u32"});
  CHECK(differences(amended(Change::strong, 5, "other.cu")).empty());
  CHECK(differences(amended(Change::strong, 4)).empty());  // an argument is no memory of others
}

TEST_CASE("a barrier is left out where it stands", "[amendment]") {
  CHECK(differences(amended(Change::without_barrier, 7)) == Texts{"bar.sync -> pmevent"});
  CHECK(differences(amended(Change::without_barrier, 8)).empty());
}
