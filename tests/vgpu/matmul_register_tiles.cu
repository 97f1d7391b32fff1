// Matrix products as a ladder of kernels: naive, tiled in shared memory with templates, and a tile of 4 x 4 results a
// thread in registers with float4 loads. Shapes that are not multiples of a tile; small integers, so every order of
// additions is exact.
#include <cstdio>
#include <cstdlib>

#include "arrays.hpp"

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))

// C = alpha * A * B + beta * C; A is M x K, B is K x N, row after row
__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

template <const int BLOCKSIZE>
__global__ void sgemm_shared(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[BLOCKSIZE * BLOCKSIZE], Bs[BLOCKSIZE * BLOCKSIZE];
  const uint col = threadIdx.x % BLOCKSIZE, row = threadIdx.x / BLOCKSIZE;
  const uint gx = blockIdx.x * BLOCKSIZE + col, gy = blockIdx.y * BLOCKSIZE + row;
  float tmp = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BLOCKSIZE) {
    As[row * BLOCKSIZE + col] = gy < M && k0 + col < K ? A[gy * K + k0 + col] : 0.0f;
    Bs[row * BLOCKSIZE + col] = k0 + row < K && gx < N ? B[(k0 + row) * N + gx] : 0.0f;
    __syncthreads();
#pragma unroll 4
    for (int dot = 0; dot < BLOCKSIZE; ++dot) tmp += As[row * BLOCKSIZE + dot] * Bs[dot * BLOCKSIZE + col];
    __syncthreads();
  }
  if (gy < M && gx < N) C[gy * N + gx] = alpha * tmp + beta * C[gy * N + gx];
}

// Whole tiles only: 32 x 32 results by 64 threads, K in steps of 8, A transposed on its way into shared memory.
__global__ void __launch_bounds__(64)
    sgemm_registers(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int BM = 32, BN = 32, BK = 8, TM = 4, TN = 4;
  __shared__ float As[BK * BM];
  __shared__ float Bs[BK * BN];
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const int aRow = threadIdx.x / (BK / 4), aCol = threadIdx.x % (BK / 4);
  const int bRow = threadIdx.x / (BN / 4), bCol = threadIdx.x % (BN / 4);
  float results[TM * TN] = {0.0f}, regM[TM], regN[TN];
  for (int bk = 0; bk < K; bk += BK) {
    float4 a = reinterpret_cast<const float4*>(&A[aRow * K + aCol * 4])[0];
    As[(aCol * 4 + 0) * BM + aRow] = a.x;
    As[(aCol * 4 + 1) * BM + aRow] = a.y;
    As[(aCol * 4 + 2) * BM + aRow] = a.z;
    As[(aCol * 4 + 3) * BM + aRow] = a.w;
    reinterpret_cast<float4*>(&Bs[bRow * BN + bCol * 4])[0] =
        reinterpret_cast<const float4*>(&B[bRow * N + bCol * 4])[0];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int dot = 0; dot < BK; ++dot) {
      for (int i = 0; i < TM; ++i) regM[i] = As[dot * BM + threadRow * TM + i];
      for (int i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (int m = 0; m < TM; ++m) {
    float4* c = reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN]);
    float4 tmp = *c;
    tmp.x = alpha * results[m * TN + 0] + beta * tmp.x;
    tmp.y = alpha * results[m * TN + 1] + beta * tmp.y;
    tmp.z = alpha * results[m * TN + 2] + beta * tmp.z;
    tmp.w = alpha * results[m * TN + 3] + beta * tmp.w;
    *c = tmp;
  }
}

int main() {
  struct {
    int M, N, K;
  } shapes[] = {{1, 1, 1}, {33, 7, 50}, {64, 96, 40}, {17, 65, 3}, {32, 32, 8}};
  for (auto [M, N, K] : shapes) {
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (int i = 0; i < M * K; ++i) A[i] = i * 7 % 15 - 7;
    for (int i = 0; i < K * N; ++i) B[i] = i * 5 % 9 - 4;
    for (int i = 0; i < M * N; ++i) C[i] = i % 100;
    const Array dA(A), dB(B);
    printf("%d x %d x %d:", M, N, K);
    for (int kernel = 0; kernel < 4; ++kernel) {
      if (kernel == 3 && (M % 32 || N % 32 || K % 8)) continue;
      const Array dC(C);
      switch (kernel) {
        case 0:
          sgemm_naive<<<dim3(CEIL_DIV(M, 8), CEIL_DIV(N, 16)), dim3(8, 16)>>>(M, N, K, 2, dA, dB, -0.5, dC);
          break;
        case 1:
          sgemm_shared<16><<<dim3(CEIL_DIV(N, 16), CEIL_DIV(M, 16)), 256>>>(M, N, K, 2, dA, dB, -0.5, dC);
          break;
        case 2:
          sgemm_shared<7><<<dim3(CEIL_DIV(N, 7), CEIL_DIV(M, 7)), 49>>>(M, N, K, 2, dA, dB, -0.5, dC);
          break;
        case 3:
          sgemm_registers<<<dim3(N / 32, M / 32), 64>>>(M, N, K, 2, dA, dB, -0.5, dC);
          break;
      }
      const auto R = dC.read();
      int wrong = 0;
      for (int y = 0; y < M; ++y)
        for (int x = 0; x < N; ++x) {
          float sum = 0;
          for (int k = 0; k < K; ++k) sum += A[y * K + k] * B[k * N + x];
          wrong += R[y * N + x] != 2 * sum - 0.5f * C[y * N + x];
        }
      printf(" %d", wrong);
    }
    printf(" wrong\n");
  }
  return cudaGetLastError();
}
