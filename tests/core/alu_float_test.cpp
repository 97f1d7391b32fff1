// Floating-point instructions and conversions, against values from IEEE 754 and the PTX manual and against a rounding
// found by search.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "alu_machine.hpp"

namespace scanlab::vgpu::test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::bit_cast<float>(0xffc12345u);  // not the canonical one

std::uint64_t evaluated(std::string_view form, unsigned bits, const std::vector<Value>& sources) {
  INFO(form);
  const auto result = evaluate(form, bits, sources);
  REQUIRE(result.has_value());
  return *result;
}
std::uint64_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
std::uint64_t bits(double x) {
  return std::bit_cast<std::uint64_t>(x);
}
float as_float(std::uint64_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x));
}
double as_double(std::uint64_t x) {
  return std::bit_cast<double>(x);
}

TEST_CASE("the four roundings of f32 and f64 differ where they should") {
  struct Row {
    const char* form;  // without the rounding and the type
    float a, b, nearest, zero, down, up;
  };
  const float next = 1 + 0x1p-23f;
  for (const Row& row : {Row{"add", 1, 0x1p-24f, 1, 1, 1, next}, Row{"add", -1, -0x1p-24f, -1, -1, -next, -1},
                         Row{"sub", next, 0x1p-24f, 1, 1, 1, next},
                         Row{"mul", next, next, 1 + 0x1p-22f, 1 + 0x1p-22f, 1 + 0x1p-22f, 1 + 0x1p-22f + 0x1p-23f},
                         Row{"div", 1, 3, 0x1.555556p-2f, 0x1.555554p-2f, 0x1.555554p-2f, 0x1.555556p-2f},
                         Row{"add", 0x1.fffffep127f, 0x1p103f, inf, 0x1.fffffep127f, 0x1.fffffep127f, inf}}) {
    INFO(row.form);
    const std::string form = row.form;
    CHECK(evaluated(form + ".rn.f32", 32, {f(row.a), f(row.b)}) == bits(row.nearest));
    CHECK(evaluated(form + ".rz.f32", 32, {f(row.a), f(row.b)}) == bits(row.zero));
    CHECK(evaluated(form + ".rm.f32", 32, {f(row.a), f(row.b)}) == bits(row.down));
    CHECK(evaluated(form + ".rp.f32", 32, {f(row.a), f(row.b)}) == bits(row.up));
  }
  CHECK(evaluated("add.rn.f64", 64, {d(1), d(0x1p-53)}) == bits(1.0));
  CHECK(evaluated("add.rp.f64", 64, {d(1), d(0x1p-53)}) == bits(1 + 0x1p-52));
  CHECK(evaluated("add.rm.f64", 64, {d(-1), d(-0x1p-53)}) == bits(-1 - 0x1p-52));
  CHECK(evaluated("mul.rz.f64", 64, {d(1 + 0x1p-52), d(1 - 0x1p-53)}) == bits(1.0));
  CHECK(evaluated("div.rp.f64", 64, {d(1), d(3)}) == 0x3fd5555555555556);
  CHECK(evaluated("div.rn.f64", 64, {d(1), d(3)}) == 0x3fd5555555555555);
  CHECK(evaluated("sqrt.rn.f32", 32, {f(2)}) == 0x3fb504f3);
  CHECK(evaluated("sqrt.rp.f32", 32, {f(2)}) == 0x3fb504f4);
  CHECK(evaluated("sqrt.rm.f64", 64, {d(2)}) == 0x3ff6a09e667f3bcc);
  CHECK(evaluated("sqrt.rp.f64", 64, {d(2)}) == 0x3ff6a09e667f3bcd);
  CHECK(evaluated("rcp.rn.f32", 32, {f(3)}) == bits(0x1.555556p-2f));
  CHECK(evaluated("rcp.rz.f64", 64, {d(3)}) == 0x3fd5555555555555);
  // x - x is +0, except rounding down.
  CHECK(evaluated("sub.rn.f32", 32, {f(1), f(1)}) == 0);
  CHECK(evaluated("sub.rm.f32", 32, {f(1), f(1)}) == 0x80000000);
}

