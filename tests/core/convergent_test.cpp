// Code for warps that stay together gives what code for any warp gives, and counts the same.
#include <catch2/catch_test_macros.hpp>

#include "tiers.hpp"

using namespace scanlab;
using test::Kernel;
using test::written;

TEST_CASE("an index that wraps between two lanes of a warp is widened lane by lane") {
  // tid + 0x7ffffff0 is negative from lane 16 on: its sign goes into the upper word.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
add.s32 %r2, %r1, 2147483632;
mul.wide.s32 %rd1, %r2, 4;
shr.u64 %rd2, %rd1, 32;
cvt.u32.u64 %r3, %rd2;
cvt.u64.u32 %rd3, %r2;
shr.u64 %rd4, %rd3, 32;
cvt.u32.u64 %r4, %rd4;
add.u32 %r5, %r3, %r4;
)" + test::store_at_tid("%r5") +
                 "ret;\n"};
  const auto out = written(k, 64, 64);
  for (unsigned t = 0; t < 64; ++t) CHECK(out[t] == (t < 16 ? 1u : 0xFFFFFFFEu));
}

TEST_CASE("comparisons of neighbours change within a warp, and with a wrap twice") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
sub.u32 %r2, %r1, 8;
setp.lt.u32 %p1, %r2, 16;
setp.lt.s32 %p2, %r2, 16;
selp.u32 %r3, 1, 0, %p1;
selp.u32 %r4, 2, 0, %p2;
setp.eq.u32 %p3, %r2, 5;
selp.u32 %r5, 4, 0, %p3;
add.u32 %r6, %r3, %r4;
add.u32 %r6, %r6, %r5;
)" + test::store_at_tid("%r6") +
                 "ret;\n"};
  const auto out = written(k, 32, 64);
  for (unsigned t = 0; t < 32; ++t)
    CHECK(out[t] == (t >= 8 && t < 24 ? 1u : 0u) + (t < 24 ? 2u : 0u) + (t == 13 ? 4u : 0u));
}

TEST_CASE("sides of nested branches run one after the other, and all lanes go on") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 7;
and.b32 %r3, %r1, 1;
setp.eq.u32 %p1, %r3, 0;
@%p1 bra $L_even;
mov.u32 %r2, 1;
setp.lt.u32 %p2, %r1, 8;
@%p2 bra $L_small;
add.u32 %r2, %r2, 10;
$L_small:
bra.uni $L_end;
$L_even:
mov.u32 %r2, 2;
setp.gt.u32 %p3, %r1, 20;
@%p3 bra $L_end;
add.u32 %r2, %r2, 100;
$L_end:
add.u32 %r2, %r2, 1000;
)" + test::store_at_tid("%r2") +
                 "ret;\n"};
  const auto out = written(k, 32, 64);
  for (unsigned t = 0; t < 32; ++t) {
    const unsigned side = t % 2 ? 1 + (t < 8 ? 0 : 10) : 2 + (t > 20 ? 0 : 100);
    CHECK(out[t] == side + 1000);
  }
}

TEST_CASE("a warp that has diverged comes back after a barrier with what its lanes hold") {
  // Lane t loops t % 4 times, and %r2 differs; after the barrier %r5 is uniform again, and %r6 affine.
  const Kernel k{R"(
.shared .align 4 .b8 s_x[512];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
mov.u32 %r5, 3;
shl.b32 %r6, %r1, 2;
and.b32 %r3, %r1, 3;
$L_loop:
setp.ge.u32 %p1, %r2, %r3;
@%p1 bra $L_done;
add.u32 %r2, %r2, 1;
bra.uni $L_loop;
$L_done:
mov.u32 %r7, s_x;
add.u32 %r8, %r7, %r6;
st.shared.u32 [%r8], %r2;
bar.sync 0;
xor.b32 %r9, %r8, 4;
ld.shared.u32 %r10, [%r9];
mad.lo.u32 %r11, %r10, %r5, %r6;
)" + test::store_at_tid("%r11") +
                 "ret;\n"};
  const auto out = written(k, 128, 128);
  for (unsigned t = 0; t < 128; ++t) CHECK(out[t] == ((t ^ 1) % 4) * 3 + 4 * t);
}

TEST_CASE("a register that is sometimes affine and sometimes uniform is both") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r2, %r1;
setp.gt.u32 %p1, %r3, 64;
@%p1 bra $L_keep;
mov.u32 %r2, 5;
$L_keep:
add.u32 %r4, %r2, %r2;
)" + test::store_at_tid("%r4") +
                 "ret;\n"};
  const auto few = written(k, 64, 128), many = written(k, 128, 128);
  for (unsigned t = 0; t < 64; ++t) CHECK(few[t] == 10);
  for (unsigned t = 0; t < 128; ++t) CHECK(many[t] == 2 * t);
}

TEST_CASE("additions that round up or down round so, and count, however they are executed") {
  // With e = 2^-25: 1 + e goes up to 1 + 2^-23; e - that goes to -1 towards zero; e - 1 goes down to -1; and e - 1
  // towards zero to -(1 - 2^-24).
  const Kernel k{R"(
mov.f32 %f1, 0f3F800000;
mov.f32 %f2, 0f33000000;
add.rp.f32 %f3, %f1, %f2;
sub.rz.f32 %f4, %f2, %f3;
fma.rm.f32 %f5, %f2, %f1, %f4;
add.rz.f32 %f6, %f5, %f2;
mov.b32 %r1, %f3;
mov.b32 %r2, %f4;
xor.b32 %r3, %r1, %r2;
mov.b32 %r4, %f6;
xor.b32 %r5, %r3, %r4;
)" + test::store_at_tid("%r5") +
                 "ret;\n"};
  for (const unsigned threads : {32u, 40u, 128u})
    CHECK(written(k, threads, threads) == std::vector<std::uint32_t>(threads, 0x3f800001u ^ 0xbf800000u ^ 0xbf7fffffu));
}
