// Constant memory, device variables with initialisers and with addresses of others, static locals, symbols, dynamic
// shared memory that several arrays are carved from.
#include <cstdio>
#include <cstring>

#define N 64

__constant__ float coefficients[5] = {1, -2, 3};
__constant__ int c_n;
__constant__ struct {
  int a;
  double b;
  char name[8];
} settings = {3, 0.5, "setting"};
__device__ int counter = 100;
__device__ int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int* to_counter = &counter;
__device__ int* to_element = &table[1][2];
__device__ const char* names[3] = {"zero", "one", "two"};
__device__ float grid[N];
__managed__ int managed_total;
__device__ double unset;
struct Node {
  int value;
  Node* next;
};
__device__ Node third = {30, nullptr};
__device__ Node second = {20, &third};
__device__ Node first = {10, &second};

__global__ void polynomial(const float* x, float* y) {
  const int i = threadIdx.x;
  float sum = 0;
  for (int k = c_n - 1; k >= 0; --k) sum = sum * x[i] + coefficients[k];
  y[i] = sum;
}

// A different index in every lane.
__global__ void gather_constants(float* y) {
  y[threadIdx.x] = coefficients[threadIdx.x % 5] + settings.a * settings.b;
}

__device__ int next_id() {
  static int id = 1000;
  return atomicAdd(&id, 1);
}

__global__ void use_globals(int* out) {
  if (threadIdx.x == 0) {
    *to_counter += 5;
    out[0] = counter;
    out[1] = *to_element;
    out[2] = names[out[1] % 3][0];
    int sum = 0;
    for (const Node* n = &first; n; n = n->next) sum += n->value;
    out[3] = sum;
    out[4] = next_id();
    out[5] = settings.name[3];
    out[6] = unset == 0;
    managed_total = 77;
  }
  grid[threadIdx.x] += threadIdx.x * 0.5f;
}

__global__ void carved(int n, double* out) {
  extern __shared__ unsigned char raw[];
  double* d = reinterpret_cast<double*>(raw);
  float* f = (float*)&d[n];
  int* i = (int*)&f[n];
  char* c = (char*)(i + n);
  const int t = threadIdx.x;
  d[t] = t * 0.25;
  f[t] = t * 2.0f;
  i[t] = -t;
  c[t] = t + 1;
  __syncthreads();
  const int other = n - 1 - t;
  out[t] = d[other] + f[other] * 1000 + i[other] + c[other];
}

int main() {
  float h[5], x[N], y[N], *d_x, *d_y;
  for (int i = 0; i < N; i++) x[i] = i;
  cudaMalloc(&d_x, sizeof(x));
  cudaMalloc(&d_y, sizeof(y));
  cudaMemcpy(d_x, x, sizeof(x), cudaMemcpyHostToDevice);
  int terms = 3;
  cudaMemcpyToSymbol(c_n, &terms, sizeof(int));
  polynomial<<<1, N>>>(d_x, d_y);
  cudaMemcpy(y, d_y, sizeof(y), cudaMemcpyDeviceToHost);
  printf("1 - 2x + 3x^2 at 4: %g\n", y[4]);
  for (int k = 0; k < 5; k++) h[k] = k + 1;
  cudaMemcpyToSymbol(coefficients, h, sizeof(h));
  cudaMemcpyToSymbol(coefficients, &h[4], sizeof(float), 2 * sizeof(float));
  terms = 5;
  cudaMemcpyToSymbol(c_n, &terms, sizeof(int));
  polynomial<<<1, N>>>(d_x, d_y);
  cudaMemcpy(y, d_y, sizeof(y), cudaMemcpyDeviceToHost);
  printf("1 + 2x + 5x^2 + 4x^3 + 5x^4 at 2: %g\n", y[2]);
  gather_constants<<<1, N>>>(d_y);
  cudaMemcpy(y, d_y, sizeof(y), cudaMemcpyDeviceToHost);
  printf("%g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4]);

  int out[7], *d_out;
  cudaMalloc(&d_out, sizeof(out));
  for (int round = 0; round < 2; round++) {
    use_globals<<<1, N>>>(d_out);
    cudaMemcpy(out, d_out, sizeof(out), cudaMemcpyDeviceToHost);
    printf("counter %d, element %d, letter %c, list %d, id %d, %c, zero %d\n", out[0], out[1], out[2], out[3], out[4],
           out[5], out[6]);
  }
  cudaDeviceSynchronize();
  printf("managed: %d\n", managed_total);
  cudaMemcpyFromSymbol(y, grid, sizeof(y));
  printf("grid: %g %g\n", y[1], y[63]);
  void* address;
  size_t size;
  cudaGetSymbolAddress(&address, grid);
  cudaGetSymbolSize(&size, grid);
  cudaMemset(address, 0, size);
  cudaMemcpyFromSymbol(y, grid, 4, 63 * 4);
  printf("size %zu, cleared to %g\n", size, y[0]);

  const int n = 100;
  double sums[n], *d_sums;
  cudaMalloc(&d_sums, sizeof(sums));
  carved<<<1, n, n*(sizeof(double) + sizeof(float) + sizeof(int) + 1)>>>(n, d_sums);
  cudaMemcpy(sums, d_sums, sizeof(sums), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int t = 0; t < n; t++) {
    const int o = n - 1 - t;
    wrong += sums[t] != o * 0.25 + o * 2000 - o + (o + 1);
  }
  printf("carved: %d wrong, %g\n", wrong, sums[0]);
  return cudaDeviceSynchronize();
}
