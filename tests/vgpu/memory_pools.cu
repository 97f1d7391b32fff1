// Memory in the order of a stream, and the pools that it comes from.
#include <cstdint>

#include "show.hpp"

__global__ void fill(int* data, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = value + i;
}

static std::uint64_t number(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t value = ~std::uint64_t{0};
  cudaMemPoolGetAttribute(pool, attribute, &value);
  return value;
}

static const char* yes(bool condition) {
  return condition ? "yes" : "no";
}

int main() {
  constexpr int n = 1 << 18;
  constexpr std::size_t bytes = n * sizeof(int);
  int supported = 0;
  cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0);
  std::printf("supported: %d\n", supported);

  cudaStream_t stream;
  cudaStreamCreate(&stream);
  int* data = nullptr;
  int last = 0;
  show("allocate", cudaMallocAsync(&data, bytes, stream));
  fill<<<1, 256, 0, stream>>>(data, n, 3);
  cudaMemcpyAsync(&last, data + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream);
  show("free", cudaFreeAsync(data, stream));
  show("stream", cudaStreamSynchronize(stream));
  std::printf("last: %d\n", last);

  cudaMemPool_t pool, same;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaDeviceGetMemPool(&same, 0);
  std::printf("the default pool is the device's: %s\n", yes(pool == same));
  std::printf("it releases at once: %s\n", yes(number(pool, cudaMemPoolAttrReleaseThreshold) == 0));
  std::uint64_t threshold = UINT64_MAX;
  show("threshold", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  std::printf("kept: %s\n", yes(number(pool, cudaMemPoolAttrReleaseThreshold) == UINT64_MAX));

  std::uint64_t zero = 0;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero);
  std::printf("used: %d\n", static_cast<int>(number(pool, cudaMemPoolAttrUsedMemCurrent)));
  int* blocks[3];
  for (int*& block : blocks) cudaMallocAsync(&block, bytes, stream);
  cudaStreamSynchronize(stream);
  std::printf("used: %d MiB\n", static_cast<int>(number(pool, cudaMemPoolAttrUsedMemCurrent) >> 20));
  for (int* block : blocks) cudaFreeAsync(block, stream);
  cudaStreamSynchronize(stream);
  std::printf("used: %d MiB, at most %d MiB, still reserved: %s\n",
              static_cast<int>(number(pool, cudaMemPoolAttrUsedMemCurrent) >> 20),
              static_cast<int>(number(pool, cudaMemPoolAttrUsedMemHigh) >> 20),
              yes(number(pool, cudaMemPoolAttrReservedMemCurrent) >= 3 * bytes));
  show("trim", cudaMemPoolTrimTo(pool, 0));
  std::printf("reserved: %d\n", static_cast<int>(number(pool, cudaMemPoolAttrReservedMemCurrent)));

  int reuse = -1;
  cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse);
  std::printf("reuse: %d\n", reuse);

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t own;
  show("a pool of one's own", cudaMemPoolCreate(&own, &properties));
  show("allocate from it", cudaMallocFromPoolAsync(&data, bytes, own, stream));
  fill<<<1, 256, 0, stream>>>(data, n, 7);
  cudaMemcpyAsync(&last, data + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("last: %d, used there: %d MiB, in the default pool: %d MiB\n", last,
              static_cast<int>(number(own, cudaMemPoolAttrUsedMemCurrent) >> 20),
              static_cast<int>(number(pool, cudaMemPoolAttrUsedMemCurrent) >> 20));
  show("free", cudaFreeAsync(data, stream));
  cudaStreamSynchronize(stream);
  show("make it the device's", cudaDeviceSetMemPool(0, own));
  cudaDeviceGetMemPool(&same, 0);
  std::printf("it is: %s\n", yes(same == own));
  show("destroy it", cudaMemPoolDestroy(own));

  // cudaFree takes this memory too, and waits.
  cudaMallocAsync(&data, bytes, stream);
  cudaStreamSynchronize(stream);
  show("cudaFree", cudaFree(data));
  cudaStreamDestroy(stream);
  show("at the end", cudaDeviceSynchronize());
  return 0;
}
