// Virtual functions beyond the first page: several bases and the adjusted `this`, virtual bases, calls from base
// constructors, dynamic types that live on from kernel to kernel, pointers to members, tables of function pointers.
#include <cstdio>
#include <new>

#include "arrays.hpp"

struct Named {
  int id;
  __device__ explicit Named(int i) : id(i) {}
  __device__ virtual int name() const { return id; }
  __device__ virtual ~Named() {}
};
struct Scaled {
  float scale;
  __device__ explicit Scaled(float s) : scale(s) { announced = value(1); }  // the base's own value()
  __device__ virtual float value(float x) const { return scale * x; }
  __device__ virtual ~Scaled() {}
  float announced;
};
__device__ int destroyed;

struct Node : Named, Scaled {
  Node* next;
  __device__ Node(int i, float s, Node* n) : Named(i), Scaled(s), next(n) {}
  __device__ float value(float x) const override { return scale * x + name(); }
  __device__ ~Node() override { atomicAdd(&destroyed, 1); }
};
struct Odd final : Node {
  using Node::Node;
  __device__ int name() const override { return -id; }
  __device__ ~Odd() override { atomicAdd(&destroyed, 100); }
};

struct Root {
  int common = 5;
  __device__ virtual int get() const { return common; }
};
struct Left : virtual Root {
  int left = 1;
  __device__ int get() const override { return common * 10 + left; }
};
struct Right : virtual Root {
  int right = 2;
};
struct Bottom : Left, Right {
  __device__ int sum() { return get() + right + common++; }
};

__global__ void build(Node** list, int n) {
  Node* head = nullptr;
  for (int i = 1; i <= n; ++i) head = i % 2 ? new Odd(i, 0.5f, head) : new Node(i, 2.0f, head);
  *list = head;
}

__global__ void use(Node* const* list, float* out) {
  int k = threadIdx.x;
  const Node* node = *list;
  while (k-- > 0) node = node->next;
  const Scaled* scaled = node;  // another address than the Node's
  const Named* named = node;
  out[3 * threadIdx.x] = scaled->value(10);
  out[3 * threadIdx.x + 1] = named->name();
  out[3 * threadIdx.x + 2] = scaled->announced + 1000 * ((const void*)scaled != (const void*)named);
}

__global__ void destroy(Node** list, int* out) {
  for (Node* node = *list; node;) {
    Scaled* victim = node;
    node = node->next;
    delete victim;
  }
  *out = destroyed;
}

__global__ void diamond(int* out) {
  Bottom b;
  Root* root = &b;
  Right* right = &b;
  out[0] = root->get();
  out[1] = b.sum();
  out[2] = right->get();
}

struct Machine {
  int value = 1;
  __device__ int twice() { return value *= 2; }
  __device__ int more() { return value += 3; }
  __device__ virtual int odd() { return value % 2; }
};
struct Loud : Machine {
  __device__ int odd() override { return 100 + value % 2; }
};
using Method = int (Machine::*)();
using Function = float (*)(float);
__device__ float square(float x) {
  return x * x;
}
__device__ float negate(float x) {
  return -x;
}
__device__ float half(float x) {
  return x / 2;
}
// Filled on the device: in the static initialiser of a constant variable the addresses are not what a GPU can call.
__device__ Function functions[4];
__global__ void fill_table() {
  functions[0] = square;
  functions[1] = negate;
  functions[2] = half;
  functions[3] = nullptr;
}

__global__ void members(int* out, const int* choice) {
  // Chosen at run time, so that the calls stay indirect.
  const Method methods[] = {&Machine::twice, &Machine::more, &Machine::odd};
  Machine plain;
  Loud loud;
  Machine& m = choice[0] ? static_cast<Machine&>(loud) : plain;
  for (int k = 0; k < 4; ++k) out[k] = (m.*methods[choice[k]])();
  int Machine::*field = &Machine::value;
  out[4] = m.*field;
}
__global__ void table(float* out) {
  const int lane = threadIdx.x;
  const Function f = functions[lane % 4];  // every lane another function
  out[lane] = f ? f(lane) : -1;
}

int main() {
  const int n = 6;
  const Array<Node*> list(1);
  const Array<float> out(64);
  const Array<int> ints(5);
  build<<<1, 1>>>(list, n);
  use<<<1, n>>>(list, out);
  const auto values = out.read(3 * n);
  for (int k = 0; k < n; ++k) printf("%g %g %g\n", values[3 * k], values[3 * k + 1], values[3 * k + 2]);
  destroy<<<1, 1>>>(list, ints);
  printf("destroyed %d\n", ints.read()[0]);
  diamond<<<1, 1>>>(ints);
  auto h = ints.read();
  printf("diamond %d %d %d\n", h[0], h[1], h[2]);
  members<<<1, 1>>>(ints, Array({2, 1, 0, 2}));
  h = ints.read();
  printf("members %d %d %d %d, value %d\n", h[0], h[1], h[2], h[3], h[4]);
  fill_table<<<1, 1>>>();
  table<<<1, 32>>>(out);
  for (float value : out.read(8)) printf("%g ", value);
  printf("\n%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
