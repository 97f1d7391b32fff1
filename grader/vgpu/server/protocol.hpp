// What a CUDA program and the virtual GPU say to each other. The program's side (cudart) and the server include this.
//
// One SOCK_STREAM socket carries fixed-size requests and replies, each followed by `payload_bytes` of payload (a fat
// binary, a name, kernel parameters). Data of copies goes through the staging buffer, a memfd that the server makes and
// hands over with its reply to `hello`. The server trusts nothing that it reads here.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "runner/stream.hpp"
#include "vgpu/core/run/work.hpp"

namespace scanlab::server::wire {

inline constexpr std::uint32_t magic = 0x5550'4756;  ///< "VGPU"
inline constexpr std::uint32_t version = 6;
/// Environment variable with the number of the program's end of the socket.
inline constexpr const char* fd_variable = "SCANLAB_VGPU_FD";
/// … that is set where the server will want to know what the host does.
inline constexpr const char* watch_variable = "SCANLAB_VGPU_WATCH";

enum class Op : std::uint32_t {
  hello = 1,      ///< value: version → payload DeviceFacts; bytes: size of the staging buffer; its descriptor by
                  ///< SCM_RIGHTS; value: 1 when what the host does is reported (see note_call_site, host_access)
  load_module,    ///< payload: fat binary, or those of several files that are one program → id
  unload_module,  ///< id
  find_kernel,    ///< id: module, payload: mangled name → id, payload KernelFacts and its parameters' places
  find_symbol,    ///< id: module, payload: mangled name → address, bytes
  allocate,       ///< bytes, value: Allocate, offset: within its page, for Allocate::registered → address
  share,    ///< to: an allocation's base, or id: a module and payload: a variable's mangled name → address, bytes;
            ///< a memfd of its pages by SCM_RIGHTS
  release,  ///< to
  check_range,       ///< to, bytes: does one allocation hold all of it?
  copy_to_device,    ///< to, bytes, offset in the staging buffer
  copy_to_host,      ///< from, bytes, offset in the staging buffer
  copy_on_device,    ///< to, from, bytes
  fill,              ///< to, bytes, value: one byte
  check_launch,      ///< as `launch` without parameters: would it be refused? Nothing runs.
  launch,            ///< id: kernel, bytes: of stack a thread, grid, block, dynamic_shared, max_dynamic_shared,
                     ///< payload: parameter buffer
  synchronise,       ///< surfaces a pending fault; and as note_host_wait
  read_output,       ///< → bytes of device printf's text, at the start of the staging buffer
  memory_info,       ///< → bytes: free, value: all
  record_event,      ///< id: chosen by the program; remembers the device's own clock, after all that was asked before;
                     ///< stream; value 1: its time only, its place in the stream was reported before
  event_time,        ///< id → time: of the event's last record, in ns
  drop_event,        ///< id
  occupancy,         ///< id: kernel, bytes: threads, dynamic_shared → value: blocks a multiprocessor
  reset,             ///< frees what this program allocated and unloads its modules
  set_heap_limit,    ///< bytes: what malloc() in kernels may give in all
  note_failure,      ///< a call of the program has failed, also where it was not made here
  note_refusal,      ///< a launch by <<<>>>, whose error the program has to ask for, was refused
  note_error_read,   ///< the program has asked for the error of the launches that were refused so far
  wait_event,        ///< stream, id: what the stream is given from now on comes after the event
  note_host_wait,    ///< the host has waited. value: HostWait; stream or id: an event
  drop_stream,       ///< stream
  note_call_site,    ///< payload: the HostPlace of the call whose work comes next; value 1: of the graph launch
  host_access,       ///< to, bytes (0: only asks), value: bits of access_…, id: of a host function, or 0, payload:
                     ///< HostPlace → value: bits of in_use_…
  host_function,     ///< id, stream, value: HostFunctionStep
  note_unsupported,  ///< payload: the name of a call that the program's side does not have
};

/// What the host has waited for.
enum class HostWait : std::uint64_t { none, stream, event, all };

/// What happens to a host function (cudaLaunchHostFunc).
enum class HostFunctionStep : std::uint64_t { submitted, begins, ended };

/// Of host_access: it writes; the thread stays there; threads have an order for it; it follows some that were not
/// reported (see vgpu::HostAccess).
inline constexpr std::uint64_t access_writes = 1, access_stays = 2, access_is_ordered = 4, access_follows_unseen = 8,
                               access_frees = 16;
/// What work uses that the host does not know to be done.
inline constexpr std::uint64_t in_use_array = 1, in_use_page = 2;
/// Of a HostPlace.
inline constexpr std::size_t most_places = 16;

/// How `allocate` names the memory in messages.
enum class Allocate : std::uint64_t { ordinary, managed, pinned, registered };
inline constexpr std::size_t allocate_kinds = 4;

/// Where the number of requests that the server has carried out lies, after a staging buffer of this many bytes.
constexpr std::size_t progress_offset(std::size_t staging_bytes) {
  return (staging_bytes + 63) / 64 * 64;
}
inline constexpr std::size_t progress_bytes = 64;

/// Bits of Request::flags.
inline constexpr std::uint32_t flag_quiet = 1;     ///< send no reply; see `may_be_quiet`
inline constexpr std::uint32_t flag_blocking = 2;  ///< a call that waits for the device: a pending fault surfaces here
inline constexpr std::uint32_t flag_cooperative = 4;  ///< cooperative launch
/// When a call for copies or sets returns, as CUDA documents it: when the work is done; when all before it is done.
inline constexpr std::uint32_t flag_host_waits = 8, flag_host_has_waited = 16;
inline constexpr std::uint32_t flag_stream_ordered = 32;  ///< of allocate and release: cudaMallocAsync, cudaFreeAsync
inline constexpr std::uint32_t flag_by_async = 64;        ///< of copies and sets: by the call whose name ends so
inline constexpr std::uint32_t flag_alone = 128;          ///< the program has one thread, which waits for the reply
inline constexpr std::uint32_t flag_misnamed = 256;       ///< of copy_on_device: its kind calls one end the host's
/// Bits of Request::stream; below them its number: 0 is the legacy default stream.
inline constexpr std::uint64_t stream_non_blocking = std::uint64_t{1} << 63, stream_per_thread = std::uint64_t{1} << 62;
/// A branch of a graph, whose number is the graph's times most_branches, and its own from 1.
inline constexpr std::uint64_t stream_branch = std::uint64_t{1} << 61, most_branches = vgpu::Stream::most_branches;
/// Bits of Reply::flags.
inline constexpr std::uint32_t flag_sticky = 1;  ///< `error` stays until the device is reset

/// Requests that can do without a reply (flag_quiet).
constexpr bool may_be_quiet(Op op) {
  constexpr Op quiet[] = {Op::launch,           Op::fill,           Op::copy_on_device, Op::record_event,
                          Op::note_error_read,  Op::note_refusal,   Op::wait_event,     Op::note_host_wait,
                          Op::drop_stream,      Op::note_call_site, Op::host_access,    Op::host_function,
                          Op::note_unsupported, Op::note_failure};
  return std::ranges::find(quiet, op) != std::end(quiet);
}

struct Request {
  std::uint32_t magic = wire::magic;
  Op op = Op::hello;
  std::uint32_t flags = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t id = 0;
  std::uint64_t to = 0, from = 0;  ///< device addresses; of a copy's other end that of pinned memory, or 0
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t value = 0;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t dynamic_shared = 0, max_dynamic_shared = 0;
  std::uint64_t stream = 0;  ///< in whose order it is
};

struct Reply {
  std::uint32_t magic = wire::magic;
  std::int32_t error = 0;  ///< a cudaError_t
  std::uint32_t flags = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t id = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t value = 0;
  std::uint64_t output_bytes = 0;  ///< device printf's text that waits for `read_output`
  double time = 0;
};

/// The device as cudaGetDeviceProperties describes it; sizes in bytes.
struct DeviceFacts {
  char name[256] = {};
  std::uint32_t compute_major = 0, compute_minor = 0;
  std::uint32_t multiprocessors = 0, max_blocks_per_multiprocessor = 0, max_threads_per_multiprocessor = 0;
  std::uint32_t max_threads_per_block = 0, max_block[3] = {}, max_grid[3] = {};
  std::uint32_t registers_per_block = 0, clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  std::uint64_t shared_per_block = 0, shared_per_block_optin = 0, shared_per_multiprocessor = 0;
  std::uint64_t memory = 0, constant_memory = 0, l2_bytes = 0;
};

/// A kernel before it runs; `parameter_count` ParameterPlaces follow.
struct KernelFacts {
  std::uint64_t static_shared = 0, local_bytes = 0, constant_bytes = 0;
  std::uint32_t max_threads = 0, registers = 0, parameter_bytes = 0, parameter_count = 0;
};
struct ParameterPlace {
  std::uint32_t offset = 0, bytes = 0;
};

static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Reply> &&
              std::is_trivially_copyable_v<DeviceFacts> && std::is_trivially_copyable_v<KernelFacts>);
