// A program's connection: what each request does, what is counted of it, and what no program can do to the server.
#include <fcntl.h>
#include <sys/time.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"

using namespace scanlab;
using server::Program;
using server::SessionOptions;
using server::wire::Op;
using server::wire::Request;

namespace {

vgpu::DeviceProfile profile() {
  vgpu::DeviceProfile small = vgpu::small_profile();
  small.memory = 64 << 20;
  return small;
}

/// A device, and a program that has greeted.
struct Greeted {
  explicit Greeted(const SessionOptions& options = {}) : program(device, options) { REQUIRE(program.greet()); }

  vgpu::Device device{profile()};
  Program program;
};

}  // namespace

TEST_CASE_METHOD(Greeted, "a program gets the device's facts, allocates, and copies there and back") {
  server::wire::DeviceFacts facts;
  REQUIRE(program.answer.size() == sizeof facts);
  std::memcpy(&facts, program.answer.data(), sizeof facts);
  CHECK(facts.multiprocessors == device.profile().multiprocessors);

  const vgpu::Address base = program.allocate(1000);
  REQUIRE(base != 0);
  for (int i = 0; i < 1000; ++i) program.staging[i] = static_cast<std::byte>(i);
  CHECK(program.ask({.op = Op::copy_to_device, .to = base, .bytes = 1000})->error == 0);
  Request copy{.op = Op::copy_to_host, .from = base + 10, .bytes = 990, .offset = 4096};
  CHECK(program.ask(copy)->error == 0);
  CHECK(std::equal(program.staging + 10, program.staging + 1000, program.staging + 4096));
  copy.bytes = 991;
  CHECK(program.ask(copy)->error == server::wire::error::invalid_value);

  const server::Traffic traffic = program.session->traffic();
  CHECK(traffic.copies_to_device == 1);
  CHECK(traffic.bytes_to_device == 1000);
  CHECK(traffic.copies_to_host == 1);
  CHECK(traffic.bytes_to_host == 990);
}

