// vgpu-run: runs a CUDA program, linked with libcudart_vgpu.a, on a virtual GPU in this process.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "vgpu/checks/check_suite.hpp"
#include "vgpu/checks/cost/counters.hpp"
#include "vgpu/checks/cost/line_costs.hpp"
#include "vgpu/checks/fault_finding.hpp"
#include "vgpu/checks/finding_order.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/core/run/parallel.hpp"
#include "vgpu/server/child.hpp"
#include "vgpu/server/command_line.hpp"
#include "vgpu/server/fault_reports.hpp"
#include "vgpu/server/host_lines.hpp"
#include "vgpu/server/prove.hpp"
#include "vgpu/server/session.hpp"
#include "vgpu/server/short_paths.hpp"

namespace {

using namespace scanlab;

constexpr const char* usage = R"(usage: vgpu-run [OPTIONS] [--] PROGRAM [ARGUMENTS]
Runs a CUDA program that was linked with libcudart_vgpu.a on a virtual GPU.

  --schedule NAME              order of blocks and warps: lockstep (default), in_order, reversed, random; weak: as
                               random, and volatile and atomic reads may return what PTX's memory model allows
                               besides the latest value
  --seed N                     seed of the schedules random and weak (default 0)
  --stale                      print what was read that was not the latest value on stderr, at the end
  --profile NAME               the device: small (default), h200
  --counters                   print what the kernels did, and which lines cost most, on stderr, at the end
  --check                      look for mistakes in what the kernels do (races …), and print them on
                               stderr at the end
  --prove                      explore every execution that PTX's memory model allows of each launch whose blocks
                               talk to each other, and run the program with each result; say whether they all
                               print the same, and how to see one that does not: --schedule trail:...
  --prove=outcomes             list the results instead: 16 words where the last pointer parameter points
  --prove-seconds N            as long at most (default 45), and a quarter of that for the runs with the results
  --threads N                  threads of this machine for a launch (default: as many as there are processors);
                               they change no result
  --parallel-from N            launches that take less than N microseconds stay on one thread (default 1000)
  --seconds N                  end the program after so many by the clock (default 600); 0: never
  --max-warp-instructions N    stop a launch after so many (default 4000000000)
  --name NAME                  what the program is called: its argv[0]
  --findings FILE              write what was found, and what has stopped kernels, as JSON
  --help

The exit code is 4 when --check has found a mistake, whatever the program itself ends with; else the program's, or
128 and the number of the signal that killed it; 124: it ran for as long as --seconds allows; 2: wrong usage; 3: the kit's own fault, also where the virtual GPU
cannot run a kernel and the program did not ask for the error.
)";

constexpr int exit_usage = 2;
constexpr int exit_time = 124;  // as timeout(1)

volatile sig_atomic_t child_pid = 0;
volatile bool cancelled = false, was_stopped = false;

struct Arguments : server::ProveOptions {
  unsigned threads = vgpu::default_threads();
  std::uint64_t parallel_from_us = 1000;
  std::uint64_t seconds = 600;  ///< 0: no limit
  bool counters = false, check = false, stale = false;
  bool prove = false;
  std::string name, findings;
  server::Program program = {};
};

/// Throws UsageError, or std::invalid_argument for an unknown name.
Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.cancel = &cancelled;
  const auto schedule = [&](std::string_view name) {
    if (name.starts_with("trail:")) {
      arguments.schedule.order = vgpu::Schedule::Order::weak;
      arguments.schedule.trail = name.substr(6);
    } else {
      arguments.schedule.order = vgpu::order_by_name(name);
    }
  };
  const auto prove = [&](const char* text) {
    arguments.prove = true;
    if (text && std::string_view(text) != "outcomes")
      throw UsageError(fmt::format("--prove takes nothing, or \"outcomes\", not \"{}\"", text));
    arguments.lists_outcomes = text != nullptr;
  };
  const auto seconds = [&](const char* text) {
    arguments.limits.seconds = static_cast<double>(number<std::uint64_t>("prove-seconds", text));
  };
  const auto into = [](const char* name, std::uint64_t& value) {
    return CommandOption{name, required_argument,
                         [name, &value](const char* text) { value = number<std::uint64_t>(name, text); }};
  };
  const auto set = [](const char* name, bool& value) {
    return CommandOption{name, no_argument, [&value](const char*) { value = true; }};
  };
  const int first = take_options(
      argc, argv, "+h", usage,
      {{"schedule", required_argument, schedule},
       into("seed", arguments.schedule.seed),
       {"profile", required_argument, [&](const char* text) { arguments.profile = vgpu::profile_by_name(text); }},
       set("counters", arguments.counters),
       {"name", required_argument, [&](const char* text) { arguments.name = text; }},
       {"findings", required_argument, [&](const char* text) { arguments.findings = text; }},
       set("check", arguments.check),
       set("stale", arguments.stale),
       {"prove", optional_argument, prove},
       {"prove-seconds", required_argument, seconds},
       into("seconds", arguments.seconds),
       into("max-warp-instructions", arguments.max_warp_instructions),
       {"threads", required_argument,
        [&](const char* text) { arguments.threads = number<unsigned>("threads", text, vgpu::Team::most_threads); }},
       into("parallel-from", arguments.parallel_from_us)});
  if (first == argc) throw UsageError("no program to run");
  if (arguments.prove && (arguments.check || arguments.counters || !arguments.schedule.trail.empty()))
    throw UsageError("--prove goes without --check, --counters and trails");
  arguments.program = {argv[first], argv + first};
  return arguments;
}

