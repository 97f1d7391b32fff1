// A submission as something that can be called: its process is started when it is needed, and again after a fault.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/process/runner_process.hpp"

namespace scanlab::grade {

/// The memory that an entry is called with.
struct CallMemory {
  /// For n elements of so many bytes; the device outlives it. `note` stands behind the names in messages.
  CallMemory(Device& device, Operation entry, std::size_t n, std::size_t element_bytes, const std::string& note = {});
  /// Fills the outputs with what shows that nothing was written there.
  void blank();
  std::vector<NamedBuffer> buffers() const;
  /// "a write outside d_y: …", where bytes around one of them are not what they were.
  std::optional<std::string> damage() const;

  Device& device;
  std::size_t n;
  OwnedBuffer x, y;
  std::optional<OwnedBuffer> kept;  ///< one int, of entries that have d_kept
};

class Submission {
 public:
  /// All must outlive the submission. Its calls end when `limit`, which may be others' as well, is out.
  Submission(const Plan& plan, Device& device, ElementType element, TimeLimit& limit);
  ~Submission();

  /// Calls the entry once. The report's failure covers everything that can be seen without the output:
  /// faults, CUDA errors, and the ways in which a process can end. Its headline is empty.
  CallReport call(Operation entry, const CallMemory& memory, const vgpu::Schedule& schedule,
                  Counting counting = Counting::off);

  /// Explores each launch of the next calls, under names that are equal for equal sums; null: no more.
  void explore(ExploredCall* call) { explored_ = call; }
  bool is_explored() const { return explored_ != nullptr; }

  /// Ends the process; the next call starts a fresh one.
  void restart();
  /// Calls that this process has answered.
  unsigned calls_answered() const { return calls_; }
  /// What the last call has printed, for the details of a failure.
  std::string output();

 private:
  RunnerProcess::Options options_for(const std::filesystem::path& program) const;
  void start();
  /// Can a runner of the kit's own open the device memory of this call?
  bool can_open_memory(runner::Call call);

  const Plan& plan_;
  Device& device_;
  ElementType element_;
  TimeLimit& limit_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<RunnerProcess> process_;
  std::string last_output_;
  std::string device_output_;  ///< what kernels have printed in the last call
  unsigned calls_ = 0;
  ExploredCall* explored_ = nullptr;
};

}  // namespace scanlab::grade