TEST_CASE("fma rounds once and mul then add is never contracted") {
  const float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f);
  CHECK(evaluated("fma.rn.f32", 32, {f(a), f(a), f(c)}) == bits(0x1p-24f));
  const std::uint64_t product = evaluated("mul.f32", 32, {f(a), f(a)});
  CHECK(evaluated("add.f32", 32, {r32(product), f(c)}) == 0);
  CHECK(evaluated("fma.rz.f32", 32, {f(1), f(1), f(-0x1p-40f)}) == bits(1 - 0x1p-24f));
  CHECK(evaluated("fma.rn.f64", 64, {d(1 + 0x1p-27), d(1 + 0x1p-27), d(-(1 + 0x1p-26))}) == bits(0x1p-54));
  CHECK(evaluated("fma.rp.f64", 64, {d(1), d(1), d(0x1p-80)}) == bits(1 + 0x1p-52));
  CHECK(evaluated("mad.rn.f32", 32, {f(2), f(3), f(4)}) == bits(10.0f));
}

TEST_CASE("f32 results that are NaN are the canonical NaN") {
  for (const char* form : {"add.f32", "sub.rn.f32", "mul.f32", "div.rn.f32", "min.NaN.f32", "max.NaN.f32"}) {
    CHECK(evaluated(form, 32, {f(nan), f(1)}) == 0x7fffffff);
    CHECK(evaluated(form, 32, {f(1), f(nan)}) == 0x7fffffff);
  }
  CHECK(evaluated("fma.rn.f32", 32, {f(inf), f(0), f(1)}) == 0x7fffffff);
  CHECK(evaluated("add.f32", 32, {f(inf), f(-inf)}) == 0x7fffffff);
  CHECK(evaluated("sqrt.rn.f32", 32, {f(-1)}) == 0x7fffffff);
  CHECK(evaluated("sqrt.rn.f32", 32, {f(-0.0f)}) == 0x80000000);
  CHECK(evaluated("add.f64", 64,
                  {d(std::numeric_limits<double>::infinity()), d(-std::numeric_limits<double>::infinity())}) ==
        0xfff8000000000000);
  CHECK(evaluated("add.f64", 64, {r64(0x7ff0000000000123), d(1)}) == 0x7ff8000000000123);
}

TEST_CASE("ftz flushes operands and results, sat clamps") {
  const float tiny = 0x1p-140f;
  CHECK(evaluated("add.f32", 32, {f(tiny), f(tiny)}) == bits(0x1p-139f));
  CHECK(evaluated("add.ftz.f32", 32, {f(-tiny), f(-tiny)}) == 0x80000000);
  CHECK(evaluated("mul.ftz.f32", 32, {f(0x1p-100f), f(-0x1p-40f)}) == 0x80000000);
  CHECK(evaluated("mul.f32", 32, {f(0x1p-100f), f(-0x1p-40f)}) == bits(-0x1p-140f));
  CHECK(evaluated("fma.rn.ftz.f32", 32, {f(tiny), f(0x1p20f), f(1)}) == bits(1.0f));
  CHECK(evaluated("add.sat.f32", 32, {f(3), f(4)}) == bits(1.0f));
  CHECK(evaluated("add.sat.f32", 32, {f(-3), f(1)}) == 0);
  CHECK(evaluated("add.sat.f32", 32, {f(nan), f(1)}) == 0);
  CHECK(evaluated("fma.rn.ftz.sat.f32", 32, {f(0.5f), f(0.5f), f(0)}) == bits(0.25f));
}

