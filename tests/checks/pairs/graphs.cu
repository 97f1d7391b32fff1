// Graphs by stream capture: their branches come after each other as far as events order them. The wrong ones come
// before the right ones that differ from them by where an event is recorded, or waited for.
#include "host_and_device.cuh"

/// Two streams of one capture, and the graph that it makes.
struct Captured {
  InStream a, b;
  Event fork, join;
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  Captured() { cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal); }
  void begin_branch() {
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork, 0);
  }
  void end_branch() {
    cudaEventRecord(join, b);
    cudaStreamWaitEvent(a, join, 0);
  }
  void finish() {
    cudaStreamEndCapture(a, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
  }
  void launch(cudaStream_t in) { cudaGraphLaunch(executable, in); }
  ~Captured() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
};

// wrong: race.global | in two branches of a graph
HOST(graph_forked_too_early) {
  OnDevice x, y;
  Captured g;
  g.begin_branch();
  fill<<<1, n, 0, g.a>>>(x, 1);     // here
  copy_to<<<1, n, 0, g.b>>>(y, x);  // here
  g.end_branch();
  g.finish();
  g.launch(g.a);
  cudaDeviceSynchronize();
}

// right
HOST(graph_forked_behind_the_kernel) {
  OnDevice x, y;
  Captured g;
  fill<<<1, n, 0, g.a>>>(x, 1);
  g.begin_branch();
  copy_to<<<1, n, 0, g.b>>>(y, x);
  g.end_branch();
  g.finish();
  g.launch(g.a);
  g.launch(g.b);
  cudaDeviceSynchronize();
}

// wrong: race.global | in two branches of a graph
HOST(graph_not_joined_before_the_use) {
  OnDevice x, y;
  Captured g;
  g.begin_branch();
  fill<<<1, n, 0, g.b>>>(x, 1);     // here
  copy_to<<<1, n, 0, g.a>>>(y, x);  // here
  g.end_branch();
  g.finish();
  g.launch(g.a);
  cudaDeviceSynchronize();
}

// right
HOST(graph_joined_before_the_use) {
  OnDevice x, y;
  Captured g;
  g.begin_branch();
  fill<<<1, n, 0, g.b>>>(x, 1);
  double_all<<<1, n, 0, g.a>>>(y, n);
  g.end_branch();
  copy_to<<<1, n, 0, g.a>>>(y, x);
  g.finish();
  g.launch(g.a);
  cudaDeviceSynchronize();
}

// wrong: race.global | in two branches of a graph
HOST(graph_set_and_filled) {
  OnDevice x;
  Captured g;
  g.begin_branch();
  cudaMemsetAsync(x, 0, bytes, g.a);  // here
  fill<<<1, n, 0, g.b>>>(x, 1);       // here
  g.end_branch();
  g.finish();
  g.launch(g.a);
  cudaDeviceSynchronize();
}

void CUDART_CB sum_up(void* data) {
  int* const x = static_cast<int*>(data);
  x[1] += x[0];
}

// wrong: race.host
HOST(graph_host_node_beside_the_kernel) {
  Managed x;
  Captured g;
  g.begin_branch();
  fill<<<1, n, 0, g.a>>>(x, 2);
  cudaLaunchHostFunc(g.b, sum_up, x.p);
  g.end_branch();
  g.finish();
  g.launch(g.a);
  cudaDeviceSynchronize();
}

// right
HOST(graph_host_node_behind_the_kernel) {
  Managed x;
  Captured g;
  fill<<<1, n, 0, g.a>>>(x, 2);
  g.begin_branch();
  cudaLaunchHostFunc(g.b, sum_up, x.p);
  g.end_branch();
  g.finish();
  g.launch(g.a);
  cudaDeviceSynchronize();
  sink = x[1];
}

// right
HOST(graph_launched_in_two_streams) {
  OnDevice x;
  Captured g;
  double_all<<<1, n, 0, g.a>>>(x, n);
  g.finish();
  g.launch(g.a);
  g.launch(g.b);
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(graph_copies_and_is_not_waited_for) {
  OnDevice x;
  Pinned h;
  Captured g;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, g.a);  // here
  g.finish();
  cudaGraphLaunch(g.executable, g.a);  // here
  sink = h[0];                         // here
  cudaDeviceSynchronize();
}

