// Kernels that tell the host by a flag how far they are. The wrong ones come before the right ones that differ from
// them by a fence, or by what the host has looked at before it uses what the kernel has written.
#include <atomic>
#include <cuda/atomic>
#include <thread>

#include "host_and_device.cuh"

/// A flag in memory of its own.
struct Flag {
  Pinned memory{n, cudaHostAllocMapped};
  Flag() { reset(); }
  void reset() { *word() = 0; }
  volatile int* word() const { return memory.p; }
  int* on_device() const { return memory.on_device(); }
  void await(int value = 1) const {
    while (*word() < value) {
    }
  }
};

// wrong: race.host
HOST(flag_looked_at_too_late) {
  Managed x;
  Flag flag;
  produce<<<1, 1>>>(x, flag.on_device());
  sink = x[0];  // here
  flag.await();
  cudaDeviceSynchronize();
}

// right
HOST(flag_looked_at_before) {
  Managed x;
  Flag flag;
  produce<<<1, 1>>>(x, flag.on_device());
  flag.await();
  sink = x[0];
  cudaDeviceSynchronize();
}

__global__ void produce_without_fence(int* data, volatile int* flag) {
  *data = 42;
  *flag = 1;
}

// wrong: race.host | no __threadfence_system()
HOST(flag_without_fence) {
  Managed x;
  Flag flag;
  produce_without_fence<<<1, 1>>>(x, flag.on_device());
  flag.await();
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(flag_without_fence_and_a_synchronisation) {
  Managed x;
  Flag flag;
  produce_without_fence<<<1, 1>>>(x, flag.on_device());
  flag.await();
  cudaDeviceSynchronize();
  sink = x[0];
}

__global__ void produce_with_narrow_fence(int* data, int* flag) {
  *data = 42;
  __threadfence();
  atomicExch_system(flag, 1);
}

// wrong: race.host | no __threadfence_system()
HOST(flag_with_a_fence_for_the_device) {
  Managed x;
  Flag flag;
  produce_with_narrow_fence<<<1, 1>>>(x, flag.on_device());
  flag.await();
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

__global__ void produce_by_release(int* data, int* flag) {
  *data = 42;
  cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).store(1, cuda::memory_order_release);
}

// right
HOST(flag_that_is_released) {
  Managed x;
  Flag flag;
  produce_by_release<<<1, 1>>>(x, flag.on_device());
  while (reinterpret_cast<std::atomic<int>*>(flag.memory.p)->load(std::memory_order_acquire) == 0) {
  }
  sink = x[0];
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(flag_of_another_stream) {
  Managed x, y;
  Flag flag;
  InStream a, b;
  fill<<<1, n, 0, b>>>(y, 2);
  produce<<<1, 1, 0, a>>>(x, flag.on_device());
  flag.await();
  sink = y[3];  // here
  cudaDeviceSynchronize();
}

// right
HOST(flag_of_later_work) {
  Managed x, y;
  Flag flag;
  InStream a;
  fill<<<1, n, 0, a>>>(y, 2);
  produce<<<1, 1, 0, a>>>(x, flag.on_device());
  flag.await();
  sink = y[3];
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(flag_of_the_launch_before) {
  Managed x;
  Flag flag;
  produce<<<1, 1>>>(x, flag.on_device());
  flag.await();
  flag.reset();
  produce<<<1, 1>>>(x, flag.on_device());
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(flag_of_both_launches) {
  Managed x;
  Flag flag;
  produce<<<1, 1>>>(x, flag.on_device());
  flag.await();
  flag.reset();
  produce<<<1, 1>>>(x, flag.on_device());
  flag.await();
  sink = x[0];
  cudaDeviceSynchronize();
}

struct Box {
  int* data;
  volatile int* flag;
};

__global__ void produce_in(Box* box) {
  *box->data = 42;
  __threadfence_system();
  *box->flag = 1;
}

// right
HOST(flag_behind_a_pointer) {
  Managed x, box(sizeof(Box) / sizeof(int));
  Flag flag;
  auto* const in = reinterpret_cast<Box*>(box.p);
  *in = {x, flag.on_device()};
  produce_in<<<1, 1>>>(in);
  flag.await();
  sink = x[0];
  cudaDeviceSynchronize();
}

__global__ void produce_in_pieces(int* data, volatile int* done) {
  for (int piece = 0; piece < 4; ++piece) {
    data[piece] = piece;
    __threadfence_system();
    *done = piece + 1;
  }
}

// right
HOST(flag_counts_pieces) {
  Managed x;
  Flag done;
  produce_in_pieces<<<1, 1>>>(x, done.on_device());
  for (int piece = 0; piece < 4; ++piece) {
    done.await(piece + 1);
    sink = x[piece];
  }
  cudaDeviceSynchronize();
}

// right
HOST(flag_seen_by_another_thread) {
  Managed x;
  Flag flag;
  std::thread reader([&] {
    flag.await();
    sink = x[0];
  });
  produce<<<1, 1>>>(x, flag.on_device());
  cudaDeviceSynchronize();
  reader.join();
}

// wrong: race.global
HOST(flag_not_looked_at_before_another_stream) {
  OnDevice x;
  Flag flag;
  InStream a, b;
  produce<<<1, 1, 0, a>>>(x, flag.on_device());
  double_all<<<1, n, 0, b>>>(x, n);
  cudaDeviceSynchronize();
}

// right
HOST(flag_looked_at_before_another_stream) {
  OnDevice x;
  Flag flag;
  InStream a, b;
  produce<<<1, 1, 0, a>>>(x, flag.on_device());
  flag.await();
  double_all<<<1, n, 0, b>>>(x, n);
  cudaDeviceSynchronize();
}

// wrong: race.host | either value may remain
HOST(flag_cleared_behind_the_launch) {
  Managed x;
  Pinned flag(n, cudaHostAllocMapped);
  produce<<<1, 1>>>(x, flag.on_device());  // here: the kernel's line
  *flag.p = 0;                             // here
  cudaDeviceSynchronize();
}

// right
HOST(flag_cleared_once_it_was_seen) {
  Managed x;
  Flag flag;
  for (int round = 0; round < 2; ++round) {
    produce<<<1, 1>>>(x, flag.on_device());
    flag.await();
    sink = x[0];
    flag.reset();
  }
  cudaDeviceSynchronize();
}

__global__ void count_for_host(int* count) {
  atomicAdd_system(count, 1);
}

// right
HOST(counter_of_both) {
  Managed count;
  count_for_host<<<4, 32>>>(count);
  __atomic_fetch_add(count.p, 1, __ATOMIC_RELAXED);
  cudaDeviceSynchronize();
}