/// A terminal's Ctrl-C reaches the program by itself; a signal sent to this process alone is passed on.
void forward(int signal, siginfo_t* info, void*) {
  was_stopped = true;
  cancelled = true;
  if (info->si_code <= 0 && child_pid > 0) kill(static_cast<pid_t>(child_pid), signal);
}

void forward_signals() {
  struct sigaction action {};
  action.sa_sigaction = forward;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(signal, &action, nullptr);
}

/// Ends the program when its time is over.
class TimeLimit {
 public:
  explicit TimeLimit(std::uint64_t seconds) {
    if (seconds > 0) watch_ = std::thread([this, seconds] { watch(std::min(seconds, most_seconds)); });
  }
  TimeLimit(const TimeLimit&) = delete;
  ~TimeLimit() {
    if (!watch_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_one();
    watch_.join();
  }
  bool is_over() const { return is_over_; }

 private:
  static constexpr std::uint64_t most_seconds = 100'000'000;

  void watch(std::uint64_t seconds) {
    std::unique_lock lock(mutex_);
    if (done_.wait_for(lock, std::chrono::seconds(seconds), [this] { return is_done_; })) return;
    is_over_ = true;
    was_stopped = true;
    cancelled = true;
    if (child_pid > 0) kill(static_cast<pid_t>(child_pid), SIGKILL);
  }

  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::atomic<bool> is_over_ = false;
  std::thread watch_;
};

/// What is reported of a kernel that ran when its program was stopped from outside: where it was. That is no fault.
std::string stopped_text(vgpu::Fault fault) {
  fault.advice.clear();
  const std::string text = fault.text();
  return fmt::format("STOPPED: kernel {} was running{}", fault.kernel,
                     text.substr(std::min(text.find('\n'), text.size())));
}

const char* explain(int signal) {
  static constexpr std::pair<int, const char*> known[] = {{SIGSEGV, "segmentation fault"},
                                                          {SIGBUS, "bus error"},
                                                          {SIGABRT, "aborted"},
                                                          {SIGFPE, "arithmetic exception: often a division by zero"},
                                                          {SIGILL, "illegal instruction"},
                                                          {SIGINT, "interrupted"},
                                                          {SIGTERM, "terminated"},
                                                          {SIGKILL, "killed"}};
  for (const auto& [number, text] : known)
    if (number == signal) return text;
  return strsignal(signal);
}

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

void print_counters(const vgpu::Counts& counts, const server::Traffic& traffic) {
  const auto line = [](const char* name, const std::string& value) {
    fmt::print(stderr, "  {:<30}{:>20}\n", name, value);
  };
  const auto count = [&](const char* name, std::uint64_t value) { line(name, grouped(value)); };
  const auto ratio = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::string("-")
                      : fmt::format("{:.2f}", static_cast<double>(part) / static_cast<double>(whole));
  };
  fmt::print(stderr, "counters\n");
  count("launches", counts.launches);
  count("threads", counts.threads);
  count("thread instructions", counts.thread_instructions);
  count("warp instructions", counts.warp_instructions);
  line("warp efficiency", fmt::format("{:.1f} %", 100 * counts.warp_efficiency()));
  count("floating-point additions", counts.additions);
  count("additions by warp", counts.warp_additions);
  line("addition efficiency", fmt::format("{:.1f} %", 100 * counts.addition_efficiency()));
  count("barriers", counts.barriers);
  count("shared loads", counts.shared_loads);
  count("shared stores", counts.shared_stores);
  count("bank-conflict replays", counts.bank_conflict_replays);
  count("global requests", counts.global_requests);
  count("global sectors", counts.global_sectors);
  line("sectors a request", ratio(counts.global_sectors, counts.global_requests));
  count("global bytes", counts.global_bytes);
  count("atomics", counts.atomics);
  count("fences", counts.fences);
  count("copies to the device", traffic.copies_to_device);
  count("copies to the host", traffic.copies_to_host);
}