TEST_CASE("a signal does not interrupt a greeting") {
  struct sigaction act {
  }, before{};
  act.sa_handler = [](int) {};  // without SA_RESTART: calls that wait end with EINTR
  REQUIRE(sigaction(SIGALRM, &act, &before) == 0);
  itimerval often{{0, 50}, {0, 50}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  vgpu::Device device(profile());
  unsigned greeted = 0;
  for (int i = 0; i < 200; ++i) greeted += Program(device).greet();
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  CHECK(greeted == 200);
}

TEST_CASE("a copy in many pieces counts as one") {
  vgpu::Device device(profile());
  server::SessionOptions options;
  options.staging_bytes = 4096;
  Program program(device, options);
  REQUIRE(program.greet());
  REQUIRE(program.staging_bytes == 4096);
  const vgpu::Address base = program.allocate(10000);
  for (std::uint64_t done = 0; done < 10000; done += 4096) {
    REQUIRE(
        program
            .ask({.op = Op::copy_to_device, .to = base + done, .bytes = std::min<std::uint64_t>(4096, 10000 - done)})
            ->error == 0);
  }
  CHECK(program.session->traffic().copies_to_device == 1);
  CHECK(program.session->traffic().bytes_to_device == 10000);
}

TEST_CASE("what a program allocated is freed with its session, and nothing else is") {
  vgpu::Device device(profile());
  const vgpu::Address judges = device.memory().allocate(4096, "input of the check");
  const std::uint64_t before = device.memory().bytes_free();
  {
    Program program(device);
    REQUIRE(program.greet());
    const vgpu::Address base = program.allocate(1 << 20);
    REQUIRE(device.memory().find(base, 1 << 20) != nullptr);
    CHECK(device.memory().find(base, 1)->label.find("cudaMalloc #1") == 0);
    CHECK(program.ask({.op = Op::release, .to = judges})->error == server::wire::error::invalid_value);
    CHECK(program.ask({.op = Op::reset})->error == 0);
    CHECK(device.memory().find(base, 1) == nullptr);
    REQUIRE(program.allocate(1 << 20) != 0);
  }
  CHECK(device.memory().find(judges, 4096) != nullptr);
  CHECK(device.memory().bytes_free() == before);
}

TEST_CASE_METHOD(Greeted, "drain waits for requests that have no reply") {
  const vgpu::Address base = program.allocate(64);
  for (int i = 0; i <= 200; ++i) {
    const Request fill{.op = Op::fill,
                       .flags = server::wire::flag_quiet,
                       .to = base,
                       .bytes = 64,
                       .value = static_cast<std::uint64_t>(i)};
    program.send(&fill, sizeof fill);
  }
  program.session->drain();
  const auto hold = program.session->lock();
  CHECK(*device.memory().host(base + 63) == std::byte{200});
}

TEST_CASE("drain and stop return when the program is gone") {
  vgpu::Device device(profile());
  Program program(device);
  program.hang_up();
  program.session->drain();
  program.session->stop();
}

TEST_CASE_METHOD(Greeted, "stop ends a session whose program is silent") {
  program.session->stop();
  program.server.join();
  CHECK(program.session->closed_because().empty());
}

TEST_CASE_METHOD(Greeted, "the staging buffer cannot be shrunk") {
  CHECK(ftruncate(program.staging_fd, 0) != 0);
  CHECK(fcntl(program.staging_fd, F_ADD_SEALS, F_SEAL_WRITE) != 0);
}

TEST_CASE_METHOD(Greeted, "shared memory is the same bytes for the program and the device, until it is freed") {
  const vgpu::Address before = program.allocate(100), base = program.allocate(10000), after = program.allocate(100);
  const int shared = program.share(base);
  REQUIRE(shared >= 0);
  CHECK(ftruncate(shared, 0) != 0);
  const std::uint64_t offset = base % vgpu::page_bytes;
  auto* bytes = static_cast<std::byte*>(mmap(nullptr, offset + 10000, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0));
  REQUIRE(bytes != MAP_FAILED);
  bytes += offset;
  CHECK(bytes[9999] == vgpu::poison);

  const auto fill = [&](vgpu::Address to, std::uint64_t count, int value) {
    return program.ask({.op = Op::fill, .to = to, .bytes = count, .value = static_cast<std::uint64_t>(value)})->error;
  };
  CHECK(fill(base + 5, 20, 7) == 0);
  CHECK(bytes[5] == std::byte{7});
  bytes[0] = std::byte{42};
  std::byte seen{};
  {
    const auto hold = program.session->lock();
    CHECK(device.memory().read(&seen, base, 1));
  }
  CHECK(seen == std::byte{42});

  // Nothing else of the device lies in these pages.
  CHECK(fill(before, 100, 1) == 0);
  CHECK(fill(after, 100, 1) == 0);
  CHECK(std::count(bytes - offset, bytes, std::byte{1}) == 0);

  CHECK(program.ask({.op = Op::release, .to = base})->error == 0);
  CHECK(fill(base, 1, 9) == server::wire::error::invalid_value);
  CHECK(bytes[0] == std::byte{42});
  munmap(bytes - offset, offset + 10000);
  close(shared);
}

namespace {

SessionOptions counting() {
  SessionOptions options;
  options.counts_data_flow = true;
  return options;
}

struct Counted : Greeted {
  Counted() : Greeted(counting()) {}
};

/// What has gone to the host and back since the last time.
std::pair<std::uint64_t, std::uint64_t> flow(Program& program) {
  const auto hold = program.session->lock();
  const server::DataFlow flow = program.session->traffic(hold).flow;
  program.session->reset_traffic(hold);
  return {flow.bytes_out(), flow.bytes_in()};
}

}  // namespace

TEST_CASE_METHOD(Counted, "every byte that goes to the host is counted, and what comes back after it") {
  const vgpu::Address base = program.allocate(4000), other = program.allocate(4000);
  flow(program);
  const auto ask = [&](Op op, std::uint64_t bytes) {
    const vgpu::Address from = op == Op::copy_to_host ? base : op == Op::copy_on_device ? other : 0;
    CHECK(program.ask({.op = op, .to = op == Op::copy_to_host ? 0 : base, .from = from, .bytes = bytes})->error == 0);
  };
  using Flow = std::pair<std::uint64_t, std::uint64_t>;
  ask(Op::copy_to_device, 4000);
  ask(Op::fill, 4000);
  ask(Op::copy_on_device, 4000);
  CHECK(flow(program) == Flow{0, 0});  // it cannot depend on what the device has
  ask(Op::copy_to_device, 4000);
  ask(Op::copy_to_host, 3000);
  CHECK(flow(program) == Flow{3000, 0});
  ask(Op::copy_to_host, 100);
  ask(Op::copy_to_device, 2000);
  for (int k = 0; k < 10; ++k) ask(Op::fill, 1);
  for (int k = 0; k < 10; ++k) ask(Op::copy_on_device, 1);
  const auto [out, in] = flow(program);
  CHECK(out == 100);
  CHECK(in >= 2000 + 10 + 10);  // each set is a value, each copy on the device a choice
  CHECK(flow(program) == Flow{0, 0});
}

TEST_CASE_METHOD(Counted, "what host and device share is counted by what each has written, also when it is gone") {
  const vgpu::Address own = program.allocate(10000), base = program.allocate(10000);
  const auto ask = [&](Op op, vgpu::Address to, vgpu::Address from, std::uint64_t bytes, int value = 0) {
    CHECK(program.ask({.op = op, .to = to, .from = from, .bytes = bytes, .value = static_cast<std::uint64_t>(value)})
              ->error == 0);
  };
  ask(Op::fill, own, 0, 10000, 5);
  const int shared = program.share(base);
  REQUIRE(shared >= 0);
  const std::uint64_t offset = base % vgpu::page_bytes;
  auto* bytes = static_cast<std::byte*>(mmap(nullptr, offset + 10000, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0));
  REQUIRE(bytes != MAP_FAILED);
  bytes += offset;
  CHECK(bytes[9999] == vgpu::poison);
  flow(program);

  ask(Op::copy_on_device, base, own, 8000);
  CHECK(bytes[7999] == std::byte{5});
  CHECK(bytes[8000] == vgpu::poison);
  CHECK(flow(program).first == 8000);
  ask(Op::copy_on_device, base, own, 8000);  // nothing new
  CHECK(flow(program).first == 0);

  // Only what the host has written comes back, and that to its byte's sector.
  ask(Op::copy_on_device, base + 8000, own, 1000);
  std::fill(bytes, bytes + 640, std::byte{9});
  ask(Op::copy_on_device, own, base, 10000);
  std::byte seen[2] = {};
  {
    const auto hold = program.session->lock();
    CHECK(device.memory().read(seen, own + 639, 2));
  }
  CHECK(seen[0] == std::byte{9});
  CHECK(seen[1] == std::byte{5});
  const auto [out, in] = flow(program);
  CHECK(out >= 1000);
  CHECK(out <= 1000 + 64);
  CHECK(in >= 640);
  CHECK(in <= 640 + 64);

  // A share counts in the call in which it is freed, and no more then.
  {
    const auto hold = program.session->lock();
    CHECK(program.session->traffic(hold).shared == 1);
  }
  ask(Op::copy_on_device, base, own, 640);
  ask(Op::reset, 0, 0, 0);
  {
    const auto hold = program.session->lock();
    CHECK(program.session->traffic(hold).shared == 1);
  }
  flow(program);
  const auto hold = program.session->lock();
  CHECK(program.session->traffic(hold).shared == 0);
  munmap(bytes - offset, offset + 10000);
  close(shared);
}

TEST_CASE("memory that host and device share has a limit of its own where it is counted") {
  vgpu::Device device(profile());
  SessionOptions options = counting();
  options.max_shared_bytes = 10000;
  Program program(device, options);
  REQUIRE(program.greet());
  const vgpu::Address first = program.allocate(6000), second = program.allocate(6000);
  const int shared = program.share(first);
  CHECK(shared >= 0);
  CHECK(program.share(second) == -1);
  close(shared);
}

TEST_CASE("a program can share only what it has allocated") {
  vgpu::Device device(profile());
  const vgpu::Address judges = device.memory().allocate(100, "of the judge");
  Program program(device);
  REQUIRE(program.greet());
  CHECK(program.share(judges) == -1);
  const vgpu::Address base = program.allocate(100);
  CHECK(program.share(base + 1) == -1);
  const int shared = program.share(base);
  CHECK(shared >= 0);
  CHECK(program.share(base) == -1);
  close(shared);
}

TEST_CASE_METHOD(Greeted, "an event has the device's time of its place among the requests") {
  const auto ask = [&](Op op, std::uint64_t id) { return *program.ask({.op = op, .id = id}); };
  CHECK(ask(Op::event_time, 1).error == server::wire::error::invalid_value);
  CHECK(ask(Op::record_event, 1).error == 0);
  CHECK(ask(Op::record_event, 2).error == 0);
  const double first = ask(Op::event_time, 1).time;
  CHECK(ask(Op::event_time, 2).time > first);
  CHECK(ask(Op::record_event, 1).error == 0);
  CHECK(ask(Op::event_time, 1).time > first);
  CHECK(ask(Op::drop_event, 1).error == 0);
  CHECK(ask(Op::event_time, 1).error == server::wire::error::invalid_value);
}

TEST_CASE_METHOD(Greeted, "the program sees how many of its requests are done") {
  const std::size_t at = server::wire::progress_offset(program.staging_bytes);
  void* all = mmap(nullptr, at + server::wire::progress_bytes, PROT_READ, MAP_SHARED, program.staging_fd, 0);
  REQUIRE(all != MAP_FAILED);
  const auto& done = *reinterpret_cast<const volatile std::uint64_t*>(static_cast<std::byte*>(all) + at);
  const std::uint64_t before = done;
  CHECK(before == 1);  // the greeting
  for (int i = 0; i < 5; ++i) (void)program.ask({.op = Op::synchronise});
  CHECK(done == before + 5);
  munmap(all, at + server::wire::progress_bytes);
}

TEST_CASE("a program that breaks the protocol loses its connection and nothing else") {
  vgpu::Device device(profile());
  Program program(device);

  SECTION("bytes that are not a request") {
    const std::string garbage(500, 'x');
    program.send(garbage.data(), garbage.size());
  }
  SECTION("no greeting") {
    CHECK(!program.ask({.op = Op::synchronise}));
  }
  SECTION("two greetings") {
    REQUIRE(program.greet());
    CHECK(!program.ask({.op = Op::hello, .value = server::wire::version}));
  }
  SECTION("another version") {
    CHECK(!program.ask({.op = Op::hello, .value = 99}));
  }
  SECTION("unknown request") {
    REQUIRE(program.greet());
    CHECK(!program.ask({.op = static_cast<Op>(1000)}));
  }
  SECTION("a copy outside the staging buffer") {
    REQUIRE(program.greet());
    CHECK(!program.ask({.op = Op::copy_to_host,
                        .from = program.allocate(4096),
                        .bytes = 4096,
                        .offset = program.staging_bytes - 4095}));
  }
  SECTION("a copy whose end wraps around") {
    REQUIRE(program.greet());
    CHECK(!program.ask(
        {.op = Op::copy_to_device, .to = program.allocate(4096), .bytes = 4096, .offset = ~std::uint64_t{0} - 10}));
  }
  SECTION("unknown kernel") {
    REQUIRE(program.greet());
    CHECK(!program.ask({.op = Op::launch, .id = 77}));
  }
  SECTION("unknown module") {
    REQUIRE(program.greet());
    CHECK(!program.ask({.op = Op::find_symbol, .id = 77}));
  }
  SECTION("a payload where none belongs") {
    REQUIRE(program.greet());
    const std::vector<std::byte> payload(100);
    CHECK(!program.ask({.op = Op::synchronise}, payload));
  }
  program.hang_up();
  CHECK(program.session->closed_because().find("protocol") != std::string::npos);
  CHECK(program.session->internal_error().empty());

  Program next(device);
  CHECK(next.greet());
}

TEST_CASE_METHOD(Greeted, "a program that hangs up in the middle of a request does no harm") {
  const Request load{.op = Op::load_module, .payload_bytes = 1 << 20};
  program.send(&load, sizeof load);
  program.send("abc", 3);
  program.hang_up();
  CHECK(program.session->closed_because().empty());
}

TEST_CASE_METHOD(Greeted, "damaged fat binaries are refused with a reason") {
  const std::vector<std::byte> garbage(1000, std::byte{0x50});
  const auto reply = program.ask({.op = Op::load_module}, garbage);
  REQUIRE(reply);
  CHECK(reply->error == server::wire::error::no_kernel_image);
  const auto hold = program.session->lock();
  REQUIRE(program.faults.size() == 1);
  CHECK(program.faults[0].kind == vgpu::Fault::Kind::unsupported);
  CHECK(!program.faults[0].headline.empty());
}

TEST_CASE("random requests never harm the server") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    vgpu::Device device(profile());
    Program program(device);
    REQUIRE(program.greet());
    const vgpu::Address base = program.allocate(4096);
    for (int i = 0; i < 20; ++i) {
      Request made{.op = static_cast<Op>(random() % 25)};
      const auto number = [&]() -> std::uint64_t {
        switch (random() % 6) {
          case 0:
            return random();
          case 1:
            return random() % 5000;
          case 2:
            return base + random() % 5000;
          case 3:
            return ~std::uint64_t{0} - random() % 5000;
          case 4:
            return program.staging_bytes - random() % 100;
          default:
            return 0;
        }
      };
      made.flags = static_cast<std::uint32_t>(random() % 8) & ~server::wire::flag_quiet;
      made.id = random() % 4;
      made.to = number();
      made.from = number();
      made.bytes = number();
      made.offset = number();
      made.value = number();
      made.dynamic_shared = number();
      std::vector<std::byte> payload(random() % 4 == 0 ? random() % 200 : 0);
      if (!program.ask(made, payload)) break;
    }
    program.hang_up();
    CHECK(program.session->internal_error().empty());
  }
}

