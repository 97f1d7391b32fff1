// Launches.
#include <algorithm>
#include <cstring>

#include "cudart/call.hpp"
#include "cudart/sides.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Request;

namespace {

/// Between <<<…>>> and the kernel's stub.
thread_local std::vector<std::pair<LaunchShape, cudaStream_t>> configurations;

/// The parameters as the kernel expects them, one after the other; all are zeros before.
cudaError_t pack(const Function& function, void** arguments, std::span<std::byte> parameters) {
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
  if (std::ranges::find(function.accepted, shape) != function.accepted.end()) return cudaSuccess;
  request.op = Op::check_launch;
  cudaError_t error = state.submit(request);
#if CUDART_VERSION >= 13000
  // CUDA 13's runtime has one name for every launch that a device refuses, but where its threads take more registers
  // than there are (seen with 13.0 on an H200).
  const bool is_beyond_bounds =
      std::uint64_t{shape.block.x} * shape.block.y * shape.block.z > function.facts.max_threads;
  if (error == cudaErrorInvalidConfiguration || (error == cudaErrorLaunchOutOfResources && is_beyond_bounds))
    error = cudaErrorInvalidValue;
#endif
  if (error == cudaSuccess && function.accepted.size() < 64) function.accepted.push_back(shape);
  return error;
}

/// The launch that comes next is written with <<<>>>, which returns no error: it has to be asked for.
thread_local bool is_by_brackets = false;

cudaError_t launch(const void* kernel, const LaunchShape& shape, void** arguments, cudaStream_t stream) {
  const bool by_brackets = std::exchange(is_by_brackets, false);
  const cudaError_t error = call_on(stream, [&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;

    std::vector<std::byte> parameters(function->facts.parameter_bytes);
    if (const cudaError_t error = pack(*function, arguments, parameters); error != cudaSuccess) return error;

    const Request request{.op = Op::launch,
                          .flags = shape.cooperative ? wire::flag_cooperative : 0,
                          .id = function->id,
                          .bytes = stack_limit(),
                          .grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                          .block = {shape.block.x, shape.block.y, shape.block.z},
                          .dynamic_shared = shape.dynamic_shared,
                          .max_dynamic_shared = function->max_dynamic_shared};
    if (const cudaError_t error = check(state, *function, request, shape); error != cudaSuccess) return error;
    return submit(state, stream, cudaGraphNodeTypeKernel,
                  [request, parameters = std::move(parameters)](Client& client, cudaStream_t) {
                    client.post(request, parameters);
                    if (client.reports_host()) client.watch.launched(parameters);
                    return cudaSuccess;
                  });
  });
  if (by_brackets && error != cudaSuccess && !in_host_function) {
    has_unread_launch_error = true;
    const std::lock_guard hold(client().mutex);
    client().post({.op = Op::note_refusal});
  }
  return error;
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({{grid, block, shared}, stream});
  // Before the first call nobody has asked the server yet.
  if (client().reports_host() || client().link == Client::Link::not_tried) launch_site = frames_here();
  return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return record(cudaErrorMissingConfiguration);
  const auto& [shape, own_stream] = configurations.back();
  *grid = shape.grid;
  *block = shape.block;
  *shared = shape.dynamic_shared;
  *static_cast<cudaStream_t*>(stream) = own_stream;
  configurations.pop_back();
  is_by_brackets = true;
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
      if (cluster.x * cluster.y * cluster.z > 1)
        return call([](Client& state) { return state.unsupported("a launch with clusters of blocks"); });
    }
  }
  return launch(function, shape, arguments, config->stream);
}

}  // extern "C"
