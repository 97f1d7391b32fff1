// A program at the other end of a session, as honest or as hostile as a test needs it.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "vgpu/core/run/device.hpp"
#include "vgpu/server/protocol.hpp"
#include "vgpu/server/session.hpp"

namespace scanlab::server {

class Program {
 public:
  explicit Program(vgpu::Device& device, SessionOptions options = {}) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    fd = ends[1];
    options.on_fault = [this](const vgpu::Fault& fault) { faults.push_back(fault); };
    session.emplace(device, ends[0], std::move(options));
    server = std::thread([this] { session->serve(); });
  }
  ~Program() {
    hang_up();
    if (staging != nullptr) munmap(staging, staging_bytes);
  }

  /// Closes this end and waits until the session has noticed.
  void hang_up() {
    if (fd >= 0) close(fd);
    fd = -1;
    if (server.joinable()) server.join();
  }

  void send(const void* bytes, std::size_t count) { (void)wire::send_all(fd, bytes, count); }

  /// Nothing: the session has closed the connection.
  std::optional<wire::Reply> ask(wire::Request request, std::span<const std::byte> payload = {}) {
    request.payload_bytes = static_cast<std::uint32_t>(payload.size());
    send(&request, sizeof request);
    send(payload.data(), payload.size());
    wire::Reply reply;
    if (!wire::receive_all(fd, &reply, sizeof reply)) return {};
    answer.resize(reply.payload_bytes);
    if (!wire::receive_all(fd, answer.data(), answer.size())) return {};
    return reply;
  }

  /// Greets, and maps the staging buffer.
  bool greet() {
    const wire::Request request{.op = wire::Op::hello, .value = wire::version};
    send(&request, sizeof request);
    wire::Reply reply;
    if (!receive(reply, staging_fd) || staging_fd < 0) return false;
    staging_bytes = reply.bytes;
    staging = static_cast<std::byte*>(mmap(nullptr, staging_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, staging_fd, 0));
    return true;
  }

  /// Shares an allocation; the descriptor, or -1.
  int share(vgpu::Address base) {
    const wire::Request request{.op = wire::Op::share, .to = base};
    send(&request, sizeof request);
    wire::Reply reply;
    int shared = -1;
    return receive(reply, shared) && reply.error == 0 ? shared : -1;
  }

  vgpu::Address allocate(std::uint64_t bytes) {
    const auto reply = ask({.op = wire::Op::allocate, .bytes = bytes});
    return reply ? reply->address : 0;
  }

  /// A reply with a descriptor, when it has one.
  bool receive(wire::Reply& reply, int& with) {
    if (!wire::receive_all(fd, &reply, sizeof reply, with)) return false;
    answer.resize(reply.payload_bytes);
    return wire::receive_all(fd, answer.data(), answer.size());
  }

  int fd = -1;
  int staging_fd = -1;
  std::byte* staging = nullptr;
  std::size_t staging_bytes = 0;
  std::vector<std::byte> answer;    ///< payload of the last reply
  std::vector<vgpu::Fault> faults;  ///< under the session's lock while it serves
  std::optional<Session> session;
  std::thread server;
};

}  // namespace scanlab::server
