// What a program asks for, carried out on the device: everything of a session but its socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/core/run/device.hpp"
#include "vgpu/core/run/work.hpp"
#include "vgpu/server/data_flow.hpp"
#include "vgpu/server/protocol.hpp"
#include "vgpu/server/shares.hpp"
#include "vgpu/server/staging.hpp"

namespace scanlab::server {

/// What a program asked of the device. Copies are counted as the program's calls, however many pieces they travel in.
struct Traffic {
  std::uint64_t unread_refusals = 0;  ///< launches refused whose error the program has not asked for, if it could
  std::uint64_t copies_to_device = 0, bytes_to_device = 0;
  std::uint64_t copies_to_host = 0, bytes_to_host = 0;
  std::uint64_t bytes_on_device = 0;    ///< that copies between places of the device read and write
  std::uint64_t sectors_on_device = 0;  ///< of 32 bytes, that these touch
  std::uint64_t allocations = 0, releases = 0, resets = 0;
  std::uint64_t shared = 0;     ///< allocations and variables that the host could see without a copy at any time
  vgpu::HostPlace misnamed_at;  ///< the first of them
  std::string failed;           ///< the first call whose error is not that of an earlier one; empty: none failed
  std::uint64_t overlapping_copies = 0;  ///< between two places of the device that share bytes
  vgpu::HostPlace overlapping_at;        ///< the first of them
  std::string unsupported;            ///< the first call that the program's side does not have; empty: none was called
  std::uint64_t misnamed_copies = 0;  ///< between two device pointers, of a kind that calls one of them the host's
  std::uint64_t output = 0;           ///< bytes of device printf
  std::uint64_t output_dropped = 0;   ///< those of them beyond SessionOptions::output_bytes
  DataFlow flow;                      ///< with SessionOptions::counts_data_flow
};

struct SessionOptions {
  std::size_t staging_bytes = 16u << 20;  ///< of the buffer that copies travel through
  std::size_t output_bytes = 16u << 20;   ///< device printf's text kept until the program synchronises
  std::size_t max_module_bytes = 64u << 20;
  std::size_t max_modules_bytes = std::size_t{1} << 30;   ///< of all modules that are loaded at the same time
  std::uint64_t max_allocated_bytes = ~std::uint64_t{0};  ///< of all memory that the program has at the same time
  std::size_t max_modules = 4096, max_kernels = 65536, max_allocations = 1u << 20, max_events = 1u << 20;
  /// Called in the serving thread, with the session's lock held, when a kernel is stopped or a module cannot be used.
  std::function<void(const vgpu::Fault&)> on_fault;
  /// Called like on_fault, when the device has not as much memory left as the program asks for.
  std::function<void(std::uint64_t bytes)> on_no_memory;
  /// Called like on_fault, before a reply for which the program waits, unless output of its kernels is still to be
  /// shown: all that it has printed before is on its way.
  std::function<void()> on_reply;
  /// Gets device printf's text at once, in the serving thread, with the session's lock held; the program then never
  /// does.
  std::function<void(std::string_view)> on_output;
  /// Counts what goes between host and device (Traffic::flow). What they share is brought up to date between launches
  /// only: a kernel and the host cannot talk while it runs.
  bool counts_data_flow = false;
  /// Called, under the same conditions as on_fault, with words of the device's memory that get to the host, or of which
  /// a copy or a set takes or leaves a part.
  std::function<void(std::span<const std::byte>)> on_leaving;
  std::uint64_t max_shared_bytes = ~std::uint64_t{0};  ///< of all memory that is shared so at the same time
  /// Called before each launch that is about to run, in the serving thread, with the session's lock held.
  std::function<void(const vgpu::LaunchRequest&)> before_launch;
  bool reports_host = false;           ///< the listener to its work wants to know what the host does, too
  vgpu::WorkListener* work = nullptr;  ///< is notified of the program's streams, in the serving thread; not owned
};

/// The program broke the protocol; `what` becomes Session::closed_because().
struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A name, as a payload brings it.
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A reply and what goes with it.
struct Answer {
  wire::Reply reply;
  std::vector<std::byte> payload;
  int send_fd = -1;
  bool owns_fd = false;  ///< `send_fd` is closed with the answer

  Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer();

  template <class T>
  void append(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    payload.insert(payload.end(), bytes, bytes + sizeof value);
  }
};

/// The words of 8 bytes that a request carries behind itself; there may be none.
inline std::vector<std::uint64_t> words_in(std::span<const std::byte> payload) {
  std::vector<std::uint64_t> words(payload.size() / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), payload.data(), words.size() * sizeof(std::uint64_t));
  return words;
}

/// The device, and what one program has made on it. Not thread safe: the session locks.
class Requests {
 public:
  /// Throws std::system_error when the staging buffer cannot be made.
  Requests(vgpu::Device& device, SessionOptions options);
  /// Frees what the program left.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// Carries out one request. Throws ProtocolError; an exception of the engine becomes a sticky error.
  void answer(const wire::Request& request, std::span<const std::byte> payload, Answer& answer);
  /// Bytes of payload that a request may carry.
  std::size_t payload_limit(wire::Op op) const;
  /// Device printf's text that the program has not fetched.
  void report_reply() {
    if (options_.on_reply) options_.on_reply();
  }
  std::uint64_t unread_output_bytes() const { return output_.size() - output_read_; }

  /// Starts counting again. What is shared with the host already counts again.
  void reset_traffic();
  /// See Session::live_allocations.
  std::vector<std::string> live_allocations() const;

  Staging& staging() { return staging_; }

  Traffic traffic;
  std::string internal_error;

