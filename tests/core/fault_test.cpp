// What stops a kernel is reported with its place; what cannot end is proven, not waited for.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernel.hpp"

using namespace scanlab;
using Catch::Matchers::ContainsSubstring;
using test::Kernel;
using test::Setup;
using Kind = vgpu::Fault::Kind;
using Status = vgpu::LaunchResult::Status;

namespace {

const vgpu::Fault& fault_of(const test::Run& r) {
  REQUIRE(r.result.status == Status::fault);
  REQUIRE(r.result.fault.has_value());
  return *r.result.fault;
}

}  // namespace

TEST_CASE("a write past the end names the line, the thread, the allocation and by how much") {
  // 64 words; thread 63 of the second block writes word 127.
  const Kernel k{R"(
.loc 1 10 3
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.s32 %r3, %r2, 64, %r1;
mul.wide.u32 %rd1, %r3, 4;
add.s64 %rd2, %out, %rd1;
.loc 1 11 5
st.global.u32 [%rd2], %r3;
ret;
)"};
  const auto r = test::run(k, {.grid = {2, 1, 1}, .block = {64, 1, 1}});
  const vgpu::Fault& f = fault_of(r);
  CHECK(f.kind == Kind::out_of_bounds);
  CHECK(f.kernel == "k");
  CHECK(f.where.file == "kernel.cu");
  CHECK(f.where.line == 11);
  CHECK(f.block[0] == 1);
  CHECK(f.thread[0] == 0);
  CHECK(f.headline == "write of 4 bytes outside out");
  CHECK_THAT(f.text(), ContainsSubstring("just past the end of out, which has 256 bytes"));
}

TEST_CASE("an access before a shared array names the array") {
  const Kernel k{R"(
.shared .align 4 .b8 s_xy[128];
.loc 1 7 1
mov.u32 %r1, s_xy;
ld.shared.u32 %r2, [%r1+-8];
ret;
)"};
  const auto r = test::run(k);
  const vgpu::Fault& f = fault_of(r);
  CHECK(f.headline == "read of 4 bytes outside shared array s_xy");
  CHECK_THAT(f.text(), ContainsSubstring("8 bytes before the beginning of s_xy, which has 128 bytes"));
}

TEST_CASE("one shared array is not reached through another") {
  const Kernel k{R"(
.shared .align 4 .b8 s_a[128];
.shared .align 4 .b8 s_b[128];
mov.u32 %r1, s_a;
mov.u32 %r3, s_b;
st.shared.u32 [%r3], 5;
ld.shared.u32 %r2, [%r1+128];
ret;
)"};
  CHECK(fault_of(test::run(k)).headline == "read of 4 bytes outside shared array s_a");
}

TEST_CASE("a dynamic shared array that was launched without bytes says so") {
  const Kernel k{R"(
mov.u32 %r1, s_dynamic;
st.shared.u32 [%r1], 1;
ret;
)",
                 ".extern .shared .align 16 .b8 s_dynamic[];"};
  const auto r = test::run(k);
  CHECK_THAT(fault_of(r).advice, ContainsSubstring("third launch parameter"));
  CHECK(test::run(k, {.dynamic_shared = 4}).result.status == Status::ok);
}

TEST_CASE("a misaligned access is reported as such") {
  const Kernel k{"ld.global.u32 %r1, [%out+2];\nret;\n"};
  const auto r = test::run(k);
  CHECK(fault_of(r).kind == Kind::misaligned);
  CHECK_THAT(fault_of(r).text(), ContainsSubstring("2 bytes past a multiple of 4"));
}

TEST_CASE("a null pointer and a host pointer are recognised") {
  CHECK_THAT(fault_of(test::run({"mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1];\nret;\n"})).text(),
             ContainsSubstring("null"));
  CHECK_THAT(fault_of(test::run({"mov.u64 %rd1, 140000000000000;\nld.global.u32 %r1, [%rd1];\nret;\n"})).text(),
             ContainsSubstring("host pointer"));
}

