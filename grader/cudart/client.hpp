// The program's side of the virtual GPU: the connection, and what CUDA's runtime remembers of one process.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/core/memory.hpp"
#include "vgpu/server/protocol.hpp"

/// What a cudaStream_t points to. All work runs in the order of submission, which every stream allows.
struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
};

/// What a cudaEvent_t points to.
struct CUevent_st {
  unsigned flags = 0;
  bool recorded = false;
  double ns = 0;  ///< on the device's clock
};

namespace scanlab::cudart {

namespace wire = server::wire;
using vgpu::Address;

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
};

/// One kernel. `facts` and `places` are known once it has been looked up (`id` is not 0).
struct Function {
  Module* module = nullptr;
  std::string name;  ///< mangled
  std::uint64_t id = 0;
  wire::KernelFacts facts;
  std::vector<wire::ParameterPlace> places;
  std::uint64_t max_dynamic_shared = 0;  ///< by cudaFuncSetAttribute; 0: the device's default
  std::vector<LaunchShape> accepted;     ///< launches that the device did not refuse: their like need no reply
};

/// One __device__, __constant__ or __managed__ variable.
struct Variable {
  Module* module = nullptr;
  std::string name;
  void** managed_pointer = nullptr;  ///< of a __managed__ variable: where the host finds its address
  Address address = 0;               ///< 0: not looked up
  std::uint64_t bytes = 0;
};

struct AllocationNote {
  std::uint64_t bytes = 0;
  std::string label;  ///< as the server's: "cudaMalloc #3 (4096 bytes)"
  bool managed = false;
};

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
  std::uint64_t allocation_number = 1;
  std::map<const void*, std::size_t> host_allocations, host_registrations;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  unsigned long long next_stream = 10;
  bool device_owns_managed = false;  ///< a kernel may have changed managed memory since the host's copy was fetched

  /// Connects on first use. False: there is no device (said once on stderr).
  bool connect();
  /// Sends a request and waits for its reply. A lost connection becomes a sticky cudaErrorDevicesUnavailable.
  wire::Reply exchange(wire::Request request, std::span<const std::byte> payload = {},
                       std::vector<std::byte>* answer = nullptr);
  /// The same, for requests of which only the error matters.
  cudaError_t submit(const wire::Request& request) { return static_cast<cudaError_t>(exchange(request).error); }
  /// Sends a request that has no reply.
  void post(wire::Request request, std::span<const std::byte> payload);
  /// Waits for the device: surfaces a fault, prints what the device printed, and fetches managed memory.
  cudaError_t synchronise();

  /// Copies through the staging buffer. The device range has to lie in one allocation, or nothing is copied.
  cudaError_t copy_to_device(Address to, const void* from, std::size_t bytes, std::uint32_t flags);
  cudaError_t copy_to_host(void* to, Address from, std::size_t bytes, std::uint32_t flags);

  cudaError_t load(Module& module);
  /// By the address of a host stub, or by a cudaKernel_t; null when there is no such kernel.
  Function* find(const void* function);
  cudaError_t resolve(Function& function);
  Variable* find_variable(const void* symbol);
  cudaError_t resolve(Variable& variable);

  bool is_managed(const void* pointer) const;
  /// Makes [base, base + bytes) usable by the host at the same addresses; false when the system refuses.
  bool map_managed(Address base, std::size_t bytes);
  void unmap_managed(Address base, std::size_t bytes);
  /// Before a kernel runs: the device's copy of managed memory becomes the valid one. After it: the host's.
  cudaError_t give_managed_to_device();
  cudaError_t fetch_managed();

  bool valid(cudaStream_t stream) const;
  bool valid(cudaEvent_t event) const { return events.contains(event); }
  /// Forgets everything that cudaDeviceReset destroys.
  void forget();

 private:
  void lose(const char* why);
  void print_output(std::uint64_t bytes);
  bool check_range(Address address, std::size_t bytes, std::uint32_t flags, cudaError_t& error);

  int fd_ = -1;
  std::byte* staging_ = nullptr;
  std::size_t staging_bytes_ = 0;
};

/// The one client; never destroyed, since the program's own destructors may still call CUDA.
Client& client();

inline bool in_device_window(const void* pointer) {
  const Address address = reinterpret_cast<Address>(pointer);
  return address >= vgpu::global_window && address - vgpu::global_window < vgpu::global_window_bytes;
}

/// One line on stderr that begins with "scanlab: "; after 20 of them silence.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Watches for host code that dereferences device pointers (host_access.cpp).
void watch_host_accesses();

/// The thread's last error, as cudaGetLastError gives it.
extern thread_local cudaError_t last_error;

inline cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace scanlab::cudart
