// Warps that are several rows of a narrow block: their registers still are pairs, and their accesses rows. Kernels of
// random arithmetic, comparisons and accesses give what a plain model of their threads gives, also where rows are long.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tiers.hpp"

using namespace scanlab;
using test::Kernel;
using test::Setup;
using test::written;
using vgpu::Dim3;

namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

/// A kernel, and what its threads hold meanwhile: every piece of code is written down and done for all of them.
class Model {
 public:
  static constexpr unsigned registers = 8;

  Model(Dim3 block, unsigned seed) : block_(block), random_(seed), threads_(block.count()) {
    for (unsigned t = 0; t < block.count(); ++t) {
      Thread& thread = threads_[t];
      thread.x = t % block.x;
      thread.y = t / block.x % block.y;
      thread.z = t / block.x / block.y;
      thread.linear = t;
      const std::uint32_t known[registers] = {thread.x, thread.y, thread.z, t % 32, 12, thread.x, thread.y, t};
      std::copy(std::begin(known), std::end(known), thread.r);
    }
    put("mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, %laneid;\nmov.u32 %r4, 12;");
    // One value per warp, by which pairs grow differently from warp to warp: its number, without those of the block
    // before.
    const auto warps = static_cast<unsigned>((block.count() + 31) / 32);
    put("mov.u32 %r11, %ctaid.x;\nmov.u32 %r12, %warpid;");
    put("mul.lo.u32 %r11, %r11, " + number(warps) + ";\nsub.u32 %r12, %r12, %r11;");
    // Each block has its own part of the output; the second one goes where the first has found the arrays.
    put("mov.u32 %r11, %ctaid.x;\nmul.wide.u32 %rd1, %r11, " + number(4 * words()) + ";\nadd.s64 %out, %out, %rd1;");
    put("mov.u32 %r5, %r0;\nmov.u32 %r6, %r1;\nmov.u32 %r20, 1;\nmov.u32 %r21, s_data;");
    // The thread's number within the block is %r10.
    put("mov.u32 %r8, %ntid.x;\nmov.u32 %r9, %ntid.y;\nmad.lo.u32 %r10, %r2, %r9, %r1;");
    put("mad.lo.u32 %r10, %r10, %r8, %r0;\nmov.u32 %r7, %r10;");
  }

  void arithmetic() {
    const unsigned to = 5 + below(3), a = below(registers), b = below(registers);
    const std::uint32_t n = one_in(3) ? static_cast<std::uint32_t>(random_()) : below(40);
    const auto on = [&](const std::string& text, auto result) {
      put(text);
      each([&](Thread& t) { t.r[to] = result(t); });
    };
    const std::string d = reg(to), x = reg(a), y = reg(b), c = number(n);
    switch (below(7)) {
      case 6:
        return on("mul.lo.s32 " + d + ", " + x + ", %r12;", [&](Thread& t) { return t.r[a] * (t.linear / 32); });
      case 0:
        return on("add.s32 " + d + ", " + x + ", " + y + ";", [&](Thread& t) { return t.r[a] + t.r[b]; });
      case 1:
        return on("sub.s32 " + d + ", " + x + ", " + y + ";", [&](Thread& t) { return t.r[a] - t.r[b]; });
      case 2:
        return on("mul.lo.s32 " + d + ", " + x + ", " + c + ";", [&](Thread& t) { return t.r[a] * n; });
      case 3:
        return on("mad.lo.s32 " + d + ", " + x + ", " + c + ", " + y + ";",
                  [&](Thread& t) { return t.r[a] * n + t.r[b]; });
      case 4:
        return on("shl.b32 " + d + ", " + x + ", " + number(n % 34) + ";",
                  [&](Thread& t) { return n % 34 < 32 ? t.r[a] << n % 34 : 0; });
      default:
        return on("add.s32 " + d + ", " + x + ", " + c + ";", [&](Thread& t) { return t.r[a] + n; });
    }
  }

