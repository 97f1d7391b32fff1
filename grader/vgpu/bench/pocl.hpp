// PoCL's device: OpenCL on the processor, compiled, without checks. What the virtual GPU's speed is compared with.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "vgpu/bench/cases.hpp"
#include "vgpu/bench/timing.hpp"

namespace scanlab::bench {

class Pocl {
 public:
  /// Uses one core. Throws NoDevice when PoCL is not installed, std::runtime_error when the source does not compile.
  explicit Pocl(const std::string& source);
  ~Pocl();

  const std::string& version() const { return version_; }
  const std::string& processor() const { return processor_; }
  bool has_kernel(std::string_view name) const;

  /// A case in the device's memory. It must not outlive the device.
  class Prepared {
   public:
    virtual ~Prepared() = default;
    virtual Sample launch() = 0;
    virtual Words output() = 0;
  };
  /// Throws std::runtime_error when OpenCL refuses.
  std::unique_ptr<Prepared> prepare(const Case& made);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
  std::string version_, processor_;
};

}  // namespace scanlab::bench
