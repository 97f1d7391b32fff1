// Who writes one element of device memory in a call: of a wrong output, which line, and what came after it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograder/device/device.hpp"
#include "vgpu/core/run/device.hpp"

namespace scanlab::grade {

/// Sees the stores and atomics of kernels, as long as it lives.
class ElementWrites : vgpu::Observer {
 public:
  using Bytes = std::array<std::byte, 8>;
  /// By one thread, one after the other, in one line.
  struct Write {
    vgpu::SourcePlace where;  ///< the learner's own
    std::string kernel;       ///< mangled
    std::array<std::uint64_t, 3> block{}, thread{};
    Bytes after{};  ///< what the element holds then
  };

  /// Of an element of at most 8 bytes; the device outlives it.
  ElementWrites(vgpu::Device& device, const Buffer& element);
  ~ElementWrites() override { device_.detach(this); }
  ElementWrites(const ElementWrites&) = delete;
  ElementWrites& operator=(const ElementWrites&) = delete;

  /// The call is over: what the element holds now is its last value. In order; of very many, the first ones and the
  /// last.
  std::vector<Write> writes() const;
  /// Has the host written it since the last of them?
  bool has_host_written_last() const;
  /// Has anyone written it since this lives?
  bool is_changed() const { return now() != first_; }
  /// What the element holds now.
  Bytes now() const;

 private:
  struct Seen {
    Write write;
    std::uint32_t launch = 0, line = 0;
    Bytes before{};
    /// As what they were written, where that is known: by stores.
    std::array<std::optional<std::byte>, sizeof(Bytes)> stored{};
  };
  static constexpr std::size_t most_kept = 1024;

  std::uint32_t interests() const override { return 0; }
  void kernel_begin(const vgpu::KernelInfo& kernel) override;
  enum class By { store, atomic };
  void store(const vgpu::Access& access) override { note(access, By::store); }
  void atomic(const vgpu::Access& access) override { note(access, By::atomic); }
  void note(const vgpu::Access& access, By what);
  void keep(const vgpu::Access& access, unsigned lane, By what);

  vgpu::Device& device_;
  Buffer element_;
  vgpu::KernelInfo kernel_;
  std::uint32_t launch_ = 0;
  std::vector<Seen> seen_;
  Bytes first_;
};

/// The write after which an element is wrong, and the one before it that left it right, where there is one.
struct WrongWrite {
  const ElementWrites::Write* wrong;
  const ElementWrites::Write* right = nullptr;
};

/// The first write after the last right one; where none is right, the last write. Nothing where the last write is right
/// or none was made.
std::optional<WrongWrite> wrong_write(const std::vector<ElementWrites::Write>& writes,
                                      const std::function<bool(const ElementWrites::Bytes&)>& is_right);

}  // namespace scanlab::grade
