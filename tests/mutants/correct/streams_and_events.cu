// expect: pass 06_hierarchical | everything in a stream of its own, with memory from a pool; events tie it to the
// default stream

#include "scanlab.cuh"

namespace {

constexpr int kBlock = 128;
constexpr int kItems = section_size / kBlock;

class Stream {
 public:
  Stream() {
    SCANLAB_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SCANLAB_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    follow(cudaStreamLegacy, stream_);  // begins when the default stream's work so far is done
  }
  ~Stream() {
    follow(stream_, cudaStreamLegacy);  // and the default stream goes on when this one's is
    SCANLAB_CUDA_CHECK(cudaEventDestroy(event_));
    SCANLAB_CUDA_CHECK(cudaStreamDestroy(stream_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  void follow(cudaStream_t earlier, cudaStream_t later) {
    SCANLAB_CUDA_CHECK(cudaEventRecord(event_, earlier));
    SCANLAB_CUDA_CHECK(cudaStreamWaitEvent(later, event_, 0));
  }
  cudaStream_t stream_;
  cudaEvent_t event_;
};

template <typename T>
class PoolArray {
 public:
  PoolArray(size_t size, cudaStream_t stream) : stream_(stream) {
    SCANLAB_CUDA_CHECK(cudaMallocAsync(&data_, size * sizeof(T), stream));
  }
  ~PoolArray() { SCANLAB_CUDA_CHECK(cudaFreeAsync(data_, stream_)); }
  PoolArray(const PoolArray&) = delete;
  PoolArray& operator=(const PoolArray&) = delete;
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
  cudaStream_t stream_;
};

// Inclusive scan over a warp, an Element a lane, in shared memory of the warp's own.
__device__ Element scan_warp(volatile unsigned (*s_words)[32], Element element) {
  const int lane = threadIdx.x % 32;
  constexpr int words = sizeof(Element) / sizeof(unsigned);
  unsigned word[words];
  for (int d = 1; d < 32; d *= 2) {
    memcpy(word, &element, sizeof(element));
    for (int w = 0; w < words; ++w) s_words[w][lane] = word[w];
    __syncwarp();
    if (lane >= d) {
      for (int w = 0; w < words; ++w) word[w] = s_words[w][lane - d];
      Element earlier;
      memcpy(&earlier, word, sizeof(earlier));
      element = earlier + element;
    }
    __syncwarp();
  }
  return element;
}

template <Kind kind>
__global__ void scan_sections(const Element* d_x, Element* d_y, Element* d_sums, int n) {
  __shared__ unsigned s_words[kBlock / 32][sizeof(Element) / sizeof(unsigned)][32];
  __shared__ Element s_items[kBlock][kItems + 1], s_sums[kBlock / 32];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int first = blockIdx.x * section_size;

  for (int p = t; p < section_size; p += kBlock) {
    const int i = first + p;
    s_items[p / kItems][p % kItems] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();
  Element items[kItems];
  for (int k = 0; k < kItems; ++k) items[k] = k == 0 ? s_items[t][0] : items[k - 1] + s_items[t][k];
  const Element sum = scan_warp(s_words[warp], items[kItems - 1]);
  s_items[t][kItems] = sum;  // the free place at the end of a row
  if (lane == 31) s_sums[warp] = sum;
  __syncthreads();
  Element before = identity();
  for (int w = 0; w < warp; ++w) before = before + s_sums[w];
  if (lane > 0) before = before + s_items[t - 1][kItems];
  for (int k = 0; k < kItems; ++k) s_items[t][k] = items[k] = before + items[k];
  __syncthreads();
  for (int p = t; p < section_size; p += kBlock) {
    if (first + p < n) d_y[first + p] = s_items[p / kItems][p % kItems];
  }
  if (d_sums != nullptr && t == kBlock - 1) d_sums[blockIdx.x] = items[kItems - 1];
}

__global__ void add_sums(Element* d_y, const Element* d_sums, int n) {
  for (int i = section_size + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    d_y[i] = d_sums[i / section_size - 1] + d_y[i];
  }
}

template <Kind kind>
void scan(const Element* d_x, Element* d_y, int n, cudaStream_t stream) {
  const int sections = (n + section_size - 1) / section_size;
  if (sections == 1) {
    scan_sections<kind><<<1, kBlock, 0, stream>>>(d_x, d_y, nullptr, n);
    return;
  }
  const PoolArray<Element> sums(sections, stream);
  scan_sections<kind><<<sections, kBlock, 0, stream>>>(d_x, d_y, sums.get(), n);
  const PoolArray<Element> scanned_sums(sections, stream);
  scan<Kind::inclusive>(sums.get(), scanned_sums.get(), sections, stream);
  add_sums<<<min(sections - 1, 64), kBlock, 0, stream>>>(d_y, scanned_sums.get(), n);
}

}  // namespace

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) scan<Kind::inclusive>(d_x, d_y, n, Stream());
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) scan<Kind::exclusive>(d_x, d_y, n, Stream());
}
