#include "autograder/process/runner_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace scanlab::grade {

namespace {

constexpr int runner_fd = 3, runner_vgpu_fd = 4;  // numbers inside the runner
constexpr int launcher_status_fd = 5;             // inside its launcher; the runner does not get it
constexpr rlim_t file_bytes = 16u << 20;
constexpr rlim_t data_bytes = rlim_t{4} << 30;
constexpr std::size_t group_bytes = std::size_t{4} << 30;
constexpr std::size_t judge_bytes = std::size_t{8} << 30;  ///< with what a virtual GPU has in it
constexpr std::chrono::milliseconds look_interval{50};     ///< at the use of time and memory
constexpr std::chrono::seconds launcher_time{3};           ///< a sandbox takes some milliseconds

/// What the child does between vfork and exec; only functions that are safe there.
struct Launch {
  const char* program = nullptr;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  int judge_socket = -1, vgpu_socket = -1, output = -1, null = -1, failed = -1, status = -1;
  rlim_t cpu_seconds = 60;
  bool limit_memory = true;

  static void limit(int resource, rlim_t value) {
    const rlimit both{value, value};
    setrlimit(static_cast<__rlimit_resource>(resource), &both);
  }

  [[noreturn]] void run(pid_t judge) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a judge that is killed leaves no runner
    if (getppid() != judge) _exit(127);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, file_bytes);
    // The first limit says what it is, the second one kills.
    const rlimit processor_time{cpu_seconds, cpu_seconds + 1};
    setrlimit(RLIMIT_CPU, &processor_time);
    if (limit_memory) limit(RLIMIT_DATA, data_bytes);

    // First out of the way of the numbers to come, then to their numbers; copies made by dup2 survive exec.
    const int high_judge = fcntl(judge_socket, F_DUPFD_CLOEXEC, 64);
    const int high_vgpu = vgpu_socket < 0 ? -1 : fcntl(vgpu_socket, F_DUPFD_CLOEXEC, 64);
    const int high_output = fcntl(output, F_DUPFD_CLOEXEC, 64);
    const int high_null = fcntl(null, F_DUPFD_CLOEXEC, 64);
    const int high_failed = fcntl(failed, F_DUPFD_CLOEXEC, 64);
    const int high_status = status < 0 ? -1 : fcntl(status, F_DUPFD_CLOEXEC, 64);
    bool ok = dup2(high_null, 0) >= 0 && dup2(high_output, 1) >= 0 && dup2(high_output, 2) >= 0 &&
              dup2(high_judge, runner_fd) >= 0;
    if (high_vgpu >= 0) ok = ok && dup2(high_vgpu, runner_vgpu_fd) >= 0;
    // Everything else of the judge's is close-on-exec already; this also covers what a library may have opened.
    const int first_free = high_vgpu >= 0 ? runner_vgpu_fd + 1 : runner_fd + 1;
    for (int fd = first_free; fd < 256; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (high_status >= 0) ok = ok && dup2(high_status, launcher_status_fd) >= 0;

    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    if (ok) execve(program, arguments.data(), environment.data());
    const int error = errno;
    (void)!write(high_failed, &error, sizeof error);
    _exit(127);
  }
};

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

/// The runners that live: their numbers. The judge has one thread that starts and ends them.
std::set<pid_t>& live_runners() {
  static std::set<pid_t> numbers;
  return numbers;
}

/// Children of a process ("self": this one), by /proc; empty where the kernel does not list them.
std::vector<pid_t> children(const std::string& process = "self") {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + process + "/task", ignored)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) all.push_back(pid);
  }
  return all;
}

/// Bytes of memory that a process has in use, its page tables and what was swapped out included.
std::size_t memory_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/status");
  std::size_t bytes = 0, kibibytes = 0;
  for (std::string line; std::getline(file, line);) {
    const bool counts = line.starts_with("VmRSS:") || line.starts_with("VmPTE:") || line.starts_with("VmSwap:");
    if (counts && std::sscanf(line.c_str(), "%*s %zu kB", &kibibytes) == 1) bytes += kibibytes << 10;
  }
  return bytes;
}

/// Bytes of memory that a process and all of its descendants have in use; shared ones count for each.
std::size_t memory_in_use(pid_t process) {
  const std::string name = std::to_string(process);
  std::size_t bytes = memory_of(name);
  for (const pid_t child : children(name)) bytes += memory_in_use(child);
  return bytes;
}

/// Seconds of processor time that a process has used, with its children that have ended and that it has waited for.
double processor_time_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text);
  // After the name, which may have anything in it: the state, 10 numbers, and then these four, in ticks.
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(end_of_name + 1));
  std::string skipped;
  for (int k = 0; k < 11; ++k) fields >> skipped;
  double ticks = 0, total = 0;
  for (int k = 0; k < 4 && fields >> ticks; ++k) total += ticks;
  return total / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// … and with all of its descendants.
double processor_time(pid_t process) {
  const std::string name = std::to_string(process);
  double seconds = processor_time_of(name);
  for (const pid_t child : children(name)) seconds += processor_time(child);
  return seconds;
}

