// The order of work in streams: rule by rule, and random programs against a graph of what waits for what.
#include "vgpu/checks/streams/stream_order.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <vector>

using namespace scanlab;
using vgpu::Stream;
using Host = vgpu::Work::Host;

namespace {

constexpr Stream legacy{}, one{1, false, false}, two{2, false, false}, free_one{3, false, true},
    free_two{4, false, true}, of_thread{1, true, false};

struct Program : vgpu::StreamOrder {
  /// The place of work that is submitted to the stream now.
  Place work(const Stream& stream, Host host = Host::goes_on) {
    Place place;
    REQUIRE(submit(stream, host, place));
    return place;
  }
  bool follows(const Stream& stream, const Place& earlier) {
    work(stream);
    return comes_after(earlier);
  }
};

}  // namespace

TEST_CASE("work of one stream is in order, that of two is not") {
  Program p;
  const auto first = p.work(one);
  CHECK(p.follows(one, first));
  CHECK_FALSE(p.follows(two, first));
  CHECK_FALSE(p.follows(of_thread, first));
}

TEST_CASE("the legacy stream waits for blocking streams, and they for it") {
  Program p;
  const auto blocking = p.work(one), free = p.work(free_one), thread = p.work(of_thread);
  const auto between = p.work(legacy);
  CHECK(p.comes_after(blocking));
  CHECK(p.comes_after(thread));
  CHECK_FALSE(p.comes_after(free));
  CHECK(p.follows(two, between));
  CHECK(p.comes_after(blocking));
  CHECK(p.follows(of_thread, between));
  CHECK_FALSE(p.follows(free_two, between));
}

TEST_CASE("an event comes after what its stream, or the host, knew to be done") {
  Program p;
  const auto own = p.work(one), other = p.work(two), free = p.work(free_one);
  REQUIRE(p.record(7, one));
  CHECK(p.comes_before(own, 7));
  CHECK_FALSE(p.comes_before(other, 7));
  p.host_waits(two);
  REQUIRE(p.record(8, one));
  CHECK(p.comes_before(other, 8));
  CHECK_FALSE(p.comes_before(free, 8));
  CHECK_FALSE(p.comes_before(p.work(one), 8));
}

TEST_CASE("an event passes on what its stream has done, and nothing later") {
  Program p;
  const auto before = p.work(free_one);
  REQUIRE(p.record(7, free_one));
  const auto behind = p.work(free_one);
  REQUIRE(p.wait(two, 7));
  CHECK(p.follows(two, before));
  CHECK_FALSE(p.comes_after(behind));
  CHECK(p.has_waited_too_early(behind));
  CHECK_FALSE(p.follows(one, before));
  CHECK_FALSE(p.has_waited_too_early(before));
  p.host_waits_for_all();
  const auto after_all = p.work(free_one);
  CHECK_FALSE(p.follows(two, after_all));
  CHECK_FALSE(p.has_waited_too_early(after_all));
  REQUIRE(p.wait(free_two, 8));  // never recorded
  CHECK_FALSE(p.follows(free_two, after_all));
}

TEST_CASE("an event that is recorded before all work of its stream is noticed") {
  Program p;
  REQUIRE(p.record(1, one));
  const auto first = p.work(one);
  REQUIRE(p.wait(two, 1));
  CHECK_FALSE(p.follows(two, first));
  CHECK(p.has_waited_too_early(first));
}

TEST_CASE("an event stands for its last record, a wait for the record before it") {
  Program p;
  const auto first = p.work(one);
  REQUIRE(p.record(7, one));
  REQUIRE(p.wait(two, 7));
  const auto second = p.work(one);
  REQUIRE(p.record(7, one));
  CHECK(p.follows(two, first));
  CHECK_FALSE(p.comes_after(second));
  REQUIRE(p.wait(free_one, 7));
  CHECK(p.follows(free_one, second));
}

TEST_CASE("what the host has waited for is before all that it submits later") {
  Program p;
  const auto first = p.work(free_one), other = p.work(free_two);
  p.host_waits(free_one);
  CHECK(p.is_known_to_host(first));
  CHECK_FALSE(p.is_known_to_host(other));
  CHECK(p.follows(two, first));
  CHECK_FALSE(p.comes_after(other));
  REQUIRE(p.record(1, free_two));
  p.host_waits(std::uint64_t{1});
  CHECK(p.follows(two, other));
  const auto last = p.work(free_two);
  p.host_waits_for_all();
  CHECK(p.follows(free_one, last));
}

