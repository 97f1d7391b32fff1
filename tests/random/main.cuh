// Runs the random kernels of one file, each on inputs of its own seed, and prints "seed hash" lines.
#pragma once

#include <vector>

#include "prelude.cuh"

inline void check(cudaError_t error, u64 seed, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%llu %s: %s\n", seed, what, cudaGetErrorName(error));
  std::fflush(stdout);
  std::exit(1);
}

struct Numbers {
  u64 state;
  u64 next() { return mix(state += 0x9E3779B97F4A7C15ull); }
};

// Numbers where arithmetic goes wrong: ends of ranges, infinities, NaN, subnormal numbers, zeros of both signs.
inline u32 awkward(Numbers& random) {
  static const u32 special[] = {0,          1,          2,          31,         32,         33,         0x7fffffff,
                                0x80000000, 0xffffffff, 0xfffffffe, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000,
                                0x7f800001, 0x00000001, 0x007fffff, 0x00800000, 0x807fffff, 0x7f7fffff, 0x3f800000,
                                0xbf800000, 0x3f000000, 0x3effffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x5f000000,
                                0x437f0000, 0x43000000, 0x3c003c00, 0x7bff0001, 0x80007c00, 0x0001fc00, 0x7fff7e00,
                                0x00ff00ff, 0x80808080, 0x7fefffff, 0x7ff00000, 0x000fffff, 0x00100000, 0x3ff00000,
                                0x43e00000, 0x41dfffff, 0x4b000001, 0x4affffff, 0xc0200000, 0x40600000};
  const u64 r = random.next();
  const u32 word = static_cast<u32>(r >> 32);
  switch (r % 8) {
    case 0:
    case 1:
    case 2:
      return special[word % (sizeof special / sizeof *special)];
    case 3:
      return word & 255;
    case 4:
      return (word & 0x80ffffff) | (0x70u + (word >> 24 & 31)) << 23;  // floats of middling size
    case 5:
      return (word & 0x800fffff) | (0x3f0u + (word >> 24 & 31)) << 20;  // upper halves of doubles
    default:
      return word;
  }
}

template <class T>
T awkward_as(Numbers& random) {
  T value;
  u32 words[(sizeof(T) + 3) / 4];
  for (u32& word : words) word = awkward(random);
  std::memcpy(&value, words, sizeof value);
  return value;
}

inline Record awkward_record(Numbers& random) {
  return {awkward_as<s8>(random), awkward_as<u16>(random), awkward_as<f32>(random), awkward_as<u64>(random),
          awkward_as<s16>(random)};
}

template <class T>
class Buffer {
 public:
  Buffer(const std::vector<T>& from, u64 seed) : count_(from.size()), seed_(seed) {
    check(cudaMalloc(&device, count_ * sizeof(T)), seed, "cudaMalloc");
    check(cudaMemcpy(device, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), seed, "cudaMemcpy");
  }
  ~Buffer() { cudaFree(device); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void add_to(u64& hash) const {
    std::vector<T> back(count_);
    check(cudaMemcpy(back.data(), device, count_ * sizeof(T), cudaMemcpyDeviceToHost), seed_, "cudaMemcpy");
    for (const T value : back) hash = mix(hash ^ value) + 0x9E3779B97F4A7C15ull;
  }
  T* device = nullptr;

 private:
  std::size_t count_;
  u64 seed_;
};

inline u64 hash_of(const Case& one) {
  Numbers random{one.seed};
  const u64 threads = u64{one.grid.x} * one.grid.y * one.grid.z * one.block.x * one.block.y * one.block.z;
  std::vector<u32> input(input_words), atomics(atomic_slots);
  std::vector<u64> own(threads * own_words), atomics_64(atomic_slots_64);
  for (u32& word : input) word = awkward(random);
  for (u32& word : atomics) word = awkward(random);
  for (u64& word : own) word = awkward_as<u64>(random);
  for (u64& word : atomics_64) word = awkward_as<u64>(random);

  u32 words[64];
  Record records[4];
  for (u32& word : words) word = awkward(random);
  for (Record& record : records) record = awkward_record(random);
  check(cudaMemcpyToSymbol(c_words, words, sizeof words), one.seed, "cudaMemcpyToSymbol");
  check(cudaMemcpyToSymbol(c_records, records, sizeof records), one.seed, "cudaMemcpyToSymbol");

  Parameters parameters{awkward_as<u8>(random),
                        awkward(random),
                        awkward_as<s16>(random),
                        awkward_as<u64>(random),
                        awkward_as<f32>(random),
                        awkward_record(random),
                        {}};
  for (u32& word : parameters.list) word = awkward(random);

  const Buffer<u32> d_input(input, one.seed), d_atomics(atomics, one.seed);
  const Buffer<u64> d_out(std::vector<u64>(threads), one.seed), d_own(own, one.seed),
      d_atomics_64(atomics_64, one.seed);
  const s8 small = awkward_as<s8>(random);
  const u16 half = awkward_as<u16>(random);
  const f64 wide = awkward_as<f64>(random);
  one.kernel<<<one.grid, one.block>>>(d_input.device, d_out.device, d_own.device, d_atomics.device, d_atomics_64.device,
                                      parameters, small, half, wide);
  check(cudaGetLastError(), one.seed, "launch");
  check(cudaDeviceSynchronize(), one.seed, "kernel");
  u64 hash = one.seed;
  d_out.add_to(hash);
  d_own.add_to(hash);
  d_atomics.add_to(hash);
  d_atomics_64.add_to(hash);
  return hash;
}

// Seeds from the one that the first argument names, if there is one: after a kernel that failed the rest can still run.
template <std::size_t count>
int run(const Case (&cases)[count], int argc, char** argv) {
  const u64 first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  // Recursive kernels of a build without optimisation have frames that no compiler adds up.
  check(cudaDeviceSetLimit(cudaLimitStackSize, 16384), first, "cudaDeviceSetLimit");
  for (const Case& one : cases) {
    if (one.seed < first) continue;
    std::printf("%llu %016llx\n", one.seed, hash_of(one));
    std::fflush(stdout);
  }
  return 0;
}
