// test: nvcc -fmad=false
// Bodies that attract each other, tiles of positions in shared memory; float4 positions, several steps. Square root and
// division are rounded exactly, so the host gets the same bits from the same order of operations.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#define SOFTENING 0.125f

__host__ __device__ inline float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai) {
  float3 r;
  r.x = bj.x - bi.x;
  r.y = bj.y - bi.y;
  r.z = bj.z - bi.z;
  float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
  float distSixth = distSqr * distSqr * distSqr;
  float invDistCube = 1.0f / sqrtf(distSixth);
  float s = bj.w * invDistCube;
  ai.x += r.x * s;
  ai.y += r.y * s;
  ai.z += r.z * s;
  return ai;
}

__host__ __device__ inline void move(float4& p, float3& v, float3 a, float dt) {
  v.x += a.x * dt;
  v.y += a.y * dt;
  v.z += a.z * dt;
  p.x += v.x * dt;
  p.y += v.y * dt;
  p.z += v.z * dt;
}

__global__ void step(const float4* oldPos, float4* newPos, float3* vel, int n, float dt) {
  extern __shared__ float4 shPosition[];
  const int gtid = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 mine = gtid < n ? oldPos[gtid] : make_float4(0, 0, 0, 0);
  float3 acc = {0.0f, 0.0f, 0.0f};
  for (int tile = 0; tile * blockDim.x < n; tile++) {
    const int idx = tile * blockDim.x + threadIdx.x;
    if (idx < n) shPosition[threadIdx.x] = oldPos[idx];
    __syncthreads();
    const int count = min(blockDim.x, n - tile * blockDim.x);
    for (int j = 0; j < count; j++) acc = bodyBodyInteraction(mine, shPosition[j], acc);
    __syncthreads();
  }
  if (gtid < n) {
    float4 p = mine;
    float3 v = vel[gtid];
    move(p, v, acc, dt);
    newPos[gtid] = p;
    vel[gtid] = v;
  }
}

int main() {
  for (auto [n, threads] : {std::pair{1, 32}, {100, 32}, {96, 48}, {130, 128}}) {
    std::vector<float4> p(n), q(n);
    std::vector<float3> v(n, float3{0, 0.25f, 0});
    for (int i = 0; i < n; i++) p[i] = {float(i % 7), float(i * i % 11), float(i % 3) - 1, 1.0f + i % 4};
    float4* d[2];
    float3* d_vel;
    cudaMalloc(&d[0], n * sizeof(float4));
    cudaMalloc(&d[1], n * sizeof(float4));
    cudaMalloc(&d_vel, n * sizeof(float3));
    cudaMemcpy(d[0], p.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
    cudaMemcpy(d_vel, v.data(), n * sizeof(float3), cudaMemcpyHostToDevice);
    for (int s = 0; s < 3; s++) {
      step<<<(n + threads - 1) / threads, threads, threads * sizeof(float4)>>>(d[s & 1], d[~s & 1], d_vel, n, 0.0625f);
      for (int i = 0; i < n; i++) {
        float3 a = {0, 0, 0};
        for (int j = 0; j < n; j++) a = bodyBodyInteraction(p[i], p[j], a);
        q[i] = p[i];
        move(q[i], v[i], a, 0.0625f);
      }
      std::swap(p, q);
    }
    cudaMemcpy(q.data(), d[1], n * sizeof(float4), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += memcmp(&p[i], &q[i], sizeof(float4)) != 0;
    printf("%d bodies: %d wrong, moved %d\n", n, wrong, q[0].y != 0);
    cudaFree(d[0]);
    cudaFree(d[1]);
    cudaFree(d_vel);
  }
  return cudaDeviceSynchronize();
}
