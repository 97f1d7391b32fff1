// A simulated CUDA device: memory, modules and kernel launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/core/explore/exploration.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/fast_paths.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/core/run/profile.hpp"
#include "vgpu/core/run/schedule.hpp"
#include "vgpu/core/run/stale_reads.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Registers of kernels as `registers.txt` beside a program has them: a line each, a name and a number. Empty where
/// there is no such file.
std::map<std::string, unsigned, std::less<>> read_registers(const std::filesystem::path& program);

class ElementNames;
class FloatNames;
struct Grid;
struct LoadedModule;

/// What the device knows of a kernel before it runs (cudaFuncGetAttributes).
struct KernelAttributes {
  std::uint64_t static_shared = 0;  ///< bytes
  std::uint64_t local_bytes = 0;    ///< a thread
  std::uint64_t constant_bytes = 0;
  std::uint32_t max_threads = 1024;  ///< a block
  std::uint32_t registers = 0;       ///< as ptxas has it; where that is not known, virtual ones, an upper bound
  std::vector<std::uint32_t> parameter_offsets, parameter_sizes;  ///< bytes, in the parameter buffer
  std::uint32_t parameter_bytes = 0;                              ///< of the whole buffer
};

/// One kernel launch. `parameters` is the parameter buffer, laid out by KernelAttributes::parameter_offsets.
struct LaunchRequest {
  LoadedModule* module = nullptr;
  std::string kernel;  ///< mangled name
  Dim3 grid, block;
  std::uint64_t dynamic_shared = 0;
  std::uint64_t max_dynamic_shared = 0;  ///< set by cudaFuncSetAttribute; 0: the default of the profile
  std::uint64_t stack_bytes = 1024;  ///< of a thread, for calls whose number the code does not say: cudaLimitStackSize
  std::span<const std::byte> parameters;
  bool cooperative = false;
};

struct LaunchResult {
  enum class Status {
    ok,
    invalid_configuration,  ///< cudaErrorInvalidConfiguration: zero or too many blocks or threads
    invalid_value,          ///< cudaErrorInvalidValue: too much dynamic shared memory
    out_of_resources,       ///< cudaErrorLaunchOutOfResources: e.g. more threads than .maxntid
    too_many_cooperative,   ///< cudaErrorCooperativeLaunchTooLarge
    unknown_kernel,         ///< cudaErrorInvalidDeviceFunction
    fault,                  ///< it ran and was stopped, or could not start (unsupported): see `fault`
  };
  Status status = Status::ok;
  std::string message;  ///< one line, for a status that is not ok
  std::optional<Fault> fault;
  std::uint64_t warp_instructions = 0;
};

class Team;

/// How often blocks have run on several host threads at once (parallel.hpp).
struct ParallelRounds {
  std::uint64_t all = 0, undone = 0;
  std::uint64_t apart = 0;  ///< those whose blocks were known to be apart
};

/// One device. Not thread safe. Everything it does is a function of (program, inputs, schedule, seed).
class Device {
 public:
  explicit Device(DeviceProfile profile);
  ~Device();

  const DeviceProfile& profile() const { return profile_; }
  Memory& memory() { return memory_; }

  /// Parses a PTX module and places its variables in memory. Throws ptx::ParseError.
  LoadedModule* load(std::string_view ptx) { return load(std::span(&ptx, 1)); }
  /// The same for the files of one program (relocatable device code), which become one module. Throws ptx::LinkError
  /// too.
  LoadedModule* load(std::span<const std::string_view> files);
  void unload(LoadedModule* module);
  /// The address and size of a __device__ or __constant__ variable by its mangled name; nothing when there is none.
  struct Symbol {
    Address address = 0;
    std::uint64_t size = 0;
  };
  std::optional<Symbol> symbol(const LoadedModule* module, std::string_view name) const;
  /// Nothing when the module has no such kernel.
  std::optional<KernelAttributes> attributes(const LoadedModule* module, std::string_view kernel) const;

