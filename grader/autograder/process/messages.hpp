// What goes wrong around a kernel, in words: CUDA's errors and the ways in which a runner ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograder/device/device.hpp"
#include "autograder/operation.hpp"
#include "autograder/process/runner_process.hpp"
#include "autograder/result.hpp"
#include "runner/protocol.hpp"

namespace scanlab::grade {

/// What a CUDA error means here, and what to do about it.
struct Meaning {
  std::string_view meaning, advice;
};
/// By the error's name, "cudaErrorInvalidConfiguration"; a general text for names it does not know.
Meaning meaning_of_cuda_error(std::string_view name);

/// The failure behind a Done that is neither `done` nor `ready`.
Failure failure_of(const runner::Done& done, Operation entry);
/// Device memory that an entry was given, as its parameter is called.
struct NamedBuffer {
  Buffer buffer;
  const char* name = "";
};

/// The failure behind an Ending. `limit` is the check's, `output_limit` the runner's, in bytes.
Failure failure_of(const Ending& ending, Operation entry, const TimeLimit& limit, std::size_t output_limit,
                   const std::vector<NamedBuffer>& buffers);

/// Up to `count` lines of what a submission printed, for details; control characters are shown as '?'.
std::vector<std::string> first_lines(std::string_view output, std::size_t count = 10);

}  // namespace scanlab::grade
