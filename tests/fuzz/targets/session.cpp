// A program's conversation with the virtual GPU's server. An input is a list of records, of 64 bytes each, and each
// record a request with a right form and odd values, or one that is damaged, which is the last.
#include "targets.hpp"
#include "tests/server/wild.hpp"

namespace scanlab::fuzz {
namespace {

using namespace server::wild;
using server::Program;

constexpr std::size_t record_bytes = 64, most_records = 48;

constexpr std::string_view names[] = {"count_up", "spin", "d_step", "s_static"};

/// Whatever a program has done, the next one is served and finds all memory free.
void check_honest_program(vgpu::Device& device) {
  Program program(device, options());
  if (!program.greet()) broken("the next program is not greeted");
  const Loaded mine = load(program);
  const Request launch{.op = Op::launch, .flags = server::wire::flag_blocking, .id = mine.count_up};
  const auto reply = program.ask(launch, parameters(mine.buffer, 1));
  if (!reply || reply->error != 0) broken("the next program's kernel does not run");
}

void send_damaged(Program& program, Request made, Draws& draws) {
  std::byte bytes[sizeof made + 64] = {};
  std::memcpy(bytes, &made, sizeof made);
  for (auto hits = draws() % 4; hits > 0; --hits) bytes[draws() % sizeof made] = static_cast<std::byte>(draws());
  program.send(bytes, draws() % 2 == 0 ? draws() % sizeof bytes : sizeof made);
}

void run(Bytes input) {
  vgpu::Device device(profile());
  device.max_warp_instructions = 2000;
  device.print = [](std::string_view) {};
  const std::uint64_t free_before = device.memory().bytes_free();
  {
    Program program(device, options());
    if (!program.greet()) broken("not greeted");
    const Loaded mine = load(program);
    std::vector<std::uint64_t> given = {mine.module, mine.count_up, mine.buffer};
    for (std::size_t k = 0; k < most_records && (k + 1) * record_bytes <= input.size(); ++k) {
      const Bytes record = input.subspan(k * record_bytes, record_bytes);
      Draws draws(record.subspan(1));
      Request made = wild_request(program, mine, draws);
      // What it was given before, it may well name again: memory, modules, kernels.
      for (std::uint64_t* field : {&made.to, &made.from, &made.id})
        if (draws() % 3 == 0 && !given.empty()) *field = given[draws() % given.size()];
      if (record[0] >= 0xF8) {
        send_damaged(program, made, draws);
        break;
      }
      std::vector<std::byte> payload = wild_payload(made, program, mine, draws);
      const bool asks_for_name = made.op == Op::find_kernel || made.op == Op::find_symbol || made.op == Op::share;
      if (asks_for_name && draws() % 2 == 0) {
        const auto name = bytes_of(names[draws() % std::size(names)]);
        payload.assign(name.begin(), name.end());
      }
      if (!expects_reply(made)) {
        send_blindly(program, made, payload);
        continue;
      }
      const auto reply = program.ask(made, payload);
      if (!reply) break;
      for (const std::uint64_t value : {reply->id, reply->address})
        if (value != 0) given.push_back(value);
    }
    program.hang_up();
    if (!program.session->internal_error().empty()) broken(program.session->internal_error());
    for (const vgpu::Fault& fault : program.faults) (void)fault.text();
    (void)program.session->live_allocations();
  }
  if (device.memory().bytes_free() != free_before) broken("a program that has gone leaves memory");
  check_honest_program(device);
}

std::string change(std::string input, const std::vector<std::string>& others, Random& random) {
  return change_records(std::move(input), record_bytes, others, random);
}

}  // namespace

const Target session_target = {"session", run, change};

}  // namespace scanlab::fuzz
