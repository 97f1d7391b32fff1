// What streams, events and graphs remember. Everything but host functions is done in the order of submission.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace scanlab::cudart {

class Client;

/// A host function that waits for its turn or runs, in a thread of the runtime's own.
struct HostCall {
  std::function<void(cudaError_t)> run;
  bool runs_after_errors = false;     ///< a callback gets the error; a host function is left out
  bool done = false;                  ///< under Client::mutex
  std::vector<std::uint64_t> events;  ///< recorded after it, while it had not ended
  const void* data = nullptr;         ///< that it is given
  std::uint64_t id = 0;               ///< at the server
  bool is_wanted = false;             ///< under Client::turn_mutex_: somebody waits for it
};
using HostCalls = std::vector<std::shared_ptr<HostCall>>;

/// True in the thread that runs host functions: they may not call CUDA.
extern thread_local bool in_host_function;
/// The host function whose accesses are reported, in that thread; 0: none are.
extern thread_local std::uint64_t running_host_function;

/// A node of a graph. Nodes run in the order in which they were captured.
struct GraphNode {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<cudaError_t(Client&, cudaStream_t)> run;
  std::vector<std::uint64_t> site = {};  ///< where it was captured (Frames)
  std::size_t branch = 0;                ///< the captured stream, by the order of their first nodes
  std::vector<std::size_t> after = {};   ///< nodes of other branches that it comes after
};

struct Branches;
struct Graph {
  std::vector<std::shared_ptr<const GraphNode>> nodes;
  std::shared_ptr<Branches> branches = nullptr;  ///< of an executable graph
};

/// The nodes of each captured stream (Client::at, no special handles) that something is known to come after: a vector
/// clock.
using CaptureClock = std::map<cudaStream_t, std::size_t>;

/// Streams that are being captured into one graph.
struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;  ///< that began it
  bool invalidated = false;
  Graph graph;
  std::map<cudaStream_t, CaptureClock> clocks;   ///< of every stream that takes part
  std::map<cudaStream_t, std::size_t> branches;  ///< of those with nodes

  cudaError_t add(cudaStream_t stream, GraphNode node);
};

/// Records an event in a stream; in one that is being captured, its place in the graph.
cudaError_t record_event(Client& state, cudaEvent_t event, cudaStream_t stream);
/// What the stream is given from now on comes after the event, which stands for no place in a graph.
void wait_event(Client& state, cudaStream_t stream, const CUevent_st& event);

}  // namespace scanlab::cudart

/// What a cudaStream_t points to.
struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  scanlab::cudart::HostCalls host_calls;  ///< what work on this stream has to wait for
  std::shared_ptr<scanlab::cudart::Capture> capture;
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes = {};
  std::uint64_t sent = 0;  ///< requests sent when work was last submitted to it: it is idle when these are done
  std::uint64_t name = 0;  ///< what requests call it
};

/// What a cudaEvent_t points to.
struct CUevent_st {
  unsigned flags = 0;
  std::uint64_t id = 0;  ///< at the server
  bool recorded = false;
  std::uint64_t sent = 0;                             ///< requests sent when it was recorded: done when these are
  scanlab::cudart::HostCalls host_calls;              ///< what it comes after
  std::shared_ptr<scanlab::cudart::Capture> capture;  ///< recorded in a stream that was being captured
  scanlab::cudart::CaptureClock clock;
};

/// What stands for the branches of an executable graph while it runs: a stream each, where there are several, and
/// events between them. Its launches come one after the other, in whatever streams they are.
struct scanlab::cudart::Branches {
  std::vector<CUstream_st> streams;
  CUevent_st begin, end;
  std::vector<CUevent_st> done;  ///< by node
};

struct CUgraph_st : scanlab::cudart::Graph {};
struct CUgraphExec_st : scanlab::cudart::Graph {};