 private:
  struct Kernel {
    std::uint64_t module = 0;
    std::string name;
    vgpu::KernelAttributes attributes;
  };

  /// What there is to know of one kind of request.
  struct Kind;
  static const Kind* kind_of(wire::Op op);

  using Payload = std::span<const std::byte>;
  /// Carries out a kind of request; its error.
  using Handler = std::int32_t(const wire::Request& request, Payload payload, Answer& answer);
  Handler hello, load_module, unload_module, find_kernel, find_symbol, allocate, share, release, check_range, copy,
      copy_on_device, fill, check_launch, launch, synchronise, read_output, memory_info, record_event, event_time,
      drop_event, occupancy, reset, set_heap_limit, note_failure, note_refusal, note_error_read, note_call_site,
      host_access, host_function, note_unsupported, nothing;

  void handle(const wire::Request& request, Payload payload, Answer& answer);
  /// What the listener to the program's work has to know of a request; called before and after it.
  void report_before(const wire::Request& request, Payload payload);
  void report_after(const wire::Request& request, const wire::Reply& reply);
  void report_host_wait(const wire::Request& request);
  static bool is_work(const wire::Request& request);
  /// The call of the CUDA runtime that makes a request of work: "cudaMemcpyAsync"; empty: a launch, or none of work.
  static const char* call_of(const wire::Request& request);
  /// The same in a sentence, of any request.
  static const char* name_of_call(const wire::Request& request);

  /// A module that cannot be used: reported like a fault of a kernel, since nothing else would say why.
  std::int32_t refuse_module(std::int32_t error, std::string headline, std::string advice);
  std::int32_t refuse_without_ptx(const std::string& why);
  /// Pieces of one copy follow each other, each a whole staging buffer but the last.
  bool goes_on(wire::Op op, vgpu::Address start, std::uint64_t bytes);
  /// Reports these bytes' words, or those words that they begin and end in the middle of (SessionOptions::on_leaving).
  void report_words(vgpu::Address start, std::uint64_t bytes);
  void report_ends(vgpu::Address start, std::uint64_t bytes);
  void advance_device_side(std::uint64_t bytes);
  vgpu::LaunchRequest launch_request(const wire::Request& request) const;
  /// What a launch that did not run is answered.
  std::int32_t refuse_launch(vgpu::LaunchResult result, const std::string& kernel);
  /// How much a launch can carry to the device: what differs from the kernel's last one, and which kernel it is.
  std::uint64_t news_of(const wire::Request& request, Payload parameters);
  /// Frees what the program allocated and unloads its modules.
  void reset();
  void keep_output(std::string_view text);
  void note_fault(const vgpu::Fault& fault) const {
    if (options_.on_fault) options_.on_fault(fault);
  }
  /// A launch beyond the device's limits: CUDA's error says little of why.
  void note_refusal(const std::string& kernel, std::string why);
  vgpu::LoadedModule* module_of(std::uint64_t id) const;
  const Kernel& kernel_of(std::uint64_t id) const;

  vgpu::Device& device_;
  const SessionOptions options_;
  Staging staging_;
  std::function<void(std::string_view)> previous_print_;
  std::unordered_map<std::uint64_t, vgpu::LoadedModule*> modules_;
  std::unordered_map<std::uint64_t, std::size_t> module_bytes_;  ///< as they came
  std::size_t modules_bytes_ = 0;                                ///< of them all
  std::unordered_map<std::uint64_t, std::string> without_ptx_;   ///< why some of a module's files could not be read
  std::unordered_map<std::uint64_t, Kernel> kernels_;
  std::map<vgpu::Address, std::uint64_t> allocations_;  ///< base → bytes
  std::uint64_t allocated_bytes_ = 0;                   ///< of them all
  std::set<vgpu::Address> shared_;                      ///< those of them, and variables, that the host sees as well
  Shares shares_;                                       ///< the same, where the flow of data is counted
  std::unordered_map<std::uint64_t, std::vector<std::byte>> last_launches_;  ///< by kernel, of this call
  bool has_loaded_ = false;                                                  ///< a module
  std::unordered_map<std::uint64_t, double> events_;                         ///< when they were recorded, in ns
  std::uint64_t next_id_ = 1;
  std::array<std::uint64_t, wire::allocate_kinds> next_allocation_ = {1, 1, 1, 1};  ///< of each kind
  std::int32_t pending_error_ = 0;                                                  ///< of a kernel that was stopped
  bool surfaced_ = false;        ///< a call has returned it: now every call does
  std::int32_t late_error_ = 0;  ///< a refused launch that had no reply; not sticky
  std::string output_;           ///< device printf's text, not fetched yet
  std::size_t output_read_ = 0;
  vgpu::HostPlace call_site_;     ///< of the work that comes next
  vgpu::HostPlace graph_site_;    ///< of the graph's launch whose nodes come next; empty: none
  std::set<vgpu::Address> pool_;  ///< what cudaMallocAsync has given
  bool greeted_ = false;
  struct {
    wire::Op op{};
    vgpu::Address next = 0;  ///< where the copy would go on
    bool may_continue = false;
  } last_copy_;
};

struct Requests::Kind {
  wire::Op op;
  std::int32_t (Requests::*carry_out)(const wire::Request&, Payload, Answer&);
  enum Nature { plain, uses_memory, is_done_after_fault };  ///< the second: work of a stream, always
  Nature nature = plain;
  std::size_t most_payload = 0;             ///< bytes; of a module SessionOptions has them
  const char *call = "", *async_call = "";  ///< that makes it, in messages about its work
};

}  // namespace scanlab::server
