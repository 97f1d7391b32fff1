// Memory that host and device share: the same pages in this process and in the virtual GPU's.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cudart/client.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Reply;
using wire::Request;

const AllocationNote* Client::allocation_of(const void* pointer, Address* base) const {
  if (!in_device_window(pointer)) return nullptr;
  const Address address = reinterpret_cast<Address>(pointer);
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  --next;
  if (address - next->first >= std::max<std::uint64_t>(next->second.bytes, 1)) return nullptr;
  if (base != nullptr) *base = next->first;
  return &next->second;
}

namespace {

struct PageRange {
  std::byte* begin;
  std::size_t bytes;
};

PageRange pages_of(Address base, std::size_t bytes) {
  const Address begin = base / vgpu::page_bytes * vgpu::page_bytes;
  const Address end = vgpu::round_up(base + std::max<std::size_t>(bytes, 1), vgpu::page_bytes);
  return {reinterpret_cast<std::byte*>(begin), end - begin};
}

}  // namespace

cudaError_t Client::share(Address base, std::size_t bytes, void* host, std::uint64_t module,
                          std::string_view variable) {
  Request request;
  request.op = Op::share;
  request.to = base;
  request.id = module;
  int fd = -1;
  const Reply reply = exchange(request, std::as_bytes(std::span(variable)), fd);
  if (reply.error != 0 || fd < 0) return reply.error != 0 ? static_cast<cudaError_t>(reply.error) : cudaErrorUnknown;
  const auto map = [&](PageRange at) {
    return mmap(at.begin, at.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  };
  const PageRange window = pages_of(base, bytes);
  bool mapped = map(window);
  if (mapped && host != nullptr) {
    // What the program has there moves over with its neighbours in the same pages.
    const PageRange own = pages_of(reinterpret_cast<Address>(host), bytes);
    std::memcpy(window.begin, own.begin, own.bytes);
    mapped = map(own);
  }
  if (!mapped) say("the system refuses to map memory that host and device share: %s", std::strerror(errno));
  close(fd);
  return mapped ? cudaSuccess : cudaErrorMemoryAllocation;
}

void Client::unmap(Address base, std::size_t bytes) {
  const PageRange pages = pages_of(base, bytes);
  (void)mmap(pages.begin, pages.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void Client::take_back(const void* host, const Registration& registration) {
  if (registration.device == 0) return;
  const PageRange own = pages_of(reinterpret_cast<Address>(host), registration.bytes);
  const PageRange window = pages_of(registration.device, registration.bytes);
  // Filled elsewhere and moved here in one step: the pages may hold what is in use right now.
  void* copy = mmap(nullptr, own.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;  // shared pages do no harm
  std::memcpy(copy, window.begin, own.bytes);
  if (mremap(copy, own.bytes, own.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, own.begin) == MAP_FAILED)
    munmap(copy, own.bytes);
}

}  // namespace scanlab::cudart
