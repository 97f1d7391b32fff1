#include <time.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "autograder/process/time_limit.hpp"

using namespace scanlab::grade;
using Catch::Approx;

namespace {

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void work(double seconds) {
  for (const double until = processor_time() + seconds; processor_time() < until;) {
  }
}

void sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("processor time is counted while this process works for the submission, and no other", "[limits]") {
  TimeLimit limit(10, TimeLimit::Counts::processor_time);
  work(0.05);
  CHECK(limit.spent() == 0);
  {
    const TimeLimit::Working working(limit);
    sleep(0.05);
    CHECK(limit.spent() < 0.03);
    work(0.04);
    CHECK(limit.spent() >= 0.04);
  }
  const double spent = limit.spent();
  work(0.05);
  CHECK(limit.spent() == spent);
  CHECK(limit.out() == TimeLimit::Out::nothing);
  limit.add(9.97);  // of its processes
  CHECK(limit.spent() == Approx(spent + 9.97));
  CHECK(limit.out() == TimeLimit::Out::processor_time);
  CHECK_FALSE(limit.has_waited());
  CHECK(text_of(limit) == "10 s of processor time");
}

TEST_CASE("what uses no processor time ends by the clock, later", "[limits]") {
  const TimeLimit limit(0.1, TimeLimit::Counts::processor_time);
  sleep(0.15);
  CHECK(limit.out() == TimeLimit::Out::nothing);
  sleep(0.26);
  CHECK(limit.out() == TimeLimit::Out::clock);
  CHECK(limit.has_waited());
  CHECK(text_of(limit) == "0.4 s by the clock");
}

TEST_CASE("where the clock counts, it ends at the limit, and processor time does not", "[limits]") {
  TimeLimit limit(0.1, TimeLimit::Counts::clock);
  limit.add(1);
  CHECK(limit.out() == TimeLimit::Out::nothing);
  sleep(0.11);
  CHECK(limit.out() == TimeLimit::Out::clock);
  CHECK_FALSE(limit.has_waited());
  CHECK(text_of(limit) == "0.1 s by the clock");
}

TEST_CASE("what has run out stays so", "[limits]") {
  TimeLimit limit(0.02, TimeLimit::Counts::processor_time);
  sleep(0.09);
  REQUIRE(limit.out() == TimeLimit::Out::clock);
  limit.add(1);
  CHECK(limit.out() == TimeLimit::Out::clock);
}
