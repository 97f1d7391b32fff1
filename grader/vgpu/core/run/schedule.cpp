#include "vgpu/core/run/schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

namespace scanlab::vgpu {

Schedule::Order order_by_name(std::string_view name) {
  if (const auto order = contract::value_of<Schedule::Order>(name)) return *order;
  const auto known = contract::names<Schedule::Order>;
  throw std::invalid_argument(fmt::format("no schedule named '{}': there are {} and {}", name,
                                          fmt::join(known.first(known.size() - 1), ", "), known.back()));
}

}  // namespace scanlab::vgpu
