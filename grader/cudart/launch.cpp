// Fat binaries, kernels and variables as nvcc's host code registers them; launches; what is known of a kernel.
#include <algorithm>
#include <climits>
#include <cstring>

#include "call.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Request;

namespace {

/// What __cudaRegisterFatBinary gets, and the header behind its pointer (read off nvcc 12 and 13 output).
struct FatbinWrapper {
  std::uint32_t magic, version;
  const void* data;
  const void* const* files;  ///< in version 2: the fat binaries that were linked, up to a null pointer
};
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t payload_bytes;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1, header_magic = 0xba55ed50;
constexpr std::uint32_t linked_version = 2;  ///< of a wrapper: made by nvcc -dlink

void add_fatbin(Module& module, const void* data) {
  FatbinHeader header;
  std::memcpy(&header, data, sizeof header);
  if (header.magic == header_magic)
    module.fatbins.push_back({static_cast<const std::byte*>(data), header.header_bytes + header.payload_bytes});
}

struct Configuration {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};
/// Between <<<…>>> and the kernel's stub.
thread_local std::vector<Configuration> configurations;

bool same(const LaunchShape& a, const LaunchShape& b) {
  const auto equal = [](const dim3& x, const dim3& y) { return x.x == y.x && x.y == y.y && x.z == y.z; };
  return equal(a.grid, b.grid) && equal(a.block, b.block) && a.dynamic_shared == b.dynamic_shared &&
         a.cooperative == b.cooperative;
}

/// The parameters as the kernel expects them, one behind the other.
cudaError_t pack(const Function& function, void** arguments, std::span<std::byte> parameters) {
  std::fill(parameters.begin(), parameters.end(), std::byte{0});
  for (std::size_t i = 0; i < function.places.size(); ++i) {
    const wire::ParameterPlace place = function.places[i];
    if (arguments == nullptr || arguments[i] == nullptr) return cudaErrorInvalidValue;
    if (place.offset > parameters.size() || place.bytes > parameters.size() - place.offset) return cudaErrorUnknown;
    std::memcpy(parameters.data() + place.offset, arguments[i], place.bytes);
  }
  return cudaSuccess;
}

/// Only the shape decides whether a launch is refused; what happens later surfaces at a call that waits.
cudaError_t check(Client& state, Function& function, Request request, const LaunchShape& shape) {
  if (std::any_of(function.accepted.begin(), function.accepted.end(),
                  [&](const LaunchShape& before) { return same(before, shape); }))
    return cudaSuccess;
  request.op = Op::check_launch;
  cudaError_t error = state.submit(request);
#if CUDART_VERSION >= 13000
  // CUDA 13's runtime has one name for every launch that a device refuses (seen with 13.0 on an H200).
  if (error == cudaErrorInvalidConfiguration || error == cudaErrorLaunchOutOfResources) error = cudaErrorInvalidValue;
#endif
  if (error == cudaSuccess && function.accepted.size() < 64) function.accepted.push_back(shape);
  return error;
}

cudaError_t launch(const void* kernel, const LaunchShape& shape, void** arguments, cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;

    std::byte small[512];
    std::vector<std::byte> large;
    std::span<std::byte> parameters(small, std::min(sizeof small, std::size_t{function->facts.parameter_bytes}));
    if (function->facts.parameter_bytes > sizeof small) {
      large.resize(function->facts.parameter_bytes);
      parameters = large;
    }
    if (const cudaError_t error = pack(*function, arguments, parameters); error != cudaSuccess) return error;

    Request request;
    request.op = Op::launch;
    request.id = function->id;
    const dim3 sizes[2] = {shape.grid, shape.block};
    std::uint32_t* fields[2] = {request.grid, request.block};
    for (int i = 0; i < 2; ++i) {
      fields[i][0] = sizes[i].x;
      fields[i][1] = sizes[i].y;
      fields[i][2] = sizes[i].z;
    }
    request.dynamic_shared = shape.dynamic_shared;
    request.max_dynamic_shared = function->max_dynamic_shared;
    if (shape.cooperative) request.flags |= wire::flag_cooperative;
    if (const cudaError_t error = check(state, *function, request, shape); error != cudaSuccess) return error;

    // As `submit` in call.hpp, but without a copy of the parameters where none is needed.
    if (Capture* capture = state.capture_of(stream)) {
      const std::vector<std::byte> kept(parameters.begin(), parameters.end());
      return capture->add(stream, cudaGraphNodeTypeKernel, [request, kept](Client& client, cudaStream_t) {
        client.post(request, kept);
        return cudaSuccess;
      });
    }
    if (const cudaError_t error = state.refuse_implicit_capture(stream); error != cudaSuccess) return error;
    state.await_host_functions(stream);
    state.post(request, parameters);
    state.note_work(stream);
    return cudaSuccess;
  });
}

