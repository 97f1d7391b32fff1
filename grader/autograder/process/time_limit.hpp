// How long the calls of a check may take, and what they have taken so far.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <mutex>
#include <string>

namespace scanlab::grade {

using Clock = std::chrono::steady_clock;

/// The limit of one check's calls, all of them together. Of a submission on the virtual GPU it is processor time: its
/// own processes' and the virtual GPU's, which works in this process while a call is on. So a busy machine does not
/// turn a pass into a timeout. What sleeps or waits uses none, and ends by the clock, at `clock_factor` times as much.
/// On a GPU the clock alone counts: nothing else shows how long a kernel takes.
///
/// The functions may be called by several threads at once.
class TimeLimit {
 public:
  enum class Counts { processor_time, clock };
  enum class Out { nothing, processor_time, clock };
  static constexpr double clock_factor = 4;

  /// The clock begins to run now.
  TimeLimit(double seconds, Counts counts) : seconds_(seconds), counts_(counts) {}

  double seconds() const { return seconds_; }
  /// Seconds by the clock after which everything ends.
  double clock_seconds() const { return (counts_ == Counts::clock ? 1 : clock_factor) * seconds_; }
  /// What has run out; once something has, that stays the answer.
  Out out() const {
    const std::lock_guard lock(mutex_);
    if (out_ != Out::nothing) return out_;
    if (counts_ == Counts::processor_time && spent_locked() >= seconds_)
      out_ = Out::processor_time;
    else if (passed() >= clock_seconds())
      out_ = Out::clock;
    return out_;
  }
  /// It is out by the clock, and there is processor time left: the submission has waited.
  bool has_waited() const { return counts_ == Counts::processor_time && out() == Out::clock; }
  /// Seconds, of what counts.
  double spent() const {
    const std::lock_guard lock(mutex_);
    return counts_ == Counts::processor_time ? spent_locked() : passed();
  }

  /// What this process uses from now on is the submission's, until its end.
  class Working {
   public:
    explicit Working(TimeLimit& limit) : limit_(limit) {
      const std::lock_guard lock(limit_.mutex_);
      limit_.working_since_ = own_processor_time();
      limit_.is_working_ = true;
    }
    ~Working() {
      const std::lock_guard lock(limit_.mutex_);
      limit_.used_ = limit_.spent_locked();
      limit_.is_working_ = false;
    }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    TimeLimit& limit_;
  };

  /// Seconds of processor time that a submission's processes have used since the last call.
  void add(double seconds) {
    const std::lock_guard lock(mutex_);
    used_ += seconds;
  }

 private:
  /// Seconds of processor time of all threads of this process.
  static double own_processor_time() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  double spent_locked() const { return used_ + (is_working_ ? own_processor_time() - working_since_ : 0); }
  double passed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  const double seconds_;
  const Counts counts_;
  const Clock::time_point began_ = Clock::now();
  mutable std::mutex mutex_;
  double used_ = 0;           ///< seconds of processor time, except for work in progress
  double working_since_ = 0;  ///< this process's own processor time then
  bool is_working_ = false;
  mutable Out out_ = Out::nothing;
};

/// "30 s of processor time": what has run out.
inline std::string text_of(const TimeLimit& limit) {
  if (limit.out() == TimeLimit::Out::processor_time) return fmt::format("{:g} s of processor time", limit.seconds());
  return fmt::format("{:g} s by the clock", limit.clock_seconds());
}

}  // namespace scanlab::grade