static_assert(sizeof(Request) == 112 && sizeof(Reply) == 64, "the same layout for every compiler");

/// Values of cudaError_t that the server uses (it is built without CUDA's headers).
namespace error {
inline constexpr std::int32_t success = 0, invalid_value = 1, memory_allocation = 2, invalid_configuration = 9,
                              invalid_symbol = 13, invalid_device_function = 98, no_kernel_image = 209,
                              invalid_ptx = 218, illegal_address = 700, launch_out_of_resources = 701,
                              launch_timeout = 702, assertion = 710, misaligned_address = 716, launch_failure = 719,
                              cooperative_launch_too_large = 720, unknown = 999;
}  // namespace error

using scanlab::receive_all;
using scanlab::send_all;

/// A message with room for one descriptor beside its bytes.
struct WithDescriptor {
  WithDescriptor(void* data, std::size_t bytes) : piece{data, bytes} {
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  WithDescriptor(const WithDescriptor&) = delete;
  WithDescriptor& operator=(const WithDescriptor&) = delete;

  iovec piece;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
};

/// Sends all of it, and a descriptor; false when the other side is gone. A signal interrupts nothing.
inline bool send_all(int fd, const void* data, std::size_t bytes, int descriptor) {
  WithDescriptor with(const_cast<void*>(data), bytes);
  cmsghdr* head = CMSG_FIRSTHDR(&with.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  ssize_t sent = -1;
  do sent = ::sendmsg(fd, &with.message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent > 0 && send_all(fd, static_cast<const char*>(data) + sent, bytes - static_cast<std::size_t>(sent));
}

/// Waits for all of it, and for the descriptor that may come with its first byte: `descriptor` stays as it is without.
inline bool receive_all(int fd, void* data, std::size_t bytes, int& descriptor) {
  WithDescriptor with(data, bytes);
  ssize_t got = -1;
  do got = ::recvmsg(fd, &with.message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  const cmsghdr* head = CMSG_FIRSTHDR(&with.message);
  if (head && head->cmsg_type == SCM_RIGHTS) std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  return receive_all(fd, static_cast<char*>(data) + got, bytes - static_cast<std::size_t>(got));
}

}  // namespace scanlab::server::wire
