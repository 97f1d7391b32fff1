// What stops a kernel, put so that a learner can act on it.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scanlab::vgpu {

/// A place in the learner's source. `line` 0: unknown.
struct SourcePlace {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string function;  ///< inlined function, or empty

  bool is_same_line(const SourcePlace& other) const { return line == other.line && file == other.file; }
};

/// The threads with these numbers, of one block or several, that stand at one place for one reason.
struct WaitingThreads {
  unsigned block[3] = {0, 0, 0};  ///< the first of them
  std::string which;              ///< "blocks 0 to 7: threads 0 to 31"
  std::string does;               ///< "wait at the barrier"
  SourcePlace where;              ///< the learner's own line
  std::string line;               ///< "blocks 0 to 7: threads 0 to 31 wait at the barrier in scan.cu:16"
};

struct Fault {
  enum class Kind {
    out_of_bounds,  ///< access outside every allocation, shared array, local or parameter memory
    misaligned,     ///< address not a multiple of the access size
    trap,           ///< __trap(), or an instruction that cannot go on
    assertion,      ///< device-side assert
    unsupported,    ///< an instruction the virtual GPU does not know; nothing has run
    undefined,      ///< what a linker of GPU code refuses: a symbol that is defined nowhere; nothing has run
    deadlock,       ///< every thread waits for something that can no longer happen
    refused,        ///< the launch is beyond the device's limits: nothing has run, and the error is not sticky
    budget,         ///< the launch's instruction limit is used up: an endless loop, or too much work
  };
  Kind kind = Kind::trap;
  std::string id;                        ///< what it is called where it is more than the kind says: "bounds.shared"
  std::string does;                      ///< of an access: "read", "write", "atomic"
  std::string variable;                  ///< whose memory it was meant for: "s_xy", "cudaMalloc #2"; empty: not known
  std::optional<std::uint64_t> element;  ///< of an access beyond the end of `variable`: which it would be, by its size
  std::string kernel;                    ///< as the learner wrote it
  SourcePlace where;                     ///< of the access; its callers follow in `called_from`
  std::vector<SourcePlace> called_from;
  bool has_thread = false;
  unsigned block[3] = {0, 0, 0};
  unsigned thread[3] = {0, 0, 0};
  unsigned grid_size[3] = {1, 1, 1}, block_size[3] = {1, 1, 1};  ///< of the launch
  std::string headline;                 ///< one line: "write of 4 bytes outside shared array s_xy"
  std::vector<WaitingThreads> waiting;  ///< of a deadlock or an endless loop
  std::vector<std::string> details;  ///< one fact per line: "s_xy[1024]: 4 bytes after its last element", "8 threads …"
  std::string advice;                ///< one next step

  /// `places`: of its instruction, the innermost first.
  void set_places(const std::vector<SourcePlace>& places) {
    if (places.empty()) return;
    where = places.front();
    called_from.assign(places.begin() + 1, places.end());
  }
  /// The report as people read it, several lines, without a trailing newline.
  std::string text() const;
};

/// Thrown by handlers; the scheduler adds kernel, block, thread and line.
struct FaultException : std::exception {
  FaultException() = default;
  explicit FaultException(Fault what) : fault(std::move(what)) {}
  explicit FaultException(Fault::Kind kind, std::string headline, std::string advice = {}) {
    fault.kind = kind;
    fault.headline = std::move(headline);
    fault.advice = std::move(advice);
  }
  Fault fault;
  std::uint32_t lane = 0;
  const char* what() const noexcept override { return fault.headline.c_str(); }
};

/// From inside a handler: stops the kernel; lane `lane` of the running warp did it. `id` as in Fault.
[[noreturn]] void raise(Fault::Kind kind, unsigned lane, std::string headline, std::string advice = {},
                        std::string id = {});

}  // namespace scanlab::vgpu
