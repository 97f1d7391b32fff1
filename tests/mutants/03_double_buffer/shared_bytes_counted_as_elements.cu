// expect: fail inclusive,exclusive bounds.shared | the launch asks for as many bytes as there are elements: a quarter
// of the buffers

#include "scanlab.cuh"

#define BLOCK_SIZE section_size
#define PAD (BLOCK_SIZE / 2)

__global__ void scan_kernel(const Element* d_in, Element* d_out, int len, int excl) {
  extern __shared__ unsigned char smem[];
  Element* from = (Element*)smem + PAD;
  Element* to = from + BLOCK_SIZE + PAD;
  const int tid = threadIdx.x;
  const int gid = tid + blockIdx.x * blockDim.x;

  if (tid < PAD) {
    from[tid - PAD] = identity();
    to[tid - PAD] = identity();
  }
  if (gid < len && tid >= excl)
    from[tid] = d_in[gid - excl];
  else
    from[tid] = identity();
  __syncthreads();

  for (int d = 1; d < BLOCK_SIZE; d <<= 1) {
    to[tid] = from[tid - d] + from[tid];
    __syncthreads();
    Element* tmp = to;
    to = from;
    from = tmp;
  }
  if (gid < len) d_out[gid] = from[tid];
}

static void run(const Element* d_in, Element* d_out, int len, int excl) {
  const size_t smem = 2 * (PAD + BLOCK_SIZE);
  const dim3 grid((len + BLOCK_SIZE - 1) / BLOCK_SIZE, 1, 1), block(BLOCK_SIZE, 1, 1);
  if (len == 0) return;
  scan_kernel<<<grid, block, smem>>>(d_in, d_out, len, excl);
  if (cudaPeekAtLastError() != cudaSuccess) fprintf(stderr, "launch failed\n");
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  run(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  run(d_x, d_y, n, 1);
}
