// A task: what one family of operations gives to an entry, and what it has to get back.
//
// A trial calls the entry and looks after memory; which data goes in, what is right, and what a wrong output means are
// the task's. Each family of operations has one, in a file of its own, with its oracle and its diagnosis beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograder/device/provenance.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"
#include "vgpu/core/run/schedule.hpp"

namespace scanlab::grade {

/// Which call. Equal cases have equal data on every device, and on the virtual GPU run alike to the last bit.
struct Case {
  std::size_t n = 0;
  unsigned repeat = 0;
  vgpu::Schedule::Order data_order = vgpu::Schedule::Order::in_order;  ///< the data depends on it
  vgpu::Schedule::Order order = vgpu::Schedule::Order::in_order;       ///< how it runs; differs in a diagnosis only
  std::string trail = {};  ///< of `weak`: one execution, as an exploration has found it; empty: the seed's
};

/// What a call has left behind in the entry's outputs.
template <typename T>
struct Outputs {
  std::vector<T> y;       ///< all n elements of d_y
  std::int32_t kept = 0;  ///< *d_kept, of entries that have it
  // Where elements are names: those that d_y holds, and what they are the sums of.
  std::vector<ElementName> names;
  std::vector<std::optional<ElementRange>> intervals;
  const Provenance* provenance = nullptr;
};

/// What is wrong with outputs.
struct Mistake {
  Cause cause;                    ///< all of it but the headline and the next step
  std::uint64_t fingerprint = 0;  ///< distinguishes wrong outputs, but not those that differ by rounding alone; not 0
  std::optional<std::size_t> first = {};  ///< the first wrong element of d_y, if one is
};

template <typename T>
class Task {
 public:
  virtual ~Task() = default;

  /// The elements of d_x for this case; another seed gives others.
  virtual std::vector<T> input(const Case& which, std::uint64_t seed) const = 0;

  /// How many elements of d_y are looked at, from the first one on: the others may hold anything.
  virtual std::size_t relevant(std::span<const T> x) const = 0;

  /// What is wrong with the outputs for input `x`; nothing when they are right.
  virtual std::optional<Mistake> mistake(std::span<const T> x, const Outputs<T>& outputs) const = 0;

  /// Is this right for element i of d_y, one of those that are looked at?
  virtual bool accepts(std::span<const T> x, std::size_t i, T value) const = 0;
};

/// The task of the check's operation, by its family; the plan outlives it. Defined for both elements.
template <typename T>
std::unique_ptr<Task<T>> make_scan_task(const Plan& plan, const CheckPlan& check);
template <typename T>
std::unique_ptr<Task<T>> make_partition_task(const CheckPlan& check);
template <typename T>
std::unique_ptr<Task<T>> make_task(const Plan& plan, const CheckPlan& check) {
  return has_count(check.operation) ? make_partition_task<T>(check) : make_scan_task<T>(plan, check);
}

}  // namespace scanlab::grade
