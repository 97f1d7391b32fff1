// Floats as names: which sums have a name, wherever they are made, and that nothing else changes.
#include "vgpu/core/warp/float_names.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "vgpu/checks/cost/addition_graph.hpp"
#include "vgpu/checks/cost/counters.hpp"

using namespace scanlab;
using vgpu::AdditionGraph;
using vgpu::ElementName;
using vgpu::ElementRange;
using vgpu::FloatNames;
using Order = vgpu::Schedule::Order;

namespace {

struct Ran {
  std::vector<std::uint32_t> out;
  std::vector<std::pair<std::string, double>> counts;
};
struct Launch {
  unsigned threads = 32, blocks = 1;
  Order order = Order::lockstep;
  vgpu::FastPaths fast_paths = {};
  unsigned times = 1;
};

/// Runs `body` with these words at %out; floats are names where there is a graph.
Ran run(const std::string& body, std::vector<std::uint32_t> words, FloatNames* names, AdditionGraph* graph,
        const Launch& how = {}) {
  vgpu::Device device(vgpu::small_profile());
  vgpu::Counters counters;
  device.schedule.order = how.order;
  device.fast_paths = how.fast_paths;
  device.threads = 2;
  device.least_parallel_ns = 0;
  device.floats = names;
  device.attach(&counters);
  if (graph) device.attach(graph);
  vgpu::LoadedModule* module = device.load(test::Kernel{body}.text());
  const vgpu::Address out = device.memory().allocate(4 * words.size(), "out");
  const auto request =
      test::launch_of(module, {how.blocks, 1, 1}, {how.threads, 1, 1}, std::as_bytes(std::span(&out, 1)));
  for (unsigned k = 0; k < how.times; ++k) {
    device.memory().write(out, words.data(), 4 * words.size());
    const auto result = device.launch(request);
    INFO((result.fault ? result.fault->text() : std::string()));
    REQUIRE(result.status == vgpu::LaunchResult::Status::ok);
  }
  device.memory().read(words.data(), out, 4 * words.size());
  return {words, counters.counts().named()};
}

std::vector<ElementName> wide(const FloatNames& names, const std::vector<std::uint32_t>& bits) {
  std::vector<ElementName> all;
  for (const std::uint32_t name : bits) all.push_back(names.wide(name));
  return all;
}

/// The same with names of as many inputs, for each order and with each fast path off; `visit` gets the graph and what
/// stands at %out. What is counted is what is counted of values.
template <class Visit>
void run_on_names(const std::string& body, unsigned threads, std::size_t n, Visit visit, unsigned blocks = 1) {
  std::vector<Launch> launches;
  for (const auto order : {Order::lockstep, Order::in_order, Order::reversed, Order::random})
    launches.push_back({threads, blocks, order});
  for (const vgpu::NamedFastPath& path : vgpu::fast_paths) {
    launches.push_back({threads, blocks});
    launches.back().fast_paths.*path.is_on = false;
  }
  for (const Launch& how : launches) {
    INFO("order " << static_cast<int>(how.order));
    FloatNames names(1, 2);
    AdditionGraph graph;
    const auto inputs = names.name_inputs(n);
    graph.reset_floats(wide(names, inputs), 5);
    const Ran named = run(body, inputs, &names, &graph, how);
    visit(graph, wide(names, named.out));
    const std::vector<std::uint32_t> ones(n, std::bit_cast<std::uint32_t>(1.0f));
    const Ran values = run(body, ones, nullptr, nullptr, how);
    CHECK(named.counts == values.counts);
  }
}

ElementRange interval_of(const AdditionGraph& graph, ElementName name) {
  const auto node = graph.find(name);
  REQUIRE(node);
  const auto interval = graph.interval(*node);
  REQUIRE(interval);
  return *interval;
}

/// %rd2: the address of this thread's element; %f1 is the element, %r1 the thread.
const std::string own =
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %out, %rd1;\nld.global.f32 %f1, [%rd2];\n";

}  // namespace

