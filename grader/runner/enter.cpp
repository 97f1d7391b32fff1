// The last step into the sandbox: what bubblewrap starts, and what becomes the program that is not trusted.
//     enter [--user ID] [--processes N] [--memory BYTES] [--address BYTES] [--cpu SECONDS] [--file BYTES] [--open N]
//           [--scratch BYTES] [--status FD] [--keep N] [--gpu] -- PROGRAM [ARGUMENT …]
//     enter --join FILE -- PROGRAM [ARGUMENT …]
// The second form, outside of the sandbox, puts itself into the cgroup whose cgroup.procs is FILE and becomes PROGRAM.
// The first takes another user's identity for good, sets the limits, forbids the system calls that open other ways out,
// and closes every descriptor from N on (without --keep: from 3 on). Then it writes 'r' to the status descriptor and
// becomes PROGRAM; without that letter, or with another after it, no program has run and the fault is the sandbox's.
//
// bubblewrap itself cannot do these: a count of processes holds for a user that is not root (setrlimit(2)), a new user
// namespace inside would be a way to file systems without a limit, and it has no option for the number of files in
// /tmp.
//
// Kernel memory that belongs to no process's pages, and so is seen by no limit but a cgroup's, is kept small here: no
// sockets (their buffers), no epoll and inotify, no locks of parts of files, pipes of their first size, few files in
// /tmp, few signals that wait.

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace {

struct Wanted {
  long user = -1, status = -1, keep = 3;
  long processes = -1, memory = -1, address = -1, cpu = -1, file = -1, open = -1, scratch = -1;
  bool gpu = false;  ///< may make files in memory that no limit counts, sockets and locks: NVIDIA's driver does
};

constexpr int most_files = 4096;     ///< in /tmp: each takes a kilobyte of the kernel's memory
constexpr long most_signals = 1024;  ///< that wait for a process, and timers

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "enter: %s: %s\n", what, std::strerror(errno));
  _exit(126);
}

void limit(int resource, long value, const char* what) {
  if (value < 0) return;
  rlimit now{};
  const auto wanted = static_cast<rlim_t>(value);
  if (getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) give_up(what);
  const rlim_t allowed = now.rlim_max < wanted ? now.rlim_max : wanted;  // never more than there was
  // A second between the two: the first one of processor time says what it is, the last one kills.
  const rlim_t soft = resource == RLIMIT_CPU && allowed > 1 ? allowed - 1 : allowed;
  const rlimit both{soft, allowed};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) give_up(what);
}

void bound_files(long scratch) {
  if (scratch < 0) return;
  char options[96];
  std::snprintf(options, sizeof options, "size=%ld,nr_inodes=%d,mode=1777", scratch, most_files);
  if (mount("tmpfs", "/tmp", "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options) != 0) give_up("files in /tmp");
}

/// Takes the user's identity, where one is given, and gives up all rights.
void become(long user) {
  const auto id = static_cast<uid_t>(user);
  if (user >= 0 && setgroups(0, nullptr) != 0) give_up("setgroups");
  if (user >= 0 && setresgid(id, id, id) != 0) give_up("setresgid");
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int capability = 0; capability < 64; ++capability) (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  if (user >= 0 && setresuid(id, id, id) != 0) give_up("setresuid");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (syscall(SYS_capset, &header, none) != 0) give_up("capset");
}

#if defined(__x86_64__)
constexpr unsigned own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_architecture = AUDIT_ARCH_AARCH64;
#endif

/// Refused with EPERM. Numbers that old headers lack are the same on every architecture.
constexpr unsigned refused[] = {
    // other namespaces, and file systems without a limit
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, 428 /* open_tree */,
    429 /* move_mount */, 430 /* fsopen */, 431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */,
    442 /* mount_setattr */,
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, 438 /* pidfd_getfd */, 440 /* process_madvise */,
    // memory that outlives the processes that have it mapped
    SYS_shmget, SYS_msgget, SYS_semget,
    // parts of the kernel that no scan needs
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_open_by_handle_at,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct,
    SYS_quotactl, SYS_syslog, 425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */};
/// Refused where there is no GPU: kernel memory that no limit counts.
constexpr unsigned refused_without_gpu[] = {SYS_memfd_create,  SYS_socket,        SYS_socketpair,
                                            SYS_epoll_create1, SYS_inotify_init1, SYS_fanotify_init,
#if defined(__x86_64__)
                                            SYS_epoll_create,  SYS_inotify_init
#endif
};
/// … and what fcntl may not do then: a lock takes as much as a page of a small file, and pipes could be made larger.
constexpr unsigned refused_of_fcntl[] = {F_SETLK,      F_SETLKW,   F_OFD_SETLK, F_OFD_SETLKW,
                                         F_SETPIPE_SZ, F_SETLEASE, F_NOTIFY};
constexpr unsigned namespace_flags = 0x7E020000;  ///< of clone: every CLONE_NEW…
constexpr unsigned clone3_call = 435;

void forbid_system_calls(bool gpu) {
#if defined(__x86_64__) || defined(__aarch64__)
  sock_filter program[256];
  unsigned short size = 0;
  const auto put = [&](sock_filter instruction) { program[size++] = instruction; };
  const auto load = [&](std::size_t offset) { put(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset))); };
  const auto answer = [&](unsigned value) { put(BPF_STMT(BPF_RET | BPF_K, value)); };
  const auto refuse = [](int error) { return SECCOMP_RET_ERRNO | static_cast<unsigned>(error); };
  const auto refuse_if = [&](unsigned loaded, int error) {
    put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, loaded, 0, 1));
    answer(refuse(error));
  };
  constexpr std::size_t first_argument = offsetof(seccomp_data, args);  // its lower half: both are little-endian

  load(offsetof(seccomp_data, arch));
  put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 1, 0));
  answer(refuse(ENOSYS));
  load(offsetof(seccomp_data, nr));
  put(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));  // x32: the same calls under other numbers
  answer(refuse(ENOSYS));
  refuse_if(clone3_call, ENOSYS);  // its flags cannot be seen; glibc goes on with clone
  for (const unsigned call : refused) refuse_if(call, EPERM);
  if (!gpu) {
    for (const unsigned call : refused_without_gpu) refuse_if(call, EACCES);
    constexpr unsigned char commands = std::size(refused_of_fcntl);
    put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 2 * commands + 2));
    load(offsetof(seccomp_data, args) + sizeof(std::uint64_t));
    for (const unsigned command : refused_of_fcntl) refuse_if(command, EPERM);
    answer(SECCOMP_RET_ALLOW);
  }
  put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
  load(first_argument);
  put(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, namespace_flags, 0, 1));
  answer(refuse(EPERM));
  answer(SECCOMP_RET_ALLOW);
  put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4));  // not all families know network namespaces
  load(first_argument);
  put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
  answer(refuse(EACCES));
  answer(SECCOMP_RET_ALLOW);
  answer(SECCOMP_RET_ALLOW);

  const sock_fprog filter{size, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up("no_new_privs");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) give_up("seccomp");
