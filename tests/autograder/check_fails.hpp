// What a check of the judge's own tests has to become.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "autograder/result.hpp"

namespace scanlab::grade {

/// A check has failed, and this is in the reason that it gives.
inline void check_fails(const CheckResult& result, const char* reason) {
  CHECK(result.verdict == Verdict::fail);
  REQUIRE(result.cause);
  CHECK_THAT(result.cause->rationale, Catch::Matchers::ContainsSubstring(reason));
}

}  // namespace scanlab::grade
