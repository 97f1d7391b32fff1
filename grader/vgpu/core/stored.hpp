// What a store is about to change: for observers that are told of it before it happens.
#pragma once

#include <cstdint>

#include "vgpu/core/observer.hpp"

namespace scanlab::vgpu {

/// Does what `lane` stores differ from what shared or global memory holds now, in the `count` bytes from `from` on
/// behind its address? True also where that is not known.
bool changes_memory(const Access& store, unsigned lane, std::uint64_t from, std::uint64_t count);

/// Do the two lanes store different values? True also where that is not known.
bool stores_differ(const Access& store, unsigned lane, unsigned other);

}  // namespace scanlab::vgpu
