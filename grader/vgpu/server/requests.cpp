#include "vgpu/server/requests.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace scanlab::server {

using vgpu::Address;
using vgpu::Fault;
using wire::Op;
using wire::Reply;
using wire::Request;

namespace {

/// What a place in memory, with a value or another place, can carry to the device: bytes.
constexpr std::uint64_t bytes_of_a_choice = 8;

/// What a GPU of the profile's kind would take for a copy; only ratios matter, but they should be sensible.
constexpr double event_ns = 500, copy_latency_ns = 6000, host_bytes_per_ns = 20, device_latency_ns = 2500;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
}  // namespace

Answer::~Answer() {
  if (owns_fd) close(send_fd);
}

Requests::Requests(vgpu::Device& device, SessionOptions options)
    : device_(device), options_(std::move(options)), staging_(options_.staging_bytes), shares_(device.memory()) {
  previous_print_ = std::move(device_.print);
  device_.print = [this](std::string_view text) { keep_output(text); };
}

Requests::~Requests() {
  reset();
  device_.print = std::move(previous_print_);
}

void Requests::keep_output(std::string_view text) {
  traffic.output_bytes += text.size();
  if (options_.on_output) return options_.on_output(text);
  const std::size_t room = options_.output_bytes - std::min(options_.output_bytes, output_.size() - output_read_);
  const std::size_t kept = std::min(room, text.size());
  output_.append(text.substr(0, kept));
  traffic.output_dropped += text.size() - kept;
}

void Requests::note_fault(Fault fault) {
  if (options_.on_fault) options_.on_fault(fault);
  if (faults.size() < options_.max_faults) faults.push_back(std::move(fault));
}

void Requests::report_reply() {
  if (options_.on_reply) options_.on_reply();
}

void Requests::reset_traffic() {
  traffic = {};
  traffic.shared = shared_.size();
  last_launches_.clear();
}

void Requests::reset() {
  shares_.clear();
  for (const auto& [base, bytes] : allocations_) device_.memory().free(base);
  device_.memory().reset_heap();
  allocations_.clear();
  allocated_bytes_ = 0;
  shared_.clear();
  kernels_.clear();
  for (const auto& [id, module] : modules_) device_.unload(module);
  modules_.clear();
  module_bytes_.clear();
  modules_bytes_ = 0;
  without_ptx_.clear();
  events_.clear();
  pending_error_ = late_error_ = 0;
  surfaced_ = false;
}

vgpu::LoadedModule* Requests::module_of(std::uint64_t id) const {
  const auto found = modules_.find(id);
  if (found == modules_.end()) throw ProtocolError("unknown module");
  return found->second;
}

void Requests::check_staging(const Request& request) const {
  if (request.bytes > staging_.size() || request.offset > staging_.size() - request.bytes)
    throw ProtocolError("a copy lies outside the staging buffer");
}

void Requests::hello(const Request& request, Answer& answer) {
  if (greeted_ || request.value != wire::version) throw ProtocolError("wrong version of the protocol");
  greeted_ = true;
  const vgpu::DeviceProfile& profile = device_.profile();
  wire::DeviceFacts facts;
  std::strncpy(facts.name, profile.name.c_str(), sizeof facts.name - 1);
  facts.compute_major = profile.compute_major;
  facts.compute_minor = profile.compute_minor;
  facts.multiprocessors = profile.multiprocessors;
  facts.max_blocks_per_multiprocessor = profile.max_blocks_per_multiprocessor;
  facts.max_threads_per_multiprocessor = profile.max_threads_per_multiprocessor;
  facts.max_threads_per_block = profile.max_threads_per_block;
  for (int axis = 0; axis < 3; ++axis) {
    facts.max_block[axis] = profile.max_block[axis];
    facts.max_grid[axis] = profile.max_grid[axis];
  }
  facts.registers_per_block = profile.registers_per_block;
  facts.clock_khz = profile.clock_khz;
  facts.memory_clock_khz = profile.memory_clock_khz;
  facts.memory_bus_bits = profile.memory_bus_bits;
  facts.shared_per_block = profile.shared_per_block;
  facts.shared_per_block_optin = profile.shared_per_block_optin;
  facts.shared_per_multiprocessor = profile.shared_per_multiprocessor;
  facts.memory = device_.memory().capacity();
  facts.constant_memory = profile.constant_memory;
  facts.l2_bytes = profile.l2_bytes;
  answer.append(facts);
  answer.reply.bytes = staging_.size();
  answer.send_fd = staging_.fd();
}