/// The environment of a runner that has a launcher: nothing of the judge's own but what chooses a GPU.
bool goes_into_sandbox(const char* variable) {
  return std::strncmp(variable, "CUDA_", 5) == 0;
}

std::string filled_in(std::string word, std::string_view name, const std::string& value) {
  for (std::size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += value.size()) {
    word.replace(at, name.size(), value);
  }
  return word;
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

RunnerProcess::RunnerProcess(const Options& options, TimeLimit& limit) : options_(options), limit_(limit) {
  int sockets[2], output[2], failed[2], status[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) throw_errno("no socket for the runner");
  const bool is_launched = !options.launcher.empty();
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0 ||
      (is_launched && pipe2(status, O_CLOEXEC | O_NONBLOCK) != 0))
    throw_errno("no pipe for the runner");
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) throw_errno("cannot open /dev/null");

  // All strings are made before the fork.
  const std::string program = options.program.string();
  std::string own = fmt::format("{}={}", runner::fd_variable, runner_fd);
  std::string vgpu = fmt::format("{}={}", runner::vgpu_variable, runner_vgpu_fd);
  Launch launch;
  std::vector<std::string> words = options.launcher;
  if (!is_launched) words = {program};
  for (std::string& word : words) {
    word = filled_in(filled_in(word, "{program}", program), "{status}", std::to_string(launcher_status_fd));
  }
  for (std::string& word : words) launch.arguments.push_back(word.data());
  launch.arguments.push_back(nullptr);
  launch.program = words.front().c_str();
  std::array<std::string, 4> sandbox = {"PATH=/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8"};
  if (is_launched) {
    for (std::string& variable : sandbox) launch.environment.push_back(variable.data());
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_kept = is_launched ? goes_into_sandbox(*variable) : std::strncmp(*variable, "SCANLAB_", 8) != 0;
    if (is_kept) launch.environment.push_back(*variable);
  }
  launch.environment.push_back(own.data());
  if (options.vgpu_fd >= 0) launch.environment.push_back(vgpu.data());
  launch.environment.push_back(nullptr);
  launch.judge_socket = sockets[1];
  launch.vgpu_socket = options.vgpu_fd;
  launch.output = output[1];
  launch.null = null;
  launch.failed = failed[1];
  launch.status = status[1];
  launch.cpu_seconds = static_cast<rlim_t>(std::ceil(options.cpu_seconds));
  launch.limit_memory = options.limit_memory;

  const pid_t judge = getpid();
  // The child shares this process's memory until it is the other program: nothing is copied, however much there is.
  pid_ = vfork();
  if (pid_ == 0) launch.run(judge);
  const int fork_error = errno;
  for (int* fd : {&sockets[1], &output[1], &failed[1], &status[1], &null}) close_fd(*fd);
  fd_ = sockets[0];
  output_fd_ = output[0];
  status_fd_ = status[0];

  int error = pid_ < 0 ? fork_error : 0;
  if (pid_ > 0) {
    setpgid(pid_, pid_);  // also here: the group must exist before the first kill
    ssize_t got;
    do got = ::read(failed[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got != sizeof error) error = 0;
  }
  close_fd(failed[0]);
  if (error != 0) {
    kill_all();
    close_all();
    throw KitFault(
        fmt::format("cannot start {}{}: {}", is_launched ? "" : "the runner ", words.front(), std::strerror(error)));
  }
  live_runners().insert(pid_);
  fcntl(output_fd_, F_SETFL, O_NONBLOCK);
}

RunnerProcess::~RunnerProcess() {
  kill_all();
  close_all();
}

void RunnerProcess::close_all() {
  for (int* fd : {&fd_, &output_fd_, &status_fd_}) close_fd(*fd);
}

std::variant<runner::Done, Ending> RunnerProcess::call(runner::Call call) {
  if (!ready_) {
    auto answer = wait_for_answer(0);
    if (const Ending* ending = std::get_if<Ending>(&answer)) return *ending;
    if (std::get<runner::Done>(answer).status != runner::Done::Status::ready)
      return end({Ending::How::garbled, 0, false});
    ready_ = true;
  }
  if (!drain_output()) return end({Ending::How::flooded, 0, true});
  if (serial_ > 0) output_.clear();  // each call may print so much, and a failure shows what its own call has printed
  call.serial = ++serial_;
  // A Call is far smaller than a socket's buffer, and the runner has answered all earlier ones: this cannot block for
  // long unless the runner is dead or does not read, and then it does not block but fails.
  const ssize_t sent = send(fd_, &call, sizeof call, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != sizeof call && errno != EPIPE && errno != ECONNRESET) return end({Ending::How::garbled, 0, true});
  return wait_for_answer(serial_);
}

