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
};

/// For each of n ranges: calls restart() where it does not extend the one before it, add(j) for each further term, and
/// put(i).
template <typename RangeAt, typename Restart, typename Add, typename Put>
void walk(std::size_t n, RangeAt range_at, Restart restart, Add add, Put put) {
  Range current;
  for (std::size_t i = 0; i < n; ++i) {
    const Range range = range_at(i);
    if (i == 0 || range.begin != current.begin || range.end < current.end) {
      restart();
      current = {range.begin, range.begin};
    }
    for (; current.end < range.end; ++current.end) add(current.end);
    put(i);
  }
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

Reference<float> sums_of(std::span<const float> x, std::span<const Range> ranges, Operands) {
  Reference<float> reference;
  reference.exact.resize(ranges.size());
  reference.tolerance.resize(ranges.size());
  RunningSum running;
  walk(
      ranges.size(), [&](std::size_t i) { return ranges[i]; }, [&] { running = {}; },
      [&](std::size_t j) { running.add(x[j]); },
      [&](std::size_t i) {
        reference.exact[i] = static_cast<double>(running.sum);
        reference.tolerance[i] = running.tolerance();
      });
  return reference;
}

Reference<Affine> sums_of(std::span<const Affine> x, std::span<const Range> ranges, Operands operands) {
  Reference<Affine> reference;
  reference.exact.resize(ranges.size());
  RunningMap running{identity<Affine>(), operands};
  walk(
      ranges.size(), [&](std::size_t i) { return ranges[i]; }, [&] { running.sum = identity<Affine>(); },
      [&](std::size_t j) { running.add(x[j]); }, [&](std::size_t i) { reference.exact[i] = running.sum; });
  return reference;
}

bool is_scan_of(std::span<const float> x, Scan scan, std::span<const float> y) {
  RunningSum running;
  bool is_right = true;
  walk(
      x.size(), [&](std::size_t i) { return range_of(scan, i); }, [&] { running = {}; },
      [&](std::size_t j) { running.add(x[j]); },
      [&](std::size_t i) {
        const double difference = std::fabs(static_cast<double>(y[i]) - static_cast<double>(running.sum));
        is_right = is_right && (difference == 0 || difference <= running.tolerance());
      });
  return is_right;
}

bool is_scan_of(std::span<const Affine> x, Scan scan, std::span<const Affine> y) {
  RunningMap running;
  bool is_right = true;
  walk(
      x.size(), [&](std::size_t i) { return range_of(scan, i); }, [&] { running.sum = identity<Affine>(); },
      [&](std::size_t j) { running.add(x[j]); }, [&](std::size_t i) { is_right = is_right && y[i] == running.sum; });
  return is_right;
}

}  // namespace scanlab::grade
