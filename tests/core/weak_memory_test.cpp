// The schedule `weak`: strong reads return what PTX's memory model allows, and nothing else.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "weak_litmus.hpp"

using namespace scanlab;
using namespace scanlab::test;

TEST_CASE("the schedule weak shows what the memory model allows, and nothing else") {
  for (const ExpectedLitmus& e : weak_litmus()) {
    INFO(e.name);
    LitmusDevice device(e.litmus);
    const Outcomes shown = device.of_seeds(500);
    for (const std::string& outcome : shown) {
      INFO(outcome);
      CHECK(e.allowed.contains(outcome));
    }
    // Those of four threads are too many for so few seeds.
    if (e.allowed.size() <= 9) CHECK(shown == e.allowed);
  }
}
