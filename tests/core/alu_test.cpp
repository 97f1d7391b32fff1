// Integer, bit, comparison, selection and move instructions against values worked out from the PTX manual.
#include "vgpu/core/alu/alu.hpp"

#include <catch2/catch_test_macros.hpp>

#include "alu_machine.hpp"

namespace scanlab::vgpu::test {
namespace {

TEST_CASE("integer arithmetic wraps at every width") {
  check({
      {"add.s32", 32, {r32(0x7fffffff), r32(1)}, 0x80000000},
      {"add.u16", 16, {r16(0xffff), r16(2)}, 1},
      {"add.u64", 64, {r64(~0ull), r64(3)}, 2},
      {"sub.s64", 64, {r64(0), r64(1)}, ~0ull},
      {"sub.u16", 16, {r16(0), r16(1)}, 0xffff},
      {"mul.lo.s32", 32, {r32(0x10001), r32(0x10001)}, 0x20001},
      {"mul.lo.u16", 16, {r16(0xffff), r16(0xffff)}, 1},
      {"mul.lo.s64", 64, {r64(0x100000001), r64(0x100000001)}, 0x200000001},
      {"mad.lo.s32", 32, {r32(7), r32(-3), r32(1)}, 0xffffffec},
      {"mad.lo.u16", 16, {r16(0x100), r16(0x100), r16(9)}, 9},
      {"neg.s32", 32, {r32(0x80000000)}, 0x80000000},
      {"neg.s16", 16, {r16(1)}, 0xffff},
      {"abs.s32", 32, {r32(-5)}, 5},
      {"abs.s32", 32, {r32(0x80000000)}, 0x80000000},
      {"abs.s64", 64, {r64(-5)}, 5},
      {"min.s32", 32, {r32(-1), r32(1)}, 0xffffffff},
      {"min.u32", 32, {r32(-1), r32(1)}, 1},
      {"max.s64", 64, {r64(-1), r64(1)}, 1},
      {"max.u64", 64, {r64(-1), r64(1)}, ~0ull},
      {"min.s16", 16, {r16(0x8000), r16(1)}, 0x8000},
      {"sad.u32", 32, {r32(3), r32(10), r32(100)}, 107},
      {"sad.s32", 32, {r32(-3), r32(10), r32(100)}, 113},
      {"add.sat.s32", 32, {r32(0x7fffffff), r32(1)}, 0x7fffffff},
      {"sub.sat.s32", 32, {r32(0x80000000), r32(1)}, 0x80000000},
      {"min.relu.s32", 32, {r32(-4), r32(5)}, 0},
      {"add.u16x2", 32, {r32(0x0001ffff), r32(0x00010001)}, 0x00020000},
      {"max.s16x2", 32, {r32(0x8000'0001), r32(0x0001'8000)}, 0x0001'0001},
  });
}

TEST_CASE("integer division never traps") {
  check({
      {"div.s32", 32, {r32(-7), r32(2)}, 0xfffffffd},
      {"rem.s32", 32, {r32(-7), r32(2)}, 0xffffffff},
      {"div.u32", 32, {r32(-7), r32(2)}, 0x7ffffffc},
      {"div.s32", 32, {r32(0x80000000), r32(-1)}, 0x80000000},
      {"rem.s32", 32, {r32(0x80000000), r32(-1)}, 0},
      {"div.s64", 64, {r64(1ull << 63), r64(-1)}, 1ull << 63},
      {"rem.s64", 64, {r64(1ull << 63), r64(-1)}, 0},
      {"div.s16", 16, {r16(0x8000), r16(0xffff)}, 0x8000},
      {"div.u32", 32, {r32(5), r32(0)}, 0xffffffff},
      {"div.u64", 64, {r64(5), r64(0)}, ~0ull},
      {"rem.u64", 64, {r64(0xffffffffffffffff), r64(10)}, 5},
      {"div.u16", 16, {r16(0xffff), r16(10)}, 6553},
  });
}

TEST_CASE("wide products and carries") {
  check({
      {"mul.wide.u16", 32, {r16(0xffff), r16(0xffff)}, 0xfffe0001},
      {"mul.wide.s16", 32, {r16(0xffff), r16(2)}, 0xfffffffe},
      {"mul.wide.u32", 64, {r32(0xffffffff), r32(0xffffffff)}, 0xfffffffe00000001},
      {"mul.wide.s32", 64, {r32(-1), r32(4)}, static_cast<std::uint64_t>(-4)},
      {"mad.wide.s32", 64, {r32(-1), r32(4), r64(10)}, 6},
      {"mad.wide.u16", 32, {r16(0xffff), r16(2), r32(3)}, 0x20001},
      {"mul.hi.u32", 32, {r32(0xffffffff), r32(0xffffffff)}, 0xfffffffe},
      {"mul.hi.s32", 32, {r32(-1), r32(1)}, 0xffffffff},
      {"mul.hi.u64", 64, {r64(~0ull), r64(~0ull)}, ~0ull - 1},
      {"mul.hi.s64", 64, {r64(1ull << 63), r64(2)}, ~0ull},
      {"mul.hi.u16", 16, {r16(0x8000), r16(4)}, 2},
      {"mad.hi.s32", 32, {r32(0x40000000), r32(8), r32(1)}, 3},
      {"mad.hi.sat.s32", 32, {r32(0x7fffffff), r32(0x7fffffff), r32(0x7fffffff)}, 0x7fffffff},
      {"mul24.lo.u32", 32, {r32(0xff000003), r32(5)}, 15},
      {"mul24.lo.s32", 32, {r32(0x00ffffff), r32(5)}, 0xfffffffb},
      {"mul24.hi.u32", 32, {r32(0x00ffffff), r32(0x00ffffff)}, 0xfffffe00},
      {"mad24.lo.s32", 32, {r32(3), r32(5), r32(-15)}, 0},
  });

  // (2^64 - 1) + 1 and 0 - 1 in two halves; the odd lanes carry, the even ones do not.
  for (const Mask active : {full_mask, Mask{0x0000fffc}}) {
    const auto handler = [](const char* form) {
      std::vector<ptx::Register> registers;
      const ptx::Instruction instruction = instruction_of(form, {32, 32, 32}, registers);
      const auto selection = select_alu(instruction, registers);
      REQUIRE(selection.has_value());
      return selection->run;
    };
    Machine machine;
    machine.warp().active = active;
    machine.warp().carry = 0xaaaaaaaau;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      machine.set(1, 32, lane, lane % 2 ? 0xffffffff : 5);
      machine.set(2, 32, lane, 1);
    }
    machine.fill(3, r32(0xffffffff));
    machine.fill(4, r32(0));
    machine.fill(5, r32(77));
    machine.fill(6, r32(77));
    machine.execute(handler("add.cc.u32"), {5, 1, 2});
    CHECK(machine.warp().carry == 0xaaaaaaaau);
    machine.execute(handler("addc.cc.u32"), {6, 3, 4});
    CHECK((machine.warp().carry & active) == (0xaaaaaaaau & active));
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const bool is_active = (active >> lane) & 1u;
      CHECK(machine.get(5, 32, lane) == (!is_active ? 77u : lane % 2 ? 0u : 6u));
      CHECK(machine.get(6, 32, lane) == (!is_active ? 77u : lane % 2 ? 0u : 0xffffffffu));
    }
    machine.warp().carry = 0;
    // 0 - 1 borrows: the flag is 0, as addc sees it, and subc takes one more away.
    machine.warp().carry = ~Mask{0};
    machine.execute(handler("sub.cc.u32"), {5, 4, 2});
    CHECK((machine.warp().carry & active) == 0);
    CHECK(machine.get(5, 32, 3) == 0xffffffffu);
    machine.execute(handler("subc.cc.u32"), {6, 4, 4});
    CHECK(machine.get(6, 32, 3) == 0xffffffffu);
    machine.execute(handler("addc.u32"), {6, 4, 4});
    CHECK(machine.get(6, 32, 3) == 0u);
    machine.execute(handler("sub.cc.u32"), {5, 2, 4});
    CHECK((machine.warp().carry & active) == active);
    machine.execute(handler("addc.u32"), {6, 4, 4});
    CHECK(machine.get(6, 32, 3) == 1u);
  }
}

TEST_CASE("shifts clamp their count, and bit fields follow the manual") {
  check({
      {"shl.b32", 32, {r32(1), r32(31)}, 0x80000000},
      {"shl.b32", 32, {r32(1), r32(32)}, 0},
      {"shl.b32", 32, {r32(1), r32(0xffffffff)}, 0},
      {"shl.b64", 64, {r64(1), r32(63)}, 1ull << 63},
      {"shl.b64", 64, {r64(1), r32(64)}, 0},
      {"shl.b16", 16, {r16(1), r32(16)}, 0},
      {"shr.u32", 32, {r32(0x80000000), r32(31)}, 1},
      {"shr.u32", 32, {r32(0x80000000), r32(33)}, 0},
      {"shr.b32", 32, {r32(0x80000000), r32(4)}, 0x08000000},
      {"shr.s32", 32, {r32(0x80000000), r32(100)}, 0xffffffff},
      {"shr.s64", 64, {r64(1ull << 63), r32(64)}, ~0ull},
      {"shr.s16", 16, {r16(0x8000), r32(4)}, 0xf800},
      {"shr.u16", 16, {r16(0x8000), r32(4)}, 0x0800},
      {"shf.l.wrap.b32", 32, {r32(0x80000000), r32(1), r32(33)}, 3},
      {"shf.l.clamp.b32", 32, {r32(0x80000000), r32(1), r32(40)}, 0x80000000},
      {"shf.r.wrap.b32", 32, {r32(0x80000000), r32(1), r32(1)}, 0xc0000000},
      {"shf.r.clamp.b32", 32, {r32(7), r32(1), r32(32)}, 1},
      {"and.b32", 32, {r32(12), r32(10)}, 8},
      {"or.b64", 64, {r64(12), r64(10)}, 14},
      {"xor.b16", 16, {r16(12), r16(10)}, 6},
      {"not.b32", 32, {r32(0)}, 0xffffffff},
      {"not.pred", 1, {p(true)}, 0},
      {"and.pred", 1, {p(true), p(false)}, 0},
      {"or.pred", 1, {p(true), p(false)}, 1},
      {"xor.pred", 1, {p(true), p(true)}, 0},
      {"cnot.b32", 32, {r32(0)}, 1},
      {"cnot.b32", 32, {r32(7)}, 0},
      {"lop3.b32", 32, {r32(0xf0f0f0f0), r32(0xcccccccc), r32(0xaaaaaaaa), r32(0x96)}, 0x96969696},
      {"lop3.b32", 32, {r32(0xf0f0f0f0), r32(0xcccccccc), r32(0xaaaaaaaa), r32(0xe8)}, 0xe8e8e8e8},
      {"lop3.b32", 32, {r32(0xf0f0f0f0), r32(0xcccccccc), r32(0xaaaaaaaa), r32(0x1a)}, 0x1a1a1a1a},
      {"bfe.u32", 32, {r32(0xabcd1234), r32(8), r32(8)}, 0x12},
      {"bfe.s32", 32, {r32(0x0000f000), r32(12), r32(4)}, 0xffffffff},
      {"bfe.s32", 32, {r32(0x80000000), r32(40), r32(4)}, 0xffffffff},
      {"bfe.s32", 32, {r32(0x80000000), r32(28), r32(10)}, 0xfffffff8},
      {"bfe.u32", 32, {r32(0xffffffff), r32(4), r32(0)}, 0},
      {"bfe.s64", 64, {r64(0x00f0), r32(4), r32(4)}, ~0ull},
      {"bfi.b32", 32, {r32(0xff), r32(0), r32(28), r32(8)}, 0xf0000000},
      {"bfi.b32", 32, {r32(0x5), r32(0xffffffff), r32(4), r32(4)}, 0xffffff5f},
      {"bfi.b32", 32, {r32(0x5), r32(0x77), r32(4), r32(0)}, 0x77},
      {"bfi.b64", 64, {r64(1), r64(0), r32(63), r32(64)}, 1ull << 63},
      {"bfind.u32", 32, {r32(0x00010000)}, 16},
      {"bfind.u32", 32, {r32(0)}, 0xffffffff},
      {"bfind.s32", 32, {r32(-1)}, 0xffffffff},
      {"bfind.s32", 32, {r32(-5)}, 2},
      {"bfind.shiftamt.u32", 32, {r32(1)}, 31},
      {"bfind.u64", 32, {r64(1ull << 40)}, 40},
      {"popc.b32", 32, {r32(0xffffffff)}, 32},
      {"popc.b64", 32, {r64(~0ull)}, 64},
      {"popc.b64", 32, {r64(0x8000000000000001)}, 2},
      {"clz.b32", 32, {r32(0)}, 32},
      {"clz.b64", 32, {r64(1)}, 63},
      {"brev.b32", 32, {r32(0x00000003)}, 0xc0000000},
      {"brev.b64", 64, {r64(0x0123456789abcdef)}, 0xf7b3d591e6a2c480},
      {"prmt.b32", 32, {r32(0x33221100), r32(0x77665544), r32(0x7410)}, 0x77441100},
      {"prmt.b32", 32, {r32(0x00008000), r32(0), r32(0x0009)}, 0x000000ff},
      {"prmt.b32.f4e", 32, {r32(0x33221100), r32(0x77665544), r32(1)}, 0x44332211},
      {"prmt.b32.b4e", 32, {r32(0x33221100), r32(0x77665544), r32(1)}, 0x66770011},
      {"prmt.b32.rc8", 32, {r32(0x33221100), r32(0), r32(2)}, 0x22222222},
      {"prmt.b32.ecl", 32, {r32(0x33221100), r32(0), r32(2)}, 0x33222222},
      {"prmt.b32.ecr", 32, {r32(0x33221100), r32(0), r32(1)}, 0x11111100},
      {"prmt.b32.rc16", 32, {r32(0x33221100), r32(0), r32(1)}, 0x33223322},
      {"fns.b32", 32, {r32(0xaaaaaaaa), r32(3), r32(1)}, 3},
      {"fns.b32", 32, {r32(0xaaaaaaaa), r32(3), r32(-1)}, 3},
      {"fns.b32", 32, {r32(0xaaaaaaaa), r32(2), r32(1)}, 3},
      {"fns.b32", 32, {r32(0xaaaaaaaa), r32(2), r32(-1)}, 1},
      {"fns.b32", 32, {r32(0xaaaaaaaa), r32(2), r32(0)}, 0xffffffff},
      {"szext.wrap.u32", 32, {r32(0xffffffff), r32(0)}, 0},
      {"szext.clamp.s32", 32, {r32(0x0000008f), r32(8)}, 0xffffff8f},
      {"szext.clamp.s32", 32, {r32(0x12345678), r32(32)}, 0x12345678},
      {"szext.wrap.u32", 32, {r32(0x12345678), r32(40)}, 0x78},
      {"bmsk.wrap.b32", 32, {r32(1), r32(2)}, 6},
      {"bmsk.clamp.b32", 32, {r32(4), r32(32)}, 0xfffffff0},
      {"bmsk.clamp.b32", 32, {r32(32), r32(4)}, 0},
  });
}

TEST_CASE("comparisons write predicates and values") {
  const float nan = std::bit_cast<float>(0x7fc00000u);
  check({
      {"setp.lt.s32", 1, {r32(-1), r32(0)}, 1},
      {"setp.lt.u32", 1, {r32(-1), r32(0)}, 0},
      {"setp.hi.u32", 1, {r32(-1), r32(0)}, 1},
      {"setp.ge.s64", 1, {r64(-1), r64(0)}, 0},
      {"setp.hs.u64", 1, {r64(-1), r64(0)}, 1},
      {"setp.eq.b64", 1, {r64(1ull << 40), r64(0)}, 0},
      {"setp.ne.s16", 1, {r16(1), r16(2)}, 1},
      {"setp.gt.s16", 1, {r16(0x8000), r16(2)}, 0},
      {"setp.gt.u16", 1, {r16(0x8000), r16(2)}, 1},
      {"setp.lt.f32", 1, {f(1), f(2)}, 1},
      {"setp.lt.f32", 1, {f(nan), f(2)}, 0},
      {"setp.ltu.f32", 1, {f(nan), f(2)}, 1},
      {"setp.ne.f32", 1, {f(nan), f(nan)}, 0},
      {"setp.neu.f32", 1, {f(nan), f(nan)}, 1},
      {"setp.equ.f64", 1, {d(1), d(2)}, 0},
      {"setp.num.f32", 1, {f(nan), f(0)}, 0},
      {"setp.nan.f64", 1, {d(0), d(0)}, 0},
      {"setp.nan.f32", 1, {f(0), f(nan)}, 1},
      {"setp.eq.f32", 1, {f(0.0f), f(-0.0f)}, 1},
      {"setp.gt.f32", 1, {f(0x1p-140f), f(0)}, 1},
      {"setp.gt.ftz.f32", 1, {f(0x1p-140f), f(0)}, 0},
      {"setp.lt.f16", 1, {r16(0xbc00), r16(0x0001)}, 1},
      {"setp.eq.and.s32", 1, {r32(4), r32(4), p(false)}, 0},
      {"setp.eq.and.s32", 1, {r32(4), r32(4), not_p(false)}, 1},
      {"setp.eq.or.s32", 1, {r32(4), r32(5), p(true)}, 1},
      {"setp.eq.xor.s32", 1, {r32(4), r32(4), p(true)}, 0},
      {"set.lt.u32.s32", 32, {r32(-1), r32(0)}, 0xffffffff},
      {"set.lt.f32.s32", 32, {r32(-1), r32(0)}, 0x3f800000},
      {"set.eq.and.s32.f32", 32, {f(1), f(1), p(false)}, 0},
      {"set.gt.f16.f16", 16, {r16(0x4000), r16(0x3c00)}, 0x3c00},
      {"set.gt.f16x2.f16x2", 32, {r32(0x3c004000), r32(0x3c003c00)}, 0x00003c00},
      {"selp.b32", 32, {r32(1), r32(2), p(true)}, 1},
      {"selp.f32", 32, {r32(1), r32(2), p(false)}, 2},
      {"selp.b64", 64, {r64(1), r64(2), p(false)}, 2},
      {"selp.u16", 16, {r16(1), r16(2), p(true)}, 1},
      {"slct.u32.s32", 32, {r32(1), r32(2), r32(-1)}, 2},
      {"slct.u64.s32", 64, {r64(1), r64(2), r32(0)}, 1},
      {"slct.f32.f32", 32, {r32(1), r32(2), f(-0.0f)}, 1},
      {"slct.f32.f32", 32, {r32(1), r32(2), f(nan)}, 2},
      {"slct.ftz.f32.f32", 32, {r32(1), r32(2), f(-0x1p-140f)}, 1},
      {"testp.normal.f32", 1, {f(0)}, 1},
      {"testp.subnormal.f32", 1, {f(0x1p-140f)}, 1},
      {"testp.finite.f64", 1, {d(1e308)}, 1},
      {"testp.notanumber.f32", 1, {f(nan)}, 1},
  });
}

TEST_CASE("a comparison is made lane by lane and may have two destinations") {
  for (const unsigned bits : {16u, 32u, 64u}) {
    std::vector<ptx::Register> registers;
    const std::string form = "setp.lt.and.s" + std::to_string(bits);
    ptx::Instruction instruction = instruction_of(form, {1, bits, bits, 1, 1}, registers);
    ptx::Operand pair;
    pair.kind = ptx::Operand::Kind::pair;
    pair.elements = {instruction.operands[0], instruction.operands[4]};
    instruction.operands.pop_back();
    instruction.operands[0] = pair;
    const auto selection = select_alu(instruction, registers);
    REQUIRE(selection.has_value());
    Machine machine;
    machine.warp().active = 0xffff00ffu;
    Mask less = 0;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      machine.set(1, bits, lane, lane * 7 % 32);
      machine.set(2, bits, lane, 16);
      machine.set(3, 1, lane, lane % 3 != 0);
      less |= Mask{lane * 7 % 32 < 16} << lane;
    }
    Mask given = 0;
    for (unsigned lane = 0; lane < warp_size; ++lane) given |= Mask{lane % 3 != 0} << lane;
    machine.execute(*selection, {0, 1, 2, 3, 4});
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const bool active = (0xffff00ffu >> lane) & 1u;
      CHECK(machine.get(0, 1, lane) == (active && ((less & given) >> lane & 1u)));
      CHECK(machine.get(4, 1, lane) == (active && ((~less & given) >> lane & 1u)));
    }
  }
}

