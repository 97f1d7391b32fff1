// The buffer that copies travel through: a sealed memfd, so that the program that maps it cannot shrink it under us.
#pragma once

#include <cstddef>

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

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace scanlab::server
