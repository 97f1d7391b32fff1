#include "host_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

namespace scanlab::grade {

namespace {

constexpr std::size_t guard_bytes = 64;
constexpr unsigned char guard = 0xC5;

class HostConnection : public Connection {
 public:
  explicit HostConnection(std::vector<vgpu::Finding> findings) : findings_(std::move(findings)) {}
  void begin_call(const vgpu::Schedule&, Counting counting, const TimeLimit&) override { counting_ = counting; }
  CallReport end_call() override {
    CallReport report;
    if (counting_ != Counting::off) {
      report.counts = {{"additions", 1023}, {"barriers", 30}, {"warp_efficiency", 0.5}};
      report.costs = {line("cost.barrier", 7), line("cost.divergence", 9)};
    }
    report.findings = findings_;
    report.findings_total = findings_.size();
    return report;
  }

 private:
  std::vector<vgpu::Finding> findings_;
  static vgpu::Finding line(const char* id, unsigned number) {
    vgpu::Finding finding;
    finding.id = id;
    finding.weight = vgpu::Finding::Weight::advice;
    finding.headline = "this line";
    finding.parts.push_back({.does = "access", .where = {"scan.cu", number, 0, ""}, .actors = ""});
    return finding;
  }

  Counting counting_ = Counting::off;
};

class HostDevice : public Device {
 public:
  HostDevice(Pretend pretend, HostTraits traits, std::vector<vgpu::Finding> findings)
      : pretend_(pretend), traits_(traits), findings_(std::move(findings)) {}

  std::string description() const override { return "host memory"; }
  bool is_virtual() const override { return pretend_ == Pretend::virtual_gpu; }

  Buffer allocate(std::size_t bytes, const std::string&) override {
    const std::string name = fmt::format("/scanlab-test-{}-{}", getpid(), ++number_);
    const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    const std::size_t all = bytes + 2 * guard_bytes;
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(all)) != 0) throw KitFault("no shared memory");
    void* base = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED) throw KitFault("no shared memory");
    std::memset(base, guard, all);
    const Buffer buffer{reinterpret_cast<std::uint64_t>(base) + guard_bytes, bytes};
    names_[buffer.address] = {name, number_};
    return buffer;
  }
  void free(const Buffer& buffer) override {
    shm_unlink(names_.at(buffer.address).first.c_str());
    names_.erase(buffer.address);
    munmap(at(buffer) - guard_bytes, buffer.bytes + 2 * guard_bytes);
  }
  void write(const Buffer& to, const void* from) override {
    if (to.bytes > 0) std::memcpy(at(to), from, to.bytes);
  }
  void read(const Buffer& from, void* to) override {
    if (from.bytes > 0) std::memcpy(to, at(from), from.bytes);
  }
  void fill(const Buffer& to, unsigned char byte) override { std::memset(at(to), byte, to.bytes); }

  std::optional<std::string> damaged_guard(const Buffer& buffer) override {
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      if (at(buffer)[buffer.bytes + i] != guard) return "memory after its last element was overwritten";
      if (at(buffer)[-1 - static_cast<std::ptrdiff_t>(i)] != guard) return "memory before it was overwritten";
    }
    return std::nullopt;
  }

  runner::DevicePointer share(const Buffer& buffer) override {
    const auto& [name, number] = names_.at(buffer.address);
    runner::DevicePointer pointer;
    pointer.how = runner::DevicePointer::How::ipc;
    pointer.allocation = number;
    pointer.offset = guard_bytes;
    std::memcpy(pointer.handle, name.c_str(), name.size() + 1);
    return pointer;
  }

  std::unique_ptr<Connection> connect(const std::filesystem::path&, std::size_t) override {
    return std::make_unique<HostConnection>(findings_);
  }

  void copy(const Buffer& to, const Buffer& from) override {
    std::memcpy(at(to), at(from), from.bytes);
    if (traits_.copy_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(traits_.copy_seconds));
  }
  std::size_t cache_bytes() const override { return traits_.cache_bytes; }

 private:
  static unsigned char* at(const Buffer& buffer) { return reinterpret_cast<unsigned char*>(buffer.address); }

  Pretend pretend_;
  HostTraits traits_;
  std::vector<vgpu::Finding> findings_;
  std::uint32_t number_ = 0;
  std::map<std::uint64_t, std::pair<std::string, std::uint32_t>> names_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(Pretend pretend, HostTraits traits, std::vector<vgpu::Finding> findings) {
  return std::make_unique<HostDevice>(pretend, traits, std::move(findings));
}

/// One check, `inclusive`, of a runner of floats; limits are small.
Plan plan_of_runner(const std::filesystem::path& runner, double seconds, std::vector<std::size_t> sizes) {
  Plan plan;
  plan.lab = "02_kogge_stone";
  plan.seed = 7;
  plan.section = 1024;
  plan.source = "scan.cu";
  plan.again = "grader/scanlab check 02";
  plan.limits.seconds = seconds;
  plan.limits.output_bytes = 4096;
  plan.runners = {{"float", runner}};
  CheckPlan check;
  check.name = check.title = "inclusive";
  check.points = 10;
  check.sizes = std::move(sizes);
  check.schedules = {vgpu::Schedule::Order::in_order};
  plan.checks = {check};
  return plan;
}

}  // namespace scanlab::grade