TEST_CASE("waiting for a blocking stream waits for its own work, for the legacy stream also for the blocking ones") {
  Program p;
  const auto before = p.work(legacy);
  p.host_waits(one);
  CHECK_FALSE(p.is_known_to_host(before));
  const auto own = p.work(one);
  const auto after = p.work(legacy);
  p.host_waits(one);
  CHECK(p.is_known_to_host(before));
  CHECK(p.is_known_to_host(own));
  CHECK_FALSE(p.is_known_to_host(after));
  const auto other = p.work(two), free = p.work(free_one);
  p.host_waits(legacy);
  CHECK(p.is_known_to_host(other));
  CHECK_FALSE(p.is_known_to_host(free));
}

TEST_CASE("a call that waits is known to the host, one that has waited only what was before it") {
  Program p;
  const auto before = p.work(one);
  const auto staged = p.work(legacy, Host::has_waited);
  CHECK(p.is_known_to_host(before));
  CHECK_FALSE(p.is_known_to_host(staged));
  CHECK_FALSE(p.follows(free_one, staged));
  const auto waited = p.work(free_two, Host::waits);
  CHECK(p.is_known_to_host(waited));
  CHECK(p.follows(free_one, waited));
}

TEST_CASE("a destroyed stream's work goes on, and its line is used again when that is known to be done") {
  Program p;
  const auto last = p.work(two);
  p.drop(two);
  CHECK(p.follows(legacy, last));
  const std::size_t streams = p.streams();
  const Stream next{9, false, true};
  CHECK_FALSE(p.follows(next, last));
  CHECK(p.streams() == streams + 1);
  p.host_waits_for_all();
  p.drop(next);
  for (std::uint32_t k = 10; k < 1000; ++k) {
    const Stream made{k, false, true};
    CHECK(p.follows(made, last));
    p.host_waits(made);
    p.drop(made);
  }
  CHECK(p.streams() <= streams + 2);
}

TEST_CASE("too many streams at once are refused, and nothing is forgotten before") {
  vgpu::StreamOrder order;
  vgpu::StreamOrder::Place place;
  std::uint32_t made = 0;
  while (made < 5000 && order.submit(Stream{made + 1, false, true}, Host::goes_on, place)) ++made;
  CHECK(made == 256);
}

TEST_CASE("random programs: clocks say what a search through all that waits for each other says") {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const std::vector<Stream> streams = {legacy, one, two, free_one, free_two, of_thread};
    Program p;
    // Everything that happens, waits of the host too, is a node; edges go to what it comes after.
    std::vector<std::vector<std::size_t>> after;
    std::map<std::size_t, vgpu::StreamOrder::Place> places;  // of work
    std::vector<std::vector<std::size_t>> in_stream(streams.size());
    std::map<unsigned, std::size_t> recorded;
    std::vector<std::size_t> host;
    const auto act = [&](unsigned s) {
      std::vector<std::size_t> before = host;
      const auto add_all = [&](unsigned other) {
        before.insert(before.end(), in_stream[other].begin(), in_stream[other].end());
      };
      add_all(s);
      for (unsigned other = 0; other < streams.size(); ++other)
        if (!streams[s].is_non_blocking && !streams[other].is_non_blocking && (s == 0 || other == 0)) add_all(other);
      after.push_back(before);
      in_stream[s].push_back(after.size() - 1);
      return after.size() - 1;
    };
    for (unsigned step = 0; step < 60; ++step) {
      const unsigned s = below(static_cast<unsigned>(streams.size())), event = below(3);
      switch (below(8)) {
        case 0:
          recorded[event] = act(s);
          REQUIRE(p.record(event, streams[s]));
          break;
        case 1: {
          const std::size_t node = act(s);
          if (recorded.contains(event)) after[node].push_back(recorded[event]);
          REQUIRE(p.wait(streams[s], event));
          break;
        }
        case 2:
          if (step % 7 == 0) {
            if (s == 0)
              host.push_back(act(s));
            else if (!in_stream[s].empty())
              host.push_back(in_stream[s].back());
            p.host_waits(streams[s]);
          } else if (step % 7 == 1 && recorded.contains(event)) {
            host.push_back(recorded[event]);
            p.host_waits(std::uint64_t{event});
          }
          break;
        default: {
          const std::size_t node = act(s);
          places[node] = p.work(streams[s]);
          std::vector<bool> reached(after.size());
          std::vector<std::size_t> open = {node};
          while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            for (const std::size_t before : after[at])
              if (!reached[before]) {
                reached[before] = true;
                open.push_back(before);
              }
          }
          for (const auto& [other, place] : places)
            if (other != node) REQUIRE(p.comes_after(place) == reached[other]);
        }
      }
    }
  }
}