  /// A register widened, multiplied, and all its bits taken into the sum.
  void widen() {
    const unsigned a = below(registers), factor = below(1000);
    const bool is_signed = one_in(2);
    const auto wide = [=](std::uint32_t x) {
      return is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(x)}) : std::uint64_t{x};
    };
    if (one_in(2))
      put(std::string("mul.wide.") + (is_signed ? "s32" : "u32") + " %rd1, " + reg(a) + ", " + number(factor) + ";");
    else
      put(std::string("cvt.") + (is_signed ? "s64.s32" : "u64.u32") + " %rd1, " + reg(a) +
          ";\nmul.lo.s64 %rd1, %rd1, " + number(factor) + ";");
    put("add.s64 %rd2, %rd1, " + number(factor) + ";\nshr.u64 %rd3, %rd2, 32;");
    put("cvt.u32.u64 %r22, %rd3;\ncvt.u32.u64 %r23, %rd2;");
    take_in("%r22", [=](Thread& t) { return static_cast<std::uint32_t>((wide(t.r[a]) * factor + factor) >> 32); });
    take_in("%r23", [=](Thread& t) { return static_cast<std::uint32_t>(wide(t.r[a]) * factor + factor); });
  }

  void compare() {
    static const std::pair<const char*, std::function<bool(std::uint32_t, std::uint32_t)>> kinds[] = {
        {"lt.u32", [](std::uint32_t a, std::uint32_t b) { return a < b; }},
        {"ge.u32", [](std::uint32_t a, std::uint32_t b) { return a >= b; }},
        {"lt.s32", [](std::uint32_t a, std::uint32_t b) { return std::int32_t(a) < std::int32_t(b); }},
        {"le.s32", [](std::uint32_t a, std::uint32_t b) { return std::int32_t(a) <= std::int32_t(b); }},
        {"gt.s32", [](std::uint32_t a, std::uint32_t b) { return std::int32_t(a) > std::int32_t(b); }},
        {"eq.s32", [](std::uint32_t a, std::uint32_t b) { return a == b; }},
        {"ne.s32", [](std::uint32_t a, std::uint32_t b) { return a != b; }}};
    const auto& [word, holds] = kinds[below(std::size(kinds))];
    const unsigned a = below(registers), b = below(registers);
    const bool is_number = one_in(2);
    const std::uint32_t n = below(one_in(2) ? block_.x + 2 : 1000);
    put(std::string("setp.") + word + " %p1, " + reg(a) + ", " + (is_number ? number(n) : reg(b)) + ";");
    const auto taken = [&](Thread& t) { return holds(t.r[a], is_number ? n : t.r[b]); };
    if (one_in(2)) {
      put("selp.u32 %r22, 3, 8, %p1;");
      return take_in("%r22", [&](Thread& t) { return taken(t) ? 3u : 8u; });
    }
    // Lanes diverge and meet again.
    const std::string end = "$L_end" + number(labels_++);
    put("@%p1 bra " + end + ";\nmad.lo.u32 %r20, %r20, 5, " + reg(b) + ";\n" + end + ":");
    each([&](Thread& t) {
      if (!taken(t)) t.sum = t.sum * 5 + t.r[b];
    });
  }

  /// All threads write their sums to shared memory, in some order of places, and read others'.
  void exchange(bool in_global) {
    const unsigned count = static_cast<unsigned>(block_.count()), plane = block_.x * block_.y;
    const unsigned bytes = one_in(3) ? 8 : one_in(3) ? 2 : 4;
    const std::string base = in_global ? "%out" : "%r21", space = in_global ? "global" : "shared";
    const std::string type = bytes == 8 ? "u64" : bytes == 4 ? "u32" : "u16";
    const std::string value = bytes == 8 ? "%rd4" : bytes == 4 ? "%r20" : "%h1";
    const auto places = [&](unsigned kind) {
      switch (kind) {
        case 0:  // contiguous
          return std::pair(std::string("mov.u32 %r24, %r10;"), std::function([](const Thread& t) { return t.linear; }));
        case 1:  // transposed within each plane
          put("mul.lo.u32 %r25, %r0, " + number(block_.y) + ";");
          return std::pair("mad.lo.u32 %r24, %r2, " + number(plane) + ", %r25;\nadd.u32 %r24, %r24, %r1;",
                           std::function([=, this](const Thread& t) { return t.z * plane + t.x * block_.y + t.y; }));
        case 2:  // from the end
          return std::pair("sub.u32 %r24, " + number(count - 1) + ", %r10;",
                           std::function([=](const Thread& t) { return count - 1 - t.linear; }));
        case 3: {  // one place for each row
          const unsigned c = below(block_.x);
          return std::pair("mad.lo.u32 %r24, %r2, " + number(block_.y) + ", %r1;\nmad.lo.u32 %r24, %r24, " +
                               number(block_.x) + ", " + number(c) + ";",
                           std::function([=, this](const Thread& t) { return (t.z * block_.y + t.y) * block_.x + c; }));
        }
        case 4: {  // the same row for all
          const unsigned c = below(block_.y);
          return std::pair("add.u32 %r24, %r0, " + number(c * block_.x) + ";",
                           std::function([=, this](const Thread& t) { return c * block_.x + t.x; }));
        }
        case 5:  // as far from each other as the warp has it
          return std::pair(std::string("mul.lo.u32 %r24, %r12, %r0;"),
                           std::function([](const Thread& t) { return t.linear / 32 * t.x; }));
        default:  // every second place, of twice as many, as far as they go
          return std::pair(std::string("shl.b32 %r24, %r0, 1;\nmad.lo.u32 %r24, %r1, 3, %r24;"),
                           std::function([=](const Thread& t) { return t.x * 2 + t.y * 3; }));
      }
    };
    const auto address = [&](const std::string& index) {
      put(index);
      const unsigned offset = in_global ? 4 * count : 0;  // behind the results
      if (in_global)
        put("mul.wide.u32 %rd5, %r24, " + number(bytes) + ";\nadd.s64 %rd6, " + base + ", %rd5;");
      else
        put("mul.lo.u32 %r26, %r24, " + number(bytes) + ";\nadd.u32 %r27, " + base + ", %r26;");
      return (in_global ? "[%rd6+" : "[%r27+") + number(offset) + "]";
    };
    std::vector<std::uint64_t> memory(2 * threads_.size() + 3 * block_.y);
    const auto kept = [=](std::uint64_t x) { return bytes == 8 ? x : x & ((1ull << 8 * bytes) - 1); };

    const auto [text, place] = places(below(3));
    const std::string to = address(text);
    if (bytes == 8) put("cvt.u64.u32 %rd4, %r20;\nshl.b64 %rd7, %rd4, 17;\nadd.s64 %rd4, %rd4, %rd7;");
    if (bytes == 2) put("cvt.u16.u32 %h1, %r20;");
    put("bar.sync 0;\nst." + space + "." + type + " " + to + ", " + value + ";\nbar.sync 0;");
    each([&](Thread& t) { memory[place(t)] = kept(bytes == 8 ? t.sum + (std::uint64_t{t.sum} << 17) : t.sum); });
    const bool warps_fit = (count / 32) * block_.x <= count;
    for (unsigned n = 1 + below(3); n-- > 0;) {
      const bool is_spread = one_in(4) && 2 * block_.x + 3 * block_.y <= count;
      const auto [read_text, read_place] = places(is_spread ? 6 : below(warps_fit ? 6 : 5));
      const std::string from = address(read_text);
      put("ld." + space + "." + type + " " + (bytes == 8 ? "%rd8" : bytes == 4 ? "%r28" : "%h2") + ", " + from + ";");
      if (bytes == 8) put("shr.u64 %rd9, %rd8, 9;\nxor.b64 %rd8, %rd8, %rd9;\ncvt.u32.u64 %r28, %rd8;");
      if (bytes == 2) put("cvt.u32.u16 %r28, %h2;");
      take_in("%r28", [&](Thread& t) {
        const std::uint64_t x = memory[read_place(t)];
        return static_cast<std::uint32_t>(bytes == 8 ? x ^ x >> 9 : x);
      });
    }
  }

  void piece() {
    const unsigned kind = below(10);
    if (kind < 5) return arithmetic();
    if (kind < 6) return widen();
    if (kind < 8) return compare();
    exchange(kind == 9);
  }

  Kernel kernel() {
    for (unsigned k = 5; k < registers; ++k) take_in(reg(k), [k](Thread& t) { return t.r[k]; });
    put("mul.wide.u32 %rd30, %r10, 4;\nadd.s64 %rd31, %out, %rd30;\nst.global.u32 [%rd31], %r20;\nret;");
    return {".reg .b16 %h<4>;\n.shared .align 8 .b8 s_data[" + number(8 * block_.count()) + "];\n" + body_};
  }

  std::size_t words() const { return 8 * block_.count(); }  ///< of a block
  std::uint32_t result(unsigned thread) const { return threads_[thread].sum; }

  unsigned below(std::size_t n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }

 private:
  struct Thread {
    std::uint32_t x = 0, y = 0, z = 0, linear = 0;
    std::uint32_t r[registers] = {};
    std::uint32_t sum = 1;
  };

  static std::string reg(unsigned k) { return "%r" + number(k); }
  void put(const std::string& line) { body_ += line + "\n"; }
  template <class Do>
  void each(Do what) {
    for (Thread& t : threads_) what(t);
  }
  template <class Value>
  void take_in(const std::string& name, Value value) {
    put("mad.lo.u32 %r20, %r20, 31, " + name + ";");
    each([&](Thread& t) { t.sum = t.sum * 31 + value(t); });
  }

  Dim3 block_;
  std::mt19937 random_;
  std::vector<Thread> threads_;
  std::string body_;
  unsigned labels_ = 0;
};

}  // namespace

