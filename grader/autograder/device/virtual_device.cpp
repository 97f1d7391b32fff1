#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "autograder/cause.hpp"
#include "autograder/device/call_findings.hpp"
#include "autograder/device/devices.hpp"
#include "autograder/device/element_writes.hpp"
#include "autograder/device/provenance.hpp"
#include "autograder/device/replacement.hpp"
#include "vgpu/checks/check_suite.hpp"
#include "vgpu/checks/cost/access_cost.hpp"
#include "vgpu/checks/cost/counters.hpp"
#include "vgpu/checks/cost/line_costs.hpp"
#include "vgpu/checks/cost/own_barriers.hpp"
#include "vgpu/checks/cost/spread.hpp"
#include "vgpu/checks/cost/thread_orders.hpp"
#include "vgpu/checks/cost/waits.hpp"
#include "vgpu/checks/explored_checks.hpp"
#include "vgpu/checks/fault_finding.hpp"
#include "vgpu/checks/finding_order.hpp"
#include "vgpu/checks/lane_races.hpp"
#include "vgpu/checks/uninitialised/uninitialised.hpp"
#include "vgpu/core/explore/exploration.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/core/run/parallel.hpp"
#include "vgpu/server/session.hpp"

namespace scanlab::grade {

namespace {

/// Raises a flag and calls a function when a limit is out, from a thread of its own: the judge's may be waiting for the
/// device.
class Alarm {
 public:
  explicit Alarm(std::function<void()> when_out)
      : when_out_(std::move(when_out)), thread_([this](std::stop_token stop) { run(stop); }) {}

  void arm(const TimeLimit& limit) {
    const std::lock_guard lock(mutex_);
    limit_ = &limit;
    changed_.notify_all();
  }
  void disarm() {
    const std::lock_guard lock(mutex_);
    limit_ = nullptr;
  }
  /// Stays up once it is up.
  void raise() { raised_ = true; }
  const volatile bool* flag() const { return &raised_; }

 private:
  void run(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (limit_ == nullptr) {
        changed_.wait(lock, stop, [this] { return limit_ != nullptr; });
      } else if (limit_->out() != TimeLimit::Out::nothing) {
        raised_ = true;
        limit_ = nullptr;
        when_out_();
      } else {
        changed_.wait_for(lock, stop, look_interval, [this] { return limit_ == nullptr; });
      }
    }
  }

  static constexpr std::chrono::milliseconds look_interval{20};

  std::function<void()> when_out_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  const TimeLimit* limit_ = nullptr;  ///< null: nothing to look after
  volatile bool raised_ = false;      // the engine polls it through vgpu::Device::cancel
  std::jthread thread_;               // last: it uses all of the above
};

/// The observers of a call whose work is counted, attached for its length.
class CallCounting {
 public:
  /// `follows_waits`: the schedule runs blocks side by side, and how they wait for each other is counted too.
  CallCounting(vgpu::Device& device, bool follows_waits) : device_(device) {
    observers_ = {&counters_, &line_costs_, &spread_, &own_barriers_};
    if (follows_waits) observers_.push_back(&waits_);
    for (vgpu::Observer* observer : observers_) device_.attach(observer);
  }
  ~CallCounting() {
    for (vgpu::Observer* observer : observers_) device_.detach(observer);
  }
  CallCounting(const CallCounting&) = delete;
  CallCounting& operator=(const CallCounting&) = delete;

  void report(CallReport& report, const server::Traffic& traffic) const {
    vgpu::Counts counts = counters_.counts();
    counts.barriers += own_barriers_.count();
    // A copy of a whole array is what it is called. One of elements far apart counts as if threads had made it: the
    // sectors beyond those that its bytes fill.
    const std::uint64_t filled = traffic.bytes_on_device / vgpu::sector_bytes + 4;
    counts.global_sectors += traffic.sectors_on_device - std::min(traffic.sectors_on_device, filled);
    report.counts = counts.named();
    const auto add = [&](const char* name, std::uint64_t count) {
      report.counts.emplace_back(name, static_cast<double>(count));
    };
    if (observers_.back() == &waits_) add("chained_waits", waits_.longest());
    add("busiest_warp", spread_.busiest_warp());
    add("busiest_block", spread_.busiest_block());
    add("host_copies", traffic.copies_to_host + traffic.shared);  // what the host sees needs no copy to be read there
    using Cost = vgpu::LineCosts::Cost;
    for (const Cost cost : {Cost::bank_conflicts, Cost::sectors, Cost::divergence, Cost::barriers, Cost::traffic})
      std::ranges::move(line_costs_.findings(cost), std::back_inserter(report.costs));
  }

