// test: nvcc --expt-relaxed-constexpr
// The standard library on the device: array, tuple, pair, optional, variant, span, bit, limits, numeric,
// functional, bitset, inplace_vector, atomic, and mdspan over one buffer.
#include <cstdio>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/bitset>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/inplace_vector>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>

#include "arrays.hpp"

namespace std_ = cuda::std;

__device__ std_::optional<int> first_above(std_::span<const int> values, int limit) {
  for (int v : values)
    if (v > limit) return v;
  return std_::nullopt;
}

__device__ std_::tuple<int, float, char> triple(int k) {
  return {k, k * 0.5f, char('a' + k)};
}

struct Text {
  int length;
};
using Value = std_::variant<int, double, Text>;
struct Visitor {
  __device__ long long operator()(int v) const { return v; }
  __device__ long long operator()(double v) const { return (long long)(v * 1000); }
  __device__ long long operator()(const Text& t) const { return -t.length; }
};

__global__ void use(long long* out, const int* values, int n) {
  int k = 0;
  const std_::span<const int> all(values, n);
  out[k++] = first_above(all, 5).value_or(-1) + 100 * first_above(all.subspan(2, 3), 1000).has_value();
  out[k++] = all.size() + 100 * all.back() + 10000 * all.first(2)[1];

  std_::array<int, 5> a{5, 3, 9, 1, 7};
  for (int i = 1; i < 5; ++i)
    for (int j = i; j > 0 && a[j] < a[j - 1]; --j) std_::swap(a[j], a[j - 1]);
  out[k] = 0;
  for (int v : a) out[k] = out[k] * 10 + v;
  ++k;
  std_::array<int, 5> sums;
  std_::inclusive_scan(a.begin(), a.end(), sums.begin());
  out[k++] =
      std_::accumulate(sums.begin(), sums.end(), 0) + 1000 * std_::reduce(a.begin(), a.end(), 1, std_::multiplies<>());

  auto [i, f, c] = triple(4);
  out[k++] = i + 10 * (long long)f + 100 * c;
  const auto joined = std_::tuple_cat(triple(1), std_::make_pair(2, 3));
  out[k++] = std_::tuple_size<decltype(joined)>::value * 10 + std_::get<4>(joined);
  out[k++] = std_::apply([](auto... v) { return (static_cast<long long>(v) + ...); }, std_::make_tuple(1, 2u, 3ll));

  Value v = n;
  out[k] = std_::visit(Visitor{}, v);
  v = 2.5;
  out[k] += std_::visit(Visitor{}, v);
  v = Text{3};
  out[k++] += std_::visit(Visitor{}, v) + 100000 * v.index() + 1000000 * std_::holds_alternative<int>(v);

  out[k++] = std_::popcount(0xff0fu) + 100 * std_::countl_zero(1u) + 10000 * std_::bit_width(1000u) +
             1000000 * std_::has_single_bit(64u);
  out[k++] = std_::bit_cast<unsigned>(1.0f) == 0x3f800000u && std_::rotl(0x80000001u, 4) == 0x18u;
  out[k++] = std_::numeric_limits<short>::max() + 100000ll * std_::numeric_limits<signed char>::min();
  out[k++] = std_::gcd(84, 36) * 1000 + std_::lcm(4, 6);

  std_::bitset<70> bits;
  bits.set(3).set(69).flip(4);
  out[k++] = bits.count() * 100 + bits.test(69) * 10 + (bits << 1).test(4);

  std_::inplace_vector<int, 8> items{3, 1, 2};
  items.push_back(9);
  items.erase(items.begin());
  out[k++] = items.size() * 100 + items[0] * 10 + items.back();

  int buffer[6] = {1, 2, 3, 4, 5, 6};
  const std_::mdspan<int, std_::extents<int, 2, 3>> m(buffer);
  const std_::mdspan<int, std_::dextents<int, 2>, std_::layout_left> t(buffer, 3, 2);
  out[k++] = m(1, 0) * 100 + t(2, 1) * 10 + t(0, 1) + 1000 * m.extent(1);
  std_::swap(buffer[0], buffer[5]);
  out[k++] = buffer[0] * 10 + std_::exchange(buffer[1], 9) + 100 * buffer[1];
}

__global__ void together(std_::atomic<int>* counter, std_::atomic<unsigned long long>* bits, int* order) {
  const int mine = counter->fetch_add(1, std_::memory_order_relaxed);
  order[mine] = 1;
  bits->fetch_or(1ull << (threadIdx.x % 64));
  int expected = threadIdx.x + 1000;
  if (counter->compare_exchange_strong(expected, -1)) order[0] = 100;  // no count is as high
}

int main() {
  const Array<long long> out(16);
  use<<<1, 1>>>(out, Array({1, 4, 2, 8, 6, 7}), 6);
  for (long long v : out.read()) printf("%lld\n", v);

  const Array<int> order(128, 0);
  out.set(0);
  together<<<2, 50>>>(reinterpret_cast<std_::atomic<int>*>(out.get()),
                      reinterpret_cast<std_::atomic<unsigned long long>*>(out + 1), order);
  int sum = 0;
  for (int v : order.read()) sum += v;
  const auto r = out.read();
  printf("%lld %llx %d\n", r[0], (unsigned long long)r[1], sum);
  return cudaDeviceSynchronize();
}
