// Which block and warp runs next: named, seeded, and the same every time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpu/core/contract.hpp"

namespace scanlab::vgpu {

/// CUDA leaves the order of blocks and the interleaving of warps open; a correct kernel gives the same under all.
struct Schedule {
  /// lockstep: blocks by ascending index, the warps of each side by side while they take the same path, the fastest;
  /// in_order: blocks and warps by ascending index, each as far as it gets; reversed: by descending index; random:
  /// blocks in a random order, warps interleaved at random instructions; weak: as random, and strong reads may return
  /// what PTX's memory model allows besides the latest value (views.hpp).
  using Order = contract::Schedule;
  Order order = Order::lockstep;
  std::uint64_t seed = 0;  ///< for random and weak
  /// For weak: one execution of one launch, as an exploration gives it (Device::explore); empty: the seed's.
  std::string trail = {};

  /// Does any warp run at any time?
  bool is_interleaved() const { return order == Order::random || order == Order::weak; }
};

/// Throws std::invalid_argument naming the known ones.
Schedule::Order order_by_name(std::string_view name);

}  // namespace scanlab::vgpu
