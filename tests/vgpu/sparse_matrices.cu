// Sparse matrix times vector in every format of the textbook: COO with atomics, CSR with a thread and with a warp a
// row, ELL by columns, JDS after sorting the rows by length. Empty rows, one full row.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

struct COOMatrix {
  int numNonzeros;
  const int *rowIdx, *colIdx;
  const float* value;
};
struct CSRMatrix {
  int numRows;
  const int *rowPtrs, *colIdx;
  const float* value;
};
struct ELLMatrix {
  int numRows;
  const int *nnzPerRow, *colIdx;
  const float* value;
};
struct JDSMatrix {
  int numRows, numTiles;
  const int *rowPerm, *iterPtr, *colIdx;
  const float* value;
};

__global__ void spmv_coo(COOMatrix m, const float* x, float* y) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m.numNonzeros) atomicAdd(&y[m.rowIdx[i]], x[m.colIdx[i]] * m.value[i]);
}
__global__ void spmv_csr(CSRMatrix m, const float* x, float* y) {
  unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m.numRows) {
    float sum = 0.0f;
    for (unsigned int i = m.rowPtrs[row]; i < m.rowPtrs[row + 1]; ++i) sum += x[m.colIdx[i]] * m.value[i];
    y[row] += sum;
  }
}
__global__ void spmv_csr_vector(const CSRMatrix m, const float* x, float* y) {
  __shared__ volatile float vals[128];
  const int thread = blockDim.x * blockIdx.x + threadIdx.x, warp = thread / 32, lane = thread & 31;
  if (warp >= m.numRows) return;
  float sum = 0;
  for (int j = m.rowPtrs[warp] + lane; j < m.rowPtrs[warp + 1]; j += 32) sum += m.value[j] * x[m.colIdx[j]];
  vals[threadIdx.x] = sum;
  __syncwarp();
  for (int d = 16; d > 0; d /= 2) {
    if (lane < d) vals[threadIdx.x] = vals[threadIdx.x] + vals[threadIdx.x + d];
    __syncwarp();
  }
  if (lane == 0) y[warp] += vals[threadIdx.x];
}
__global__ void spmv_ell(ELLMatrix m, const float* x, float* y) {
  unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m.numRows) {
    float sum = 0.0f;
    for (int iter = 0; iter < m.nnzPerRow[row]; ++iter) {
      unsigned int i = iter * m.numRows + row;
      sum += x[m.colIdx[i]] * m.value[i];
    }
    y[row] += sum;
  }
}
__global__ void spmv_jds(JDSMatrix m, const float* x, float* y) {
  unsigned int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= m.numRows) return;
  float sum = 0.0f;
  for (int iter = 0; iter < m.numTiles; ++iter) {
    if (k >= m.iterPtr[iter + 1] - m.iterPtr[iter]) break;
    unsigned int i = m.iterPtr[iter] + k;
    sum += x[m.colIdx[i]] * m.value[i];
  }
  y[m.rowPerm[k]] += sum;
}

template <class T>
T* to_device(const std::vector<T>& h) {
  T* d;
  cudaMalloc(&d, std::max<size_t>(1, h.size()) * sizeof(T));
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  for (int rows : {1, 33, 300}) {
    const int columns = 50;
    std::vector<int> ri, ci, ptr{0};
    std::vector<float> val, x(columns), expected(rows, 1.0f), got(rows);
    for (int c = 0; c < columns; ++c) x[c] = c % 8;
    for (int r = 0; r < rows; ++r) {
      const int count = r == 17 ? columns : r % 5 == 4 ? 0 : r % 7 + 1;
      for (int k = 0; k < count; ++k) {
        ri.push_back(r);
        ci.push_back(count == columns ? k : (r * 3 + k * 7) % columns);
        val.push_back((r + k) % 6 - 2);
        expected[r] += val.back() * x[ci.back()];
      }
      ptr.push_back(ri.size());
    }
    const int nnz = ri.size();
    int longest = 0;
    std::vector<int> nnzPerRow(rows), perm(rows), iterPtr{0}, jdsCol;
    std::vector<float> jdsVal;
    for (int r = 0; r < rows; ++r) longest = std::max(longest, nnzPerRow[r] = ptr[r + 1] - ptr[r]);
    std::vector<int> ellCol(rows * longest, -1000000);  // padding that no thread may follow
    std::vector<float> ellVal(rows * longest);
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < nnzPerRow[r]; ++k)
        ellCol[k * rows + r] = ci[ptr[r] + k], ellVal[k * rows + r] = val[ptr[r] + k];
    std::iota(perm.begin(), perm.end(), 0);
    std::stable_sort(perm.begin(), perm.end(), [&](int a, int b) { return nnzPerRow[a] > nnzPerRow[b]; });
    for (int k = 0; k < longest; ++k) {
      for (int r : perm)
        if (k < nnzPerRow[r]) jdsCol.push_back(ci[ptr[r] + k]), jdsVal.push_back(val[ptr[r] + k]);
      iterPtr.push_back(jdsCol.size());
    }
    const float* d_x = to_device(x);
    const COOMatrix coo{nnz, to_device(ri), to_device(ci), to_device(val)};
    const CSRMatrix csr{rows, to_device(ptr), coo.colIdx, coo.value};
    const ELLMatrix ell{rows, to_device(nnzPerRow), to_device(ellCol), to_device(ellVal)};
    const JDSMatrix jds{rows, longest, to_device(perm), to_device(iterPtr), to_device(jdsCol), to_device(jdsVal)};
    const auto test = [&](const char* name, auto launch) {
      float* d_y = to_device(std::vector<float>(rows, 1.0f));
      launch(d_y);
      cudaMemcpy(got.data(), d_y, rows * sizeof(float), cudaMemcpyDeviceToHost);
      printf(" %s %s", name, got == expected ? "right" : "wrong");
      cudaFree(d_y);
    };
    const int blocks = (rows + 63) / 64;
    printf("%d rows:", rows);
    test("COO", [&](float* y) { spmv_coo<<<(nnz + 63) / 64, 64>>>(coo, d_x, y); });
    test("CSR", [&](float* y) { spmv_csr<<<blocks, 64>>>(csr, d_x, y); });
    test("CSR by warps", [&](float* y) { spmv_csr_vector<<<(rows + 3) / 4, 128>>>(csr, d_x, y); });
    test("ELL", [&](float* y) { spmv_ell<<<blocks, 64>>>(ell, d_x, y); });
    test("JDS", [&](float* y) { spmv_jds<<<blocks, 64>>>(jds, d_x, y); });
    printf("\n");
  }
  return cudaDeviceSynchronize();
}
