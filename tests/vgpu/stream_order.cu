// What CUDA promises about the order of work: within a stream, across streams by events, and with the default stream.
// Each step makes sums of which only one is right when the order is kept.
#include "show.hpp"

__global__ void multiply_add(int* x, int factor, int summand) {
  *x = *x * factor + summand;
}
__global__ void copy_value(int* to, const int* from) {
  *to = *from;
}
// Takes long enough that work which does not wait for it would come first on a GPU.
__global__ void set_late(int* x, int value) {
  const long long begin = clock64();
  while (clock64() - begin < 200000) {
  }
  *x = value;
}

static int fetch(const int* from) {
  int value = 0;
  cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

int main() {
  int* x = nullptr;
  cudaMalloc(&x, 4 * sizeof(int));
  cudaStream_t blocking, other, independent;
  cudaStreamCreate(&blocking);
  cudaStreamCreateWithFlags(&other, cudaStreamDefault);
  cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking);

  // One stream: kernels, copies and sets one after the other.
  set_late<<<1, 1, 0, blocking>>>(x, 1);
  for (int i = 0; i < 5; ++i) multiply_add<<<1, 1, 0, blocking>>>(x, 3, i);
  cudaMemcpyAsync(x + 1, x, sizeof(int), cudaMemcpyDeviceToDevice, blocking);
  cudaMemsetAsync(x, 0, sizeof(int), blocking);
  show("stream", cudaStreamSynchronize(blocking));
  int expected = 1;
  for (int i = 0; i < 5; ++i) expected = expected * 3 + i;
  std::printf("in a stream: %s, %d\n", fetch(x + 1) == expected ? "in order" : "out of order", fetch(x));

  // The legacy default stream comes after blocking streams, and they after it.
  set_late<<<1, 1, 0, blocking>>>(x, 5);
  multiply_add<<<1, 1>>>(x, 2, 1);
  multiply_add<<<1, 1, 0, other>>>(x, 10, 3);
  show("device", cudaDeviceSynchronize());
  std::printf("with the default stream: %d\n", fetch(x));

  // An event orders two streams, also when the waiting one does not block.
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  set_late<<<1, 1, 0, blocking>>>(x, 7);
  show("record", cudaEventRecord(done, blocking));
  show("wait", cudaStreamWaitEvent(independent, done, 0));
  copy_value<<<1, 1, 0, independent>>>(x + 2, x);
  show("independent stream", cudaStreamSynchronize(independent));
  std::printf("by an event: %d\n", fetch(x + 2));

  // A chain through three streams and back; a wait for an event that was never recorded waits for nothing.
  cudaEvent_t events[3], never;
  for (cudaEvent_t& event : events) cudaEventCreate(&event);
  cudaEventCreate(&never);
  show("an event never recorded", cudaStreamWaitEvent(other, never, 0));
  cudaStream_t chain[3] = {blocking, independent, other};
  set_late<<<1, 1, 0, chain[0]>>>(x, 1);
  for (int round = 0; round < 6; ++round) {
    const int here = round % 3, next = (round + 1) % 3;
    multiply_add<<<1, 1, 0, chain[here]>>>(x, 2, round);
    cudaEventRecord(events[here], chain[here]);
    cudaStreamWaitEvent(chain[next], events[here], 0);
  }
  show("chain", cudaStreamSynchronize(chain[0]));
  expected = 1;
  for (int round = 0; round < 6; ++round) expected = expected * 2 + round;
  std::printf("a chain of streams: %s\n", fetch(x) == expected ? "in order" : "out of order");

  // An event stands for what was recorded last.
  set_late<<<1, 1, 0, independent>>>(x + 3, 1);
  cudaEventRecord(done, independent);
  set_late<<<1, 1, 0, independent>>>(x + 3, 2);
  cudaEventRecord(done, independent);
  show("event", cudaEventSynchronize(done));
  int value = 0;
  cudaMemcpyAsync(&value, x + 3, sizeof value, cudaMemcpyDeviceToHost, independent);
  cudaStreamSynchronize(independent);
  std::printf("recorded twice: %d\n", value);

  // A synchronous copy comes after blocking streams; the host sees it at once.
  set_late<<<1, 1, 0, other>>>(x, 99);
  std::printf("cudaMemcpy waits: %d\n", fetch(x));

  // A stream may be destroyed while its work runs.
  set_late<<<1, 1, 0, other>>>(x, 123);
  show("destroy", cudaStreamDestroy(other));
  show("device", cudaDeviceSynchronize());
  std::printf("its work is done: %d\n", fetch(x));

  show("query", cudaStreamQuery(blocking));
  unsigned flags = 9;
  cudaStreamGetFlags(independent, &flags);
  std::printf("flags: %s\n", flags == cudaStreamNonBlocking ? "non-blocking" : "other");
  int least = -1, greatest = 1, priority = -100;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  cudaStream_t urgent;
  show("with priority", cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  cudaStreamGetPriority(urgent, &priority);
  std::printf("range ends at 0: %s, has the greatest: %s\n", least == 0 && greatest < least ? "yes" : "no",
              priority == greatest ? "yes" : "no");
  cudaStreamDestroy(urgent);
  cudaStreamDestroy(blocking);
  cudaStreamDestroy(independent);
  for (cudaEvent_t event : events) cudaEventDestroy(event);
  cudaEventDestroy(never);
  cudaEventDestroy(done);
  show("no such flags", cudaStreamCreateWithFlags(&other, 0x40));
  cudaFree(x);
  return 0;
}
