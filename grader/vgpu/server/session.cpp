#include "vgpu/server/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "vgpu/server/protocol.hpp"
#include "vgpu/server/requests.hpp"

namespace scanlab::server {

using wire::Op;
using wire::Reply;
using wire::Request;

struct Session::Impl {
  Impl(vgpu::Device& device_, int fd_, SessionOptions options)
      : device(device_), fd(fd_), requests(device_, std::move(options)) {
    device.host_waits = [this] { return program_waits(); };
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  }

  ~Impl() {
    device.host_waits = nullptr;
    close(wake);
    close(fd);
  }

  vgpu::Device& device;
  int fd;

  // --- what touches the device; under `mutex` ---
  mutable std::mutex mutex;
  Requests requests;
  std::string closed_because;

  // --- serve(), drain() and stop(); under `state` ---
  int wake = -1;
  std::mutex state;
  std::condition_variable drained;
  std::uint64_t drains_wanted = 0, drains_done = 0;
  bool ended = false, stopping = false;

  // --- the socket, read by the serving thread only ---
  std::vector<std::byte> input = std::vector<std::byte>(64 << 10);
  std::size_t input_begin = 0, input_end = 0;

  // --- reading ---

  /// Fills `input` with at least one more byte. False: the peer is gone, or we are to stop.
  bool fill_input() {
    if (input_begin == input_end) input_begin = input_end = 0;
    for (;;) {
      std::uint64_t wanted;
      {
        const std::lock_guard hold(state);
        if (stopping) return false;
        wanted = drains_wanted;
      }
      const ssize_t got = recv(fd, input.data() + input_end, input.size() - input_end, MSG_DONTWAIT);
      if (got > 0) {
        input_end += static_cast<std::size_t>(got);
        return true;
      }
      if (got == 0) return false;
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      // Nothing is left to do: a drain() that began before this recv has everything that was sent before.
      {
        const std::lock_guard hold(state);
        if (drains_done != wanted) {
          drains_done = wanted;
          drained.notify_all();
        }
      }
      pollfd waits[2] = {{fd, POLLIN, 0}, {wake, POLLIN, 0}};
      (void)poll(waits, 2, -1);
      if (waits[1].revents != 0) {
        std::uint64_t count;
        (void)!read(wake, &count, sizeof count);
      }
    }
  }

  /// Does the program's only thread wait for a reply? For the serving thread, while it carries out a request.
  bool program_waits() {
    if (input_begin > 0 && input_end == input.size()) {
      std::memmove(input.data(), input.data() + input_begin, input_end - input_begin);
      input_end -= std::exchange(input_begin, 0);
    }
    const ssize_t got = recv(fd, input.data() + input_end, input.size() - input_end, MSG_DONTWAIT);
    if (got > 0) input_end += static_cast<std::size_t>(got);
    for (std::size_t at = input_begin; input_end - at >= sizeof(Request);) {
      Request request;
      std::memcpy(&request, input.data() + at, sizeof request);
      if (request.magic != wire::magic) return false;
      if (request.flags & wire::flag_alone) return true;
      if (input_end - at - sizeof request < request.payload_bytes) return false;
      at += sizeof request + request.payload_bytes;
    }
    return false;
  }

  bool receive(void* to, std::size_t bytes) {
    std::byte* at = static_cast<std::byte*>(to);
    while (bytes > 0) {
      if (input_begin == input_end && !fill_input()) return false;
      const std::size_t piece = std::min(bytes, input_end - input_begin);
      std::memcpy(at, input.data() + input_begin, piece);
      input_begin += piece;
      at += piece;
      bytes -= piece;
    }
    return true;
  }

  /// A payload grows with what arrives, so that a claimed length alone costs nothing.
  bool receive_payload(std::vector<std::byte>& payload, std::size_t bytes) {
    payload.clear();
    while (payload.size() < bytes) {
      const std::size_t piece = std::min<std::size_t>(bytes - payload.size(), 1 << 20);
      payload.resize(payload.size() + piece);
      if (!receive(payload.data() + payload.size() - piece, piece)) return false;
    }
    return true;
  }

