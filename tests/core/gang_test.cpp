// Blocks whose warps take the same path, side by side: what they give and count is what the warps would by themselves.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tiers.hpp"

using namespace scanlab;
using test::Kernel;
using test::Setup;
using test::written;

namespace {

/// `out[blockIdx.x * blockDim.x + threadIdx.x] = value`; uses %r30 to %r33, %rd30 and %rd31.
std::string store_at_index(const std::string& value) {
  return "mov.u32 %r30, %ctaid.x;\nmov.u32 %r31, %ntid.x;\nmov.u32 %r32, %tid.x;\nmad.lo.u32 %r33, %r30, %r31, %r32;\n"
         "mul.wide.u32 %rd30, %r33, 4;\nadd.s64 %rd31, %out, %rd30;\nst.global.u32 [%rd31], " +
         value + ";\nret;\n";
}

}  // namespace

TEST_CASE("warps that disagree on a branch part, and go on together after a barrier") {
  // Warp w loops w times.
  const Kernel k{R"(
.shared .align 4 .b8 s_x[4096];
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
mov.u32 %r3, 0;
mov.u32 %r4, 0;
$L_loop:
setp.ge.u32 %p1, %r4, %r2;
@%p1 bra $L_done;
add.u32 %r3, %r3, %r1;
add.u32 %r4, %r4, 1;
bra.uni $L_loop;
$L_done:
mov.u32 %r5, s_x;
shl.b32 %r6, %r1, 2;
add.u32 %r7, %r5, %r6;
st.shared.u32 [%r7], %r3;
bar.sync 0;
xor.b32 %r8, %r6, 128;
add.u32 %r9, %r5, %r8;
ld.shared.u32 %r10, [%r9];
bar.sync 0;
add.u32 %r11, %r10, %r3;
)" + store_at_index("%r11")};
  for (const unsigned threads : {64u, 256u, 1024u}) {
    const auto out = written(k, threads, 3 * threads, 3);
    for (unsigned n = 0; n < out.size(); ++n) {
      const unsigned t = n % threads, other = t ^ 32;
      CHECK(out[n] == t * (t / 32) + other * (other / 32));
    }
  }
}

TEST_CASE("warps that skip a side wait for those that run it") {
  // Threads below 40: warp 0 whole, a part of warp 1, no thread of the others; within, odd and even ones.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 1;
setp.ge.u32 %p1, %r1, 40;
@%p1 bra $L_high;
and.b32 %r3, %r1, 1;
setp.eq.u32 %p2, %r3, 0;
@%p2 bra $L_even;
add.u32 %r2, %r1, 10;
bra.uni $L_end;
$L_even:
setp.lt.u32 %p3, %r1, 8;
@%p3 bra $L_end;
add.u32 %r2, %r1, 20;
bra.uni $L_end;
$L_high:
setp.lt.u32 %p4, %r1, 96;
@%p4 bra $L_end;
mov.u32 %r2, 7;
$L_end:
add.u32 %r2, %r2, 1000;
)" + store_at_index("%r2")};
  for (const unsigned threads : {64u, 128u, 512u}) {
    const auto out = written(k, threads, 2 * threads, 2);
    for (unsigned n = 0; n < out.size(); ++n) {
      const unsigned t = n % threads;
      const unsigned low = t % 2 ? t + 10 : t < 8 ? 1 : t + 20, high = t < 96 ? 1 : 7;
      CHECK(out[n] == 1000 + (t < 40 ? low : high));
    }
  }
}

TEST_CASE("a block may part within the first or the second side of a branch") {
  // tid + base wraps in one warp only, and there it is widened lane by lane: on the side of the odd or the even blocks.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r20, %ctaid.x;
and.b32 %r21, %r20, 1;
mov.u64 %rd1, 0;
setp.lt.u32 %p1, %r1, 48;
@%p1 bra $L_low;
mul.lo.u32 %r2, %r21, 2147483576;
add.s32 %r3, %r1, %r2;
mul.wide.s32 %rd1, %r3, 4;
bra.uni $L_end;
$L_low:
xor.b32 %r4, %r21, 1;
mul.lo.u32 %r5, %r4, 2147483632;
add.s32 %r6, %r1, %r5;
mul.wide.s32 %rd1, %r6, 8;
$L_end:
shr.u64 %rd2, %rd1, 32;
cvt.u32.u64 %r7, %rd2;
cvt.u32.u64 %r8, %rd1;
xor.b32 %r9, %r7, %r8;
)" + store_at_index("%r9")};
  const unsigned threads = 128;
  const auto out = written(k, threads, 4 * threads, 4);
  for (unsigned n = 0; n < out.size(); ++n) {
    const unsigned t = n % threads, odd = n / threads % 2;
    const auto index = static_cast<std::int32_t>(t < 48 ? t + (odd ? 0 : 2147483632u) : t + (odd ? 2147483576u : 0));
    const auto wide = static_cast<std::uint64_t>(std::int64_t{index} * (t < 48 ? 8 : 4));
    CHECK(out[n] == (static_cast<std::uint32_t>(wide >> 32) ^ static_cast<std::uint32_t>(wide)));
  }
}

