#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "autograder/device/devices.hpp"
#include "autograder/device/nvml.hpp"

namespace scanlab::grade {

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw KitFault(fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

constexpr std::size_t guard_bytes = 4096;  // on each side of a buffer
/// Small allocations share one block of CUDA's, and an IPC handle names the whole block: so take whole ones.
constexpr std::size_t slab_unit = 2u << 20;

/// What the guards of slab `number` hold: nothing that a shifted or repeated write would leave behind, nor a copy of
/// what lies after another buffer.
std::vector<unsigned char> guard_of(std::uint32_t number) {
  std::mt19937 random(number);
  std::vector<unsigned char> bytes(guard_bytes);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() & 0xFF);
  return bytes;
}

/// One cudaMalloc. The buffer begins guard_bytes into it, and a second guard follows its end.
struct Slab {
  std::uint32_t number = 0;
  unsigned char* base = nullptr;
  std::size_t bytes = 0;
  bool used = false;
  cudaIpcMemHandle_t handle{};
};

/// On a GPU the runner's process has its own context: when it dies, so does its work, and the judge's memory stays.
class CudaConnection : public Connection {
 public:
  void begin_call(const vgpu::Schedule&, Counting, const TimeLimit&) override {}
  CallReport end_call() override { return {}; }
};

class CudaDevice : public Device {
 public:
  CudaDevice() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "no CUDA device");
    if (count == 0) throw KitFault("no CUDA device");
    check(cudaSetDevice(0), "cannot use the CUDA device");
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "cannot ask the CUDA device");
    description_ = fmt::format("{} (compute capability {}.{})", properties.name, properties.major, properties.minor);
    cache_bytes_ = properties.l2CacheSize > 0 ? static_cast<std::size_t>(properties.l2CacheSize) : 0;
  }

  ~CudaDevice() override {
    for (const auto& [address, slab] : slabs_) cudaFree(slab.base);
  }

  std::string description() const override { return description_; }
  bool is_virtual() const override { return false; }

  Buffer allocate(std::size_t bytes, const std::string& label) override {
    Slab& slab = slab_for(bytes + 2 * guard_bytes, label);
    slab.used = true;
    const Buffer buffer{reinterpret_cast<std::uint64_t>(slab.base + guard_bytes), bytes};
    const std::vector<unsigned char> guard = guard_of(slab.number);
    check(cudaMemcpy(slab.base, guard.data(), guard_bytes, cudaMemcpyHostToDevice), "cannot write device memory");
    check(cudaMemcpy(at(buffer) + bytes, guard.data(), guard_bytes, cudaMemcpyHostToDevice),
          "cannot write device memory");
    return buffer;
  }

  void free(const Buffer& buffer) override { slab_of(buffer).used = false; }

  void write(const Buffer& to, const void* from) override {
    check(cudaMemcpy(at(to), from, to.bytes, cudaMemcpyHostToDevice), "cannot write device memory");
    check(cudaDeviceSynchronize(), "cannot write device memory");  // visible to the runner's process from here on
  }
  void read(const Buffer& from, void* to) override {
    check(cudaMemcpy(to, at(from), from.bytes, cudaMemcpyDeviceToHost), "cannot read device memory");
  }
  void fill(const Buffer& to, unsigned char byte) override {
    check(cudaMemset(at(to), byte, to.bytes), "cannot fill device memory");
    check(cudaDeviceSynchronize(), "cannot fill device memory");
  }

  std::optional<std::string> damaged_guard(const Buffer& buffer) override {
    const std::vector<unsigned char> pattern = guard_of(slab_of(buffer).number);
    std::vector<unsigned char> before(guard_bytes), after(guard_bytes);
    check(cudaMemcpy(before.data(), at(buffer) - guard_bytes, guard_bytes, cudaMemcpyDeviceToHost),
          "cannot read device memory");
    check(cudaMemcpy(after.data(), at(buffer) + buffer.bytes, guard_bytes, cudaMemcpyDeviceToHost),
          "cannot read device memory");
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      if (after[i] != pattern[i]) return fmt::format("the byte {} after its last one was overwritten", i + 1);
    }
    for (std::size_t i = guard_bytes; i-- > 0;) {
      if (before[i] != pattern[i]) {
        return fmt::format("the byte {} before its first one was overwritten", guard_bytes - i);
      }
    }
    return std::nullopt;
  }

  runner::DevicePointer share(const Buffer& buffer) override {
    const Slab& slab = slab_of(buffer);
    runner::DevicePointer pointer;
    pointer.how = runner::DevicePointer::How::ipc;
    pointer.allocation = slab.number;
    pointer.offset = guard_bytes;
    static_assert(sizeof pointer.handle == sizeof slab.handle);
    std::memcpy(pointer.handle, &slab.handle, sizeof slab.handle);
    return pointer;
  }

  std::unique_ptr<Connection> connect(const std::filesystem::path&, std::size_t) override {
    return std::make_unique<CudaConnection>();
  }

  void copy(const Buffer& to, const Buffer& from) override {
    check(cudaMemcpyAsync(at(to), at(from), from.bytes, cudaMemcpyDeviceToDevice), "cannot copy device memory");
    check(cudaDeviceSynchronize(), "cannot copy device memory");
  }
  void copy_columns(const Buffer& to, const Buffer& from, std::size_t row, std::size_t first,
                    std::size_t last) override {
    const std::size_t rows = to.bytes / row, left = to.bytes % row;
    check(cudaMemcpy2DAsync(at(to) + first, row, at(from) + first, row, last - first, rows, cudaMemcpyDeviceToDevice),
          "cannot copy device memory");
    if (left > first) {
      const std::size_t start = rows * row + first;
      check(cudaMemcpyAsync(at(to) + start, at(from) + start, std::min(last, left) - first, cudaMemcpyDeviceToDevice),
            "cannot copy device memory");
    }
    check(cudaDeviceSynchronize(), "cannot copy device memory");
  }
  std::size_t cache_bytes() const override { return cache_bytes_; }
  std::optional<std::vector<std::string>> slowdowns() override {
    if (!nvml_) {  // by its place on the bus, since CUDA and NVML may number devices differently
      char pci_bus_id[32] = {};
      check(cudaDeviceGetPCIBusId(pci_bus_id, sizeof pci_bus_id, 0), "cannot ask the CUDA device");
      nvml_ = std::make_unique<Nvml>(pci_bus_id);
    }
    return nvml_->slowdowns();
  }

 private:
  static unsigned char* at(const Buffer& buffer) { return reinterpret_cast<unsigned char*>(buffer.address); }

  Slab& slab_of(const Buffer& buffer) { return slabs_.at(buffer.address); }

  /// Slabs are kept: the runner opens each handle once, and opening costs more than a scan.
  Slab& slab_for(std::size_t bytes, const std::string& label) {
    for (auto& [address, slab] : slabs_) {
      if (!slab.used && slab.bytes >= bytes) return slab;
    }
    Slab slab;
    slab.number = static_cast<std::uint32_t>(slabs_.size() + 1);
    slab.bytes = (bytes + slab_unit - 1) / slab_unit * slab_unit;
    void* base = nullptr;
    check(cudaMalloc(&base, slab.bytes), label.c_str());
    slab.base = static_cast<unsigned char*>(base);
    check(cudaIpcGetMemHandle(&slab.handle, base), "cannot share device memory with the runner (CUDA IPC)");
    return slabs_[reinterpret_cast<std::uint64_t>(slab.base + guard_bytes)] = slab;
  }

  std::string description_;
  std::size_t cache_bytes_ = 0;
  std::unique_ptr<Nvml> nvml_;           ///< when it is first asked
  std::map<std::uint64_t, Slab> slabs_;  ///< by the address of their buffer
};

}  // namespace

std::unique_ptr<Device> make_cuda_device() {
  return std::make_unique<CudaDevice>();
}

}  // namespace scanlab::grade
