// The program's side of the virtual GPU: the connection, and what CUDA's runtime remembers of one process.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cudart/memory/host_watch.hpp"
#include "cudart/streams/streams.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/server/protocol.hpp"

namespace scanlab::cudart {

namespace wire = server::wire;
/// One fat binary of the program: one translation unit. With relocatable device code the fat binaries of all of them.
struct Module {
  std::vector<std::span<const std::byte>> fatbins;
  std::uint64_t id = 0;  ///< at the server; 0: not loaded
  cudaError_t refused = cudaSuccess;
};

struct LaunchShape {
  dim3 grid, block;
  std::uint64_t dynamic_shared = 0;
  bool cooperative = false;

  bool operator==(const LaunchShape& other) const {
    const auto words = [](const LaunchShape& s) {
      return std::tuple(s.grid.x, s.grid.y, s.grid.z, s.block.x, s.block.y, s.block.z, s.dynamic_shared, s.cooperative);
    };
    return words(*this) == words(other);
  }
};

/// One kernel. `facts` and `places` are known once it has been looked up (`id` is not 0).
struct Function {
  Module* module = nullptr;
  std::string name;  ///< mangled
  std::uint64_t id = 0;
  wire::KernelFacts facts;
  std::vector<wire::ParameterPlace> places;
  std::uint64_t max_dynamic_shared = 0;  ///< by cudaFuncSetAttribute; 0: the device's default
  int carveout = -1;                     ///< by cudaFuncSetAttribute; a hint
  std::vector<LaunchShape> accepted;     ///< launches that the device did not refuse: their like need no reply
};

/// One __device__, __constant__ or __managed__ variable.
struct Variable {
  Module* module = nullptr;
  std::string name;
  void** managed_pointer = nullptr;  ///< of a __managed__ variable: where the host finds its address
  bool mapped = false;               ///< a __managed__ variable that the host can use
  Address address = 0;               ///< 0: not looked up
  std::uint64_t bytes = 0;
};

enum class MemoryKind {
  device,
  managed,
  pinned,      ///< cudaMallocHost, cudaHostAlloc
  registered,  ///< cudaHostRegister: the device's addresses of memory that the program has elsewhere
};

/// Memory with an address in the device's window. All but `MemoryKind::device` is mapped in this process too.
struct AllocationNote {
  std::uint64_t bytes = 0;
  std::string label;  ///< as the server's: "cudaMalloc #3 (4096 bytes)"
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;  ///< of cudaHostAlloc, cudaMallocManaged, cudaHostRegister
};

/// Memory of the program's own that it has registered.
struct Registration {
  std::size_t bytes = 0;
  unsigned flags = 0;
  Address device = 0;  ///< 0: kernels cannot use it
};

inline cudaError_t error_of(const wire::Reply& reply) {
  return static_cast<cudaError_t>(reply.error);
}

/// One process has one. Members below need `mutex`; `call` (call.hpp) takes it.
class Client {
 public:
  std::mutex mutex;

  enum class Link { not_tried, open, absent, lost, forked } link = Link::not_tried;
  wire::DeviceFacts device;
  cudaError_t sticky = cudaSuccess;  ///< of a kernel that was stopped; every call returns it until cudaDeviceReset

  std::deque<Module> modules;  ///< deques: their elements stay where they are
  std::deque<Function> functions;
  std::deque<Variable> variables;
  std::unordered_map<const void*, Function*> function_of;  ///< by the address of the host's stub
  std::unordered_map<const void*, Variable*> variable_of;  ///< by the address of the host's shadow variable
  std::map<Address, AllocationNote> allocations;
  /// Those of memory that the host could use, and that are given back: for messages.
  std::map<Address, AllocationNote> freed;
  static constexpr std::size_t most_freed = 4096;
  std::array<std::uint64_t, wire::allocate_kinds> allocation_number = {1, 1, 1, 1};  ///< of the next, by MemoryKind
  std::map<const void*, Registration> registrations;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<cudaGraph_t> graphs;
  std::set<cudaGraphExec_t> executable_graphs;
  unsigned long long next_id = 10;  ///< of streams and events
  CUstream_st legacy_stream{0, 0, 1, {}, {}};
  std::set<cudaStream_t> per_thread_streams;  ///< of the threads that have used theirs
  std::uint64_t streams_made = 0, per_thread_streams_made = 0, branched_graphs_made = 0;

