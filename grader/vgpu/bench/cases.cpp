#include "vgpu/bench/cases.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace scanlab::bench {
namespace {

/// Of a block, where a case does not say how many.
constexpr std::uint32_t threads = 256;
constexpr std::uint32_t micro_rounds = 8;

std::uint32_t blocks_for(std::uint32_t n, std::uint32_t a_block) {
  return (n + a_block - 1) / a_block;
}

/// Well mixed bits of `i` (the finaliser of MurmurHash3).
std::uint32_t mixed(std::uint32_t i) {
  i ^= i >> 16;
  i *= 0x85ebca6b;
  i ^= i >> 13;
  i *= 0xc2b2ae35;
  return i ^ i >> 16;
}

/// Floats -3 … 4: whole and small, so that their sums are exact in any order.
Words small_floats(std::uint32_t n, std::uint32_t salt = 0) {
  Words x(n);
  for (std::uint32_t i = 0; i < n; ++i)
    x[i] = std::bit_cast<std::uint32_t>(static_cast<float>(mixed(i + salt) % 8) - 3.0f);
  return x;
}

Words mixed_words(std::uint32_t n) {
  Words x(n);
  for (std::uint32_t i = 0; i < n; ++i) x[i] = mixed(i);
  return x;
}

float as_float(std::uint32_t word) {
  return std::bit_cast<float>(word);
}
std::uint32_t as_word(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// The inclusive scan of each section of `section` elements.
Words scan_of_sections(const Words& x, std::uint32_t section) {
  Words y(x.size());
  float sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum = (i % section == 0 ? 0 : sum) + as_float(x[i]);
    y[i] = as_word(sum);
  }
  return y;
}

Case scan(const char* kernel, std::uint32_t n, std::uint32_t a_block, std::uint32_t elements_a_thread,
          std::uint32_t section) {
  Case c{kernel, {blocks_for(n, a_block * elements_a_thread)}, {a_block}, {small_floats(n)}, {}, n};
  c.expected = scan_of_sections(c.inputs[0], section);
  return c;
}

Case vector_add(std::uint32_t n) {
  Case c{"vector_add", {blocks_for(n, threads)}, {threads}, {}, Words(n), n};
  c.inputs = {small_floats(n), small_floats(n, n)};
  for (std::uint32_t i = 0; i < n; ++i) c.expected[i] = as_word(as_float(c.inputs[0][i]) + as_float(c.inputs[1][i]));
  return c;
}

/// What a thread of the divergent kernel computes.
std::uint32_t walk(std::uint32_t value) {
  std::uint32_t sum = 0;
  for (std::uint32_t step = 3 + value % 3; step > 0; --step) {
    if (value & 1) {
      for (std::uint32_t count = 1 + (value >> 1) % 2; count > 0; --count) sum = sum * 3 + (value >> count);
      value = value * 5 + 1;
    } else if (value & 2) {
      std::uint32_t a = 1 + (value >> 2) % 3, b = 1 + (value >> 6) % 3;
      while (a != b) (a > b ? a : b) -= std::min(a, b);
      sum += a;
    } else {
      sum ^= value;
    }
    value = value * 1664525u + 1013904223u;
    value ^= value >> 16;
  }
  return sum;
}

Case divergent(std::uint32_t n) {
  Case c{"divergent", {blocks_for(n, threads)}, {threads}, {mixed_words(n)}, {}, n};
  for (const std::uint32_t value : c.inputs[0]) c.expected.push_back(walk(value));
  return c;
}

Case reduction(std::uint32_t n) {
  Case c{"reduction", {blocks_for(n, threads)}, {threads}, {small_floats(n)}, {}, n};
  for (std::uint32_t first = 0; first < n; first += threads) {
    float sum = 0;
    for (std::uint32_t i = first; i < std::min(n, first + threads); ++i) sum += as_float(c.inputs[0][i]);
    c.expected.push_back(as_word(sum));
  }
  return c;
}

/// Square matrices of about n / 4 elements, so that 2^20 gives a side of 512.
Case matrix_product(std::uint32_t n) {
  const std::uint32_t tiles = std::max(1u, static_cast<std::uint32_t>(std::sqrt(n)) / 32), side = 16 * tiles;
  Case c{"matrix_product", {tiles, tiles}, {16, 16}, {}, {}, side};
  c.inputs = {small_floats(side * side), small_floats(side * side, 1u << 30)};
  std::vector<float> row(side);
  for (std::uint32_t i = 0; i < side; ++i) {
    std::ranges::fill(row, 0.0f);
    for (std::uint32_t k = 0; k < side; ++k) {
      const float a = as_float(c.inputs[0][i * side + k]);
      for (std::uint32_t j = 0; j < side; ++j) row[j] += a * as_float(c.inputs[1][k * side + j]);
    }
    for (const float value : row) c.expected.push_back(as_word(value));
  }
  return c;
}

/// What a block of 256 threads that hold `values` makes of them in `micro_rounds` rounds of `strides`.
void sum_neighbours(std::uint32_t* values, const std::vector<std::uint32_t>& strides) {
  std::array<std::uint32_t, (threads + 3) * 32> shared{};
  for (std::uint32_t round = 0; round < micro_rounds; ++round) {
    for (const std::uint32_t stride : strides) {
      for (std::uint32_t t = 0; t < threads; ++t) shared[t * stride] = values[t];
      for (std::uint32_t t = 0; t < threads; ++t) {
        values[t] = 0;
        for (std::uint32_t k = 0; k < 4; ++k) values[t] += shared[(t + k) * stride];
      }
    }
  }
}

/// About n / 4 threads, a multiple of the block.
Case shared_memory(const char* kernel, std::uint32_t n, const std::vector<std::uint32_t>& strides) {
  const std::uint32_t blocks = std::max(1u, n / 4 / threads);
  Case c{kernel, {blocks}, {threads}, {mixed_words(blocks * threads)}, {}, micro_rounds};
  c.expected = c.inputs[0];
  for (std::uint32_t b = 0; b < blocks; ++b) sum_neighbours(&c.expected[b * threads], strides);
  return c;
}

}  // namespace

const std::vector<Recipe>& recipes() {
  using Size = std::uint32_t;
  static const std::vector<Recipe> all = {
      {"kogge_stone_1024", "Kogge-Stone, 1,024", [](Size n) { return scan("kogge_stone", n, 1024, 1, 1024); }},
      {"kogge_stone_256", "Kogge-Stone, 256", [](Size n) { return scan("kogge_stone", n, 256, 1, 256); }},
      {"brent_kung_1024", "Brent-Kung, 1,024", [](Size n) { return scan("brent_kung", n, 1024, 2, 2048); }},
      {"brent_kung_256", "Brent-Kung, 256", [](Size n) { return scan("brent_kung", n, 256, 2, 512); }},
      {"vector_add", "vector addition, 256", vector_add},
      {"warp_shuffle_scan", "warp shuffle scan, 256", [](Size n) { return scan("warp_shuffle_scan", n, 256, 1, 32); }},
      {"divergent", "divergent, 256", divergent},
      {"reduction", "reduction, 256", reduction},
      {"matrix_product", "matrix product, 16 x 16", matrix_product},
      {"shared_contiguous", "contiguous shared memory",
       [](Size n) {
         return shared_memory("shared_contiguous", n, {1, 1, 1, 1, 1});
       }},
      {"shared_strided", "strided shared memory",
       [](Size n) {
         return shared_memory("shared_strided", n, {2, 4, 8, 16, 32});
       }},
  };
  return all;
}

}  // namespace scanlab::bench
