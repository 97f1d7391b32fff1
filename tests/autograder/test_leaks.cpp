#include <catch2/catch_test_macros.hpp>

#include "autograder/device/call_findings.hpp"

using scanlab::grade::Leaks;

TEST_CASE("memory that each call leaves behind is reported once, after four such calls") {
  Leaks leaks;
  for (int call = 0; call < 3; ++call) CHECK_FALSE(leaks.call(2, 1));
  const auto found = leaks.call(2, 1);
  REQUIRE(found);
  CHECK(found->id == "leak");
  CHECK(found->weight == scanlab::vgpu::Finding::Weight::advice);
  CHECK(found->details == std::vector<std::string>{"after 4 calls, 4 allocations are left"});
  for (int call = 0; call < 10; ++call) CHECK_FALSE(leaks.call(2, 1));
}

TEST_CASE("memory that is freed within the call, or kept for the next, is not a leak") {
  Leaks freed, kept, grown;
  for (int call = 0; call < 20; ++call) {
    CHECK_FALSE(freed.call(3, 3));
    CHECK_FALSE(kept.call(call == 0, 0));
    CHECK_FALSE(grown.call(1, call > 0));  // allocated again for a longer array, and the old one freed
  }
}

TEST_CASE("scratch memory that is made level by level in the first calls is not a leak") {
  Leaks leaks;
  for (int call = 0; call < 3; ++call) CHECK_FALSE(leaks.call(1, 0));
  for (int call = 0; call < 20; ++call) CHECK_FALSE(leaks.call(1, 1));
}

TEST_CASE("calls that allocate nothing say nothing about the others") {
  Leaks leaks;
  unsigned reported = 0;
  for (int call = 0; call < 8; ++call) {
    reported += leaks.call(1, 0).has_value();
    CHECK_FALSE(leaks.call(0, 0));
  }
  CHECK(reported == 1);
}