TEST_CASE("float names are numbers of one kind, each another one, and depend on the key") {
  FloatNames names(3, 4), same(3, 4), other(3, 5);
  const auto x = names.name_inputs(1000);
  CHECK(same.name_inputs(1000) == x);
  CHECK(other.name_inputs(1000) != x);
  CHECK(std::set(x.begin(), x.end()).size() == x.size());
  for (const std::uint32_t name : x) {
    CHECK(names.is_name(name));
    CHECK(std::bit_cast<float>(name) > 2e26f);
    CHECK(std::bit_cast<float>(name) < 4e26f);
  }
  std::size_t others = 0;
  for (const std::uint32_t name : x) others += names.is_name(name + 1);
  CHECK(others < 5);
  for (const std::uint32_t number : {0u, 1u, 0x80000000u, 0x3f800000u, 0x7fffffffu, 0xffffffffu})
    CHECK_FALSE(names.is_name(number));
}

TEST_CASE("equal sums of floats have equal names, in either order; zero adds nothing") {
  FloatNames names(3, 4);
  const auto x = names.name_inputs(4);
  const std::uint32_t sum = names.add(x[0], x[1]);
  CHECK(names.is_name(sum));
  CHECK(names.add(x[1], x[0]) == sum);
  CHECK(names.add(x[0], x[2]) != sum);
  CHECK(names.add(names.add(x[0], x[1]), x[2]) != names.add(x[0], names.add(x[1], x[2])));
  for (const std::uint32_t zero : {0u, 0x80000000u}) {
    CHECK(names.add(sum, zero) == sum);
    CHECK(names.add(zero, sum) == sum);
  }
}

TEST_CASE("more sums than there are names have none, and that is known") {
  FloatNames names(3, 4);
  const std::uint32_t x = names.name_inputs(1).front();
  std::uint32_t sum = x;
  for (std::size_t k = 1; k < FloatNames::most; ++k) sum = names.add(sum, x);
  CHECK(names.is_name(sum));
  CHECK_FALSE(names.is_used_up());
  CHECK_FALSE(names.is_name(names.add(sum, x)));
  CHECK(names.is_used_up());
  CHECK(names.add(x, x) != sum);  // the sums that have been made keep theirs
}

TEST_CASE("the floats of whole blocks, of masked lanes and of predicated additions are added by name") {
  const std::string neighbour = own + "setp.eq.u32 %p1, %r1, 0;\nbar.sync 0;\n";
  const std::string store = "$L_end:\nbar.sync 0;\nst.global.f32 [%rd2], %f1;\nret;\n";
  for (const std::string& add : {
           std::string("@%p1 bra $L_end;\nld.global.f32 %f2, [%rd2+-4];\nadd.f32 %f1, %f2, %f1;\n"),
           std::string(
               "mov.f32 %f2, 0f00000000;\n@!%p1 ld.global.f32 %f2, [%rd2+-4];\n@!%p1 add.rn.f32 %f1, %f1, %f2;\n"),
           std::string("mov.f32 %f2, 0f80000000;\n@!%p1 ld.global.f32 %f2, [%rd2+-4];\nadd.f32 %f1, %f1, %f2;\n"),
       })
    for (const unsigned threads : {1u, 32u, 40u, 256u})
      run_on_names(neighbour + add + store, threads, threads, [&](const AdditionGraph& graph, const auto& out) {
        for (std::uint32_t t = 0; t < threads; ++t)
          CHECK(interval_of(graph, out[t]) == ElementRange{t ? t - 1 : 0, t + 1});
        const auto work = graph.work(out);
        CHECK((work.useful == threads - 1 && work.wasted == 0 && work.span == (threads > 1)));
        CHECK_FALSE(graph.looked_at());
      });
}

TEST_CASE("uniform floats are added by name, and the blocks of a launch on one host thread") {
  const std::string body = "ld.global.f32 %f1, [%out];\nld.global.f32 %f2, [%out+4];\nadd.f32 %f3, %f1, %f2;\n" +
                           own.substr(0, own.find("ld.")) +
                           "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd3, %r2, 256;\nadd.s64 %rd2, %rd2, %rd3;\n"
                           "setp.lt.u32 %p1, %r1, 2;\n@%p1 bra $L_end;\nst.global.f32 [%rd2], %f3;\n$L_end:\nret;\n";
  run_on_names(
      body, 64, 64 * 8,
      [](const AdditionGraph& graph, const auto& out) {
        for (std::size_t i = 0; i < out.size(); ++i)
          if (i % 64 >= 2) CHECK(interval_of(graph, out[i]) == ElementRange{0, 2});
        CHECK(graph.work(out).useful == 1);
      },
      8);
}