TEST_CASE("affine values are compared with uniform ones as their lanes would be") {
  using Holds = bool (*)(std::int64_t, std::int64_t);
  const std::pair<const char*, Holds> kinds[] = {{"lt", [](std::int64_t a, std::int64_t b) { return a < b; }},
                                                 {"le", [](std::int64_t a, std::int64_t b) { return a <= b; }},
                                                 {"gt", [](std::int64_t a, std::int64_t b) { return a > b; }},
                                                 {"ge", [](std::int64_t a, std::int64_t b) { return a >= b; }},
                                                 {"eq", [](std::int64_t a, std::int64_t b) { return a == b; }},
                                                 {"ne", [](std::int64_t a, std::int64_t b) { return a != b; }}};
  const std::uint32_t strides[] = {1, 2, 3, 4, 12, 32, 1u << 25, 1u << 26, 1u << 31, 0u - 1, 0u - 8};
  const std::uint32_t starts[] = {0, 1, 0u - 8, 0x7ffffff0, 0u - 40};
  const std::uint32_t bounds[] = {0, 1, 2, 16, 31, 32, 33, 36, 63, 64, 65, 100, 0x7fffffff, 0x80000000, 0u - 1};
  constexpr unsigned threads = 96;
  const auto number = [](std::uint32_t n) { return std::to_string(n); };
  for (const auto& [word, holds] : kinds)
    for (const std::string type : {"u32", "s32"})
      for (const bool is_first : {true, false}) {
        INFO(word << "." << type << (is_first ? ", the affine one first" : ", the affine one second"));
        std::string body = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 1;\n";
        std::vector<std::uint32_t> expected(threads, 1);
        const auto value = [&](std::uint32_t x) {
          return type == "u32" ? std::int64_t{x} : std::int64_t{static_cast<std::int32_t>(x)};
        };
        for (const std::uint32_t stride : strides)
          for (const std::uint32_t start : starts) {
            body += "mul.lo.u32 %r3, %r1, " + number(stride) + ";\nadd.u32 %r3, %r3, " + number(start) + ";\n";
            for (const std::uint32_t bound : bounds) {
              body += "mov.u32 %r4, " + number(bound) + ";\nsetp." + word + "." + type + " %p1, " +
                      (is_first ? "%r3, %r4" : "%r4, %r3") +
                      ";\nselp.u32 %r5, 1, 2, %p1;\nmad.lo.u32 %r2, %r2, 3, %r5;\n";
              for (unsigned t = 0; t < threads; ++t) {
                const std::int64_t a = value(t * stride + start), b = value(bound);
                expected[t] = expected[t] * 3 + ((is_first ? holds(a, b) : holds(b, a)) ? 1 : 2);
              }
            }
          }
        CHECK(written({body + test::store_at_tid("%r2") + "ret;\n"}, threads, threads) == expected);
      }
}

TEST_CASE("what is uniform in a warp may differ between warps") {
  // Each warp reads the element of its place in the multiprocessor, and computes with it.
  const Kernel k{R"(
.shared .align 4 .b8 s_x[128];
mov.u32 %r1, %tid.x;
mov.u32 %r2, s_x;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra $L_filled;
shl.b32 %r3, %r1, 2;
add.u32 %r4, %r2, %r3;
mad.lo.u32 %r5, %r1, %r1, 3;
st.shared.u32 [%r4], %r5;
$L_filled:
bar.sync 0;
mov.u32 %r6, %warpid;
shl.b32 %r7, %r6, 2;
add.u32 %r8, %r2, %r7;
ld.shared.u32 %r9, [%r8];
shr.u32 %r10, %r9, 1;
mul.lo.u32 %r11, %r10, %r1;
setp.gt.u32 %p2, %r11, 100;
selp.u32 %r12, %r9, %r11, %p2;
)" + store_at_index("%r12")};
  const unsigned threads = 320;
  const auto out = written(k, threads, 2 * threads, 2);
  for (unsigned n = 0; n < out.size(); ++n) {
    const unsigned t = n % threads, warp = n / 32, x = warp * warp + 3, y = x / 2 * t;  // its place, of two blocks
    CHECK(out[n] == (y > 100 ? x : y));
  }
}

