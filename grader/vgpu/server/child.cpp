#include "vgpu/server/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "vgpu/server/protocol.hpp"

namespace scanlab::server {

namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// A failing exec is reported through `exec_error`.
pid_t start(const Program& program, int program_fd, int* exec_error, int output_fd, int error_fd) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) throw_errno("pipe");
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) {
    // The program's end survives exec under the number that the variable names.
    const int fd = dup(program_fd);
    if (output_fd >= 0) dup2(output_fd, STDOUT_FILENO);
    if (error_fd >= 0) dup2(error_fd, STDERR_FILENO);
    setenv(wire::fd_variable, std::to_string(fd).c_str(), 1);
    execvp(program.file, program.arguments);
    const int code = errno;
    (void)!write(report[1], &code, sizeof code);
    _exit(127);
  }
  close(report[1]);
  if (read(report[0], exec_error, sizeof *exec_error) != static_cast<ssize_t>(sizeof *exec_error)) *exec_error = 0;
  close(report[0]);
  return pid;
}

}  // namespace

std::pair<int, int> connected_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  return {ends[0], ends[1]};
}

int run_child(Session& session, const Program& program, int program_fd, int output_fd, int error_fd,
              const ChildEvents& events) {
  int exec_error = 0, status = 0;
  const pid_t pid = start(program, program_fd, &exec_error, output_fd, error_fd);
  events.started(pid);
  close(program_fd);
  if (exec_error != 0) {
    waitpid(pid, nullptr, 0);
    throw CannotStart(fmt::format("cannot start {}: {}", program.file, std::strerror(exec_error)));
  }
  std::thread reaper([&] {
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    events.ended(status);
    session.drain();
    session.stop();
  });
  session.serve();
  reaper.join();
  return status;
}

}  // namespace scanlab::server
