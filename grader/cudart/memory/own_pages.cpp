// Blocks of malloc's with pages of their own.
//
// A page can only be watched (host_watch.hpp) where no other data lies: malloc's own notes, or a text that a system
// call reads, may be used at any time, and by whom no signal can stop. So where the host is watched, larger blocks
// begin in a new page, and nothing else comes into their last one. The C library lets a program replace its malloc.
#include "cudart/memory/own_pages.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cudart/client.hpp"
#include "vgpu/core/memory/memory.hpp"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
}

namespace scanlab::cudart {
namespace {

/// Smaller blocks are the C library's.
constexpr std::size_t least_bytes = 512;
/// Blocks at the same time: the system maps so many pieces of memory, and no more.
constexpr long most_blocks = 16384;
/// Addresses that blocks get.
constexpr std::size_t region_bytes = std::size_t{1} << 38;
/// Of freed blocks those of up to so many pages are kept for the next one of that size, and not more than so many
/// bytes.
constexpr std::size_t most_kept_pages = 64, most_kept_bytes = 64 << 20;

/// In front of a block.
struct Head {
  std::uintptr_t begin;  ///< of its pages
  std::size_t mapped, bytes;
};

std::atomic<std::uintptr_t> region = 0, next = 0;
std::atomic<long> blocks = 0;

/// Pages of freed blocks, each list of one size; each begins with where the next ones are.
struct Kept {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::size_t bytes = 0;
  void* pages[most_kept_pages + 1] = {};

  void* take(std::size_t mapped) {
    const std::size_t count = mapped / vgpu::page_bytes;
    if (count > most_kept_pages) return nullptr;
    const Hold hold(busy);
    void* const first = pages[count];
    if (first == nullptr) return nullptr;
    std::memcpy(&pages[count], first, sizeof(void*));
    bytes -= mapped;
    return first;
  }
  bool give(void* begin, std::size_t mapped) {
    const std::size_t count = mapped / vgpu::page_bytes;
    const Hold hold(busy);
    if (count > most_kept_pages || bytes + mapped > most_kept_bytes) return false;
    std::memcpy(begin, &pages[count], sizeof(void*));
    pages[count] = begin;
    bytes += mapped;
    return true;
  }