 private:
  vgpu::Device& device_;
  vgpu::Counters counters_;
  vgpu::LineCosts line_costs_;
  vgpu::Spread spread_;
  vgpu::OwnBarriers own_barriers_;
  vgpu::Waits waits_;
  std::vector<vgpu::Observer*> observers_;
};

Failure failure_of(const vgpu::Fault& fault, const TimeLimit& limit) {
  Failure failure{.cause = cause_of(vgpu::to_finding(fault))};
  const bool is_budget = fault.kind == vgpu::Fault::Kind::budget;
  if (is_budget) failure.verdict = Verdict::timeout;
  if (is_budget && limit.out() != TimeLimit::Out::nothing)
    failure.cause.actual = fmt::format("the kernel was still running after {}, the limit of a check", text_of(limit));
  // The virtual GPU's gap, not the submission's mistake.
  if (fault.kind == vgpu::Fault::Kind::unsupported) failure.verdict = Verdict::error;
  return failure;
}

/// The session with one runner: served by a thread of its own, which uses the device only while a call is on.
class VirtualConnection : public Connection {
 public:
  /// `checks` is null where nothing looks for mistakes.
  VirtualConnection(vgpu::Device& device, Provenance& provenance, vgpu::CheckSuite* checks, std::size_t output_limit,
                    int judge_fd, int runner_fd)
      : device_(device),
        provenance_(provenance),
        checks_(checks),
        output_limit_(output_limit),
        runner_fd_(runner_fd),
        session_(device, judge_fd, options()),
        gate_(session_.lock()),
        alarm_([this] { session_.stop(); }) {
    device_.cancel = alarm_.flag();
    server_ = std::thread([this] { session_.serve(); });
  }

  ~VirtualConnection() override {
    release_fd();
    alarm_.raise();
    session_.stop();
    if (gate_.owns_lock()) gate_.unlock();  // serve() may be waiting for it
    server_.join();
    device_.detach(&unexplored_);
    device_.cancel = nullptr;
  }

  int fd() const override { return runner_fd_; }

  void release_fd() override {
    if (runner_fd_ >= 0) close(runner_fd_);
    runner_fd_ = -1;
  }

  void begin_call(const vgpu::Schedule& schedule, Counting counting, const TimeLimit& limit) override {
    limit_ = &limit;
    device_.schedule = schedule;
    faults_.clear();
    output_.clear();
    device_.forget_stale_reads();
    device_.number_launches_anew();
    if (checks_ != nullptr) checks_->reset();
    if (explored_) {
      device_.reports_dependences = true;
      device_.attach(&unexplored_);
      if (explored_->most_blocks > 0) lane_races_.begin();
    }
    if (counting != Counting::off) counting_.emplace(device_, schedule.order == vgpu::Schedule::Order::random);
    alarm_.arm(limit);
    session_.reset_traffic(gate_);  // before anything of the call, also what a thread has asked for in advance
    gate_.unlock();
  }

  void explore(ExploredCall* call) override { explored_ = call; }

