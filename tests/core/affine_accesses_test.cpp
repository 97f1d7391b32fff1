// Which kernels' blocks are known to be apart before they run, and that such launches give the same on any number of
// host threads.
#include "vgpu/core/decode/affine_accesses.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <numeric>

#include "kernel.hpp"
#include "vgpu/core/decode/image.hpp"
#include "vgpu/core/run/device.hpp"

using namespace scanlab;

namespace {

constexpr std::uint64_t in_words = 1 << 16, out_words = 1 << 16;
constexpr vgpu::Address in_at = vgpu::global_window + 0x10000, out_at = in_at + 4 * in_words + 0x10000,
                        table_at = out_at + 4 * out_words + 0x10000;

/// A kernel k(in, out, n) whose body may use %in and %out, addresses in global space, and %i, the number of the thread.
std::string kernel(const std::string& body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[4096];
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
{
.reg .pred %p<10>;
.reg .b16 %h<10>;
.reg .b32 %r<40>;
.reg .b32 %i, %n, %t, %width, %b;
.reg .f32 %f<10>;
.reg .b64 %rd<40>;
.reg .b64 %in, %out, %own, %offset;
.shared .align 16 .b8 s_x[4096];
ld.param.u64 %rd38, [k_param_0];
ld.param.u64 %rd39, [k_param_1];
ld.param.u32 %n, [k_param_2];
cvta.to.global.u64 %in, %rd38;
cvta.to.global.u64 %out, %rd39;
mov.u32 %t, %tid.x;
mov.u32 %width, %ntid.x;
mov.u32 %b, %ctaid.x;
mad.lo.s32 %i, %b, %width, %t;
mul.wide.s32 %offset, %i, 4;
add.s64 %own, %out, %offset;
)" + body +
         "\nret;\n}\n.file 1 \"kernel.cu\"\n";
}

struct Numbers {
  vgpu::Address in = in_at, out = out_at;
  std::uint32_t n = 1000;
  vgpu::Dim3 grid{64, 1, 1}, block{256, 1, 1};
};

bool apart(const std::string& body, const Numbers& numbers = {}) {
  const ptx::Module module = ptx::parse(kernel(body));
  const vgpu::SymbolTable symbols{{"table", table_at}};
  std::vector<std::uint32_t> offsets;
  vgpu::layout_parameters(module.functions[0], offsets);
  std::byte parameters[20];
  std::memcpy(parameters, &numbers.in, 8);
  std::memcpy(parameters + 8, &numbers.out, 8);
  std::memcpy(parameters + 16, &numbers.n, 4);
  const vgpu::AffineAccesses accesses(module.functions[0], offsets, symbols);
  return accesses.blocks_are_apart({parameters, numbers.grid, numbers.block});
}

/// %rd2 the address of word %r2 of `base`.
std::string word(const std::string& base) {
  return "mul.wide.u32 %rd1, %r2, 4;\nadd.s64 %rd2, " + base + ", %rd1;\n";
}

}  // namespace