 private:
  struct Hold {
    explicit Hold(std::atomic_flag& flag) : flag_(flag) {
      while (flag_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Hold() { flag_.clear(std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    std::atomic_flag& flag_;
  };
};
constinit Kept kept;

bool is_own(const void* block) {
  const std::uintptr_t begin = region, at = reinterpret_cast<std::uintptr_t>(block);
  return begin != 0 && at >= begin && at - begin < region_bytes;
}

Head& head_of(void* block) {
  return *(static_cast<Head*>(block) - 1);
}

/// Null where the C library is to give it.
void* allocate_own(std::size_t bytes, std::size_t alignment, bool is_zeroed = false) {
  if (region == 0 || bytes < least_bytes || bytes > region_bytes / 16 || alignment > vgpu::page_bytes) return nullptr;
  const std::size_t before = vgpu::round_up(sizeof(Head), std::max<std::size_t>(alignment, 32));
  const std::size_t mapped = vgpu::round_up(before + bytes, vgpu::page_bytes);
  void* pages = kept.take(mapped);
  if (pages != nullptr) {
    if (is_zeroed) std::memset(pages, 0, mapped);
  } else {
    if (blocks.fetch_add(1) >= most_blocks) return --blocks, nullptr;
    const std::uintptr_t begin = next.fetch_add(mapped);
    pages = reinterpret_cast<void*>(begin);
    if (begin - region > region_bytes - mapped || mprotect(pages, mapped, PROT_READ | PROT_WRITE) != 0)
      return --blocks, nullptr;
  }
  void* const block = static_cast<char*>(pages) + before;
  head_of(block) = {reinterpret_cast<std::uintptr_t>(pages), mapped, bytes};
  return block;
}

void free_own(void* block) {
  const Head head = head_of(block);
  void* const pages = reinterpret_cast<void*>(head.begin);
  if (kept.give(pages, head.mapped)) return;
  const int code = errno;
  (void)mmap(pages, head.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  errno = code;
  --blocks;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  void* const own = allocate_own(bytes, alignment);
  return own != nullptr ? own : __libc_memalign(alignment, bytes);
}

}  // namespace

void give_blocks_own_pages() {
  void* const at = mmap(nullptr, region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;
  next = reinterpret_cast<std::uintptr_t>(at);
  region = reinterpret_cast<std::uintptr_t>(at);
}

bool has_own_pages(const void* memory) {
  return is_own(memory);
}

}  // namespace scanlab::cudart

using namespace scanlab::cudart;

namespace {

/// Kernels and copies may still use a block that is registered.
void report_free(void* block, void* caller) {
  HostWatch* const watch = in_call || block == nullptr ? nullptr : HostWatch::in_use();
  static thread_local bool is_reporting = false;  // which allocates, and frees
  if (watch == nullptr || !watch->has_closed() || std::exchange(is_reporting, true)) return;
  const int code = errno;
  watch->is_given_back(reinterpret_cast<Address>(block), malloc_usable_size(block), reinterpret_cast<Address>(caller));
  errno = code;
  is_reporting = false;
}

}  // namespace

extern "C" {

__attribute__((weak)) void* malloc(std::size_t bytes) noexcept {
  void* const own = allocate_own(bytes, 1);
  return own != nullptr ? own : __libc_malloc(bytes);
}

__attribute__((weak)) void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  void* const own = __builtin_mul_overflow(count, bytes, &all) ? nullptr : allocate_own(all, 1, true);
  return own != nullptr ? own : __libc_calloc(count, bytes);
}

__attribute__((weak)) void free(void* block) noexcept {
  report_free(block, __builtin_return_address(0));
  if (in_device_window(block)) {
    say("free: the pointer is CUDA's; what cudaMallocHost or cudaHostAlloc gave goes back with cudaFreeHost, what "
        "cudaMalloc or cudaMallocManaged gave with cudaFree");
    std::abort();
  }
  if (is_own(block))
    free_own(block);
  else
    __libc_free(block);
}

__attribute__((weak)) void* realloc(void* block, std::size_t bytes) noexcept {
  report_free(block, __builtin_return_address(0));
  const bool was_own = is_own(block);
  // A block of the C library stays one: how large it is only that knows.
  if (!was_own && block != nullptr) return __libc_realloc(block, bytes);
  if (block == nullptr) return malloc(bytes);
  void* const moved = bytes == 0 ? nullptr : malloc(bytes);
  if (moved == nullptr && bytes != 0) return nullptr;
  if (moved != nullptr) std::memcpy(moved, block, std::min(bytes, head_of(block).bytes));
  free_own(block);
  return moved;
}

__attribute__((weak)) void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}

__attribute__((weak)) void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}

__attribute__((weak)) int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const given = allocate_aligned(alignment, bytes);
  if (given == nullptr) return ENOMEM;
  *block = given;
  return 0;
}

__attribute__((weak)) void* valloc(std::size_t bytes) noexcept {
  return allocate_aligned(scanlab::vgpu::page_bytes, bytes);
}

__attribute__((weak)) void* pvalloc(std::size_t bytes) noexcept {
  return allocate_aligned(scanlab::vgpu::page_bytes, scanlab::vgpu::round_up(bytes, scanlab::vgpu::page_bytes));
}

__attribute__((weak)) std::size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  if (is_own(block)) return head_of(block).bytes;
  // As the C library notes it in front of the block.
  std::size_t size_and_flags = 0;
  std::memcpy(&size_and_flags, static_cast<char*>(block) - sizeof size_and_flags, sizeof size_and_flags);
  const bool is_mapped = (size_and_flags & 2) != 0;
  return (size_and_flags & ~std::size_t{7}) - (is_mapped ? 2 : 1) * sizeof(std::size_t);
}

}  // extern "C"
