// The order of a timing check: rounds of one call of each program, in random order, until the result is clear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autograder/result.hpp"
#include "autograder/timing/timing_decision.hpp"

namespace scanlab::grade {

/// What rounds are measured with: a device with two programs, or, in a test, numbers.
class Bench {
 public:
  enum class Program { submission, reference };
  virtual ~Bench() = default;
  /// Gives the calls that follow new data.
  virtual void renew_data() = 0;
  /// One call of a program, its whole output checked: its time in seconds, or why there is none.
  virtual std::variant<double, Failure> time(Program program) = 0;
  /// Why the device runs slower than it could; empty: it does not. Nothing when it does not report that.
  virtual std::optional<std::vector<std::string>> slowdowns() = 0;
  virtual bool is_time_up() const = 0;
};

/// After so many rounds the result is looked at; an odd number, so that the median is one of them. Looking seldom keeps
/// the interval's promise: a judge that looked after every round, and stopped when it liked what it saw, would be wrong
/// more often.
inline constexpr std::size_t first_look = 11, rounds_between_looks = 10, most_rounds = 31;
/// So many rounds may be repeated because the device slowed itself down.
inline constexpr std::size_t most_repeated = 10;

/// Adds rounds to `timings` until the result is settled, or one of the bounds above or the time is reached. Returns the
/// first failure of a call. `seed` chooses which program is first in each round.
std::optional<Failure> take_rounds(Bench& bench, const TimeLimits& limits, std::uint64_t seed, Timings& timings);

}  // namespace scanlab::grade