TEST_CASE("atomic additions of floats are additions of names, in global, shared and generic memory") {
  const std::string to_shared = ".shared .align 4 .b8 s_x[4];\n";
  const std::string zero =
      "setp.eq.u32 %p1, %r1, 0;\nmov.u32 %r5, s_x;\nmov.f32 %f3, 0f00000000;\n"
      "@%p1 st.shared.f32 [%r5], %f3;\nbar.sync 0;\n";
  const std::string last = "bar.sync 0;\nld.shared.f32 %f4, [%r5];\n@%p1 st.global.f32 [%out], %f4;\nret;\n";
  for (const std::string& body : {
           to_shared + own + zero + "atom.shared.add.f32 %f2, [%r5], %f1;\n" + last,
           to_shared + own + zero + "red.shared.add.f32 [%r5], %f1;\n" + last,
           to_shared + own + zero +
               "cvt.u64.u32 %rd5, %r5;\ncvta.shared.u64 %rd5, %rd5;\n"
               "atom.add.f32 %f2, [%rd5], %f1;\n" +
               last,
           own + "setp.ne.u32 %p1, %r1, 0;\n@%p1 red.global.add.f32 [%out], %f1;\nret;\n",
           own + "setp.ne.u32 %p1, %r1, 0;\n@%p1 atom.global.add.f32 %f2, [%out], %f1;\nret;\n",
       })
    run_on_names(body, 64, 64, [](const AdditionGraph& graph, const auto& out) {
      CHECK(interval_of(graph, out[0]) == ElementRange{0, 64});
      CHECK(graph.work(std::span(out).first(1)).useful == 63);
      CHECK_FALSE(graph.looked_at());
    });
}

TEST_CASE("a sum of floats is right in any order, and wrong when an element is missing, twice or none") {
  FloatNames names(1, 2);
  const auto x = names.name_inputs(6);
  AdditionGraph graph;
  graph.reset_floats(wide(names, x), 5);
  ptx::Module module;
  module.lines.emplace_back();
  vgpu::KernelInfo info;
  info.module = &module;
  graph.kernel_begin(info);
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t s = names.add(a, b);
    const ElementName wa = names.wide(a), wb = names.wide(b), ws = names.wide(s);
    graph.combined({}, 1, &wa, &wb, &ws);
    return s;
  };
  const auto interval = [&](std::uint32_t name) { return graph.interval(*graph.find(names.wide(name))); };
  CHECK(interval(add(x[1], x[0])) == ElementRange{0, 2});
  const std::uint32_t even = add(x[0], x[2]), odd = add(x[3], x[1]);
  CHECK_FALSE(interval(even));
  CHECK(interval(add(odd, even)) == ElementRange{0, 4});
  CHECK(interval(add(0, add(odd, even))) == ElementRange{0, 4});
  CHECK_FALSE(interval(add(even, even)));
  CHECK_FALSE(interval(add(add(x[0], x[1]), x[1])));
  CHECK_FALSE(interval(add(x[4], std::bit_cast<std::uint32_t>(1.0f))));
  CHECK(graph.work(wide(names, {add(odd, even)})).useful == 3);
}

TEST_CASE("what is no name is a number, and is rounded as it is told") {
  FloatNames names(1, 2);
  const auto result = [&](const std::string& add) {
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    const std::string body =
        "ld.global.f32 %f1, [%out];\nld.global.f32 %f2, [%out+4];\n" + add + "st.global.f32 [%out], %f3;\nret;\n";
    return std::bit_cast<float>(run(body, {bits(1.0f), bits(0x1.8p-24f)}, &names, nullptr, {1}).out[0]);
  };
  CHECK(result("add.f32 %f3, %f1, %f2;\n") == 1.0f + 0x1p-23f);
  CHECK(result("add.rn.f32 %f3, %f1, %f2;\n") == 1.0f + 0x1p-23f);
  CHECK(result("add.rz.f32 %f3, %f1, %f2;\n") == 1.0f);
  CHECK(result("fma.rn.f32 %f3, %f1, %f2, %f1;\n") == 1.0f + 0x1p-23f);
  CHECK(result("atom.global.add.f32 %f4, [%out], %f2;\nld.global.f32 %f3, [%out];\n") == 1.0f + 0x1p-23f);
}

