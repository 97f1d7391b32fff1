// Requests about code: modules, kernels and launches.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "vgpu/ptx/fatbin.hpp"
#include "vgpu/ptx/link.hpp"
#include "vgpu/server/requests.hpp"

namespace scanlab::server {

using vgpu::Fault;
using vgpu::LaunchResult;
using wire::Request;

namespace {

/// The newest PTX that a device of compute capability 9.0 may run.
constexpr unsigned newest_sm = 90;

/// By Fault::Kind; the error of a refused launch is its own.
constexpr std::int32_t errors_of_faults[] = {
    wire::error::illegal_address, wire::error::misaligned_address, wire::error::launch_failure,
    wire::error::assertion,       wire::error::invalid_ptx,        wire::error::invalid_ptx,
    wire::error::launch_failure,  wire::error::launch_failure,     wire::error::launch_timeout};

/// By LaunchResult::Status.
constexpr std::int32_t errors_of_launches[] = {wire::error::success,
                                               wire::error::invalid_configuration,
                                               wire::error::invalid_value,
                                               wire::error::launch_out_of_resources,
                                               wire::error::cooperative_launch_too_large,
                                               wire::error::invalid_device_function,
                                               wire::error::launch_failure};

/// The newest PTX that the device may run. Throws ptx::FatbinError.
ptx::PtxImage choose_image(std::vector<ptx::PtxImage> images) {
  ptx::PtxImage* chosen = nullptr;
  for (ptx::PtxImage& image : images)
    if (image.sm <= newest_sm && (chosen == nullptr || image.sm > chosen->sm)) chosen = &image;
  if (chosen == nullptr) throw ptx::FatbinError("it holds no PTX for compute capability 9.0 or lower");
  return std::move(*chosen);
}

}  // namespace

void Requests::note_refusal(const std::string& kernel, std::string why) {
  Fault refusal;
  refusal.kind = Fault::Kind::refused;
  refusal.kernel = ptx::source_name(kernel);
  const bool is_shared = why.find(" shared memory") != std::string::npos;
  const bool has_none = why.find(" with 0 ") != std::string::npos;
  refusal.headline = std::move(why);
  refusal.advice =
      is_shared
          ? "the third number between <<< and >>> counts bytes; where a block needs more, allow it before the launch: "
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)"
      : has_none ? "where nothing is to be done, with n = 0 or no section left, launch nothing; where there "
                   "is, round the number of blocks up"
                 : "look at the numbers between <<< and >>>";
  note_fault(refusal);
}

std::int32_t Requests::refuse_module(std::int32_t error, std::string headline, std::string advice) {
  Fault fault;
  fault.kind = Fault::Kind::unsupported;
  fault.headline = std::move(headline);
  fault.advice = std::move(advice);
  note_fault(fault);
  return error;
}

std::int32_t Requests::refuse_without_ptx(const std::string& why) {
  return refuse_module(wire::error::no_kernel_image, "the program's device code: " + why,
                       "compile with -gencode arch=compute_80,code=compute_80 --no-compress");
}

std::int32_t Requests::load_module(const Request&, Payload fatbin, Answer& answer) {
  if (modules_.size() >= options_.max_modules || fatbin.size() > options_.max_modules_bytes - modules_bytes_)
    return wire::error::memory_allocation;
  std::vector<ptx::PtxImage> chosen;  // one for each of the program's files
  std::string without_ptx;
  try {
    for (const std::span<const std::byte> file : ptx::split_fatbins(fatbin)) {
      try {
        chosen.push_back(choose_image(ptx::read_fatbin(file)));
      } catch (const ptx::FatbinError& problem) {
        if (without_ptx.empty()) without_ptx = problem.what();
      }
    }
    // NVIDIA's device runtime, which nvcc -rdc=true adds to every program, has none: what it lacks shows when it is
    // used.
    if (chosen.empty()) throw ptx::FatbinError(without_ptx);
  } catch (const ptx::FatbinError& problem) {
    return refuse_without_ptx(problem.what());
  }
  try {
    std::vector<std::string_view> texts;
    for (const ptx::PtxImage& image : chosen) texts.push_back(image.text);
    vgpu::LoadedModule* module = device_.load(texts);
    answer.reply.id = next_id_++;
    modules_.emplace(answer.reply.id, module);
    module_bytes_.emplace(answer.reply.id, fatbin.size());
    modules_bytes_ += fatbin.size();
    // The program's own, which was there before the data: it is loaded with the first launch.
    if (std::exchange(has_loaded_, true)) traffic.flow.comes(DataFlow::In::code, fatbin.size());
    if (!without_ptx.empty()) without_ptx_.emplace(answer.reply.id, std::move(without_ptx));
    return wire::error::success;
  } catch (const ptx::LinkError& problem) {
    return refuse_module(wire::error::invalid_ptx,
                         std::string("the program's files do not fit together: ") + problem.what(), "");
  } catch (const ptx::ParseError& problem) {
    return refuse_module(
        wire::error::invalid_ptx,
        "the program's PTX cannot be read: line " + std::to_string(problem.ptx_line) + ": " + problem.what(), "");
  } catch (const vgpu::FaultException& problem) {
    note_fault(problem.fault);
    return wire::error::invalid_ptx;
  }
}