  bool send(Answer& answer) {
    answer.reply.payload_bytes = static_cast<std::uint32_t>(answer.payload.size());
    if (answer.send_fd >= 0) {
      if (!wire::send_all(fd, &answer.reply, sizeof answer.reply, answer.send_fd)) return false;
    } else if (!wire::send_all(fd, &answer.reply, sizeof answer.reply)) {
      return false;
    }
    return wire::send_all(fd, answer.payload.data(), answer.payload.size());
  }

  /// One request and its reply; false at the end of the connection.
  bool step(std::vector<std::byte>& payload) {
    Request request;
    if (!receive(&request, sizeof request)) return false;
    if (request.magic != wire::magic) throw ProtocolError("bytes that are no request");
    if (request.payload_bytes > requests.payload_limit(request.op)) throw ProtocolError("a payload that is too long");
    if (!receive_payload(payload, request.payload_bytes)) return false;
    Answer answer;
    // A request for quiet where a reply is due gets the reply all the same.
    const bool is_quiet = (request.flags & wire::flag_quiet) && wire::may_be_quiet(request.op);
    {
      const std::lock_guard hold(mutex);
      const bool had_output = requests.unread_output_bytes() > 0;
      requests.answer(request, payload, answer);
      requests.staging().count_request();
      if (!is_quiet && !had_output && requests.unread_output_bytes() == 0) requests.report_reply();
    }
    return is_quiet || send(answer);
  }

  void serve() {
    std::vector<std::byte> payload;
    try {
      while (step(payload)) {
      }
    } catch (const ProtocolError& problem) {
      const std::lock_guard hold(mutex);
      closed_because = std::string("the program broke the protocol: ") + problem.what();
    }
    shutdown(fd, SHUT_RDWR);
    const std::lock_guard hold(state);
    ended = true;
    drained.notify_all();
  }

  void wake_up() {
    const std::uint64_t one = 1;
    (void)!write(wake, &one, sizeof one);
  }
};

Session::Session(vgpu::Device& device, int fd, SessionOptions options)
    : impl_(std::make_unique<Impl>(device, fd, std::move(options))) {}

Session::~Session() = default;

void Session::serve() {
  impl_->serve();
}

void Session::drain() {
  std::unique_lock hold(impl_->state);
  const std::uint64_t mine = ++impl_->drains_wanted;
  impl_->wake_up();
  impl_->drained.wait(hold, [&] { return impl_->ended || impl_->drains_done >= mine; });
}

void Session::stop() {
  {
    const std::lock_guard hold(impl_->state);
    impl_->stopping = true;
  }
  shutdown(impl_->fd, SHUT_RDWR);  // ends a send that waits for a program that does not read
  impl_->wake_up();
}

std::unique_lock<std::mutex> Session::lock() {
  return std::unique_lock(impl_->mutex);
}

std::vector<vgpu::Fault> Session::take_faults() {
  const std::lock_guard hold(impl_->mutex);
  return std::exchange(impl_->requests.faults, {});
}

Traffic Session::traffic() const {
  return traffic(std::unique_lock(impl_->mutex));
}

void Session::reset_traffic() {
  reset_traffic(std::unique_lock(impl_->mutex));
}

Traffic Session::traffic(const std::unique_lock<std::mutex>& held) const {
  if (!held.owns_lock() || held.mutex() != &impl_->mutex) throw std::logic_error("the session is not locked");
  return impl_->requests.traffic;
}

void Session::reset_traffic(const std::unique_lock<std::mutex>& held) {
  if (!held.owns_lock() || held.mutex() != &impl_->mutex) throw std::logic_error("the session is not locked");
  impl_->requests.reset_traffic();
}

std::string Session::closed_because() const {
  const std::lock_guard hold(impl_->mutex);
  return impl_->closed_because;
}

std::string Session::internal_error() const {
  const std::lock_guard hold(impl_->mutex);
  return impl_->requests.internal_error;
}

std::vector<std::string> Session::live_allocations() const {
  const std::lock_guard hold(impl_->mutex);
  return impl_->requests.live_allocations();
}

std::uint64_t Session::unread_output_bytes() const {
  const std::lock_guard hold(impl_->mutex);
  return impl_->requests.unread_output_bytes();
}

}  // namespace scanlab::server
