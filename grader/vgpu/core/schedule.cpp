#include "vgpu/core/schedule.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace scanlab::vgpu {

Schedule::Order order_by_name(std::string_view name) {
  for (const auto order : {Schedule::Order::in_order, Schedule::Order::reversed, Schedule::Order::random})
    if (name == name_of(order)) return order;
  throw std::invalid_argument(fmt::format("no schedule named '{}': there are in_order, reversed and random", name));
}

const char* name_of(Schedule::Order order) {
  switch (order) {
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
