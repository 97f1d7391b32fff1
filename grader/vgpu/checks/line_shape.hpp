// What a line of a kernel does with the arrays that it reads and writes, read off the PTX: which advice fits its races.
#pragma once

#include <cstdint>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Does the line read more elements of an array than it writes there? Then it makes one of several, as a step of a tree
/// does, and is no update of one element, which an atomic could do.
bool combines_elements(const KernelInfo& kernel, const SourcePlace& line);

/// Does the line store, where the kernel has looked at the same place, a value that does not depend on any of that
/// array? "if (level[w] == none) level[w] = now": whichever thread comes first, the value is the same or as good.
bool sets_what_it_has_looked_at(const KernelInfo& kernel, const SourcePlace& line);

/// Does what is read there, by a load or an atomic, decide whether a loop around it goes on? `line`: an index into
/// Module::lines. Then an old value is looked at again.
bool decides_a_loop(const KernelInfo& kernel, std::uint32_t line);

}  // namespace scanlab::vgpu
