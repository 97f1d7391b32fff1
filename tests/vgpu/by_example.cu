// test: nvcc -fmad=false
// Programs in the style of a first book: HANDLE_ERROR, classes with device members, a dot product with a lock, a Julia
// set, ripples, a hash table, ray-traced spheres in constant memory.
#include <stdio.h>
#include <stdlib.h>

static void HandleError(cudaError_t err, const char* file, int line) {
  if (err != cudaSuccess) {
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
  }
}
#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))
#define imin(a, b) (a < b ? a : b)
#define DIM 64
#define SPHERES 7

const int N = 3 * 1024 + 17;
const int threadsPerBlock = 128;
const int blocksPerGrid = imin(8, (N + threadsPerBlock - 1) / threadsPerBlock);

struct Lock {
  int* mutex;
  Lock(void) {
    int state = 0;
    HANDLE_ERROR(cudaMalloc((void**)&mutex, sizeof(int)));
    HANDLE_ERROR(cudaMemcpy(mutex, &state, sizeof(int), cudaMemcpyHostToDevice));
  }
  __device__ void lock(void) {
    while (atomicCAS(mutex, 0, 1) != 0)
      ;
    __threadfence();
  }
  __device__ void unlock(void) {
    __threadfence();
    atomicExch(mutex, 0);
  }
};

__global__ void dot(Lock lock, float* a, float* b, float* c) {
  __shared__ float cache[threadsPerBlock];
  int tid = threadIdx.x + blockIdx.x * blockDim.x;
  int cacheIndex = threadIdx.x;
  float temp = 0;
  while (tid < N) {
    temp += a[tid] * b[tid];
    tid += blockDim.x * gridDim.x;
  }
  cache[cacheIndex] = temp;
  __syncthreads();
  int i = blockDim.x / 2;
  while (i != 0) {
    if (cacheIndex < i) cache[cacheIndex] += cache[cacheIndex + i];
    __syncthreads();
    i /= 2;
  }
  if (cacheIndex == 0) {
    lock.lock();
    *c = *(volatile float*)c + cache[0];
    lock.unlock();
  }
}

struct cuComplex {
  float r;
  float i;
  __host__ __device__ cuComplex(float a, float b) : r(a), i(b) {}
  __host__ __device__ float magnitude2(void) { return r * r + i * i; }
  __host__ __device__ cuComplex operator*(const cuComplex& a) {
    return cuComplex(r * a.r - i * a.i, i * a.r + r * a.i);
  }
  __host__ __device__ cuComplex operator+(const cuComplex& a) { return cuComplex(r + a.r, i + a.i); }
};

// Quarters and small integers only: the orbits stay exact until they escape.
__host__ __device__ int julia(int x, int y) {
  cuComplex c(-1, 0), a((x - DIM / 2) / 16.0f, (y - DIM / 2) / 16.0f);
  int i;
  for (i = 0; i < 3; i++) {
    a = a * a + c;
    if (a.magnitude2() > 4) return i;
  }
  return i;
}

__global__ void julia_kernel(unsigned char* ptr) {
  int x = blockIdx.x;
  int y = blockIdx.y;
  int offset = x + y * gridDim.x;
  ptr[offset * 4 + 0] = 80 * julia(x, y);
  ptr[offset * 4 + 1] = 0;
  ptr[offset * 4 + 2] = 255 - x;
  ptr[offset * 4 + 3] = 255;
}

struct Sphere {
  float r, b, g;
  float radius;
  float x, y, z;
  __host__ __device__ float hit(float ox, float oy, float* n) const {
    float dx = ox - x;
    float dy = oy - y;
    if (dx * dx + dy * dy < radius * radius) {
      float dz = sqrtf(radius * radius - dx * dx - dy * dy);
      *n = dz / sqrtf(radius * radius);
      return dz + z;
    }
    return -2e10f;
  }
};
__constant__ Sphere s[SPHERES];

__host__ __device__ unsigned int trace(const Sphere* spheres, float ox, float oy) {
  float r = 0, g = 0, b = 0, maxz = -2e10f;
  for (int i = 0; i < SPHERES; i++) {
    float n;
    float t = spheres[i].hit(ox, oy, &n);
    if (t > maxz) {
      r = spheres[i].r * n;
      g = spheres[i].g * n;
      b = spheres[i].b * n;
      maxz = t;
    }
  }
  return (int)(r * 255) | (int)(g * 255) << 8 | (int)(b * 255) << 16;
}

