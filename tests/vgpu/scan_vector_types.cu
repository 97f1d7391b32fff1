// Elements of the built-in vector types and of structs of odd size: block scans with two buffers, loads and stores of
// whole vectors; then four ints a thread through one int4.
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

#define VECTOR_PLUS(T, ...)                                        \
  __host__ __device__ inline T operator+(const T& a, const T& b) { \
    return {__VA_ARGS__};                                          \
  }

struct Rgb {
  unsigned char r, g, b;
};
struct Node {
  short depth;
  double weight;
  char tag;
};
VECTOR_PLUS(float4, a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w)
VECTOR_PLUS(double2, a.x + b.x, a.y + b.y)
VECTOR_PLUS(longlong2, a.x + b.x, a.y + b.y)
VECTOR_PLUS(short3, short(a.x + b.x), short(a.y + b.y), short(a.z + b.z))
VECTOR_PLUS(uchar4, (unsigned char)(a.x + b.x), (unsigned char)(a.y + b.y), (unsigned char)(a.z + b.z),
            (unsigned char)(a.w + b.w))
VECTOR_PLUS(Rgb, (unsigned char)(a.r + b.r), (unsigned char)(a.g + b.g), (unsigned char)(a.b + b.b))
VECTOR_PLUS(Node, short(a.depth + b.depth), a.weight + b.weight, char(a.tag + b.tag))

template <typename T, int N>
__global__ void block_scan(T* data) {
  __shared__ T temp[2][N];
  int in = 0, out = 1;
  temp[in][threadIdx.x] = data[blockIdx.x * N + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int d = 1; d < N; d <<= 1) {
    if (threadIdx.x >= d)
      temp[out][threadIdx.x] = temp[in][threadIdx.x - d] + temp[in][threadIdx.x];
    else
      temp[out][threadIdx.x] = temp[in][threadIdx.x];
    in ^= 1;
    out ^= 1;
    __syncthreads();
  }
  data[blockIdx.x * N + threadIdx.x] = temp[in][threadIdx.x];
}

template <typename T>
bool same(const T& a, const T& b) {
  return memcmp(&a, &b, sizeof(T)) == 0;
}
template <>
bool same(const Node& a, const Node& b) {
  return a.depth == b.depth && a.weight == b.weight && a.tag == b.tag;
}

template <typename T, int N, typename Make>
void test(const char* name, Make make) {
  std::vector<T> h(3 * N);
  for (int i = 0; i < 3 * N; ++i) h[i] = make(i);
  const Array<T> d(h);
  block_scan<T, N><<<3, N>>>(d);
  const auto r = d.read();
  int wrong = 0;
  for (int i = 0; i < 3 * N; ++i) {
    if (i % N) h[i] = h[i - 1] + h[i];
    wrong += !same(h[i], r[i]);
  }
  printf("%-9s %2zu bytes, %4d threads: %d wrong\n", name, sizeof(T), N, wrong);
}

// Each thread scans its own four, a warp scans the threads' sums; one warp, so no shared memory.
__global__ void scan_int4(int4* data) {
  int4 v = data[threadIdx.x];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  int sum = v.w;
  for (int d = 1; d < 32; d *= 2) {
    int left = __shfl_up_sync(0xffffffff, sum, d);
    sum += threadIdx.x >= d ? left : 0;
  }
  sum -= v.w;
  data[threadIdx.x] = make_int4(sum + v.x, sum + v.y, sum + v.z, sum + v.w);
}

int main() {
  test<float4, 256>("float4", [](int i) { return make_float4(i, 0.5f, -i, i % 8 * 0.125f); });
  test<double2, 100>("double2", [](int i) { return make_double2(i * 0.25, 1 << i % 20); });
  test<longlong2, 33>("longlong2", [](int i) { return make_longlong2(1ll << i % 60, -i); });
  test<short3, 1024>("short3", [](int i) { return make_short3(i, -i, 1); });
  test<uchar4, 1024>("uchar4", [](int i) { return make_uchar4(i, i / 2, 255, 1); });
  test<Rgb, 77>("Rgb", [](int i) { return Rgb{(unsigned char)i, 3, (unsigned char)(i * i)}; });
  test<Node, 129>("Node", [](int i) { return Node{short(i), i / 4.0, char(i % 5)}; });
  test<int, 1>("int", [](int i) { return i; });

  int h[128], sum = 0, wrong = 0;
  for (int i = 0; i < 128; i++) h[i] = i % 9 - 3;
  const Array d(h);
  scan_int4<<<1, 32>>>(reinterpret_cast<int4*>(d.get()));
  const auto r = d.read();
  for (int i = 0; i < 128; i++) wrong += r[i] != (sum += h[i]);
  printf("four ints a thread: %d wrong\n", wrong);
  return cudaDeviceSynchronize();
}
