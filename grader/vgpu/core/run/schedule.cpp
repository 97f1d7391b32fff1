#include "vgpu/core/run/schedule.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace scanlab::vgpu {

Schedule::Order order_by_name(std::string_view name) {
  using enum Schedule::Order;
  for (const auto order : {lockstep, in_order, reversed, random})
    if (name == name_of(order)) return order;
  throw std::invalid_argument(
      fmt::format("no schedule named '{}': there are lockstep, in_order, reversed and random", name));
}

const char* name_of(Schedule::Order order) {
  switch (order) {
    case Schedule::Order::lockstep:
      return "lockstep";
    case Schedule::Order::in_order:
      return "in_order";
    case Schedule::Order::reversed:
      return "reversed";
    case Schedule::Order::random:
      return "random";
  }
  return "?";
}

}  // namespace scanlab::vgpu
