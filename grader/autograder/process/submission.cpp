#include "autograder/process/submission.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograder/device/call_findings.hpp"
#include "autograder/process/messages.hpp"
#include "vgpu/checks/finding_order.hpp"

namespace scanlab::grade {

namespace {

constexpr std::string_view launch_failed = "launch.failed";

/// The error was still there when the entry returned, and the program has not printed it, as SCANLAB_CUDA_CHECK does.
void report_unseen(CallReport& report) {
  const std::string text =
      "the entry went on and never asked for the error: SCANLAB_CUDA_CHECK(cudaPeekAtLastError()) after a launch "
      "reports "
      "it at once";
  report.failure->cause.details.push_back(text);
  for (vgpu::Finding& finding : report.findings) {
    if (finding.id == launch_failed) finding.details.push_back(text);
  }
}

}  // namespace

CallMemory::CallMemory(Device& of, Operation entry, std::size_t elements, std::size_t element_bytes,
                       const std::string& note)
    : device(of),
      n(elements),
      x(device, n * element_bytes, "d_x, the input" + note),
      y(device, n * element_bytes, "d_y, the output" + note) {
  if (has_count(entry)) kept.emplace(device, sizeof(std::int32_t), "d_kept, the number of kept elements");
}

void CallMemory::blank() {
  device.blank(y, unwritten_byte);
  if (kept) device.blank(*kept, unwritten_count_byte);
}

std::vector<NamedBuffer> CallMemory::buffers() const {
  std::vector<NamedBuffer> all = {{x, "d_x"}, {y, "d_y"}};
  if (kept) all.push_back({*kept, "d_kept"});
  return all;
}

std::optional<std::string> CallMemory::damage() const {
  for (const auto& [buffer, name] : buffers())
    if (const auto found = device.damaged_guard(buffer)) return fmt::format("a write outside {}: {}", name, *found);
  return std::nullopt;
}

Submission::Submission(const Plan& plan, Device& device, ElementType element, TimeLimit& limit)
    : plan_(plan), device_(device), element_(element), limit_(limit) {}

Submission::~Submission() {
  restart();
}

RunnerProcess::Options Submission::options_for(const std::filesystem::path& program) const {
  RunnerProcess::Options options;
  options.program = program;
  options.launcher = plan_.launcher;
  options.output_limit = plan_.limits.output_bytes;
  options.cpu_seconds = 2 * limit_.seconds() + 1;  // two threads may be busy at once
  options.limit_memory = device_.is_virtual();
  return options;
}

void Submission::start() {
  const std::filesystem::path& program = plan_.runners.at(name_of(element_));
  connection_ = device_.connect(program, plan_.limits.output_bytes);
  RunnerProcess::Options options = options_for(program);
  options.vgpu_fd = connection_->fd();
  process_ = std::make_unique<RunnerProcess>(options, limit_);
  connection_->release_fd();  // so that the device notices when the runner has gone
  calls_ = 0;
}

void Submission::restart() {
  if (process_) last_output_ = process_->output();
  process_.reset();  // before the connection, whose server waits for it
  connection_.reset();
}

std::string Submission::output() {
  return device_output_ + (process_ ? process_->output() : last_output_);
}

bool Submission::can_open_memory(runner::Call call) {
  if (plan_.honest_runner.empty()) return false;
  call.entry = runner::Entry::inclusive_scan;  // the one that it has
  RunnerProcess honest(options_for(plan_.honest_runner), limit_);
  const std::variant<runner::Done, Ending> answer = honest.call(call);
  const auto* done = std::get_if<runner::Done>(&answer);
  return done && done->status == runner::Done::Status::done;
}

CallReport Submission::call(Operation entry, const CallMemory& memory, const vgpu::Schedule& schedule,
                            Counting counting) {
  if (!process_) start();
  runner::Call call;
  call.entry = runner_entry(entry);
  call.n = static_cast<std::int32_t>(memory.n);
  call.d_x = device_.share(memory.x);
  call.d_y = device_.share(memory.y);
  if (memory.kept) call.d_kept = device_.share(*memory.kept);

  std::optional<TimeLimit::Working> working(limit_);
  connection_->explore(explored_);
  connection_->begin_call(schedule, counting, limit_);
  const std::variant<runner::Done, Ending> answer = process_->call(call);
  CallReport report = connection_->end_call();
  working.reset();
  device_output_ = std::move(report.output);
  if (std::optional<vgpu::Finding> finding = scan_on_host(report.traffic, memory.n)) {
    report.findings.push_back(*std::move(finding));
    ++report.findings_total;
    vgpu::sort_most_basic_first(report.findings);
  }
  if (report.is_flooded) {
    const Ending flooded{Ending::How::flooded, 0, true};
    report.failure = failure_of(flooded, entry, limit_, plan_.limits.output_bytes, {});
  }

  // A fault on the device says more than the CUDA error or the crash that follows from it.
  if (!report.failure) {
    if (const Ending* ending = std::get_if<Ending>(&answer)) {
      report.failure = failure_of(*ending, entry, limit_, plan_.limits.output_bytes, memory.buffers());
    } else if (const auto& done = std::get<runner::Done>(answer); done.status != runner::Done::Status::done) {
      // The virtual GPU's memory needs no mapping, and on a GPU another runner is asked: it may be a lie.
      runner::Done said = done;
      if (said.status == runner::Done::Status::no_memory_map && (device_.is_virtual() || can_open_memory(call))) {
        said.status = runner::Done::Status::bad_call;
      }
      report.failure = failure_of(said, entry);
    }
  }
  const auto* done = std::get_if<runner::Done>(&answer);
  if (report.failure && report.failure->cause.id == launch_failed && done &&
      done->status == runner::Done::Status::launch_error && output().find(done->cuda_error_name) == std::string::npos) {
    report_unseen(report);
  }
  ++calls_;
  if (report.failure) restart();  // its CUDA context may be beyond use
  return report;
}

}  // namespace scanlab::grade
