// Forms of instructions that only inline PTX has, each with a result worked out by hand.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "alu_machine.hpp"
#include "kernel.hpp"
#include "tiers.hpp"

namespace scanlab::test {
namespace {

using namespace vgpu::test;

TEST_CASE("logic of predicates takes negated sources") {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      check({
          {"and.pred", 1, {p(a), not_p(b)}, a && !b},
          {"or.pred", 1, {not_p(a), p(b)}, !a || b},
          {"xor.pred", 1, {not_p(a), not_p(b)}, a != b},
          {"not.pred", 1, {not_p(a)}, a},
          {"mov.pred", 1, {not_p(a)}, !a},
          {"selp.b32", 32, {r32(1), r32(2), not_p(a)}, a ? 2u : 1u},
      });
}

TEST_CASE("bf16 fma rounds in every direction") {
  // 1 + 2^-9 lies between 1 and 1 + 2^-7; its negative likewise.
  const Value one = r16(0x3f80), minus_one = r16(0xbf80), small = r16(0x3b00), minus_small = r16(0xbb00);
  check({
      {"fma.rz.bf16", 16, {one, one, small}, 0x3f80},
      {"fma.rm.bf16", 16, {one, one, small}, 0x3f80},
      {"fma.rp.bf16", 16, {one, one, small}, 0x3f81},
      {"fma.rz.bf16", 16, {minus_one, one, minus_small}, 0xbf80},
      {"fma.rm.bf16", 16, {minus_one, one, minus_small}, 0xbf81},
      {"fma.rp.relu.bf16", 16, {minus_one, one, minus_small}, 0},
  });
}

TEST_CASE("conversions of unusual widths and modifiers") {
  check({
      {"cvt.rn.ftz.f32.s32", 32, {r32(-3)}, f(-3).value},
      {"cvt.rz.ftz.sat.f32.u8", 32, {r16(200)}, f(1).value},
      {"cvt.rp.f32.bf16", 32, {r16(0x3fc0)}, f(1.5f).value},
      {"cvt.rzi.u8.f32", 64, {f(300)}, 255},
      {"cvt.rzi.s16.f64", 64, {d(-2.5)}, ~0ull - 1},
      {"cvt.rn.f64.s8", 64, {r64(0x80)}, d(-128).value},
      {"cvt.rn.satfinite.relu.f16.f32", 16, {f(1e9f)}, 0x7bff},
      {"cvt.rn.relu.satfinite.f16.f32", 16, {f(-1e9f)}, 0},
      {"cvt.rna.satfinite.tf32.f32", 32, {f(3.4028235e38f)}, 0x7f7fe000},
      {"cvt.rna.satfinite.tf32.f32", 32, {f(-1.0f / 0.0f)}, 0xff7fe000},
  });
}

TEST_CASE("video instructions on whole registers") {
  check({
      {"vadd.u32.u32.u32.sat", 32, {r32(0xffffffff), r32(2)}, 0xffffffff},
      {"vsub.u32.u32.u32.sat", 32, {r32(1), r32(2)}, 0},
      {"vsub.s32.u32.u32", 32, {r32(1), r32(2)}, 0xffffffff},
      {"vabsdiff.u32.s32.s32.add", 32, {r32(-5), r32(7), r32(100)}, 112},
      {"vmin.s32.s32.u32.max", 32, {r32(-5), r32(7), r32(3)}, 3},
      {"vmad.s32.s32.s32.sat", 32, {r32(0x40000000), r32(4), r32(0)}, 0x7fffffff},
      {"vmad.u32.u32.u32.shr15", 32, {r32(0x8000), r32(3), r32(0x8000)}, 4},
      {"vset.s32.s32.le.add", 32, {r32(-1), r32(0), r32(9)}, 10},
      {"vshl.u32.u32.u32.clamp", 32, {r32(1), r32(40)}, 0},
      {"vavrg4.s32.s32.s32", 32, {r32(0x00ff0301), r32(0x00fe0502), r32(0)}, 0x00fe0402},
      {"vset4.u32.u32.eq", 32, {r32(0x01020304), r32(0x01000300), r32(0)}, 0x01000100},
      {"vadd2.u32.s32.u32.sat", 32, {r32(0xffff7fff), r32(0x0000ffff), r32(0)}, 0x0000ffff},
  });
  CHECK_FALSE(evaluate("vadd.u32.u32", 32, {r32(1), r32(2)}));
  CHECK_FALSE(evaluate("vadd.u32.u32.u32.add.min", 32, {r32(1), r32(2), r32(3)}));
  CHECK_FALSE(evaluate("vset.u32.u32", 32, {r32(1), r32(2)}));
  CHECK_FALSE(evaluate("vavrg.u32.u32.u32", 32, {r32(1), r32(2)}));
}

/// What `body` leaves in %r1 of thread 0.
std::uint32_t result_of(const std::string& body) {
  const Run r = run(Kernel{body + store_at_tid("%r1") + "ret;\n"});
  if (r.result.fault) FAIL(r.result.fault->text());
  return r.out[0];
}

TEST_CASE("16-bit sums carry into the next") {
  // 0xffffffff + 1 sets the carry that addc.u16 reads.
  CHECK(result_of(".reg .b16 %h<3>;\nmov.u32 %r2, 0xffffffff;\nadd.cc.u32 %r3, %r2, 1;\nmov.u16 %h0, 0xfffe;\n"
                  "addc.u16 %h1, %h0, 1;\ncvt.u32.u16 %r1, %h1;\n") == 0);
  CHECK(result_of(".reg .b16 %h<3>;\nmov.u32 %r2, 0;\nsub.cc.u32 %r3, %r2, 1;\nmov.u16 %h0, 9;\n"
                  "subc.u16 %h1, %h0, 1;\ncvt.u32.u16 %r1, %h1;\n") == 7);
  CHECK(result_of(".reg .b16 %h<3>;\nmov.u32 %r2, 0xffffffff;\nadd.cc.u32 %r3, %r2, 1;\nmov.u16 %h0, 0xffff;\n"
                  "madc.lo.u16 %h1, %h0, %h0, 5;\ncvt.u32.u16 %r1, %h1;\n") == 7);
}

TEST_CASE("a destination that is not wanted may be left out") {
  const std::string select = "selp.u32 %r1, 1, 2, %p2;\n";
  CHECK(result_of("setp.eq.u32 _|%p2, 3, 3;\n" + select) == 2);
  CHECK(result_of("setp.lt.u32 %p2|_, 3, 4;\n" + select) == 1);
  CHECK(result_of("mov.u32 %r2, 0x3c004000;\nmov.u32 %r3, 0x3c003c00;\nsetp.eq.f16x2 _|%p2, %r2, %r3;\n" + select) ==
        1);
  CHECK(result_of("mov.u32 %r2, 0x3c004000;\nmov.u32 %r3, 0x3c003c00;\nsetp.eq.f16x2 %p2|_, %r2, %r3;\n" + select) ==
        2);
  CHECK(result_of("mov.u32 %r2, 6;\nsetp.eq.u32 %p1, 1, 1;\n"
                  "lop3.and.b32 _|%p2, %r2, %r2, %r2, 0x80, %p1;\n" +
                  select) == 1);
}

TEST_CASE("the first lane of a membermask is elected") {
  // Each lane gives its leader's number, and 100 more where it is the leader itself.
  const std::string look = "mov.u32 %r1, %laneid;\n", give = "@%p1 add.u32 %r2, %r2, 100;\n" + store_at_tid("%r2");
  const auto leaders = [](auto leader_of) {
    std::vector<std::uint32_t> all(64);
    for (unsigned t = 0; t < all.size(); ++t) all[t] = leader_of(t % 32) + (leader_of(t % 32) == t % 32 ? 100 : 0);
    return all;
  };
  const auto by_parity = leaders([](unsigned lane) { return lane % 2; });
  CHECK(written(Kernel{look + "elect.sync %r2|%p1, 0xffffffff;\n" + give + "ret;\n"}, 64, 64) ==
        leaders([](unsigned) { return 0u; }));
  // Both sides of a branch elect, each among its own lanes.
  CHECK(written(Kernel{look +
                       "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra $L_even;\n"
                       "elect.sync %r2|%p1, 0xaaaaaaaa;\nbra $L_end;\n"
                       "$L_even:\nelect.sync %r2|%p1, 0x55555555;\n$L_end:\n" +
                       give + "ret;\n"},
                64, 64) == by_parity);
  // Several groups at one instruction; the leader takes the membermask's place.
  CHECK(written(Kernel{look + "and.b32 %r3, %r1, 1;\nshl.b32 %r2, 0x55555555, %r3;\nelect.sync %r2|%p1, %r2;\n" + give +
                       "ret;\n"},
                64, 64) == by_parity);
  // Lanes that come late are waited for; a predicate on the instruction keeps the others out.
  CHECK(written(Kernel{look +
                       "mov.u32 %r2, 7;\nsetp.eq.u32 %p1, 0, 1;\nsetp.ge.u32 %p2, %r1, 5;\n"
                       "mov.u32 %r4, %r1;\n$L_loop:\nsub.u32 %r4, %r4, 1;\nsetp.gt.s32 %p3, %r4, 0;\n"
                       "@%p3 bra $L_loop;\n@%p2 elect.sync %r2|%p1, 0xffffffe0;\n" +
                       give + "ret;\n"},
                64, 64) == [&] {
    auto all = leaders([](unsigned) { return 5u; });
    for (unsigned t = 0; t < all.size(); ++t)
      if (t % 32 < 5) all[t] = 7;
    return all;
  }());
  CHECK(result_of("elect.sync _|%p1, -1;\nselp.u32 %r1, 1, 2, %p1;\n") == 1);
  CHECK(result_of("mov.u32 %r1, %laneid;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r1, 9;\n"
                  "@!%p1 elect.sync %r1|%p2, 0xfffffffe;\n") == 9);
}

TEST_CASE("lanes that come to an election one after the other wait there, but for those that its predicate keeps out") {
  // The loads in the loop look like waiting, so lanes that are past the loop get turns meanwhile.
  const Kernel k{
      "mov.u32 %r1, %laneid;\nmov.u32 %r2, 7;\nsetp.eq.u32 %p1, 0, 1;\nsetp.ge.u32 %p2, %r1, 5;\n"
      "mov.u32 %r4, %r1;\n$L_loop:\nld.volatile.global.u32 %r3, [%out];\nsub.u32 %r4, %r4, 1;\n"
      "setp.ge.s32 %p3, %r4, 0;\n@%p3 bra $L_loop;\n@%p2 elect.sync %r2|%p1, 0xffffffe0;\n"
      "@%p1 add.u32 %r2, %r2, 100;\n" +
      store_at_tid("%r2") + "ret;\n"};
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Run r = run(k, {.schedule = {vgpu::Schedule::Order::random, seed}});
    REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
    for (unsigned t = 0; t < 32; ++t) REQUIRE(r.out[t] == (t < 5 ? 7u : t == 5 ? 105u : 5u));
  }
}

TEST_CASE("an election needs all lanes of its mask, in it the lane itself, and a predicate to write") {
  const auto fault_of = [](const char* body) {
    INFO(body);
    const Run r = run(Kernel{std::string(".reg .b16 %h0;\nmov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 16;\n") + body});
    REQUIRE(r.result.fault);
    return *r.result.fault;
  };
  CHECK(fault_of("elect.sync %r1|%p1, 0xfffffffe;").id == "warp.mask");
  const auto waits = fault_of("@%p1 bra $L_wait;\nbar.sync 0;\nret;\n$L_wait:\nelect.sync %r1|%p1, -1;\nret;");
  CHECK(waits.kind == vgpu::Fault::Kind::deadlock);
  for (const char* body : {"elect.sync %r1, -1;", "elect.sync %r1|%p1;", "elect.sync %r1|%p1, %r1, -1;",
                           "elect %r1|%p1, -1;", "elect.sync.b32 %r1|%p1, -1;", "elect.sync %h0|%p1, -1;",
                           "elect.sync %r1|%r1, -1;", "elect.sync %r1|%p1, %h0;"})
    CHECK(fault_of(body).kind == vgpu::Fault::Kind::unsupported);
}

TEST_CASE("parts of registers and negated registers are for video instructions") {
  const std::string values = "mov.u32 %r2, 0x807f0203;\nmov.u32 %r3, 0x00050007;\nmov.u32 %r4, 1000;\n";
  CHECK(result_of(values + "vadd.s32.s32.u32 %r1, %r2.b3, %r3.h1;\n") == std::uint32_t(-128 + 5));
  CHECK(result_of(values + "vmad.s32.u32.u32 %r1, -%r2.b0, %r3.h0, %r4;\n") == 1000 - 21);
  CHECK(result_of(values + "vmad.s32.u32.u32 %r1, %r2.b0, %r3.h0, -%r4;\n") == std::uint32_t(21 - 1000));
  CHECK(result_of(values + "vmax.u32.u32.u32 %r1.b1, %r2.b0, %r3.b0, %r4;\n") == 0x7e8);
  for (const char* body : {"add.u32 %r1, %r2.h0, %r3;", "st.global.u32 [%out], -%r1;", "mov.b32 %r1, %r2.b0;",
                           "ld.global.u32 %r1.h0, [%out];", "add.s32 %r1, -%r2, %r3;"}) {
    INFO(body);
    const Run r = run(Kernel{body});
    REQUIRE(r.result.fault);
    CHECK(r.result.fault->kind == vgpu::Fault::Kind::unsupported);
  }
}

TEST_CASE("registers that are narrower than an instruction reads or writes are refused") {
  for (const char* body :
       {"ld.global.u32 %r1, [%h0];", "atom.global.add.u64 %r1, [%out], %rd1;", "atom.global.add.u64 %rd1, [%out], %r1;",
        "red.global.add.u32 [%out], %h0;", "nanosleep.u32 %h0;", "shfl.sync.idx.b32 %r1, %h0, 0, 31, -1;",
        "bar.sync %h0;", "cvta.shared.u64 %rd1, %r1;", "alloca.u64 %r1, %rd1;"}) {
    INFO(body);
    const Run r = run(Kernel{std::string(".reg .b16 %h0;\n") + body});
    REQUIRE(r.result.fault);
    CHECK(r.result.fault->kind == vgpu::Fault::Kind::unsupported);
  }
}

TEST_CASE("special registers in other widths, whole, and through cvt") {
  CHECK(result_of("mov.v4.u32 {%r2, %r3, %r4, %r1}, %ntid;\nadd.u32 %r1, %r1, %r2;\n") == 32);
  CHECK(result_of(".reg .b16 %h0;\nmov.u16 %h0, %ntid.x;\ncvt.u32.u16 %r1, %h0;\n") == 32);
  CHECK(result_of("cvt.u64.u32 %rd1, %ntid.x;\ncvt.u32.u64 %r1, %rd1;\n") == 32);
  CHECK(result_of("mov.u32 %r1, %gridid;\nmov.u64 %rd1, %gridid;\ncvt.u32.u64 %r2, %rd1;\nsub.u32 %r1, %r1, %r2;\n") ==
        0);
  CHECK(result_of("mov.u32 %r1, %pm3;\nmov.u32 %r2, %envreg7;\nadd.u32 %r1, %r1, %r2;\n") == 0);
  CHECK(result_of(".shared .b8 s[200];\nst.shared.u8 [s], 1;\nmov.u32 %r1, %total_smem_size;\n") == 256);
}

TEST_CASE("names of variables are addresses of their own space in generic instructions") {
  CHECK(result_of(".shared .align 4 .b8 s[64];\nst.u32 [s+4], 21;\nld.shared.u32 %r1, [s+4];\n") == 21);
  CHECK(result_of(".local .align 4 .b8 l[64];\nst.u32 [l+4], 22;\nld.local.u32 %r1, [l+4];\n") == 22);
  CHECK(result_of(".shared .align 4 .b8 s[64];\nst.shared.u32 [s], 0;\nbar.warp.sync -1;\n"
                  "atom.add.u32 %r1, [s], 1;\nbar.warp.sync -1;\nld.u32 %r1, [s];\n") == 32);
}

TEST_CASE("additions to shared floats keep subnormal numbers, to global ones flush them") {
  const std::string add = "atom.shared.add.f32 %f1, [s], 0f00000001;\nld.shared.u32 %r1, [s];\n";
  CHECK(result_of(".shared .align 4 .b8 s[4];\nst.shared.u32 [s], 0;\nbar.warp.sync -1;\n" + add) == 32);
  const Run r = run(Kernel{"red.global.add.f32 [%out+128], 0f00000001;\nret;\n"});
  CHECK(r.out[32] == 0);
}

}  // namespace
}  // namespace scanlab::test
