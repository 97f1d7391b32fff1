// Memory that host and device share: the same pages in this process and in the virtual GPU's.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cudart/client.hpp"
#include "cudart/memory/own_pages.hpp"

namespace scanlab::cudart {

const AllocationNote* Client::allocation_of(const void* pointer, Address* base) const {
  if (!in_device_window(pointer)) return nullptr;
  const Address address = reinterpret_cast<Address>(pointer);
  const auto found = last_up_to(allocations, address);
  if (found == allocations.end() || address - found->first >= std::max<std::uint64_t>(found->second.bytes, 1))
    return nullptr;
  if (base != nullptr) *base = found->first;
  return &found->second;
}

namespace {

struct Pages {
  std::byte* begin;
  std::size_t bytes;
};

Pages pages_of(Address base, std::size_t bytes) {
  const Address begin = base / vgpu::page_bytes * vgpu::page_bytes;
  const Address end =
      (base + std::max<std::size_t>(bytes, 1) + vgpu::page_bytes - 1) / vgpu::page_bytes * vgpu::page_bytes;
  return {reinterpret_cast<std::byte*>(begin), end - begin};
}

/// Those that hold nothing else.
Pages inner_pages_of(Address base, std::size_t bytes) {
  const Address begin = (base + vgpu::page_bytes - 1) / vgpu::page_bytes * vgpu::page_bytes;
  const Address end = (base + bytes) / vgpu::page_bytes * vgpu::page_bytes;
  return {reinterpret_cast<std::byte*>(begin), end > begin ? end - begin : 0};
}

/// Those in which an access can be noticed: other data in the same page would be in the way.
Pages watched_pages_of(Address begin, std::size_t bytes) {
  return has_own_pages(reinterpret_cast<const void*>(begin)) ? pages_of(begin, bytes) : inner_pages_of(begin, bytes);
}

Address address_of_pages(const Pages& pages) {
  return reinterpret_cast<Address>(pages.begin);
}

}  // namespace

cudaError_t Client::share(Address base, std::size_t bytes, void* host, std::uint64_t module,
                          std::string_view variable) {
  int fd = -1;
  const wire::Request request{.op = wire::Op::share, .id = module, .to = base};
  const wire::Reply reply = exchange(request, std::as_bytes(std::span(variable)), nullptr, &fd);
  if (reply.error != 0 || fd < 0) return reply.error != 0 ? error_of(reply) : cudaErrorUnknown;
  const auto map = [&](Pages at) {
    return mmap(at.begin, at.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  };
  const Pages window = pages_of(base, bytes);
  bool mapped = map(window);
  if (mapped && host != nullptr) {
    // What the program has there moves over with its neighbours in the same pages.
    const Pages own = pages_of(reinterpret_cast<Address>(host), bytes);
    std::memcpy(window.begin, own.begin, own.bytes);
    mapped = map(own);
  }
  if (mapped && reports_host_) {
    if (host == nullptr) {
      const Address begin = address_of_pages(window);
      watch.add(begin, {begin, base, base, base + bytes, !variable.empty(), HostWatch::open_pages(window.bytes)});
      if (!variable.empty()) {
        // Kernels may have used it before the host first does: the device knows, when it has time to answer.
        watch.used(base, bytes, HostWatch::How::closed);
        watch.is_stale = true;
      }
    } else if (const Pages own = watched_pages_of(reinterpret_cast<Address>(host), bytes); own.bytes > 0) {
      const auto data = reinterpret_cast<Address>(host);
      const Address begin = address_of_pages(own);
      watch.add(begin, {base + (begin - data), base + (std::max(begin, data) - data), data, data + bytes, false,
                        HostWatch::open_pages(own.bytes)});
    }
  }
  if (!mapped) say("the system refuses to map memory that host and device share: %s", std::strerror(errno));
  close(fd);
  return mapped ? cudaSuccess : cudaErrorMemoryAllocation;
}

void Client::unmap(Address base, std::size_t bytes) {
  const Pages pages = pages_of(base, bytes);
  watch.remove(address_of_pages(pages));
  (void)mmap(pages.begin, pages.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void Client::take_back(const void* host, const Registration& registration) {
  if (registration.device == 0) return;
  for (const auto pages : {inner_pages_of, pages_of})
    watch.remove(address_of_pages(pages(reinterpret_cast<Address>(host), registration.bytes)));
  const Pages own = pages_of(reinterpret_cast<Address>(host), registration.bytes);
  const Pages window = pages_of(registration.device, registration.bytes);
  // Filled elsewhere and moved here in one step: the pages may hold what is in use right now.
  void* copy = mmap(nullptr, own.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;  // shared pages do no harm
  std::memcpy(copy, window.begin, own.bytes);
  if (mremap(copy, own.bytes, own.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, own.begin) == MAP_FAILED)
    munmap(copy, own.bytes);
}

}  // namespace scanlab::cudart
