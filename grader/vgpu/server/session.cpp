#include "vgpu/server/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "vgpu/server/protocol.hpp"

namespace scanlab::server {

using wire::Request;

Session::Session(vgpu::Device& device, int fd, SessionOptions options)
    : device_(device), fd_(fd), requests_(device, std::move(options)) {
  device_.host_waits = [this] { return program_waits(); };
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  (void)fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

Session::~Session() {
  device_.host_waits = nullptr;
  close(wake_);
  close(fd_);
}

/// Fills `input_` with at least one more byte. False: the peer is gone, or we are to stop.
bool Session::fill_input() {
  if (input_begin_ == input_end_) input_begin_ = input_end_ = 0;
  for (;;) {
    std::uint64_t wanted;
    {
      const std::lock_guard hold(state_);
      if (stopping_) return false;
      wanted = drains_wanted_;
    }
    const ssize_t got = recv(fd_, input_.data() + input_end_, input_.size() - input_end_, MSG_DONTWAIT);
    if (got > 0) {
      input_end_ += static_cast<std::size_t>(got);
      return true;
    }
    if (got == 0) return false;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    // Nothing is left to do: a drain() that began before this recv has everything that was sent before.
    {
      const std::lock_guard hold(state_);
      if (drains_done_ != wanted) {
        drains_done_ = wanted;
        drained_.notify_all();
      }
    }
    pollfd waits[2] = {{fd_, POLLIN, 0}, {wake_, POLLIN, 0}};
    (void)poll(waits, 2, -1);
    if (waits[1].revents != 0) {
      std::uint64_t count;
      (void)!read(wake_, &count, sizeof count);
    }
  }
}

/// Does the program's only thread wait for a reply? For the serving thread, while it carries out a request.
bool Session::program_waits() {
  if (input_begin_ > 0 && input_end_ == input_.size()) {
    std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
    input_end_ -= std::exchange(input_begin_, 0);
  }
  const ssize_t got = recv(fd_, input_.data() + input_end_, input_.size() - input_end_, MSG_DONTWAIT);
  if (got > 0) input_end_ += static_cast<std::size_t>(got);
  for (std::size_t at = input_begin_; input_end_ - at >= sizeof(Request);) {
    Request request;
    std::memcpy(&request, input_.data() + at, sizeof request);
    if (request.magic != wire::magic) return false;
    if (request.flags & wire::flag_alone) return true;
    if (input_end_ - at - sizeof request < request.payload_bytes) return false;
    at += sizeof request + request.payload_bytes;
  }
  return false;
}

bool Session::receive(void* to, std::size_t bytes) {
  std::byte* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    if (input_begin_ == input_end_ && !fill_input()) return false;
    const std::size_t piece = std::min(bytes, input_end_ - input_begin_);
    std::memcpy(at, input_.data() + input_begin_, piece);
    input_begin_ += piece;
    at += piece;
    bytes -= piece;
  }
  return true;
}

/// A payload grows with what arrives, so that a claimed length alone costs nothing.
bool Session::receive_payload(std::vector<std::byte>& payload, std::size_t bytes) {
  payload.clear();
  while (payload.size() < bytes) {
    const std::size_t piece = std::min<std::size_t>(bytes - payload.size(), 1 << 20);
    payload.resize(payload.size() + piece);
    if (!receive(payload.data() + payload.size() - piece, piece)) return false;
  }
  return true;
}

bool Session::send(Answer& answer) {
  answer.reply.payload_bytes = static_cast<std::uint32_t>(answer.payload.size());
  const bool is_sent = answer.send_fd >= 0 ? wire::send_all(fd_, &answer.reply, sizeof answer.reply, answer.send_fd)
                                           : wire::send_all(fd_, &answer.reply, sizeof answer.reply);
  return is_sent && wire::send_all(fd_, answer.payload.data(), answer.payload.size());
}

/// One request and its reply; false at the end of the connection.
bool Session::step(std::vector<std::byte>& payload) {
  Request request;
  if (!receive(&request, sizeof request)) return false;
  if (request.magic != wire::magic) throw ProtocolError("bytes that are no request");
  if (request.payload_bytes > requests_.payload_limit(request.op)) throw ProtocolError("a payload that is too long");
  if (!receive_payload(payload, request.payload_bytes)) return false;
  Answer answer;
  // A request for quiet where a reply is due gets the reply all the same.
  const bool is_quiet = (request.flags & wire::flag_quiet) && wire::may_be_quiet(request.op);
  {
    const std::lock_guard hold(mutex_);
    const bool had_output = requests_.unread_output_bytes() > 0;
    requests_.answer(request, payload, answer);
    requests_.staging().count_request();
    if (!is_quiet && !had_output && requests_.unread_output_bytes() == 0) requests_.report_reply();
  }
  return is_quiet || send(answer);
}

void Session::serve() {
  std::vector<std::byte> payload;
  try {
    while (step(payload)) {
    }
  } catch (const ProtocolError& problem) {
    const std::lock_guard hold(mutex_);
    closed_because_ = std::string("the program broke the protocol: ") + problem.what();
  }
  shutdown(fd_, SHUT_RDWR);
  const std::lock_guard hold(state_);
  ended_ = true;
  drained_.notify_all();
}

void Session::wake_up() {
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);
}

void Session::drain() {
  std::unique_lock hold(state_);
  const std::uint64_t mine = ++drains_wanted_;
  wake_up();
  drained_.wait(hold, [&] { return ended_ || drains_done_ >= mine; });
}

void Session::stop() {
  {
    const std::lock_guard hold(state_);
    stopping_ = true;
  }
  shutdown(fd_, SHUT_RDWR);  // ends a send that waits for a program that does not read
  wake_up();
}

Traffic Session::traffic(const std::unique_lock<std::mutex>& held) const {
  check_held(held);
  return requests_.traffic;
}

void Session::reset_traffic(const std::unique_lock<std::mutex>& held) {
  check_held(held);
  requests_.reset_traffic();
}

void Session::check_held(const std::unique_lock<std::mutex>& held) const {
  if (!held.owns_lock() || held.mutex() != &mutex_) throw std::logic_error("the session is not locked");
}

std::string Session::closed_because() const {
  const std::lock_guard hold(mutex_);
  return closed_because_;
}

std::string Session::internal_error() const {
  const std::lock_guard hold(mutex_);
  return requests_.internal_error;
}

std::vector<std::string> Session::live_allocations() const {
  const std::lock_guard hold(mutex_);
  return requests_.live_allocations();
}

std::uint64_t Session::unread_output_bytes() const {
  const std::lock_guard hold(mutex_);
  return requests_.unread_output_bytes();
}

}  // namespace scanlab::server
