// Programs that send garbage lose their own connection; the device goes on serving honest ones.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "program.hpp"
#include "wild.hpp"

using namespace scanlab;
using server::Program;
using server::wire::Op;
using server::wire::Request;
using namespace server::wild;

namespace {

using Random = std::mt19937_64;

/// Counts 100 numbers up by one, and looks.
void check_honest_program(vgpu::Device& device) {
  Program program(device, options());
  REQUIRE(program.greet());
  const Loaded mine = load(program);
  REQUIRE(mine.count_up != 0);
  REQUIRE(program.ask({.op = Op::fill, .to = mine.buffer, .bytes = 4096})->error == 0);
  const Request launch{.op = Op::launch, .id = mine.count_up, .block = {128, 1, 1}};
  REQUIRE(program.ask(launch, parameters(mine.buffer, 100))->error == 0);
  const Request copy{.op = Op::copy_to_host, .flags = server::wire::flag_blocking, .from = mine.buffer, .bytes = 512};
  REQUIRE(program.ask(copy)->error == 0);
  std::uint32_t back[128];
  std::memcpy(back, program.staging, sizeof back);
  for (std::uint32_t i = 0; i < 128; ++i) REQUIRE(back[i] == (i < 100 ? 1 : 0));
}

}  // namespace

TEST_CASE("requests with wild values on a real module do no harm") {
  const unsigned seed = 11;
  CAPTURE(seed);
  Random random(seed);
  vgpu::Device device(profile());
  device.max_warp_instructions = 5000;
  const std::uint64_t free_before = device.memory().bytes_free();
  std::uint64_t sent = 0;
  for (int round = 0; round < 400; ++round) {
    {
      Program program(device, options());
      REQUIRE(program.greet());
      const Loaded mine = load(program);
      REQUIRE(mine.spin != 0);
      for (int i = 0; i < 30; ++i, ++sent) {
        const Request made = wild_request(program, mine, random);
        const std::vector<std::byte> payload = wild_payload(made, program, mine, random);
        if (!expects_reply(made))
          send_blindly(program, made, payload);
        else if (!program.ask(made, payload))
          break;
      }
      program.hang_up();
      CHECK(program.session->internal_error().empty());
    }
    CHECK(device.memory().bytes_free() == free_before);
    if (round % 10 == 0) check_honest_program(device);
  }
  CHECK(sent > 3000);
}

TEST_CASE("streams of bytes that are not requests do no harm") {
  const unsigned seed = 12;
  CAPTURE(seed);
  Random random(seed);
  vgpu::Device device(profile());
  device.max_warp_instructions = 5000;
  for (int round = 0; round < 1500; ++round) {
    {
      Program program(device, options());
      const bool is_greeted = random() % 2 == 0;
      if (is_greeted) REQUIRE(program.greet());
      std::vector<std::byte> stream(random() % 2000);
      for (std::byte& b : stream) b = static_cast<std::byte>(random());
      // Now and then the beginning of a request, so that the rest is looked at.
      const Request head = wild_request(program, {}, random);
      if (random() % 2 == 0) std::memcpy(stream.data(), &head, std::min(stream.size(), sizeof head));
      program.send(stream.data(), stream.size());
      program.hang_up();
      CHECK(program.session->internal_error().empty());
    }
    if (round % 100 == 0) check_honest_program(device);
  }
}

TEST_CASE("a program that sends half a request and falls silent can be stopped") {
  vgpu::Device device(profile());
  for (std::size_t bytes : {std::size_t{1}, sizeof(Request) - 1, sizeof(Request), sizeof(Request) + 5}) {
    Program program(device, options());
    REQUIRE(program.greet());
    const Request made{.op = Op::load_module, .payload_bytes = 1000};
    std::vector<std::byte> stream(sizeof made + 1000);
    std::memcpy(stream.data(), &made, sizeof made);
    program.send(stream.data(), bytes);
    program.session->drain();
    program.session->stop();
    program.server.join();
    CHECK(program.session->internal_error().empty());
  }
  check_honest_program(device);
}

TEST_CASE("a claim of four gigabytes costs a connection and no memory") {
  vgpu::Device device(profile());
  for (std::uint32_t op = 0; op < 22; ++op) {
    Program program(device, options());
    REQUIRE(program.greet());
    const Request made{.op = static_cast<Op>(op), .payload_bytes = ~0u};
    program.send(&made, sizeof made);
    program.hang_up();
    CHECK(program.session->closed_because().find("too long") != std::string::npos);
  }
  check_honest_program(device);
}

TEST_CASE("many connections come and go, some in the middle of a reply") {
  vgpu::Device device(profile());
  for (int round = 0; round < 1000; ++round) {
    Program program(device, options());
    const Request hello{.op = Op::hello, .value = server::wire::version};
    program.send(&hello, round % 3 == 0 ? 50 : sizeof hello);
    if (round % 5 == 0) send_blindly(program, {.op = Op::memory_info}, {});
    program.hang_up();
    CHECK(program.session->internal_error().empty());
  }
  check_honest_program(device);
}

TEST_CASE("a program that asks and never reads the answers can be stopped") {
  vgpu::Device device(profile());
  Program program(device, options());
  REQUIRE(program.greet());
  // More replies than a socket holds; sent by a thread of its own, since the server stops reading too.
  std::thread asker([&] {
    for (int i = 0; i < 20000; ++i) send_blindly(program, {.op = Op::memory_info}, {});
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  program.session->stop();
  program.server.join();
  asker.join();
  CHECK(program.session->internal_error().empty());
  program.hang_up();
  program.session.reset();
  check_honest_program(device);
}
