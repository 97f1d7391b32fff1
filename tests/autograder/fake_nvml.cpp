// A management library for the tests: it knows one GPU, and says about it what the environment variables ask for.
#include <cstdlib>
#include <cstring>

extern "C" {

int nvmlInit_v2() {
  return std::getenv("FAKE_NVML_BROKEN") == nullptr ? 0 : 1;
}

int nvmlShutdown() {
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  *device = nullptr;
  return std::strcmp(pci_bus_id, "0000:3B:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  const char* const asked = std::getenv("FAKE_NVML_BITS");
  *bits = asked == nullptr ? 0 : std::strtoull(asked, nullptr, 16);
  return 0;
}

}  // extern "C"
