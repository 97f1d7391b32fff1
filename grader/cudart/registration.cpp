// Fat binaries, kernels and variables as nvcc's host code registers them, and where variables lie.
#include <cstring>

#include "cudart/call.hpp"

namespace scanlab::cudart {
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

Module* module_of(void** handle) {
  return reinterpret_cast<Module*>(handle);
}

/// `managed_pointer`: see Variable.
void register_variable(void** handle, const void* host_variable, const char* name, std::size_t bytes,
                       void** managed_pointer) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  Variable& variable = state.variables.emplace_back();
  variable.module = module_of(handle);
  variable.name = name;
  variable.bytes = bytes;
  variable.managed_pointer = managed_pointer;
  state.variable_of[host_variable] = &variable;
  if (managed_pointer != nullptr) state.variable_of[managed_pointer] = &variable;
}

/// Answers with what `fact` says of the variable that the program calls by `symbol`, once it has a place.
template <typename Answer, typename Fact>
cudaError_t report_of_symbol(Answer* answer, const void* symbol, Fact fact) {
  return call([&](Client& state) -> cudaError_t {
    Variable* variable = state.find_variable(symbol);
    if (variable == nullptr) return cudaErrorInvalidSymbol;
    if (answer == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*variable); error != cudaSuccess) return error;
    return give(answer, fact(*variable));
  });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

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
  register_variable(handle, host_variable, name, bytes, nullptr);
}

void CUDARTAPI __cudaRegisterManagedVar(void** handle, void** host_pointer, char* host_variable, const char* name, int,
                                        size_t bytes, int, int) {
  register_variable(handle, host_variable, name, bytes, host_pointer);
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

cudaError_t CUDARTAPI cudaGetSymbolAddress(void** address, const void* symbol) {
  return report_of_symbol(address, symbol, [](const Variable& v) { return reinterpret_cast<void*>(v.address); });
}

cudaError_t CUDARTAPI cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return report_of_symbol(bytes, symbol, [](const Variable& v) { return v.bytes; });
}

}  // extern "C"
