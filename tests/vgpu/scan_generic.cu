// A header in the style of a small library: three kernels, templates over type, operator and kind of scan, dynamic
// shared memory of any type through one specialisable wrapper. Types from char to a struct of 24 bytes.
#include <cstdio>
#include <limits>
#include <type_traits>

#include "arrays.hpp"

// `extern __shared__ T s[]` in a template would declare one name with several types.
template <class T>
struct SharedMemory {
  __device__ operator T*() {
    extern __shared__ __align__(16) unsigned char raw[];
    return reinterpret_cast<T*>(raw);
  }
};

enum class Kind { inclusive, exclusive };

template <Kind kind, class T, class Op>
__global__ void scan_tiles(const T* in, T* out, T* totals, int n, T identity, Op op) {
  T* s = SharedMemory<T>();
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  T mine = i < n ? in[i] : identity;
  s[t] = mine;
  __syncthreads();
  for (unsigned d = 1; d < blockDim.x; d += d) {
    if (t >= d) mine = op(s[t - d], mine);
    __syncthreads();
    s[t] = mine;
    __syncthreads();
  }
  if (i < n) {
    if constexpr (kind == Kind::inclusive)
      out[i] = mine;
    else
      out[i] = t ? s[t - 1] : identity;
  }
  if (totals && t == blockDim.x - 1) totals[blockIdx.x] = mine;
}

template <class T, class Op>
__global__ void add_prefix(T* out, const T* prefixes, int n, Op op) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = op(prefixes[blockIdx.x], out[i]);
}

template <Kind kind, class T, class Op>
void scan(const T* in, T* out, int n, T identity, Op op, int block) {
  const int blocks = (n + block - 1) / block;
  T* totals = nullptr;
  if (blocks > 1) cudaMalloc(&totals, blocks * sizeof(T));
  scan_tiles<kind><<<blocks, block, block * sizeof(T)>>>(in, out, totals, n, identity, op);
  if (blocks == 1) return;
  scan<Kind::exclusive>(totals, totals, blocks, identity, op, block);
  add_prefix<<<blocks, block>>>(out, totals, n, op);
  cudaFree(totals);
}

struct Sum {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Keep {  // the last value that is not zero
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return b != 0 ? b : a;
  }
};
struct Statistics {
  long long sum;
  int count, least;
  short greatest;
};
struct Merge {
  __host__ __device__ Statistics operator()(const Statistics& a, const Statistics& b) const {
    return {a.sum + b.sum, a.count + b.count, a.least < b.least ? a.least : b.least,
            a.greatest > b.greatest ? a.greatest : b.greatest};
  }
};
bool operator!=(const Statistics& a, const Statistics& b) {
  return a.sum != b.sum || a.count != b.count || a.least != b.least || a.greatest != b.greatest;
}

template <class T, class Op, class Make>
void test(const char* name, T identity, Op op, Make make) {
  int wrong = 0;
  for (int n : {1, 33, 256, 257, 3001})
    for (int block : {33, 64, 1024}) {
      std::vector<T> h(n);
      for (int i = 0; i < n; ++i) h[i] = make(i);
      const Array<T> in(h), out(n);
      scan<Kind::inclusive>(in.get(), out.get(), n, identity, op, block);
      auto r = out.read();
      T sum = identity;
      for (int i = 0; i < n; ++i) wrong += r[i] != (sum = op(sum, h[i]));
      scan<Kind::exclusive>(in.get(), out.get(), n, identity, op, block);
      r = out.read();
      sum = identity;
      for (int i = 0; i < n; sum = op(sum, h[i++])) wrong += r[i] != sum;
    }
  printf("%s: %d wrong, %zu bytes\n", name, wrong, sizeof(T));
}

int main() {
  test<signed char>("char, sums that wrap", 0, Sum(), [](int i) { return (signed char)(i * 11); });
  test<short>("short, maximum", -32768, Max(), [](int i) { return short((i * 7919) % 60000 - 30000); });
  test<unsigned long long>("unsigned long long, sums", 0, Sum(), [](int i) { return i * 0x9e3779b97f4a7c15ull; });
  test<double>("double, maximum", -std::numeric_limits<double>::infinity(), Max(),
               [](int i) { return i * 37 % 1001 / 8.0; });
  test<int>("int, last that is not zero", 0, Keep(), [](int i) { return i % 70 == 5 ? i : 0; });
  test<Statistics>("struct", Statistics{0, 0, 1 << 30, -32768}, Merge(), [](int i) {
    return Statistics{(long long)i << 33, 1, (i * 31) % 997, short(i % 1234)};
  });
  return cudaGetLastError();
}
