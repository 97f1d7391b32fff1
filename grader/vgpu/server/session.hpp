// One CUDA program's connection to a virtual GPU: answers its requests, and reports to the judge what it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/core/run/device.hpp"
#include "vgpu/core/run/work.hpp"
#include "vgpu/server/data_flow.hpp"

namespace scanlab::server {

/// What a program asked of the device. Copies are counted as the program's calls, however many pieces they travel in.
struct Traffic {
  std::uint64_t launches = 0;          ///< that started
  std::uint64_t refused_launches = 0;  ///< launch configuration errors
  std::uint64_t unread_refusals = 0;   ///< those whose error the program has not asked for, if it could
  std::uint64_t copies_to_device = 0, bytes_to_device = 0;
  std::uint64_t copies_to_host = 0, bytes_to_host = 0;
  std::uint64_t copies_on_device = 0, bytes_on_device = 0;
  std::uint64_t fills = 0, bytes_filled = 0;
  std::uint64_t allocations = 0, bytes_allocated = 0, releases = 0;
  std::uint64_t synchronisations = 0;
  std::uint64_t shared = 0;          ///< allocations and variables that the host could see without a copy at any time
  std::uint64_t output_bytes = 0;    ///< of device printf
  std::uint64_t output_dropped = 0;  ///< bytes of it beyond SessionOptions::output_bytes
  DataFlow flow;                     ///< with SessionOptions::counts_data_flow
};

struct SessionOptions {
  std::size_t staging_bytes = 16u << 20;  ///< of the buffer that copies travel through
  std::size_t output_bytes = 16u << 20;   ///< device printf's text kept until the program synchronises
  std::size_t max_faults = 64;            ///< kept for take_faults()
  std::size_t max_module_bytes = 64u << 20;
  std::size_t max_modules_bytes = std::size_t{1} << 30;   ///< of all modules that are loaded at the same time
  std::uint64_t max_allocated_bytes = ~std::uint64_t{0};  ///< of all memory that the program has at the same time
  std::size_t max_modules = 4096, max_kernels = 65536, max_allocations = 1u << 20, max_events = 1u << 20;
  /// Called in the serving thread, with the session's lock held, when a kernel is stopped or a module cannot be used.
  std::function<void(const vgpu::Fault&)> on_fault;
  /// Called like on_fault, before a reply for which the program waits, unless output of its kernels is still to be
  /// shown: all that it has printed before is on its way.
  std::function<void()> on_reply;
  /// Gets device printf's text at once, in the serving thread, with the session's lock held; the program then never
  /// does.
  std::function<void(std::string_view)> on_output;
  /// Counts what goes between host and device (Traffic::flow). What they share is brought up to date between launches
  /// only: a kernel and the host cannot talk while it runs.
  bool counts_data_flow = false;
  std::uint64_t max_shared_bytes = ~std::uint64_t{0};  ///< of all memory that is shared so at the same time
  /// Called before each launch that is about to run, in the serving thread, with the session's lock held.
  std::function<void(const vgpu::LaunchRequest&)> before_launch;
  vgpu::WorkListener* work = nullptr;  ///< is notified of the program's streams, in the serving thread; not owned
};

/// Serves one program. The program is not trusted: a malformed request only closes its connection.
///
/// Threads: serve() runs in one thread; everything else may be called from any other. The device is touched by serve()
/// only while a request is handled, under lock(); so a thread that holds lock() may use the device (memory, observers,
/// schedule). Call drain() first to be sure that everything the program has submitted has run.
class Session {
 public:
  /// Takes ownership of `fd`, a connected SOCK_STREAM socket. `device` must outlive the session.
  /// Throws std::system_error when the staging buffer cannot be made.
  Session(vgpu::Device& device, int fd, SessionOptions options = {});
  /// Frees what the program left allocated and unloads its modules. Not while serve() runs.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Answers requests until the program closes its end, stop() is called or the program breaks the protocol.
  void serve();
  /// Waits until every request that the program had sent before this call has been carried out (launches need no reply,
  /// so a program can be ahead of its device). Returns at once when serve() has ended.
  void drain();
  /// Makes serve() return soon. A running kernel is not stopped: see vgpu::Device::cancel.
  void stop();

  /// Exclusive use of the device; see the class comment.
  [[nodiscard]] std::unique_lock<std::mutex> lock();

  /// The faults since the last call, oldest first; a module that cannot be loaded is a Fault::Kind::unsupported.
  std::vector<vgpu::Fault> take_faults();
  Traffic traffic() const;
  void reset_traffic();
  /// The same for a thread that holds lock(): nothing that the program asks for comes between.
  Traffic traffic(const std::unique_lock<std::mutex>& held) const;
  void reset_traffic(const std::unique_lock<std::mutex>& held);
  /// Why the connection was closed by this side ("request 7 has 12 bytes of unknown payload"); empty: it was not.
  std::string closed_because() const;
  /// An exception that came out of the engine: the kit's own failure, not the program's. Empty: none.
  std::string internal_error() const;
  /// What the program has from cudaMalloc and cudaMallocManaged, and has not freed: "cudaMalloc #2 (4096 bytes)".
  std::vector<std::string> live_allocations() const;
  /// Text of device printf that the program never fetched by synchronising.
  std::uint64_t unread_output_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scanlab::server
