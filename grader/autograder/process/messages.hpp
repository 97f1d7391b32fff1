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

/// The failure behind an Ending. `limit` is the check's, `output_limit` the runner's, in bytes.
Failure failure_of(const Ending& ending, Operation entry, const TimeLimit& limit, std::size_t output_limit,
                   const std::vector<NamedBuffer>& buffers);

/// So many lines of what a submission printed are shown.
inline constexpr std::size_t shown_lines = 10;
/// Up to `count` lines of what a submission printed, for details; control characters are shown as '?'.
std::vector<std::string> first_lines(std::string_view output, std::size_t count);
/// Adds the first of them to the cause's details.
void add_printed(Cause& cause, std::string_view output);

}  // namespace scanlab::grade