TEST_CASE("a pointer from unwritten memory is recognised, at every alignment and with an offset") {
  const auto detail = [](const char* offset) {
    const auto r = test::run({".shared .align 8 .b64 never;\nld.shared.u64 %rd1, [never];\nld.global.u32 %r1, [%rd1" +
                              std::string(offset) + "];\nret;\n"});
    CHECK(fault_of(r).kind == Kind::out_of_bounds);
    REQUIRE(fault_of(r).details.size() == 1);
    return fault_of(r).details[0];
  };
  const std::string poisoned = "the address comes from memory that no thread has written (poison)";
  CHECK(detail("") == poisoned);
  CHECK(detail("+3") == poisoned + ", 3 bytes further on");
  CHECK(detail("+-1") == poisoned + ", 1 byte before it");
}

TEST_CASE("addresses of shared and local memory that are used as global ones are named") {
  CHECK_THAT(fault_of(test::run({".shared .align 8 .b8 s[64];\nmov.u64 %rd1, s;\ncvta.shared.u64 %rd1, %rd1;\n"
                                 "ld.global.u32 %r1, [%rd1+8];\nret;\n"}))
                 .text(),
             ContainsSubstring("the address is one of a block's shared memory, used as one of global memory"));
  CHECK_THAT(fault_of(test::run({".local .align 8 .b8 l[64];\nmov.u64 %rd1, l;\ncvta.local.u64 %rd1, %rd1;\n"
                                 "ld.global.u32 %r1, [%rd1];\nret;\n"}))
                 .text(),
             ContainsSubstring("the address is one of a thread's local memory, used as one of global memory"));
}

TEST_CASE("the size of what was missed is reported once") {
  const auto detail = [](const char* label) {
    const auto r = test::run({"st.global.u32 [%out+-4], 1;\nret;\n"}, {.label = label});
    REQUIRE(fault_of(r).details.size() == 1);
    return fault_of(r).details[0];
  };
  CHECK(detail("x") == "4 bytes before the beginning of x, which has 256 bytes");
  CHECK(detail("x256") == "4 bytes before the beginning of x256, which has 256 bytes");
  CHECK(detail("cudaMalloc #2 (256 bytes)") == "4 bytes before the beginning of cudaMalloc #2 (256 bytes)");
  CHECK(detail("malloc(256) in the kernel") == "4 bytes before the beginning of malloc(256) in the kernel");
  CHECK(detail("") == "4 bytes before the beginning of cudaMalloc #1, 256 bytes");
}

TEST_CASE("an unknown instruction is an error with its line before anything runs") {
  const Kernel k{R"(
.loc 1 3 1
st.global.u32 [%out], 77;
.loc 1 9 1
frobnicate.rn.f32 %f1, %f2;
ret;
)"};
  const auto r = test::run(k);
  const vgpu::Fault& f = fault_of(r);
  CHECK(f.kind == Kind::unsupported);
  CHECK_THAT(f.headline, ContainsSubstring("frobnicate.rn.f32"));
  CHECK(f.where.line == 9);
  CHECK(r.out[0] == 0);
}

TEST_CASE("threads that wait at a barrier for others that spin are a deadlock with both groups") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32;
.loc 1 20 1
@%p1 bra $L_wait;
$L_spin:
.loc 1 30 1
ld.volatile.global.u32 %r2, [%out];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra $L_spin;
$L_wait:
.loc 1 40 1
bar.sync 0;
ret;
)"};
  Setup setup{.block = {64, 1, 1}};
  for (const auto order : {vgpu::Schedule::Order::lockstep, vgpu::Schedule::Order::in_order,
                           vgpu::Schedule::Order::reversed, vgpu::Schedule::Order::random}) {
    setup.schedule = {order, 3};
    const auto r = test::run(k, setup);
    const vgpu::Fault& f = fault_of(r);
    CHECK(f.kind == Kind::deadlock);
    CHECK_THAT(f.text(), ContainsSubstring("threads 0 to 31 wait at the barrier in kernel.cu:40"));
    CHECK_THAT(f.text(), ContainsSubstring("threads 32 to 63 loop until memory changes, at kernel.cu:30"));
    // Proven within a few turns, not by using up the budget.
    CHECK(r.result.warp_instructions < 100'000);
  }
}