  /// Connects on first use. False: there is no device (said once on stderr).
  bool connect();
  /// Sends a request and waits for its reply, with its payload and its descriptor where these are asked for. A lost
  /// connection becomes a sticky cudaErrorDevicesUnavailable.
  wire::Reply exchange(wire::Request request, std::span<const std::byte> payload = {},
                       std::vector<std::byte>* answer = nullptr, int* descriptor = nullptr);
  /// The same, for requests of which only the error matters.
  cudaError_t submit(const wire::Request& request) { return error_of(exchange(request)); }
  /// Sends a request that has no reply.
  void post(wire::Request request, std::span<const std::byte> payload = {});
  /// What a call waits for: so that the order of later work is known.
  struct Wait {
    wire::HostWait what = wire::HostWait::none;
    std::uint64_t stream = 0, event = 0;
  };
  Wait wait_for(cudaStream_t stream) { return {wire::HostWait::stream, at(stream).name, 0}; }
  static Wait wait_for(const CUevent_st& event) { return {wire::HostWait::event, 0, event.id}; }
  static Wait wait_for_all() { return {wire::HostWait::all, 0, 0}; }
  /// The host knows that what `wait` names is done, by other ways than `synchronise`.
  void note(const Wait& wait);
  /// The same, and surfaces a fault where nothing else has to be waited for.
  cudaError_t note_done(const Wait& wait);
  /// Waits for the device: surfaces a fault, and prints what the device printed.
  cudaError_t synchronise(const Wait& wait);
  cudaError_t synchronise() { return synchronise(Wait()); }
  /// Requests sent so far; are so many of them done? Does not wait.
  std::uint64_t sent() const { return sent_; }
  bool done(std::uint64_t requests) const;
  /// Does the program ask for the first time whether so many requests are done, without having waited? It is told that
  /// they are not, whatever the time: a program that does not look at the answer is the same in each run.
  bool asks_first(std::uint64_t requests);
  /// Waits until so many requests are done. What was sent later is waited for too, unless it takes long (it may wait
  /// for the host): then faults surface, and printed text shows, at a later call.
  cudaError_t synchronise(std::uint64_t requests, const Wait& wait);
  /// The number of requests that `stream` has to wait for.
  std::uint64_t sent_on(cudaStream_t stream);
  void note_work(cudaStream_t stream) { at(stream).sent = sent_; }
  /// Requests from now on are work of this stream, until another is named.
  void work_in(cudaStream_t stream) { stream_ = at(stream).name; }
  /// Waits until everything sent is done, whatever came of it: then the host may look at memory that kernels use.
  void drain();

  /// Copies through the staging buffer. The device range has to lie in one allocation, or nothing is copied.
  /// `alias`: where the host's end lies in the device's window, or 0.
  cudaError_t copy_to_device(Address to, const void* from, std::size_t bytes, std::uint32_t flags, Address alias);
  cudaError_t copy_to_host(void* to, Address from, std::size_t bytes, std::uint32_t flags, Address alias);

  cudaError_t load(Module& module);
  /// By the address of a host stub, or by a cudaKernel_t; null when there is no such kernel.
  Function* find(const void* function);
  cudaError_t resolve(Function& function);
  Variable* find_variable(const void* symbol);
  cudaError_t resolve(Variable& variable);

  /// The allocation that a pointer points into, and its base; null when it points into none.
  const AllocationNote* allocation_of(const void* pointer, Address* base = nullptr) const;
  MemoryKind kind_of(const void* pointer) const {
    const AllocationNote* note = allocation_of(pointer);
    return note == nullptr ? MemoryKind::device : note->kind;
  }
  /// Maps the pages of [base, base + bytes) at the same addresses in this process and, when `host` is not null, at
  /// `host` too. `variable` with its module, or empty for an allocation.
  cudaError_t share(Address base, std::size_t bytes, void* host = nullptr, std::uint64_t module = 0,
                    std::string_view variable = {});
  void unmap(Address base, std::size_t bytes);
  /// Makes registered memory the program's alone again. Its device addresses stay mapped.
  void take_back(const void* host, const Registration& registration);

  bool valid(cudaStream_t stream) const;
  /// Notifies the device that nothing more is submitted to this stream.
  void drop(const CUstream_st& stream);
  bool valid(cudaEvent_t event) const { return events.contains(event); }
  /// The stream behind a handle; cudaStreamPerThread is another one in each thread.
  CUstream_st& at(cudaStream_t stream);
  /// Those that the legacy default stream waits for, and that wait for it.
  template <class Visit>
  void for_each_blocking_stream(Visit&& visit) {
    for (const cudaStream_t stream : per_thread_streams) visit(*stream);
    for (const cudaStream_t stream : streams)
      if (!(stream->flags & cudaStreamNonBlocking)) visit(*stream);
  }

  /// Host functions run in a thread of their own, one after the other (host_functions.cpp).
  void enqueue_host_function(cudaStream_t stream, std::shared_ptr<HostCall> host_call);
  /// Those that have not ended and that work on `stream` comes after.
  HostCalls host_functions_before(cudaStream_t stream);
  /// The program waits for them, or asks for them: they need not wait any more.
  void want(const HostCalls& host_calls);
  /// Waits for them; other threads may use the client meanwhile.
  void await(const HostCalls& host_calls);
  void await_host_functions(cudaStream_t stream) { await(host_functions_before(stream)); }
  void await_all_host_functions() { await(HostCalls(host_queue_.begin(), host_queue_.end())); }

