// pending: uninitialised.global | no call clears the statuses: what cudaMalloc left there may bear the number of this
// call

#include "scanlab.cuh"

#define THREADS 128
#define PACKS 6
#define WARPS (THREADS / 32)

struct alignas(16) Pack {
  enum { N = 16 / sizeof(Element) };
  Element e[N];
};

constexpr int TILE = THREADS * PACKS * Pack::N;

struct Tile {
  Element aggregate, prefix;
  unsigned flag;
  unsigned unused;
};

static __device__ unsigned flag_of(const Tile* tile) {
  unsigned flag;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(flag) : "l"(&tile->flag) : "memory");
  return flag;
}

static __device__ void raise_flag(Tile* tile, unsigned flag) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(&tile->flag), "r"(flag) : "memory");
}

static __device__ Element scan_threads(Element* s, Element own, Element& before) {
  const int t = threadIdx.x;
  s[t] = own;
  for (int d = 1; d < THREADS; d <<= 1) {
    __syncthreads();
    Element sum = s[t];
    if (t >= d) sum = s[t - d] + sum;
    __syncthreads();
    s[t] = sum;
  }
  __syncthreads();
  before = t > 0 ? s[t - 1] : identity();
  const Element total = s[THREADS - 1];
  __syncthreads();
  return total;
}

static __device__ Element look_back(const Tile* tiles, int tile, unsigned call, Element* s) {
  Element before = identity();
  for (int end = tile; end > 0; end -= THREADS) {
    const int at = end - THREADS + static_cast<int>(threadIdx.x);
    unsigned flag = 2 * call;
    if (at >= 0) {
      while ((flag = flag_of(&tiles[at])) / 2 != call) __nanosleep(40);
    }
    __shared__ int s_nearest;
    if (threadIdx.x == 0) s_nearest = -1;
    __syncthreads();
    const bool has_prefix = at >= 0 && flag % 2 == 1;
    if (has_prefix) atomicMax(&s_nearest, static_cast<int>(threadIdx.x));
    __syncthreads();
    const int nearest = s_nearest;
    Element sum = identity(), ignored;
    if (at >= 0 && static_cast<int>(threadIdx.x) >= nearest) sum = has_prefix ? tiles[at].prefix : tiles[at].aggregate;
    before = scan_threads(s, sum, ignored) + before;
    if (nearest >= 0) break;
  }
  return before;
}

template <bool EXCLUSIVE>
__global__ void single_pass(const Element* x, Element* y, Tile* tiles, int* ticket, unsigned call, int n) {
  __shared__ Element s[THREADS];
  __shared__ int s_tile;
  if (threadIdx.x == 0) {
    s_tile = atomicAdd(ticket, 1);
    if (s_tile == gridDim.x - 1) atomicExch(ticket, 0);
  }
  __syncthreads();
  const int tile = s_tile;
  Pack pack[PACKS];
  Element before[PACKS], aggregate = identity();
#pragma unroll
  for (int p = 0; p < PACKS; p++) {
    const int i = tile * TILE + (p * THREADS + threadIdx.x) * Pack::N;
    if (i + Pack::N <= n) {
      pack[p] = *(const Pack*)(x + i);
    } else {
      for (int k = 0; k < Pack::N; k++) pack[p].e[k] = i + k < n ? x[i + k] : identity();
    }
  }
  for (int p = 0; p < PACKS; p++) {
    Element sum = pack[p].e[0];
    for (int k = 1; k < Pack::N; k++) sum = sum + pack[p].e[k];
    const Element total = scan_threads(s, sum, before[p]);
    before[p] = aggregate + before[p];
    aggregate = aggregate + total;
  }
  if (threadIdx.x == 0) {
    tiles[tile].aggregate = aggregate;
    raise_flag(&tiles[tile], 2 * call);
  }
  const Element prefix = look_back(tiles, tile, call, s);
  if (threadIdx.x == 0) {
    tiles[tile].prefix = prefix + aggregate;
    raise_flag(&tiles[tile], 2 * call + 1);
  }
#pragma unroll
  for (int p = 0; p < PACKS; p++) {
    const int i = tile * TILE + (p * THREADS + threadIdx.x) * Pack::N;
    Element sum = prefix + before[p];
    for (int k = 0; k < Pack::N; k++) {
      const Element with = sum + pack[p].e[k];
      pack[p].e[k] = EXCLUSIVE ? sum : with;
      sum = with;
    }
    if (i + Pack::N <= n) {
      *(Pack*)(y + i) = pack[p];
    } else {
      for (int k = 0; k < Pack::N; k++) {
        if (i + k < n) y[i + k] = pack[p].e[k];
      }
    }
  }
}

template <bool EXCLUSIVE>
static void scan(const Element* x, Element* y, int n) {
  static Tile* tiles = nullptr;
  static int* ticket = nullptr;
  static int room = 0;
  static unsigned call = 0;
  if (n == 0) return;
  const int count = (n + TILE - 1) / TILE;
  if (count > room || ++call == 0x7fffffffu) {
    SCANLAB_CUDA_CHECK(cudaFree(tiles));
    SCANLAB_CUDA_CHECK(cudaFree(ticket));
    SCANLAB_CUDA_CHECK(cudaMalloc(&tiles, count * sizeof(Tile)));
    SCANLAB_CUDA_CHECK(cudaMalloc(&ticket, sizeof(int)));
    SCANLAB_CUDA_CHECK(cudaMemset(ticket, 0, sizeof(int)));
    room = count;
    call = 1;
  }
  single_pass<EXCLUSIVE><<<count, THREADS>>>(x, y, tiles, ticket, call, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<false>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<true>(d_x, d_y, n);
}
