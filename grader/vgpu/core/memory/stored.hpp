// The values of loads and stores: for observers, to which both are reported before they happen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// What one lane loads or stores, Access::bytes of it: at most four elements of 8.
using LaneValue = std::array<std::byte, 32>;

/// The value that `lane` is about to store, from its registers; nothing where it is not known (an asynchronous copy).
std::optional<LaneValue> value_stored(const Access& store, unsigned lane);

/// The value that `lane` is about to load, from shared or global memory; nothing where it is not known.
std::optional<LaneValue> value_loaded(const Access& load, unsigned lane);

/// Does what `lane` stores differ from what shared or global memory holds now, in the `count` bytes from `from` on,
/// counted from its address? True also where that is not known.
bool changes_memory(const Access& store, unsigned lane, std::uint64_t from, std::uint64_t count);

/// Do the two lanes store different values? True also where that is not known.
bool stores_differ(const Access& store, unsigned lane, unsigned other);

}  // namespace scanlab::vgpu
