// A device as the judge uses it: memory that the judge owns, lent to a runner for the length of a call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograder/device/amendment.hpp"
#include "autograder/process/time_limit.hpp"
#include "autograder/result.hpp"
#include "runner/protocol.hpp"
#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/core/explore/exploration.hpp"
#include "vgpu/core/run/schedule.hpp"
#include "vgpu/core/run/stale_reads.hpp"

namespace scanlab::grade {

/// Device memory of the judge's.
struct Buffer {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

/// … that an entry was given, as its parameter is called.
struct NamedBuffer {
  Buffer buffer;
  const char* name = "";
};

/// What could have carried data between a runner's host code and the device during one call.
struct HostTraffic {
  std::uint64_t bytes_out = 0, bytes_in = 0;  ///< from the device to the host, and back
  std::string out, in;                        ///< by what: "4096 by copies to the host (cudaMemcpy)"
};

/// What the device saw of a runner during one call.
struct CallReport {
  std::optional<Failure> failure;  ///< a fault: verdict `fail`, `timeout`, or `error` for what the device cannot do
  std::vector<std::pair<std::string, double>> counts;  ///< by counter's name; empty unless counting was asked for
  std::vector<vgpu::Finding> findings;                 ///< of the device's checks and its faults; a real GPU has none
  std::uint64_t findings_total = 0;                    ///< with those that were left out
  std::vector<vgpu::Finding> costs;                    ///< the lines that cost most, where work was counted
  std::vector<vgpu::Breach> breaches;                  ///< of a proof that takes each launch by itself
  HostTraffic traffic;                                 ///< on a real GPU nothing is known of it
  std::vector<vgpu::StaleRead> stale_reads;            ///< old values that strong reads have returned, in their order
  std::string output;                                  ///< what kernels have printed
  bool is_flooded = false;                             ///< they have printed more than they may
};

/// Of a call: nothing, its work, or also what each of its additions is for, where a device can say (Provenance).
enum class Counting { off, work, additions };

/// What is asked of the exploration of a call's launches (vgpu/core/explore/explore.hpp), and what it has found. A
/// launch whose blocks do not talk to each other has one execution.
struct ExploredCall {
  std::uint64_t warp_instructions = 0;  ///< of all runs of all launches, at most
  double seconds = 0;                   ///< of processor time, at most
  std::uint64_t most_blocks = 0;        ///< of a launch; one that has more is not explored
  // found:
  std::uint64_t blocks = 0;         ///< of the largest launch whose blocks talk; 0: none do
  std::uint64_t executions = 0;     ///< of all launches whose blocks talk
  std::vector<std::string> trails;  ///< of each result of a launch that has several: the outputs may differ, too
  std::string why_not;              ///< empty: those are all executions
  std::vector<vgpu::BrokenAssumption> broken = {};  ///< of all launches
  bool is_each_by_itself = false;  ///< a launch leaves different memory, and a later one was explored from one of them
  bool has_several = false;        ///< a launch leaves different memory
  std::vector<vgpu::Breach> breaches = {};  ///< of what the exploration assumes, in any of its runs; one of a kind