/// The lines that cost most, a line each.
void print_line_costs(const vgpu::LineCosts& costs) {
  using Cost = vgpu::LineCosts::Cost;
  std::vector<vgpu::Finding> findings;
  for (const Cost cost : {Cost::bank_conflicts, Cost::sectors, Cost::divergence})
    for (vgpu::Finding& finding : costs.findings(cost)) findings.push_back(std::move(finding));
  if (findings.empty()) return;
  fmt::print(stderr, "where\n");
  for (const vgpu::Finding& finding : findings)
    fmt::print(stderr, "  {}  {}\n", server::with_short_paths(vgpu::place_text(finding.parts.front().where)),
               finding.headline);
}

/// What is reported of a program that asks for more memory than there is.
std::string no_memory_text(std::uint64_t bytes, vgpu::Device& device) {
  const vgpu::DeviceProfile large = vgpu::h200_profile();
  std::string text =
      fmt::format("OUT OF MEMORY: {} bytes are asked for, and {} of {} are free on the virtual GPU", grouped(bytes),
                  grouped(device.memory().bytes_free()), grouped(device.memory().capacity()));
  if (device.memory().capacity() >= large.memory)
    return text + "\n  next: allocate less, or free what is no longer needed";
  return text + fmt::format("\n  next: --profile h200 has {} bytes; or allocate less", grouped(large.memory));
}

/// Throws std::runtime_error when it cannot be written.
void write_json(const std::string& path, const nlohmann::ordered_json& value) {
  std::ofstream file(path);
  file << value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", path));
}

/// Findings are printed whole up to this number.
constexpr std::size_t most_shown = 10;

/// Memory that a program has left allocated at its end; nothing when it has left none.
std::optional<vgpu::Finding> find_leak(const server::Session& session) {
  const std::vector<std::string> left = session.live_allocations();
  if (left.empty()) return std::nullopt;
  constexpr std::size_t most = 5;
  vgpu::Finding finding;
  finding.id = "leak";
  finding.weight = vgpu::Finding::Weight::advice;
  finding.headline = fmt::format("LEAK: {} allocation{} of device memory {} never freed", left.size(),
                                 left.size() == 1 ? "" : "s", left.size() == 1 ? "is" : "are");
  finding.details.assign(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(std::min(left.size(), most)));
  if (left.size() > most) finding.details.push_back(fmt::format("and {} more", left.size() - most));
  finding.advice = "cudaFree what cudaMalloc has given; at the end of a program the system does it too";
  return finding;
}

/// Launches whose refusal the program has not noticed; nothing when it has asked for each error.
std::optional<vgpu::Finding> find_unread_errors(const server::Traffic& traffic) {
  if (traffic.unread_refusals == 0) return std::nullopt;
  vgpu::Finding finding;
  finding.id = "launch.failed";
  finding.headline =
      fmt::format("LAUNCH: {} refused launch{}, and the program has not asked for {} error{}", traffic.unread_refusals,
                  traffic.unread_refusals == 1 ? "" : "es", traffic.unread_refusals == 1 ? "its" : "their",
                  traffic.unread_refusals == 1 ? "" : "s");
  finding.advice = "<<<>>> returns nothing: call cudaGetLastError() behind each launch, and look at what it gives";
  return finding;
}

/// A finding about so many copies, of which the first was made there.
vgpu::Finding finding_about_copies(const char* id, std::uint64_t copies, const vgpu::SourcePlace& first) {
  vgpu::Finding finding;
  finding.id = id;
  if (first.line != 0) {
    finding.parts.emplace_back().does = copies == 1 ? "it is made" : "the first is made";
    finding.parts.back().where = first;
  }
  return finding;
}

std::string copies_text(std::uint64_t copies) {
  return copies == 1 ? "a copy" : fmt::format("{} copies", copies);
}

/// Copies that a GPU makes all the same, though their kind is another one.
std::optional<vgpu::Finding> find_misnamed_copies(const server::Traffic& traffic, server::HostLines& host_lines) {
  if (traffic.misnamed_copies == 0) return std::nullopt;
  vgpu::Finding finding = finding_about_copies("copy.kind", traffic.misnamed_copies, host_lines(traffic.misnamed_at));
  finding.weight = vgpu::Finding::Weight::advice;
  finding.headline = fmt::format(
      "COPY (advice): {} between two device pointers, of the kind cudaMemcpyHostToDevice or cudaMemcpyDeviceToHost",
      copies_text(traffic.misnamed_copies));
  finding.advice =
      "a GPU copies them all the same: write cudaMemcpyDeviceToDevice, or look whether one of the pointers "
      "should be the host's";
  return finding;
}