  /// Would this launch start? `parameters` are not looked at, and nothing runs. Status::fault: the code cannot be run.
  LaunchResult check(const LaunchRequest& request);
  /// Runs a kernel to its end (or its fault). Never hangs: see `max_warp_instructions`.
  LaunchResult launch(const LaunchRequest& request);
  /// Runs all executions of a launch under the memory model (explore.hpp), without printing, and without the observers
  /// but `observers`. Memory is then as before. `visit` gets each different one, and
  /// a trail that shows it again as Schedule::trail, if the next launch is this one; it ends the exploration by
  /// returning false. A launch whose blocks do not talk to each other has one execution, which is not run. Nothing
  /// where the launch is refused.
  std::optional<Exploration> explore(const LaunchRequest& request, const ExplorationLimits& limits,
                                     const std::function<bool(const Execution&, const std::string& trail)>& visit,
                                     const ExplorationObservers& observers = {});
  /// May a kernel have instructions at which lanes wait for each other, and which PTX gives no order of memory:
  /// shuffles, votes and their like? True also where nothing has been loaded yet.
  bool may_shuffle() const;
  /// A trail names its launch by number: the next one is the first again.
  void number_launches_anew() { launches_ = 0; }
  /// Blocks of this kernel that one multiprocessor holds at once (cudaOccupancyMaxActiveBlocksPerMultiprocessor).
  unsigned blocks_per_multiprocessor(const KernelAttributes& kernel, std::uint64_t threads,
                                     std::uint64_t dynamic_shared) const;

  /// Listens to every launch from now on; not owned.
  void attach(Observer* observer) { observers_.push_back(observer); }
  void detach(Observer* observer) { std::erase(observers_, observer); }

  Schedule schedule;
  std::uint64_t max_warp_instructions = 4'000'000'000;  ///< a launch; beyond it: Fault::Kind::budget
  std::function<void(ptx::Module&)> on_load;            ///< may change a program before it is loaded
  std::function<void(std::string_view)> print;          ///< device printf; default: to stdout
  unsigned threads = 1;                                 ///< of the host, for a launch; changes no result (parallel.hpp)
  double least_parallel_ns = 1e6;                       ///< launches that take less stay on one thread
  FastPaths fast_paths;                                 ///< change no result
  /// That a GPU's code takes a thread, by the mangled name of the kernel: of those that ptxas has been asked about.
  std::map<std::string, unsigned, std::less<>> registers;
  bool reports_dependences = false;        ///< to observers, also where elements are no names
  const ElementNames* elements = nullptr;  ///< for programs whose elements are names; not owned
  FloatNames* floats = nullptr;            ///< where floats are names; not owned. One host thread runs such a launch
  std::function<bool()> host_waits;        ///< asked while threads look at memory of the host: can it not write there?
  const volatile bool* cancel = nullptr;   ///< when it becomes true, the running launch stops (budget fault)

  /// Of all launches. It depends on time, unlike everything that a launch gives.
  const ParallelRounds& parallel_rounds() const { return parallel_rounds_; }

  /// What launches under the schedule `weak` have read that was not the latest value, in their order; at most
  /// `most_stale_reads`. No mistake by itself.
  const std::vector<StaleRead>& stale_reads() const { return stale_reads_; }
  void forget_stale_reads() { stale_reads_.clear(); }
  static constexpr std::size_t most_stale_reads = 256;

  /// Time on the device's own clock since it was made, in ns: advanced by launches and copies.
  double now_ns() const { return now_ns_; }
  void advance_ns(double ns) { now_ns_ += ns; }

 private:
  struct Ready;
  LaunchResult prepare(const LaunchRequest& request, Ready& ready);
  void set_up(const LaunchRequest& request, const Ready& ready, std::vector<std::byte>& parameters, Grid& grid);
  /// May blocks of this launch run on several host threads, as far as is known before they run?
  bool may_part(const LaunchRequest& request) const;

  DeviceProfile profile_;
  Memory memory_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::vector<Observer*> observers_;
  std::unique_ptr<Team> team_;  ///< made when a launch first needs it,
  unsigned team_threads_ = 0;   ///< for so many threads
  ParallelRounds parallel_rounds_;
  std::vector<StaleRead> stale_reads_;
  std::uint64_t launches_ = 0;
  double now_ns_ = 0;
  double timer_ns_ = 0;  ///< where %globaltimer stood at the end of the last launch: it never goes back
};

}  // namespace scanlab::vgpu