  CallReport end_call() override {
    session_.drain();  // what was launched and not waited for belongs to this call
    const std::string internal_error = session_.internal_error(), closed_because = session_.closed_because();
    gate_ = session_.lock();
    const server::Traffic traffic = session_.traffic(gate_);
    alarm_.disarm();
    CallReport report;
    if (counting_) counting_->report(report, traffic);
    counting_.reset();
    if (checks_ != nullptr) report.breaches = checks_->breaches();
    // What goes wrong after such a call follows from it.
    if (!traffic.unsupported.empty())
      faults_.insert(faults_.begin(),
                     vgpu::FaultException(vgpu::Fault::Kind::unsupported,
                                          fmt::format("the virtual GPU does not have {}", traffic.unsupported),
                                          "do without it, or check on a real GPU with --device gpu")
                         .fault);
    if (traffic.resets > 0 && faults_.empty())
      faults_.push_back(vgpu::FaultException(vgpu::Fault::Kind::trap,
                                             "cudaDeviceReset() frees all memory of the device, the caller's too",
                                             "leave it out: d_x and d_y are gone then, and nobody can read the result")
                            .fault);
    if (const std::string& call = traffic.failed.empty() ? traffic.unsupported : traffic.failed; !call.empty())
      report.breaches.push_back({.what = vgpu::Breach::What::failed_call, .where = {.function = call}});
    if (traffic.overlapping_copies > 0)
      report.breaches.push_back({.what = vgpu::Breach::What::overlap, .where = {.function = "a cudaMemcpy"}});
    if (traffic.misnamed_copies > 0)
      report.breaches.push_back({.what = vgpu::Breach::What::misnamed_copy, .where = {.function = "a cudaMemcpy"}});
    if (explored_) {
      device_.detach(&unexplored_);
      lane_races_.end();
      for (const vgpu::Breach& breach : lane_races_.breaches()) explored_->add(breach);
      for (const vgpu::Breach& breach : report.breaches) explored_->add(breach);
    }
    if (!internal_error.empty()) throw KitFault("the virtual GPU failed: " + internal_error);

    report.stale_reads = device_.stale_reads();
    report.output = std::move(output_);
    report.is_flooded = is_flooded_;
    report.traffic = {traffic.flow.bytes_out(), traffic.flow.bytes_in(), traffic.flow.out_text(),
                      traffic.flow.in_text()};
    if (is_flooded_) faults_.clear();  // the kernel was stopped for that
    if (checks_ != nullptr) add_findings(report, traffic);
    if (!faults_.empty()) {
      report.failure = failure_of(faults_.front(), *limit_);
    } else if (!closed_because.empty()) {
      report.failure = Failure{Verdict::fail,
                               {.id = "runner.changed",
                                .rationale = "the program did not talk to the virtual GPU as the CUDA runtime does",
                                .details = {closed_because},
                                .next = "use the device through CUDA's functions only"}};
    }
    return report;
  }

 private:
  void add_findings(CallReport& report, const server::Traffic& traffic) {
    vgpu::CheckSuite::Findings found = checks_->findings();
    report.findings = std::move(found.list);
    report.findings_total = found.total;
    const auto add = [&](vgpu::Finding finding) {
      report.findings.push_back(std::move(finding));
      ++report.findings_total;
    };
    if (!faults_.empty()) add(vgpu::to_finding(faults_.front()));  // the others follow from it
    if (std::optional<vgpu::Finding> leak = leaks_.call(traffic.allocations, traffic.releases)) add(*std::move(leak));
    vgpu::sort_most_basic_first(report.findings);
  }

  server::SessionOptions options() {
    server::SessionOptions options;
    if (checks_ != nullptr) options.work = checks_->work();
    // This process pays for them: far more than any lab needs, and less than any machine has.
    options.max_module_bytes = options.max_modules_bytes = 16u << 20;
    options.max_allocated_bytes = 1u << 30;
    options.max_shared_bytes = 256u << 20;
    options.counts_data_flow = true;
    options.on_leaving = [this](std::span<const std::byte> words) { provenance_.leave(words); };
    // Not by way of the program, which could read there what the device has. As on_fault, under the gate.
    options.on_output = [this](std::string_view text) {
      const std::size_t room = output_limit_ - output_.size();
      output_.append(text.substr(0, room));
      if (text.size() <= room) return;
      is_flooded_ = true;
      alarm_.raise();  // it prints without end, perhaps
      session_.stop();
    };
    options.before_launch = [this](const vgpu::LaunchRequest& launch) {
      if (explored_) explore(*explored_, launch);
    };
    // Called by the serving thread under the gate, as faults_ is only used while it is held.
    options.on_fault = [this](const vgpu::Fault& fault) {
      if (faults_.size() >= most_faults) return;
      faults_.push_back(fault);
      if (checks_) checks_->explain(faults_.back());
    };
    return options;
  }

