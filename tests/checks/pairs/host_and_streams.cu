// The host beside streams and events. The wrong ones come before the right ones that differ from them
// by what the host waits for, or by what it touches.
#include <chrono>
#include <thread>

#include "host_and_device.cuh"

// ---- streams and events ---------------------------------------------------------------------------------------------

// wrong: race.host | call cudaStreamSynchronize() for stream #
HOST(stream_not_waited_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(stream_waited_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host
HOST(other_stream_waited_for) {
  Managed x, y;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  fill<<<1, n, 0, t>>>(y, 2);
  cudaStreamSynchronize(t);
  sink = y[0];
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(each_stream_waited_for) {
  Managed x, y;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  fill<<<1, n, 0, t>>>(y, 2);
  cudaStreamSynchronize(t);
  sink = y[0];
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host
HOST(default_stream_waited_for_beside_non_blocking) {
  Managed x;
  InStream s(cudaStreamNonBlocking);
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(nullptr);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(default_stream_waited_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(nullptr);
  sink = x[0];
}

// wrong: race.host
HOST(event_recorded_too_early) {
  Managed x;
  Event done;
  cudaEventRecord(done);
  fill<<<1, n>>>(x, 2);
  cudaEventSynchronize(done);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(event_recorded_behind) {
  Managed x;
  Event done;
  fill<<<1, n>>>(x, 2);
  cudaEventRecord(done);
  cudaEventSynchronize(done);
  sink = x[0];
}

// wrong: race.host
HOST(event_between_two_launches) {
  Managed x, y;
  Event done;
  fill<<<1, n>>>(y, 2);
  cudaEventRecord(done);
  fill<<<1, n>>>(x, 2);
  cudaEventSynchronize(done);
  sink = y[0];
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(event_of_the_first_launch) {
  Managed x, y;
  Event done;
  fill<<<1, n>>>(y, 2);
  cudaEventRecord(done);
  fill<<<1, n>>>(x, 2);
  cudaEventSynchronize(done);
  for (int i = 0; i < n; ++i) sink = y[i];
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(event_waited_for_by_a_stream_only) {
  Managed x;
  InStream s, t;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(stream_that_waits_for_the_event) {
  Managed x;
  InStream s, t;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  cudaStreamSynchronize(t);
  sink = x[0];
}

// wrong: race.host
HOST(stream_asked_once) {
  Managed x;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  (void)cudaStreamQuery(t);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(stream_asked_until_it_is_done) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  while (cudaStreamQuery(s) == cudaErrorNotReady) {
  }
  sink = x[0];
}

// wrong: race.host
HOST(its_stream_asked_once) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  (void)cudaStreamQuery(s);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(event_asked_once) {
  Managed x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (cudaEventQuery(done) == cudaSuccess) sink = 1;
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(asked_behind_a_synchronisation) {
  Managed x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaDeviceSynchronize();
  if (cudaStreamQuery(s) == cudaSuccess && cudaEventQuery(done) == cudaSuccess) sink = x[0];
}

// right
HOST(event_asked_until_it_is_done) {
  Managed x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  while (cudaEventQuery(done) != cudaSuccess) std::this_thread::yield();
  sink = x[0];
}

// wrong: race.host
HOST(attached_to_a_stream) {
  Managed x;
  InStream s;
  cudaStreamAttachMemAsync(s, x.p, 0, cudaMemAttachSingle);
  cudaStreamSynchronize(s);
  fill<<<1, n, 0, s>>>(x, 2);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(attached_to_a_stream_and_another_runs) {
  Managed x, y;
  InStream s, t;
  cudaStreamAttachMemAsync(s, x.p, 0, cudaMemAttachSingle);
  cudaStreamAttachMemAsync(t, y.p, 0, cudaMemAttachSingle);
  cudaDeviceSynchronize();
  fill<<<1, n, 0, s>>>(x, 2);
  sink = y[0];
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host
HOST(graph_not_waited_for) {
  Managed x;
  InStream s;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, s);
  sink = x[0];  // here
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph);
}

// right
HOST(graph_waited_for) {
  Managed x;
  InStream s;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  fill<<<1, n, 0, s>>>(x, 2);
  sink = x[0];
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  for (int k = 0; k < 3; ++k) {
    cudaGraphLaunch(executable, s);
    cudaStreamSynchronize(s);
    sink = x[0];
  }
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph);
}

// wrong: race.host
HOST(stream_destroyed_only) {
  Managed x;
  {
    InStream s;
    fill<<<1, n, 0, s>>>(x, 2);
  }
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// ---- lines of launches ----------------------------------------------------------------------------------------------

// wrong: race.global | kernel fill in stream #1 writes it ... it is launched ... it is launched
HOST(launched_in_two_streams) {
  OnDevice x;
  InStream s, t;
  cudaDeviceSynchronize();
  fill<<<1, n, 0, s>>>(x, 2);  // here
  fill<<<1, n, 0, t>>>(x, 3);  // here
  cudaDeviceSynchronize();
}

// right
HOST(launched_in_one_stream) {
  OnDevice x;
  InStream s;
  cudaDeviceSynchronize();
  fill<<<1, n, 0, s>>>(x, 2);
  fill<<<1, n, 0, s>>>(x, 3);
  cudaDeviceSynchronize();
}

// ---- lines of calls -------------------------------------------------------------------------------------------------

// wrong: race.global | cudaMemcpyAsync and cudaFreeAsync
HOST(copied_and_freed) {
  Pinned h;
  InStream s, t;
  int* x;
  cudaMallocAsync(&x, bytes, s);  // here
  cudaMemsetAsync(x, 0, bytes, s);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);  // here
  cudaFreeAsync(x, t);                                      // here
  cudaDeviceSynchronize();
}

// right
HOST(copied_and_freed_behind_an_event) {
  Pinned h;
  InStream s, t;
  Event done;
  int* x;
  cudaMallocAsync(&x, bytes, s);
  cudaMemsetAsync(x, 0, bytes, s);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  cudaFreeAsync(x, t);
  cudaDeviceSynchronize();
}

// wrong: race.global | cudaMemsetAsync and cudaMemsetAsync
HOST(set_by_two_streams) {
  InStream s, t;
  int* x;
  cudaMalloc(&x, bytes);            // here
  cudaMemsetAsync(x, 0, bytes, s);  // here
  cudaMemsetAsync(x, 1, bytes, t);  // here
  cudaDeviceSynchronize();
  cudaFree(x);
}

// right
HOST(set_by_one_stream) {
  InStream s, t;
  int* x;
  cudaMalloc(&x, bytes);
  cudaMemsetAsync(x, 0, bytes, s);
  cudaMemsetAsync(x, 1, bytes, s);
  cudaDeviceSynchronize();
  cudaMemsetAsync(x, 1, bytes, t);
  cudaDeviceSynchronize();
  cudaFree(x);
}
