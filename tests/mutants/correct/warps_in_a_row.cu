// expect: pass 08_warp_shuffle | no barrier between the warps: each hands its sum to the next one through a flag in
// shared memory (cuda::atomic_ref), and blocks stay for section after section

#include <algorithm>
#include <cuda/atomic>

#include "scanlab.cuh"

constexpr int warp_size = 32, warps = 4, rows = section_size / (warps * warp_size);

using BlockFlag = cuda::atomic_ref<int, cuda::thread_scope_block>;
using DeviceFlag = cuda::atomic_ref<int, cuda::thread_scope_device>;

// What the next warp or the next section has to know, and from when on it may be read.
struct Message {
  Element sum;
  int number;
};

template <class Flag>
__device__ void send(Message& message, Element sum, int number) {
  message.sum = sum;
  Flag(message.number).store(number, cuda::std::memory_order_release);
}

template <class Flag>
__device__ Element receive(Message& message, int number) {
  while (Flag(message.number).load(cuda::std::memory_order_acquire) != number) {
  }
  return message.sum;
}

// An element word by word.
using Words = unsigned[sizeof(Element) / sizeof(unsigned)];

template <class Shuffle>
__device__ Element shuffled(Element element, Shuffle shuffle) {
  Words words;
  memcpy(words, &element, sizeof(words));
  for (unsigned& word : words) word = shuffle(word);
  memcpy(&element, words, sizeof(words));
  return element;
}

template <Kind kind>
__global__ void scan_kernel(const Element* d_x, Element* d_y, Message* d_messages, int* d_taken, int n, int sections) {
  __shared__ Message s_messages[warps];  // [w]: what is before warp w + 1, for the section whose number it bears
  __shared__ int s_section;
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  if (lane == 0) s_messages[warp].number = 0;
  while (true) {
    __syncthreads();  // all messages have been read, so that they may be written again
    if (threadIdx.x == 0) s_section = atomicAdd(d_taken, 1);
    __syncthreads();
    const int section = s_section, number = section + 1;
    if (section >= sections) return;

    const int first = section * section_size + warp * rows * warp_size + lane;
    Element y[rows];
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const int i = first + row * warp_size;
      y[row] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
    }
#pragma unroll
    for (int distance = 1; distance < warp_size; distance *= 2) {
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        const Element earlier =
            shuffled(y[row], [=](unsigned word) { return __shfl_up_sync(0xffffffff, word, distance); });
        if (lane >= distance) y[row] = earlier + y[row];
      }
    }
    // The last lane alone knows what the rows sum up to: it talks to the others, and then to its own warp.
    Element before_row[rows];
    for (Element& before : before_row) before = identity();
    if (lane == warp_size - 1) {
      Element sum = identity();
      for (int row = 0; row < rows; ++row) sum = sum + y[row];
      Element before = identity();
      if (warp > 0) {
        before = receive<BlockFlag>(s_messages[warp - 1], number);
      } else if (section > 0) {
        before = receive<DeviceFlag>(d_messages[section - 1], 1);
      }
      if (warp < warps - 1) {
        send<BlockFlag>(s_messages[warp], before + sum, number);
      } else {
        send<DeviceFlag>(d_messages[section], before + sum, 1);
      }
      for (int row = 0; row < rows; ++row) {
        before_row[row] = before;
        before = before + y[row];
      }
    }
    __syncwarp();
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const Element before =
          shuffled(before_row[row], [](unsigned word) { return __shfl_sync(0xffffffff, word, warp_size - 1); });
      const int i = first + row * warp_size;
      if (i < n) d_y[i] = before + y[row];
    }
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Message* d_messages;
  int* d_taken;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_messages, sections * sizeof(Message)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_taken, sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemset(d_messages, 0, sections * sizeof(Message)));
  SCANLAB_CUDA_CHECK(cudaMemset(d_taken, 0, sizeof(int)));
  scan_kernel<kind><<<std::min(sections, 24), warps * warp_size>>>(d_x, d_y, d_messages, d_taken, n, sections);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_taken));
  SCANLAB_CUDA_CHECK(cudaFree(d_messages));
}