TEST_CASE("moves copy, pack and unpack") {
  check({
      {"mov.u32", 32, {r32(7)}, 7},
      {"mov.b64", 64, {r64(1ull << 50)}, 1ull << 50},
      {"mov.f32", 32, {f(1)}, 0x3f800000},
      {"mov.u16", 16, {r16(9)}, 9},
      {"mov.pred", 1, {p(true)}, 1},
  });

  const auto vector_of = [](std::vector<ptx::Operand> elements) {
    ptx::Operand operand;
    operand.kind = ptx::Operand::Kind::vector;
    operand.elements = std::move(elements);
    return operand;
  };
  SECTION("packing puts the first element lowest") {
    std::vector<ptx::Register> registers;
    ptx::Instruction mov = instruction_of("mov.b64", {64, 16, 16, 16, 16}, registers);
    mov.operands = {mov.operands[0], vector_of({mov.operands.begin() + 1, mov.operands.end()})};
    const auto selection = select_alu(mov, registers);
    REQUIRE(selection.has_value());
    Machine machine;
    for (unsigned k = 1; k <= 4; ++k) machine.fill(k, r16(0x1111 * k));
    machine.execute(*selection, {0, 1, 2, 3, 4});
    CHECK(machine.get(0, 64, 31) == 0x4444333322221111);
  }
  SECTION("unpacking skips sinks") {
    std::vector<ptx::Register> registers;
    ptx::Instruction mov = instruction_of("mov.b64", {32, 32, 64}, registers);
    ptx::Operand sink;
    mov.operands = {vector_of({sink, mov.operands[1]}), mov.operands[2]};
    const auto selection = select_alu(mov, registers);
    REQUIRE(selection.has_value());
    Machine machine;
    machine.fill(0, r32(5));
    machine.fill(2, r64(0x0000000100000002));
    machine.warp().active = 0x80000000u;
    machine.execute(*selection, {0, 1, 2});
    CHECK(machine.get(0, 32, 31) == 5);
    CHECK(machine.get(1, 32, 31) == 1);
    CHECK(machine.get(1, 32, 30) == 0);
  }
}

