#include "autograder/process/time_limit.hpp"

#include <fmt/format.h>
#include <time.h>

namespace scanlab::grade {

namespace {

/// Seconds of processor time of all threads of this process.
double own_processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TimeLimit::TimeLimit(double seconds, Counts counts) : seconds_(seconds), counts_(counts) {}

TimeLimit::Out TimeLimit::out() const {
  const std::lock_guard lock(mutex_);
  if (out_ != Out::nothing) return out_;
  const std::chrono::duration<double> passed = Clock::now() - began_;
  if (counts_ == Counts::processor_time && spent_locked() >= seconds_) {
    out_ = Out::processor_time;
  } else if (passed.count() >= clock_seconds()) {
    out_ = Out::clock;
  }
  return out_;
}

double TimeLimit::spent() const {
  const std::lock_guard lock(mutex_);
  if (counts_ == Counts::processor_time) return spent_locked();
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

double TimeLimit::spent_locked() const {
  return used_ + (is_working_ ? own_processor_time() - working_since_ : 0);
}

TimeLimit::Working::Working(TimeLimit& limit) : limit_(limit) {
  const std::lock_guard lock(limit_.mutex_);
  limit_.working_since_ = own_processor_time();
  limit_.is_working_ = true;
}

TimeLimit::Working::~Working() {
  const std::lock_guard lock(limit_.mutex_);
  limit_.used_ = limit_.spent_locked();
  limit_.is_working_ = false;
}

void TimeLimit::add(double seconds) {
  const std::lock_guard lock(mutex_);
  used_ += seconds;
}

std::string text_of(const TimeLimit& limit) {
  if (limit.out() == TimeLimit::Out::processor_time) return fmt::format("{:g} s of processor time", limit.seconds());
  return fmt::format("{:g} s by the clock", limit.clock_seconds());
}

}  // namespace scanlab::grade
