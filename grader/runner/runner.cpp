// The untrusted side: main() of the process that holds a submission's code. It calls the entry that the judge names on
// the device pointers that the judge gives, waits for the device, and says how that ended.
//
// Nothing is protected here, for the submission shares the process: whatever it does to this code, the judge believes
// only its own memory, clock and oracle. Built once per element type, and linked with the submission's object and with
// either CUDA runtime, NVIDIA's or the virtual GPU's.

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "runner/entries.hpp"
#include "runner/stream.hpp"

namespace {

using scanlab::runner::Call;
using scanlab::runner::DevicePointer;
using scanlab::runner::Done;
using scanlab::runner::EntryFunction;

/// The judge's memory as this process sees it. A handle is opened once, for opening takes far longer than a scan.
class Memory {
 public:
  cudaError_t open(const DevicePointer& pointer, void** address) {
    if (pointer.how == DevicePointer::How::address) {
      *address = reinterpret_cast<void*>(pointer.address);
      return cudaSuccess;
    }
    auto [place, is_new] = bases_.try_emplace(pointer.allocation, nullptr);
    if (is_new) {
      cudaIpcMemHandle_t handle;
      static_assert(sizeof handle == sizeof pointer.handle);
      std::memcpy(&handle, pointer.handle, sizeof handle);
      const cudaError_t error = cudaIpcOpenMemHandle(&place->second, handle, cudaIpcMemLazyEnablePeerAccess);
      if (error != cudaSuccess) {
        bases_.erase(place);
        return error;
      }
    }
    *address = static_cast<char*>(place->second) + pointer.offset;
    return cudaSuccess;
  }

 private:
  std::map<std::uint32_t, void*> bases_;
};

void set_error(Done& done, Done::Status status, cudaError_t error) {
  done.status = status;
  done.cuda_error = static_cast<std::int32_t>(error);
  std::snprintf(done.cuda_error_name, sizeof done.cuda_error_name, "%s", cudaGetErrorName(error));
}

Done perform(const Call& call, Memory& memory) {
  Done done;
  done.serial = call.serial;
  if (call.magic != scanlab::runner::call_magic) {
    done.status = Done::Status::bad_call;
    return done;
  }
  const EntryFunction entry = scanlab::runner::function_of(call.entry);
  if (entry.is_missing()) {
    done.status = Done::Status::missing;
    return done;
  }

  void* d_x = nullptr;
  void* d_y = nullptr;
  void* d_kept = nullptr;
  cudaError_t opened = memory.open(call.d_x, &d_x);
  if (opened == cudaSuccess) opened = memory.open(call.d_y, &d_y);
  if (opened == cudaSuccess) opened = memory.open(call.d_kept, &d_kept);
  if (opened != cudaSuccess) {
    set_error(done, Done::Status::no_memory_map, opened);
    return done;
  }

  (void)cudaGetLastError();  // what happened before this call is not this call's error
  entry(d_x, d_y, d_kept, call.n);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t finished = cudaDeviceSynchronize();
  if (launched != cudaSuccess) {
    set_error(done, Done::Status::launch_error, launched);
  } else if (finished != cudaSuccess) {
    set_error(done, Done::Status::run_error, finished);
  }
  return done;
}

int judge_fd = -1;
struct sigaction previous_segv, previous_bus;
volatile std::uint32_t current_serial = 0;

/// Host code has used memory that it must not: that is reported to the judge, and the process ends as it would have.
void on_bad_access(int signal, siginfo_t* info, void*) {
  if (info->si_code > 0) {  // not sent by a program
    Done done;
    done.serial = current_serial;
    done.status = Done::Status::crashed;
    done.address = reinterpret_cast<std::uint64_t>(info->si_addr);
    (void)send(judge_fd, &done, sizeof done, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // The instruction runs again, and meets what was there before.
  sigaction(signal, signal == SIGSEGV ? &previous_segv : &previous_bus, nullptr);
  if (info->si_code <= 0) raise(signal);
}

/// On a stack of its own, since the program's may be what is used up.
void watch_bad_accesses() {
  static char stack[256 << 10];
  stack_t own{};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_bad_access;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace

int main() {
  const char* variable = std::getenv(scanlab::runner::fd_variable);
  if (variable == nullptr) {
    std::fputs("this program is started by the judge: grader/scanlab check\n", stderr);
    return 2;
  }
  const int fd = std::atoi(variable);
  fcntl(fd, F_SETFD, FD_CLOEXEC);  // programs that the submission starts get no channel to the judge
  // What a submission prints must be in the pipe when it crashes a moment later.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);

  judge_fd = fd;
  watch_bad_accesses();

  Done ready;
  ready.status = Done::Status::ready;
  if (!scanlab::send_all(fd, &ready, sizeof ready)) return 0;

  Memory memory;
  Call call;
  while (scanlab::receive_all(fd, &call, sizeof call)) {
    current_serial = call.serial;
    const Done done = perform(call, memory);
    std::fflush(stdout);
    if (!scanlab::send_all(fd, &done, sizeof done)) break;
  }
  return 0;
}
