// A strong access (volatile, relaxed, acquire, release, atomic) to global memory: its thread, its bytes, its strength.
#pragma once

#include <cstdint>

#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// How far an access or a fence is seen. There is only one device, so the scope of the system is that of the device.
enum class Reach : std::uint8_t { block, device };
inline Reach reach_of(Access::Scope scope) {
  return scope == Access::Scope::block ? Reach::block : Reach::device;
}

/// Names a strong access of a thread, or its plain write to a location of strong accesses. A thread's strong writes are
/// numbered from 1, its plain writes from first_plain.
struct StrongOperation {
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  static constexpr std::uint32_t first_plain = 1u << 31;
  std::uint64_t block = nowhere;  ///< nowhere: the value from before the launch
  std::uint32_t thread = 0, number = 0, line = 0;

  static StrongOperation of(const Actor& actor, unsigned lane) {
    return {actor.block, actor.warp * warp_size + lane, 0, actor.line};
  }
  bool is_initial() const { return block == nowhere; }
  bool is_same_thread_as(const StrongOperation& o) const { return block == o.block && thread == o.thread; }
  bool is_same_as(const StrongOperation& o) const { return is_same_thread_as(o) && number == o.number; }
};

struct StrongAccess {
  Actor actor;
  unsigned lane = 0;
  Address address = 0;
  std::uint32_t bytes = 0;  ///< 1 to 16, aligned
  Access::Order order = Access::Order::relaxed;
  Access::Scope scope = Access::Scope::device;
  /// It returns no value, so it begins no acquire pattern (PTX ISA, "Release and Acquire Patterns").
  bool is_reduction = false;

  StrongOperation operation() const { return StrongOperation::of(actor, lane); }
  Reach reach() const { return reach_of(scope); }
  bool acquires() const { return order == Access::Order::acquire || order == Access::Order::acq_rel; }
  bool releases() const { return order == Access::Order::release || order == Access::Order::acq_rel; }
};

}  // namespace scanlab::vgpu