TEST_CASE("min and max prefer numbers and order the zeros") {
  CHECK(evaluated("min.f32", 32, {f(nan), f(1)}) == bits(1.0f));
  CHECK(evaluated("max.f32", 32, {f(1), f(nan)}) == bits(1.0f));
  CHECK(evaluated("min.f32", 32, {f(nan), f(nan)}) == 0x7fffffff);
  CHECK(evaluated("min.f32", 32, {f(0.0f), f(-0.0f)}) == 0x80000000);
  CHECK(evaluated("max.f32", 32, {f(-0.0f), f(0.0f)}) == 0);
  CHECK(evaluated("min.f64", 64, {d(-1), d(2)}) == bits(-1.0));
  CHECK(evaluated("min.xorsign.abs.f32", 32, {f(-3), f(2)}) == bits(-2.0f));
  CHECK(evaluated("max.xorsign.abs.f32", 32, {f(-3), f(-2)}) == bits(3.0f));
  CHECK(evaluated("abs.f32", 32, {f(-3)}) == bits(3.0f));
  CHECK(evaluated("neg.f64", 64, {d(3)}) == bits(-3.0));
  CHECK(evaluated("copysign.f32", 32, {f(-1), f(2)}) == bits(-2.0f));
}

TEST_CASE("directed products bracket the exact one") {
  std::mt19937 random(20);
  for (int k = 0; k < 2000; ++k) {
    const float a = as_float(random()), b = as_float(random());
    const double exact = static_cast<double>(a) * b;  // 48 bits
    if (!std::isfinite(exact)) continue;
    const float down = as_float(evaluated("mul.rm.f32", 32, {f(a), f(b)}));
    const float up = as_float(evaluated("mul.rp.f32", 32, {f(a), f(b)}));
    const float zero = as_float(evaluated("mul.rz.f32", 32, {f(a), f(b)}));
    CAPTURE(a, b);
    CHECK((down <= exact && std::nextafter(down, inf) > exact));
    CHECK((up >= exact && std::nextafter(up, -inf) < exact));
    CHECK(zero == (exact < 0 ? up : down));
  }
}

TEST_CASE("integers become floats with every rounding") {
  struct Row {
    const char* name;
    bool is_signed;
    unsigned bits;
  };
  std::mt19937_64 random(21);
  for (const Row& row : {Row{"u8", false, 16}, Row{"s8", true, 16}, Row{"u16", false, 16}, Row{"s16", true, 16},
                         Row{"u32", false, 32}, Row{"s32", true, 32}, Row{"u64", false, 64}, Row{"s64", true, 64}}) {
    const unsigned width = static_cast<unsigned>(std::atoi(row.name + 1));
    for (int k = 0; k < 150; ++k) {
      const std::uint64_t given = k < 4 ? (k == 0   ? 0
                                           : k == 1 ? ~0ull
                                           : k == 2 ? 1ull << (width - 1)
                                                    : (1ull << (width - 1)) - 1)
                                        : random() >> (random() % 64);
      const std::uint64_t low = width == 64 ? given : given & ((1ull << width) - 1);
      const std::int64_t as_signed = static_cast<std::int64_t>(low << (64 - width)) >> (64 - width);
      const long double exact = row.is_signed ? static_cast<long double>(as_signed) : static_cast<long double>(low);
      const Value source{row.bits, row.bits == 64 ? given : given & ((1ull << row.bits) - 1)};
      INFO(row.name << " " << given);
      const auto check = [&](auto to, unsigned bits_out, const std::string& type) {
        const auto value = [&](const char* rounding) {
          return to(evaluated(std::string("cvt.") + rounding + type + "." + row.name, bits_out, {source}));
        };
        using F = decltype(to(0));
        constexpr F infinity = std::numeric_limits<F>::infinity();
        const F down = value("rm"), up = value("rp"), zero = value("rz"), near = value("rn");
        CHECK((down <= exact && std::nextafter(down, infinity) > exact));
        CHECK((up >= exact && std::nextafter(up, -infinity) < exact));
        CHECK(zero == (exact < 0 ? up : down));
        CHECK((near == down || near == up));
        CHECK(std::fabs(near - exact) <= std::fabs(up - exact));
        CHECK(std::fabs(near - exact) <= std::fabs(down - exact));
        CHECK(std::signbit(near) == (exact < 0));
        CHECK(std::signbit(down) == (exact < 0));
      };
      check(as_float, 32, ".f32");
      check(as_double, 64, ".f64");
    }
  }
  CHECK(evaluated("cvt.rn.f32.s32", 32, {r32(16777217)}) == bits(16777216.0f));
  CHECK(evaluated("cvt.rn.f32.u8", 32, {r32(0xffffff05)}) == bits(5.0f));  // a wider register
}

