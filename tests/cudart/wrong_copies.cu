// test: vgpu
// Copies that a GPU refuses or, worse, does not notice; and a call that is not supported. Each is explained.
#include "show.hpp"

int main() {
  char h[32] = {};
  char* d_x;
  cudaMalloc(&d_x, 16);
  show("arguments the wrong way round", cudaMemcpy(h, d_x, 16, cudaMemcpyHostToDevice));
  show("wrong kind", cudaMemcpy(d_x, h, 16, cudaMemcpyDeviceToDevice));
  show("between two of the device, as from the host", cudaMemcpy(d_x, d_x + 8, 8, cudaMemcpyHostToDevice));
  show("between two of the host, as to the device", cudaMemcpy(h, h + 16, 16, cudaMemcpyHostToDevice));
  show("too long", cudaMemcpy(d_x, h, 20, cudaMemcpyHostToDevice));
  show("too long from the middle", cudaMemcpy(h, d_x + 8, 9, cudaMemcpyDeviceToHost));
  show("set too long", cudaMemset(d_x, 0, 17));
  show("set on the host", cudaMemset(h, 0, 1));
  show("null", cudaMemcpy(nullptr, d_x, 1, cudaMemcpyDeviceToHost));
  show("free of the middle", cudaFree(d_x + 8));
  show("free", cudaFree(d_x));
  show("free again", cudaFree(d_x));
  show("copy after free", cudaMemcpy(h, d_x, 1, cudaMemcpyDeviceToHost));
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  show("array", cudaMallocArray(&array, &format, 4));
  show("array again", cudaMallocArray(&array, &format, 4));
  show("last error", cudaGetLastError());
  show("then", cudaGetLastError());
  return 0;
}
