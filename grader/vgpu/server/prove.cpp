#include "vgpu/server/prove.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "vgpu/checks/check_suite.hpp"
#include "vgpu/checks/cost/thread_orders.hpp"
#include "vgpu/checks/explored_checks.hpp"
#include "vgpu/checks/lane_races.hpp"
#include "vgpu/core/run/report.hpp"
#include "vgpu/ptx/module.hpp"
#include "vgpu/server/child.hpp"
#include "vgpu/server/host_lines.hpp"
#include "vgpu/server/session.hpp"
#include "vgpu/server/short_paths.hpp"

namespace scanlab::server {
namespace {

/// Results of a launch with which the program runs again.
constexpr std::size_t most_reruns = 256;
/// How long these may take, as a share of what the exploration may.
constexpr double share_of_reruns = 0.25;
/// One that has not ended by then, nor in ten times the first run's time, is ended.
constexpr double least_seconds_of_rerun = 5;
/// No limit.
constexpr double most_seconds = 1e6;
/// Words of a result that are listed.
constexpr std::size_t words = 16;

/// Without the lines in which the kit speaks.
std::string own_lines(const std::string& text) {
  std::string own;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (!line.starts_with("scanlab: ")) own += line;
    at = end;
  }
  return own;
}

struct ProgramRun {
  int status = 0;              ///< as waitpid gives it
  std::string output, errors;  ///< what it prints, on standard output and standard error
  std::string problem;         ///< the kit's own, or a program that could not be started
  std::vector<std::string> faults;
  bool is_lacking = false;  ///< a kernel was not run, since the virtual GPU cannot run it
  bool has_ended = true;    ///< by itself
  Traffic traffic;

  bool prints_as(const ProgramRun& other) const {
    return output == other.output && own_lines(errors) == own_lines(other.errors);
  }
};

std::string contents(int fd) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, lseek(fd, 0, SEEK_END))), '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

int make_file() {
  const int file = memfd_create("output", MFD_CLOEXEC);
  if (file < 0) throw std::runtime_error(fmt::format("memfd_create: {}", std::strerror(errno)));
  return file;
}

/// Ends a process that goes on for longer than so many seconds.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::duration<double> most) : most_(most) {}
  void started(pid_t pid) {
    waiter_ = std::jthread([this, pid](const std::stop_token& stop) {
      std::unique_lock hold(mutex_);
      if (changed_.wait_for(hold, stop, most_, [this] { return is_done_; }) || stop.stop_requested()) return;
      has_barked_ = true;
      kill(pid, SIGKILL);
    });
  }
  void ended() {
    const std::lock_guard hold(mutex_);
    is_done_ = true;
    changed_.notify_all();
  }
  bool has_barked() const { return has_barked_; }

 private:
  const std::chrono::duration<double> most_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_done_ = false;
  std::atomic<bool> has_barked_ = false;
  std::jthread waiter_;
};