TEST_CASE("floats become integers, rounded and clamped") {
  const double nan64 = std::numeric_limits<double>::quiet_NaN();
  const auto cvt = [](const char* form, unsigned bits_out, const Value& source) {
    return evaluated(form, bits_out, {source});
  };
  CHECK(cvt("cvt.rzi.s32.f32", 32, f(-1.9f)) == 0xffffffff);
  CHECK(cvt("cvt.rni.s32.f32", 32, f(2.5f)) == 2);
  CHECK(cvt("cvt.rni.s32.f32", 32, f(3.5f)) == 4);
  CHECK(cvt("cvt.rmi.s32.f32", 32, f(-1.1f)) == 0xfffffffe);
  CHECK(cvt("cvt.rpi.s32.f32", 32, f(1.1f)) == 2);
  CHECK(cvt("cvt.rzi.s32.f32", 32, f(3e9f)) == 0x7fffffff);
  CHECK(cvt("cvt.rzi.s32.f32", 32, f(-3e9f)) == 0x80000000);
  CHECK(cvt("cvt.rzi.s32.f32", 32, f(nan)) == 0);
  CHECK(cvt("cvt.rzi.u32.f32", 32, f(-1)) == 0);
  CHECK(cvt("cvt.rzi.u32.f32", 32, f(3e9f)) == 3000000000u);
  CHECK(cvt("cvt.rzi.u32.f32", 32, f(inf)) == 0xffffffff);
  CHECK(cvt("cvt.rzi.s64.f32", 64, f(nan)) == 1ull << 63);
  CHECK(cvt("cvt.rzi.s64.f32", 64, f(inf)) == ~0ull >> 1);
  CHECK(cvt("cvt.rzi.u64.f64", 64, d(0x1.8p63)) == 0xc000000000000000);
  CHECK(cvt("cvt.rzi.u64.f64", 64, d(1e30)) == ~0ull);
  CHECK(cvt("cvt.rzi.s32.f64", 32, d(nan64)) == 0x80000000);
  CHECK(cvt("cvt.rzi.s32.f64", 32, d(-2147483648.9)) == 0x80000000);
  CHECK(cvt("cvt.rni.s64.f64", 64, d(-0.5)) == 0);
  CHECK(cvt("cvt.rzi.u8.f32", 32, f(300)) == 255);
  CHECK(cvt("cvt.rzi.s8.f32", 16, f(-300)) == 0xff80);
  CHECK(cvt("cvt.rzi.ftz.s32.f32", 32, f(0x1p-140f)) == 0);
  CHECK(cvt("cvt.rpi.s32.f32", 32, f(0x1p-140f)) == 1);
  CHECK(cvt("cvt.rpi.ftz.s32.f32", 32, f(0x1p-140f)) == 0);
  CHECK(cvt("cvt.rni.s32.f16", 32, r16(0x4100)) == 2);  // 2.5
}

