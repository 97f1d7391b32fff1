// test: nvcc -Xcompiler -pthread
// Host functions in the order of a stream: they see what was done before, what comes after sees what they did, and the
// calling thread does not wait for them.
#include <atomic>
#include <thread>

#include "show.hpp"

static std::atomic<bool> released = false;
static std::atomic<int> order = 0;

struct Step {
  const int* data;  ///< pinned: what the device wrote
  int* next;        ///< pinned: what the device reads afterwards
  int seen = -1;
  int place = -1;
};

static void CUDART_CB look(void* argument) {
  Step& step = *static_cast<Step*>(argument);
  step.seen = *step.data;
  *step.next = step.seen * 2;
  step.place = order++;
}

static void CUDART_CB wait_for_release(void*) {
  while (!released) std::this_thread::yield();
}

static cudaError_t given = cudaErrorUnknown;
static cudaStream_t given_stream = nullptr;
static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void* argument) {
  given = status;
  given_stream = stream;
  *static_cast<int*>(argument) = order++;
}

__global__ void add(int* x, const int* y, int summand) {
  *x = *y + summand;
}

int main() {
  int *data = nullptr, *next = nullptr;
  cudaMallocHost(&data, sizeof(int));
  cudaMallocHost(&next, sizeof(int));
  cudaStream_t stream, other;
  cudaStreamCreate(&stream);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);

  // Kernel, host function, kernel, host function.
  *next = 3;
  Step first{data, next}, second{data, next};
  add<<<1, 1, 0, stream>>>(data, next, 4);
  show("host function", cudaLaunchHostFunc(stream, look, &first));
  add<<<1, 1, 0, stream>>>(data, next, 1);
  show("host function", cudaLaunchHostFunc(stream, look, &second));
  show("stream", cudaStreamSynchronize(stream));
  std::printf("first saw %d, second saw %d, then %d; places %d and %d\n", first.seen, second.seen, *next, first.place,
              second.place);

  // The calling thread goes on while a host function waits for it, and sees that the stream is not done.
  cudaEvent_t after;
  cudaEventCreate(&after);
  show("a host function that waits", cudaLaunchHostFunc(stream, wait_for_release, nullptr));
  cudaEventRecord(after, stream);
  show("stream", cudaStreamQuery(stream));
  show("event behind it", cudaEventQuery(after));
  show("another stream", cudaStreamQuery(other));
  add<<<1, 1, 0, other>>>(next, next, 100);
  show("another stream", cudaStreamSynchronize(other));
  cudaGetLastError();
  released = true;
  show("event behind it", cudaEventSynchronize(after));
  show("stream", cudaStreamQuery(stream));
  std::printf("the other stream went on: %d\n", *next);

  // An event carries the wait over to another stream.
  Step third{data, next};
  add<<<1, 1, 0, stream>>>(data, next, 1);
  cudaLaunchHostFunc(stream, look, &third);
  cudaEventRecord(after, stream);
  cudaStreamWaitEvent(other, after, 0);
  add<<<1, 1, 0, other>>>(data, next, 5);
  show("another stream", cudaStreamSynchronize(other));
  std::printf("third saw %d, then %d\n", third.seen, *data);

  // The default stream comes after it.
  Step fourth{data, next};
  cudaLaunchHostFunc(stream, look, &fourth);
  add<<<1, 1>>>(data, next, 6);
  show("device", cudaDeviceSynchronize());
  std::printf("fourth saw %d, then %d\n", fourth.seen, *data);

  int place = -1;
  show("callback", cudaStreamAddCallback(stream, callback, &place, 0));
  show("stream", cudaStreamSynchronize(stream));
  std::printf("told %s, its stream: %s, place %d\n", cudaGetErrorName(given), given_stream == stream ? "yes" : "no",
              place);
  show("no function", cudaLaunchHostFunc(stream, nullptr, nullptr));
  cudaGetLastError();

  cudaEventDestroy(after);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(other);
  cudaFreeHost(data);
  cudaFreeHost(next);
  show("at the end", cudaDeviceSynchronize());
  return 0;
}
