// Barriers in shared memory, sleeping and the stack, as PTX that nvcc does not write.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "kernel.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::test {
namespace {

using Order = vgpu::Schedule::Order;

/// A kernel that returns at its end.
Kernel kernel_of(const std::string& body) {
  return {body + "ret;\n"};
}

const std::string object = ".shared .align 8 .b64 object[4];\n";

TEST_CASE("a thread that arrives first waits for the last one, under every schedule") {
  const Kernel kernel = kernel_of(object +
                                  ".shared .align 4 .b32 value;\n"
                                  "mov.u32 %r1, %tid.x;\n"
                                  "setp.eq.u32 %p1, %r1, 0;\n"
                                  "@%p1 mbarrier.init.shared.b64 [object+8], 96;\n"
                                  "bar.sync 0;\n"
                                  "setp.eq.u32 %p2, %r1, 95;\n"
                                  "@%p2 st.shared.u32 [value], 77;\n"
                                  "mbarrier.arrive.shared.b64 %rd1, [object+8];\n"
                                  "wait: mbarrier.test_wait.shared.b64 %p3, [object+8], %rd1;\n"
                                  "@!%p3 bra wait;\n"
                                  "ld.shared.u32 %r2, [value];\n" +
                                  store_at_tid("%r2"));
  for (const Order order : {Order::lockstep, Order::in_order, Order::reversed, Order::random}) {
    const Run r = run(kernel, {.block = {96, 1, 1}, .words = 96, .schedule = {order, 3}});
    REQUIRE_FALSE(r.result.fault);
    for (const std::uint32_t word : r.out) CHECK(word == 77);
  }
}

TEST_CASE("lanes of one warp that wait let the others arrive") {
  // Lane 0 waits in a loop; the rest, later in the code, has yet to arrive.
  const Kernel kernel = kernel_of(object +
                                  "mov.u32 %r1, %tid.x;\n"
                                  "setp.eq.u32 %p1, %r1, 0;\n"
                                  "@%p1 mbarrier.init.shared.b64 [object], 32;\n"
                                  "bar.warp.sync 0xffffffff;\n"
                                  "@!%p1 bra others;\n"
                                  "mbarrier.arrive.shared.b64 %rd1, [object];\n"
                                  "wait: mbarrier.test_wait.parity.shared.b64 %p3, [object], 0;\n"
                                  "@!%p3 bra wait;\n"
                                  "bra done;\n"
                                  "others: mbarrier.arrive.shared.b64 %rd1, [object];\n"
                                  "done: bar.warp.sync 0xffffffff;\n" +
                                  store_at_tid("5"));
  const Run r = run(kernel);
  REQUIRE_FALSE(r.result.fault);
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == 5);
}

TEST_CASE("a guarded test_wait tests for its lanes only") {
  const Kernel kernel = kernel_of(object +
                                  "mov.u32 %r1, %tid.x;\n"
                                  "setp.eq.u32 %p1, %r1, 0;\n"
                                  "@%p1 mbarrier.init.shared.b64 [object], 1;\n"
                                  "bar.warp.sync 0xffffffff;\n"
                                  "@%p1 mbarrier.arrive.shared.b64 _, [object];\n"
                                  "bar.warp.sync 0xffffffff;\n"
                                  "and.b32 %r2, %r1, 1;\n"
                                  "setp.eq.u32 %p2, %r2, 1;\n"
                                  "setp.ne.u32 %p3, %r1, %r1;\n"
                                  "@%p2 mbarrier.test_wait.parity.shared.b64 %p3, [object], 0;\n"
                                  "selp.u32 %r3, 1, 0, %p3;\n" +
                                  store_at_tid("%r3"));
  const Run r = run(kernel);
  REQUIRE_FALSE(r.result.fault);
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == t % 2);
}

TEST_CASE("a phase that no thread completes is a deadlock, also when the loop reads the clock") {
  const std::string head = object +
                           "mov.u32 %r1, %tid.x;\n"
                           "setp.eq.u32 %p1, %r1, 0;\n"
                           "@%p1 mbarrier.init.shared.b64 [object], 33;\n"
                           "bar.sync 0;\n"
                           "mbarrier.arrive.shared.b64 %rd1, [object];\n";
  const Kernel plain = kernel_of(head +
                                 "wait: mbarrier.test_wait.shared.b64 %p3, [object], %rd1;\n"
                                 "@!%p3 bra wait;\n");
  const Kernel with_clock = kernel_of(head +
                                      "mov.u64 %rd5, 0;\n"
                                      "wait: mbarrier.test_wait.shared.b64 %p3, [object], %rd1;\n"
                                      "mov.u64 %rd2, %clock64;\n"
                                      "add.u64 %rd5, %rd5, %rd2;\n"
                                      "@!%p3 bra wait;\n"
                                      "st.global.u64 [%out], %rd5;\n");
  const Kernel loops[] = {plain, with_clock};
  for (const Kernel& kernel : loops)
    for (const Order order : {Order::in_order, Order::random}) {
      const Run r = run(kernel, {.grid = {3, 1, 1}, .schedule = {order, 1}});
      REQUIRE(r.result.fault);
      CHECK(r.result.fault->kind == vgpu::Fault::Kind::deadlock);
      INFO(r.result.fault->text());
      CHECK(r.result.fault->text().find("wait for the phase of an mbarrier") != std::string::npos);
    }
}