Module* module_of(void** handle) {
  return reinterpret_cast<Module*>(handle);
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;
using scanlab::vgpu::Address;

extern "C" {

void** CUDARTAPI __cudaRegisterFatBinary(void* fatbin) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  Module& module = state.modules.emplace_back();
  const auto* wrapper = static_cast<const FatbinWrapper*>(fatbin);
  if (wrapper != nullptr && wrapper->magic == wrapper_magic && wrapper->data != nullptr) {
    // With relocatable device code `data` is what NVIDIA's linker made, for real devices; the PTX is in the files.
    if (wrapper->version == linked_version && wrapper->files != nullptr)
      for (const void* const* file = wrapper->files; *file != nullptr; ++file) add_fatbin(module, *file);
    else
      add_fatbin(module, wrapper->data);
  }
  return reinterpret_cast<void**>(&module);
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}

// The program ends, or a library of it is unloaded: its kernels can no longer be named. The server frees the rest.
void CUDARTAPI __cudaUnregisterFatBinary(void** handle) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  const Module* module = module_of(handle);
  std::erase_if(state.function_of, [&](const auto& entry) { return entry.second->module == module; });
  std::erase_if(state.variable_of, [&](const auto& entry) { return entry.second->module == module; });
}

void CUDARTAPI __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                                      uint3*, dim3*, dim3*, int*) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  Function& function = state.functions.emplace_back();
  function.module = module_of(handle);
  function.name = name;
  state.function_of[host_function] = &function;
}

void CUDARTAPI __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int,
                                 int) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  Variable& variable = state.variables.emplace_back();
  variable.module = module_of(handle);
  variable.name = name;
  variable.bytes = bytes;
  state.variable_of[host_variable] = &variable;
}

void CUDARTAPI __cudaRegisterManagedVar(void** handle, void** host_pointer, char* host_variable, const char* name, int,
                                        size_t bytes, int, int) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  Variable& variable = state.variables.emplace_back();
  variable.module = module_of(handle);
  variable.name = name;
  variable.managed_pointer = host_pointer;
  variable.bytes = bytes;
  state.variable_of[host_variable] = &variable;
  state.variable_of[host_pointer] = &variable;
}

// Called before the host's first use of a __managed__ variable.
char CUDARTAPI __cudaInitModule(void** handle) {
  (void)call([&](Client& state) -> cudaError_t {
    for (Variable& variable : state.variables) {
      if (variable.module != module_of(handle) || variable.managed_pointer == nullptr || variable.mapped) continue;
      if (const cudaError_t error = state.resolve(variable); error != cudaSuccess) return error;
      const cudaError_t error =
          state.share(variable.address, variable.bytes, nullptr, variable.module->id, variable.name);
      if (error != cudaSuccess) return error;
      state.allocations[variable.address] = {variable.bytes, "__managed__ " + variable.name, MemoryKind::managed,
                                             cudaMemAttachGlobal};
      variable.mapped = true;
      *variable.managed_pointer = reinterpret_cast<void*>(variable.address);
    }
    return cudaSuccess;
  });
  return 1;
}

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return record(cudaErrorMissingConfiguration);
  const Configuration& last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  configurations.pop_back();
  return cudaSuccess;
}

cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  Function* function = state.find(host_function);
  *kernel = reinterpret_cast<cudaKernel_t>(function);
  return function == nullptr ? record(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                       cudaStream_t stream) {
  return launch(function, {grid, block, shared, false}, arguments, stream);
}

cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                         cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                              size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                  size_t shared, cudaStream_t stream) {
  return launch(function, {grid, block, shared, true}, arguments, stream);
}

cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr) return record(cudaErrorInvalidValue);
  LaunchShape shape{config->gridDim, config->blockDim, config->dynamicSmemBytes, false};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) shape.cooperative = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& cluster = attribute.val.clusterDim;
      if (cluster.x * cluster.y * cluster.z > 1) {
        say("thread block clusters are not supported by the virtual GPU");
        return record(cudaErrorNotSupported);
      }
    }
  }
  return launch(function, shape, arguments, config->stream);
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  return call([&](Client& state) -> cudaError_t {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    *attributes = {};
    attributes->sharedSizeBytes = function->facts.static_shared;
    attributes->constSizeBytes = function->facts.constant_bytes;
    attributes->localSizeBytes = function->facts.local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(function->facts.max_threads);
    attributes->numRegs = static_cast<int>(std::min<std::uint32_t>(function->facts.registers, 255));
    attributes->ptxVersion = attributes->binaryVersion =
        static_cast<int>(state.device.compute_major * 10 + state.device.compute_minor);
    const std::uint64_t limit =
        function->max_dynamic_shared != 0
            ? function->max_dynamic_shared
            : state.device.shared_per_block - std::min(state.device.shared_per_block, function->facts.static_shared);
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(limit);
    attributes->preferredShmemCarveout = function->carveout;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
      if (value < cudaSharedmemCarveoutDefault || value > cudaSharedmemCarveoutMaxShared) return cudaErrorInvalidValue;
      function->carveout = value;
      return cudaSuccess;
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)  // clusters
      return attribute > 0 && attribute < cudaFuncAttributeMax ? cudaErrorNotSupported : cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    if (value < 0 ||
        static_cast<std::uint64_t>(value) + function->facts.static_shared > state.device.shared_per_block_optin)
      return cudaErrorInvalidValue;
    function->max_dynamic_shared = static_cast<std::uint64_t>(value);
    function->accepted.clear();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache) {
  return call([&](Client& state) { return state.find(kernel) ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void* kernel, cudaSharedMemConfig) {
  return call([&](Client& state) { return state.find(kernel) ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t CUDARTAPI cudaFuncGetName(const char** name, const void* kernel) {
  return call([&](Client& state) -> cudaError_t {
    const Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (name == nullptr) return cudaErrorInvalidValue;
    *name = function->name.c_str();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void* kernel, size_t index, size_t* offset, size_t* bytes) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    if (offset == nullptr || index >= function->places.size()) return cudaErrorInvalidValue;
    *offset = function->places[index].offset;
    if (bytes != nullptr) *bytes = function->places[index].bytes;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return call([&](Client& state) -> cudaError_t {
    if (kernel == nullptr) return cudaErrorInvalidValue;
    *kernel = reinterpret_cast<cudaKernel_t>(state.find(host_function));
    return *kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

// A cudaFunction_t is not looked into by anything but the driver API: any name for the kernel will do.
cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t* function, const void* host_function) {
  return call([&](Client& state) -> cudaError_t {
    if (function == nullptr) return cudaErrorInvalidValue;
    *function = reinterpret_cast<cudaFunction_t>(state.find(host_function));
    return *function == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                             int threads, size_t shared, unsigned) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    Request request;
    request.op = Op::occupancy;
    request.id = function->id;
    request.bytes = static_cast<std::uint64_t>(threads);
    request.dynamic_shared = shared;
    const wire::Reply reply = state.exchange(request);
    *blocks = static_cast<int>(std::min<std::uint64_t>(reply.value, INT_MAX));
    return static_cast<cudaError_t>(reply.error);
  });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                                    size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel, int blocks,
                                                                int threads) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    const std::uint64_t share = std::min<std::uint64_t>(
        state.device.shared_per_multiprocessor / static_cast<unsigned>(blocks), state.device.shared_per_block_optin);
    *bytes = share - std::min(share, function->facts.static_shared);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetSymbolAddress(void** address, const void* symbol) {
  return call([&](Client& state) -> cudaError_t {
    Variable* variable = state.find_variable(symbol);
    if (variable == nullptr) return cudaErrorInvalidSymbol;
    if (address == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*variable); error != cudaSuccess) return error;
    *address = reinterpret_cast<void*>(variable->address);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return call([&](Client& state) -> cudaError_t {
    Variable* variable = state.find_variable(symbol);
    if (variable == nullptr) return cudaErrorInvalidSymbol;
    if (bytes == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*variable); error != cudaSuccess) return error;
    *bytes = variable->bytes;
    return cudaSuccess;
  });
}

}  // extern "C"
