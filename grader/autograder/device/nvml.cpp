#include "autograder/device/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace scanlab::grade {

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

Nvml::Nvml(const std::string& pci_bus_id, const char* library) : has_answers_(open(pci_bus_id, library)) {}

Nvml::~Nvml() {
  if (shutdown_ != nullptr) shutdown_();
  if (library_ != nullptr) dlclose(library_);
}

bool Nvml::open(const std::string& pci_bus_id, const char* library) {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus_id)(const char*, void**) = nullptr;
  library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr || !find(library_, "nvmlInit_v2", init) || !find(library_, "nvmlShutdown", shutdown) ||
      !find(library_, "nvmlDeviceGetHandleByPciBusId_v2", device_by_bus_id) ||
      !find(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", clock_reasons_) || init() != nvml_success)
    return false;
  shutdown_ = shutdown;
  return device_by_bus_id(pci_bus_id.c_str(), &device_) == nvml_success;
}

std::optional<std::vector<std::string>> Nvml::slowdowns() const {
  unsigned long long bits = 0;
  if (!has_answers_ || clock_reasons_(device_, &bits) != nvml_success) return std::nullopt;
  std::vector<std::string> found;
  for (const auto& [bit, text] : reasons) {
    if ((bits & bit) != 0) found.emplace_back(text);
  }
  return found;
}

}  // namespace scanlab::grade
