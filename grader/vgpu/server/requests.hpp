// What a program asks for, carried out on the device: everything of a session but its socket.
#pragma once

#include <cstddef>
#include <cstdint>
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
#include "vgpu/server/protocol.hpp"
#include "vgpu/server/session.hpp"
#include "vgpu/server/shares.hpp"
#include "vgpu/server/staging.hpp"

namespace scanlab::server {

/// The program broke the protocol; `what` becomes Session::closed_because().
struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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
  void report_reply();
  std::uint64_t unread_output_bytes() const { return output_.size() - output_read_; }

  /// Starts counting again. What is shared with the host already counts again.
  void reset_traffic();
  /// See Session::live_allocations.
  std::vector<std::string> live_allocations() const;

  Staging& staging() { return staging_; }

  Traffic traffic;
  std::vector<vgpu::Fault> faults;
  std::string internal_error;

 private:
  struct Kernel {
    std::uint64_t module = 0;
    std::string name;
    vgpu::KernelAttributes attributes;
  };

  void hello(const wire::Request& request, Answer& answer);
  /// A module that cannot be used: reported like a fault of a kernel, since nothing else would say why.
  std::int32_t refuse_module(std::int32_t error, std::string headline, std::string advice);
  std::int32_t refuse_without_ptx(const std::string& why);
  std::int32_t load_module(std::span<const std::byte> fatbin, Answer& answer);
  std::int32_t find_kernel(const wire::Request& request, std::string_view name, Answer& answer);
  std::int32_t allocate(const wire::Request& request, Answer& answer);
  std::int32_t share(const wire::Request& request, std::string_view name, Answer& answer);
  std::int32_t release(const wire::Request& request);
  /// Pieces of one copy follow each other, each a whole staging buffer but the last.
  bool goes_on(wire::Op op, vgpu::Address start, std::uint64_t bytes);
  std::int32_t copy(const wire::Request& request);
  std::int32_t fill(const wire::Request& request);
  void advance_device_side(std::uint64_t bytes);
  vgpu::LaunchRequest launch_request(const wire::Request& request) const;
  std::int32_t check_launch(const wire::Request& request);
  std::int32_t launch(const wire::Request& request, std::span<const std::byte> parameters);
  /// What a launch that did not run is answered.
  std::int32_t refuse_launch(vgpu::LaunchResult result, const std::string& kernel);
  /// After a kernel was stopped the device does no more work; calls that would wait for it return its error.
  bool answered_by_fault(const wire::Request& request, Answer& answer);
  void handle(const wire::Request& request, std::span<const std::byte> payload, Answer& answer);
  void carry_out(const wire::Request& request, std::span<const std::byte> payload, Answer& answer);
  /// What the listener to the program's work has to know of a request; called before and after it.
  void report_before(const wire::Request& request);
  void report_after(const wire::Request& request, const wire::Reply& reply);
  void report_host_wait(const wire::Request& request);
  /// How much a launch can carry to the device: what differs from the kernel's last one, and which kernel it is.
  std::uint64_t news_of(const wire::Request& request, std::span<const std::byte> parameters);
  /// Frees what the program allocated and unloads its modules.
  void reset();
  void keep_output(std::string_view text);
  void note_fault(vgpu::Fault fault);
  /// A launch beyond the device's limits: CUDA's error says little of why.
  void note_refusal(const std::string& kernel, std::string why);
  vgpu::LoadedModule* module_of(std::uint64_t id) const;
  void check_staging(const wire::Request& request) const;

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
  std::uint64_t next_id_ = 1, next_allocation_ = 1;
  std::int32_t pending_error_ = 0;  ///< of a kernel that was stopped
  bool surfaced_ = false;           ///< a call has returned it: now every call does
  std::int32_t late_error_ = 0;     ///< a refused launch that had no reply; not sticky
  std::string output_;              ///< device printf's text, not fetched yet
  std::size_t output_read_ = 0;
  bool greeted_ = false;
  struct {
    wire::Op op{};
    vgpu::Address next = 0;  ///< where the copy would go on
    bool may_continue = false;
  } last_copy_;
};

}  // namespace scanlab::server