std::variant<runner::Done, Ending> RunnerProcess::wait_for_answer(std::uint32_t serial) {
  runner::Done done;
  std::size_t got = 0;
  bool open = true;  // the runner's end of the socket
  std::optional<std::uint64_t> crash;
  while (true) {
    // A runner that has ended may have a child that holds its socket open; so look at the process as well, 50 times
    // a second. An answer wakes this loop at once.
    std::array<pollfd, 2> fds = {{{open ? fd_ : -1, POLLIN, 0}, {flooded_ ? -1 : output_fd_, POLLIN, 0}}};
    poll(fds.data(), fds.size(), 20);
    if (fds[1].revents != 0 && !drain_output()) return end({Ending::How::flooded, 0, ready_});
    if (fds[0].revents != 0) {
      const ssize_t count = recv(fd_, reinterpret_cast<char*>(&done) + got, sizeof done - got, MSG_DONTWAIT);
      if (count > 0) got += static_cast<std::size_t>(count);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) open = false;
      if (got == sizeof done) {
        if (done.magic != runner::done_magic || done.serial != serial) return end({Ending::How::garbled, 0, ready_});
        done.cuda_error_name[sizeof done.cuda_error_name - 1] = '\0';
        if (done.status != runner::Done::Status::crashed) return done;
        crash = done.address;
        got = 0;
      }
    }
    Ending ending;
    if (has_exited(ending)) {
      ending.address = crash;
      ending = end(ending);
      check_launcher();
      return ending;
    }
    const Clock::time_point now = Clock::now();
    if (now >= look_due_) {
      look_due_ = now + look_interval;
      count_time();
      if (options_.limit_memory && memory_in_use(pid_) > group_bytes) return end({Ending::How::memory, 0, ready_});
      if (options_.limit_memory && memory_of("self") > judge_bytes) return end({Ending::How::device_memory, 0, ready_});
    }
    if (limit_.out() != TimeLimit::Out::nothing) {
      ending = end({Ending::How::timeout, 0, ready_});
      // Started again with little time left, also the best launcher is late.
      if (now - started_ > launcher_time) check_launcher();
      return ending;
    }
  }
}

/// Reads what there is. False when there was more than may be.
bool RunnerProcess::drain_output() {
  std::array<char, 16384> chunk;
  while (output_fd_ >= 0) {
    const ssize_t count = ::read(output_fd_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      close_fd(output_fd_);
      break;
    }
    const std::size_t room = options_.output_limit - output_.size();
    output_.append(chunk.data(), std::min(room, static_cast<std::size_t>(count)));
    if (static_cast<std::size_t>(count) > room) {
      flooded_ = true;
      return false;
    }
  }
  return true;
}

const std::string& RunnerProcess::output() {
  if (!flooded_) drain_output();
  return output_;
}

bool RunnerProcess::has_exited(Ending& ending) const {
  siginfo_t info{};
  // WNOWAIT leaves it a zombie: its number, and so its group's, cannot be given to another process before the kill.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  ending.how = info.si_code == CLD_EXITED ? Ending::How::exited : Ending::How::signalled;
  ending.code = info.si_status;
  // A launcher that has waited for the runner reports its signal as a shell does.
  if (!options_.launcher.empty() && info.si_code == CLD_EXITED && ending.code > 128 && ending.code <= 128 + 64) {
    ending.how = Ending::How::signalled;
    ending.code -= 128;
  }
  ending.was_ready = ready_;
  return true;
}

void RunnerProcess::check_launcher() {
  if (status_fd_ < 0) return;
  char said[2] = {};
  ssize_t got;
  do got = ::read(status_fd_, said, sizeof said);
  while (got < 0 && errno == EINTR);
  close_fd(status_fd_);
  if (got == 1 && said[0] == 'r') return;  // whatever came then, it was the runner's doing
  std::string text = output_.substr(0, output_.find('\n'));
  throw KitFault(fmt::format("the sandbox did not start the runner{}{}", text.empty() ? "" : ": ", text));
}

Ending RunnerProcess::end(Ending ending) {
  kill_all();
  if (!flooded_) drain_output();
  return ending;
}

void RunnerProcess::count_time() {
  double seconds = processor_time(pid_);
  // What it has started and left comes to this process (see adopt_orphans), which has no other children than runners.
  for (const pid_t child : children()) {
    if (!live_runners().contains(child)) seconds += processor_time(child);
  }
  // Time that was not waited for vanishes with its process; what was counted stays counted.
  limit_.add(std::max(0.0, seconds - counted_));
  counted_ = std::max(counted_, seconds);
}

void RunnerProcess::kill_all() {
  if (pid_ <= 0) return;
  count_time();
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  int status;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  live_runners().erase(pid_);
  pid_ = -1;
  // This process has no other children than its runners. What else there is was orphaned by one (see adopt_orphans):
  // kill until nothing comes any more; each round takes one generation.
  for (int round = 0; round < 1000; ++round) {
    std::vector<pid_t> left = children();
    std::erase_if(left, [](pid_t child) { return live_runners().contains(child); });
    if (left.empty()) break;
    for (const pid_t child : left) kill(child, SIGKILL);
    for (const pid_t child : left) waitpid(child, &status, 0);
  }
}

}  // namespace scanlab::grade
