#include "cudart/client.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "cudart/call.hpp"
#include "cudart/memory/own_pages.hpp"
#include "cudart/sides.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Reply;
using wire::Request;

static_assert(cudaErrorInvalidValue == wire::error::invalid_value && cudaErrorUnknown == wire::error::unknown &&
              cudaErrorMemoryAllocation == wire::error::memory_allocation &&
              cudaErrorInvalidConfiguration == wire::error::invalid_configuration &&
              cudaErrorInvalidSymbol == wire::error::invalid_symbol &&
              cudaErrorInvalidDeviceFunction == wire::error::invalid_device_function &&
              cudaErrorNoKernelImageForDevice == wire::error::no_kernel_image &&
              cudaErrorInvalidPtx == wire::error::invalid_ptx &&
              cudaErrorIllegalAddress == wire::error::illegal_address &&
              cudaErrorLaunchOutOfResources == wire::error::launch_out_of_resources &&
              cudaErrorLaunchTimeout == wire::error::launch_timeout && cudaErrorAssert == wire::error::assertion &&
              cudaErrorMisalignedAddress == wire::error::misaligned_address &&
              cudaErrorLaunchFailure == wire::error::launch_failure &&
              cudaErrorCooperativeLaunchTooLarge == wire::error::cooperative_launch_too_large);

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool has_unread_launch_error = false;

namespace {

std::atomic<bool> in_forked_child = false;

/// The socket that the environment names, or -1.
int inherited_socket() {
  const char* text = std::getenv(wire::fd_variable);
  if (text == nullptr) return -1;
  char* end = nullptr;
  const long fd = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || fd < 0 || fd > 1 << 20) return -1;
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(static_cast<int>(fd), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return -1;
  return static_cast<int>(fd);
}

bool has_one_thread() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

/// Nothing of this process may lie where device pointers point to. Managed memory is carved out of the reservation.
void reserve_device_windows() {
#ifdef MAP_FIXED_NOREPLACE
  const Address begin = vgpu::code_window, end = vgpu::global_window + vgpu::global_window_bytes;
  (void)mmap(reinterpret_cast<void*>(begin), end - begin, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
#endif
}

}  // namespace

void say(const char* format, ...) {
  static std::atomic<int> said = 0;
  if (said.fetch_add(1) >= 20) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "scanlab: %s\n", line);
}