  void explore(ExploredCall& call, const vgpu::LaunchRequest& launch) {
    const bool is_small = launch.grid.count() <= call.most_blocks;
    // The trail of the first execution with each result, in the order in which they are found: a hash of names differs
    // from run to run.
    std::set<std::string> results;
    std::vector<std::string> trails;
    const auto visit = [&](const vgpu::Execution& execution, const std::string& trail) {
      if (results.insert(execution.fault ? execution.fault->headline : fmt::format("{:016x}", execution.memory)).second)
        trails.push_back(trail);
      return true;
    };
    constexpr std::uint64_t any = ~std::uint64_t{0};
    const vgpu::ExplorationLimits limits{is_small ? any : 0, call.seconds, call.warp_instructions};
    const auto processor = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    const double begin = processor();
    if (!explored_checks_ && checks_ != nullptr)
      explored_checks_.emplace(checks_->uninitialised(),
                               [this](const vgpu::Breach& breach) { explored_->add(breach); });
    const auto explored = device_.explore(
        launch, limits, visit, explored_checks_ ? explored_checks_->begin_launch() : vgpu::ExplorationObservers());
    if (!explored || (explored->is_exhaustive && explored->runs == 0)) return;
    call.seconds = std::max(0.0, call.seconds - (processor() - begin));
    call.warp_instructions -= std::min(call.warp_instructions, explored->warp_instructions);
    call.blocks = std::max(call.blocks, launch.grid.count());
    call.executions += explored->executions;
    std::ranges::copy(explored->broken, std::back_inserter(call.broken));
    call.is_each_by_itself |= call.has_several;
    call.has_several |= trails.size() > 1;
    if (!is_small)
      call.why_not = fmt::format("more than {} blocks", call.most_blocks);
    else if (!explored->is_exhaustive)
      call.why_not = explored->why_not;
    if (trails.size() > 1) std::ranges::move(trails, std::back_inserter(call.trails));
  }

  static constexpr std::size_t most_faults = 8;

  vgpu::Device& device_;
  Provenance& provenance_;
  vgpu::CheckSuite* checks_;
  std::size_t output_limit_;  ///< bytes that kernels may print in a call
  Leaks leaks_;
  int runner_fd_;
  const TimeLimit* limit_ = nullptr;  ///< of the call
  ExploredCall* explored_ = nullptr;
  vgpu::Unexplored unexplored_{[this](const vgpu::Breach& breach) { explored_->add(breach); }};
  vgpu::LaneRaces lane_races_{device_};  ///< of the explored call's first execution
  std::optional<vgpu::ExploredChecks> explored_checks_;
  std::optional<CallCounting> counting_;
  std::vector<vgpu::Fault> faults_;
  std::string output_;  ///< of kernels, in this call
  bool is_flooded_ = false;
  server::Session session_;
  std::unique_lock<std::mutex> gate_;  ///< held except during a call
  Alarm alarm_;
  std::thread server_;
};

class VirtualDevice : public Device {
 public:
  VirtualDevice(std::string name, const vgpu::DeviceProfile& profile, std::uint64_t warp_instructions,
                Checking checking, const std::vector<vgpu::Observer*>& observers)
      : name_(std::move(name)), warp_instructions_(warp_instructions), device_(profile) {
    if (checking == Checking::on) checks_.emplace(device_);
    for (vgpu::Observer* observer : observers) device_.attach(observer);
    device_.max_warp_instructions = warp_instructions;
    device_.on_load = [this](ptx::Module& module) {
      if (code_) module = replacement(module, *code_);
      if (amendment_) has_amended_ |= amend(module, *amendment_);
    };
    device_.threads = vgpu::default_threads();
    device_.print = [](std::string_view) {};  // device printf outside a session: there is no reader
  }

  std::string description() const override {
    return fmt::format("scanlab virtual GPU ({}), {} multiprocessors", name_, device_.profile().multiprocessors);
  }

  bool is_virtual() const override { return true; }
  bool reports_races() const override { return checks_.has_value(); }

  Buffer allocate(std::size_t bytes, const std::string& label) override {
    const vgpu::Address address = device_.memory().allocate(bytes, label, vgpu::Owner::caller);
    if (address == 0) throw KitFault(fmt::format("the virtual GPU has no {} bytes left for {}", bytes, label));
    return {address, bytes};
  }

