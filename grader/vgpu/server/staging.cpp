#include "vgpu/server/staging.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "vgpu/server/protocol.hpp"

namespace scanlab::server {

Staging::Staging(std::size_t bytes) : size_(bytes) {
  const std::size_t mapped = wire::progress_offset(bytes) + wire::progress_bytes;
  const auto fail = [this](const char* what) {
    const int code = errno;
    if (fd_ >= 0) close(fd_);
    throw std::system_error(code, std::generic_category(), what);
  };
  fd_ = memfd_create("scanlab-staging", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) fail("cannot make the staging buffer (memfd_create)");
  if (ftruncate(fd_, static_cast<off_t>(mapped)) != 0) fail("cannot size the staging buffer");
  if (fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("cannot seal the staging buffer");
  void* at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) fail("cannot map the staging buffer");
  data_ = static_cast<std::byte*>(at);
  done_ = reinterpret_cast<std::uint64_t*>(data_ + wire::progress_offset(bytes));
}

Staging::~Staging() {
  munmap(data_, wire::progress_offset(size_) + wire::progress_bytes);
  close(fd_);
}

}  // namespace scanlab::server
