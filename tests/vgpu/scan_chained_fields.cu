// Decoupled look-back whose descriptor is three arrays (state, aggregate, inclusive prefix), made visible with
// __threadfence and read through volatile pointers. The operator, composition of complex affine maps, does not
// commute, so a look-back in the wrong direction shows.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                      \
  if (cudaError_t e = (call)) {                                          \
    printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(e)); \
    exit(1);                                                             \
  }

// z -> a z + b over the Gaussian integers, modulo 2^32
struct Map {
  unsigned a_re, a_im, b_re, b_im;
};
__host__ __device__ inline Map after(const Map& f, const Map& g) {  // g(f(z))
  Map r;
  r.a_re = g.a_re * f.a_re - g.a_im * f.a_im;
  r.a_im = g.a_re * f.a_im + g.a_im * f.a_re;
  r.b_re = g.a_re * f.b_re - g.a_im * f.b_im + g.b_re;
  r.b_im = g.a_re * f.b_im + g.a_im * f.b_re + g.b_im;
  return r;
}
__device__ Map load(const volatile Map* p) {
  Map m;
  m.a_re = p->a_re;
  m.a_im = p->a_im;
  m.b_re = p->b_re;
  m.b_im = p->b_im;
  return m;
}

enum { EMPTY, AGGREGATE, PREFIX };

__global__ void __launch_bounds__(96) chained(const Map* in, Map* out, volatile int* state, volatile Map* aggregate,
                                              volatile Map* inclusive, unsigned* next_tile, int n) {
  __shared__ Map tile[96];
  __shared__ Map exclusive;
  __shared__ int tile_id;
  const int t = threadIdx.x;
  if (t == 0) tile_id = atomicInc(next_tile, 0xffffffff);
  __syncthreads();
  const int id = tile_id, i = id * 96 + t;
  tile[t] = i < n ? in[i] : Map{1, 0, 0, 0};
  for (int d = 1; d < 96; d *= 2) {
    __syncthreads();
    Map v = tile[t];
    if (t >= d) v = after(tile[t - d], v);
    __syncthreads();
    tile[t] = v;
  }
  if (t == 95) {
    Map total = tile[95], before = {1, 0, 0, 0};
    if (id > 0) {
      const_cast<Map&>(aggregate[id]) = total;
      __threadfence();
      state[id] = AGGREGATE;
    }
    for (int k = id - 1; k >= 0; --k) {
      int s;
      do s = state[k];
      while (s == EMPTY);
      __threadfence();
      if (s == PREFIX) {
        before = after(load(&inclusive[k]), before);
        break;
      }
      before = after(load(&aggregate[k]), before);
    }
    const_cast<Map&>(inclusive[id]) = after(before, total);
    __threadfence();
    state[id] = PREFIX;
    exclusive = before;
  }
  __syncthreads();
  if (i < n) out[i] = after(exclusive, tile[t]);
}

int main() {
  for (int n : {1, 95, 96, 97, 3000, 12345}) {
    const int tiles = (n + 95) / 96;
    std::vector<Map> h(n), r(n);
    for (unsigned i = 0; i < n; ++i) h[i] = {i % 3, i % 5 + 1, i, 7 * i % 11};
    Map *in, *out, *aggregate, *inclusive;
    int* state;
    unsigned* next;
    CHECK(cudaMalloc(&in, n * sizeof(Map)));
    CHECK(cudaMalloc(&out, n * sizeof(Map)));
    CHECK(cudaMalloc(&aggregate, tiles * sizeof(Map)));
    CHECK(cudaMalloc(&inclusive, tiles * sizeof(Map)));
    CHECK(cudaMalloc(&state, tiles * sizeof(int)));
    CHECK(cudaMalloc(&next, sizeof(unsigned)));
    CHECK(cudaMemset(state, EMPTY, tiles * sizeof(int)));
    CHECK(cudaMemset(next, 0, sizeof(unsigned)));
    CHECK(cudaMemcpy(in, h.data(), n * sizeof(Map), cudaMemcpyHostToDevice));
    chained<<<tiles, 96>>>(in, out, state, aggregate, inclusive, next, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(r.data(), out, n * sizeof(Map), cudaMemcpyDeviceToHost));
    Map sum = {1, 0, 0, 0};
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
      sum = after(sum, h[i]);
      wrong += sum.a_re != r[i].a_re || sum.a_im != r[i].a_im || sum.b_re != r[i].b_re || sum.b_im != r[i].b_im;
    }
    printf("n = %d: %d tiles, %d wrong\n", n, tiles, wrong);
    for (void* p : {(void*)in, (void*)out, (void*)aggregate, (void*)inclusive, (void*)state, (void*)next})
      CHECK(cudaFree(p));
  }
}