TEST_CASE("random kernels of narrow blocks give what their threads give one by one") {
  const Dim3 shapes[] = {{16, 4, 1}, {16, 2, 1}, {8, 8, 1}, {8, 4, 3},  {4, 16, 1}, {4, 8, 2},  {2, 32, 1},
                         {2, 16, 2}, {32, 2, 1}, {4, 4, 4}, {16, 3, 2}, {1, 64, 1}, {96, 1, 1}, {128, 1, 1}};
  for (unsigned seed = 0; seed < 168; ++seed) {
    const Dim3 block = shapes[seed % std::size(shapes)];
    INFO("seed " << seed << ", " << block.x << " x " << block.y << " x " << block.z);
    Model model(block, seed);
    for (unsigned k = 4 + model.below(16); k-- > 0;) model.piece();
    const Kernel kernel = model.kernel();
    INFO(kernel.body);
    constexpr unsigned blocks = 3;
    const auto out = written(kernel, block, blocks * model.words(), blocks);
    for (unsigned b = 0; b < blocks; ++b)
      for (unsigned t = 0; t < block.count(); ++t) REQUIRE(out[b * model.words() + t] == model.result(t));
  }
}

namespace {

/// Block 1 of the kernel faults in thread (0, y, 0), together with other warps or not.
void check_fault(const Kernel& kernel, Dim3 block, vgpu::Fault::Kind kind, unsigned y) {
  for (const auto order : {vgpu::Schedule::Order::lockstep, vgpu::Schedule::Order::in_order}) {
    const auto r = test::run(kernel, {.grid = {2, 1, 1}, .block = block, .schedule = {.order = order}});
    REQUIRE(r.result.fault);
    CHECK(r.result.fault->kind == kind);
    CHECK(r.result.fault->block[0] == 1);
    CHECK(r.result.fault->thread[0] == 0);
    CHECK(r.result.fault->thread[1] == y);
  }
}

}  // namespace

