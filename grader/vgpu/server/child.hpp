// The process of a program that a session serves.
#pragma once

#include <sys/types.h>

namespace scanlab::server {

/// Starts the program with its end of the socket; its id. A failing exec is reported through `exec_error`. Its standard
/// output goes to `output_fd`, unless that is negative. Throws std::runtime_error.
pid_t start(char** program, int program_fd, int* exec_error, int output_fd = -1);

}  // namespace scanlab::server
