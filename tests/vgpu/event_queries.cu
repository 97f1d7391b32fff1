// Events: what they say about work, their times, and their errors.
#include "show.hpp"

__global__ void spin(long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {
  }
}

// Runs until the host writes to `flag`.
__global__ void wait_for_host(const volatile int* flag) {
  while (*flag == 0) {
  }
}

int main() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEvent_t first, second, third, untimed;
  cudaEventCreate(&first);
  cudaEventCreate(&second);
  cudaEventCreateWithFlags(&third, cudaEventBlockingSync);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
  float milliseconds = -1;

  show("never recorded, query", cudaEventQuery(first));
  show("never recorded, wait", cudaEventSynchronize(first));
  show("never recorded, time", cudaEventElapsedTime(&milliseconds, first, second));

  // The device works while the host asks.
  int* flag = nullptr;
  cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped);
  *flag = 0;
  cudaEventRecord(first, stream);
  wait_for_host<<<1, 1, 0, stream>>>(flag);
  cudaEventRecord(second, stream);
  show("running, stream", cudaStreamQuery(stream));
  show("running, event", cudaEventQuery(second));
  show("before it", cudaEventSynchronize(first) == cudaSuccess ? cudaEventQuery(first) : cudaErrorUnknown);
  show("running, time", cudaEventElapsedTime(&milliseconds, first, second));
  *static_cast<volatile int*>(flag) = 1;
  show("wait", cudaEventSynchronize(second));
  show("done, event", cudaEventQuery(second));
  show("done, stream", cudaStreamQuery(stream));
  show("done, time", cudaEventElapsedTime(&milliseconds, first, second));
  std::printf("positive: %s\n", milliseconds > 0 ? "yes" : "no");

  // Times grow with the work, add up, and have a sign.
  cudaEventRecord(first, stream);
  spin<<<1, 1, 0, stream>>>(1000000);
  cudaEventRecord(second, stream);
  spin<<<1, 1, 0, stream>>>(4000000);
  cudaEventRecord(third, stream);
  cudaEventSynchronize(third);
  float short_time = 0, long_time = 0, sum = 0, backwards = 0;
  cudaEventElapsedTime(&short_time, first, second);
  cudaEventElapsedTime(&long_time, second, third);
  cudaEventElapsedTime(&sum, first, third);
  cudaEventElapsedTime(&backwards, second, first);
  std::printf("positive: %s, more work takes longer: %s\n", short_time > 0 ? "yes" : "no",
              long_time > 1.5f * short_time ? "yes" : "no");
  const float difference = sum - short_time - long_time;
  std::printf("they add up: %s, backwards is negative: %s\n",
              difference < 0.01f * sum && difference > -0.01f * sum ? "yes" : "no", backwards < 0 ? "yes" : "no");

  // Many events: never backwards.
  cudaEvent_t many[50];
  for (cudaEvent_t& event : many) {
    cudaEventCreate(&event);
    cudaEventRecord(event, stream);
  }
  cudaStreamSynchronize(stream);
  int backward = 0;
  for (int i = 1; i < 50; ++i) {
    cudaEventElapsedTime(&milliseconds, many[i - 1], many[i]);
    backward += milliseconds < 0;
  }
  std::printf("backwards: %d of 49\n", backward);
  for (cudaEvent_t event : many) cudaEventDestroy(event);

  cudaEventRecord(untimed, stream);
  cudaEventSynchronize(untimed);
  show("without times", cudaEventElapsedTime(&milliseconds, first, untimed));
  show("flags that do not go together", cudaEventCreateWithFlags(&untimed, cudaEventInterprocess));
  show("no place for the event", cudaEventCreate(nullptr));
  show("null event", cudaEventRecord(nullptr, stream));
  cudaGetLastError();
  cudaEventDestroy(first);
  cudaEventDestroy(second);
  cudaEventDestroy(third);
  cudaFreeHost(flag);
  cudaStreamDestroy(stream);
  show("at the end", cudaDeviceSynchronize());
  return 0;
}