  /// Null when the stream is not being captured.
  Capture* capture_of(cudaStream_t stream);
  /// The error of a call, or of a use of one, that the virtual GPU does not have: said once each.
  cudaError_t unsupported(const char* name);
  /// cudaErrorStreamCaptureImplicit when `stream` is the legacy stream and a stream that it waits for is captured.
  cudaError_t refuse_implicit_capture(cudaStream_t stream);
  /// A call that may not happen during a capture, of `stream` or (null) of any in the global mode.
  cudaError_t refuse_during_capture(cudaStream_t stream);
  cudaError_t refuse_during_capture();

  /// The server wants to know what the host does with memory that kernels use, and from where work is submitted.
  bool reports_host() const { return reports_host_; }
  /// Notes where the work that is submitted next was called from.
  void note_call_site(Frames frames);
  /// The same of the launch of a graph whose nodes come next; empty: none come.
  void note_graph_site(const Frames& frames);
  struct Access {
    Address device = 0;
    std::size_t bytes = 1;
    bool writes = false;
    bool stays = false;       ///< `stay` follows
    bool is_ordered = false;  ///< by an atomic instruction, or while the thread holds a lock
    bool frees = false;       ///< the memory is given back
  };
  /// In a signal handler: reports an access to memory that is being watched. `in_use` as wire::Op::host_access answers
  /// it, or all bits where the device is busy. False: the connection is another thread's.
  bool report_access(const Access& access, const Frames& frames, std::uint64_t& in_use);
  /// There are host functions that an access of this thread may race with: it should stay until they have ended.
  bool should_stay() const;
  /// Stays so long, or until it takes too long: they may wait for this thread. Also in a signal handler.
  void stay(Address device);
  /// Opens what no work uses any more that the host does not know to be done, as far as the device can say now.
  void refresh_watch();
  HostWatch watch;

  /// Forgets everything that cudaDeviceReset destroys.
  void forget();

 private:
  void lose(const char* why);
  wire::Request request_of(const Wait& wait, wire::Op op);
  void note_wait(const wire::Request& request);
  void print_output(std::uint64_t bytes);
  void run_host_functions();
  void await_turn(const HostCall& host_call);
  bool begin(const HostCall& host_call);
  void note_begin(std::uint64_t id);
  bool try_lock();
  template <class Piece>
  cudaError_t copy_in_pieces(Address device, std::size_t bytes, std::uint32_t flags, Piece piece);

  int fd_ = -1;
  bool reports_host_ = false, is_reporting_ = false;
  Frames call_site_;  ///< that was noted last
  std::byte* staging_ = nullptr;
  std::size_t staging_bytes_ = 0;
  std::uint64_t* done_ = nullptr;                     ///< the server's count, after the staging buffer
  std::uint64_t sent_ = 0, awaited_ = 0, asked_ = 0;  ///< requests: of the last two the host knows, or has asked
  std::uint64_t stream_ = 0;                          ///< that of the next requests
  std::deque<std::shared_ptr<HostCall>> host_queue_;  ///< the first one may be running
  std::condition_variable_any host_queue_changed_;
  bool host_thread_started_ = false;
  std::mutex turn_mutex_;
  std::condition_variable turn_changed_;
  std::chrono::milliseconds waiting_left_{1000};  ///< for turns that nobody asks for
  std::chrono::milliseconds staying_left_{1000};  ///< where no host function ends meanwhile
  std::atomic<std::uint64_t> submitted_functions_ = 0, ended_functions_ = 0;
  std::atomic<std::uint64_t> not_ended_for_ =
      ~std::uint64_t{0};                          ///< functions that had ended when staying was too long
  std::atomic<unsigned> staying_ = 0;             ///< threads
  std::size_t refreshed_ = 0;                     ///< areas that were asked for by refresh_watch, in all
  std::atomic<std::uint64_t> begun_unnoted_ = 0;  ///< a host function of which the server does not know that it runs
};

/// The one client; never destroyed, since the program's own destructors may still call CUDA.
Client& client();

/// The last entry whose key is not beyond `key`, or end().
template <class Map, class Key>
auto last_up_to(Map& map, Key key) {
  const auto next = map.upper_bound(key);
  return next == map.begin() ? map.end() : std::prev(next);
}

inline bool in_device_window(const void* pointer) {
  const Address address = reinterpret_cast<Address>(pointer);
  return address >= vgpu::global_window && address - vgpu::global_window < vgpu::global_window_bytes;
}

/// One line on stderr that begins with "scanlab: "; after 20 of them silence.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Of a call that takes a kernel, for a pointer that is neither a kernel's nor a cudaKernel_t.
inline cudaError_t no_such_kernel(const void* kernel) {
#if CUDART_VERSION >= 13000
  // CUDA 13's runtime takes every other pointer for a handle (seen with 13.0 on an H200).
  if (kernel != nullptr) return cudaErrorInvalidResourceHandle;
#endif
  (void)kernel;
  return cudaErrorInvalidDeviceFunction;
}

/// Watches for host code that dereferences device pointers (host_access.cpp).
void watch_host_accesses();

/// The thread's last error, as cudaGetLastError gives it.
extern thread_local cudaError_t last_error;

/// A launch by <<<>>> was refused, and its error has not been asked for since.
extern thread_local bool has_unread_launch_error;

inline cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace scanlab::cudart
