// Errors by name: what is remembered, what is forgotten, and what stays.
#include <cstring>

#include "show.hpp"

__global__ void nothing() {}
__global__ void write(int* x) {
  *x = 1;
}

int main() {
  show("at first", cudaGetLastError());
  const struct {
    cudaError_t code;
    const char* name;
  } known[] = {
      {cudaSuccess, "cudaSuccess"},
      {cudaErrorInvalidValue, "cudaErrorInvalidValue"},
      {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
      {cudaErrorInitializationError, "cudaErrorInitializationError"},
      {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration"},
      {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue"},
      {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol"},
      {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection"},
      {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver"},
      {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable"},
      {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction"},
      {cudaErrorNoDevice, "cudaErrorNoDevice"},
      {cudaErrorInvalidDevice, "cudaErrorInvalidDevice"},
      {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice"},
      {cudaErrorInvalidPtx, "cudaErrorInvalidPtx"},
      {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
      {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound"},
      {cudaErrorNotReady, "cudaErrorNotReady"},
      {cudaErrorIllegalAddress, "cudaErrorIllegalAddress"},
      {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources"},
      {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout"},
      {cudaErrorAssert, "cudaErrorAssert"},
      {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered"},
      {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered"},
      {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress"},
      {cudaErrorLaunchFailure, "cudaErrorLaunchFailure"},
      {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge"},
      {cudaErrorNotPermitted, "cudaErrorNotPermitted"},
      {cudaErrorNotSupported, "cudaErrorNotSupported"},
      {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported"},
      {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated"},
      {cudaErrorUnknown, "cudaErrorUnknown"},
  };
  int wrong = 0, silent = 0;
  for (const auto& error : known) {
    wrong += std::strcmp(cudaGetErrorName(error.code), error.name) != 0;
    silent += std::strlen(cudaGetErrorString(error.code)) < 5;
  }
  std::printf("%d wrong names, %d without a text\n", wrong, silent);
  std::printf("%s | %s | %s\n", cudaGetErrorString(cudaSuccess), cudaGetErrorString(cudaErrorMemoryAllocation),
              cudaGetErrorString(cudaErrorIllegalAddress));
  std::printf("%s | %s\n", cudaGetErrorName(static_cast<cudaError_t>(12345)),
              cudaGetErrorString(static_cast<cudaError_t>(12345)));

  // A refused call is remembered until it is asked for; peeking leaves it.
  int* x = nullptr;
  show("refused", cudaMemcpy(nullptr, &x, 4, cudaMemcpyHostToDevice));
  show("a call that succeeds", cudaMalloc(&x, 4));
  show("peek", cudaPeekAtLastError());
  show("get", cudaGetLastError());
  show("get again", cudaGetLastError());

  // A refused launch, and work goes on.
  nothing<<<1, 2000>>>();
  std::printf("too many threads: %s\n", cudaPeekAtLastError() != cudaSuccess ? "refused" : "accepted");
  cudaGetLastError();
  nothing<<<0, 32>>>();
  std::printf("no blocks: %s\n", cudaGetLastError() != cudaSuccess ? "refused" : "accepted");
  nothing<<<1, dim3(32, 1, 65)>>>();
  std::printf("65 in z: %s\n", cudaGetLastError() != cudaSuccess ? "refused" : "accepted");
  write<<<1, 1>>>(x);
  show("work goes on", cudaDeviceSynchronize());

  // The last of two refusals is the one remembered.
  cudaSetDevice(1000);
  cudaMalloc(nullptr, 4);
  show("the later one", cudaGetLastError());
  show("copy with an unknown direction", cudaMemcpy(x, x, 4, static_cast<cudaMemcpyKind>(77)));
  cudaGetLastError();

  // A kernel that is stopped: every call that looks at the device returns its error from
  // then on, and the last error is that of these calls: once it has been asked for, it is gone until the next one.
  write<<<1, 1>>>(nullptr);
  show("a kernel writes to address 0", cudaDeviceSynchronize());
  show("cudaMalloc", cudaMalloc(&x, 4));
  show("cudaFree", cudaFree(x));
  nothing<<<1, 1>>>();
  show("a launch", cudaGetLastError());
  show("get", cudaGetLastError());
  show("peek", cudaPeekAtLastError());
  return 0;
}