  void add(const vgpu::Breach& breach) {
    if (std::ranges::find(breaches, breach.what, &vgpu::Breach::what) == breaches.end()) breaches.push_back(breach);
  }
};

class ElementWrites;
class Provenance;

/// One runner's way to the device. The judge alone uses the device except between begin_call() and end_call().
class Connection {
 public:
  virtual ~Connection() = default;
  /// A descriptor that the runner inherits under `runner::vgpu_variable`, or -1. Closed by release_fd().
  virtual int fd() const { return -1; }
  virtual void release_fd() {}
  /// Lets the runner use the device under `schedule`, until `limit`, which outlives the call, is out.
  virtual void begin_call(const vgpu::Schedule& schedule, Counting counting, const TimeLimit& limit) = 0;
  /// Explores each launch of the next calls before it runs; null: no more.
  virtual void explore(ExploredCall* /*call*/) {}
  /// Takes the device back, once everything that the runner has submitted has run.
  virtual CallReport end_call() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  /// For people: "scanlab virtual GPU (small), 4 multiprocessors".
  virtual std::string description() const = 0;
  /// True when the order of warps is chosen by a schedule, and work is counted.
  virtual bool is_virtual() const = 0;
  /// What the limit of a check counts here.
  TimeLimit::Counts counted_time() const {
    return is_virtual() ? TimeLimit::Counts::processor_time : TimeLimit::Counts::clock;
  }
  /// Nothing but the first `n` elements of a buffer may be touched; how a violation shows depends on the device: as a
  /// fault, or afterwards in damaged_guard(). `label` names the memory in messages. Throws KitFault when there is none.
  virtual Buffer allocate(std::size_t bytes, const std::string& label) = 0;
  virtual void free(const Buffer& buffer) = 0;
  virtual void write(const Buffer& to, const void* from) = 0;  ///< all of it
  virtual void read(const Buffer& from, void* to) = 0;         ///< all of it
  virtual void fill(const Buffer& to, unsigned char byte) = 0;
  /// The same, for memory that a program is to write: reading it first is reading what was never written.
  virtual void blank(const Buffer& to, unsigned char byte) { fill(to, byte); }
  /// What may be tried, to see whether it is the cause of a failure; nothing is, on a device that cannot.
  struct Trying {
    bool zeros = false;  ///< memory that was never written holds zeros, as by luck on a GPU
    bool room = false;   ///< behind each array that is allocated from now on is room for accesses beyond its end
    bool same_barriers = false;               ///< warps that meet from different barriers are a mistake, too
    std::optional<Amendment> amendment = {};  ///< of programs that are loaded from now on
  };
  virtual void try_with(const Trying&) {}
  /// What is launched from now on is work on so many elements: a limit of instructions grows with them.
  virtual void expect_elements(std::size_t /*n*/) {}
  /// Runs the PTX of a file in the place of the programs' own that are loaded from now on. Throws KitFault where the
  /// file cannot be read; a device that cannot do it does nothing.
  virtual void replace_code(const std::filesystem::path&) {}
  /// Whether a program has been loaded since in which there was something to amend.
  virtual bool has_amended() const { return false; }
  /// The first value in the first `bytes` of a buffer that comes from memory that was never written; nothing when there
  /// is none, or when the device does not report it.
  virtual std::optional<vgpu::Finding> undefined_value(const Buffer&, std::size_t /*bytes*/) { return std::nullopt; }
  /// "16 bytes after the end were overwritten", when the bytes around a buffer are not what they were.
  virtual std::optional<std::string> damaged_guard(const Buffer&) { return std::nullopt; }
  /// What elements are the sums of, in programs where they are names; null where none can be recorded.
  virtual Provenance* provenance() { return nullptr; }
  /// Records who writes an element, as long as what is returned lives; null where a device does not see that.
  virtual std::unique_ptr<ElementWrites> watch(const Buffer& element);
  virtual runner::DevicePointer share(const Buffer& buffer) = 0;
  /// With a runner that is about to start: what it is, and the most that its kernels may print, in bytes.
  virtual std::unique_ptr<Connection> connect(const std::filesystem::path& program, std::size_t output_limit) = 0;

  // What timing checks need; a virtual device is never timed.

  /// All of `from` to `to`, which is as large, within the device. Done when it returns.
  virtual void copy(const Buffer& to, const Buffer& from) {
    std::vector<unsigned char> bytes(from.bytes);
    read(from, bytes.data());
    write(to, bytes.data());
  }
  /// The same for bytes [first, last) of each row of `row` bytes; the last row may be shorter.
  virtual void copy_columns(const Buffer& to, const Buffer& from, std::size_t row, std::size_t first,
                            std::size_t last) {
    std::vector<unsigned char> bytes(last - first);
    for (std::size_t at = first; at < to.bytes; at += row) {
      const std::size_t there = std::min(bytes.size(), to.bytes - at);
      read({from.address + at, there}, bytes.data());
      write({to.address + at, there}, bytes.data());
    }
  }
  /// Is each race that a kernel has reported? Not where kernels are not watched.
  virtual bool reports_races() const { return false; }
  /// Bytes that the device's largest cache holds; 0: it has none, or does not report it.
  virtual std::size_t cache_bytes() const { return 0; }
  /// Why the device runs slower than it could at this moment; empty: it does not. Nothing when it does not report that.
  virtual std::optional<std::vector<std::string>> slowdowns() { return std::nullopt; }
};

/// Memory that is freed at the end of its scope.
class OwnedBuffer {
 public:
  OwnedBuffer(Device& device, std::size_t bytes, const std::string& label)
      : device_(device), buffer_(device.allocate(bytes, label)) {}
  ~OwnedBuffer() { device_.free(buffer_); }
  OwnedBuffer(const OwnedBuffer&) = delete;
  OwnedBuffer& operator=(const OwnedBuffer&) = delete;
  operator const Buffer&() const { return buffer_; }

 private:
  Device& device_;
  Buffer buffer_;
};

}  // namespace scanlab::grade