#else
  (void)gpu;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up("no_new_privs");
#endif
}

void close_from(long first, long kept) {
  rlimit most{};
  if (getrlimit(RLIMIT_NOFILE, &most) != 0) give_up("descriptors");
  const long end = most.rlim_cur == RLIM_INFINITY || most.rlim_cur > 65536 ? 65536 : static_cast<long>(most.rlim_cur);
  for (long fd = first; fd < end; ++fd) {
    if (fd != kept) close(static_cast<int>(fd));
  }
}

[[noreturn]] void join(const char* file, char** program) {
  const int group = open(file, O_WRONLY | O_CLOEXEC);
  if (group < 0 || write(group, "0", 1) != 1) give_up(file);
  close(group);
  execv(program[0], program);
  give_up(program[0]);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 4 && std::strcmp(arguments[1], "--join") == 0 && std::strcmp(arguments[3], "--") == 0) {
    join(arguments[2], arguments + 4);
  }
  Wanted wanted;
  const struct {
    const char* name;
    long Wanted::*member;
  } options[] = {{"--user", &Wanted::user}, {"--processes", &Wanted::processes}, {"--memory", &Wanted::memory},
                 {"--cpu", &Wanted::cpu},   {"--address", &Wanted::address},     {"--scratch", &Wanted::scratch},
                 {"--file", &Wanted::file}, {"--open", &Wanted::open},           {"--status", &Wanted::status},
                 {"--keep", &Wanted::keep}};
  int at = 1;
  for (; at < count && std::strcmp(arguments[at], "--") != 0; ++at) {
    if (std::strcmp(arguments[at], "--gpu") == 0) {
      wanted.gpu = true;
      continue;
    }
    bool known = false;
    for (const auto& option : options) {
      if (std::strcmp(arguments[at], option.name) != 0 || at + 1 >= count) continue;
      char* end = nullptr;
      const long value = std::strtol(arguments[at + 1], &end, 10);
      known = *arguments[at + 1] != '\0' && *end == '\0' && value >= 0;
      wanted.*option.member = value;
    }
    if (!known) break;
    ++at;
  }
  if (at + 1 >= count || std::strcmp(arguments[at], "--") != 0) {
    std::fputs("enter: this program is started by the kit's sandbox\n", stderr);
    return 2;
  }

  const int status = static_cast<int>(wanted.status);
  close_from(wanted.keep, status);
  if (status >= 0 && fcntl(status, F_SETFD, FD_CLOEXEC) != 0) give_up("the status descriptor");
  limit(RLIMIT_CORE, 0, "core files");
  limit(RLIMIT_MSGQUEUE, 0, "message queues");
  limit(RLIMIT_SIGPENDING, most_signals, "signals");
  limit(RLIMIT_FSIZE, wanted.file, "size of files");
  limit(RLIMIT_CPU, wanted.cpu, "processor time");
  limit(RLIMIT_DATA, wanted.memory, "memory");
  limit(RLIMIT_AS, wanted.address, "address space");
  limit(RLIMIT_NOFILE, wanted.open, "descriptors");
  limit(RLIMIT_NPROC, wanted.processes, "processes");
  bound_files(wanted.scratch);
  become(wanted.user);
  forbid_system_calls(wanted.gpu);

  if (status >= 0 && write(status, "r", 1) != 1) give_up("the status descriptor");
  execv(arguments[at + 1], arguments + at + 1);
  const int error = errno;
  if (status >= 0) (void)!write(status, "x", 1);
  errno = error;
  give_up(arguments[at + 1]);
}