TEST_CASE("some blocks part and others do not, one after the other in the same place") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
and.b32 %r3, %r2, 3;
mov.u32 %r4, 5;
mov.u32 %r6, 0;
setp.ne.u32 %p1, %r3, 1;
@%p1 bra $L_loop;
shr.u32 %r4, %r1, 4;
$L_loop:
setp.ge.u32 %p2, %r6, %r4;
@%p2 bra $L_done;
add.u32 %r6, %r6, 1;
bra.uni $L_loop;
$L_done:
mad.lo.u32 %r7, %r2, 100, %r6;
)" + store_at_index("%r7")};
  const unsigned threads = 96;
  const auto out = written(k, threads, 12 * threads, 12);
  for (unsigned n = 0; n < out.size(); ++n) {
    const unsigned t = n % threads, b = n / threads;
    CHECK(out[n] == 100 * b + (b % 4 == 1 ? t / 16 : 5));
  }
}

TEST_CASE("a long loop is let go of, and ends as it would") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
mov.u32 %r3, 0;
$L_loop:
add.u32 %r2, %r2, %r1;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, 300000;
@%p1 bra $L_loop;
)" + store_at_index("%r2")};
  const auto out = written(k, 64, 64);
  for (unsigned t = 0; t < 64; ++t) CHECK(out[t] == 300000u * t);
}

TEST_CASE("an endless loop of all warps is found") {
  const auto r = test::run({"$L_loop:\nbra.uni $L_loop;\nret;\n"}, {.block = {128, 1, 1}});
  REQUIRE(r.result.fault);
}

TEST_CASE("a fault names the thread, whichever warp it is in") {
  for (const unsigned threads : {64u, 256u}) {
    const auto r = test::run({"mov.u32 %r1, %tid.x;\n" + test::store_at_tid("%r1") + "ret;\n"},
                             {.block = {threads, 1, 1}, .words = threads - 1});
    REQUIRE(r.result.fault);
    CHECK(r.result.fault->thread[0] == threads - 1);
  }
}

TEST_CASE("lanes of a warp shuffle while others wait") {
  // Warps 0 and 1 whole, and a half of warp 2.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 9;
setp.ge.u32 %p1, %r1, 80;
@%p1 bra $L_end;
setp.lt.u32 %p2, %r1, 64;
selp.u32 %r5, -1, 65535, %p2;
shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r5;
$L_end:
shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;
mad.lo.u32 %r4, %r2, 1000, %r3;
)" + store_at_index("%r4")};
  const unsigned threads = 128;
  const auto out = written(k, threads, 2 * threads, 2);
  const auto held = [](unsigned t) { return t < 80 ? t ^ 1 : 9; };
  for (unsigned n = 0; n < out.size(); ++n) {
    const unsigned t = n % threads;
    CHECK(out[n] == 1000 * held(t) + held(t ^ 16));
  }
}

TEST_CASE("a warp that goes over to another array takes no other warp's bounds along") {
  // First every warp reads s_large; then warp 0 stays there, warp 1 goes over to s_small, and warp 2 past the end of
  // it.
  const Kernel k{R"(
.shared .align 4 .b8 s_small[128];
.shared .align 4 .b8 s_large[4096];
mov.u32 %r1, %laneid;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_large;
mov.u32 %r4, s_small;
mov.u32 %r5, %warpid;
min.u32 %r6, %r5, 1;
sub.u32 %r7, %r4, %r3;
mul.lo.u32 %r8, %r6, %r7;
sub.u32 %r9, %r5, %r6;
shl.b32 %r10, %r9, 7;
add.u32 %r11, %r8, %r10;
mov.u32 %r12, 0;
add.u32 %r13, %r3, %r2;
$L_loop:
ld.shared.u32 %r14, [%r13];
add.u32 %r13, %r13, %r11;
add.u32 %r12, %r12, 1;
setp.lt.u32 %p1, %r12, 2;
@%p1 bra $L_loop;
)" + store_at_index("%r14")};
  const auto r = test::run(k, {.block = {96, 1, 1}, .words = 96});
  REQUIRE(r.result.fault);
  CHECK(r.result.fault->kind == vgpu::Fault::Kind::out_of_bounds);
  CHECK(r.result.fault->thread[0] == 64);
}
