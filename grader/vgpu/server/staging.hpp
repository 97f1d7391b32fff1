// The buffer that copies travel through: a sealed memfd, so that the program that maps it cannot shrink it under us.
// After it lies a page with the number of requests that have been carried out, so that the program can see, without
// asking, whether what it has sent is done.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "vgpu/server/protocol.hpp"

namespace scanlab::server {

class Staging {
 public:
  /// Throws std::system_error.
  explicit Staging(std::size_t bytes) : size_(bytes) {
    const auto fail = [this](const char* what) {
      const int code = errno;
      if (fd_ >= 0) close(fd_);
      throw std::system_error(code, std::generic_category(), what);
    };
    fd_ = memfd_create("scanlab-staging", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd_ < 0) fail("cannot make the staging buffer (memfd_create)");
    if (ftruncate(fd_, static_cast<off_t>(mapped())) != 0) fail("cannot size the staging buffer");
    if (fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("cannot seal the staging buffer");
    void* at = mmap(nullptr, mapped(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at == MAP_FAILED) fail("cannot map the staging buffer");
    data_ = static_cast<std::byte*>(at);
  }
  ~Staging() {
    munmap(data_, mapped());
    close(fd_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int fd() const { return fd_; }
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Notifies the program that one more of its requests is done. What it reads there is its own business.
  void count_request() {
    auto* done = reinterpret_cast<std::uint64_t*>(data_ + wire::progress_offset(size_));
    std::atomic_ref(*done).fetch_add(1, std::memory_order_release);
  }

 private:
  std::size_t mapped() const { return wire::progress_offset(size_) + wire::progress_bytes; }

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace scanlab::server
