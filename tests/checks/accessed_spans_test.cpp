// Spans of memory: what they have in common, and how a launch's accesses become few of them, against sets of bytes.
#include "vgpu/checks/global/accessed_spans.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <set>

#include "vgpu/checks/global/global_shadow.hpp"

using namespace scanlab;
using vgpu::Address;
using vgpu::Span;

namespace {

constexpr Address base = vgpu::global_window + 4096;

std::set<Address> bytes_of(const Span& span) {
  std::set<Address> bytes;
  if (span.period == 0)
    for (Address at = span.begin; at < span.end; ++at) bytes.insert(at);
  else
    for (Address piece = span.begin; piece < span.end; piece += span.period)
      for (Address at = piece; at < piece + span.length; ++at) bytes.insert(at);
  return bytes;
}

vgpu::AccessSite writes(std::uint32_t line) {
  vgpu::AccessSite site;
  site.how.kind = vgpu::How::Kind::write;
  site.line = line;
  return site;
}

class Numbers {
 public:
  explicit Numbers(unsigned seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

 private:
  std::mt19937_64 random_;
};

Span random_span(Numbers& numbers) {
  const Address begin = base + numbers.below(60);
  if (numbers.below(3) == 0) return {begin, begin + 1 + numbers.below(40), 0, 0};
  const std::uint64_t length = 1 + numbers.below(8), period = length + 1 + numbers.below(12), count = numbers.below(8);
  return {begin, begin + count * period + length, period, length};
}

}  // namespace

TEST_CASE("two spans have the bytes in common that their sets have") {
  Numbers numbers(1);
  unsigned apart = 0;
  for (int k = 0; k < 20000; ++k) {
    const Span a = random_span(numbers), b = random_span(numbers);
    const std::set<Address> of_a = bytes_of(a), of_b = bytes_of(b);
    std::optional<Address> first;
    for (const Address at : of_a)
      if (of_b.contains(at)) {
        first = at;
        break;
      }
    apart += !first;
    REQUIRE(vgpu::first_common_byte(a, b) == first);
    REQUIRE(vgpu::first_common_byte(b, a) == first);
  }
  CHECK(apart > 1000);
}

TEST_CASE("spans keep all bytes and no others, whatever the order in which they come") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Numbers numbers(seed);
    vgpu::AccessedSpans spans;
    std::map<std::uint32_t, std::set<Address>> expected, got;
    for (std::uint64_t k = 1 + numbers.below(30); k > 0; --k) {
      const Address first = base + 400 + numbers.below(50);
      const auto stride = static_cast<std::int64_t>(numbers.below(25)) - 12;
      const std::uint64_t count = 1 + numbers.below(10), length = 1 + numbers.below(8);
      const auto line = static_cast<std::uint32_t>(numbers.below(3));
      spans.add(first, stride, count, length, writes(line));
      for (std::uint64_t n = 0; n < count; ++n)
        for (std::uint64_t byte = 0; byte < length; ++byte)
          expected[line].insert(first + static_cast<std::uint64_t>(stride) * n + byte);
    }
    for (const vgpu::AccessedSpan& t : spans.list()) got[t.site.line].merge(bytes_of(t.span));
    REQUIRE(got == expected);
  }
}

TEST_CASE("rows side by side are one span, forwards and backwards, and so are regular steps") {
  vgpu::AccessedSpans spans;
  for (unsigned k = 0; k < 100; ++k) spans.add(base + 128 * k, 4, 32, 4, writes(1));
  CHECK(spans.list().size() == 1);
  spans.clear();
  for (unsigned k = 100; k-- > 0;) spans.add(base + 128 * k, 4, 32, 4, writes(1));
  CHECK(spans.list().size() == 1);
  spans.clear();
  for (unsigned k = 0; k < 100; ++k) spans.add(base + 256 * k, 8, 32, 4, writes(1));
  const auto every_second = spans.list();
  REQUIRE(every_second.size() == 1);
  CHECK(every_second[0].span == Span{base, base + 256 * 100 - 4, 8, 4});
}

TEST_CASE("too many separate places are noticed, and what only looks like them is not") {
  vgpu::AccessedSpans spans;
  // Backwards in steps of seven rows: one array in the end.
  for (std::uint64_t k = 0; k < 700'000; ++k) spans.add(base + 4 * (k * 7 % 700'001), 0, 1, 4, writes(1));
  CHECK_FALSE(spans.is_too_large());
  for (std::uint64_t k = 0; k < 700'000; ++k) spans.add(base + k * k % 1'000'003 * 8, 0, 1, 4, writes(2));
  CHECK(spans.is_too_large());
}

namespace {

struct NoSink : vgpu::ConflictSink<vgpu::GlobalConflict> {
  void conflict(const vgpu::GlobalConflict&) override {}
  void guessed(std::uint32_t) override {}
};

}  // namespace

TEST_CASE("the shadow of a launch shows exactly what was touched") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    Numbers numbers(seed);
    NoSink sink;
    vgpu::GlobalShadow shadow(sink);
    shadow.begin_launch();
    constexpr unsigned threads = 96;
    std::map<std::pair<std::uint32_t, bool>, std::set<Address>> expected, got;
    for (unsigned b = 0; b < 4; ++b) {
      vgpu::BlockView block;
      block.begin(b, threads, vgpu::GridClock::levels_for(4), shadow.order());
      for (std::uint64_t k = numbers.below(25); k > 0; --k) {
        std::uint64_t lanes[32];
        vgpu::AccessRun run;
        vgpu::Access& a = run.first;
        a.actor = {b, static_cast<std::uint32_t>(numbers.below(2)), b, static_cast<std::uint32_t>(numbers.below(4))};
        a.bytes = 1u << numbers.below(5);
        a.mask = numbers.below(2) ? vgpu::full_mask : static_cast<vgpu::Mask>(numbers.below(1ull << 32)) | 1;
        a.first = base + 4096 + 16 * numbers.below(200);
        a.stride = static_cast<std::int64_t>(a.bytes) * (static_cast<std::int64_t>(numbers.below(5)) - 1);
        run.count = 1 + static_cast<unsigned>(numbers.below(2));
        run.step = a.stride * 32;
        vgpu::GlobalHow how;
        how.kind = numbers.below(2) ? vgpu::How::Kind::write : vgpu::How::Kind::read;
        if (numbers.below(5) == 0) {
          for (std::uint64_t& lane : lanes) lane = base + 4096 + a.bytes * numbers.below(300);
          a.address = lanes;
          run.count = 1;
        }
        shadow.access(run, how, block);
        for (unsigned w = 0; w < run.count; ++w)
          for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned byte = 0; run.lanes_of(w) >> lane & 1 && byte < a.bytes; ++byte)
              expected[{a.actor.line, how.writes()}].insert(run.of(w).at(lane) + byte);
      }
    }
    vgpu::AccessedSpans spans;
    shadow.collect(spans);
    for (const vgpu::AccessedSpan& t : spans.list()) got[{t.site.line, t.site.how.writes()}].merge(bytes_of(t.span));
    REQUIRE(got == expected);
  }
}