TEST_CASE("a fault in the last row of a warp names its thread") {
  // Each row of a block has one word of s_tile: upwards, or downwards. In block 1 all are one row further.
  const std::pair<std::string, std::string> ways[] = {{"64", "0"}, {"-64", "192"}};
  for (const auto& [step, start] : ways)
    check_fault({R"(
.shared .align 4 .b8 s_tile[256];
mov.u32 %r1, %tid.y;
mov.u32 %r2, %ctaid.x;
add.u32 %r3, %r1, %r2;
mov.u32 %r4, s_tile;
mul.lo.s32 %r5, %r3, )" +
                 step +
                 R"(;
add.u32 %r6, %r4, %r5;
ld.shared.u32 %r7, [%r6+)" +
                 start +
                 R"(];
st.global.u32 [%out], %r7;
ret;
)"},
                {16, 4, 1}, vgpu::Fault::Kind::out_of_bounds, 3);
}

TEST_CASE("rows of a narrow block that are not aligned fault at their first thread") {
  check_fault({R"(
.shared .align 4 .b8 s_tile[512];
mov.u32 %r1, %tid.y;
mov.u32 %r3, %ctaid.x;
mul.lo.u32 %r4, %r1, %r3;
mov.u32 %r5, s_tile;
mad.lo.u32 %r6, %r4, 33, %r5;
ld.shared.u32 %r8, [%r6];
st.global.u32 [%out], %r8;
ret;
)"},
              {8, 8, 1}, vgpu::Fault::Kind::misaligned, 1);
}
