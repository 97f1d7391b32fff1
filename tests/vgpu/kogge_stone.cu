// The scans of step-doubling, as textbooks print them: in place with two barriers, with two buffers whose pointers
// swap, and with one buffer of twice the size that is indexed by pout * n.
#include <cstdio>
#include <cstdlib>

#define SECTION_SIZE 256

#define CHECK(call)                                                                \
  {                                                                                \
    const cudaError_t error = call;                                                \
    if (error != cudaSuccess) {                                                    \
      printf("Error: %s:%d, %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      exit(1);                                                                     \
    }                                                                              \
  }

__global__ void Kogge_Stone_scan_kernel(float* X, float* Y, unsigned int N) {
  __shared__ float XY[SECTION_SIZE];
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    XY[threadIdx.x] = X[i];
  } else {
    XY[threadIdx.x] = 0.0f;
  }
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    float temp;
    if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
    __syncthreads();
    if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
  }
  if (i < N) {
    Y[i] = XY[threadIdx.x];
  }
}

__global__ void double_buffer_kernel(const float* X, float* Y, unsigned int N) {
  __shared__ float buffer1[SECTION_SIZE];
  __shared__ float buffer2[SECTION_SIZE];
  float* inBuffer = buffer1;
  float* outBuffer = buffer2;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  inBuffer[threadIdx.x] = i < N ? X[i] : 0.0f;
  __syncthreads();
  for (unsigned int stride = 1; stride <= SECTION_SIZE / 2; stride *= 2) {
    if (threadIdx.x >= stride) {
      outBuffer[threadIdx.x] = inBuffer[threadIdx.x] + inBuffer[threadIdx.x - stride];
    } else {
      outBuffer[threadIdx.x] = inBuffer[threadIdx.x];
    }
    __syncthreads();
    float* tmp = inBuffer;
    inBuffer = outBuffer;
    outBuffer = tmp;
  }
  if (i < N) Y[i] = inBuffer[threadIdx.x];
}

// GPU Gems 3, example 39-1: an exclusive scan of one block.
__global__ void scan(float* g_odata, float* g_idata, int n) {
  extern __shared__ float temp[];
  int thid = threadIdx.x;
  int pout = 0, pin = 1;
  g_idata += blockIdx.x * n;
  g_odata += blockIdx.x * n;
  temp[pout * n + thid] = (thid > 0) ? g_idata[thid - 1] : 0;
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (thid >= offset)
      temp[pout * n + thid] = temp[pin * n + thid] + temp[pin * n + thid - offset];
    else
      temp[pout * n + thid] = temp[pin * n + thid];
    __syncthreads();
  }
  g_odata[thid] = temp[pout * n + thid];
}

static int count_wrong(const float* x, const float* y, int n, int exclusive) {
  int wrong = 0;
  for (int first = 0; first < n; first += SECTION_SIZE) {
    float sum = 0.0f;
    for (int i = first; i < first + SECTION_SIZE && i < n; i++) {
      if (exclusive && y[i] != sum) wrong++;
      sum += x[i];
      if (!exclusive && y[i] != sum) wrong++;
    }
  }
  return wrong;
}

int main(void) {
  const int sizes[] = {1, 31, 32, 33, 255, 256, 257, 1000, 4096};
  for (int s = 0; s < (int)(sizeof(sizes) / sizeof(sizes[0])); s++) {
    const int n = sizes[s];
    const size_t bytes = n * sizeof(float);
    const int blocks = (n + SECTION_SIZE - 1) / SECTION_SIZE;
    float *x = (float*)malloc(bytes), *y = (float*)malloc(bytes), *d_x, *d_y;
    for (int i = 0; i < n; i++) x[i] = (float)(i % 10);
    CHECK(cudaMalloc((void**)&d_x, bytes));
    CHECK(cudaMalloc((void**)&d_y, bytes));
    CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));

    Kogge_Stone_scan_kernel<<<blocks, SECTION_SIZE>>>(d_x, d_y, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost));
    printf("n = %4d: in place %d wrong", n, count_wrong(x, y, n, 0));

    CHECK(cudaMemset(d_y, 0xff, bytes));
    double_buffer_kernel<<<blocks, SECTION_SIZE>>>(d_x, d_y, n);
    CHECK(cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost));
    printf(", two buffers %d wrong", count_wrong(x, y, n, 0));

    if (n % SECTION_SIZE == 0) {
      scan<<<blocks, SECTION_SIZE, 2 * SECTION_SIZE * sizeof(float)>>>(d_y, d_x, SECTION_SIZE);
      CHECK(cudaDeviceSynchronize());
      CHECK(cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost));
      printf(", pout * n %d wrong, y[255] = %g", count_wrong(x, y, n, 1), y[255]);
    }
    printf("\n");
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    free(x);
    free(y);
  }
  return 0;
}