TEST_CASE("integers are cut, extended and clamped through registers of every width") {
  const auto cvt = [](const char* form, unsigned bits_out, const Value& source) {
    return evaluated(form, bits_out, {source});
  };
  CHECK(cvt("cvt.u32.u16", 32, r16(0xffff)) == 0xffff);
  CHECK(cvt("cvt.s32.s16", 32, r16(0xffff)) == 0xffffffff);
  CHECK(cvt("cvt.u32.s16", 32, r16(0xffff)) == 0xffffffff);
  CHECK(cvt("cvt.s64.s32", 64, r32(-2)) == static_cast<std::uint64_t>(-2));
  CHECK(cvt("cvt.u64.u32", 64, r32(-2)) == 0xfffffffe);
  CHECK(cvt("cvt.u16.u32", 16, r32(0x12345678)) == 0x5678);
  CHECK(cvt("cvt.u32.u64", 32, r64(0x1234567890abcdef)) == 0x90abcdef);
  CHECK(cvt("cvt.s32.s8", 32, r32(0x12345680)) == 0xffffff80);
  CHECK(cvt("cvt.s16.s8", 16, r16(0x1280)) == 0xff80);
  CHECK(cvt("cvt.s64.s8", 64, r64(0x80)) == static_cast<std::uint64_t>(-128));
  CHECK(cvt("cvt.u16.u8", 16, r16(0x1280)) == 0x80);
  CHECK(cvt("cvt.u8.u32", 16, r32(0x1ff)) == 0xff);
  CHECK(cvt("cvt.s8.u32", 32, r32(0x1ff)) == 0xffffffff);
  CHECK(cvt("cvt.u16.s8", 32, r16(0x80)) == 0x0000ff80);  // signed up to 16 bits, then zeros
  CHECK(cvt("cvt.sat.u8.s32", 32, r32(-4)) == 0);
  CHECK(cvt("cvt.sat.u8.s32", 16, r32(300)) == 255);
  CHECK(cvt("cvt.sat.s16.u32", 16, r32(0xffffffff)) == 0x7fff);
  CHECK(cvt("cvt.sat.s32.u64", 32, r64(~0ull)) == 0x7fffffff);
  CHECK(cvt("cvt.sat.s64.u64", 64, r64(~0ull)) == ~0ull >> 1);
  CHECK(cvt("cvt.sat.u32.s64", 32, r64(-1)) == 0);
}

TEST_CASE("floats change their format") {
  const auto cvt = [](const char* form, unsigned bits_out, const Value& source) {
    return evaluated(form, bits_out, {source});
  };
  CHECK(cvt("cvt.f64.f32", 64, f(1.5f)) == bits(1.5));
  CHECK(cvt("cvt.rn.f32.f64", 32, d(1 + 0x1p-24)) == bits(1.0f));
  CHECK(cvt("cvt.rp.f32.f64", 32, d(1 + 0x1p-24)) == bits(1 + 0x1p-23f));
  CHECK(cvt("cvt.rz.f32.f64", 32, d(1e300)) == bits(0x1.fffffep127f));
  CHECK(cvt("cvt.rn.f32.f64", 32, d(1e300)) == bits(inf));
  CHECK(cvt("cvt.rn.ftz.f32.f64", 32, d(-0x1p-140)) == 0x80000000);
  CHECK(cvt("cvt.rn.sat.f32.f64", 32, d(7)) == bits(1.0f));
  CHECK(cvt("cvt.rni.f32.f32", 32, f(2.5f)) == bits(2.0f));
  CHECK(cvt("cvt.rzi.f32.f32", 32, f(-0.5f)) == 0x80000000);
  CHECK(cvt("cvt.rpi.f64.f64", 64, d(1.25)) == bits(2.0));
  CHECK(cvt("cvt.sat.f32.f32", 32, f(nan)) == 0);
  CHECK(cvt("cvt.ftz.f32.f32", 32, f(0x1p-140f)) == 0);
  CHECK(cvt("cvt.rn.f16.f32", 16, f(65520)) == 0x7c00);
  CHECK(cvt("cvt.rz.f16.f32", 16, f(1e9f)) == 0x7bff);
  CHECK(cvt("cvt.rn.satfinite.f16.f32", 16, f(1e9f)) == 0x7bff);
  CHECK(cvt("cvt.rn.relu.f16.f32", 16, f(-2)) == 0);
  CHECK(cvt("cvt.rn.f16.f32", 16, f(nan)) == 0x7fff);
  CHECK(cvt("cvt.rn.f16.f64", 16, d(1 + 0x1p-11 + 0x1p-40)) == 0x3c01);  // f32 in between would lose the last bit
  CHECK(cvt("cvt.f32.f16", 32, r16(0x0001)) == bits(0x1p-24f));
  CHECK(cvt("cvt.f32.f16", 32, r16(0xfe00)) == 0x7fffffff);
  CHECK(cvt("cvt.rn.bf16.f32", 16, f(1 + 0x1p-8f)) == 0x3f80);
  CHECK(cvt("cvt.rz.bf16.f32", 16, f(1 + 0x1.8p-8f)) == 0x3f80);
  CHECK(cvt("cvt.rn.bf16.f32", 16, f(1 + 0x1.8p-7f)) == 0x3f82);
  CHECK(cvt("cvt.rna.tf32.f32", 32, f(1 + 0x1p-11f)) == bits(1 + 0x1p-10f));
  CHECK(evaluated("cvt.rn.f16x2.f32", 32, {f(1), f(2)}) == 0x3c004000);
  CHECK(evaluated("cvt.rn.bf16x2.f32", 32, {f(1), f(2)}) == 0x3f804000);
  CHECK(cvt("cvt.rn.f16.u32", 16, r32(65535)) == 0x7c00);
  CHECK(cvt("cvt.rn.f16.s32", 16, r32(-3)) == 0xc200);
}

