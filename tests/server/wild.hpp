// Requests to the virtual GPU's server with wild values, from whatever gives numbers: a generator, or a fuzzer's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace scanlab::server::wild {

using wire::Op;
using wire::Reply;
using wire::Request;

inline constexpr const char* ptx = R"(
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
inline std::vector<std::byte> fat_binary(const std::string& text) {
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

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline vgpu::DeviceProfile profile() {
  vgpu::DeviceProfile small = vgpu::small_profile();
  small.memory = 16 << 20;
  return small;
}

inline SessionOptions options() {
  SessionOptions small;
  small.staging_bytes = 64 << 10;
  return small;
}

/// What a program has on the device once it has loaded the module above.
struct Loaded {
  std::uint64_t module = 0, count_up = 0, spin = 0;
  vgpu::Address buffer = 0;
};

inline Loaded load(Program& program) {
  Loaded made;
  made.module = program.ask({.op = Op::load_module}, fat_binary(ptx)).value_or(Reply{}).id;
  const Request find{.op = Op::find_kernel, .id = made.module};
  made.count_up = program.ask(find, bytes_of("count_up")).value_or(Reply{}).id;
  made.spin = program.ask(find, bytes_of("spin")).value_or(Reply{}).id;
  made.buffer = program.allocate(4096);
  return made;
}

inline std::vector<std::byte> parameters(vgpu::Address buffer, std::uint32_t n) {
  std::vector<std::byte> made;
  append(made, buffer);
  append(made, n);
  return made;
}

/// A number where a server might stumble: near the ends of what exists, or of what fits.
template <class Random>
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

template <class Random>
Request wild_request(const Program& program, const Loaded& mine, Random& random) {
  constexpr auto ops = static_cast<std::uint64_t>(Op::drop_stream);
  Request made{.op = static_cast<Op>(random() % 50 == 0 ? random() % (ops + 5) : 2 + random() % (ops - 1))};
  if (random() % 3 == 0) made.op = Op::launch;
  made.flags = static_cast<std::uint32_t>(random() % 128);
  if (random() % 4 == 0) made.stream = random() % 3 | random() % 4 << 62;
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

template <class Random>
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

inline bool expects_reply(const Request& made) {
  return !((made.flags & wire::flag_quiet) && wire::may_be_quiet(made.op));
}

/// Sends without ever looking at what comes back.
inline void send_blindly(Program& program, Request made, std::span<const std::byte> payload) {
  made.payload_bytes = static_cast<std::uint32_t>(payload.size());
  program.send(&made, sizeof made);
  program.send(payload.data(), payload.size());
}

}  // namespace scanlab::server::wild