TEST_CASE("a wait with a time limit ends when the limit is over") {
  const Kernel kernel = kernel_of(object +
                                  "mov.u32 %r1, %tid.x;\n"
                                  "setp.eq.u32 %p1, %r1, 0;\n"
                                  "@%p1 mbarrier.init.shared.b64 [object], 33;\n"
                                  "bar.sync 0;\n"
                                  "mbarrier.arrive.shared.b64 %rd1, [object];\n"
                                  "mov.u64 %rd2, %globaltimer;\n"
                                  "wait: mbarrier.test_wait.shared.b64 %p3, [object], %rd1;\n"
                                  "@%p3 bra done;\n"
                                  "mov.u64 %rd3, %globaltimer;\n"
                                  "sub.u64 %rd4, %rd3, %rd2;\n"
                                  "setp.lt.u64 %p4, %rd4, 10000000000;\n"  // ten seconds
                                  "@%p4 bra wait;\n"
                                  "done: selp.u32 %r3, 1, 2, %p3;\n" +
                                  store_at_tid("%r3"));
  const Run r = run(kernel);
  REQUIRE_FALSE(r.result.fault);
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == 2);
}

TEST_CASE("a barrier that is not initialised, not in shared memory, or arrived at too often is reported as that") {
  const auto headline_of = [](const std::string& body) {
    const Run r = run(kernel_of(object + body));
    REQUIRE(r.result.fault);
    return r.result.fault->headline;
  };
  const std::string init = "mbarrier.init.shared.b64 [object], 2;\n";
  CHECK(headline_of("mbarrier.arrive.shared.b64 _, [object];") == "an mbarrier object that is not initialised");
  CHECK(headline_of("st.shared.u64 [object], 0;\nmbarrier.test_wait.parity.shared.b64 %p1, [object], 0;") ==
        "an mbarrier object that is not initialised");
  CHECK(headline_of(init + "bar.warp.sync -1;\nmbarrier.inval.shared.b64 [object];") ==
        "an mbarrier object that is not initialised");  // the second lane finds none
  CHECK(headline_of("mbarrier.init.b64 [%out], 2;") == "an mbarrier object outside shared memory");
  CHECK(headline_of("mbarrier.init.shared.b64 [object], 0;").find("a count of an mbarrier") == 0);
  CHECK(headline_of("mbarrier.init.shared.b64 [object+4], 1;").find("misaligned") == 0);
  CHECK(headline_of(init + "mbarrier.arrive.noComplete.shared.b64 _, [object], 3;") ==
        "more arrivals at an mbarrier than the phase waits for");
  CHECK(headline_of(init + "mbarrier.arrive.noComplete.shared.b64 _, [object], 2;") ==
        "mbarrier.arrive.noComplete ends a phase, which it must not");
}

TEST_CASE("what sm_80 does not have is refused by name") {
  for (const char* body :
       {"mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;", "mbarrier.arrive.shared.b64 _, [%r1], 2;",
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 2;", "mbarrier.init.shared.b64 %r1, 2;",
        "mbarrier.test_wait.shared.b64 %p1, [%r1];", "mbarrier.arrive.shared.b64 %r2, [%r1];",
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %r2;", "mbarrier.test_wait.parity.shared.b64 %r2, [%r1], 0;",
        "mbarrier.pending_count.b64 %rd1, %rd2;"}) {
    INFO(body);
    const Run r = run(kernel_of(body));
    REQUIRE(r.result.fault);
    CHECK(r.result.fault->kind == vgpu::Fault::Kind::unsupported);
    CHECK(r.result.fault->headline.find("mbarrier.") != std::string::npos);
  }
}

