// Run-length encoding and decoding by scans: heads are counted, ranks place the runs, a scan of lengths and a scan of
// maxima spread them again. An exclusive scan of maxima whose identity is not zero.
#include <climits>
#include <cstdio>
#include <string>

#include "arrays.hpp"

enum class Inclusive : bool { no, yes };

struct Add {
  static constexpr int identity = 0;
  __device__ static int apply(int a, int b) { return a + b; }
};
struct Max {
  static constexpr int identity = INT_MIN;
  __device__ static int apply(int a, int b) { return a > b ? a : b; }
};

// One block of any number of threads, each with a contiguous piece.
template <class Op, Inclusive inclusive>
__global__ void scan(int* data, int n) {
  __shared__ int ends[1024];
  const int t = threadIdx.x, each = (n + blockDim.x - 1) / blockDim.x, first = min(t * each, n),
            last = min(first + each, n);
  int sum = Op::identity;
  for (int i = first; i < last; ++i) sum = Op::apply(sum, data[i]);
  ends[t] = sum;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    const int left = t >= d ? ends[t - d] : Op::identity;
    __syncthreads();
    ends[t] = Op::apply(left, ends[t]);
    __syncthreads();
  }
  sum = t ? ends[t - 1] : Op::identity;
  for (int i = first; i < last; ++i) {
    const int next = Op::apply(sum, data[i]);
    data[i] = inclusive == Inclusive::yes ? next : sum;
    sum = next;
  }
}

__global__ void mark_heads(const char* text, int* heads, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) heads[i] = i == 0 || text[i] != text[i - 1];
}
// ranks: inclusive scan of heads. starts[r]: where run r begins.
__global__ void place_runs(const char* text, const int* ranks, char* symbols, int* starts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 || ranks[i] != ranks[i - 1]) {
    symbols[ranks[i] - 1] = text[i];
    starts[ranks[i] - 1] = i;
  }
  if (i == n - 1) starts[ranks[i]] = n;
}
__global__ void spread_heads(const int* starts, int* owners, int runs) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < runs) owners[starts[r]] = r;
}
__global__ void decode(const char* symbols, const int* owners, char* text, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) text[i] = symbols[owners[i]];
}
__global__ void fill(int* a, int value, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = value;
}

int main() {
  std::string texts[] = {"a", "aaaaaaab", "abcabcabc", std::string(500, 'x'), ""};
  for (int i = 0; i < 3000; ++i) texts[4] += std::string(i * i % 7 % 4, char('a' + i % 3));
  for (const std::string& text : texts)
    for (int threads : {1, 33, 1024}) {
      const int n = text.size(), blocks = (n + 127) / 128;
      const std::vector<char> letters(text.begin(), text.end());
      const Array<char> d_text(letters), symbols(n), decoded(n);
      const Array<int> ranks(n), starts(n + 1), owners(n);
      mark_heads<<<blocks, 128>>>(d_text, ranks, n);
      scan<Add, Inclusive::yes><<<1, threads>>>(ranks, n);
      const int runs = ranks.read().back();
      place_runs<<<blocks, 128>>>(d_text, ranks, symbols, starts, n);
      fill<<<1, threads>>>(owners, -1, n);
      spread_heads<<<blocks, 128>>>(starts, owners, runs);
      scan<Max, Inclusive::yes><<<1, threads>>>(owners, n);
      decode<<<blocks, 128>>>(symbols, owners, decoded, n);
      std::vector<char> expected;
      std::vector<int> expected_starts;
      for (int i = 0; i < n; ++i)
        if (i == 0 || text[i] != text[i - 1]) expected.push_back(text[i]), expected_starts.push_back(i);
      expected_starts.push_back(n);
      if (threads == 1) printf("%d characters, %zu runs:", n, expected.size());
      const bool is_right =
          decoded.read() == letters && symbols.read(runs) == expected && starts.read(runs + 1) == expected_starts;
      printf(" %s", is_right ? "right" : "wrong");
      if (threads == 1024) printf("\n");
    }
  const int n = 77;
  int h[n], wrong = 0, greatest = INT_MIN;
  for (int i = 0; i < n; ++i) h[i] = i * 37 % 50 - 1000;
  const Array d(h);
  scan<Max, Inclusive::no><<<1, 10>>>(d, n);
  const auto r = d.read();
  for (int i = 0; i < n; ++i) {
    wrong += r[i] != greatest;
    greatest = h[i] > greatest ? h[i] : greatest;
  }
  printf("exclusive maxima: %d wrong, first %d\n", wrong, r[0]);
  return cudaDeviceSynchronize();
}