  // A failing call means that a submission has freed the judge's memory; the session allows it only its own.
  void free(const Buffer& buffer) override { device_.memory().free(buffer.address); }
  void write(const Buffer& to, const void* from) override {
    if (!device_.memory().write(to.address, from, to.bytes)) throw lost();
  }
  void read(const Buffer& from, void* to) override {
    if (!device_.memory().read(to, from.address, from.bytes)) throw lost();
  }
  void fill(const Buffer& to, unsigned char byte) override {
    if (!device_.memory().fill(to.address, std::byte{byte}, to.bytes)) throw lost();
  }

  void blank(const Buffer& to, unsigned char byte) override {
    fill(to, byte);
    if (byte == unwritten_byte && to.bytes % sizeof vgpu::unwritten_output == 0) {
      const std::vector<std::uint32_t> words(to.bytes / sizeof vgpu::unwritten_output, vgpu::unwritten_output);
      write(to, words.data());
    }
    if (checks_) checks_->uninitialised().forget(to.address, to.bytes);
  }
  void try_with(const Trying& how) override {
    if (checks_) checks_->across_warps = how.same_barriers;
    has_amended_ = false;
    amendment_ = how.amendment;
    device_.memory().filler = how.zeros ? std::byte{0} : vgpu::poison;
    device_.memory().room = how.room ? 1 << 20 : 0;
  }
  bool has_amended() const override { return has_amended_; }
  void expect_elements(std::size_t n) override {
    device_.max_warp_instructions = warp_instructions_ + warp_instructions_an_element * n;
  }
  void replace_code(const std::filesystem::path& file) override {
    std::ifstream in(file, std::ios::binary);
    code_ = std::string(std::istreambuf_iterator<char>(in), {});
    if (!in) throw KitFault(fmt::format("{} cannot be read", file.string()));
  }
  std::optional<vgpu::Finding> undefined_value(const Buffer& buffer, std::size_t bytes) override {
    return checks_ ? checks_->uninitialised().undefined_value(buffer.address, bytes) : std::nullopt;
  }

  Provenance* provenance() override { return &provenance_; }
  std::unique_ptr<ElementWrites> watch(const Buffer& element) override {
    return std::make_unique<ElementWrites>(device_, element);
  }

  runner::DevicePointer share(const Buffer& buffer) override {
    runner::DevicePointer pointer;
    pointer.how = runner::DevicePointer::How::address;
    pointer.address = buffer.address;
    return pointer;
  }

  std::unique_ptr<Connection> connect(const std::filesystem::path& program, std::size_t output_limit) override {
    device_.registers = vgpu::read_registers(program);
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw_errno("no socket for the virtual GPU");
    return std::make_unique<VirtualConnection>(device_, provenance_, checks_ ? &*checks_ : nullptr, output_limit,
                                               fds[0], fds[1]);
  }

 private:
  static KitFault lost() { return KitFault("memory of the check is gone from the virtual GPU"); }

  /// Measured: a domino of Kogge-Stone's sections takes less than 40, and where all 1024 threads of each block sum up
  /// the sums of all earlier blocks, 1024 blocks take about 150, with what the labs allow for any size. A limit for
  /// 2^22 elements is reached after about 15 s.
  static constexpr std::uint64_t warp_instructions_an_element = 100;

  std::string name_;                 ///< of the profile; programs see another, a GPU's
  std::uint64_t warp_instructions_;  ///< of a launch, without those for each element
  std::optional<std::string> code_;  ///< that is run in the place of a program's own
  std::optional<Amendment> amendment_;
  bool has_amended_ = false;
  vgpu::Device device_;
  Provenance provenance_{device_};
  std::optional<vgpu::CheckSuite> checks_;  ///< for the device's whole life: it sees what the judge writes, too
};

}  // namespace

std::unique_ptr<Device> make_virtual_device(const std::string& profile, std::uint64_t warp_instructions,
                                            Checking checking, const std::vector<vgpu::Observer*>& observers) {
  try {
    return std::make_unique<VirtualDevice>(profile, vgpu::profile_by_name(profile), warp_instructions, checking,
                                           observers);
  } catch (const std::invalid_argument& error) {
    throw KitFault(error.what());
  }
}

}  // namespace scanlab::grade
