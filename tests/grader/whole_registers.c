// Preloaded into user-mode Linux, so that it runs on processors with AMX. Its room for a thread's extended registers
// ends with AVX-512's; Linux takes all of them or none (ptrace, PTRACE_SETREGSET: EFAULT). What it does not have stays
// as it is.

#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

long ptrace(enum __ptrace_request request, ...) {
  va_list list;
  va_start(list, request);
  const long process = va_arg(list, int);
  void* const address = va_arg(list, void*);
  void* const data = va_arg(list, void*);
  va_end(list);
  if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
    long word = 0;  // the kernel writes it to an address, the C library returns it
    return syscall(SYS_ptrace, request, process, address, &word) < 0 ? -1 : word;
  }
  static char room[1 << 16];
  struct iovec whole = {room, sizeof room};
  if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE &&
      syscall(SYS_ptrace, PTRACE_GETREGSET, process, address, &whole) == 0) {
    const struct iovec* const given = data;
    memcpy(room, given->iov_base, given->iov_len);
    return syscall(SYS_ptrace, request, process, address, &whole);
  }
  return syscall(SYS_ptrace, request, process, address, data);
}