TEST_CASE("blocks that write their own part of what is never read are apart") {
  const std::pair<const char*, std::string> kernels[] = {
      {"vector addition",
       "add.s64 %rd1, %in, %offset;\nld.global.f32 %f1, [%rd1];\nadd.f32 %f2, %f1, %f1;\n"
       "setp.ge.s32 %p1, %i, %n;\n@%p1 bra $L_end;\nst.global.f32 [%own], %f2;\n$L_end:"},
      {"the same word for every thread of a block",
       "mov.u32 %r2, %ctaid.x;\n" + word("%out") + "st.global.u32 [%rd2], %t;"},
      {"two words a thread, a block apart",
       "shl.b32 %r1, %width, 1;\nmad.lo.s32 %r2, %b, %r1, %t;\n" + word("%out") +
           "st.global.u32 [%rd2], %i;\nadd.s32 %r3, %r2, %width;\nmul.wide.s32 %rd3, %r3, 4;\n"
           "add.s64 %rd4, %out, %rd3;\nst.global.u32 [%rd4], %i;"},
      {"two neighbouring words a thread",
       "shl.b32 %r1, %i, 1;\nor.b32 %r2, %r1, 1;\n" + word("%out") +
           "st.global.u32 [%rd2], %i;\n"
           "mul.wide.s32 %rd3, %r1, 4;\nadd.s64 %rd4, %out, %rd3;\nst.global.u32 [%rd4], %i;"},
      {"four words at once",
       "mul.wide.u32 %rd1, %i, 16;\nadd.s64 %rd2, %out, %rd1;\n"
       "st.global.v4.u32 [%rd2], {%i, %i, %i, %i};"},
      {"half words", "mul.wide.u32 %rd1, %i, 2;\nadd.s64 %rd2, %out, %rd1;\nst.global.u16 [%rd2], %h1;"},
      {"from the end to the beginning",
       "mov.u32 %r1, 65535;\nsub.u32 %r2, %r1, %i;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"by warps and lanes",
       "shr.u32 %r3, %t, 5;\nand.b32 %r4, %t, 31;\nshl.b32 %r5, %r3, 5;\nadd.u32 %r6, %r5, %r4;\n"
       "shl.b32 %r7, %b, 8;\nadd.u32 %r2, %r7, %r6;\n" +
           word("%out") + "st.global.u32 [%rd2], %i;"},
      {"rounded down to a warp",
       "and.b32 %r2, %i, -32;\nmul.wide.u32 %rd1, %r2, 4;\nadd.s64 %rd2, %in, %rd1;\n"
       "ld.global.u32 %r3, [%rd2];\nst.global.u32 [%own], %r3;"},
      {"64-bit arithmetic",
       "cvt.u64.u32 %rd1, %i;\nshl.b64 %rd2, %rd1, 2;\nmad.lo.s64 %rd3, %rd1, 4, %out;\n"
       "st.global.u32 [%rd3], %i;\nadd.s64 %rd4, %in, %rd2;\nld.global.nc.u32 %r3, [%rd4+4];"},
      {"generic addresses", "add.s64 %rd1, %rd39, %offset;\nst.u32 [%rd1], %i;"},
      {"a table that all read",
       "mov.u64 %rd1, table;\nmul.wide.u32 %rd2, %t, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
       "ld.global.u32 %r2, [%rd3];\nld.global.u32 %r3, [table+16];\nst.global.u32 [%own], %r2;"},
      {"asynchronous copies",
       "mov.u32 %r2, s_x;\nadd.s64 %rd1, %in, %offset;\n"
       "cp.async.ca.shared.global [%r2], [%rd1], 4;\ncp.async.wait_all;\nst.global.u32 [%own], %i;"},
      {"a loop over shared memory",
       "mov.u32 %r1, 0;\n$L_loop:\nst.shared.u32 [s_x], %r1;\nadd.u32 %r1, %r1, 1;\n"
       "setp.lt.u32 %p1, %r1, %n;\n@%p1 bra $L_loop;\nst.global.u32 [%own], %r1;"},
      {"nothing is written", "ld.global.u32 %r1, [%out];"},
  };
  for (const auto& [name, body] : kernels) {
    INFO(name);
    CHECK(apart(body));
  }
  const std::string matrix =
      "mov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %nctaid.x;\nmad.lo.s32 %r5, %r3, %r4, %b;\n"
      "mad.lo.s32 %r2, %r5, %width, %t;\n" +
      word("%out") + "st.global.u32 [%rd2], %i;";
  CHECK(apart(matrix, {.grid = {8, 8, 1}}));
}

