// Elements as names: the cipher, what sums are named, and the instructions that add them.
#include "vgpu/core/warp/elements.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernel.hpp"
#include "vgpu/checks/cost/addition_graph.hpp"

using namespace scanlab;
using vgpu::AdditionGraph;
using vgpu::ElementName;
using vgpu::ElementNames;
using vgpu::ElementRange;
using Kind = ElementNames::Kind;

namespace {

ElementName sum(const ElementNames& names, ElementName earlier, ElementName later) {
  ElementName result = 0;
  names.add(&earlier, &later, &result, 1);
  return result;
}

std::vector<ElementName> inputs_of(ElementNames& names, std::size_t n) {
  return names.name_inputs(std::vector<bool>(n, false));
}

/// Runs `body` with these names at %out, two words each, on one warp; returns what stands there afterwards.
std::vector<ElementName> run(const std::string& body, const ElementNames& names, std::vector<ElementName> inputs,
                             AdditionGraph* graph, vgpu::Schedule::Order order) {
  vgpu::Device device(vgpu::small_profile());
  const std::size_t n = inputs.size();
  device.schedule.order = order;
  device.elements = &names;
  if (graph) device.attach(graph);
  vgpu::LoadedModule* module = device.load(test::Kernel{body}.text());
  const vgpu::Address out = device.memory().allocate(8 * n, "out");
  device.memory().write(out, inputs.data(), 8 * n);
  std::byte parameters[8];
  std::memcpy(parameters, &out, sizeof out);
  REQUIRE(device.launch(test::launch_of(module, {1, 1, 1}, {32, 1, 1}, parameters)).status ==
          vgpu::LaunchResult::Status::ok);
  device.memory().read(inputs.data(), out, 8 * n);
  return inputs;
}

/// The same with the names of n inputs.
std::vector<ElementName> run(const std::string& body, std::size_t n, AdditionGraph& graph,
                             vgpu::Schedule::Order order = vgpu::Schedule::Order::lockstep) {
  ElementNames names(Kind::expressions, 1, 2);
  const std::vector<ElementName> inputs = inputs_of(names, n);
  graph.reset(inputs);
  return run(body, names, inputs, &graph, order);
}

/// Thread t adds element t + 1 to its own, where t < 31; %rd2 holds the address of its element.
const std::string neighbours =
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 8;\nadd.s64 %rd2, %out, %rd1;\nsetp.lt.u32 %p1, %r1, 31;\n"
    "ld.global.v2.u32 {%r2, %r3}, [%rd2];\nmov.u32 %r6, %r2;\nmov.u32 %r7, %r3;\n"
    "@%p1 ld.global.v2.u32 {%r4, %r5}, [%rd2+8];\nbar.sync 0;\n"
    "@%p1 scanlab.add {%r6, %r7}, {%r2, %r3}, {%r4, %r5};\nst.global.v2.u32 [%rd2], {%r6, %r7};\n";

}  // namespace

