#include "vgpu/server/requests.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vgpu/checks/cost/access_cost.hpp"

namespace scanlab::server {

namespace {
/// Elements are made of such words.
constexpr std::uint64_t word_bytes = 4;
}  // namespace

using vgpu::Address;
using vgpu::Fault;
using wire::Op;
using wire::Request;

namespace {

/// What a place in memory, with a value or another place, can carry to the device: bytes.
constexpr std::uint64_t bytes_of_a_choice = 8;

/// What a GPU of the profile's kind would take for a copy; only ratios matter, but they should be sensible.
constexpr double event_ns = 500, copy_latency_ns = 6000, host_bytes_per_ns = 20, device_latency_ns = 2500;

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
  traffic.output += text.size();
  if (options_.on_output) return options_.on_output(text);
  const std::size_t room = options_.output_bytes - std::min(options_.output_bytes, output_.size() - output_read_);
  const std::size_t kept = std::min(room, text.size());
  output_.append(text.substr(0, kept));
  traffic.output_dropped += text.size() - kept;
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
  pool_.clear();
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

const Requests::Kernel& Requests::kernel_of(std::uint64_t id) const {
  const auto found = kernels_.find(id);
  if (found == kernels_.end()) throw ProtocolError("unknown kernel");
  return found->second;
}

std::int32_t Requests::hello(const Request& request, Payload, Answer& answer) {
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
  answer.reply.value = options_.reports_host;
  answer.send_fd = staging_.fd();
  return wire::error::success;
}

std::int32_t Requests::allocate(const Request& request, Payload, Answer& answer) {
  if (allocations_.size() >= options_.max_allocations || request.bytes > device_.memory().capacity() ||
      request.bytes > options_.max_allocated_bytes - allocated_bytes_) {
    if (options_.on_no_memory) options_.on_no_memory(request.bytes);
    return wire::error::memory_allocation;
  }
  constexpr const char* calls[] = {"cudaMalloc", "cudaMallocManaged", "pinned host memory", "registered host memory"};
  static_assert(std::size(calls) == wire::allocate_kinds);
  if (request.value >= std::size(calls)) throw ProtocolError("an unknown kind of memory");
  const auto kind = static_cast<wire::Allocate>(request.value);
  const std::uint64_t offset = kind == wire::Allocate::registered ? request.offset : 0;
  std::string label =
      fmt::format("{} #{} ({} bytes)", calls[request.value], next_allocation_[request.value], request.bytes);
  const bool is_on_host = kind == wire::Allocate::pinned || kind == wire::Allocate::registered;
  const Address base = is_on_host ? device_.memory().allocate_on_host(request.bytes, std::move(label), offset)
                                  : device_.memory().allocate(request.bytes, std::move(label));
  if (base == 0) {
    if (options_.on_no_memory) options_.on_no_memory(request.bytes);
    return wire::error::memory_allocation;
  }
  // On a GPU its pages come from the system when they are first used.
  if (kind == wire::Allocate::managed) std::memset(device_.memory().host(base), 0, request.bytes);
  traffic.flow.leaves(DataFlow::Out::addresses, sizeof base);
  ++next_allocation_[request.value];
  allocations_.emplace(base, request.bytes);
  if (request.flags & wire::flag_stream_ordered) pool_.insert(base);
  allocated_bytes_ += request.bytes;
  ++traffic.allocations;
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

std::int32_t Requests::share(const Request& request, Payload name, Answer& answer) {
  answer.reply.address = request.to;
  if (name.empty()) {
    // Only what the program has allocated: other memory of the device is the judge's.
    const auto found = allocations_.find(request.to);
    if (found == allocations_.end()) return wire::error::invalid_value;
    answer.reply.bytes = found->second;
  } else {
    const std::int32_t error = find_symbol(request, name, answer);
    if (error != wire::error::success) return error;
  }
  if (!options_.counts_data_flow)
    answer.send_fd = device_.memory().share(answer.reply.address);
  else if (answer.reply.bytes <= options_.max_shared_bytes - shares_.bytes())
    answer.send_fd = shares_.add(answer.reply.address);
  answer.owns_fd = answer.send_fd >= 0;
  if (!answer.owns_fd) return wire::error::memory_allocation;
  shared_.insert(answer.reply.address);
  ++traffic.shared;
  traffic.flow.leaves(DataFlow::Out::shares, shares_.give(options_.on_leaving));
  return wire::error::success;
}

std::int32_t Requests::release(const Request& request, Payload, Answer&) {
  const auto found = allocations_.find(request.to);
  if (found == allocations_.end()) return wire::error::invalid_value;
  allocated_bytes_ -= found->second;
  allocations_.erase(found);
  pool_.erase(request.to);
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

void Requests::report_words(Address start, std::uint64_t bytes) {
  // A program may name any number of bytes.
  if (!options_.on_leaving || bytes == 0 || device_.memory().find(start, bytes) == nullptr) return;
  const Address begin = start / word_bytes * word_bytes,
                end = (start + bytes + word_bytes - 1) / word_bytes * word_bytes;
  std::vector<std::byte> words(end - begin);
  if (!device_.memory().read(words.data(), begin, words.size()) &&
      !device_.memory().read(words.data(), begin, start + bytes - begin))  // the array ends within a word
    return;
  options_.on_leaving(words);
}

void Requests::report_ends(Address start, std::uint64_t bytes) {
  if (start % word_bytes != 0) report_words(start, 1);
  if ((start + bytes) % word_bytes != 0 && bytes > 0) report_words(start + bytes - 1, 1);
}

/// Sectors of memory that a range touches.
static std::uint64_t sectors_of(Address start, std::uint64_t bytes) {
  return bytes == 0 ? 0 : (start + bytes - 1) / vgpu::sector_bytes - start / vgpu::sector_bytes + 1;
}

std::int32_t Requests::copy_on_device(const Request& request, Payload, Answer&) {
  if ((request.to | request.from | request.bytes) % word_bytes != 0) {
    report_words(request.from, request.bytes);
    report_ends(request.to, request.bytes);
  }
  if (!device_.memory().copy(request.to, request.from, request.bytes)) return wire::error::invalid_value;
  if (request.flags & wire::flag_misnamed && traffic.misnamed_copies++ == 0) traffic.misnamed_at = call_site_;
  const Address apart = std::max(request.to, request.from) - std::min(request.to, request.from);
  if (apart != 0 && apart < request.bytes && traffic.overlapping_copies++ == 0) traffic.overlapping_at = call_site_;
  traffic.bytes_on_device += 2 * request.bytes;
  traffic.sectors_on_device += sectors_of(request.from, request.bytes) + sectors_of(request.to, request.bytes);
  traffic.flow.comes(DataFlow::In::device_copies, bytes_of_a_choice);
  advance_device_side(2 * request.bytes);
  return wire::error::success;
}

std::int32_t Requests::copy(const Request& request, Payload, Answer&) {
  const std::uint64_t bytes = request.bytes;
  if (bytes > staging_.size() || request.offset > staging_.size() - bytes)
    throw ProtocolError("a copy lies outside the staging buffer");
  const bool to_device = request.op == Op::copy_to_device;
  const Address start = to_device ? request.to : request.from;
  std::byte* staged = staging_.data() + request.offset;
  vgpu::Memory& memory = device_.memory();
  if (to_device) report_ends(start, bytes);
  if (!(to_device ? memory.write(start, staged, bytes) : memory.read(staged, start, bytes)))
    return wire::error::invalid_value;
  if (!to_device) report_words(start, bytes);
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

std::int32_t Requests::fill(const Request& request, Payload, Answer&) {
  report_ends(request.to, request.bytes);
  if (!device_.memory().fill(request.to, static_cast<std::byte>(request.value), request.bytes))
    return wire::error::invalid_value;
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

std::int32_t Requests::unload_module(const Request& request, Payload, Answer&) {
  device_.unload(module_of(request.id));
  shares_.drop_freed();
  modules_.erase(request.id);
  modules_bytes_ -= module_bytes_.extract(request.id).mapped();
  without_ptx_.erase(request.id);
  std::erase_if(kernels_, [&](const auto& entry) { return entry.second.module == request.id; });
  return wire::error::success;
}

std::int32_t Requests::find_symbol(const Request& request, Payload name, Answer& answer) {
  const auto symbol = device_.symbol(module_of(request.id), text_of(name));
  if (!symbol) return wire::error::invalid_symbol;
  answer.reply.address = symbol->address;
  answer.reply.bytes = symbol->size;
  return wire::error::success;
}

std::int32_t Requests::check_range(const Request& request, Payload, Answer&) {
  const vgpu::Allocation* found = device_.memory().find(request.to, request.bytes);
  return found && !found->on_heap ? wire::error::success : wire::error::invalid_value;
}

std::int32_t Requests::synchronise(const Request&, Payload, Answer&) {
  return std::exchange(late_error_, 0);
}

std::int32_t Requests::read_output(const Request&, Payload, Answer& answer) {
  answer.reply.bytes = std::min(staging_.size(), output_.size() - output_read_);
  std::memcpy(staging_.data(), output_.data() + output_read_, answer.reply.bytes);
  output_read_ += answer.reply.bytes;
  if (output_read_ == output_.size()) {
    output_.clear();
    output_read_ = 0;
  }
  return wire::error::success;
}

std::int32_t Requests::memory_info(const Request&, Payload, Answer& answer) {
  answer.reply.bytes = device_.memory().bytes_free();
  answer.reply.value = device_.memory().capacity();
  return wire::error::success;
}

std::int32_t Requests::record_event(const Request& request, Payload, Answer&) {
  if (events_.size() >= options_.max_events && !events_.contains(request.id)) return wire::error::memory_allocation;
  device_.advance_ns(event_ns);  // so that of two events the later one has the later time
  events_[request.id] = device_.now_ns();
  return wire::error::success;
}

std::int32_t Requests::event_time(const Request& request, Payload, Answer& answer) {
  const auto found = events_.find(request.id);
  if (found == events_.end()) return wire::error::invalid_value;
  answer.reply.time = found->second;
  traffic.flow.leaves(DataFlow::Out::times, sizeof answer.reply.time);
  return wire::error::success;
}

std::int32_t Requests::drop_event(const Request& request, Payload, Answer&) {
  events_.erase(request.id);
  return wire::error::success;
}

std::int32_t Requests::occupancy(const Request& request, Payload, Answer& answer) {
  const Kernel& kernel = kernel_of(request.id);
  if (request.bytes == 0 || request.bytes > (1u << 20)) return wire::error::invalid_value;
  answer.reply.value = device_.blocks_per_multiprocessor(kernel.attributes, request.bytes, request.dynamic_shared);
  return wire::error::success;
}

std::int32_t Requests::reset(const Request&, Payload, Answer&) {
  reset();
  ++traffic.resets;
  return wire::error::success;
}

std::int32_t Requests::set_heap_limit(const Request& request, Payload, Answer&) {
  const bool is_set = request.bytes <= options_.max_allocated_bytes && device_.memory().set_heap_limit(request.bytes);
  return is_set ? wire::error::success : wire::error::invalid_value;
}

std::int32_t Requests::note_failure(const Request&, Payload, Answer&) {
  if (traffic.failed.empty()) traffic.failed = "a call of the CUDA runtime";
  return wire::error::success;
}

std::int32_t Requests::note_refusal(const Request&, Payload, Answer&) {
  ++traffic.unread_refusals;
  return wire::error::success;
}

std::int32_t Requests::note_error_read(const Request&, Payload, Answer&) {
  traffic.unread_refusals = 0;
  return wire::error::success;
}

std::int32_t Requests::note_call_site(const Request& request, Payload place, Answer&) {
  (request.value ? graph_site_ : call_site_) = words_in(place);
  return wire::error::success;
}

std::int32_t Requests::host_access(const Request& request, Payload place, Answer& answer) {
  // After a fault the device does nothing, and what the host waits for is not reported any more.
  if (!options_.work || !options_.reports_host || pending_error_ != 0) return wire::error::success;
  const vgpu::InUse in_use =
      options_.work->host_accessed({.address = request.to,
                                    .bytes = request.bytes,
                                    .writes = (request.value & wire::access_writes) != 0,
                                    .place = words_in(place),
                                    .function = request.id,
                                    .stays = (request.value & wire::access_stays) != 0,
                                    .is_ordered = (request.value & wire::access_is_ordered) != 0,
                                    .gives_back = request.value & wire::access_frees ? "gives it back" : "",
                                    .follows_unseen = (request.value & wire::access_follows_unseen) != 0});
  answer.reply.value = (in_use.array ? wire::in_use_array : 0) | (in_use.page ? wire::in_use_page : 0);
  return wire::error::success;
}

std::int32_t Requests::host_function(const Request& request, Payload, Answer&) {
  if (request.value > static_cast<std::uint64_t>(wire::HostFunctionStep::ended))
    throw ProtocolError("an unknown step of a host function");
  return wire::error::success;
}

std::int32_t Requests::note_unsupported(const Request&, Payload name, Answer&) {
  if (traffic.unsupported.empty()) traffic.unsupported = text_of(name);
  return wire::error::success;
}

std::int32_t Requests::nothing(const Request&, Payload, Answer&) {
  return wire::error::success;
}

const Requests::Kind* Requests::kind_of(Op op) {
  using R = Requests;
  constexpr auto memory = Kind::uses_memory, after_fault = Kind::is_done_after_fault;
  constexpr std::size_t name = 64 << 10, parameters = 32 << 10;
  constexpr std::size_t places = wire::most_places * sizeof(std::uint64_t);
  constexpr const char *copied = "cudaMemcpy", *copied_async = "cudaMemcpyAsync";
  constexpr const char *allocated = "cudaMallocAsync", *freed = "cudaFreeAsync";  // only these are work of a stream
  static constexpr Kind kinds[] = {
      {Op::hello, &R::hello, after_fault},
      {Op::load_module, &R::load_module, after_fault},
      {Op::unload_module, &R::unload_module, after_fault},
      {Op::find_kernel, &R::find_kernel, after_fault, name},
      {Op::find_symbol, &R::find_symbol, after_fault, name},
      {Op::allocate, &R::allocate, Kind::plain, 0, allocated, allocated},
      {Op::share, &R::share, Kind::plain, name},
      {Op::release, &R::release, Kind::plain, 0, freed, freed},
      {Op::check_range, &R::check_range},
      {Op::copy_to_device, &R::copy, memory, 0, copied, copied_async},
      {Op::copy_to_host, &R::copy, memory, 0, copied, copied_async},
      {Op::copy_on_device, &R::copy_on_device, memory, 0, copied, copied_async},
      {Op::fill, &R::fill, memory, 0, "cudaMemset", "cudaMemsetAsync"},
      {Op::check_launch, &R::check_launch, after_fault},
      {Op::launch, &R::launch, memory, parameters},
      {Op::synchronise, &R::synchronise},
      {Op::read_output, &R::read_output, after_fault},
      {Op::memory_info, &R::memory_info, after_fault},
      {Op::record_event, &R::record_event},
      {Op::event_time, &R::event_time, after_fault},
      {Op::drop_event, &R::drop_event, after_fault},
      {Op::occupancy, &R::occupancy, after_fault},
      {Op::reset, &R::reset, after_fault},
      {Op::set_heap_limit, &R::set_heap_limit},
      {Op::note_failure, &R::note_failure, after_fault},
      {Op::note_refusal, &R::note_refusal, after_fault},
      {Op::note_error_read, &R::note_error_read, after_fault},
      // All work runs in the order in which it was submitted: only the listener to it has to know.
      {Op::wait_event, &R::nothing, after_fault},
      {Op::note_host_wait, &R::nothing, after_fault},
      {Op::drop_stream, &R::nothing, after_fault},
      {Op::note_call_site, &R::note_call_site, after_fault, places},
      {Op::host_access, &R::host_access, after_fault, places},
      {Op::host_function, &R::host_function, after_fault},
      {Op::note_unsupported, &R::note_unsupported, Kind::plain, name},
  };
  const Kind* kind = std::ranges::find(kinds, op, &Kind::op);
  return kind == std::end(kinds) ? nullptr : kind;
}

std::size_t Requests::payload_limit(Op op) const {
  const Kind* kind = kind_of(op);
  return op == Op::load_module ? options_.max_module_bytes : kind == nullptr ? 0 : kind->most_payload;
}

void Requests::handle(const Request& request, Payload payload, Answer& answer) {
  if (request.op != Op::hello && !greeted_) throw ProtocolError("no greeting");
  if (request.op != Op::copy_to_device && request.op != Op::copy_to_host) last_copy_.may_continue = false;
  const Kind* kind = kind_of(request.op);
  // After a kernel was stopped the device does no more work; calls that would wait for it return its error.
  if (pending_error_ != 0 && !(kind && kind->nature == Kind::is_done_after_fault)) {
    if (request.flags & wire::flag_blocking) surfaced_ = true;
    if (!surfaced_) return;
    answer.reply.error = pending_error_;
    answer.reply.flags |= wire::flag_sticky;
    return;
  }
  if (kind == nullptr) throw ProtocolError("unknown request");
  if (options_.work) report_before(request, payload);
  if (kind->nature == Kind::uses_memory) traffic.flow.comes(DataFlow::In::shares, shares_.take());
  answer.reply.error = (this->*kind->carry_out)(request, payload, answer);
  if (answer.reply.error != wire::error::success && pending_error_ == 0 && traffic.failed.empty())
    traffic.failed = name_of_call(request);
  if (kind->nature == Kind::uses_memory) {
    const std::uint64_t given = shares_.give(options_.on_leaving);
    // What the host has just put there itself is not new to it.
    if (request.op == Op::launch || request.op == Op::copy_on_device) traffic.flow.leaves(DataFlow::Out::shares, given);
  }
  if (options_.work) report_after(request, answer.reply);
}

void Requests::answer(const Request& request, Payload payload, Answer& answer) {
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

}  // namespace scanlab::server
