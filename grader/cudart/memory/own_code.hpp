// Where this program's own code lies, and where in it a thread stands.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::cudart {

using vgpu::Address;

/// The code of the program's file: not that of the libraries which it loads.
struct OwnCode {
  Address base = 0;  ///< is added to the values of its symbols
  Address begin = 0, end = 0;

  bool holds(Address at) const { return at >= begin && at < end; }
};
const OwnCode& own_code();

/// Places in the program's own file, the innermost first: what the device is told of where a thread stands.
using Frames = std::vector<std::uint64_t>;
/// Of the calling thread. In a signal handler `interrupted` is where the signal came; else 0. `caller`: the place that
/// a function of this library returns to, which counts as the innermost; 0: the library's functions are known by name.
Frames frames_here(Address interrupted = 0, Address caller = 0);

}  // namespace scanlab::cudart
