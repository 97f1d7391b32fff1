// A two-dimensional scan: rows, transposition, rows again, transposition. Odd shapes; then box sums from four corners.
#include <cstdio>
#include <cstdlib>

typedef unsigned int uint;

// One block a row, however long the row is: tiles of blockDim.x elements, the running sum in a register.
__global__ void scan_rows(uint* data, int width) {
  __shared__ uint warp_sums[32];
  uint* row = data + (size_t)blockIdx.x * width;
  uint running = 0;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) / 32;
  for (int first = 0; first < width; first += blockDim.x) {
    const int i = first + threadIdx.x;
    uint v = i < width ? row[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
      uint left = __shfl_up_sync(~0u, v, d);
      if (lane >= d) v += left;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    uint before = running;
    for (int w = 0; w < warps; w++) {
      if (w < warp) before += warp_sums[w];
      running += warp_sums[w];
    }
    if (i < width) row[i] = v + before;
    __syncthreads();
  }
}

__global__ void transpose(const uint* in, uint* out, int width, int height) {
  __shared__ uint tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

__device__ uint corner(const uint* sat, int width, int x, int y) {
  return x < 0 || y < 0 ? 0 : sat[y * width + x];
}

__global__ void box_sums(const uint* sat, uint* out, int width, int height, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int x0 = x - r - 1, y0 = y - r - 1, x1 = min(x + r, width - 1), y1 = min(y + r, height - 1);
  out[y * width + x] =
      corner(sat, width, x1, y1) - corner(sat, width, x0, y1) - corner(sat, width, x1, y0) + corner(sat, width, x0, y0);
}

static int test(int width, int height, int threads) {
  const int n = width * height, r = 2;
  const size_t bytes = n * sizeof(uint);
  uint *h = (uint*)malloc(bytes), *sat = (uint*)malloc(bytes), *box = (uint*)malloc(bytes), *a, *b;
  for (int i = 0; i < n; i++) h[i] = (i * 40503u) >> 4 & 255;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice);
  const dim3 tile(16, 16), across((width + 15) / 16, (height + 15) / 16), down((height + 15) / 16, (width + 15) / 16);
  scan_rows<<<height, threads>>>(a, width);
  transpose<<<across, tile>>>(a, b, width, height);
  scan_rows<<<width, threads>>>(b, height);
  transpose<<<down, tile>>>(b, a, height, width);
  cudaMemcpy(sat, a, bytes, cudaMemcpyDeviceToHost);
  box_sums<<<dim3((width + 6) / 7, (height + 4) / 5), dim3(7, 5)>>>(a, b, width, height, r);
  cudaMemcpy(box, b, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < height; y++) {
    uint row = 0;
    for (int x = 0; x < width; x++) {
      row += h[y * width + x];
      wrong += sat[y * width + x] != row + (y ? sat[(y - 1) * width + x] : 0);
      uint sum = 0;
      for (int v = y - r; v <= y + r; v++)
        for (int u = x - r; u <= x + r; u++)
          if (u >= 0 && v >= 0 && u < width && v < height) sum += h[v * width + u];
      wrong += box[y * width + x] != sum;
    }
  }
  cudaFree(a);
  cudaFree(b);
  free(h);
  free(sat);
  free(box);
  return wrong;
}

int main() {
  const int shapes[][3] = {{1, 1, 32},   {1, 70, 64},  {70, 1, 32},   {33, 17, 32},
                           {16, 16, 64}, {65, 63, 64}, {200, 31, 96}, {5, 300, 1024}};
  for (auto& s : shapes) printf("%d x %d, %d threads: %d wrong\n", s[0], s[1], s[2], test(s[0], s[1], s[2]));
  return cudaDeviceSynchronize();
}
