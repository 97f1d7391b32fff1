// A runner process: started, asked, watched, and ended with everything that it has started.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autograder/device/device.hpp"
#include "runner/protocol.hpp"

namespace scanlab::grade {

/// Why a runner gives no answer any more.
struct Ending {
  enum class How {
    exited,         ///< `code` is its exit status
    signalled,      ///< `code` is the signal
    timeout,        ///< the limit is out
    flooded,        ///< printed more than its limit
    memory,         ///< all of its processes together use more memory than they may
    device_memory,  ///< it has made this process, which the virtual GPU is in, use more than it may
    garbled,        ///< wrote something that is not an answer into the judge's socket
  };
  How how = How::exited;
  int code = 0;
  bool was_ready = false;                     ///< main() had begun
  std::optional<std::uint64_t> address = {};  ///< of a crash: what host code has used, as the process says itself
};

/// One process of a submission's code, in a process group and with resource limits of its own. Its standard output and
/// error end in a buffer here, of `output_limit` bytes; its standard input is empty.
class RunnerProcess {
 public:
  struct Options {
    std::filesystem::path program;
    std::vector<std::string> launcher = {};  ///< see Plan::launcher
    std::size_t output_limit = 65536;        ///< bytes, a call
    double cpu_seconds = 60;                 ///< RLIMIT_CPU, of each process, for what escapes the limit
    /// RLIMIT_DATA of 4 GiB for each process, and as much for all together; NVIDIA's driver maps more than that.
    bool limit_memory = true;
    int vgpu_fd = -1;  ///< inherited by the runner, not closed here
  };

  /// Throws KitFault when the program cannot be started.
  /// Its processor time goes to `limit`, which outlives it and ends it.
  RunnerProcess(const Options& options, TimeLimit& limit);
  /// Kills the group and whatever has left it.
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  /// Sends `call` and waits for its answer. After an Ending the process is gone.
  std::variant<runner::Done, Ending> call(runner::Call call);

  /// What it has printed since its last call began, at most `output_limit` bytes.
  const std::string& output();

 private:
  std::variant<runner::Done, Ending> wait_for_answer(std::uint32_t serial);
  Ending end(Ending ending);
  bool drain_output();
  bool has_exited(Ending& ending) const;
  /// Throws KitFault when it is the launcher that has ended, or hangs, and the runner has never begun.
  void check_launcher();
  void kill_all();
  void close_all();
  /// Adds what the processes have used since the last time to the limit's count.
  void count_time();

  Options options_;
  TimeLimit& limit_;
  double counted_ = 0;  ///< seconds of processor time that the limit has counted
  pid_t pid_ = -1;
  Clock::time_point started_ = Clock::now();
  Clock::time_point look_due_ = started_;  ///< when the use of time and memory is looked at next
  int fd_ = -1;
  int output_fd_ = -1;
  int status_fd_ = -1;  ///< of the launcher; -1: there is none, or the runner has begun
  std::uint32_t serial_ = 0;
  bool ready_ = false;
  std::string output_;
  bool flooded_ = false;
};

/// Makes orphans of runners children of this process, so that none survives. Call once, before the first runner.
void adopt_orphans();

}  // namespace scanlab::grade
