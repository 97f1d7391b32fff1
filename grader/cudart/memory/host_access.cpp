// Host code that dereferences a device pointer dies as it would on a GPU, but with a report of what it did.
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "cudart/client.hpp"

namespace scanlab::cudart {
namespace {

struct sigaction previous_segv, previous_bus, previous_trap;

/// Copies the function that holds `pc` (relative to the program's base), demangled, to `name`; false when not known.
bool function_at(Address pc, char* name, std::size_t size) {
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat file {};
  if (fd < 0 || fstat(fd, &file) != 0) return false;
  const auto bytes = static_cast<std::size_t>(file.st_size);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return false;
  const auto* image = static_cast<const unsigned char*>(mapped);
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(image);
  if (bytes < sizeof header || header.e_shoff == 0 || header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr) > bytes)
    return false;
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + header.e_shoff);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum || table.sh_offset + table.sh_size > bytes)
      continue;
    const Elf64_Shdr& strings = sections[table.sh_link];
    if (strings.sh_size == 0 || strings.sh_offset + strings.sh_size > bytes) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(image + table.sh_offset);
    for (std::size_t k = 0; k < table.sh_size / sizeof(Elf64_Sym); ++k) {
      const Elf64_Sym& symbol = symbols[k];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || pc < symbol.st_value || pc >= symbol.st_value + symbol.st_size ||
          symbol.st_name >= strings.sh_size)
        continue;
      const char* mangled = reinterpret_cast<const char*>(image + strings.sh_offset + symbol.st_name);
      int status = 0;
      char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
      std::snprintf(name, size, "%s", status == 0 && plain != nullptr ? plain : mangled);
      return true;
    }
  }
  return false;
}

/// The innermost function of the program itself on the stack (a memcpy of the C library is not what the learner wrote).
bool guilty_function(char* name, std::size_t size) {
  const OwnCode& code = own_code();
  void* frames[64];
  const int count = backtrace(frames, 64);
  bool past_signal = false;
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<Address>(frames[i]);
    const bool own = code.holds(at);
    if (!own) past_signal = true;  // the C library's return from the signal handler lies between it and the fault
    if (own && past_signal) return function_at(at - code.base - 1, name, size);
  }
  return false;
}

const char* verb(const void* context) {
#if defined(__x86_64__)
  const auto error = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & 2) != 0 ? "wrote to" : "read";
#else
  (void)context;
  return "accessed";
#endif
}

bool is_write(const void* context) {
#if defined(__x86_64__)
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return false;
#endif
}

/// After the one instruction that HostWatch has let through.
void on_trap(int signal, siginfo_t*, void* context) {
  const int code = errno;
  if (!client().watch.on_step(context)) sigaction(signal, &previous_trap, nullptr);
  errno = code;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<Address>(info->si_addr);
  const int code = errno;
  if (signal == SIGSEGV && info->si_code == SEGV_ACCERR && client().reports_host() &&
      client().watch.on_fault(address, is_write(context), context)) {
    errno = code;
    return;
  }
  const bool ours =
      info->si_code > 0 && address >= vgpu::code_window && address < vgpu::global_window + vgpu::global_window_bytes;
  if (ours) {
    char function[256], where[320] = "", what[256] = "device memory";
    if (guilty_function(function, sizeof function)) std::snprintf(where, sizeof where, " in %s", function);
    // This thread stands in the program's code, not in ours: the table of allocations is at rest.
    const auto& allocations = client().allocations;
    const auto found = last_up_to(allocations, address);
    if (found != allocations.end() && address - found->first < found->second.bytes)
      std::snprintf(what, sizeof what, "byte %llu of %s", static_cast<unsigned long long>(address - found->first),
                    found->second.label.c_str());
    const auto& freed = client().freed;
    const auto was = last_up_to(freed, address);
    const bool is_freed = found == allocations.end() || address - found->first >= found->second.bytes
                              ? was != freed.end() && address - was->first < was->second.bytes
                              : false;
    if (is_freed)
      std::snprintf(what, sizeof what, "byte %llu of %s", static_cast<unsigned long long>(address - was->first),
                    was->second.label.c_str());
    char line[1024];
    const int length =
        std::snprintf(line, sizeof line, "scanlab: host code%s %s %s 0x%llx (%s)\nscanlab: %s\n", where, verb(context),
                      is_freed ? "freed memory," : "the device pointer", static_cast<unsigned long long>(address), what,
                      is_freed ? "nothing may use it any more; free it behind its last use"
                               : "only kernels can use device memory; copy it with cudaMemcpy");
    std::fflush(stdout);
    (void)!write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  }
  // The instruction runs again, and meets what was there before us: by default, the end of the process.
  const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
  sigaction(signal, &previous, nullptr);
}

}  // namespace

bool catches_faults() {
  struct sigaction current {};
  return sigaction(SIGSEGV, nullptr, &current) == 0 && current.sa_sigaction == on_fault;
}

void watch_host_accesses() {
  void* frame[1];
  (void)backtrace(frame, 1);  // its first call loads a library, which a signal handler may not do
  constexpr std::size_t stack_bytes = 256 << 10;
  static stack_t stack{};
  stack_t current{};
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE)) {
    stack.ss_sp = std::malloc(stack_bytes);
    stack.ss_size = stack_bytes;
    if (stack.ss_sp != nullptr) sigaltstack(&stack, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
  if (!client().reports_host()) return;
  action.sa_sigaction = on_trap;
  sigaction(SIGTRAP, &action, &previous_trap);
}

}  // namespace scanlab::cudart