Client& client() {
  static Client& instance = []() -> Client& {
    // As early as the first fat binary registers, so that no child of the program gets the socket.
    if (const int fd = inherited_socket(); fd >= 0) {
      (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
      if (std::getenv(wire::watch_variable) != nullptr) give_blocks_own_pages();
    }
    return *new Client;
  }();
  return instance;
}

bool Client::connect() {
  if (link == Link::open && in_forked_child) {
    link = Link::forked;
    say("a forked child cannot use its parent's CUDA device; call CUDA in one process only");
  }
  if (link != Link::not_tried) return link == Link::open;
  link = Link::absent;
  fd_ = inherited_socket();
  if (fd_ < 0) {
    say("no virtual GPU: start this program with `grader/scanlab run`");
    return false;
  }
  const Request request{.op = Op::hello, .value = wire::version};
  Reply reply;
  int staging_fd = -1;
  if (!wire::send_all(fd_, &request, sizeof request) || !wire::receive_all(fd_, &reply, sizeof reply, staging_fd) ||
      staging_fd < 0 || reply.magic != wire::magic || reply.payload_bytes != sizeof device ||
      !wire::receive_all(fd_, &device, sizeof device)) {
    say("the virtual GPU does not answer: start this program with `grader/scanlab run` of the same version");
    return false;
  }
  staging_bytes_ = reply.bytes;
  reports_host_ = reply.value != 0;
  const std::size_t progress = wire::progress_offset(staging_bytes_);
  void* at = mmap(nullptr, progress + wire::progress_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, staging_fd, 0);
  close(staging_fd);
  if (at == MAP_FAILED) {
    say("cannot map the staging buffer: %s", std::strerror(errno));
    return false;
  }
  staging_ = static_cast<std::byte*>(at);
  done_ = reinterpret_cast<std::uint64_t*>(staging_ + progress);
  sent_ = 1;  // the greeting
  pthread_atfork(nullptr, nullptr, [] { in_forked_child = true; });
  reserve_device_windows();
  watch_host_accesses();
  link = Link::open;
  return true;
}

void Client::lose(const char* why) {
  if (link == Link::open) say("the connection to the virtual GPU is lost (%s)", why);
  link = Link::lost;
  sticky = cudaErrorDevicesUnavailable;
}

Reply Client::exchange(Request request, std::span<const std::byte> payload, std::vector<std::byte>* answer,
                       int* descriptor) {
  const Reply lost{.error = cudaErrorDevicesUnavailable};
  if (link != Link::open) return lost;
  request.payload_bytes = static_cast<std::uint32_t>(payload.size());
  request.stream = stream_;
  if (has_one_thread()) request.flags |= wire::flag_alone;
  ++sent_;
  // What the program has printed so far stands before what the server reports about its kernels. It may be printing
  // just now where it is interrupted.
  if (!is_reporting_) std::fflush(stdout);
  note_wait(request);
  Reply reply;
  std::vector<std::byte> ignored;
  if (answer == nullptr) answer = &ignored;
  const auto receive = [&] {
    if (!(descriptor ? wire::receive_all(fd_, &reply, sizeof reply, *descriptor)
                     : wire::receive_all(fd_, &reply, sizeof reply)) ||
        reply.magic != wire::magic)
      return false;
    answer->resize(reply.payload_bytes);
    return wire::receive_all(fd_, answer->data(), answer->size());
  };
  if (!wire::send_all(fd_, &request, sizeof request) || !wire::send_all(fd_, payload.data(), payload.size()) ||
      !receive()) {
    lose("it closed the connection");
    return lost;
  }
  if (reply.flags & wire::flag_sticky) sticky = error_of(reply);
  // The text comes through the staging buffer, where a copy to the host has just put its data: that one prints later.
  if (reply.output_bytes > 0 && (request.flags & wire::flag_blocking) && request.op != Op::copy_to_host)
    print_output(reply.output_bytes);
  return reply;
}

void Client::post(Request request, std::span<const std::byte> payload) {
  if (link != Link::open) return;
  note_wait(request);
  request.flags |= wire::flag_quiet;
  request.payload_bytes = static_cast<std::uint32_t>(payload.size());
  request.stream = stream_;
  ++sent_;
  // One system call, so that the server wakes once.
  std::vector<std::byte> together(sizeof request + payload.size());
  std::memcpy(together.data(), &request, sizeof request);
  std::ranges::copy(payload, together.begin() + sizeof request);
  if (!wire::send_all(fd_, together.data(), together.size())) lose("it closed the connection");
}

/// After some requests the host knows more of what is done.
void Client::note_wait(const Request& request) {
  constexpr std::uint32_t waits = wire::flag_blocking | wire::flag_host_waits | wire::flag_host_has_waited;
  constexpr Op waiting[] = {Op::synchronise, Op::note_host_wait, Op::host_function, Op::allocate, Op::release};
  if (!(request.flags & waits) && std::ranges::find(waiting, request.op) == std::end(waiting)) return;
  awaited_ = sent_;
  if (watch.has_closed()) watch.is_stale = true;
}

bool Client::asks_first(std::uint64_t requests) {
  if (link != Link::open || requests <= std::max(awaited_, asked_)) return false;
  asked_ = requests;
  return true;
}

void Client::note_call_site(Frames frames) {
  if (!reports_host_ || frames == call_site_) return;
  post({.op = Op::note_call_site}, std::as_bytes(std::span(frames)));
  call_site_ = std::move(frames);
}

void Client::note_graph_site(const Frames& frames) {
  if (reports_host_) post({.op = Op::note_call_site, .value = 1}, std::as_bytes(std::span(frames)));
}

bool Client::try_lock() {
  for (int tries = 0; !mutex.try_lock(); ++tries) {
    if (tries == 50) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool Client::report_access(const Access& access, const Frames& frames, std::uint64_t& in_use) {
  if (!try_lock()) return false;
  const std::lock_guard hold(mutex, std::adopt_lock);
  const Request request{.op = Op::host_access,
                        .id = running_host_function,
                        .to = access.device,
                        .bytes = access.bytes,
                        .value = (access.writes ? wire::access_writes : 0) | (access.stays ? wire::access_stays : 0) |
                                 (access.is_ordered ? wire::access_is_ordered : 0) |
                                 (access.frees ? wire::access_frees : 0) |
                                 (watch.has_unseen.exchange(false) ? wire::access_follows_unseen : 0)};
  const auto payload = std::as_bytes(std::span(frames));
  is_reporting_ = true;
  in_use = wire::in_use_array | wire::in_use_page;
  if (const std::uint64_t id = begun_unnoted_.exchange(0); id != 0) note_begin(id);
  if (link != Link::open || in_forked_child)
    in_use = 0;
  else if (done(sent_))
    in_use = exchange(request, payload).value;
  else
    post(request, payload);  // a kernel that runs may wait for this thread
  is_reporting_ = false;
  return true;
}

void Client::refresh_watch() {
  if (!std::exchange(watch.is_stale, false) || !done(sent_)) return;
  // What stays closed is opened by a later call, or when the host uses it: of many arrays only some are asked for.
  constexpr std::size_t most = 64;
  const auto closed = watch.closed();
  for (std::size_t k = 0; k < std::min(most, closed.size()); ++k) {
    const auto& [begin, at] = closed[refreshed_++ % closed.size()];
    if (link != Link::open || exchange({.op = Op::host_access, .to = at}).value == 0) watch.open_area(begin);
  }
}

void Client::print_output(std::uint64_t bytes) {
  while (bytes > 0) {
    const Reply reply = exchange({.op = Op::read_output});
    if (reply.bytes == 0 || reply.bytes > staging_bytes_) break;
    std::fwrite(staging_, 1, reply.bytes, stdout);
    bytes -= std::min(bytes, reply.bytes);
  }
  // Behind the output of a kernel that was stopped the server reports why: when it is asked the next time.
  if (sticky != cudaSuccess) exchange({.op = Op::read_output});
}

Request Client::request_of(const Wait& wait, Op op) {
  stream_ = wait.stream;
  return {.op = op, .id = wait.event, .value = static_cast<std::uint64_t>(wait.what)};
}

void Client::note(const Wait& wait) {
  post(request_of(wait, Op::note_host_wait));
}

cudaError_t Client::synchronise(const Wait& wait) {
  Request request = request_of(wait, Op::synchronise);
  request.flags = wire::flag_blocking;
  return submit(request);
}

bool Client::done(std::uint64_t requests) const {
  return link != Link::open || std::atomic_ref(*done_).load(std::memory_order_acquire) >= requests;
}

cudaError_t Client::note_done(const Wait& wait) {
  if (done(sent_)) return synchronise(wait);
  note(wait);
  return cudaSuccess;
}

cudaError_t Client::synchronise(std::uint64_t requests, const Wait& wait) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds grace{100};
  const std::uint64_t all = sent_;
  const auto begin = clock::now();
  for (auto pause = std::chrono::microseconds(20); requests < all && !done(all);) {
    if (done(requests) && clock::now() - begin > grace) {
      note(wait);
      return sticky;
    }
    mutex.unlock();
    std::this_thread::sleep_for(pause);
    mutex.lock();
    if (pause < std::chrono::milliseconds(1)) pause *= 2;
  }
  return synchronise(wait);
}

std::uint64_t Client::sent_on(cudaStream_t stream) {
  CUstream_st& own = at(stream);
  std::uint64_t requests = own.sent;
  if (&own == &legacy_stream) {
    for_each_blocking_stream([&](const CUstream_st& other) { requests = std::max(requests, other.sent); });
  } else if (!(own.flags & cudaStreamNonBlocking)) {
    requests = std::max(requests, legacy_stream.sent);
  }
  return requests;
}

void Client::drop(const CUstream_st& stream) {
  if (in_forked_child) return;  // the connection is its parent's
  stream_ = stream.name;
  post({.op = Op::drop_stream});
}

void Client::drain() {
  if (!done(sent_)) (void)exchange({.op = Op::memory_info});
}

/// Calls piece(done, bytes) → cudaError_t for each part that fits the staging buffer.
template <class Piece>
cudaError_t Client::copy_in_pieces(Address device, std::size_t bytes, std::uint32_t flags, Piece piece) {
  cudaError_t error = cudaSuccess;
  if (bytes > staging_bytes_)  // a copy of one piece checks itself
    error = submit({.op = Op::check_range, .flags = flags, .to = device, .bytes = bytes});
  for (std::size_t done = 0; done < bytes && error == cudaSuccess; done += staging_bytes_)
    error = piece(done, std::min(bytes - done, staging_bytes_));
  return error;
}

cudaError_t Client::copy_to_device(Address to, const void* from, std::size_t bytes, std::uint32_t flags,
                                   Address alias) {
  return copy_in_pieces(to, bytes, flags, [&](std::size_t done, std::size_t size) {
    std::memcpy(staging_, static_cast<const std::byte*>(from) + done, size);
    return submit({.op = Op::copy_to_device,
                   .flags = flags,
                   .to = to + done,
                   .from = alias == 0 ? 0 : alias + done,
                   .bytes = size});
  });
}

cudaError_t Client::copy_to_host(void* to, Address from, std::size_t bytes, std::uint32_t flags, Address alias) {
  return copy_in_pieces(from, bytes, flags, [&](std::size_t done, std::size_t size) {
    const Reply reply = exchange({.op = Op::copy_to_host,
                                  .flags = flags,
                                  .to = alias == 0 ? 0 : alias + done,
                                  .from = from + done,
                                  .bytes = size});
    if (reply.error == 0) std::memcpy(static_cast<std::byte*>(to) + done, staging_, size);
    if (reply.output_bytes > 0 && (flags & wire::flag_blocking)) print_output(reply.output_bytes);
    return error_of(reply);
  });
}

cudaError_t Client::load(Module& module) {
  if (module.id != 0 || module.refused != cudaSuccess) return module.refused;
  std::vector<std::byte> together;
  for (const auto fatbin : module.fatbins) together.insert(together.end(), fatbin.begin(), fatbin.end());
  const Reply reply = exchange({.op = Op::load_module}, together);
  if (reply.error == 0) module.id = reply.id;
  return module.refused = error_of(reply);
}

Function* Client::find(const void* function) {
  if (const auto found = function_of.find(function); found != function_of.end()) return found->second;
  for (Function& known : functions)
    if (&known == function) return &known;
  return nullptr;
}

cudaError_t Client::resolve(Function& function) {
  if (function.id != 0) return cudaSuccess;
  if (const cudaError_t error = load(*function.module); error != cudaSuccess) return error;
  std::vector<std::byte> answer;
  const Request request{.op = Op::find_kernel, .id = function.module->id};
  const Reply reply = exchange(request, std::as_bytes(std::span(function.name)), &answer);
  if (reply.error != 0) return error_of(reply);
  if (answer.size() < sizeof function.facts) return cudaErrorUnknown;
  std::memcpy(&function.facts, answer.data(), sizeof function.facts);
  const std::size_t bytes = function.facts.parameter_count * sizeof(wire::ParameterPlace);
  if (answer.size() != sizeof function.facts + bytes) return cudaErrorUnknown;
  function.places.resize(function.facts.parameter_count);
  std::memcpy(function.places.data(), answer.data() + sizeof function.facts, bytes);
  function.id = reply.id;
  return cudaSuccess;
}

Variable* Client::find_variable(const void* symbol) {
  const auto found = variable_of.find(symbol);
  return found == variable_of.end() ? nullptr : found->second;
}

cudaError_t Client::resolve(Variable& variable) {
  if (variable.address != 0) return cudaSuccess;
  if (const cudaError_t error = load(*variable.module); error != cudaSuccess) return error;
  const Request request{.op = Op::find_symbol, .id = variable.module->id};
  const Reply reply = exchange(request, std::as_bytes(std::span(variable.name)));
  if (reply.error != 0) return error_of(reply);
  variable.address = reply.address;
  variable.bytes = reply.bytes;
  return cudaSuccess;
}

bool Client::valid(cudaStream_t stream) const {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread || streams.contains(stream) ||
         per_thread_streams.contains(stream);
}

namespace {

/// The default stream of a thread, from its first use to the thread's end.
struct OwnStream {
  CUstream_st stream{0, 0, 2, {}, {}};
  ~OwnStream() {
    const std::lock_guard hold(client().mutex);
    client().drop(stream);
    client().per_thread_streams.erase(&stream);
  }
};

CUstream_st& this_threads_stream(Client& state) {
  thread_local OwnStream own;
  if (state.per_thread_streams.insert(&own.stream).second && own.stream.name == 0)
    own.stream.name = wire::stream_per_thread | ++state.per_thread_streams_made;
  return own.stream;
}

}  // namespace

CUstream_st& Client::at(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return legacy_stream;
  return stream == cudaStreamPerThread ? this_threads_stream(*this) : *stream;
}

void Client::forget() {
  for (const auto& [host, registration] : registrations) take_back(host, registration);
  registrations.clear();
  for (const auto& [base, note] : allocations)
    if (note.kind != MemoryKind::device) unmap(base, note.bytes);
  allocations.clear();
  forget_pools();
  forget_device_settings();
  for (Module& module : modules) {
    module.id = 0;
    module.refused = cudaSuccess;
  }
  for (Function& function : functions) {
    function.id = 0;
    function.max_dynamic_shared = 0;
    function.carveout = -1;
    function.accepted.clear();
  }
  for (Variable& variable : variables) {
    variable.address = 0;
    variable.mapped = false;
  }
  const auto delete_all = [](auto& objects) {
    for (const auto object : objects) delete object;
    objects.clear();
  };
  delete_all(streams);
  delete_all(events);
  delete_all(graphs);
  delete_all(executable_graphs);
  legacy_stream.host_calls.clear();
  for (const cudaStream_t stream : per_thread_streams) {
    stream->host_calls.clear();
    stream->capture.reset();
  }
  sticky = cudaSuccess;
}

cudaError_t Client::unsupported(const char* name) {
  static std::set<std::string> said;
  if (said.insert(name).second) {
    say("%s is not supported by the virtual GPU yet: it returns cudaErrorNotSupported", name);
    post({.op = wire::Op::note_unsupported}, std::as_bytes(std::span(std::string_view(name))));
  }
  return cudaErrorNotSupported;
}

}  // namespace scanlab::cudart

/// What every call that the virtual GPU does not offer (yet) does; make_stubs.py writes the calls themselves.
extern "C" int scanlab_cudart_unsupported(const char* name) {
  using namespace scanlab::cudart;
  return call([&](Client& state) { return state.unsupported(name); });
}