std::int32_t Requests::allocate(const Request& request, Answer& answer) {
  if (allocations_.size() >= options_.max_allocations || request.bytes > device_.memory().capacity() ||
      request.bytes > options_.max_allocated_bytes - allocated_bytes_)
    return wire::error::memory_allocation;
  const auto label = [&](const char* call) {
    return fmt::format("{} #{} ({} bytes)", call, next_allocation_, request.bytes);
  };
  Address base = 0;
  switch (static_cast<wire::Allocate>(request.value)) {
    case wire::Allocate::ordinary:
      base = device_.memory().allocate(request.bytes, label("cudaMalloc"));
      break;
    case wire::Allocate::managed:
      base = device_.memory().allocate(request.bytes, label("cudaMallocManaged"));
      break;
    case wire::Allocate::pinned:
      base = device_.memory().allocate_on_host(request.bytes, label("pinned host memory"));
      break;
    case wire::Allocate::registered:
      base = device_.memory().allocate_on_host(request.bytes, label("registered host memory"), request.offset);
      break;
    default:
      throw ProtocolError("an unknown kind of memory");
  }
  if (base == 0) return wire::error::memory_allocation;
  traffic.flow.leaves(DataFlow::Out::addresses, sizeof base);
  ++next_allocation_;
  allocations_.emplace(base, request.bytes);
  allocated_bytes_ += request.bytes;
  ++traffic.allocations;
  traffic.bytes_allocated += request.bytes;
  answer.reply.address = base;
  return wire::error::success;
}

std::vector<std::string> Requests::live_allocations() const {
  std::vector<std::string> labels;
  for (const auto& [base, bytes] : allocations_) {
    const vgpu::Allocation* found = device_.memory().find(base, 0);
    if (found != nullptr && found->label.starts_with("cudaMalloc")) labels.push_back(found->label);
  }
  return labels;
}

std::int32_t Requests::share(const Request& request, std::string_view name, Answer& answer) {
  answer.reply.address = request.to;
  if (name.empty()) {
    // Only what the program has allocated: other memory of the device is the judge's.
    const auto found = allocations_.find(request.to);
    if (found == allocations_.end()) return wire::error::invalid_value;
    answer.reply.bytes = found->second;
  } else {
    const auto variable = device_.symbol(module_of(request.id), name);
    if (!variable) return wire::error::invalid_symbol;
    answer.reply.address = variable->address;
    answer.reply.bytes = variable->size;
  }
  if (!options_.counts_data_flow)
    answer.send_fd = device_.memory().share(answer.reply.address);
  else if (answer.reply.bytes <= options_.max_shared_bytes - shares_.bytes())
    answer.send_fd = shares_.add(answer.reply.address);
  answer.owns_fd = answer.send_fd >= 0;
  if (!answer.owns_fd) return wire::error::memory_allocation;
  shared_.insert(answer.reply.address);
  ++traffic.shared;
  traffic.flow.leaves(DataFlow::Out::shares, shares_.give());
  return wire::error::success;
}

std::int32_t Requests::release(const Request& request) {
  const auto found = allocations_.find(request.to);
  if (found == allocations_.end()) return wire::error::invalid_value;
  allocated_bytes_ -= found->second;
  allocations_.erase(found);
  shared_.erase(request.to);
  shares_.remove(request.to);
  ++traffic.releases;
  return device_.memory().free(request.to) ? wire::error::success : wire::error::invalid_value;
}

bool Requests::goes_on(Op op, Address start, std::uint64_t bytes) {
  const bool continued = last_copy_.may_continue && last_copy_.op == op && last_copy_.next == start;
  last_copy_ = {op, start + bytes, bytes == staging_.size()};
  return continued;
}