TEST_CASE("a launch that is run again gives the same sums the same names") {
  FloatNames names(1, 2);
  const auto inputs = names.name_inputs(32);
  const std::string body = own + "add.f32 %f2, %f1, %f1;\nst.global.f32 [%rd2], %f2;\nret;\n";
  const auto once = run(body, inputs, &names, nullptr).out;
  Launch twice;
  twice.order = Order::reversed;
  twice.times = 2;
  CHECK(run(body, inputs, &names, nullptr, twice).out == once);
}

TEST_CASE("it is noticed where a program computes with floats otherwise than by +, and not where it moves them") {
  const auto looked = [](const std::string& code) {
    FloatNames names(1, 2);
    AdditionGraph graph;
    const auto inputs = names.name_inputs(32);
    graph.reset_floats(wide(names, inputs), 5);
    run(own + "add.f32 %f2, %f1, %f1;\n" + code + "ret;\n", inputs, &names, &graph);
    return graph.looked_at().has_value();
  };
  for (const char* code : {
           "setp.gt.f32 %p1, %f1, 0f00000000;\n",
           "setp.eq.f32 %p1, %f2, %f1;\n",
           "mul.f32 %f3, %f1, 0f3F800000;\n",
           "fma.rn.f32 %f3, %f2, 0f3F800000, %f1;\n",
           "sub.f32 %f3, %f2, %f1;\n",
           "add.rz.f32 %f3, %f1, %f1;\n",
           "add.sat.f32 %f3, %f1, %f1;\n",
           "neg.f32 %f3, %f2;\n",
           "max.f32 %f3, %f1, %f2;\n",
           "cvt.f64.f32 %rd5, %f1;\n",
           "cvt.rzi.s32.f32 %r5, %f2;\n",
           "testp.finite.f32 %p1, %f1;\n",
           "mov.b32 %r5, %f2;\nsetp.eq.s32 %p1, %r5, 0;\n",
           "mov.b32 %r5, %f1;\nand.b32 %r6, %r5, 1;\nst.global.u32 [%rd2], %r6;\n",
           "shfl.sync.up.b32 %r5, %f1, 1, 0, -1;\nadd.u32 %r6, %r5, 1;\n",
           "mov.b64 %rd5, {%f1, %f2};\nsetp.eq.s64 %p1, %rd5, 0;\n",
           "mov.b32 %r5, %f1;\natom.global.cas.b32 %r6, [%rd2], %r5, 0;\n",
           "mov.b32 %r5, %f1;\natom.global.max.u32 %r6, [%rd2], %r5;\n",
       }) {
    INFO(code);
    CHECK(looked(code));
  }
  for (const char* code : {
           "add.f32 %f3, %f2, 0f00000000;\nst.global.f32 [%rd2], %f3;\n",
           "shfl.sync.up.b32 %r5, %f1, 1, 0, -1;\nmov.b32 %f3, %r5;\nadd.f32 %f3, %f3, %f1;\n",
           "selp.f32 %f3, %f1, %f2, %p1;\nst.global.f32 [%rd2], %f3;\n",
           "mov.b32 %r5, %f1;\ncvt.u64.u32 %rd5, %r5;\nor.b64 %rd6, %rd5, 0x100000000;\nshr.u64 %rd7, %rd6, 32;\n"
           "cvt.u32.u64 %r6, %rd7;\nsetp.eq.u32 %p1, %r6, 1;\n",
           "mov.b32 %r5, %f1;\natom.global.exch.b32 %r6, [%rd2], %r5;\n",
           "red.global.add.f32 [%rd2], %f1;\n",
       }) {
    INFO(code);
    CHECK_FALSE(looked(code));
  }
  // Indices, flags, masks and addresses from memory are no names, however many of these there are.
  std::string numbers;
  for (const char* number :
       {"0", "1", "-1", "-2", "0x80000000", "0x7fffffff", "0x3f800000", "0xbf800000", "%r1", "%r6"})
    numbers += std::string("mov.u32 %r5, ") + number +
               ";\nst.global.u32 [%rd2], %r5;\nld.global.u32 %r7, [%rd2];\nadd.u32 %r7, %r7, 1;\n";
  CHECK_FALSE(looked("cvt.u32.u64 %r6, %rd2;\n" + numbers));
  CHECK_FALSE(looked("st.global.u64 [%out], %rd2;\nld.global.u64 %rd7, [%out];\nadd.u64 %rd7, %rd7, 1;\n"));
}
