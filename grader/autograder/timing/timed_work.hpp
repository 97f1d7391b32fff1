// What a timed call is given, and what it must give back: millions of elements, fresh each time, compared whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "autograder/plan.hpp"
#include "autograder/scan/scan_oracle.hpp"

namespace scanlab::grade {

class TimedWork {
 public:
  virtual ~TimedWork() = default;

  /// Fills `x` with the data of this number; another one gives other data.
  virtual void renew(std::uint64_t seed, std::span<float> x) = 0;
  /// Compares d_y, as large as the input, with what the data of the last renew() asks for.
  virtual Comparison compare(std::span<const float> y) const = 0;
  /// What element i of d_y must be.
  virtual float expected(std::size_t i) const = 0;
  /// What *d_kept must be, of entries that have it.
  virtual std::optional<std::int32_t> kept() const { return std::nullopt; }
};

/// The work of a timing check's entry, on up to `threads` threads of the host.
std::unique_ptr<TimedWork> make_timed_work(const Plan& plan, const CheckPlan& check, unsigned threads);

}  // namespace scanlab::grade