namespace {

/// Writes down what is reported to it, a word each.
struct Diary : vgpu::WorkListener {
  std::vector<std::string> lines;

  static std::string name(const vgpu::Stream& stream) {
    return (stream.is_per_thread ? "thread " : stream.is_non_blocking ? "free " : "") + std::to_string(stream.number);
  }
  void work_begin(const vgpu::Work& work) override {
    const char* host = work.host == vgpu::Work::Host::waits        ? ", the host waits"
                       : work.host == vgpu::Work::Host::has_waited ? ", the host has waited"
                                                                   : "";
    lines.push_back(std::string(work.call) + " in " + name(work.stream) + host);
  }
  void work_end() override { lines.emplace_back("end"); }
  void recorded(std::uint64_t event, const vgpu::Stream& stream) override {
    lines.push_back("record " + std::to_string(event) + " in " + name(stream));
  }
  void waits(const vgpu::Stream& stream, std::uint64_t event) override {
    lines.push_back(name(stream) + " waits for " + std::to_string(event));
  }
  void host_waited(const vgpu::Stream& stream) override { lines.push_back("host: stream " + name(stream)); }
  void host_waited(std::uint64_t event) override { lines.push_back("host: event " + std::to_string(event)); }
  void host_waited_for_all() override { lines.emplace_back("host: all"); }
};

}  // namespace

