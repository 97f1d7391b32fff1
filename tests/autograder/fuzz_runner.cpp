// A runner that answers the judge, and the virtual GPU, with anything at any time, by FUZZ_SEED or by the bytes (in
// hex) of FUZZ_ACTIONS. It never writes an output: whatever it says, it cannot be right.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../fuzz/draws.hpp"
#include "runner/protocol.hpp"
#include "vgpu/server/protocol.hpp"

namespace {

using scanlab::runner::Call;
using scanlab::runner::Done;
namespace wire = scanlab::server::wire;

using Random = scanlab::fuzz::Draws;

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atoi(text);
}

const int judge_fd = number_of(scanlab::runner::fd_variable), vgpu_fd = number_of(scanlab::runner::vgpu_variable);
std::uint32_t serial = 0;

void say(const void* data, std::size_t bytes) {
  (void)send(judge_fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Done some_answer(Random& random) {
  Done done;
  done.serial = serial;
  done.status = static_cast<Done::Status>(random() % 10);
  done.cuda_error = static_cast<std::int32_t>(random() % 1000);
  for (char& letter : done.cuda_error_name) letter = static_cast<char>(random());  // without an end
  done.address = random();
  if (random() % 4 == 0) done.serial += static_cast<std::uint32_t>(random() % 5) - 2;
  if (random() % 8 == 0) done.magic = static_cast<std::uint32_t>(random());
  return done;
}

/// A request with the right form and wild values. Not `load_module`: what the virtual GPU cannot read is its own gap.
void ask_the_device(Random& random) {
  if (vgpu_fd < 0) return;
  wire::Request request;
  request.op = static_cast<wire::Op>(random() % 31);
  if (request.op == wire::Op::load_module) return;
  if (random() % 3 == 0) request.op = wire::Op::hello;
  request.value = request.op == wire::Op::hello ? wire::version : random() % 4;
  request.flags = random() % 8;
  request.id = random() % 4;
  for (std::uint64_t* address : {&request.to, &request.from}) *address = 0x200000000000 + random() % 8192;
  request.bytes = random() % 5 == 0 ? ~std::uint64_t{0} >> random() % 64 : random() % 4096;
  request.offset = random() % 4096;
  if (random() % 10 == 0) request.payload_bytes = static_cast<std::uint32_t>(random() % 100);
  if (random() % 20 == 0) request.magic = static_cast<std::uint32_t>(random());
  const std::size_t bytes = random() % 10 == 0 ? random() % sizeof request : sizeof request;
  (void)send(vgpu_fd, &request, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void misbehave(Random& random) {
  for (auto actions = 1 + random() % 4; actions > 0; --actions) {
    const Done done = some_answer(random);
    switch (random() % 14) {
      case 0:
        return say(&done, random() % sizeof done);  // a part of an answer
      case 1:
      case 2:
      case 3:
        say(&done, sizeof done);
        break;
      case 4:  // twice
        say(&done, sizeof done);
        say(&done, sizeof done);
        break;
      case 5: {
        std::vector<unsigned char> garbage(random() % 500);
        for (unsigned char& byte : garbage) byte = static_cast<unsigned char>(random());
        say(garbage.data(), garbage.size());
        break;
      }
      case 6:  // for calls to come
        for (std::uint32_t ahead = 0; ahead < 5; ++ahead) {
          Done early;
          early.serial = serial + ahead;
          say(&early, sizeof early);
        }
        break;
      case 7: {  // late, and in pieces
        std::thread([done, pause = random() % 20'000] {
          const auto* bytes = reinterpret_cast<const char*>(&done);
          for (std::size_t at = 0; at < sizeof done; at += 16) {
            usleep(static_cast<useconds_t>(pause) / 8);
            say(bytes + at, std::min<std::size_t>(16, sizeof done - at));
          }
        }).detach();
        break;
      }
      case 8:
        usleep(static_cast<useconds_t>(random() % 30'000));
        break;
      case 9:
        shutdown(random() % 2 == 0 || vgpu_fd < 0 ? judge_fd : vgpu_fd, static_cast<int>(random() % 3));
        break;
      case 10:
        if (random() % 2 == 0) _exit(static_cast<int>(random() % 256));
        raise(static_cast<int>(1 + random() % 31));
        break;
      case 11:
        (void)!write(1, "all tests passed\n\0\x1b[2J", 22);
        break;
      default:
        for (auto requests = random() % 10; requests > 0; --requests) ask_the_device(random);
    }
  }
}

}  // namespace

int main() {
  std::vector<std::uint8_t> actions;
  const char* text = std::getenv("FUZZ_ACTIONS");
  for (; text != nullptr && text[0] != '\0' && text[1] != '\0'; text += 2)
    actions.push_back(static_cast<std::uint8_t>(std::stoi(std::string(text, 2), nullptr, 16)));
  Random random = actions.empty() ? Random(static_cast<std::uint64_t>(number_of("FUZZ_SEED"))) : Random(actions);
  if (random() % 3 == 0) misbehave(random);
  Done ready;
  ready.status = Done::Status::ready;
  say(&ready, sizeof ready);
  Call call;
  while (recv(judge_fd, &call, sizeof call, MSG_WAITALL) == static_cast<ssize_t>(sizeof call)) {
    serial = call.serial;
    if (random() % 2 == 0) misbehave(random);
    Done done;
    done.serial = serial;
    if (random() % 10 != 0) say(&done, sizeof done);
  }
}