/// Copies between two places of the device that share bytes.
std::optional<vgpu::Finding> find_overlapping_copies(const server::Traffic& traffic, server::HostLines& host_lines) {
  if (traffic.overlapping_copies == 0) return std::nullopt;
  vgpu::Finding finding =
      finding_about_copies("copy.overlap", traffic.overlapping_copies, host_lines(traffic.overlapping_at));
  finding.headline =
      fmt::format("COPY: {} on the device between places that overlap", copies_text(traffic.overlapping_copies));
  finding.advice =
      "a GPU copies in parallel, so elements may be read after they were written, and CUDA leaves the result open: "
      "copy to other memory first";
  return finding;
}

/// Without those that have been printed in front of a fault that they may be the cause of.
void print_findings(const vgpu::CheckSuite::Findings& findings, const std::vector<std::string>& printed) {
  std::size_t shown = 0;
  for (std::size_t k = 0; k < std::min(findings.list.size(), most_shown); ++k, ++shown)
    if (const std::string text = server::with_short_paths(findings.list[k].text());
        std::ranges::find(printed, text) == printed.end())
      fmt::print(stderr, "{}\n", text);
  if (findings.total > shown) fmt::print(stderr, "and {} more findings\n", findings.total - shown);
}

int run(Arguments& arguments) {
  if (!arguments.name.empty()) arguments.program.arguments[0] = arguments.name.data();
  if (arguments.prove) return server::prove(arguments.program, arguments);
  vgpu::Device device(arguments.profile);
  device.schedule = arguments.schedule;
  device.registers = vgpu::read_registers(arguments.program.file);
  device.max_warp_instructions = arguments.max_warp_instructions;
  device.threads = arguments.threads;
  device.least_parallel_ns = 1e3 * static_cast<double>(arguments.parallel_from_us);
  device.cancel = arguments.cancel;
  vgpu::Counters counters;
  vgpu::LineCosts line_costs;
  if (arguments.counters) {
    device.attach(&counters);
    device.attach(&line_costs);
  }
  std::optional<vgpu::CheckSuite> checks;
  if (arguments.check) checks.emplace(device);

  bool has_fault = false;   // that stopped a kernel: a refused launch may be what the program wants to see
  bool is_lacking = false;  // a kernel was not run because the virtual GPU cannot run it
  server::SessionOptions options;
  server::FaultReports reports;
  std::vector<std::string> causes;  // of faults, printed in front of them
  nlohmann::ordered_json cause_findings = nlohmann::ordered_json::array();
  options.on_fault = [&](const vgpu::Fault& fault) {
    if (cancelled) {
      if (was_stopped && fault.kind == vgpu::Fault::Kind::budget)
        reports.note(server::with_short_paths(stopped_text(fault)));
      return;
    }
    has_fault |= fault.kind != vgpu::Fault::Kind::refused;
    is_lacking |= fault.kind == vgpu::Fault::Kind::unsupported;
    vgpu::Fault explained = fault;
    if (checks) checks->explain(explained);
    const vgpu::Finding finding = vgpu::to_finding(explained);
    if (checks) {
      const std::vector<vgpu::Finding> known = checks->findings().list;
      if (const vgpu::Finding* const cause = vgpu::cause_of(finding, known)) {
        reports.note(causes.emplace_back(server::with_short_paths(cause->text())));
        cause_findings.push_back(to_json(*cause));
      }
    }
    reports.add(server::with_short_paths(explained.text()), finding);
  };
  options.on_no_memory = [&](std::uint64_t bytes) { reports.note(no_memory_text(bytes, device)); };
  options.on_reply = [&reports] { reports.print(); };
  server::HostLines host_lines(arguments.program.file);
  if (checks) {
    options.work = checks->work();
    options.reports_host = true;
    setenv(server::wire::watch_variable, "1", 1);
    checks->locate_host_by(std::ref(host_lines));
  }
  const auto [session_fd, program_fd] = server::connected_sockets();
  server::Session session(device, session_fd, std::move(options));

  forward_signals();
  const auto ended = [](int status) {
    child_pid = 0;
    if (WIFSIGNALED(status)) cancelled = true;  // nothing waits for its kernels any more
  };
  TimeLimit time_limit(arguments.seconds);
  const int status = server::run_child(session, arguments.program, program_fd, -1, -1,
                                       {.started = [](pid_t pid) { child_pid = pid; }, .ended = ended});
  reports.print();
  reports.print_counts();

  if (const std::string problem = session.closed_because(); !problem.empty())
    fmt::print(stderr, "vgpu-run: connection closed: {}\n", problem);
  if (const std::uint64_t bytes = session.unread_output_bytes(); bytes > 0 && !cancelled)
    fmt::print(stderr,
               "vgpu-run: {} bytes of device printf were never shown: the program ended without synchronising "
               "(cudaDeviceSynchronize() shows them)\n",
               grouped(bytes));
  if (const server::Traffic traffic = session.traffic(); traffic.output_dropped > 0)
    fmt::print(stderr, "vgpu-run: the device's printf buffer was full: {} bytes were lost\n",
               grouped(traffic.output_dropped));
  if (arguments.counters) {
    print_counters(counters.counts(), session.traffic());
    print_line_costs(line_costs);
    device.detach(&line_costs);
    device.detach(&counters);
  }
  if (arguments.stale)
    for (const vgpu::StaleRead& read : device.stale_reads())
      fmt::print(stderr, "{}\n", server::with_short_paths(read.text()));
  vgpu::CheckSuite::Findings findings;
  if (checks) {
    findings = checks->findings();
    vgpu::sort_most_basic_first(findings.list);
    const auto add = [&](std::optional<vgpu::Finding> finding, auto at) {
      if (finding) findings.list.insert(at, *std::move(finding)), ++findings.total;
    };
    add(find_unread_errors(session.traffic()), findings.list.begin());
    add(find_misnamed_copies(session.traffic(), host_lines), findings.list.end());
    add(find_overlapping_copies(session.traffic(), host_lines), findings.list.end());
    // After a fault no cudaFree works any more.
    if (WIFEXITED(status) && !has_fault) add(find_leak(session), findings.list.end());
  }
  print_findings(findings, causes);
  if (!arguments.findings.empty()) {
    nlohmann::ordered_json list = std::move(cause_findings);
    for (nlohmann::ordered_json& report : reports.json()) list.push_back(std::move(report));
    for (const vgpu::Finding& finding : findings.list)
      if (std::ranges::find(causes, server::with_short_paths(finding.text())) == causes.end())
        list.push_back(to_json(finding));
    write_json(arguments.findings, list);
  }
  if (const std::string left_out = checks ? checks->left_out() : std::string(); !left_out.empty())
    fmt::print(stderr, "vgpu-run: not all work of different streams was compared: {}\n", left_out);
  if (const std::string problem = session.internal_error(); !problem.empty()) {
    fmt::print(stderr, "vgpu-run: internal error of the virtual GPU (not of the program): {}\n", problem);
    return server::exit_kit;
  }
  // Without that kernel's results, what the program has printed is nothing that a GPU would; unless it knows of it.
  if (is_lacking && session.traffic().unread_refusals > 0 && !WIFSIGNALED(status)) return server::exit_kit;
  const bool is_wrong = checks && (has_fault || findings.has_mistake());
  if (const std::string name = session.traffic().unsupported; checks && !is_wrong && !name.empty() && status == 0) {
    fmt::print(stderr, "vgpu-run: not checked: the program uses {}, which the virtual GPU does not have\n", name);
    return server::exit_kit;
  }
  if (time_limit.is_over() && WIFSIGNALED(status)) {
    fmt::print(stderr,
               "vgpu-run: {} was ended after {} seconds, the time limit; --seconds N allows more, 0 all it takes\n",
               arguments.program.arguments[0], arguments.seconds);
    return exit_time;
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    fmt::print(stderr, "vgpu-run: {} was killed by signal {} ({})\n", arguments.program.arguments[0], signal,
               explain(signal));
    // Whoever has stopped the program knows that, and not what it would have come to.
    return is_wrong && !was_stopped ? server::exit_findings : 128 + signal;
  }
  return is_wrong ? server::exit_findings : WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  const auto complain = [](const std::exception& problem, int code) {
    if (*problem.what() != '\0') fmt::print(stderr, "vgpu-run: {}\n", problem.what());
    return code;
  };
  try {
    Arguments arguments = parse(argc, argv);
    return run(arguments);
  } catch (const UsageError& problem) {
    complain(problem, exit_usage);
    std::fputs(usage, stderr);
    return exit_usage;
  } catch (const std::invalid_argument& problem) {
    return complain(problem, exit_usage);
  } catch (const server::CannotStart& problem) {
    return complain(problem, exit_usage);
  } catch (const std::exception& problem) {
    return complain(problem, server::exit_kit);
  }
}