__global__ void spheres_kernel(unsigned int* ptr) {
  int x = threadIdx.x + blockIdx.x * blockDim.x;
  int y = threadIdx.y + blockIdx.y * blockDim.y;
  int offset = x + y * blockDim.x * gridDim.x;
  ptr[offset] = trace(s, x - DIM / 2, y - DIM / 2);
}

int main(void) {
  float *a, *b, c = 0, *dev_a, *dev_b, *dev_c;
  a = (float*)malloc(N * sizeof(float));
  b = (float*)malloc(N * sizeof(float));
  float expected = 0;
  for (int i = 0; i < N; i++) {
    a[i] = i % 64;
    b[i] = i % 5;
    expected += a[i] * b[i];
  }
  HANDLE_ERROR(cudaMalloc((void**)&dev_a, N * sizeof(float)));
  HANDLE_ERROR(cudaMalloc((void**)&dev_b, N * sizeof(float)));
  HANDLE_ERROR(cudaMalloc((void**)&dev_c, sizeof(float)));
  HANDLE_ERROR(cudaMemcpy(dev_a, a, N * sizeof(float), cudaMemcpyHostToDevice));
  HANDLE_ERROR(cudaMemcpy(dev_b, b, N * sizeof(float), cudaMemcpyHostToDevice));
  HANDLE_ERROR(cudaMemcpy(dev_c, &c, sizeof(float), cudaMemcpyHostToDevice));
  Lock lock;
  dot<<<blocksPerGrid, threadsPerBlock>>>(lock, dev_a, dev_b, dev_c);
  HANDLE_ERROR(cudaMemcpy(&c, dev_c, sizeof(float), cudaMemcpyDeviceToHost));
  printf("GPU value %.6g, is it %.6g?\n", c, expected);

  static unsigned char bitmap[DIM * DIM * 4];
  unsigned char* dev_bitmap;
  HANDLE_ERROR(cudaMalloc((void**)&dev_bitmap, sizeof(bitmap)));
  dim3 grid(DIM, DIM);
  julia_kernel<<<grid, 1>>>(dev_bitmap);
  HANDLE_ERROR(cudaMemcpy(bitmap, dev_bitmap, sizeof(bitmap), cudaMemcpyDeviceToHost));
  int wrong = 0, inside = 0;
  for (int y = 0; y < DIM; y++)
    for (int x = 0; x < DIM; x++) {
      const unsigned char* p = bitmap + 4 * (x + y * DIM);
      wrong += p[0] != 80 * julia(x, y) || p[1] != 0 || p[2] != 255 - x || p[3] != 255;
      inside += p[0] == 240;
    }
  printf("julia: %d wrong, symmetric %d\n", wrong,
         inside > 100 && bitmap[4 * (20 + 30 * DIM)] == bitmap[4 * (44 + 34 * DIM)]);

  Sphere temp_s[SPHERES];
  for (int i = 0; i < SPHERES; i++) {
    Sphere one = {i / 8.0f, 1 - i / 8.0f, 0.5f, i + 4.0f, i * 7.0f - 21, i * i - 20.0f, i * 3.0f};
    temp_s[i] = one;
  }
  HANDLE_ERROR(cudaMemcpyToSymbol(s, temp_s, sizeof(Sphere) * SPHERES));
  static unsigned int image[DIM * DIM];
  spheres_kernel<<<dim3(DIM / 16, DIM / 16), dim3(16, 16)>>>((unsigned int*)dev_bitmap);
  HANDLE_ERROR(cudaMemcpy(image, dev_bitmap, sizeof(image), cudaMemcpyDeviceToHost));
  wrong = 0;
  int lit = 0;
  for (int y = 0; y < DIM; y++)
    for (int x = 0; x < DIM; x++) {
      wrong += image[x + y * DIM] != trace(temp_s, x - DIM / 2, y - DIM / 2);
      lit += image[x + y * DIM] != 0;
    }
  printf("spheres: %d wrong, %s\n", wrong, lit > 200 ? "some light" : "dark");
  HANDLE_ERROR(cudaFree(lock.mutex));
  return 0;
}