TEST_CASE("a loop that counts without end is stopped by the budget") {
  const Kernel k{R"(
mov.u64 %rd1, 0;
$L_loop:
.loc 1 5 1
add.s64 %rd1, %rd1, 1;
bra.uni $L_loop;
)"};
  const auto r = test::run(k, {.max_warp_instructions = 200'000});
  CHECK(fault_of(r).kind == Kind::budget);
  CHECK_THAT(fault_of(r).text(), ContainsSubstring("kernel.cu:5"));
}

TEST_CASE("a loop that does nothing is proven endless at once") {
  const auto r = test::run({"$L_loop:\nbra.uni $L_loop;\n"});
  CHECK(fault_of(r).kind == Kind::deadlock);
  CHECK(fault_of(r).id == "endless");
  CHECK(r.result.warp_instructions < 100'000);
}

TEST_CASE("a loop in registers is named by the line that begins it again, and before those who wait for it") {
  // Warp 0 waits at a barrier, warp 1 halves 0 and shuffles: nothing that another thread does can end that.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
setp.lt.u32 %p1, %r1, 32;
@%p1 bra $L_wait;
$L_loop:
.loc 1 31 1
shr.u32 %r2, %r2, 1;
shfl.sync.up.b32 %r3, %r1, 1, 0, -1;
.loc 1 30 1
setp.lt.u32 %p2, %r2, 16;
@%p2 bra $L_loop;
$L_wait:
.loc 1 40 1
bar.sync 0;
ret;
)"};
  const vgpu::Fault f = fault_of(test::run(k, {.block = {64, 1, 1}}));
  CHECK(f.id == "endless");
  CHECK(f.where.line == 30);
  CHECK_THAT(f.text(),
             ContainsSubstring("threads 32 to 63 loop without end in kernel.cu:30\n  block 0: threads 0 to 31 "
                               "wait at the barrier in kernel.cu:40"));
}

TEST_CASE("a loop around one that looks at memory may yet end") {
  // The inner loop is in registers; the outer one reads a flag.
  const Kernel k{R"(
$L_outer:
.loc 1 20 1
mov.u32 %r2, 0;
$L_inner:
.loc 1 21 1
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 100;
@%p2 bra $L_inner;
.loc 1 22 1
ld.volatile.global.u32 %r3, [%out];
setp.eq.u32 %p1, %r3, 0;
@%p1 bra $L_outer;
)"};
  const vgpu::Fault f = fault_of(test::run(k));
  CHECK(f.id == "deadlock.threads");
  CHECK_THAT(f.text(), ContainsSubstring("until memory changes"));
}

TEST_CASE("blocks that wait for blocks without a place are a deadlock that says so") {
  // Block b waits for block b + 1; only as many as fit are resident.
  const Kernel k{R"(
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %nctaid.x;
add.u32 %r3, %r1, 1;
setp.eq.u32 %p1, %r3, %r2;
mul.wide.u32 %rd1, %r1, 4;
add.s64 %rd2, %out, %rd1;
@%p1 bra $L_set;
$L_spin:
ld.volatile.global.u32 %r4, [%rd2+4];
setp.eq.u32 %p2, %r4, 0;
@%p2 bra $L_spin;
$L_set:
mov.u32 %r5, 1;
st.volatile.global.u32 [%rd2], %r5;
ret;
)"};
  Setup setup{.grid = {500, 1, 1}, .words = 1024};
  const auto stuck = test::run(k, setup);
  CHECK(fault_of(stuck).kind == Kind::deadlock);
  CHECK_THAT(fault_of(stuck).text(), ContainsSubstring("blocks have not started"));
  setup.schedule.order = vgpu::Schedule::Order::reversed;
  CHECK(test::run(k, setup).result.status == Status::ok);
  setup.schedule.order = vgpu::Schedule::Order::in_order;
  setup.grid.x = 50;  // all resident: they can wait for each other
  CHECK(test::run(k, setup).result.status == Status::ok);
}

TEST_CASE("launches beyond the device's limits are refused with CUDA's status") {
  const Kernel k{"ret;\n"};
  Setup setup{.block = {1025, 1, 1}};
  CHECK(test::run(k, setup).result.status == Status::invalid_configuration);
  setup.block.x = 0;
  CHECK(test::run(k, setup).result.status == Status::invalid_configuration);
  setup.block.x = 32;
  setup.grid.x = 0;
  CHECK(test::run(k, setup).result.status == Status::invalid_configuration);
  setup.grid.x = 1;
  setup.dynamic_shared = 48 * 1024 + 1;
  CHECK(test::run(k, setup).result.status == Status::invalid_value);
  setup.dynamic_shared = ~std::uint64_t{0} - 15;
  const Kernel with_static{".shared .align 4 .b8 s[64];\nst.shared.u32 [s], 1;\nret;\n"};
  CHECK(test::run(with_static, setup).result.status == Status::invalid_value);
  setup.dynamic_shared = 48 * 1024;
  CHECK(test::run(k, setup).result.status == Status::ok);
}

TEST_CASE("a block has 65536 registers, and its threads get them by eights") {
  const Kernel k{"ret;\n"};
  CHECK(test::run(k, {.block = {1024, 1, 1}, .registers = 64}).result.status == Status::ok);
  CHECK(test::run(k, {.block = {1024, 1, 1}, .registers = 65}).result.status == Status::out_of_resources);
  CHECK(test::run(k, {.block = {896, 1, 1}, .registers = 72}).result.status == Status::ok);
  CHECK(test::run(k, {.block = {897, 1, 1}, .registers = 72}).result.status == Status::out_of_resources);
  CHECK(test::run(k, {.block = {1024, 1, 1}}).result.status == Status::ok);
}

TEST_CASE("recursion without an end overflows the stack, also without local variables") {
  const Kernel k{"call endless;\nret;\n", R"(
.func endless()
{
.loc 1 4 1
call endless;
ret;
}
)"};
  const auto r = test::run(k);
  CHECK(fault_of(r).kind == Kind::trap);
  CHECK_THAT(fault_of(r).text(), ContainsSubstring("stack overflow") && ContainsSubstring("kernel.cu:4"));
}

TEST_CASE("variables of sizes that no GPU has are refused before anything runs") {
  for (const char* variable : {".local .b8 x[99999999999];", ".local .align 1048576 .b8 x[8];",
                               ".param .b8 x[4294967295];", ".param .b64 x[536870911];"}) {
    CAPTURE(variable);
    const auto r = test::run({std::string(variable) + "\nret;\n"});
    CHECK(fault_of(r).kind == (std::string_view(variable).starts_with(".local") ? Kind::undefined : Kind::unsupported));
  }
  const Kernel shared{".shared .b8 s[1099511627776];\nst.shared.u32 [s], 1;\nret;\n"};
  CHECK(test::run(shared).result.status == Status::invalid_value);
}

TEST_CASE("what is defined nowhere is an error with its line before anything runs") {
  const auto fault_of_call = [](const std::string& name) {
    const std::string code = ".loc 1 3 1\nst.global.u32 [%out], 77;\n.loc 1 9 1\ncall.uni " + name + ";\nret;\n";
    const auto r = test::run({code, ".extern .func " + name + "();\n"});
    CHECK(r.out[0] == 0);
    return fault_of(r);
  };
  const vgpu::Fault missing = fault_of_call("_Z6helperv");
  CHECK(missing.kind == Kind::undefined);
  CHECK_THAT(missing.headline, ContainsSubstring("helper() is declared, but defined nowhere"));
  CHECK(missing.where.line == 9);
  const vgpu::Fault runtime = fault_of_call("__cudaCDP2Free");
  CHECK(runtime.kind == Kind::undefined);
  CHECK_THAT(runtime.headline, ContainsSubstring("calls cudaFree, a function of CUDA's runtime"));
  // Other names with two underscores are the toolkit's, and what is missing may be the virtual GPU's own gap.
  CHECK(fault_of_call("__nv_unheard_of").kind == Kind::unsupported);
}

TEST_CASE("a kernel is not a function that another could call") {
  const std::string other =
      ".visible .entry other(.param .u64 a, .param .u64 b)\n{\n.reg .b64 %rd<3>;\n"
      "ld.param.u64 %rd1, [b];\nret;\n}\n";
  const auto called = test::run({"call.uni other;\nret;\n", other});
  CHECK(fault_of(called).kind == Kind::unsupported);
  CHECK_THAT(fault_of(called).headline, ContainsSubstring("a call of other, which is a kernel"));
  // Its address may be taken, as programs for dynamic parallelism do; only a call through it is a fault.
  const auto taken = test::run({"mov.u64 %rd1, other;\nret;\n", other});
  CHECK(taken.result.status == Status::ok);
  const auto through =
      test::run({"mov.u64 %rd1, other;\nprototype_0: .callprototype _ ();\n"
                 "call %rd1, prototype_0;\nret;\n",
                 other});
  CHECK(fault_of(through).kind == Kind::trap);
}
