// Graphs made by stream capture: what is submitted becomes nodes, which a launch runs in the order of their capture.
// Graphs that a program builds node by node (cudaGraphAdd…) are not supported.
#include <algorithm>
#include <utility>

#include "cudart/call.hpp"

namespace scanlab::cudart {

cudaError_t Capture::add(cudaStream_t stream, GraphNode node) {
  if (invalidated) return cudaErrorStreamCaptureInvalidated;
  CaptureClock& clock = clocks[stream];
  node.branch = branches.try_emplace(stream, branches.size()).first->second;
  for (const auto& [other, nodes] : clock)
    if (other != stream && nodes > 0) node.after.push_back(nodes - 1);
  graph.nodes.push_back(std::make_shared<GraphNode>(std::move(node)));
  clock[stream] = graph.nodes.size();
  return cudaSuccess;
}

Capture* Client::capture_of(cudaStream_t stream) {
  return at(stream).capture.get();
}

cudaError_t Client::refuse_implicit_capture(cudaStream_t stream) {
  if (&at(stream) != &legacy_stream) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for_each_blocking_stream([&](CUstream_st& other) {
    if (!other.capture) return;
    other.capture->invalidated = true;
    error = cudaErrorStreamCaptureImplicit;
  });
  return error;
}

cudaError_t Client::refuse_during_capture(cudaStream_t stream) {
  Capture* capture = capture_of(stream);
  if (capture == nullptr) return refuse_implicit_capture(stream);
  capture->invalidated = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t Client::refuse_during_capture() {
  cudaError_t error = cudaSuccess;
  const auto look_at = [&](cudaStream_t stream) {
    Capture* capture = stream->capture.get();
    if (capture == nullptr || capture->mode == cudaStreamCaptureModeRelaxed) return;
    if (capture->mode == cudaStreamCaptureModeThreadLocal && capture->thread != std::this_thread::get_id()) return;
    capture->invalidated = true;
    error = cudaErrorStreamCaptureUnsupported;
  };
  for (const cudaStream_t stream : per_thread_streams) look_at(stream);
  for (const cudaStream_t stream : streams) look_at(stream);
  return error;
}

namespace {

/// Ends the capture that began in `stream`; its graph, or the error.
cudaError_t end_capture(Client& state, cudaStream_t stream, Graph& graph) {
  const std::shared_ptr<Capture> capture = state.at(stream).capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->origin != &state.at(stream)) return cudaErrorStreamCaptureUnmatched;
  cudaError_t error = capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  CaptureClock& known = capture->clocks[capture->origin];
  for (auto& [other, clock] : capture->clocks)  // the origin has to have waited for the last node of every stream
    if (error == cudaSuccess && known[other] < clock[other]) error = cudaErrorStreamCaptureUnjoined;
  for (auto& [other, clock] : capture->clocks)
    if (state.valid(other)) state.at(other).capture.reset();
  if (error == cudaSuccess) graph = std::move(capture->graph);
  return error;
}

/// `graph`, which is one of `known`.
template <class Graph>
cudaError_t destroy(std::set<Graph> Client::*known, Graph graph) {
  return call([&](Client& state) -> cudaError_t {
    if ((state.*known).erase(graph) == 0) return cudaErrorInvalidValue;
    delete graph;
    return cudaSuccess;
  });
}

CUevent_st make_event(Client& state) {
  return {cudaEventDisableTiming, state.next_id++, false, 0, {}, {}, {}};
}

/// No streams where the graph has one branch only, or too many to number.
std::shared_ptr<Branches> make_branches(Client& state, const Graph& graph) {
  std::size_t count = 0;
  for (const auto& node : graph.nodes) count = std::max(count, node->branch + 1);
  auto made = std::make_shared<Branches>();
  made->end = make_event(state);
  if (count < 2 || count >= wire::most_branches) return made;
  const std::uint64_t first = ++state.branched_graphs_made * wire::most_branches;
  for (std::size_t k = 1; k <= count; ++k) {
    made->streams.push_back({cudaStreamNonBlocking, 0, state.next_id++, {}, {}});
    made->streams.back().name = (first + k) | wire::stream_branch;
  }
  made->begin = make_event(state);
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) made->done.push_back(make_event(state));
  return made;
}

cudaError_t run_node(Client& state, const GraphNode& node, cudaStream_t on) {
  state.await_host_functions(on);
  state.work_in(on);
  state.note_call_site(node.site);
  return node.run(state, on);
}

/// Runs the nodes in the order of their capture. The device is told which of them come after which.
cudaError_t run_nodes(Client& state, const Graph& graph, cudaStream_t on) {
  Branches& branches = *graph.branches;
  if (branches.end.recorded) wait_event(state, on, branches.end);
  if (branches.streams.empty()) {
    for (const auto& node : graph.nodes)
      if (const cudaError_t error = run_node(state, *node, on); error != cudaSuccess) return error;
    return record_event(state, &branches.end, on);
  }
  (void)record_event(state, &branches.begin, on);
  for (CUstream_st& stream : branches.streams) wait_event(state, &stream, branches.begin);
  std::map<std::size_t, std::size_t> last;  // node of each branch
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const GraphNode& node = *graph.nodes[k];
    const cudaStream_t stream = &branches.streams[node.branch];
    for (const std::size_t before : node.after) wait_event(state, stream, branches.done[before]);
    if (const cudaError_t error = run_node(state, node, stream); error != cudaSuccess) return error;
    state.note_work(stream);
    (void)record_event(state, &branches.done[k], stream);
    last[node.branch] = k;
  }
  for (const auto& [branch, node] : last) wait_event(state, on, branches.done[node]);
  return record_event(state, &branches.end, on);
}

