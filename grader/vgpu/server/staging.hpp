// The buffer that copies travel through: a sealed memfd, so that the program that maps it cannot shrink it under us.
// After it lies a page with the number of requests that have been carried out, so that the program can see, without
// asking, whether what it has sent is done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace scanlab::server {

class Staging {
 public:
  /// Throws std::system_error.
  explicit Staging(std::size_t bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int fd() const { return fd_; }
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Notifies the program that one more of its requests is done. What it reads there is its own business.
  void count_request() { std::atomic_ref(*done_).fetch_add(1, std::memory_order_release); }

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t* done_ = nullptr;
};

}  // namespace scanlab::server