// right
HOST(graph_copies_and_is_waited_for) {
  OnDevice x;
  Pinned h;
  Captured g;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, g.a);
  g.finish();
  g.launch(g.a);
  cudaStreamSynchronize(g.a);
  sink = h[0];
}

__constant__ int c_table[n];

__global__ void copy_table(int* y) {
  y[threadIdx.x] = c_table[threadIdx.x];
}

// wrong: race.global | of __constant__ c_table
HOST(constant_copied_while_it_is_read) {
  OnDevice y;
  Pinned h;
  InStream a, b;
  copy_table<<<1, n, 0, a>>>(y);                                             // here
  cudaMemcpyToSymbolAsync(c_table, h, bytes, 0, cudaMemcpyHostToDevice, b);  // here
  cudaDeviceSynchronize();
}

// right
HOST(constant_copied_behind_its_use) {
  OnDevice y;
  Pinned h;
  InStream a, b;
  Event read;
  copy_table<<<1, n, 0, a>>>(y);
  cudaEventRecord(read, a);
  cudaStreamWaitEvent(b, read, 0);
  cudaMemcpyToSymbolAsync(c_table, h, bytes, 0, cudaMemcpyHostToDevice, b);
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(memory_taken_instead_of_a_wait) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  OnDevice other;
  sink = x[3];  // here
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(time_asked_without_a_wait) {
  Managed x;
  Event begin, end;
  float ms = 0;
  cudaEventRecord(begin);
  fill<<<1, n>>>(x, 2);  // here
  cudaEventRecord(end);
  cudaEventElapsedTime(&ms, begin, end);
  sink = x[3];  // here
  cudaDeviceSynchronize();
}

// right
HOST(time_asked_behind_a_wait) {
  Managed x;
  Event begin, end;
  float ms = 0;
  cudaEventRecord(begin);
  fill<<<1, n>>>(x, 2);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  cudaEventElapsedTime(&ms, begin, end);
  sink = x[3];
}

// wrong: race.global | waits for an event of its own
HOST(event_of_the_same_stream) {
  OnDevice x;
  InStream a, b;
  Event filled;
  fill<<<1, n, 0, a>>>(x, 1);
  cudaEventRecord(filled, b);
  cudaStreamWaitEvent(b, filled, 0);
  double_all<<<1, n, 0, b>>>(x, n);
  cudaDeviceSynchronize();
}

// wrong: race.global | that had not been recorded yet
HOST(event_waited_for_before_its_record) {
  OnDevice x;
  InStream a, b;
  Event filled;
  fill<<<1, n, 0, a>>>(x, 1);
  cudaStreamWaitEvent(b, filled, 0);
  cudaEventRecord(filled, a);
  double_all<<<1, n, 0, b>>>(x, n);
  cudaDeviceSynchronize();
}

struct Bounded {
  int length, result;
};

__global__ void set_result(Bounded* bounded) {
  bounded->result = 42;
}

// wrong: race.host
HOST(read_behind_a_long_loop_on_the_same_page) {
  Managed x(sizeof(Bounded));
  auto* const bounded = reinterpret_cast<Bounded*>(x.p);
  bounded->length = 4000;
  set_result<<<1, 1>>>(bounded);
  int sum = 0;
  for (int k = 0; k < bounded->length; ++k) sum += k;
  sink = sum + bounded->result;  // here
  cudaDeviceSynchronize();
}

// wrong: race.host | frees it
HOST(memory_of_a_pool_freed_in_use) {
  InStream a;
  int* p;
  cudaMallocAsync(reinterpret_cast<void**>(&p), bytes, a);
  fill<<<1, n, 0, a>>>(p, 2);  // here
  cudaFree(p);                 // here
  cudaDeviceSynchronize();
}

// right
HOST(memory_of_a_pool_freed_behind_a_wait) {
  InStream a;
  int* p;
  cudaMallocAsync(reinterpret_cast<void**>(&p), bytes, a);
  fill<<<1, n, 0, a>>>(p, 2);
  cudaStreamSynchronize(a);
  cudaFree(p);
}

// wrong: race.host
HOST(pinned_memory_freed_instead_of_a_wait) {
  Managed x;
  {
    Pinned other;
    fill<<<1, n>>>(x, 2);  // here
  }
  sink = x[3];  // here
  cudaDeviceSynchronize();
}