TEST_CASE("the cipher is Speck64/128") {
  // The test vector of the paper's appendix.
  const ElementNames names(Kind::intervals, 0x1b1a1918'13121110, 0x0b0a0908'03020100);
  std::uint64_t word = 0x3b726574'7475432d;
  names.encipher(&word, 1);
  CHECK(word == 0x8c6fa548'454e028b);
  names.decipher(&word, 1);
  CHECK(word == 0x3b726574'7475432d);

  std::mt19937_64 random(5);
  for (const std::size_t count : {1, 31, 32, 33, 100}) {
    std::vector<std::uint64_t> words(count);
    for (auto& w : words) w = random();
    std::vector<std::uint64_t> there = words;
    names.encipher(there.data(), count);
    CHECK(there != words);
    names.decipher(there.data(), count);
    CHECK(there == words);
  }
}

TEST_CASE("intervals that adjoin have a sum, whatever the order of additions; others have none") {
  ElementNames names(Kind::intervals, 3, 4);
  const auto x = inputs_of(names, 5);
  const auto interval = [&](ElementName name) { return names.intervals({&name, 1}).front(); };
  CHECK(interval(x[2]) == ElementRange{2, 3});
  const ElementName left = sum(names, sum(names, x[0], x[1]), x[2]), right = sum(names, x[0], sum(names, x[1], x[2]));
  CHECK(left == right);
  CHECK(interval(left) == ElementRange{0, 3});
  CHECK(interval(vgpu::identity_name) == ElementRange{});
  CHECK(sum(names, vgpu::identity_name, x[3]) == x[3]);
  CHECK(sum(names, x[3], vgpu::identity_name) == x[3]);
  for (const auto& [a, b] : {std::pair{x[1], x[0]}, {x[0], x[2]}, {x[1], x[1]}, {left, x[2]}, {x[0], ElementName{17}}})
    CHECK_FALSE(interval(sum(names, a, b)));
  // Of another count of elements, and with another key.
  ElementNames fewer(Kind::intervals, 3, 4), other(Kind::intervals, 3, 5);
  inputs_of(fewer, 2), inputs_of(other, 5);
  CHECK_FALSE(fewer.intervals({&left, 1}).front());
  CHECK_FALSE(other.intervals({&left, 1}).front());
}

TEST_CASE("each expression has a name of its own") {
  ElementNames names(Kind::expressions, 3, 4);
  const auto x = inputs_of(names, 20);
  std::set<ElementName> all(x.begin(), x.end());
  std::size_t count = x.size();
  for (const ElementName a : x)
    for (const ElementName b : x) {
      const ElementName once = sum(names, a, b);
      all.insert(once), all.insert(sum(names, once, a)), all.insert(sum(names, a, once));
      CHECK(sum(names, a, b) == once);
      count += 3;
    }
  CHECK(all.size() == count);
  CHECK_FALSE(names.intervals({&x[0], 1}).front());
}

TEST_CASE("keep is known of the inputs that were marked, and of nothing else") {
  for (const Kind kind : {Kind::expressions, Kind::intervals}) {
    ElementNames names(kind, 3, 4);
    const auto x = names.name_inputs({true, false, true});
    const vgpu::ElementName all[] = {x[0], x[1], x[2], sum(names, x[0], x[1]), vgpu::identity_name};
    CHECK(names.kept(all, 5) == 0b101);
    CHECK(names.kept(all, 0) == 0);
    CHECK(names.kept(all + 2, 1) == 1);
  }
}

TEST_CASE("maps are names of themselves: their sums are computed, and the identity changes nothing") {
  const ElementNames names(Kind::maps, 0, 0);
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round)
    for (const auto order : {vgpu::Schedule::Order::lockstep, vgpu::Schedule::Order::random}) {
      std::vector<ElementName> maps(32);
      std::ranges::generate(maps, [&] { return random() % 4 ? random() : vgpu::identity_name; });
      const auto after = run(neighbours + "ret;\n", names, maps, nullptr, order);
      for (std::size_t t = 0; t < 32; ++t) {
        const auto a = [&](std::size_t k) { return static_cast<std::uint32_t>(maps[k]); };
        const auto b = [&](std::size_t k) { return static_cast<std::uint32_t>(maps[k] >> 32); };
        ElementName expected = maps[t];
        if (t < 31 && maps[t] == vgpu::identity_name)
          expected = maps[t + 1];
        else if (t < 31 && maps[t + 1] != vgpu::identity_name)  // x -> a(t + 1) * (a(t) * x + b(t)) + b(t + 1)
          expected = std::uint64_t{a(t + 1) * b(t) + b(t + 1)} << 32 | std::uint32_t{a(t + 1) * a(t)};
        CHECK(after[t] == expected);
      }
    }
  const ElementName some[] = {1ull << 32, 2ull << 32, 3ull << 32 | 5, vgpu::identity_name};
  CHECK(names.kept(some, 4) == 0b0101);
}

TEST_CASE("lanes that take part add, and it is remembered who has") {
  for (const auto order : {vgpu::Schedule::Order::lockstep, vgpu::Schedule::Order::in_order,
                           vgpu::Schedule::Order::reversed, vgpu::Schedule::Order::random}) {
    AdditionGraph graph;
    const auto after = run(neighbours + "ret;\n", 32, graph, order);
    for (std::uint32_t t = 0; t < 32; ++t) {
      const auto node = graph.find(after[t]);
      REQUIRE(node);
      CHECK(graph.interval(*node) == ElementRange{t, t < 31 ? t + 2 : 32});
      if (t == 31) continue;
      REQUIRE(graph.is_sum(*node));
      CHECK(graph.adder(*node).thread == t);
      CHECK(graph.input_of(graph.earlier(*node)) == t);
      CHECK(graph.input_of(graph.later(*node)) == t + 1);
    }
    const auto work = graph.work(after);
    CHECK((work.useful == 31 && work.wasted == 0 && work.with_identity == 0 && work.span == 1));
    CHECK(work.efficiency() == 31.0 / 32);
    // Of what gets into the first output, all others' additions are wasted.
    const auto of_first = graph.work(std::span(after).first(1));
    CHECK((of_first.wasted == 30 && of_first.efficiency() == 1.0 / 32));
    CHECK_FALSE(graph.looked_at());
    CHECK_FALSE(graph.blocks_talk());
  }
}

TEST_CASE("additions are counted line by line: all, those of identities, useful ones, and those of the longest chain") {
  ElementNames names(Kind::expressions, 1, 2);
  const auto x = inputs_of(names, 4);
  AdditionGraph graph;
  graph.reset(x);
  ptx::Module module;
  module.files = {"", "scan.cu"};
  module.lines = {{}, {1, 11, 0, -1, {}}, {1, 12, 0, -1, {}}, {1, 13, 0, -1, {}}};
  vgpu::KernelInfo info;
  info.module = &module;
  graph.kernel_begin(info);
  const auto add = [&](std::uint32_t line, ElementName a, ElementName b) {
    const ElementName s = sum(names, a, b);
    vgpu::Actor actor;
    actor.line = line;
    graph.combined(actor, 1, &a, &b, &s);
    return s;
  };
  const ElementName two = add(1, x[0], x[1]), three = add(2, two, x[2]), four = add(1, three, x[3]);
  add(1, vgpu::identity_name, x[0]);
  add(3, x[2], x[3]);  // for nothing
  const auto work = graph.work(std::vector{four});
  REQUIRE(work.lines.size() == 3);
  const auto& [first, second, third] = std::tie(work.lines[0], work.lines[1], work.lines[2]);
  CHECK((first.place.line == 11 && second.place.line == 12 && third.place.line == 13));
  CHECK((first.made == 3 && first.with_identity == 1 && first.useful == 2 && first.wasted() == 0));
  CHECK((second.made == 1 && second.useful == 1 && third.made == 1 && third.useful == 0 && third.wasted() == 1));
  CHECK((first.in_chain == 2 && second.in_chain == 1 && third.in_chain == 0 && work.span == 3));
}

TEST_CASE("what is swapped, doubled or not an element is no interval; the identity is nothing") {
  ElementNames names(Kind::expressions, 1, 2);
  const auto x = inputs_of(names, 4);
  AdditionGraph graph;
  graph.reset(x);
  const auto add = [&](ElementName a, ElementName b) {
    const ElementName s = sum(names, a, b);
    vgpu::Actor actor;
    graph.combined(actor, 1, &a, &b, &s);
    return s;
  };
  ptx::Module module;
  module.lines.emplace_back();
  vgpu::KernelInfo info;
  info.module = &module;
  graph.kernel_begin(info);
  const auto interval = [&](ElementName name) { return graph.interval(graph.find(name).value()); };
  const ElementName two = add(x[0], x[1]), swapped = add(x[1], x[0]), odd = add(two, 12345);
  CHECK(interval(two) == ElementRange{0, 2});
  CHECK_FALSE(interval(swapped));
  CHECK_FALSE(interval(odd));
  CHECK(interval(add(add(vgpu::identity_name, vgpu::identity_name), two)) == ElementRange{0, 2});
  CHECK(graph.inputs_of(*graph.find(add(two, swapped)), 10) == std::vector<std::uint32_t>{0, 1, 1, 0});
  CHECK(graph.inputs_of(*graph.find(add(two, swapped)), 3) == std::vector<std::uint32_t>{0, 1, 1});
  const auto again = add(x[0], x[1]);  // a second time: for nothing
  const auto work = graph.work(std::vector{again});
  CHECK((work.useful == 1 && work.with_identity == 2 && work.wasted == 5));
  CHECK((work.warp_useful == 1 && graph.work({}).efficiency() == 1));
  CHECK_FALSE(graph.find(98765));
}

TEST_CASE("it is noticed where a program computes with elements, and not where it moves them") {
  const auto looked = [](const std::string& code) {
    AdditionGraph graph;
    run(neighbours + code + "ret;\n", 32, graph);
    return graph.looked_at().has_value();
  };
  // Compared, added as a number, masked; of a sum as well as of an input, by halves and whole.
  CHECK(looked("setp.eq.u32 %p2, %r2, %r4;\n"));
  CHECK(looked("setp.gt.s32 %p2, %r7, 0;\n"));
  CHECK(looked("add.u32 %r8, %r6, 1;\n"));
  CHECK(looked("and.b32 %r8, %r3, 1;\nst.global.u32 [%rd2], %r8;\n"));
  CHECK(looked("mov.b64 %rd5, {%r2, %r3};\nsetp.eq.u64 %p2, %rd5, 0;\n"));
  CHECK(looked("shfl.sync.up.b32 %r8, %r2, 1, 0, -1;\nsetp.eq.u32 %p2, %r8, 0;\n"));
  CHECK(looked("ld.global.u64 %rd5, [%rd2];\nmin.u64 %rd6, %rd5, 7;\n"));
  // Moved, packed with a tag and unpacked; a number from memory that is no element.
  CHECK_FALSE(looked("mov.b64 %rd5, {%r2, %r3};\nst.global.u64 [%rd2], %rd5;\n"));
  CHECK_FALSE(
      looked("cvt.u64.u32 %rd5, %r2;\nor.b64 %rd6, %rd5, 0x700000000;\nshr.u64 %rd7, %rd6, 32;\n"
             "setp.eq.u64 %p2, %rd7, 7;\n"));
  CHECK_FALSE(looked("selp.b32 %r8, %r2, %r4, %p1;\nshfl.sync.up.b32 %r9, %r8, 1, 0, -1;\n"));
  CHECK_FALSE(
      looked("mov.u32 %r8, 5;\nst.global.u32 [%rd2], %r8;\nld.global.u32 %r9, [%rd2];\n"
             "setp.eq.u32 %p2, %r9, 5;\nadd.u32 %r9, %r9, 1;\n"));
}

TEST_CASE("a part of an element is a look at it, and a whole word is none") {
  const auto looked = [](const std::string& code) {
    AdditionGraph graph;
    run(neighbours + "bar.sync 0;\n" + code + "ret;\n", 32, graph);
    return graph.looked_at().has_value();
  };
  const std::string use = "st.global.u32 [%rd2], %r8;\n", use_64 = "st.global.u64 [%rd2], %rd6;\n";
  // Loads and stores of less than a word; also of a vector, and of an atomic that leaves a part.
  CHECK(looked("ld.global.u8 %r8, [%rd2+1];\n"));
  CHECK(looked("ld.global.v2.u16 {%r8, %r9}, [%rd2];\n"));
  CHECK(looked("mov.u32 %r8, 0;\nst.global.u8 [%rd2+3], %r8;\n"));
  CHECK(looked("atom.global.and.b32 %r8, [%rd2], 255;\n"));
  CHECK(looked("atom.global.max.u32 %r8, [%rd2+4], 7;\n"));
  CHECK(looked("atom.global.cas.b32 %r8, [%rd2], 7, 8;\n"));
  CHECK(looked("atom.global.add.u64 %rd5, [%rd2], 1;\n"));
  CHECK_FALSE(looked("atom.global.add.u32 %r8, [%rd2], 0;\n"));
  CHECK_FALSE(looked("atom.global.or.b64 %rd5, [%rd2], 0;\n"));
  CHECK_FALSE(looked("atom.global.cas.b32 %r8, [%rd2], 0, 0;\n"));
  CHECK_FALSE(looked("atom.global.exch.b32 %r8, [%rd2], %r3;\n"));
  CHECK_FALSE(
      looked("mov.u32 %r8, 3;\nst.global.u32 [%rd2], %r8;\nst.global.u32 [%rd2+4], %r8;\nbar.sync 0;\n"
             "ld.global.u8 %r9, [%rd2];\n"));  // no element any more
  // Words that are put together otherwise.
  CHECK(looked("prmt.b32 %r8, %r2, %r3, 0x6543;\n" + use));
  CHECK(looked("shf.l.wrap.b32 %r8, %r2, %r3, 8;\n" + use));
  CHECK(looked("bfe.u32 %r8, %r2, 16, 16;\n" + use));
  CHECK(looked("bfi.b32 %r8, %r2, %r1, 8, 16;\n" + use));
  CHECK(looked("or.b32 %r8, %r2, 1;\n" + use));
  CHECK(looked("xor.b32 %r8, %r2, %r4;\n" + use));
  CHECK(looked("mov.b64 %rd5, {%r2, %r3};\nor.b64 %rd6, %rd5, 1;\n" + use_64));
  CHECK(looked("mov.b64 %rd5, {%r2, %r3};\nshr.u64 %rd6, %rd5, 40;\n" + use_64));
  CHECK(looked("shfl.sync.idx.b32 %r8, %r1, %r2, 31, -1;\n"));
  CHECK_FALSE(looked("prmt.b32 %r8, %r2, %r3, 0x7654;\n" + use));
  CHECK_FALSE(looked("shf.l.wrap.b32 %r8, %r2, %r3, 0;\n" + use));
  CHECK_FALSE(looked("bfe.u32 %r8, %r2, 0, 32;\n" + use));
  CHECK_FALSE(looked("or.b32 %r8, %r2, 0;\n" + use));
  CHECK_FALSE(looked("mov.u32 %r9, 7;\nmov.b64 %rd5, {%r2, %r9};\nshr.u64 %rd6, %rd5, 33;\n" + use_64));
  CHECK_FALSE(looked("mov.u32 %r9, 7;\nmov.b64 %rd5, {%r2, %r9};\nbfe.u64 %rd6, %rd5, 34, 2;\n" + use_64));
  // Compilers compare tags in the upper words of what has elements in the lower ones.
  CHECK_FALSE(
      looked("mov.u32 %r9, 7;\nmov.b64 %rd5, {%r2, %r9};\nmov.b64 %rd6, {%r4, %r9};\n"
             "xor.b64 %rd7, %rd5, %rd6;\nsetp.lt.u64 %p2, %rd7, 4294967296;\n"));
  CHECK(
      looked("mov.u32 %r9, 7;\nmov.b64 %rd5, {%r2, %r9};\nmov.b64 %rd6, {%r4, %r9};\n"
             "xor.b64 %rd7, %rd5, %rd6;\nsetp.lt.u64 %p2, %rd7, 4294967297;\n"));
}

TEST_CASE("what neither the input nor an order decides breaks a proof") {
  const auto breaches = [](const std::string& code) {
    AdditionGraph graph;
    run(neighbours + code + "ret;\n", 32, graph);
    std::vector<vgpu::Breach::What> all;
    for (const vgpu::Breach& breach : graph.breaches()) all.push_back(breach.what);
    return all;
  };
  using What = vgpu::Breach::What;
  CHECK(breaches("").empty());
  CHECK(breaches("mov.u32 %r8, %clock;\nst.global.u32 [%rd2], %r8;\n") == std::vector{What::clock});
  CHECK(breaches("mov.u64 %rd5, %globaltimer;\nst.global.u64 [%rd2], %rd5;\n") == std::vector{What::clock});
  CHECK(breaches("mov.u32 %r8, %smid;\n") == std::vector{What::place});
  CHECK(breaches("mov.u32 %r8, %warpid;\n") == std::vector{What::place});
  CHECK(breaches("mov.u32 %r8, %nsmid;\n") == std::vector{What::place});
  CHECK(breaches("mov.u32 %r8, %total_smem_size;\n") == std::vector{What::place});
  CHECK(breaches("mov.u32 %r8, %lanemask_lt;\nmov.u32 %r8, %dynamic_smem_size;\n").empty());
  CHECK(breaches("activemask.b32 %r8;\n") == std::vector{What::active_lanes});
  CHECK(breaches("mov.u32 %r8, %laneid;\nmov.u32 %r8, %nctaid.x;\n").empty());
  CHECK(breaches("setp.gt.u32 %p2, %r1, 99;\n@%p2 bra over;\nbra done;\nover:\nmov.u32 %r8, %clock;\ndone:\n").empty());
}

TEST_CASE("plain maps add as on a GPU where others are names") {
  for (const Kind kind : {Kind::expressions, Kind::intervals}) {
    ElementNames names(kind, 3, 4);
    const auto x = inputs_of(names, 5);
    const ElementName one = 2ull | 3ull << 32, other = 5ull | 7ull << 32;  // x -> 2x + 3, then x -> 5x + 7
    CHECK(sum(names, one, other) == (10ull | 22ull << 32));
    CHECK(sum(names, vgpu::identity_name, vgpu::identity_name) == vgpu::identity_name);
    CHECK(sum(names, vgpu::identity_name, one) == one);
    const ElementName both[] = {one, 2ull, x[0], sum(names, x[0], x[1])};
    CHECK(names.kept(both, 4) == 0b0001);
    CHECK(sum(names, x[0], one) != sum(names, x[1], one));
  }
}

TEST_CASE("without names, adding elements is the kit's gap and no crash") {
  const test::Run r = test::run({"mov.u32 %r1, 1;\nscanlab.add {%r2, %r3}, {%r1, %r1}, {%r1, %r1};\nret;\n"});
  REQUIRE(r.result.fault);
  CHECK(r.result.fault->kind == vgpu::Fault::Kind::unsupported);
}
