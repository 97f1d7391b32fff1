// The process of a program that a session serves.
#pragma once

#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "vgpu/server/session.hpp"

namespace scanlab::server {

/// The program cannot be executed: "cannot start ./a.out: No such file or directory".
struct CannotStart : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A program to run: the file, and its arguments as it sees them, from argv[0] on, up to a null pointer.
struct Program {
  const char* file;
  char** arguments;
};

/// Two connected sockets. Throws std::runtime_error.
std::pair<int, int> connected_sockets();

/// What else is to happen, by the thread that waits for the process.
struct ChildEvents {
  std::function<void(pid_t)> started = [](pid_t) {};  ///< by the caller's thread
  std::function<void(int status)> ended = [](int) {};
};

/// Starts the program with its end of the session's socket, and serves it until both the process and the connection
/// have ended: the end of the connection does not prove that the program has ended, since it may have passed the socket
/// on. Its standard output goes to `output_fd`, and its standard error to `error_fd`, unless these are negative.
/// Returns its status, as waitpid gives it. Throws CannotStart, std::runtime_error.
int run_child(Session& session, const Program& program, int program_fd, int output_fd = -1, int error_fd = -1,
              const ChildEvents& events = {});

}  // namespace scanlab::server
