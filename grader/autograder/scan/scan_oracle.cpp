#include "autograder/scan/scan_oracle.hpp"

#include <cmath>

namespace scanlab::grade {

namespace {

constexpr double float_unit = 0x1p-24;
constexpr double double_unit = 0x1p-53;
constexpr double long_unit = std::numeric_limits<long double>::epsilon() / 2;  // 2^-64 on x86-64, 2^-113 on AArch64
constexpr long double exact_integers = 0x1p24L;

/// The sum of the terms so far, and what its error bound needs.
struct RunningSum {
  long double sum = 0, absolute = 0;
  std::size_t terms = 0;
  bool integers = true;

  void add(float x) {
    sum += x;
    absolute += std::fabs(x);
    ++terms;
    integers = integers && std::trunc(x) == x;
  }

  void restart() { *this = {}; }
  bool accepts(float y) const {
    const double difference = std::fabs(static_cast<double>(y) - static_cast<double>(sum));
    return difference == 0 || difference <= tolerance();
  }

  double tolerance() const {
    if (terms <= 1 || (integers && absolute <= exact_integers)) return 0;
    const double m = static_cast<double>(terms - 1);
    // The last factor covers the roundings of `absolute` and of this line; it is far above their sum.
    return ((gamma(m, float_unit) + gamma(m, long_unit)) * static_cast<double>(absolute) +
            double_unit * std::fabs(static_cast<double>(sum))) *
           (1 + 0x1p-30);
  }
};

/// The same of maps.
struct RunningMap {
  Affine sum;
  Operands operands = Operands::in_order;

  void add(Affine x) { sum = operands == Operands::in_order ? combine(sum, x) : combine(x, sum); }
  void restart() { sum = identity<Affine>(); }
  bool accepts(Affine y) const { return y == sum; }
};

/// For each of n ranges: restarts `running` where it does not extend the one before it, adds each further term, and
/// calls put(i) with its sum, which returns whether to go on. Returns whether it has come to the end.
template <typename T, typename Running, typename RangeAt, typename Put>
bool walk(std::span<const T> x, std::size_t n, Running& running, RangeAt range_at, Put put) {
  Range current;
  for (std::size_t i = 0; i < n; ++i) {
    const Range range = range_at(i);
    if (i == 0 || range.begin != current.begin || range.end < current.end) {
      running.restart();
      current = {range.begin, range.begin};
    }
    for (; current.end < range.end; ++current.end) running.add(x[current.end]);
    if (!put(i)) return false;
  }
  return true;
}

RunningSum running_sum(std::span<const float>, Operands) {
  return {};
}
RunningMap running_sum(std::span<const Affine>, Operands operands) {
  return {identity<Affine>(), operands};
}

/// Is each output what it may be for the sum of its range?
template <typename T, typename RangeAt>
bool fit(std::span<const T> x, std::span<const T> y, RangeAt range_at, Operands operands) {
  auto running = running_sum(x, operands);
  return walk(x, y.size(), running, range_at, [&](std::size_t i) { return running.accepts(y[i]); });
}

}  // namespace

double gamma(double m, double u) {
  const double product = m * u;
  return product < 1 ? product / (1 - product) : std::numeric_limits<double>::infinity();
}

bool Reference<float>::accepts(std::size_t i, float actual) const {
  const double difference = std::fabs(static_cast<double>(actual) - exact[i]);
  return difference <= tolerance[i];
}

Range range_of(Scan scan, std::size_t i) {
  const std::size_t begin = scan.section == 0 ? 0 : i - i % scan.section;
  return {begin, scan.kind == Kind::inclusive ? i + 1 : i};
}

std::vector<Range> ranges_of(Scan scan, std::size_t n) {
  std::vector<Range> ranges(n);
  for (std::size_t i = 0; i < n; ++i) ranges[i] = range_of(scan, i);
  return ranges;
}

Reference<float> sums_of(std::span<const float> x, std::span<const Range> ranges, Operands operands) {
  Reference<float> reference;
  reference.exact.resize(ranges.size());
  reference.tolerance.resize(ranges.size());
  RunningSum running = running_sum(x, operands);
  walk(
      x, ranges.size(), running, [&](std::size_t i) { return ranges[i]; },
      [&](std::size_t i) {
        reference.exact[i] = static_cast<double>(running.sum);
        reference.tolerance[i] = running.tolerance();
        return true;
      });
  return reference;
}

Reference<Affine> sums_of(std::span<const Affine> x, std::span<const Range> ranges, Operands operands) {
  Reference<Affine> reference;
  reference.exact.resize(ranges.size());
  RunningMap running = running_sum(x, operands);
  walk(
      x, ranges.size(), running, [&](std::size_t i) { return ranges[i]; },
      [&](std::size_t i) {
        reference.exact[i] = running.sum;
        return true;
      });
  return reference;
}

bool are_sums_of(std::span<const float> x, std::span<const Range> ranges, std::span<const float> y, Operands operands) {
  return fit(
      x, y, [&](std::size_t i) { return ranges[i]; }, operands);
}
bool are_sums_of(std::span<const Affine> x, std::span<const Range> ranges, std::span<const Affine> y,
                 Operands operands) {
  return fit(
      x, y, [&](std::size_t i) { return ranges[i]; }, operands);
}

bool is_scan_of(std::span<const float> x, Scan scan, std::span<const float> y) {
  return fit(
      x, y, [&](std::size_t i) { return range_of(scan, i); }, Operands::in_order);
}
bool is_scan_of(std::span<const Affine> x, Scan scan, std::span<const Affine> y) {
  return fit(
      x, y, [&](std::size_t i) { return range_of(scan, i); }, Operands::in_order);
}

}  // namespace scanlab::grade