cudaError_t run(Client& state, const Graph& graph, cudaStream_t on, const Frames& site) {
  state.note_graph_site(site);
  const cudaError_t error = run_nodes(state, graph, on);
  state.note_graph_site({});
  return error;
}

cudaStreamCaptureStatus status_of(const Capture* capture) {
  if (capture == nullptr) return cudaStreamCaptureStatusNone;
  return capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call_on(stream, [&](Client& state) -> cudaError_t {
    CUstream_st& own = state.at(stream);
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    if (&own == &state.legacy_stream) return cudaErrorStreamCaptureUnsupported;
    if (own.capture) return cudaErrorIllegalState;
    own.capture = std::make_shared<Capture>();
    own.capture->origin = &own;
    own.capture->mode = mode;
    own.capture->thread = std::this_thread::get_id();
    own.capture->clocks[&own];
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph != nullptr) *graph = nullptr;
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (graph == nullptr) return cudaErrorInvalidValue;
    Graph captured;
    if (const cudaError_t error = end_capture(state, stream, captured); error != cudaSuccess) return error;
    *graph = new CUgraph_st{std::move(captured)};
    state.graphs.insert(*graph);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call_on(stream, [&](Client& state) { return give(status, status_of(state.capture_of(stream))); });
}

cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  return call([&](Client&) -> cudaError_t {
    if (mode == nullptr) return cudaErrorInvalidValue;
    std::swap(*mode, current);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                    unsigned long long) {
  return call([&](Client& state) -> cudaError_t {
    if (executable == nullptr || !state.graphs.contains(graph)) return cudaErrorInvalidValue;
    *executable = new CUgraphExec_st{*graph};
    (*executable)->branches = make_branches(state, *graph);
    state.executable_graphs.insert(*executable);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.executable_graphs.contains(executable)) return cudaErrorInvalidValue;
    return state.valid(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  Graph graph;
  const cudaError_t found = call([&](Client& state) -> cudaError_t {
    if (!state.executable_graphs.contains(executable)) return cudaErrorInvalidValue;
    graph = *executable;
    return cudaSuccess;
  });
  if (found != cudaSuccess) return found;
  return submit(stream, cudaGraphNodeTypeGraph,
                [graph, site = frames_here()](Client& state, cudaStream_t on) { return run(state, graph, on, site); });
}

cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.graphs.contains(graph) || count == nullptr) return cudaErrorInvalidValue;
    const std::size_t all = graph->nodes.size();
    if (nodes == nullptr) return give(count, all);
    for (std::size_t i = 0; i < *count; ++i)
      nodes[i] = i < all ? reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(graph->nodes[i].get())) : nullptr;
    *count = std::min(*count, all);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call([&](Client&) -> cudaError_t {
    return node == nullptr ? cudaErrorInvalidValue : give(type, reinterpret_cast<const GraphNode*>(node)->type);
  });
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  return destroy(&Client::graphs, graph);
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t executable) {
  (void)call([&](Client& state) -> cudaError_t {
    if (!state.executable_graphs.contains(executable)) return cudaSuccess;
    const Branches& branches = *executable->branches;
    for (const CUstream_st& stream : branches.streams) state.drop(stream);
    const auto drop = [&](const CUevent_st& event) {
      (void)state.submit({.op = wire::Op::drop_event, .id = event.id});
    };
    std::ranges::for_each(branches.done, drop);
    if (!branches.streams.empty()) drop(branches.begin);
    drop(branches.end);
    return cudaSuccess;
  });
  return destroy(&Client::executable_graphs, executable);
}

}  // extern "C"
