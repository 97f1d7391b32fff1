// An access as the race check remembers it.
#pragma once

#include <cstdint>

#include "vgpu/checks/block_clocks.hpp"
#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

/// What an access does, and how much it promises to others that touch the same bytes.
struct How {
  /// `idle`: an atomic that leaves the value as it is, and races as a strong read does.
  enum class Kind : std::uint8_t { read, write, atomic, copy, idle } kind = Kind::read;
  /// Strong accesses do not race with each other (PTX: "morally strong"): atomics, loads and stores that are relaxed,
  /// acquire or release, and volatile ones, which PTX takes for relaxed. But a volatile write by a thread that has
  /// executed no fence is hardly meant to synchronise, and races with everything.
  enum class Strength : std::uint8_t { weak, unfenced, strong } strength = Strength::weak;

  bool writes() const { return kind != Kind::read && kind != Kind::idle; }
  bool is_plain_read() const { return kind == Kind::read && strength == Strength::weak; }
  bool operator==(const How&) const = default;
};

/// Do two such accesses to the same bytes race when nothing orders them?
inline bool can_race(How a, How b) {
  if (!a.writes() && !b.writes()) return false;
  return a.strength != How::Strength::strong || b.strength != How::Strength::strong;
}

/// One access by lanes of a warp, small enough to be passed by value.
struct Footprint {
  std::uint32_t line = 0;  ///< index into ptx::Module::lines
  Mask lanes = 0;
  BlockClocks::Stamp stamp = 0;
  std::uint8_t warp = 0;
  How how;
  std::uint8_t bytes = 0;  ///< of a lane

  Footprint of_warp(unsigned other, Mask its_lanes) const {
    return {line, its_lanes, stamp, static_cast<std::uint8_t>(other), how, bytes};
  }
};
static_assert(sizeof(Footprint) == 16);

}  // namespace scanlab::vgpu
