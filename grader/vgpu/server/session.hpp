// One CUDA program's connection to a virtual GPU: answers its requests, and reports to the judge what it did.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "vgpu/server/requests.hpp"

namespace scanlab::server {

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
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  Traffic traffic() const { return traffic(std::unique_lock(mutex_)); }
  /// For a thread that holds lock(): nothing that the program asks for comes between.
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
  void check_held(const std::unique_lock<std::mutex>& held) const;
  bool fill_input();
  bool program_waits();
  bool receive(void* to, std::size_t bytes);
  bool receive_payload(std::vector<std::byte>& payload, std::size_t bytes);
  bool send(Answer& answer);
  bool step(std::vector<std::byte>& payload);
  void wake_up();

  vgpu::Device& device_;
  const int fd_;

  // --- what touches the device; under `mutex_` ---
  mutable std::mutex mutex_;
  Requests requests_;
  std::string closed_because_;

  // --- serve(), drain() and stop(); under `state_` ---
  int wake_ = -1;
  std::mutex state_;
  std::condition_variable drained_;
  std::uint64_t drains_wanted_ = 0, drains_done_ = 0;
  bool ended_ = false, stopping_ = false;

  // --- the socket, read by the serving thread only ---
  std::vector<std::byte> input_ = std::vector<std::byte>(64 << 10);
  std::size_t input_begin_ = 0, input_end_ = 0;
};

}  // namespace scanlab::server
