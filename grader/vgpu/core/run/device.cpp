#include "vgpu/core/run/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "vgpu/core/decode/image.hpp"
#include "vgpu/core/explore/explore.hpp"
#include "vgpu/core/explore/playback.hpp"
#include "vgpu/core/run/launch.hpp"
#include "vgpu/core/run/parallel.hpp"
#include "vgpu/core/run/replay.hpp"
#include "vgpu/ptx/link.hpp"

namespace scanlab::vgpu {

struct LoadedModule {
  ptx::Module module;
  SymbolTable symbols;
  std::unordered_map<std::string, Device::Symbol> variables;
  std::vector<Address> owned;
  std::map<std::pair<std::string, ImageOptions>, std::unique_ptr<Image>> images;  ///< by kernel
  bool has_shuffles = false;                                                      ///< or votes, or their like
  std::set<std::string> inseparable;  ///< kernels whose blocks are better run one after the other
};

namespace {

/// What cooperative groups expect at the address in %envreg1 and %envreg2: its own size, and the barrier of the grid.
struct GridWorkspace {
  std::uint32_t size = sizeof(GridWorkspace);
  std::uint32_t barrier = 0;
};

/// Duration of an empty launch, and of an instruction: a rough but fixed clock, so that times are the same in every
/// run.
constexpr double launch_ns = 2000;
constexpr double warp_instructions_a_cycle = 4;  // a multiprocessor

/// See Image::row_lanes.
std::uint8_t row_lanes_in(const Dim3& block) {
  if (block.x % warp_size == 0 || (block.y == 1 && block.z == 1)) return warp_size;
  const bool is_narrow = block.x > 1 && warp_size % block.x == 0 && block.x * block.y % warp_size == 0;
  return is_narrow ? static_cast<std::uint8_t>(block.x) : std::uint8_t{1};
}

LaunchResult refuse(LaunchResult::Status status, std::string message) {
  return {.status = status, .message = std::move(message), .fault = {}};
}

void initialise(Memory& memory, const ptx::Variable& v, Address at, const SymbolTable& symbols) {
  if (v.init.empty())
    memory.fill(at, std::byte{0}, v.size);
  else
    memory.write(at, v.init.data(), std::min<std::uint64_t>(v.init.size(), v.size));
  for (const ptx::Relocation& r : v.relocations) {
    const auto it = symbols.find(r.symbol);
    if (it == symbols.end() || r.size > 8 || r.offset > v.size || r.size > v.size - r.offset) continue;
    const std::uint64_t value = it->second + static_cast<std::uint64_t>(r.addend);
    memory.write(at + r.offset, &value, r.size);
  }
}

const ptx::Function* kernel_of(const LoadedModule& m, std::string_view name) {
  const ptx::Function* f = m.module.find_function(name);
  return f && f->is_entry && f->is_defined ? f : nullptr;
}

bool has_shuffle(const ptx::Function& function) {
  return std::ranges::any_of(function.instructions, [](const ptx::Instruction& in) {
    return in.opcode == "shfl" || in.opcode == "vote" || in.opcode == "match" || in.opcode == "redux" ||
           in.opcode == "elect";
  });
}

}  // namespace

Device::Device(DeviceProfile profile) : profile_(std::move(profile)), memory_(profile_.memory) {}
Device::~Device() = default;

LoadedModule* Device::load(std::span<const std::string_view> files) {
  std::vector<ptx::Module> parsed;
  for (const std::string_view text : files) parsed.push_back(ptx::parse(text));
  auto m = std::make_unique<LoadedModule>();
  m->module = ptx::link(std::move(parsed));
  if (on_load) on_load(m->module);
  m->has_shuffles = std::ranges::any_of(m->module.functions, has_shuffle);
  for (std::size_t k = 0; k < m->module.functions.size(); ++k)
    m->symbols.emplace(m->module.functions[k].name, function_address(k));
  for (const ptx::Variable& v : m->module.variables) {
    const bool constant = v.space == ptx::StateSpace::constant;
    if ((v.space != ptx::StateSpace::global && !constant) || v.is_extern) continue;
    const char* const kind = constant ? "__constant__" : v.is_managed ? "__managed__" : "__device__";
    const Address at = memory_.allocate(v.size, fmt::format("{} {}", kind, ptx::source_name(v.name)));
    if (!at) {
      for (const Address a : m->owned) memory_.free(a);
      throw ptx::ParseError(fmt::format("no memory left for {} of {} bytes", ptx::source_name(v.name), v.size), 0);
    }
    memory_.mark_constant(at, constant);
    m->symbols.emplace(v.name, at);
    m->variables.emplace(v.name, Symbol{at, v.size});
    m->owned.push_back(at);
  }
  for (const ptx::Variable& v : m->module.variables)
    if (const auto it = m->variables.find(v.name); it != m->variables.end())
      initialise(memory_, v, it->second.address, m->symbols);
  modules_.push_back(std::move(m));
  return modules_.back().get();
}

void Device::unload(LoadedModule* module) {
  for (const Address a : module->owned) memory_.free(a);
  std::erase_if(modules_, [&](const auto& m) { return m.get() == module; });
}

std::map<std::string, unsigned, std::less<>> read_registers(const std::filesystem::path& program) {
  std::map<std::string, unsigned, std::less<>> known;
  std::ifstream lines(program.parent_path() / "registers.txt");
  std::string kernel;
  // The program's own text may look like PTX with the same kernel: the larger number counts.
  for (unsigned count = 0; lines >> kernel >> count;) known[kernel] = std::max(known[kernel], count);
  return known;
}

std::optional<Device::Symbol> Device::symbol(const LoadedModule* module, std::string_view name) const {
  const auto it = module->variables.find(std::string(name));
  if (it == module->variables.end()) return std::nullopt;
  return it->second;
}

std::optional<KernelAttributes> Device::attributes(const LoadedModule* module, std::string_view kernel) const {
  const ptx::Function* f = kernel_of(*module, kernel);
  if (!f) return std::nullopt;
  KernelAttributes a;
  for (const ptx::Variable& v : f->variables) {
    if (v.space == ptx::StateSpace::shared && !v.is_extern) a.static_shared += v.size;
    if (v.space == ptx::StateSpace::local) a.local_bytes += v.size;
  }
  a.max_threads =
      f->max_threads ? std::min(f->max_threads, profile_.max_threads_per_block) : profile_.max_threads_per_block;
  if (const auto known = registers.find(kernel); known != registers.end()) {
    a.registers = known->second;
  } else {
    for (const ptx::Register& r : f->registers) a.registers += r.type != ptx::Type::pred;
    a.registers = std::min(a.registers, 255u);
  }
  a.parameter_bytes = layout_parameters(*f, a.parameter_offsets);
  for (const ptx::Variable& p : f->parameters) a.parameter_sizes.push_back(static_cast<std::uint32_t>(p.size));
  return a;
}

unsigned Device::blocks_per_multiprocessor(const KernelAttributes& kernel, std::uint64_t threads,
                                           std::uint64_t dynamic_shared) const {
  if (threads == 0 || threads > kernel.max_threads) return 0;
  const std::uint64_t shared = kernel.static_shared + dynamic_shared;
  std::uint64_t blocks = profile_.max_blocks_per_multiprocessor;
  const std::uint64_t whole_warps = (threads + warp_size - 1) / warp_size * warp_size;
  blocks = std::min<std::uint64_t>(blocks, profile_.max_threads_per_multiprocessor / whole_warps);
  if (shared) blocks = std::min<std::uint64_t>(blocks, profile_.shared_per_multiprocessor / shared);
  return static_cast<unsigned>(blocks);
}

bool Device::may_part(const LaunchRequest& request) const {
  constexpr std::uint64_t least_blocks = 4;
  return threads > 1 && !floats && !schedule.is_interleaved() && !request.cooperative &&
         request.grid.count() >= least_blocks && !memory_.shared_with_host() &&
         !request.module->inseparable.contains(request.kernel) &&
         std::all_of(observers_.begin(), observers_.end(), [](const Observer* o) { return o->fork() != nullptr; });
}

/// A launch that has been found possible.
struct Device::Ready {
  const Image* image = nullptr;
  bool parts = false;     ///< its blocks may run on several host threads
  unsigned resident = 0;  ///< blocks on the device at once
};

LaunchResult Device::check(const LaunchRequest& request) {
  Ready ready;
  return prepare(request, ready);
}

LaunchResult Device::prepare(const LaunchRequest& request, Ready& ready) {
  using Status = LaunchResult::Status;
  LoadedModule& m = *request.module;
  const ptx::Function* kernel = kernel_of(m, request.kernel);
  if (!kernel)
    return refuse(Status::unknown_kernel, fmt::format("no kernel {} in the program", ptx::demangle(request.kernel)));
  const std::string name = ptx::source_name(kernel->name);
  const Dim3 grid = request.grid, block = request.block;
  const std::uint32_t grid_size[3] = {grid.x, grid.y, grid.z}, block_size[3] = {block.x, block.y, block.z};
  const char axis[3] = {'x', 'y', 'z'};
  for (unsigned k = 0; k < 3; ++k) {
    if (grid_size[k] == 0)
      return refuse(Status::invalid_configuration, fmt::format("{} launched with 0 blocks in {}", name, axis[k]));
    if (block_size[k] == 0)
      return refuse(Status::invalid_configuration,
                    fmt::format("{} launched with 0 threads a block in {}", name, axis[k]));
    if (grid_size[k] > profile_.max_grid[k])
      return refuse(Status::invalid_configuration, fmt::format("{} launched with {} blocks in {}; at most {}", name,
                                                               grid_size[k], axis[k], profile_.max_grid[k]));
    if (block_size[k] > profile_.max_block[k])
      return refuse(Status::invalid_configuration, fmt::format("{} launched with {} threads a block in {}; at most {}",
                                                               name, block_size[k], axis[k], profile_.max_block[k]));
  }
  const std::uint64_t threads = block.count();
  if (threads > profile_.max_threads_per_block)
    return refuse(Status::invalid_configuration, fmt::format("{} launched with {} threads a block; at most {}", name,
                                                             threads, profile_.max_threads_per_block));
  KernelAttributes attributes = *this->attributes(&m, request.kernel);
  if (threads > attributes.max_threads)
    return refuse(Status::out_of_resources,
                  fmt::format("{} launched with {} threads a block; its __launch_bounds__ allow {}", name, threads,
                              attributes.max_threads));
  if (const auto known = registers.find(request.kernel); known != registers.end()) {
    constexpr unsigned unit = 8;  // in multiples of which a thread gets them
    const std::uint64_t of_a_warp = std::uint64_t{(known->second + unit - 1) / unit * unit} * warp_size;
    if ((threads + warp_size - 1) / warp_size * of_a_warp > profile_.registers_per_block)
      return refuse(
          Status::out_of_resources,
          fmt::format("{} launched with {} threads a block, each of which takes {} registers; a block has {}: "
                      "launch fewer threads, or tell the compiler with __launch_bounds__",
                      name, threads, known->second, profile_.registers_per_block));
  }
  LaunchResult result;
  // Only where any warp may run at any time does it matter where between its accesses a turn ends.
  ImageOptions options;
  ready.parts = may_part(request);
  options.is_weak = schedule.order == Schedule::Order::weak;
  options.watched = !observers_.empty() || options.is_weak ? Watched::everything
                    : ready.parts                          ? Watched::global
                                                           : Watched::nothing;
  options.names_elements = elements && options.watched == Watched::everything;
  options.reports_dependences = reports_dependences;
  options.fine_grain = schedule.is_interleaved();
  options.names_floats = floats != nullptr;
  options.row_lanes = row_lanes_in(block);
  options.fast = fast_paths;
  if (options.row_lanes < warp_size && !fast_paths.narrow_rows) options.row_lanes = 1;
  const auto key = std::make_pair(request.kernel, options);
  std::unique_ptr<Image>& image = m.images[key];
  if (!image) {
    try {
      image = make_image(m.module, *kernel, m.symbols, options);
    } catch (FaultException& f) {
      m.images.erase(key);
      f.fault.kernel = name;
      result.status = Status::fault;
      result.message = f.fault.headline;
      result.fault = std::move(f.fault);
      return result;
    }
  }
  if (ready.parts && !image->separable) {
    m.inseparable.insert(request.kernel);
    return prepare(request, ready);
  }
  attributes.static_shared = image->static_shared;
  if (image->static_shared > profile_.shared_per_block)
    return refuse(Status::invalid_value, fmt::format("{} has {} bytes of static shared memory; at most {}", name,
                                                     image->static_shared, profile_.shared_per_block));
  // The request may hold any numbers: none of these sums may wrap around.
  const std::uint64_t allowed = std::min(request.max_dynamic_shared, profile_.shared_per_block_optin);
  const std::uint64_t most = std::max(profile_.shared_per_block, allowed + image->static_shared);
  if (request.dynamic_shared > profile_.shared_per_block_optin ||
      request.dynamic_shared + image->static_shared > std::min(most, profile_.shared_per_block_optin))
    return refuse(
        Status::invalid_value,
        fmt::format("{} launched with {} bytes of static and {} bytes of dynamic shared memory; at most {} together",
                    name, image->static_shared, request.dynamic_shared, most));
  const unsigned per_multiprocessor =
      std::max(1u, blocks_per_multiprocessor(attributes, threads, request.dynamic_shared));
  const unsigned resident = per_multiprocessor * profile_.multiprocessors;
  if (request.cooperative && grid.count() > resident)
    return refuse(Status::too_many_cooperative, fmt::format("{} launched cooperatively with {} blocks; {} fit at once",
                                                            name, grid.count(), resident));
  ready.image = image.get();
  ready.resident = resident;
  return result;
}

/// The grid of a launch that has been found possible. To be done with memory.free(grid.workspace).
void Device::set_up(const LaunchRequest& request, const Ready& ready, std::vector<std::byte>& parameters, Grid& g) {
  const Image* image = ready.image;
  parameters.resize(std::max<std::size_t>(image->parameter_bytes, request.parameters.size()));
  if (!request.parameters.empty()) std::memcpy(parameters.data(), request.parameters.data(), request.parameters.size());
  g.image = image;
  g.memory = &memory_;
  g.parameters = parameters;
  g.size = request.grid;
  g.block_size = request.block;
  g.dynamic_shared = request.dynamic_shared;
  g.stack_bytes = request.stack_bytes;
  if (request.cooperative) {
    const GridWorkspace workspace;
    g.workspace = memory_.allocate(sizeof workspace, "barrier of the grid");
    memory_.write(g.workspace, &workspace, sizeof workspace);
  }
  g.ranges.resize(image->ranges);
  g.print = &print;
  g.elements = elements;
  g.floats = floats;
  g.profile = &profile_;
  g.start_ns = timer_ns_ = std::max(timer_ns_, now_ns_);
}

bool Device::may_shuffle() const {
  return modules_.empty() || std::ranges::any_of(modules_, [](const auto& m) { return m->has_shuffles; });
}

namespace {

KernelInfo info_of(const LaunchRequest& request, const Image& image) {
  KernelInfo info{request.kernel.c_str(),
                  request.grid,
                  request.block,
                  image.static_shared + request.dynamic_shared,
                  &request.module->module,
                  image.shared,
                  {}};
  if (!info.shared.empty() && info.shared.back().offset == image.dynamic_offset)
    info.shared.back().size = request.dynamic_shared;
  return info;
}

}  // namespace

std::optional<Exploration> Device::explore(const LaunchRequest& request, const ExplorationLimits& bounds,
                                           const std::function<bool(const Execution&, const std::string& trail)>& visit,
                                           const ExplorationObservers& observers) {
  const Schedule before = std::exchange(schedule, {Schedule::Order::weak, 0, {}});
  Ready ready;
  const LaunchResult possible = prepare(request, ready);
  schedule = before;
  if (possible.status != LaunchResult::Status::ok) return std::nullopt;
  if (ready.image->separable) return Exploration{.executions = 1, .is_exhaustive = true, .why_not = {}};
  if (request.grid.count() > ready.resident)
    return Exploration{.why_not =
                           fmt::format("{} blocks, of which {} fit at once", request.grid.count(), ready.resident)};
  Grid g;
  std::vector<std::byte> parameters;
  set_up(request, ready, parameters, g);
  bool prints = false;
  const std::function<void(std::string_view)> silent = [&](std::string_view) { prints = true; };
  g.print = &silent;
  RunLimits limits;
  limits.max_warp_instructions = max_warp_instructions;
  limits.cancel = cancel;
  limits.resident_blocks = ready.resident;
  const auto named = [&](const std::string& trail) { return fmt::format("{}:{}", launches_ + 1, trail); };
  const KernelInfo info = info_of(request, *ready.image);
  const auto named_visit = [&](const Execution& execution) { return visit(execution, named(execution.trail.text())); };
  Exploration result = explore_grid(g, info, limits, bounds, named_visit, observers);
  result.prints = prints;
  for (BrokenAssumption& broken : result.broken) broken.trail = named(broken.trail);
  if (g.workspace) memory_.free(g.workspace);
  return result;
}

LaunchResult Device::launch(const LaunchRequest& request) {
  using Status = LaunchResult::Status;
  // A trail is that of one launch. The others run as if there were none.
  std::optional<Trail> trail;
  Schedule schedule = this->schedule;
  if (!schedule.trail.empty()) {
    const std::size_t colon = std::min(schedule.trail.find(':'), schedule.trail.size());
    if (schedule.trail.substr(0, colon) == std::to_string(launches_ + 1))
      trail = Trail::parse(std::string_view(schedule.trail).substr(std::min(colon + 1, schedule.trail.size())));
    else
      schedule = {};
  }
  Ready ready;
  const Schedule own = std::exchange(this->schedule, schedule);
  LaunchResult result = prepare(request, ready);
  this->schedule = own;
  if (result.status != Status::ok) return result;
  ++launches_;
  const Image* image = ready.image;
  const Dim3 grid = request.grid, block = request.block;
  std::vector<std::byte> parameters;
  Grid g;
  set_up(request, ready, parameters, g);
  std::vector<StaleRead> stale_reads;
  g.stale_reads = &stale_reads;
  KernelInfo info = info_of(request, *image);
  info.fast_paths = fast_paths;
  for (Observer* o : observers_) o->kernel_begin(info);
  g.set_observers(observers_);
  RunLimits limits;
  limits.max_warp_instructions = max_warp_instructions;
  limits.cancel = cancel;
  limits.host_waits = host_waits ? &host_waits : nullptr;
  limits.resident_blocks = ready.resident;
  std::optional<Playback> playback;
  std::vector<Observer*> with_playback = observers_;
  if (trail && grid.count() <= ready.resident) {
    playback.emplace(g, *trail, 0);
    with_playback.push_back(&*playback);
    g.set_observers(with_playback);
    limits.guide = &*playback;
  }
  const bool apart =
      ready.parts && image->affine_accesses && image->affine_accesses->blocks_are_apart({parameters, grid, block});
  if (ready.parts && (apart || fast_paths.speculative_blocks)) {
    if (team_threads_ != threads) team_ = std::make_unique<Team>(threads);
    team_threads_ = threads;
    Team::Result parallel = team_->run(g, schedule, limits, {least_parallel_ns, apart});
    result.fault = std::move(parallel.fault);
    parallel_rounds_.all += parallel.rounds;
    if (apart) parallel_rounds_.apart += parallel.rounds;
    parallel_rounds_.undone += parallel.has_failed;
    if (parallel.has_failed) request.module->inseparable.insert(request.kernel);
  } else {
    result.fault = run_grid(g, schedule, limits);
  }
  for (StaleRead& s : stale_reads)
    if (stale_reads_.size() < most_stale_reads) stale_reads_.push_back(std::move(s));
  g.stale_reads = nullptr;
  limits.guide = nullptr;
  if (playback && playback->has_lost_its_way()) {
    Fault& fault = result.fault.emplace();
    fault.kernel = ptx::source_name(request.kernel);
    fault.headline = "the execution that was asked for is not one of this launch";
    fault.advice = "explore it again: the program, or its input, has changed";
  }
  if (!observers_.empty()) {
    Replay replay(g, schedule, limits, result.fault);
    for (Observer* o : observers_) o->may_replay(replay);
  }
  if (g.workspace) memory_.free(g.workspace);
  for (Observer* o : observers_) o->kernel_end();
  result.warp_instructions = g.executed;
  now_ns_ += launch_ns + static_cast<double>(g.executed) / (warp_instructions_a_cycle * profile_.multiprocessors) /
                             (profile_.clock_khz * 1e-6);
  timer_ns_ += static_cast<double>(g.executed + g.slept);
  if (result.fault) {
    result.status = Status::fault;
    result.message = result.fault->headline;
  }
  return result;
}

}  // namespace scanlab::vgpu
