// System calls that read or write memory which kernels may use.
//
// Where a page is closed (host_watch.hpp) a system call fails with EFAULT: the kernel of the system sends no signal for
// what it does itself. So the program's calls for input and output come here first: the pages are opened for as long as
// the call takes, and what it has read or written is reported like any other access. The C library's calls are
// replaced by symbols of the same names in the program's own file, which other libraries use as well; only those that
// the C library makes itself do not come here, and of those the ones with the program's memory are fread's and
// fwrite's.
//
// So do the calls that copy or set memory, whose instructions load more, and in other pieces, than they say.
#undef _FORTIFY_SOURCE  // each name is to be the function of that name
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <span>

#include "cudart/client.hpp"

namespace scanlab::cudart {
namespace {

/// The C library's function of this name.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

enum class Uses { reads, writes };

/// Runs `call`, which returns how many items of `item` bytes were moved from or to the pieces of memory, or a negative
/// number.
template <class Call>
auto lent(std::span<const iovec> pieces, Uses uses, std::size_t item, void* caller, Call call) {
  HostWatch& watch = client().watch;
  bool is_lent = false;
  if (!in_call && watch.has_closed())
    for (const iovec& piece : pieces) is_lent |= watch.lend(reinterpret_cast<Address>(piece.iov_base), piece.iov_len);
  const auto result = call();
  if (!is_lent) return result;
  const int code = errno;
  std::size_t left = result > 0 ? static_cast<std::size_t>(result) * item : 0;
  for (const iovec& piece : pieces) {
    const std::size_t used = std::min(left, piece.iov_len);
    left -= used;
    const auto begin = reinterpret_cast<Address>(piece.iov_base);
    watch.give_back(begin, piece.iov_len);
    watch.was_used_by_system(begin, used, uses == Uses::writes, reinterpret_cast<Address>(caller));
  }
  errno = code;
  return result;
}

template <class Call>
auto lent(const void* memory, std::size_t bytes, Uses uses, std::size_t item, void* caller, Call call) {
  const iovec piece{const_cast<void*>(memory), bytes};
  return lent(std::span(&piece, 1), uses, item, caller, call);
}

/// The same for a call that uses all of the memory, whatever it returns.
template <class Call>
auto lent_whole(const void* memory, std::size_t bytes, Uses uses, void* caller, Call call) {
  HostWatch* const watch = in_call || memory == nullptr ? nullptr : HostWatch::in_use();
  const auto begin = reinterpret_cast<Address>(memory);
  const bool is_lent = watch != nullptr && watch->has_closed() && watch->lend(begin, bytes);
  const auto result = call();
  if (!is_lent) return result;
  const int code = errno;
  watch->give_back(begin, bytes);
  watch->was_used_by_system(begin, bytes, uses == Uses::writes, reinterpret_cast<Address>(caller));
  errno = code;
  return result;
}

template <class Call>
auto lent_copied(void* to, const void* from, std::size_t bytes, void* caller, Call call) {
  return lent_whole(from, bytes, Uses::reads, caller,
                    [&] { return lent_whole(to, bytes, Uses::writes, caller, call); });
}

/// Of a file's name, with its end.
std::size_t bytes_of(const char* name) {
  HostWatch* const watch = in_call || name == nullptr ? nullptr : HostWatch::in_use();
  return watch != nullptr && watch->has_closed() ? std::strlen(name) + 1 : 0;
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

// Weak: a program may have a variable of such a name.
/// NAME with its parameters in parentheses is called with ARGUMENTS; what it moves is at MEMORY, of BYTES bytes.
#define SCANLAB_SYSTEM_CALL(RESULT, NAME, PARAMETERS, ARGUMENTS, MEMORY, BYTES, USES, ITEM)                  \
  __attribute__((weak)) RESULT NAME PARAMETERS {                                                             \
    static auto* const function = real<RESULT PARAMETERS>(#NAME);                                            \
    return lent(MEMORY, BYTES, USES, ITEM, __builtin_return_address(0), [&] { return function ARGUMENTS; }); \
  }
#define SCANLAB_SYSTEM_CALL_WHOLE(RESULT, NAME, PARAMETERS, ARGUMENTS, SPECIFIER, MEMORY, BYTES, USES)       \
  __attribute__((weak)) RESULT NAME PARAMETERS SPECIFIER {                                                   \
    static auto* const function = real<RESULT PARAMETERS>(#NAME);                                            \
    return lent_whole(MEMORY, BYTES, USES, __builtin_return_address(0), [&] { return function ARGUMENTS; }); \
  }
/// The same for one that reads a file's `name`; that writes `to`; that does both; that opens one of a `name`.
#define SCANLAB_NAME(RESULT, NAME, PARAMETERS, ARGUMENTS, SPECIFIER) \
  SCANLAB_SYSTEM_CALL_WHOLE(RESULT, NAME, PARAMETERS, ARGUMENTS, SPECIFIER, name, bytes_of(name), Uses::reads)
#define SCANLAB_TO(RESULT, NAME, PARAMETERS, ARGUMENTS, SPECIFIER) \
  SCANLAB_SYSTEM_CALL_WHOLE(RESULT, NAME, PARAMETERS, ARGUMENTS, SPECIFIER, to, sizeof *to, Uses::writes)
#define SCANLAB_NAME_TO(RESULT, NAME, PARAMETERS, ARGUMENTS, SPECIFIER)                            \
  __attribute__((weak)) RESULT NAME PARAMETERS SPECIFIER {                                         \
    static auto* const function = real<RESULT PARAMETERS>(#NAME);                                  \
    void* const caller = __builtin_return_address(0);                                              \
    return lent_whole(name, bytes_of(name), Uses::reads, caller, [&] {                             \
      return lent_whole(to, sizeof *to, Uses::writes, caller, [&] { return function ARGUMENTS; }); \
    });                                                                                            \
  }
#define SCANLAB_OPENS(NAME, PARAMETERS, ARGUMENTS)                                    \
  __attribute__((weak)) int NAME PARAMETERS {                                         \
    static auto* const function = real<int PARAMETERS>(#NAME);                        \
    mode_t mode = 0;                                                                  \
    if (flags & (O_CREAT | O_TMPFILE)) {                                              \
      va_list rest;                                                                   \
      va_start(rest, flags);                                                          \
      mode = va_arg(rest, mode_t);                                                    \
      va_end(rest);                                                                   \
    }                                                                                 \
    return lent_whole(name, bytes_of(name), Uses::reads, __builtin_return_address(0), \
                      [&] { return function ARGUMENTS; });                            \
  }
#define SCANLAB_COPY(NAME)                                                                                       \
  __attribute__((weak)) void* NAME(void* to, const void* from, size_t bytes) noexcept {                          \
    static auto* const function = real<void*(void*, const void*, size_t)>(#NAME);                                \
    return lent_copied(to, from, bytes, __builtin_return_address(0), [&] { return function(to, from, bytes); }); \
  }
#define SCANLAB_SYSTEM_CALL_PIECES(NAME, PARAMETERS, ARGUMENTS, PIECES, USES)                      \
  __attribute__((weak)) ssize_t NAME PARAMETERS {                                                  \
    static auto* const function = real<ssize_t PARAMETERS>(#NAME);                                 \
    return lent(PIECES, USES, 1, __builtin_return_address(0), [&] { return function ARGUMENTS; }); \
  }

namespace {

std::span<const iovec> pieces_of(const iovec* pieces, int count) {
  return {pieces, count > 0 && pieces != nullptr ? static_cast<std::size_t>(count) : 0};
}

std::span<const iovec> pieces_of(const msghdr* message) {
  return message == nullptr ? std::span<const iovec>() : std::span<const iovec>(message->msg_iov, message->msg_iovlen);
}

}  // namespace

extern "C" {

// clang-format off
SCANLAB_SYSTEM_CALL(ssize_t, read, (int fd, void* to, size_t bytes), (fd, to, bytes), to, bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, write, (int fd, const void* from, size_t bytes), (fd, from, bytes), from, bytes,
                    Uses::reads, 1)
SCANLAB_SYSTEM_CALL(ssize_t, pread, (int fd, void* to, size_t bytes, off_t at), (fd, to, bytes, at), to, bytes,
                    Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, pread64, (int fd, void* to, size_t bytes, off64_t at), (fd, to, bytes, at), to, bytes,
                    Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, pwrite, (int fd, const void* from, size_t bytes, off_t at), (fd, from, bytes, at), from,
                    bytes, Uses::reads, 1)
SCANLAB_SYSTEM_CALL(ssize_t, pwrite64, (int fd, const void* from, size_t bytes, off64_t at), (fd, from, bytes, at),
                    from, bytes, Uses::reads, 1)
SCANLAB_SYSTEM_CALL(ssize_t, recv, (int fd, void* to, size_t bytes, int flags), (fd, to, bytes, flags), to, bytes,
                    Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, send, (int fd, const void* from, size_t bytes, int flags), (fd, from, bytes, flags), from,
                    bytes, Uses::reads, 1)
SCANLAB_SYSTEM_CALL(ssize_t, recvfrom, (int fd, void* to, size_t bytes, int flags, sockaddr* who, socklen_t* size),
                    (fd, to, bytes, flags, who, size), to, bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, sendto,
                    (int fd, const void* from, size_t bytes, int flags, const sockaddr* who, socklen_t size),
                    (fd, from, bytes, flags, who, size), from, bytes, Uses::reads, 1)
SCANLAB_SYSTEM_CALL(size_t, fread, (void* to, size_t size, size_t count, FILE* file), (to, size, count, file), to,
                    size * count, Uses::writes, size)
SCANLAB_SYSTEM_CALL(size_t, fwrite, (const void* from, size_t size, size_t count, FILE* file),
                    (from, size, count, file), from, size * count, Uses::reads, size)
SCANLAB_SYSTEM_CALL(size_t, fread_unlocked, (void* to, size_t size, size_t count, FILE* file), (to, size, count, file),
                    to, size * count, Uses::writes, size)
SCANLAB_SYSTEM_CALL(size_t, fwrite_unlocked, (const void* from, size_t size, size_t count, FILE* file),
                    (from, size, count, file), from, size * count, Uses::reads, size)

SCANLAB_SYSTEM_CALL_PIECES(readv, (int fd, const iovec* pieces, int count), (fd, pieces, count),
                           pieces_of(pieces, count), Uses::writes)
SCANLAB_SYSTEM_CALL_PIECES(writev, (int fd, const iovec* pieces, int count), (fd, pieces, count),
                           pieces_of(pieces, count), Uses::reads)
SCANLAB_SYSTEM_CALL_PIECES(preadv, (int fd, const iovec* pieces, int count, off_t at), (fd, pieces, count, at),
                           pieces_of(pieces, count), Uses::writes)
SCANLAB_SYSTEM_CALL_PIECES(preadv64, (int fd, const iovec* pieces, int count, off64_t at), (fd, pieces, count, at),
                           pieces_of(pieces, count), Uses::writes)
SCANLAB_SYSTEM_CALL_PIECES(pwritev, (int fd, const iovec* pieces, int count, off_t at), (fd, pieces, count, at),
                           pieces_of(pieces, count), Uses::reads)
SCANLAB_SYSTEM_CALL_PIECES(pwritev64, (int fd, const iovec* pieces, int count, off64_t at), (fd, pieces, count, at),
                           pieces_of(pieces, count), Uses::reads)
SCANLAB_SYSTEM_CALL_PIECES(recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags), pieces_of(message),
                           Uses::writes)
SCANLAB_SYSTEM_CALL_PIECES(sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags),
                           pieces_of(message), Uses::reads)

SCANLAB_NAME(FILE*, fopen, (const char* name, const char* mode), (name, mode), )
SCANLAB_NAME(FILE*, fopen64, (const char* name, const char* mode), (name, mode), )
SCANLAB_NAME(DIR*, opendir, (const char* name), (name), )
SCANLAB_NAME(int, access, (const char* name, int how), (name, how), noexcept)
SCANLAB_NAME(int, chdir, (const char* name), (name), noexcept)
SCANLAB_NAME(int, chmod, (const char* name, mode_t mode), (name, mode), noexcept)
SCANLAB_NAME(int, creat, (const char* name, mode_t mode), (name, mode), )
SCANLAB_NAME(int, mkdir, (const char* name, mode_t mode), (name, mode), noexcept)
SCANLAB_NAME(int, rmdir, (const char* name), (name), noexcept)
SCANLAB_NAME(int, unlink, (const char* name), (name), noexcept)
SCANLAB_NAME(int, remove, (const char* name), (name), noexcept)
SCANLAB_NAME(int, truncate, (const char* name, off_t bytes), (name, bytes), noexcept)
SCANLAB_OPENS(open, (const char* name, int flags, ...), (name, flags, mode))
SCANLAB_OPENS(open64, (const char* name, int flags, ...), (name, flags, mode))
SCANLAB_OPENS(openat, (int folder, const char* name, int flags, ...), (folder, name, flags, mode))
SCANLAB_OPENS(openat64, (int folder, const char* name, int flags, ...), (folder, name, flags, mode))
SCANLAB_NAME_TO(int, stat, (const char* name, struct stat* to), (name, to), noexcept)
SCANLAB_NAME_TO(int, lstat, (const char* name, struct stat* to), (name, to), noexcept)
SCANLAB_TO(int, fstat, (int fd, struct stat* to), (fd, to), noexcept)
SCANLAB_TO(int, clock_getres, (clockid_t clock, timespec* to), (clock, to), noexcept)
SCANLAB_TO(int, getrlimit, (__rlimit_resource_t which, rlimit* to), (which, to), noexcept)
SCANLAB_TO(int, getrusage, (__rusage_who_t who, rusage* to), (who, to), noexcept)
SCANLAB_TO(int, sysinfo, (struct sysinfo* to), (to), noexcept)
SCANLAB_TO(clock_t, times, (tms* to), (to), noexcept)
SCANLAB_TO(pid_t, waitpid, (pid_t who, int* to, int how), (who, to, how), )
SCANLAB_TO(int, sigprocmask, (int how, const sigset_t* mask, sigset_t* to), (how, mask, to), noexcept)
SCANLAB_SYSTEM_CALL_WHOLE(int, socketpair, (int domain, int type, int protocol, int* ends),
                          (domain, type, protocol, ends), noexcept, ends, 2 * sizeof *ends, Uses::writes)
__attribute__((weak)) int rename(const char* from, const char* to) noexcept {
  static auto* const function = real<int(const char*, const char*)>("rename");
  void* const caller = __builtin_return_address(0);
  return lent_whole(from, bytes_of(from), Uses::reads, caller, [&] {
    return lent_whole(to, bytes_of(to), Uses::reads, caller, [&] { return function(from, to); });
  });
}
__attribute__((weak)) int select(int count, fd_set* to_read, fd_set* to_write, fd_set* failed, timeval* most) {
  static auto* const function = real<int(int, fd_set*, fd_set*, fd_set*, timeval*)>("select");
  void* const caller = __builtin_return_address(0);
  const auto with = [&](auto* to, auto call) { return lent_whole(to, sizeof *to, Uses::writes, caller, call); };
  return with(to_read, [&] {
    return with(to_write, [&] {
      return with(failed, [&] {
        return with(most, [&] { return function(count, to_read, to_write, failed, most); });
      });
    });
  });
}
SCANLAB_SYSTEM_CALL_WHOLE(int, pipe, (int* ends), (ends), noexcept, ends, 2 * sizeof *ends, Uses::writes)
SCANLAB_SYSTEM_CALL_WHOLE(int, poll, (pollfd* files, nfds_t count, int most), (files, count, most), , files,
                          count * sizeof *files, Uses::writes)
SCANLAB_TO(int, uname, (utsname* to), (to), noexcept)
SCANLAB_SYSTEM_CALL_WHOLE(int, nanosleep, (const timespec* time, timespec* left), (time, left), , time, sizeof *time,
                          Uses::reads)
SCANLAB_SYSTEM_CALL_WHOLE(ssize_t, getrandom, (void* to, size_t bytes, unsigned flags), (to, bytes, flags), , to,
                          bytes, Uses::writes)
SCANLAB_SYSTEM_CALL_WHOLE(char*, getcwd, (char* to, size_t bytes), (to, bytes), noexcept, to, bytes, Uses::writes)
SCANLAB_SYSTEM_CALL_WHOLE(ssize_t, readlink, (const char* name, char* to, size_t bytes), (name, to, bytes), noexcept,
                          to, bytes, Uses::writes)

__attribute__((weak)) int munmap(void* memory, size_t bytes) noexcept {
  static auto* const function = real<int(void*, size_t)>("munmap");
  HostWatch* const watch = in_call ? nullptr : HostWatch::in_use();
  if (watch != nullptr)
    watch->is_given_back(reinterpret_cast<Address>(memory), bytes,
                         reinterpret_cast<Address>(__builtin_return_address(0)));
  return function(memory, bytes);
}

SCANLAB_COPY(memcpy)
SCANLAB_COPY(memmove)
SCANLAB_COPY(mempcpy)
SCANLAB_SYSTEM_CALL_WHOLE(void*, memset, (void* to, int value, size_t bytes), (to, value, bytes), noexcept, to, bytes,
                          Uses::writes)

// What the calls become with _FORTIFY_SOURCE.
SCANLAB_SYSTEM_CALL(ssize_t, __read_chk, (int fd, void* to, size_t bytes, size_t room), (fd, to, bytes, room), to,
                    bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, __pread_chk, (int fd, void* to, size_t bytes, off_t at, size_t room),
                    (fd, to, bytes, at, room), to, bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, __pread64_chk, (int fd, void* to, size_t bytes, off64_t at, size_t room),
                    (fd, to, bytes, at, room), to, bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, __recv_chk, (int fd, void* to, size_t bytes, size_t room, int flags),
                    (fd, to, bytes, room, flags), to, bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(ssize_t, __recvfrom_chk,
                    (int fd, void* to, size_t bytes, size_t room, int flags, sockaddr* who, socklen_t* size),
                    (fd, to, bytes, room, flags, who, size), to, bytes, Uses::writes, 1)
SCANLAB_SYSTEM_CALL(size_t, __fread_chk, (void* to, size_t room, size_t size, size_t count, FILE* file),
                    (to, room, size, count, file), to, size * count, Uses::writes, size)
SCANLAB_SYSTEM_CALL(size_t, __fread_unlocked_chk, (void* to, size_t room, size_t size, size_t count, FILE* file),
                    (to, room, size, count, file), to, size * count, Uses::writes, size)
// clang-format on

}  // extern "C"