/// The value of a half from its definition.
double value_of_half(unsigned h) {
  const unsigned exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  return h & 0x8000u ? -magnitude : magnitude;
}

TEST_CASE("f16 rounding agrees with a search among all halves") {
  std::mt19937 random(22);
  for (int k = 0; k < 1500; ++k) {
    // Exponents around the format's range, and fractions near ties.
    std::uint32_t raw = (random() & 0x80000000u) | ((96 + random() % 52) << 23) | (random() & 0x007fffffu);
    if (k % 3 == 0) raw = (raw & 0xffffe000u) | 0x1000u;
    const float x = as_float(raw);
    const double magnitude = std::fabs(static_cast<double>(x));
    unsigned below = 0, above = 0x7c00;  // halves that bracket it; 0x7c00 stands for 65536, as rounding does
    while (above - below > 1) {
      const unsigned middle = (above + below) / 2;
      (value_of_half(middle) <= magnitude ? below : above) = middle;
    }
    const double low = value_of_half(below), high = above == 0x7c00 ? 65536.0 : value_of_half(above);
    const unsigned toward = below, away = low == magnitude ? below : above;
    unsigned near =
        magnitude - low < high - magnitude || (magnitude - low == high - magnitude && below % 2 == 0) ? toward : away;
    const bool negative = std::signbit(x), huge = magnitude >= 65536;
    const unsigned sign = negative ? 0x8000u : 0u;
    if (huge) near = 0x7c00;
    INFO("x = " << x);
    CHECK(evaluated("cvt.rn.f16.f32", 16, {f(x)}) == (sign | near));
    CHECK(evaluated("cvt.rz.f16.f32", 16, {f(x)}) == (sign | toward));
    CHECK(evaluated("cvt.rm.f16.f32", 16, {f(x)}) == (sign | (negative ? (huge ? 0x7c00 : away) : toward)));
    CHECK(evaluated("cvt.rp.f16.f32", 16, {f(x)}) == (sign | (negative ? toward : (huge ? 0x7c00 : away))));
  }
  for (unsigned h = 0; h < 0x7c00; h += 7) {
    CHECK(evaluated("cvt.f32.f16", 32, {r16(h)}) == bits(static_cast<float>(value_of_half(h))));
  }
}