TEST_CASE("nothing is known of blocks that share memory, or whose addresses are not affine") {
  const std::pair<const char*, std::string> kernels[] = {
      {"in place", "ld.global.u32 %r1, [%own];\nst.global.u32 [%own], %r1;"},
      {"all write the same word", "st.global.u32 [%out], %i;"},
      {"a word of the next block", "st.global.u32 [%own], %i;\nst.global.u32 [%own+4], %i;"},
      {"a word of the next block is read", "st.global.u32 [%own], %i;\nld.global.u32 %r1, [%own+1024];"},
      {"parts that overlap",
       "shl.b32 %r1, %b, 4;\nadd.u32 %r2, %r1, %t;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"another stride",
       "st.global.u32 [%own], %i;\nshl.b32 %r2, %b, 4;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"four words with a stride of one", "st.global.v4.u32 [%own], {%i, %i, %i, %i};"},
      {"an address from memory", "ld.global.u32 %r2, [%in];\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"an address from shared memory", "ld.shared.u32 %r2, [s_x];\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"a remainder", "rem.u32 %r2, %i, 977;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"an address that grows in a loop", "mov.u32 %r2, %i;\n$L_loop:\n" + word("%out") +
                                              "st.global.u32 [%rd2], %i;\nadd.u32 %r2, %r2, 1;\n"
                                              "setp.lt.u32 %p1, %r2, 100;\n@%p1 bra $L_loop;"},
      {"either of two values", "mov.u32 %r2, %i;\nsetp.lt.u32 %p1, %t, 3;\n@%p1 mov.u32 %r2, 0;\n" + word("%out") +
                                   "st.global.u32 [%rd2], %i;"},
      {"a value, or none",
       "setp.lt.u32 %p1, %t, 3;\n@%p1 mov.u32 %r2, %i;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"a value that a jump leaves out", "setp.lt.u32 %p1, %t, 3;\n@%p1 bra $L_skip;\nmov.u32 %r2, %i;\n$L_skip:\n" +
                                             word("%out") + "st.global.u32 [%rd2], %i;"},
      {"a value before it is set", "mov.u32 %r1, 0;\n$L_loop:\n" + word("%out") +
                                       "st.global.u32 [%rd2], %i;\nmov.u32 %r2, %i;\nadd.u32 %r1, %r1, 1;\n"
                                       "setp.lt.u32 %p1, %r1, 2;\n@%p1 bra $L_loop;"},
      {"a product that wraps around", "mul.lo.u32 %r2, %i, 1048576;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"signs that make a large number", "sub.u32 %r2, %i, 5;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"a mask of the block's number", "and.b32 %r2, %i, 1023;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"a shift that loses block numbers", "shr.u32 %r2, %b, 1;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"bits over the block's number", "or.b32 %r2, %i, 256;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"a shared address made generic", "mov.u64 %rd1, s_x;\ncvta.shared.u64 %rd2, %rd1;\nst.u32 [%rd2], %i;"},
      {"an atomic operation", "atom.global.add.u32 %r1, [%own], 1;"},
      {"a reduction", "red.global.add.u32 [%own], 1;"},
      {"an asynchronous copy of what is written",
       "mov.u32 %r2, s_x;\ncp.async.ca.shared.global [%r2], [%own], 4;\n"
       "cp.async.wait_all;\nst.global.u32 [%own], %i;"},
      {"outside of all memory", "st.global.u32 [%offset], %i;"},
      {"saturation", "add.sat.s32 %r2, %i, 5;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
      {"the upper half of a product", "mul.hi.u32 %r2, %i, 1000000;\n" + word("%out") + "st.global.u32 [%rd2], %i;"},
  };
  for (const auto& [name, body] : kernels) {
    INFO(name);
    CHECK_FALSE(apart(body));
  }
}

TEST_CASE("whether blocks are apart depends on the numbers of the launch") {
  const std::string copy = "add.s64 %rd1, %in, %offset;\nld.global.u32 %r1, [%rd1];\nst.global.u32 [%own], %r1;";
  CHECK(apart(copy));
  CHECK_FALSE(apart(copy, {.out = in_at}));
  CHECK(apart(copy, {.out = in_at + 4 * 64 * 256}));
  CHECK_FALSE(apart(copy, {.out = in_at + 4 * 64 * 256 - 4}));
  CHECK_FALSE(apart(copy, {.in = out_at + 4 * 64 * 256 - 4}));
  CHECK_FALSE(apart(copy, {.grid = {8, 8, 1}}));  // the rows of the grid write the same
  CHECK(apart(copy, {.block = {64, 4, 1}}));      // the rows of a block write the same, in their order
  CHECK_FALSE(apart(copy, {.grid = {1u << 31, 1, 1}}));

  const std::string stride_of_n = "mad.lo.s32 %r2, %b, %n, %t;\n" + word("%out") + "st.global.u32 [%rd2], %i;";
  CHECK(apart(stride_of_n, {.n = 256}));
  CHECK_FALSE(apart(stride_of_n, {.n = 255}));
  CHECK_FALSE(apart(stride_of_n, {.n = static_cast<std::uint32_t>(-256)}));  // below the beginning, read as unsigned
}

namespace {

struct Outcome {
  vgpu::LaunchResult::Status status{};
  std::string fault;
  std::uint64_t warp_instructions = 0;
  std::vector<std::uint32_t> memory;
  vgpu::ParallelRounds rounds;
};

Outcome outcome(const std::string& body, unsigned threads) {
  constexpr std::uint32_t words = 300 * 64;
  vgpu::Device device(vgpu::small_profile());
  device.threads = threads;
  device.least_parallel_ns = 0;
  device.max_warp_instructions = 1'000'000;
  Outcome o;
  o.memory.resize(words);
  std::iota(o.memory.begin(), o.memory.end(), 0u);
  const vgpu::Address buffers[] = {device.memory().allocate(4 * words), device.memory().allocate(4 * words)};
  for (const vgpu::Address at : buffers) device.memory().write(at, o.memory.data(), 4 * words);
  std::byte parameters[20];
  std::memcpy(parameters, buffers, 16);
  std::memcpy(parameters + 16, &words, 4);
  const vgpu::LaunchResult result =
      device.launch(test::launch_of(device.load(kernel(body)), {300, 1, 1}, {64, 1, 1}, parameters));
  o.status = result.status;
  o.fault = result.fault ? result.fault->text() : "";
  o.warp_instructions = result.warp_instructions;
  device.memory().read(o.memory.data(), buffers[1], 4 * words);
  o.rounds = device.parallel_rounds();
  return o;
}

/// Work of some length, so that several blocks run at once.
const std::string work = R"(
mov.u32 %r30, 40;
$L_work:
sub.u32 %r30, %r30, 1;
setp.ne.u32 %p9, %r30, 0;
@%p9 bra $L_work;
)";
const std::string load = "add.s64 %rd30, %in, %offset;\nld.global.u32 %r31, [%rd30];\n";

}  // namespace

TEST_CASE("blocks that are apart give the same on any number of host threads") {
  const std::string body = load + work + "mad.lo.u32 %r32, %r31, 3, %b;\nst.global.u32 [%own], %r32;";
  const Outcome one = outcome(body, 1);
  REQUIRE(one.status == vgpu::LaunchResult::Status::ok);
  for (const unsigned threads : {2u, 3u, 8u}) {
    const Outcome several = outcome(body, threads);
    CHECK(several.rounds.apart > 0);
    CHECK(several.rounds.undone == 0);
    CHECK(several.warp_instructions == one.warp_instructions);
    CHECK(several.memory == one.memory);
  }
}

TEST_CASE("faults of blocks that are apart are those of one thread") {
  const std::pair<const char*, std::string> ends[] = {
      {"two traps",
       "setp.eq.u32 %p1, %b, 280;\nsetp.eq.u32 %p2, %b, 120;\nor.pred %p3, %p1, %p2;\n"
       "@!%p3 bra $L_end;\ntrap;\n$L_end:"},
      {"a barrier at which not all arrive", "setp.ne.u32 %p1, %b, 200;\n@%p1 bra $L_end;\nbar.sync 1, 96;\n$L_end:"},
      {"an endless loop", "setp.ne.u32 %p1, %b, 210;\n@%p1 bra $L_end;\n$L_loop:\nbra $L_loop;\n$L_end:"},
      {"an endless loop that counts",
       "mov.u32 %r1, 0;\nsetp.ne.u32 %p1, %b, 210;\n@%p1 bra $L_end;\n$L_loop:\n"
       "add.u32 %r1, %r1, 1;\nbra $L_loop;\n$L_end:"},
      {"out of bounds in shared memory",
       "mul.lo.u32 %r1, %b, 16;\nmov.u32 %r2, s_x;\nadd.u32 %r3, %r1, %r2;\n"
       "st.shared.u32 [%r3], %r1;"},
      {"out of bounds", "setp.lt.u32 %p1, %b, 250;\n@%p1 bra $L_end;\nld.global.u32 %r3, [%rd30+16384];\n$L_end:"},
  };
  for (const auto& [name, end] : ends) {
    INFO(name);
    const std::string body = load + work + "st.global.u32 [%own], %r31;\n" + end;
    const Outcome one = outcome(body, 1);
    REQUIRE(one.status == vgpu::LaunchResult::Status::fault);
    for (unsigned repetition = 0; repetition < 5; ++repetition) {
      const Outcome several = outcome(body, 4);
      CHECK(several.rounds.apart > 0);
      CHECK(several.fault == one.fault);
      CHECK(several.warp_instructions == one.warp_instructions);
    }
  }
}