std::int32_t Requests::copy(const Request& request) {
  vgpu::Memory& memory = device_.memory();
  const std::uint64_t bytes = request.bytes;
  bool done = false;
  if (request.op == Op::copy_on_device) {
    done = memory.copy(request.to, request.from, bytes);
    if (!done) return wire::error::invalid_value;
    ++traffic.copies_on_device;
    traffic.bytes_on_device += bytes;
    traffic.flow.comes(DataFlow::In::device_copies, bytes_of_a_choice);
    advance_device_side(2 * bytes);
    return wire::error::success;
  }
  check_staging(request);
  const bool to_device = request.op == Op::copy_to_device;
  const Address start = to_device ? request.to : request.from;
  std::byte* staged = staging_.data() + request.offset;
  done = to_device ? memory.write(start, staged, bytes) : memory.read(staged, start, bytes);
  if (!done) return wire::error::invalid_value;
  const bool continued = goes_on(request.op, start, bytes);
  (to_device ? traffic.copies_to_device : traffic.copies_to_host) += continued ? 0 : 1;
  (to_device ? traffic.bytes_to_device : traffic.bytes_to_host) += bytes;
  if (to_device) {
    traffic.flow.comes(DataFlow::In::copies, bytes);
  } else {
    traffic.flow.leaves(DataFlow::Out::copies, bytes);
    if (request.to != 0) shares_.expect(request.to, start, bytes);
  }
  device_.advance_ns((continued ? 0 : copy_latency_ns) + static_cast<double>(bytes) / host_bytes_per_ns);
  return wire::error::success;
}

std::int32_t Requests::fill(const Request& request) {
  if (!device_.memory().fill(request.to, static_cast<std::byte>(request.value), request.bytes))
    return wire::error::invalid_value;
  ++traffic.fills;
  traffic.bytes_filled += request.bytes;
  traffic.flow.comes(DataFlow::In::sets, bytes_of_a_choice);
  advance_device_side(request.bytes);
  return wire::error::success;
}

void Requests::advance_device_side(std::uint64_t bytes) {
  const vgpu::DeviceProfile& profile = device_.profile();
  const double bytes_per_ns =
      std::max(1.0, 2.0 * profile.memory_clock_khz * 1e-6 * (static_cast<double>(profile.memory_bus_bits) / 8));
  device_.advance_ns(device_latency_ns + static_cast<double>(bytes) / bytes_per_ns);
}

bool Requests::answered_by_fault(const Request& request, Answer& answer) {
  if (pending_error_ == 0) return false;
  switch (request.op) {
    case Op::hello:
    case Op::load_module:
    case Op::unload_module:
    case Op::find_kernel:
    case Op::find_symbol:
    case Op::read_output:
    case Op::memory_info:
    case Op::event_time:
    case Op::drop_event:
    case Op::check_launch:
    case Op::occupancy:
    case Op::reset:
    case Op::note_error_read:
    case Op::wait_event:
    case Op::note_host_wait:
    case Op::drop_stream:
      return false;
    default:
      break;
  }
  if (request.flags & wire::flag_blocking) surfaced_ = true;
  if (surfaced_) {
    answer.reply.error = pending_error_;
    answer.reply.flags |= wire::flag_sticky;
  }
  return true;
}

void Requests::handle(const Request& request, std::span<const std::byte> payload, Answer& answer) {
  if (request.op != Op::hello && !greeted_) throw ProtocolError("no greeting");
  if (request.op != Op::copy_to_device && request.op != Op::copy_to_host) last_copy_.may_continue = false;
  if (answered_by_fault(request, answer)) return;
  if (options_.work) report_before(request);
  const bool uses_memory = request.op == Op::launch || request.op == Op::fill || request.op == Op::copy_to_device ||
                           request.op == Op::copy_to_host || request.op == Op::copy_on_device;
  if (uses_memory) traffic.flow.comes(DataFlow::In::shares, shares_.take());
  carry_out(request, payload, answer);
  if (uses_memory) {
    const std::uint64_t given = shares_.give();
    // What the host has just put there itself is not new to it.
    if (request.op == Op::launch || request.op == Op::copy_on_device) traffic.flow.leaves(DataFlow::Out::shares, given);
  }
  if (options_.work) report_after(request, answer.reply);
}