TEST_CASE("a listener to the work gets its streams, and what the host has waited for") {
  namespace wire = server::wire;
  vgpu::Device device(profile());
  Diary diary;
  server::SessionOptions options;
  options.work = &diary;
  Program program(device, options);
  REQUIRE(program.greet());
  const vgpu::Address base = program.allocate(64);
  const auto ask = [&](Op op, std::uint64_t stream, std::uint64_t id, std::uint64_t value, std::uint32_t flags = 0) {
    return program
        .ask({.op = op,
              .flags = flags,
              .id = id,
              .to = base,
              .from = base,
              .bytes = 64,
              .value = value,
              .stream = stream})
        ->error;
  };
  const auto wait = [](wire::HostWait what) { return static_cast<std::uint64_t>(what); };
  CHECK(ask(Op::fill, 0, 0, 1) == 0);
  CHECK(ask(Op::fill, 2 | wire::stream_non_blocking, 0, 1, wire::flag_by_async) == 0);
  CHECK(ask(Op::record_event, 1 | wire::stream_per_thread, 7, 0) == 0);
  CHECK(ask(Op::record_event, 3, 7, 1) == 0);  // the time only
  CHECK(ask(Op::wait_event, 3, 7, 0) == 0);
  CHECK(ask(Op::copy_to_host, 0, 0, 0, wire::flag_host_waits) == 0);
  CHECK(ask(Op::copy_to_device, 0, 0, 0, wire::flag_host_has_waited) == 0);
  CHECK(ask(Op::synchronise, 3, 0, wait(wire::HostWait::stream)) == 0);
  CHECK(ask(Op::synchronise, 0, 0, wait(wire::HostWait::none)) == 0);
  CHECK(ask(Op::note_host_wait, 0, 7, wait(wire::HostWait::event)) == 0);
  CHECK(ask(Op::release, 3, 0, 0, wire::flag_stream_ordered) == 0);
  CHECK(ask(Op::release, 3, 0, 0) != 0);  // it is freed already: nobody waits
  const auto freed = program.ask({.op = Op::release, .to = program.allocate(64)});
  REQUIRE(freed);
  CHECK(freed->error == 0);
  const std::vector<std::string> expected = {"cudaMemset in 0",
                                             "end",
                                             "cudaMemsetAsync in free 2",
                                             "end",
                                             "record 7 in thread 1",
                                             "3 waits for 7",
                                             "cudaMemcpy in 0, the host waits",
                                             "end",
                                             "cudaMemcpy in 0, the host has waited",
                                             "end",
                                             "host: stream 3",
                                             "host: event 7",
                                             "cudaFreeAsync in 3",
                                             "end",
                                             "host: all"};
  CHECK(diary.lines == expected);
  CHECK_FALSE(program.ask({.op = Op::note_host_wait, .value = 99}));
}