TEST_CASE("half arithmetic rounds once") {
  CHECK(evaluated("add.f16", 16, {r16(0x3c00), r16(0x3c00)}) == 0x4000);
  CHECK(evaluated("add.rn.f16x2", 32, {r32(0x3c003c00), r32(0x40003c00)}) == 0x42004000);
  CHECK(evaluated("mul.f16", 16, {r16(0x7bff), r16(0x4000)}) == 0x7c00);
  CHECK(evaluated("sub.sat.f16", 16, {r16(0x3c00), r16(0x4000)}) == 0);
  CHECK(evaluated("add.f16", 16, {r16(0x7e01), r16(0x3c00)}) == 0x7fff);
  // 1·(1 + 2^-10) + 2^-24·…: a tie between two halves, decided by a bit far below f32's and beyond.
  CHECK(evaluated("fma.rn.f16", 16, {r16(0x3c01), r16(0x3c01), r16(0x8001)}) == 0x3c02);
  CHECK(evaluated("fma.rn.f16", 16, {r16(0x6800), r16(0x6800), r16(0x0001)}) == 0x7c00);
  CHECK(evaluated("fma.rn.relu.f16", 16, {r16(0xbc00), r16(0x3c00), r16(0)}) == 0);
  CHECK(evaluated("fma.rn.bf16", 16, {r16(0x3f80), r16(0x3f80), r16(0x3b80)}) == 0x3f80);  // 1 + 2^-8, a tie
  CHECK(evaluated("fma.rn.bf16", 16, {r16(0x3f81), r16(0x3f80), r16(0x3b80)}) == 0x3f82);
  CHECK(evaluated("fma.rn.bf16x2", 32, {r32(0x40003f80), r32(0x40003f80), r32(0x3f803f80)}) == 0x40a04000);
  CHECK(evaluated("min.f16", 16, {r16(0x8000), r16(0)}) == 0x8000);
  CHECK(evaluated("max.f16x2", 32, {r32(0xbc003c00), r32(0x7e004000)}) == 0xbc004000);
  CHECK(evaluated("max.NaN.bf16", 16, {r16(0x3f80), r16(0x7fc0)}) == 0x7fff);
  CHECK(evaluated("neg.f16x2", 32, {r32(0x3c00bc00)}) == 0xbc003c00);
  CHECK(evaluated("abs.bf16", 16, {r16(0xbf80)}) == 0x3f80);
}

TEST_CASE("approximate functions have PTX's special values and stay within its bounds") {
  CHECK(evaluated("rcp.approx.f32", 32, {f(-0.0f)}) == bits(-inf));
  CHECK(evaluated("rcp.approx.ftz.f32", 32, {f(0x1p-140f)}) == bits(inf));
  CHECK(evaluated("rsqrt.approx.f32", 32, {f(4)}) == bits(0.5f));
  CHECK(evaluated("sqrt.approx.ftz.f32", 32, {f(9)}) == bits(3.0f));
  CHECK(evaluated("ex2.approx.f32", 32, {f(-3)}) == bits(0.125f));
  CHECK(evaluated("ex2.approx.ftz.f32", 32, {f(-inf)}) == 0);
  CHECK(evaluated("ex2.approx.ftz.f32", 32, {f(-140)}) == 0);
  CHECK(evaluated("lg2.approx.f32", 32, {f(8)}) == bits(3.0f));
  CHECK(evaluated("lg2.approx.f32", 32, {f(0)}) == bits(-inf));
  CHECK(evaluated("lg2.approx.f32", 32, {f(-1)}) == 0x7fffffff);
  CHECK(evaluated("sin.approx.f32", 32, {f(0)}) == 0);
  CHECK(evaluated("cos.approx.f32", 32, {f(inf)}) == 0x7fffffff);
  CHECK(evaluated("tanh.approx.f32", 32, {f(inf)}) == bits(1.0f));
  CHECK(evaluated("div.full.f32", 32, {f(1), f(4)}) == bits(0.25f));
  CHECK(evaluated("div.approx.f32", 32, {f(-1), f(0x1p127f)}) == 0x80000000);
  CHECK(evaluated("div.approx.f32", 32, {f(inf), f(0x1p127f)}) == 0x7fffffff);
  CHECK(evaluated("rcp.approx.ftz.f64", 64, {r64(0x4010000012345678)}) == bits(0.25));
  CHECK(evaluated("rsqrt.approx.f64", 64, {d(16)}) == bits(0.25));
  CHECK(evaluated("ex2.approx.f16", 16, {r16(0x4000)}) == 0x4400);
  CHECK(evaluated("tanh.approx.f16x2", 32, {r32(0x7c000000)}) == 0x3c000000);
}

}  // namespace
}  // namespace scanlab::vgpu::test
