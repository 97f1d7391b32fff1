// Asks NVIDIA's management library whether a GPU runs slower than it could. It only asks: nothing is ever set.
//
// The library comes with the driver. It is opened when the program runs, so that this one needs neither it nor its
// header; the few functions and numbers that are used are declared in nvml.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace scanlab::grade {

class Nvml {
 public:
  /// `library` is a file's name as dlopen takes it, `pci_bus_id` names the GPU ("0000:3B:00.0"). Never throws: where
  /// the library or a function is missing, or the GPU is unknown to it, slowdowns() has no answer.
  explicit Nvml(const std::string& pci_bus_id, const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Why the GPU has slowed itself down at this moment: "hardware slowdown: too hot" … Being idle, an ordinary power
  /// limit, or clocks that were set on purpose do not count: these hold for both programs of a comparison alike.
  std::optional<std::vector<std::string>> slowdowns() const;

 private:
  bool open(const std::string& pci_bus_id, const char* library);

  void* library_ = nullptr;
  void* device_ = nullptr;
  int (*shutdown_)() = nullptr;  ///< once the library has begun
  int (*clock_reasons_)(void* device, unsigned long long* reasons) = nullptr;
  bool has_answers_;
};

}  // namespace scanlab::grade
