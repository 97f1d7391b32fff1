// test: vgpu
// test: runs table shallow object function index
// test: unwritten table index
// Pointers that came to the device inside of data: a table never filled, a struct that still points to the host, an
// object with the host's virtual table, the host's address of a device function, an index never initialised.
#include <cstdio>
#include <cstring>

__global__ void rows(int** table, int* out) {
  out[threadIdx.x] = table[threadIdx.x][0];
}

struct Vector {
  int n;
  const float* data;
};
__global__ void sum(const Vector* v, float* out) {
  float s = 0;
  for (int i = 0; i < v->n; ++i) s += v->data[i];
  *out = s;
}

struct Shape {
  float side;
  __host__ __device__ virtual float area() const { return side * side; }
};
__global__ void area(const Shape* s, float* out) {
  *out = s->area();
}

using Function = float (*)(float);
__device__ float square(float x) {
  return x * x;
}
__global__ void apply(Function f, float* out) {
  *out = f(3);
}

__global__ void gather(const int* index, const float* x, float* y) {
  y[threadIdx.x] = x[index[threadIdx.x]];
}

int main(int, char** argv) {
  const char* kind = argv[1];
  float *out, host_data[4] = {1, 2, 3, 4};
  cudaMalloc(&out, 1024);
  if (!strcmp(kind, "table")) {
    int **table, *row;
    cudaMalloc(&table, 32 * sizeof(int*));
    cudaMalloc(&row, 4);
    cudaMemcpy(table, &row, sizeof row, cudaMemcpyHostToDevice);  // the first of 32
    rows<<<1, 32>>>(table, (int*)out);
  }
  if (!strcmp(kind, "shallow")) {
    Vector v{4, host_data}, *d_v;
    cudaMalloc(&d_v, sizeof v);
    cudaMemcpy(d_v, &v, sizeof v, cudaMemcpyHostToDevice);
    sum<<<1, 1>>>(d_v, out);
  }
  if (!strcmp(kind, "object")) {
    Shape s, *d_s;
    s.side = 2;
    cudaMalloc(&d_s, sizeof s);
    cudaMemcpy((void*)d_s, &s, sizeof s, cudaMemcpyHostToDevice);
    area<<<1, 1>>>(d_s, out);
  }
  if (!strcmp(kind, "function")) apply<<<1, 1>>>(&square, out);
  if (!strcmp(kind, "index")) {
    int* index;
    cudaMalloc(&index, 32 * sizeof(int));
    gather<<<1, 32>>>(index, out, out);
  }
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