void Requests::carry_out(const Request& request, std::span<const std::byte> payload, Answer& answer) {
  Reply& reply = answer.reply;
  switch (request.op) {
    case Op::hello:
      hello(request, answer);
      break;
    case Op::load_module:
      reply.error = load_module(payload, answer);
      break;
    case Op::unload_module: {
      device_.unload(module_of(request.id));
      shares_.drop_freed();
      modules_.erase(request.id);
      modules_bytes_ -= module_bytes_.extract(request.id).mapped();
      without_ptx_.erase(request.id);
      std::erase_if(kernels_, [&](const auto& entry) { return entry.second.module == request.id; });
      break;
    }
    case Op::find_kernel:
      reply.error = find_kernel(request, text_of(payload), answer);
      break;
    case Op::find_symbol: {
      const auto symbol = device_.symbol(module_of(request.id), text_of(payload));
      reply.error = symbol ? wire::error::success : wire::error::invalid_symbol;
      if (symbol) {
        reply.address = symbol->address;
        reply.bytes = symbol->size;
      }
      break;
    }
    case Op::allocate:
      reply.error = allocate(request, answer);
      break;
    case Op::share:
      reply.error = share(request, text_of(payload), answer);
      break;
    case Op::release:
      reply.error = release(request);
      break;
    case Op::check_range:
      if (const vgpu::Allocation* found = device_.memory().find(request.to, request.bytes); !found || found->on_heap)
        reply.error = wire::error::invalid_value;
      break;
    case Op::copy_to_device:
    case Op::copy_to_host:
    case Op::copy_on_device:
      reply.error = copy(request);
      break;
    case Op::fill:
      reply.error = fill(request);
      break;
    case Op::check_launch:
      reply.error = check_launch(request);
      break;
    case Op::launch:
      reply.error = launch(request, payload);
      break;
    case Op::synchronise:
      ++traffic.synchronisations;
      reply.error = std::exchange(late_error_, 0);
      break;
    case Op::read_output: {
      reply.bytes = std::min(staging_.size(), output_.size() - output_read_);
      std::memcpy(staging_.data(), output_.data() + output_read_, reply.bytes);
      output_read_ += reply.bytes;
      if (output_read_ == output_.size()) {
        output_.clear();
        output_read_ = 0;
      }
      break;
    }
    case Op::memory_info:
      reply.bytes = device_.memory().bytes_free();
      reply.value = device_.memory().capacity();
      break;
    case Op::record_event:
      if (events_.size() >= options_.max_events && !events_.contains(request.id)) {
        reply.error = wire::error::memory_allocation;
      } else {
        device_.advance_ns(event_ns);  // so that of two events the later one has the later time
        events_[request.id] = device_.now_ns();
      }
      break;
    case Op::event_time: {
      const auto found = events_.find(request.id);
      if (found == events_.end()) {
        reply.error = wire::error::invalid_value;
      } else {
        reply.time = found->second;
        traffic.flow.leaves(DataFlow::Out::times, sizeof reply.time);
      }
      break;
    }
    case Op::drop_event:
      events_.erase(request.id);
      break;
    case Op::occupancy: {
      const auto found = kernels_.find(request.id);
      if (found == kernels_.end()) throw ProtocolError("unknown kernel");
      if (request.bytes == 0 || request.bytes > (1u << 20)) {
        reply.error = wire::error::invalid_value;
        break;
      }
      reply.value = device_.blocks_per_multiprocessor(found->second.attributes, request.bytes, request.dynamic_shared);
      break;
    }
    case Op::reset:
      reset();
      break;
    case Op::note_error_read:
      traffic.unread_refusals = 0;
      break;
    case Op::wait_event:
    case Op::note_host_wait:
    case Op::drop_stream:
      break;  // all work runs in the order in which it was submitted
    case Op::set_heap_limit:
      if (request.bytes > options_.max_allocated_bytes || !device_.memory().set_heap_limit(request.bytes))
        reply.error = wire::error::invalid_value;
      break;
    default:
      throw ProtocolError("unknown request");
  }
}

void Requests::answer(const Request& request, std::span<const std::byte> payload, Answer& answer) {
  try {
    handle(request, payload, answer);
  } catch (const ProtocolError&) {
    throw;
  } catch (const std::exception& problem) {
    if (internal_error.empty()) internal_error = problem.what();
    answer.reply = {};
    answer.payload.clear();
    answer.reply.error = pending_error_ = wire::error::unknown;
    answer.reply.flags |= wire::flag_sticky;
    surfaced_ = true;
  }
  answer.reply.output_bytes = unread_output_bytes();
  if ((request.flags & wire::flag_quiet) && answer.reply.error != 0 && pending_error_ == 0)
    late_error_ = answer.reply.error;
}

std::size_t Requests::payload_limit(Op op) const {
  switch (op) {
    case Op::load_module:
      return options_.max_module_bytes;
    case Op::find_kernel:
    case Op::find_symbol:
    case Op::share:
      return 64 << 10;
    case Op::launch:
      return 32 << 10;
    default:
      return 0;
  }
}

}  // namespace scanlab::server
