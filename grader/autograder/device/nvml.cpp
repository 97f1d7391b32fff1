#include "autograder/device/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace scanlab::grade {

using NvmlDevice = struct nvmlDevice_st*;

namespace {

constexpr int nvml_success = 0;

/// Bits of nvmlDeviceGetCurrentClocksThrottleReasons, which newer drivers also call …ClocksEventReasons.
constexpr std::array<std::pair<unsigned long long, const char*>, 4> reasons = {{
    {0x08, "hardware slowdown"},
    {0x20, "software slowdown: too hot"},
    {0x40, "hardware slowdown: too hot"},
    {0x80, "hardware slowdown: power brake"},
}};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*clock_reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlDevice device = nullptr;
  bool is_begun = false;

  ~Library() {
    if (is_begun) shutdown();
    if (handle != nullptr) dlclose(handle);
  }

  bool open(const std::string& pci_bus_id, const char* library) {
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    if (!find(handle, "nvmlInit_v2", init) || !find(handle, "nvmlShutdown", shutdown) ||
        !find(handle, "nvmlDeviceGetHandleByPciBusId_v2", device_by_bus_id) ||
        !find(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", clock_reasons)) {
      return false;
    }
    is_begun = init() == nvml_success;
    return is_begun && device_by_bus_id(pci_bus_id.c_str(), &device) == nvml_success;
  }
};

Nvml::Nvml(const std::string& pci_bus_id, const char* library) : library_(std::make_unique<Library>()) {
  if (!library_->open(pci_bus_id, library)) library_.reset();
}

Nvml::~Nvml() = default;

std::optional<std::vector<std::string>> Nvml::slowdowns() const {
  unsigned long long bits = 0;
  if (!library_ || library_->clock_reasons(library_->device, &bits) != nvml_success) return std::nullopt;
  std::vector<std::string> found;
  for (const auto& [bit, text] : reasons) {
    if ((bits & bit) != 0) found.emplace_back(text);
  }
  return found;
}

}  // namespace scanlab::grade
