// test: nvcc --extended-lambda
// Lambdas that go to kernels: captures of every sort by value, generic lambdas, one that calls another, constexpr ones,
// lambdas inside device code with reference captures, and both sides of __host__ __device__.
#include <cstdio>
#include <utility>

template <class F, class... Args>
__global__ void call(F f, Args... args) {
  f(blockIdx.x * blockDim.x + threadIdx.x, args...);
}

template <class F>
__global__ void fold(int* out, int n, F f) {
  int result = n;
  for (int k = 1; k <= 4; ++k) result = f(result, k);
  out[threadIdx.x] = result;
}

struct Point {
  int x, y;
};

template <class F, class G>
struct Composed {
  F f;
  G g;
  template <class T>
  __host__ __device__ auto operator()(T x) const {
    return g(f(x));
  }
};
template <class F, class G>
Composed<F, G> compose(F f, G g) {
  return {f, g};
}

class Scaler {
 public:
  Scaler(int factor, int* out) : factor_(factor), out_(out) {}
  void run(int n) const {
    // `this` of the host would be of no use to the device: the object goes by value.
    call<<<1, n>>>([*this] __device__(int i) { out_[i] = factor_ * i; });
  }

 private:
  int factor_;
  int* out_;
};

__global__ void inside(int* out) {
  int total = 0;
  int history[4] = {};
  auto add = [&](int v) {
    history[total % 4] = v;
    total += v;
    return total;
  };
  auto apply = [](auto&& f, auto... values) { return (f(values), ...); };
  out[0] = apply(add, 1, 2, 3);
  out[1] = total;
  out[2] = history[0] + 10 * history[1] + 100 * history[3];
  auto counter = [n = 10]() mutable { return n++; };
  out[3] = counter();
  out[3] += 100 * counter();
  constexpr auto cube = [](int v) { return v * v * v; };
  static_assert(cube(3) == 27);
  out[4] = cube(total);
  int (*pointer)(int) = [](int v) { return v - 1; };
  out[5] = pointer(total);
  auto factorial = [](auto self, int n) -> int { return n < 2 ? 1 : n * self(self, n - 1); };
  out[6] = factorial(factorial, 6);
}

void print(const char* name, const int* d, int n) {
  int h[32];
  cudaMemcpy(h, d, n * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%s:", name);
  for (int k = 0; k < n; ++k) printf(" %d", h[k]);
  printf("\n");
}

int main() {
  int* d;
  cudaMalloc(&d, 64 * sizeof(int));
  const int weights[3] = {3, 5, 7};
  const Point p{100, 200};
  double scale = 0.5;
  char letter = 'A';
  call<<<2, 3>>>(
      [=] __device__(int i) { d[i] = weights[i % 3] + (i % 2 ? p.x : p.y) + int(scale * 4) + (letter == 'A'); });
  print("captures", d, 6);
  call<<<1, 4>>>([=] __device__(int i, auto a, auto b) { d[i] = int(a * i + b); }, 1.5f, Point{7, 9}.y);
  print("generic", d, 4);
  fold<<<1, 2>>>(d, 1, [] __device__(int a, int b) { return a * b; });
  print("factorial", d, 2);
  const auto increment = [] __host__ __device__(int x) { return x + 1; };
  const auto twice = [] __host__ __device__(int x) { return 2 * x; };
  const auto both = compose(compose(increment, twice), increment);
  call<<<1, 3>>>([=] __device__(int i) { d[i] = both(i); });
  print("composed", d, 3);
  printf("on the host: %d\n", both(1));
  Scaler(11, d).run(4);
  print("scaled", d, 4);
  inside<<<1, 1>>>(d);
  print("inside", d, 7);
  int threshold = 2;
  auto select = [threshold] __device__(int i) { return i > threshold; };
  threshold = 100;  // too late for the lambda
  call<<<1, 5>>>([=] __device__(int i) { d[i] = select(i) ? 1 : 0; });
  print("selected", d, 5);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
