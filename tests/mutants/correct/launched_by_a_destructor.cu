// expect: pass 01_sequential | a class with state whose destructor launches; the kernel takes it by value and calls
// itself

#include "scanlab.cuh"

struct Task {
  const Element* x;
  Element* y;
  int count;
};

__device__ Element fold(Task task, Element sum, int depth) {
  if (task.count == 0) return sum;
  if (depth == 0) {
    for (int k = 0; k < task.count; ++k) {
      sum = sum + task.x[k];
      task.y[k] = sum;
    }
    return sum;
  }
  const int half = task.count / 2;
  sum = fold({task.x, task.y, half}, sum, depth - 1);
  return fold({task.x + half, task.y + half, task.count - half}, sum, depth - 1);
}

__global__ void start(Task task) {
  const Element first = *task.y = *task.x;
  fold({task.x + 1, task.y + 1, task.count - 1}, first, 3);
}

__global__ void start_exclusive(Task task) {
  task.y[0] = identity();
  if (task.count < 2) return;
  const Element first = task.y[1] = task.x[0];
  fold({task.x + 1, task.y + 2, task.count - 2}, first, 3);
}

class Launcher {
 public:
  explicit Launcher(Task task, void (*kernel)(Task)) : task_(task), kernel_(kernel) {}
  ~Launcher() {
    if (task_.count > 0) kernel_<<<1, 1>>>(task_);
  }

 private:
  Task task_;
  void (*kernel_)(Task);
};

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  Launcher{Task{d_x, d_y, n}, kind == Kind::inclusive ? start : start_exclusive};
}