/// Runs the program on the device, with what it prints caught, for at most so long.
ProgramRun run_program(vgpu::Device& device, const Program& program, SessionOptions options,
                       std::chrono::duration<double> most) {
  ProgramRun result;
  const auto [session_fd, program_fd] = connected_sockets();
  const int output = make_file(), errors = make_file();
  options.on_fault = [&](const vgpu::Fault& fault) {
    result.faults.push_back(fault.text());
    result.is_lacking |= fault.kind == vgpu::Fault::Kind::unsupported;
  };
  Session session(device, session_fd, std::move(options));
  try {
    Watchdog watchdog(most);
    const ChildEvents events{.started = [&](pid_t pid) { watchdog.started(pid); },
                             .ended = [&](int) { watchdog.ended(); }};
    result.status = run_child(session, program, program_fd, output, errors, events);
    result.has_ended = !watchdog.has_barked();
    result.output = contents(output);
    result.errors = contents(errors);
    result.traffic = session.traffic();
    result.problem = session.internal_error();
  } catch (const CannotStart& error) {
    result.problem = error.what();
  }
  close(output);
  close(errors);
  return result;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string ending(int status) {
  return WIFSIGNALED(status) ? fmt::format("is killed by signal {}", WTERMSIG(status))
                             : fmt::format("exits with {}", WEXITSTATUS(status));
}

/// "4 0 1": what the last parameter that is a pointer points to.
std::string result_words(vgpu::Device& device, const vgpu::LaunchRequest& launch) {
  const auto attributes = device.attributes(launch.module, launch.kernel);
  if (!attributes) return "";
  for (std::size_t k = attributes->parameter_offsets.size(); k-- > 0;) {
    if (attributes->parameter_sizes[k] != sizeof(vgpu::Address)) continue;
    vgpu::Address address = 0;
    if (attributes->parameter_offsets[k] + sizeof address > launch.parameters.size()) continue;
    std::memcpy(&address, launch.parameters.data() + attributes->parameter_offsets[k], sizeof address);
    const vgpu::Allocation* a = device.memory().find(address, 4);
    if (!a) continue;
    std::array<std::int32_t, words> values{};
    const std::uint64_t bytes = std::min<std::uint64_t>(sizeof values, a->base + a->size - address) / 4 * 4;
    std::memcpy(values.data(), device.memory().host(address), bytes);
    std::string text;
    for (std::size_t w = 0; w < bytes / 4; ++w) text += fmt::format("{}{}", w ? " " : "", values[w]);
    return text;
  }
  return "";
}

class Proof {
 public:
  Proof(const Program& program, const ProveOptions& options) : program_(program), options_(options) {}

  int run() {
    HostLines host_lines(program_.file);
    setenv(wire::watch_variable, "1", 1);
    Watched watched(*this, options_.schedule, host_lines);
    const auto begin = std::chrono::steady_clock::now();
    const ProgramRun base =
        watched.run([&](const vgpu::LaunchRequest& launch) { explore(watched, launch); }, most_seconds);
    base_seconds_ = seconds_since(begin);
    if (!base.problem.empty()) {
      fmt::print(stderr, "vgpu-run: {}\n", base.problem);
      return exit_kit;
    }
    fmt::print("{}", base.output);
    std::fflush(stdout);
    fmt::print(stderr, "{}", base.errors);
    for (const std::string& fault : base.faults) fmt::print(stderr, "{}\n", fault);
    const std::optional<vgpu::Finding> mistake = watched.mistake();
    if (mistake && broken_.empty()) fmt::print(stderr, "{}\n", with_short_paths(mistake->text()));
    has_mistake_in_run_ = !base.faults.empty() || (mistake && broken_.empty());
    for (const std::string& why : watched.breaches(base)) note({why, ""});
    kernels_print_ |= base.traffic.output > 0;
    if (options_.lists_outcomes) {
      list();
    } else if (base.faults.empty()) {
      for (const Launch& launch : launches_)
        for (const Result& result : launch.results) compare(base, launch, result, host_lines);
    }
    return verdict(base);
  }

 private:
  struct Result {
    std::string trail;
    std::string fault;
    std::string words;  ///< with lists_outcomes
    std::uint64_t executions = 0;
  };
  struct Launch {
    std::size_t number = 0;
    std::string kernel;
    std::vector<Result> results;  ///< none where there is one only, and it has no fault
    std::uint64_t executions = 0;
  };

  /// A device on which the program runs, and everything that looks at it.
  class Watched {
   public:
    Watched(Proof& proof, const vgpu::Schedule& schedule, HostLines& host_lines)
        : device(proof.options_.profile),
          proof_(proof),
          checks_(device),
          lane_races_(device),
          unexplored_([this](const vgpu::Breach& b) { noted_.push_back(b.text()); }),
          host_lines_(host_lines) {
      device.schedule = schedule;
      device.registers = vgpu::read_registers(proof_.program_.file);
      device.max_warp_instructions = proof.options_.max_warp_instructions;
      device.cancel = proof.options_.cancel;
      device.reports_dependences = true;
      device.attach(&unexplored_);
      checks_.locate_host_by(std::ref(host_lines));
    }

    /// `before_launch` is called before each launch.
    ProgramRun run(std::function<void(const vgpu::LaunchRequest&)> before_launch, double most_seconds) {
      SessionOptions session;
      session.work = checks_.work();
      session.reports_host = true;
      session.before_launch = [&](const vgpu::LaunchRequest& launch) {
        if (!are_lanes_watched_ && device.may_shuffle()) {
          are_lanes_watched_ = true;
          lane_races_.begin();
        }
        before_launch(launch);
      };
      return run_program(device, proof_.program_, std::move(session), std::chrono::duration<double>(most_seconds));
    }

    std::optional<vgpu::Finding> mistake() const {
      const std::vector<vgpu::Finding> list = checks_.findings().list;
      const auto is_mistake = [](const vgpu::Finding& f) { return f.weight == vgpu::Finding::Weight::mistake; };
      const auto found = std::ranges::find_if(list, is_mistake);
      return found == list.end() ? std::nullopt : std::optional(*found);
    }

    /// What ends a proof, in this run.
    std::vector<std::string> breaches(const ProgramRun& run) {
      std::vector<std::string> all = noted_;
      const auto add = [&](const vgpu::Breach& breach) { all.push_back(breach.text()); };
      std::ranges::for_each(checks_.breaches(), add);
      std::ranges::for_each(lane_races_.breaches(), add);
      if (const auto& line = checks_.uninitialised().unwritten_read())
        add({.what = vgpu::Breach::What::unwritten_read, .where = *line});
      if (const std::string& label = checks_.uninitialised().unwritten_copied(); !label.empty())
        all.push_back(fmt::format("a copy takes what nobody has written, of {}", label));
      if (!run.traffic.failed.empty())
        add({.what = vgpu::Breach::What::failed_call, .where = {.function = run.traffic.failed}});
      const auto add_copy = [&](vgpu::Breach::What what, const vgpu::HostPlace& at) {
        vgpu::SourcePlace place = host_lines_(at);
        if (place.line == 0) place.function = "a cudaMemcpy";
        add({.what = what, .where = place});
      };
      using enum vgpu::Breach::What;
      if (run.traffic.overlapping_copies > 0) add_copy(overlap, run.traffic.overlapping_at);
      if (run.traffic.misnamed_copies > 0) add_copy(misnamed_copy, run.traffic.misnamed_at);
      if (!run.traffic.unsupported.empty())
        all.push_back(fmt::format("the program uses {}, which the virtual GPU does not have", run.traffic.unsupported));
      return all;
    }

    const vgpu::Uninitialised& uninitialised() const { return checks_.uninitialised(); }

    vgpu::Device device;

   private:
    Proof& proof_;
    vgpu::CheckSuite checks_;
    vgpu::LaneRaces lane_races_;
    vgpu::Unexplored unexplored_;
    HostLines& host_lines_;
    std::vector<std::string> noted_;
    bool are_lanes_watched_ = false;
  };

  void explore(Watched& watched, const vgpu::LaunchRequest& request) {
    vgpu::Device& device = watched.device;
    if (!explored_checks_)
      explored_checks_.emplace(watched.uninitialised(), [this](const vgpu::Breach& breach) {
        note({breach.text(), ""});
      });
    ++count_;
    vgpu::ExplorationLimits limits = options_.limits;
    limits.seconds = std::max(0.0, limits.seconds - used_seconds_);
    limits.runs -= std::min(limits.runs, runs_);
    const auto begin = std::chrono::steady_clock::now();
    Launch launch;
    launch.number = count_;
    launch.kernel = ptx::source_name(request.kernel);
    std::map<std::string, Result> results;
    const auto visit = [&](const vgpu::Execution& execution, const std::string& trail) {
      Result one;
      one.trail = trail;
      if (execution.fault) one.fault = execution.fault->text();
      if (options_.lists_outcomes)
        one.words = execution.fault ? execution.fault->headline : result_words(device, request);
      const std::string key = options_.lists_outcomes ? one.words
                              : execution.fault       ? execution.fault->headline
                                                      : fmt::format("{:016x}", execution.memory);
      ++results.try_emplace(key, one).first->second.executions;
      return true;
    };
    const auto explored = device.explore(request, limits, visit, explored_checks_->begin_launch());
    if (!explored) return;
    used_seconds_ += seconds_since(begin);
    runs_ += explored->runs;
    executions_ += explored->executions;
    kernels_print_ |= explored->prints;
    for (const vgpu::BrokenAssumption& broken : explored->broken)
      if (broken.kind != vgpu::BrokenAssumption::Kind::mixed_sizes)  // why not all was explored
        note({broken.text(), broken.trail});
    // What a launch leaves in memory is the beginning of the next: of those that differ, the others were explored from
    // one only.
    is_each_by_itself_ |= has_several_ && explored->runs > 0;
    has_several_ |= results.size() > 1;
    launch.executions = explored->executions;
    talking_ += explored->runs > 0;
    if (!explored->is_exhaustive)
      fmt::print(stderr, "NOT ALL explored of launch {} ({}): {}\n", count_, launch.kernel,
                 with_short_paths(explored->why_not)),
          is_exhaustive_ = false;
    const bool has_fault = std::ranges::any_of(results, [](const auto& r) { return !r.second.fault.empty(); });
    if (results.size() > 1 || has_fault || options_.lists_outcomes)
      for (auto& [key, result] : results) launch.results.push_back(std::move(result));
    if (!launch.results.empty()) launches_.push_back(std::move(launch));
  }

  /// What ends a proof; `trail` of the execution that shows it, where there is one.
  struct Broken {
    std::string text, trail;
  };

  /// The same lines once, however many launches show them.
  void note(Broken broken) {
    const auto is_same = [&](const Broken& b) { return b.text == broken.text; };
    if (std::ranges::none_of(broken_, is_same)) broken_.push_back(std::move(broken));
  }

  void list() const {
    for (const Launch& launch : launches_)
      for (const Result& result : launch.results)
        fmt::print("outcome {} of {}: {} ({} executions)\n", launch.number, launch.kernel, result.words,
                   result.executions);
  }

  /// Runs the program again with this result of that launch. What comes after it may be other work than before, and is
  /// looked at in the same way; it is not explored.
  void compare(const ProgramRun& base, const Launch& launch, const Result& result, HostLines& host_lines) {
    if (is_refuted_ || (options_.cancel && *options_.cancel)) return;
    if (reruns_ == most_reruns || rerun_seconds_ > share_of_reruns * options_.limits.seconds) {
      if (!has_untried_)
        fmt::print(stderr, "NOT ALL results tried: the program has run again with {} of them\n", reruns_);
      has_untried_ = true;
      is_exhaustive_ = false;
      return;
    }
    ++reruns_;
    const auto begin = std::chrono::steady_clock::now();
    vgpu::Schedule schedule = options_.schedule;
    schedule.order = vgpu::Schedule::Order::weak;
    schedule.trail = result.trail;
    Watched watched(*this, schedule, host_lines);
    std::size_t number = 0;
    const auto before_launch = [&](const vgpu::LaunchRequest& request) {
      const bool is_later = ++number > launch.number;
      is_each_by_itself_ |= is_later && talks(watched.device, request);
    };
    const double most = std::max(least_seconds_of_rerun, 10 * base_seconds_);
    const ProgramRun other = watched.run(before_launch, most);
    rerun_seconds_ += seconds_since(begin);
    if (!other.has_ended) {
      fmt::print(stderr, "NOT ALL results tried: with one of launch {} ({}) the program does not end within {:.0f} s\n",
                 launch.number, launch.kernel, most);
      has_untried_ = true;
      is_exhaustive_ = false;
      return;
    }
    kernels_print_ |= other.traffic.output > 0;
    const std::string then = fmt::format("after another result of launch {} ({}), ", launch.number, launch.kernel);
    for (const std::string& why : watched.breaches(other)) note({then + why, result.trail});
    if (const std::optional<vgpu::Finding> mistake = watched.mistake(); mistake && other.faults.empty())
      note({then + "the program has a mistake: " + mistake->text(), result.trail});
    if (other.status == base.status && other.prints_as(base) && other.faults.empty()) return;
    is_refuted_ = true;
    fmt::print(stderr, "REFUTED: one of {} executions of launch {} ({}) gives another result\n", launch.executions,
               launch.number, launch.kernel);
    if (other.status == base.status)
      fmt::print(stderr, "  the program {} as before\n", ending(other.status));
    else
      fmt::print(stderr, "  the program {} then, where it {} before\n", ending(other.status), ending(base.status));
    for (const auto& [was, is] :
         {std::pair(base.output, other.output), std::pair(own_lines(base.errors), own_lines(other.errors))})
      if (is != was) fmt::print(stderr, "  it prints: {}\n", first_difference(was, is));
    for (const std::string& fault : other.faults) fmt::print(stderr, "{}\n", fault);
    for (const vgpu::StaleRead& read : watched.device.stale_reads()) fmt::print(stderr, "{}\n", read.text());
    print_again(result.trail);
  }

  /// May blocks of that launch talk to each other?
  static bool talks(vgpu::Device& device, const vgpu::LaunchRequest& request) {
    const auto visit = [](const vgpu::Execution&, const std::string&) { return false; };
    const auto explored = device.explore(request, {.runs = 0}, visit);
    return explored && !explored->is_exhaustive;
  }

  void print_again(const std::string& trail) const {
    if (std::strcmp(program_.arguments[0], program_.file) == 0)
      fmt::print(stderr, "  again: vgpu-run --stale --schedule 'trail:{}' {}\n", trail, program_.file);
    else  // it was given a name: by `grader/scanlab run`
      fmt::print(stderr, "  again: grader/scanlab run {}.cu --trail '{}'\n", program_.arguments[0], trail);
  }

  static std::string first_difference(const std::string& expected, const std::string& got) {
    const auto line = [](const std::string& text, std::size_t at) {
      const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
      return text.substr(begin, text.find('\n', at) - begin);
    };
    const std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(expected, got).in2 - got.begin());
    return fmt::format("\"{}\" in place of \"{}\"", line(got, std::min(at, got.size())),
                       line(expected, std::min(at, expected.size())));
  }

  int verdict(const ProgramRun& base) const {
    const int code = WIFSIGNALED(base.status) ? 128 + WTERMSIG(base.status) : WEXITSTATUS(base.status);
    if (is_refuted_) return exit_findings;
    if (options_.lists_outcomes)
      return code != 0 ? code : !base.faults.empty() ? exit_findings : is_exhaustive_ ? 0 : exit_kit;
    if (base.is_lacking)
      fmt::print(stderr, "NOT PROVED: the virtual GPU cannot run the program, as said above\n");
    else if (has_mistake_in_run_)
      fmt::print(stderr, "NOT PROVED: the run itself has the mistake above\n");
    for (const Broken& broken : broken_) {
      fmt::print(stderr, "NOT PROVED: {}\n", with_short_paths(broken.text));
      if (!broken.trail.empty()) print_again(broken.trail);
    }
    const bool is_broken = has_mistake_in_run_ || !broken_.empty();
    if (is_each_by_itself_ && !is_broken && is_exhaustive_)
      fmt::print(stderr,
                 "TESTED for this input, not proved: the program does the same with each of {} executions, each of one "
                 "launch by itself; a launch leaves different results, and later ones were explored from one of them\n",
                 executions_);
    else if (is_exhaustive_ && !is_broken && count_ == 0)
      fmt::print(stderr, "NOTHING to prove: the program launches no kernel\n");
    else if (is_exhaustive_ && !is_broken)
      fmt::print(stderr,
                 "PROVED for this input, if the host does the same in each run: {} launch{}, {} of which with blocks "
                 "that talk; {} execution{}{}, all alike{}\n",
                 count_, count_ == 1 ? "" : "es", talking_, executions_, executions_ == 1 ? "" : "s",
                 talking_ > 0 ? " without load buffering" : "",
                 kernels_print_ ? ", apart from what kernels print" : "");
    if (base.is_lacking) return exit_kit;
    if (code != 0) return code;
    if (is_broken) return exit_findings;
    return is_exhaustive_ && !is_each_by_itself_ ? 0 : exit_kit;
  }

  const Program program_;
  const ProveOptions& options_;
  std::vector<Launch> launches_;
  std::size_t count_ = 0, talking_ = 0, reruns_ = 0;
  std::uint64_t runs_ = 0, executions_ = 0;
  double used_seconds_ = 0, rerun_seconds_ = 0, base_seconds_ = 0;
  bool is_exhaustive_ = true, is_refuted_ = false, has_untried_ = false;
  std::vector<Broken> broken_;
  std::optional<vgpu::ExploredChecks> explored_checks_;
  bool has_mistake_in_run_ = false;
  bool kernels_print_ = false;
  bool has_several_ = false;        ///< results of a launch
  bool is_each_by_itself_ = false;  ///< a later launch, whose blocks talk, was explored from one of them
};

}  // namespace

int prove(const Program& program, const ProveOptions& options) {
  return Proof(program, options).run();
}

}  // namespace scanlab::server
