// Rows and boxes: pitched allocations, copies of parts in all directions, sets.
#include <cstring>
#include <vector>

#include "show.hpp"

__global__ void number(char* base, std::size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) reinterpret_cast<int*>(base + y * pitch)[x] = 1000 * y + x;
}

__global__ void number_box(cudaPitchedPtr box, int width, int height, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width * height * depth) return;
  const int x = i % width, y = i / width % height, z = i / (width * height);
  char* slice = static_cast<char*>(box.ptr) + z * box.pitch * height;
  reinterpret_cast<int*>(slice + y * box.pitch)[x] = 10000 * z + 100 * y + x;
}

int main() {
  constexpr int width = 37, height = 11, depth = 5;
  constexpr std::size_t row = width * sizeof(int);
  char* device = nullptr;
  std::size_t pitch = 0;
  show("cudaMallocPitch", cudaMallocPitch(&device, &pitch, row, height));
  std::printf("pitch holds a row: %s, is aligned: %s\n", pitch >= row ? "yes" : "no", pitch % 32 == 0 ? "yes" : "no");
  number<<<dim3(2, 3), dim3(32, 4)>>>(device, pitch, width, height);

  // Device to host: a part of 5 x 3 from (10, 2) into a dense array.
  int part[3][5];
  const char* corner = device + 2 * pitch + 10 * sizeof(int);
  show("to host", cudaMemcpy2D(part, sizeof part[0], corner, pitch, 5 * sizeof(int), 3, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 5; ++x) wrong += part[y][x] != 1000 * (y + 2) + x + 10;
  std::printf("%d wrong\n", wrong);

  // Host to device, device to device with another pitch, and back.
  std::vector<int> host(width * height);
  for (int i = 0; i < width * height; ++i) host[i] = -i;
  show("to device", cudaMemcpy2D(device, pitch, host.data(), row, row, height, cudaMemcpyHostToDevice));
  int* dense = nullptr;
  cudaMalloc(&dense, row * height);
  cudaMemset(dense, 0, row * height);
  show("on device", cudaMemcpy2D(dense, row, device, pitch, row, height - 1, cudaMemcpyDeviceToDevice));
  std::vector<int> back(width * height, 1);
  cudaMemcpy(back.data(), dense, row * height, cudaMemcpyDeviceToHost);
  wrong = 0;
  for (int i = 0; i < width * height; ++i) wrong += back[i] != (i < width * (height - 1) ? -i : 0);
  std::printf("%d wrong\n", wrong);
  std::vector<int> columns(height * 2);
  show("on host", cudaMemcpy2D(columns.data(), 2 * sizeof(int), host.data() + 3, row, 2 * sizeof(int), height,
                               cudaMemcpyHostToHost));
  wrong = 0;
  for (int y = 0; y < height; ++y)
    wrong += columns[2 * y] != -(y * width + 3) || columns[2 * y + 1] != -(y * width + 4);
  std::printf("%d wrong\n", wrong);

  // Sets touch their rectangle only.
  show("cudaMemset2D", cudaMemset2D(device + pitch + sizeof(int), pitch, 0, 3 * sizeof(int), 2));
  cudaMemcpy2D(back.data(), row, device, pitch, row, height, cudaMemcpyDeviceToHost);
  wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool inside = y >= 1 && y < 3 && x >= 1 && x < 4;
      wrong += back[y * width + x] != (inside ? 0 : -(y * width + x));
    }
  std::printf("%d wrong\n", wrong);

  // A box: a part of it to the host.
  cudaPitchedPtr box;
  show("cudaMalloc3D", cudaMalloc3D(&box, make_cudaExtent(row, height, depth)));
  std::printf("sizes %d %d\n", static_cast<int>(box.xsize), static_cast<int>(box.ysize));
  number_box<<<(width * height * depth + 127) / 128, 128>>>(box, width, height, depth);
  int cube[2][3][4];
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = box;
  parameters.srcPos = make_cudaPos(6 * sizeof(int), 5, 2);
  parameters.dstPtr = make_cudaPitchedPtr(cube, 4 * sizeof(int), 4, 3);
  parameters.extent = make_cudaExtent(4 * sizeof(int), 3, 2);
  parameters.kind = cudaMemcpyDeviceToHost;
  show("box to host", cudaMemcpy3D(&parameters));
  wrong = 0;
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x) wrong += cube[z][y][x] != 10000 * (z + 2) + 100 * (y + 5) + x + 6;
  std::printf("%d wrong\n", wrong);

  // Host to a corner of the box, the box to another one, and a set of everything but that.
  std::memset(cube, 0x11, sizeof cube);
  cudaMemcpy3DParms up = {};
  up.srcPtr = parameters.dstPtr;
  up.dstPtr = box;
  up.extent = parameters.extent;
  up.kind = cudaMemcpyHostToDevice;
  show("box to device", cudaMemcpy3DAsync(&up, nullptr));
  cudaPitchedPtr other;
  cudaMalloc3D(&other, make_cudaExtent(row, height, depth));
  show("cudaMemset3D", cudaMemset3D(other, 0x22, make_cudaExtent(row, height, depth)));
  cudaMemcpy3DParms across = {};
  across.srcPtr = box;
  across.dstPtr = other;
  across.dstPos = make_cudaPos(0, 1, 1);
  across.extent = parameters.extent;
  across.kind = cudaMemcpyDeviceToDevice;
  show("box on device", cudaMemcpy3D(&across));
  std::vector<int> all(width * height * depth);
  cudaMemcpy3DParms down = {};
  down.srcPtr = other;
  down.dstPtr = make_cudaPitchedPtr(all.data(), row, width, height);
  down.extent = make_cudaExtent(row, height, depth);
  down.kind = cudaMemcpyDefault;
  show("all to host", cudaMemcpy3D(&down));
  wrong = 0;
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const bool inside = z >= 1 && z < 3 && y >= 1 && y < 4 && x < 4;
        wrong += all[(z * height + y) * width + x] != (inside ? 0x11111111 : 0x22222222);
      }
  std::printf("%d wrong\n", wrong);

  show("a pitch below the width", cudaMemcpy2D(part, 4, device, pitch, 8, 1, cudaMemcpyDeviceToHost));
  show("last error", cudaGetLastError());
  cudaFree(device);
  cudaFree(dense);
  cudaFree(box.ptr);
  cudaFree(other.ptr);
  show("at the end", cudaDeviceSynchronize());
  return 0;
}