TEST_CASE("a loop that sleeps and looks is a deadlock when no thread can write; a loop that only sleeps is not") {
  const Kernel looks = kernel_of(
      "mov.u32 %r2, 1;\n"
      "again: ld.volatile.global.u32 %r1, [%out];\n"
      "mov.u64 %rd1, %globaltimer;\n"
      "add.u64 %rd2, %rd2, %rd1;\n"
      "nanosleep.u32 %r2;\n"
      "setp.eq.u32 %p1, %r1, 0;\n"
      "@%p1 bra again;\n"
      "st.global.u64 [%out], %rd2;\n");
  Setup setup{.max_warp_instructions = 100'000'000};
  const Run stuck = run(looks, setup);
  REQUIRE(stuck.result.fault);
  CHECK(stuck.result.fault->kind == vgpu::Fault::Kind::deadlock);

  const Kernel sleeps = kernel_of(
      "mov.u32 %r1, 0;\n"
      "mov.u64 %rd1, %globaltimer;\n"
      "again: nanosleep.u32 1000;\n"
      "add.u32 %r1, %r1, 1;\n"
      "setp.lt.u32 %p1, %r1, 200000;\n"
      "@%p1 bra again;\n"
      "mov.u64 %rd2, %globaltimer;\n"
      "sub.u64 %rd3, %rd2, %rd1;\n"
      "setp.ge.u64 %p2, %rd3, 200000000;\n"
      "selp.u32 %r2, 1, 0, %p2;\n" +
      store_at_tid("%r2"));
  const Run slept = run(sleeps, setup);
  REQUIRE_FALSE(slept.result.fault);
  CHECK(slept.out[0] == 1);
}

TEST_CASE("memory from alloca is a thread's own and goes back with stackrestore") {
  const Kernel kernel = kernel_of(
      "mov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, 0;\n"
      "mov.u32 %r5, 0;\n"
      "loop: stacksave.u64 %rd1;\n"
      "mov.u64 %rd2, 100000;\n"  // more than the stack holds if it never came back
      "alloca.u64 %rd3, %rd2, 32;\n"
      "and.b64 %rd4, %rd3, 31;\n"
      "cvt.u32.u64 %r6, %rd4;\n"
      "add.u32 %r5, %r5, %r6;\n"
      "st.local.u32 [%rd3+99996], %r1;\n"
      "ld.local.u32 %r3, [%rd3+99996];\n"
      "stackrestore.u64 %rd1;\n"
      "add.u32 %r2, %r2, 1;\n"
      "setp.lt.u32 %p1, %r2, 50;\n"
      "@%p1 bra loop;\n"
      "add.u32 %r3, %r3, %r5;\n" +
      store_at_tid("%r3"));
  const Run r = run(kernel);
  REQUIRE_FALSE(r.result.fault);
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == t);

  const Run too_large = run(kernel_of("mov.u64 %rd2, -1;\nalloca.u64 %rd3, %rd2;\nst.local.u32 [%rd3], 1;\n"));
  REQUIRE(too_large.result.fault);
  CHECK(too_large.result.fault->headline.find("stack overflow") == 0);
  const Run beyond = run(kernel_of("mov.u64 %rd2, 16;\nalloca.u64 %rd3, %rd2;\nst.local.u32 [%rd3+16], 1;\n"));
  REQUIRE(beyond.result.fault);
  CHECK(beyond.result.fault->kind == vgpu::Fault::Kind::out_of_bounds);
}

TEST_CASE("frames beyond every limit are refused, not overflowed") {
  using Kind = vgpu::Fault::Kind;
  const auto refused = [](const std::string& body, Kind kind = Kind::unsupported) {
    const Run r = run(kernel_of(body));
    return r.result.fault && r.result.fault->kind == kind;
  };
  // ptxas refuses these, too.
  CHECK(refused(".local .align 8 .b8 huge[1000000];\nmov.u64 %rd1, huge;\nst.local.u32 [%rd1], 1;\n", Kind::undefined));
  CHECK(refused(".local .align 8 .b8 huge[4294967295];\nst.local.u32 [huge], 1;\n", Kind::undefined));
  CHECK_THROWS_AS(run(kernel_of(".local .b8 huge[9223372036854775807];\nst.local.u32 [huge], 1;\n")), ptx::ParseError);
  CHECK(refused(".param .align 8 .b8 huge[4294967295];\nst.param.b32 [huge], 1;\n"));
  CHECK(refused(".param .align 8 .b8 huge[134217728];\nst.param.b32 [huge], 1;\n"));
  // Registers count when they are used.
  std::string registers = ".reg .b64 %w<80000>;\n";
  for (int k = 0; k < 80000; ++k) registers += "mov.u64 %w" + std::to_string(k) + ", 1;\n";
  CHECK(refused(registers));
  CHECK_THROWS_AS(run(kernel_of(".reg .b64 %w<4000000000>;\n")), ptx::ParseError);
}

TEST_CASE("a breakpoint stops the kernel") {
  const Run r = run(kernel_of("brkpt;\n"));
  REQUIRE(r.result.fault);
  CHECK(r.result.fault->kind == vgpu::Fault::Kind::trap);
}

}  // namespace
}  // namespace scanlab::test
