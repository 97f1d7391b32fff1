// Programs that send garbage lose their own connection; the device goes on serving honest ones.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "program.hpp"

using namespace scanlab;
using server::Program;
using server::wire::Op;
using server::wire::Reply;
using server::wire::Request;

namespace {

using Random = std::mt19937_64;

constexpr const char* ptx = R"(
.version 7.8
.target sm_80
.address_size 64
.global .align 4 .u32 d_step = 1;
.extern .shared .align 4 .b8 s_dynamic[];
.visible .entry count_up(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<5>;
	.shared .align 4 .b8 s_static[64];
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r5, s_dynamic;
	st.shared.u32 [s_static], %r5;
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 ret;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [d_step];
	ld.global.u32 %r4, [%rd3];
	add.u32 %r4, %r4, %r3;
	st.global.u32 [%rd3], %r4;
	ret;
}
.visible .entry spin()
{
	again: bra again;
}
)";

template <class T>
void append(std::vector<std::byte>& to, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

/// A fat binary with one PTX image, as nvcc lays it out.
std::vector<std::byte> fat_binary(const std::string& text) {
  std::vector<std::byte> image;
  append<std::uint16_t>(image, 1);  // PTX
  append<std::uint16_t>(image, 0x101);
  append<std::uint32_t>(image, 64);  // header
  append<std::uint64_t>(image, text.size());
  append<std::uint64_t>(image, 0);  // compressed size
  append<std::uint32_t>(image, 0);
  append<std::uint32_t>(image, 80);  // sm
  image.resize(64);
  for (const char c : text) image.push_back(static_cast<std::byte>(c));
  std::vector<std::byte> whole;
  append<std::uint32_t>(whole, 0xBA55ED50);
  append<std::uint16_t>(whole, 1);
  append<std::uint16_t>(whole, 16);
  append<std::uint64_t>(whole, image.size());
  whole.insert(whole.end(), image.begin(), image.end());
  return whole;
}

Request request(Op op) {
  Request made;
  made.op = op;
  return made;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

vgpu::DeviceProfile profile() {
  vgpu::DeviceProfile small = vgpu::small_profile();
  small.memory = 16 << 20;
  return small;
}

server::SessionOptions options() {
  server::SessionOptions small;
  small.staging_bytes = 64 << 10;
  return small;
}

/// What a program has on the device once it has loaded the module above.
struct Loaded {
  std::uint64_t module = 0, count_up = 0, spin = 0;
  vgpu::Address buffer = 0;
};

Loaded load(Program& program) {
  Loaded made;
  made.module = program.ask(request(Op::load_module), fat_binary(ptx)).value_or(Reply{}).id;
  Request find = request(Op::find_kernel);
  find.id = made.module;
  made.count_up = program.ask(find, bytes_of("count_up")).value_or(Reply{}).id;
  made.spin = program.ask(find, bytes_of("spin")).value_or(Reply{}).id;
  made.buffer = program.allocate(4096);
  return made;
}

std::vector<std::byte> parameters(vgpu::Address buffer, std::uint32_t n) {
  std::vector<std::byte> made;
  append(made, buffer);
  append(made, n);
  return made;
}

/// Counts 100 numbers up by one, and looks.
void check_honest_program(vgpu::Device& device) {
  Program program(device, options());
  REQUIRE(program.greet());
  const Loaded mine = load(program);
  REQUIRE(mine.count_up != 0);
  Request fill = request(Op::fill);
  fill.to = mine.buffer;
  fill.bytes = 4096;
  REQUIRE(program.ask(fill)->error == 0);
  Request launch = request(Op::launch);
  launch.id = mine.count_up;
  launch.block[0] = 128;
  REQUIRE(program.ask(launch, parameters(mine.buffer, 100))->error == 0);
  Request copy = request(Op::copy_to_host);
  copy.from = mine.buffer;
  copy.bytes = 512;
  copy.flags = server::wire::flag_blocking;
  REQUIRE(program.ask(copy)->error == 0);
  std::uint32_t back[128];
  std::memcpy(back, program.staging, sizeof back);
  for (std::uint32_t i = 0; i < 128; ++i) REQUIRE(back[i] == (i < 100 ? 1 : 0));
}

/// A number where a server might stumble: near the ends of what exists, or of what fits.
std::uint64_t wild(const Program& program, const Loaded& mine, Random& random) {
  switch (random() % 9) {
    case 0:
      return random();
    case 1:
      return random() % 5000;
    case 2:
      return mine.buffer + random() % 5000;
    case 3:
      return ~std::uint64_t{0} - random() % (random() % 2 == 0 ? 5000 : 64);
    case 4:
      return program.staging_bytes - random() % 100;
    case 5:
      return std::uint64_t{1} << random() % 64;
    case 6:
      return 0 - mine.buffer + random() % 100;
    default:
      return 0;
  }
}

Request wild_request(const Program& program, const Loaded& mine, Random& random) {
  Request made = request(static_cast<Op>(random() % 50 == 0 ? random() % 25 : 2 + random() % 18));
  if (random() % 3 == 0) made.op = Op::launch;
  made.flags = static_cast<std::uint32_t>(random() % 8);
  const bool needs_kernel = made.op == Op::launch || made.op == Op::occupancy;
  made.id = needs_kernel ? (random() % 8 == 0 ? mine.spin : mine.count_up) : mine.module;
  if (random() % 50 == 0) made.id = random() % 4;
  made.to = wild(program, mine, random);
  made.from = wild(program, mine, random);
  made.bytes = wild(program, mine, random);
  made.offset = wild(program, mine, random);
  if (random() % 8 != 0) made.bytes %= 8192, made.offset %= 8192;
  made.value = wild(program, mine, random);
  made.dynamic_shared = wild(program, mine, random);
  made.max_dynamic_shared = wild(program, mine, random);
  for (int axis = 0; axis < 3; ++axis) {
    if (random() % 4 == 0) made.grid[axis] = static_cast<std::uint32_t>(wild(program, mine, random));
    if (random() % 4 == 0) made.block[axis] = static_cast<std::uint32_t>(wild(program, mine, random));
  }
  return made;
}

std::vector<std::byte> wild_payload(const Request& made, const Program& program, const Loaded& mine, Random& random) {
  std::vector<std::byte> payload;
  if (made.op == Op::launch && random() % 50 != 0) {
    if (made.id == mine.spin) return {};
    return parameters(wild(program, mine, random), static_cast<std::uint32_t>(random() % 200));
  }
  if (made.op == Op::load_module) {
    payload = fat_binary(ptx);
    for (auto hits = random() % 4; hits > 0; --hits)
      payload[random() % payload.size()] = static_cast<std::byte>(random());
    return payload;
  }
  if (made.op == Op::find_kernel || made.op == Op::find_symbol || random() % 50 == 0) payload.resize(random() % 300);
  for (std::byte& b : payload) b = static_cast<std::byte>(random());
  return payload;
}

bool expects_reply(const Request& made) {
  const bool may_be_quiet =
      made.op == Op::launch || made.op == Op::fill || made.op == Op::copy_on_device || made.op == Op::record_event;
  return !((made.flags & server::wire::flag_quiet) && may_be_quiet);
}

/// Sends without ever looking at what comes back.
void send_blindly(Program& program, Request made, std::span<const std::byte> payload) {
  made.payload_bytes = static_cast<std::uint32_t>(payload.size());
  program.send(&made, sizeof made);
  program.send(payload.data(), payload.size());
}

}  // namespace

TEST_CASE("requests with wild values on a real module harm nobody") {
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

TEST_CASE("streams of bytes that are no requests harm nobody") {
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

TEST_CASE("a program that says half a request and falls silent can be stopped") {
  vgpu::Device device(profile());
  for (std::size_t bytes : {std::size_t{1}, sizeof(Request) - 1, sizeof(Request), sizeof(Request) + 5}) {
    Program program(device, options());
    REQUIRE(program.greet());
    Request made = request(Op::load_module);
    made.payload_bytes = 1000;
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
    Request made = request(static_cast<Op>(op));
    made.payload_bytes = ~0u;
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
    Request hello = request(Op::hello);
    hello.value = server::wire::version;
    program.send(&hello, round % 3 == 0 ? 50 : sizeof hello);
    if (round % 5 == 0) send_blindly(program, request(Op::memory_info), {});
    program.hang_up();
    CHECK(program.session->internal_error().empty());
  }
  check_honest_program(device);
}

TEST_CASE("a program that asks and never reads what it is told can be stopped") {
  vgpu::Device device(profile());
  Program program(device, options());
  REQUIRE(program.greet());
  // More replies than a socket holds; sent by a thread of its own, since the server stops reading too.
  std::thread asker([&] {
    for (int i = 0; i < 20000; ++i) send_blindly(program, request(Op::memory_info), {});
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