std::int32_t Requests::find_kernel(const Request& request, Payload payload, Answer& answer) {
  const std::string_view name = text_of(payload);
  const auto attributes = device_.attributes(module_of(request.id), name);
  if (!attributes) {
    const auto part = without_ptx_.extract(request.id);  // reported once
    return part.empty() ? wire::error::invalid_device_function : refuse_without_ptx(part.mapped());
  }
  if (kernels_.size() >= options_.max_kernels) return wire::error::memory_allocation;
  wire::KernelFacts facts;
  facts.static_shared = attributes->static_shared;
  facts.local_bytes = attributes->local_bytes;
  facts.constant_bytes = attributes->constant_bytes;
  facts.max_threads = attributes->max_threads;
  facts.registers = attributes->registers;
  facts.parameter_bytes = attributes->parameter_bytes;
  const std::size_t count = std::min(attributes->parameter_offsets.size(), attributes->parameter_sizes.size());
  facts.parameter_count = static_cast<std::uint32_t>(count);
  answer.append(facts);
  for (std::size_t i = 0; i < count; ++i)
    answer.append(wire::ParameterPlace{attributes->parameter_offsets[i], attributes->parameter_sizes[i]});
  answer.reply.id = next_id_++;
  kernels_.emplace(answer.reply.id, Kernel{request.id, std::string(name), *attributes});
  return wire::error::success;
}

vgpu::LaunchRequest Requests::launch_request(const Request& request) const {
  const Kernel& kernel = kernel_of(request.id);
  vgpu::LaunchRequest launch;
  launch.module = module_of(kernel.module);
  launch.kernel = kernel.name;
  launch.grid = {request.grid[0], request.grid[1], request.grid[2]};
  launch.block = {request.block[0], request.block[1], request.block[2]};
  launch.dynamic_shared = request.dynamic_shared;
  launch.max_dynamic_shared = request.max_dynamic_shared;
  launch.stack_bytes = request.bytes;
  launch.cooperative = (request.flags & wire::flag_cooperative) != 0;
  return launch;
}

std::int32_t Requests::refuse_launch(LaunchResult result, const std::string& kernel) {
  if (result.status != LaunchResult::Status::fault) {
    note_refusal(kernel, std::move(result.message));
    return errors_of_launches[static_cast<std::size_t>(result.status)];
  }
  // The code cannot be run: the launch itself fails, as when a GPU's JIT gives up.
  note_fault(result.fault.value());
  return wire::error::invalid_ptx;
}

std::int32_t Requests::check_launch(const Request& request, Payload, Answer&) {
  const vgpu::LaunchRequest launch = launch_request(request);
  LaunchResult result = device_.check(launch);
  return result.status == LaunchResult::Status::ok ? wire::error::success
                                                   : refuse_launch(std::move(result), launch.kernel);
}

std::uint64_t Requests::news_of(const Request& request, Payload parameters) {
  constexpr std::size_t word = 4, most_kernels = 64;
  const std::uint64_t shape[] = {request.grid[0],  request.grid[1],  request.grid[2],       request.block[0],
                                 request.block[1], request.block[2], request.dynamic_shared};
  std::vector<std::byte> now(sizeof shape + (parameters.size() + word - 1) / word * word);
  std::memcpy(now.data(), shape, sizeof shape);
  if (!parameters.empty()) std::memcpy(now.data() + sizeof shape, parameters.data(), parameters.size());
  const bool is_kept = last_launches_.contains(request.id) || last_launches_.size() < most_kernels;
  std::vector<std::byte> before = is_kept ? std::move(last_launches_[request.id]) : std::vector<std::byte>();
  if (before.empty()) {
    constexpr std::uint64_t one_thread[] = {1, 1, 1, 1, 1, 1, 0};
    static_assert(sizeof one_thread == sizeof shape);
    before.resize(now.size());
    std::memcpy(before.data(), one_thread, sizeof one_thread);
  }
  std::uint64_t bytes = 1;
  for (std::size_t at = 0; at < now.size(); at += word)
    if (std::memcmp(now.data() + at, before.data() + at, word) != 0) bytes += word;
  if (is_kept) last_launches_[request.id] = std::move(now);
  return bytes;
}

std::int32_t Requests::launch(const Request& request, Payload parameters, Answer&) {
  vgpu::LaunchRequest launch = launch_request(request);
  if (parameters.size() != kernels_.at(request.id).attributes.parameter_bytes)
    throw ProtocolError("a launch whose parameters have the wrong size");
  launch.parameters = parameters;
  if (options_.before_launch) options_.before_launch(launch);
  LaunchResult result = device_.launch(launch);
  const bool is_loaded =
      !result.fault || (result.fault->kind != Fault::Kind::unsupported && result.fault->kind != Fault::Kind::undefined);
  if (result.status != LaunchResult::Status::ok && (result.status != LaunchResult::Status::fault || !is_loaded))
    return refuse_launch(std::move(result), launch.kernel);
  traffic.flow.launched();
  if (options_.counts_data_flow) traffic.flow.comes(DataFlow::In::parameters, news_of(request, parameters));
  if (result.status == LaunchResult::Status::fault) {
    Fault fault = result.fault.value_or(Fault{});
    if (!result.fault) fault.headline = result.message;
    pending_error_ = errors_of_faults[static_cast<std::size_t>(fault.kind)];
    note_fault(fault);
  }
  return wire::error::success;
}

}  // namespace scanlab::server
