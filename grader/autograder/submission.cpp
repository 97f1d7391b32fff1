#include "autograder/submission.hpp"

#include "autograder/messages.hpp"

namespace scanlab::grade {

Submission::Submission(const Plan& plan, Device& device, ElementType element, Clock::time_point deadline)
    : plan_(plan), device_(device), element_(element), deadline_(deadline) {}

Submission::~Submission() {
  restart();
}

void Submission::start() {
  connection_ = device_.connect();
  RunnerProcess::Options options;
  options.program = plan_.runners.at(name_of(element_));
  options.output_limit = plan_.limits.output_bytes;
  options.cpu_seconds = 2 * plan_.limits.seconds + 1;  // two threads may be busy at once
  options.limit_memory = device_.is_virtual();
  options.vgpu_fd = connection_->fd();
  process_ = std::make_unique<RunnerProcess>(options);
  connection_->release_fd();  // so that the device notices when the runner has gone
  calls_ = 0;
}

void Submission::restart() {
  if (process_) last_output_ = process_->output();
  process_.reset();  // before the connection, whose server waits for it
  connection_.reset();
}

std::string Submission::output() {
  return process_ ? process_->output() : last_output_;
}

CallReport Submission::call(Operation entry, const Arguments& arguments, const vgpu::Schedule& schedule,
                            Counting counting) {
  if (!process_) start();
  runner::Call call;
  call.entry = runner_entry(entry);
  call.n = static_cast<std::int32_t>(arguments.n);
  call.d_x = device_.share(arguments.x);
  call.d_y = device_.share(arguments.y);
  if (arguments.kept) call.d_kept = device_.share(*arguments.kept);

  connection_->begin_call(schedule, counting, deadline_);
  const std::variant<runner::Done, Ending> answer = process_->call(call, deadline_);
  CallReport report = connection_->end_call();

  // A fault on the device says more than the CUDA error or the crash that follows from it.
  if (!report.failure) {
    if (const Ending* ending = std::get_if<Ending>(&answer)) {
      report.failure = failure_of(*ending, entry, plan_.limits.seconds, plan_.limits.output_bytes);
    } else if (const auto& done = std::get<runner::Done>(answer); done.status != runner::Done::Status::done) {
      report.failure = failure_of(done, entry);
    }
  }
  ++calls_;
  if (report.failure) restart();  // its CUDA context may be beyond use
  return report;
}

}  // namespace scanlab::grade