TEST_CASE("dot products and video instructions work on fields") {
  check({
      {"dp4a.u32.u32", 32, {r32(0x01020304), r32(0x01010101), r32(5)}, 15},
      {"dp4a.s32.s32", 32, {r32(0xffffffff), r32(0x01010101), r32(0)}, 0xfffffffc},
      {"dp4a.u32.s32", 32, {r32(0xff000000), r32(0xff000000), r32(0)}, 0xffffff01},
      {"dp2a.lo.s32.s32", 32, {r32(0xffff0002), r32(0x04030201), r32(0)}, 0},
      {"dp2a.hi.u32.u32", 32, {r32(0x00010002), r32(0x04030201), r32(0)}, 10},
      {"vadd4.u32.u32.u32", 32, {r32(0xff010203), r32(0x01010101), r32(0)}, 0x00020304},
      {"vadd4.u32.u32.u32.sat", 32, {r32(0xff010203), r32(0x01010101), r32(0)}, 0xff020304},
      {"vabsdiff4.u32.u32.u32.add", 32, {r32(0x01020304), r32(0x04030201), r32(1)}, 9},
      {"vmax2.s32.s32.s32", 32, {r32(0x8000'0001), r32(0x0001'8000), r32(0)}, 0x0001'0001},
      {"cvt.pack.sat.s16.s32", 32, {r32(100000), r32(-100000)}, 0x7fff8000},
      {"cvt.pack.sat.u8.s32.b32", 32, {r32(300), r32(-1), r32(0x00001234)}, 0x1234ff00},
  });
}

TEST_CASE("a form that is not PTX, or has operands of other widths, is not known") {
  const auto is_known = [](std::string_view form, const std::vector<unsigned>& widths) {
    std::vector<ptx::Register> registers;
    const ptx::Instruction instruction = instruction_of(form, widths, registers);
    return select_alu(instruction, registers).has_value();
  };
  CHECK(is_known("add.s32", {32, 32, 32}));
  CHECK_FALSE(is_known("add.s32", {32, 32, 64}));
  CHECK_FALSE(is_known("add.s32", {64, 32, 32}));
  CHECK_FALSE(is_known("add.s32", {32, 32}));
  CHECK_FALSE(is_known("add.s32", {32, 32, 1}));
  CHECK_FALSE(is_known("mov.u32", {}));
  CHECK_FALSE(is_known("setp.lt.s32", {}));
  CHECK_FALSE(is_known("cvt.u32.u16", {}));
  for (const char* form : {"add.rn.s32", "add.sat.u32", "add.b32", "mul.s32", "shl.s32", "fma.f32", "add.rn.rz.f32",
                           "add.wobble.s32", "min.NaN.s32", "fma.rn.sat.f64"}) {
    INFO(form);
    CHECK_FALSE(is_known(form, {32, 32, 32}));
    CHECK_FALSE(is_known(form, {32, 32, 32, 32}));
  }
  for (const char* form : {"setp.lo.s32", "setp.ltu.s32", "setp.lt.b32", "setp.lt.ftz.f64", "setp.s32"}) {
    INFO(form);
    CHECK_FALSE(is_known(form, {1, 32, 32}));
  }
  CHECK_FALSE(is_known("cvt.f32.s32", {32, 32}));
  CHECK_FALSE(is_known("cvt.rn.s32.f32", {32, 32}));
  CHECK_FALSE(is_known("cvt.f32.f64", {32, 64}));
  CHECK_FALSE(is_known("cvt.u16.u32", {16, 16}));  // the source register is narrower than its type

  std::vector<ptx::Register> registers;
  ptx::Instruction special = instruction_of("mov.u32", {32, 32}, registers);
  special.operands[1].kind = ptx::Operand::Kind::special;
  special.operands[1].name = "%clock64";  // wider than the type
  CHECK_FALSE(select_alu(special, registers).has_value());
  special.operands[1].kind = ptx::Operand::Kind::symbol;
  CHECK_FALSE(select_alu(special, registers).has_value());
  ptx::Instruction beyond = instruction_of("mov.u32", {32, 32}, registers);
  beyond.operands[1].reg = 1000;
  CHECK_FALSE(select_alu(beyond, registers).has_value());
}

}  // namespace
}  // namespace scanlab::vgpu::test
