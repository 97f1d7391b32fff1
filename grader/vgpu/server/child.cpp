#include "vgpu/server/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "vgpu/server/protocol.hpp"

namespace scanlab::server {

pid_t start(char** program, int program_fd, int* exec_error, int output_fd) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
  if (pid == 0) {
    // The program's end survives exec under the number that the variable names.
    const int fd = dup(program_fd);
    if (output_fd >= 0) dup2(output_fd, STDOUT_FILENO);
    setenv(wire::fd_variable, std::to_string(fd).c_str(), 1);
    execvp(program[0], program);
    const int code = errno;
    (void)!write(report[1], &code, sizeof code);
    _exit(127);
  }
  close(report[1]);
  if (read(report[0], exec_error, sizeof *exec_error) != static_cast<ssize_t>(sizeof *exec_error)) *exec_error = 0;
  close(report[0]);
  return pid;
}

}  // namespace scanlab::server
