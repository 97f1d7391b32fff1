// Words for faults: where it happened, and which threads wait for what.
#pragma once

#include <vector>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {

/// Adds kernel, source place, block and thread of the instruction that raised `fault`.
void complete(Fault& fault, const Warp& w, const Inst* i, unsigned lane);

/// Is it in a header of the CUDA Toolkit, of a system's installation or of Python's wheels?
bool of_toolkit(const SourcePlace& place);

/// The learner's own line of `line`, an index into Module::lines: of a function of the toolkit that was inlined, the
/// call of it.
SourcePlace own_place(const ptx::Module& module, std::uint32_t line);
/// From where the function was called that was inlined there, the innermost call first.
std::vector<SourcePlace> own_callers(const ptx::Module& module, std::uint32_t line);

/// The blocks of a grid that wait for a place.
struct Unstarted {
  std::uint64_t count = 0;
  std::uint64_t lowest = 0;  ///< the lowest of their numbers
};

/// No thread of the resident blocks can go on.
Fault report_deadlock(const Grid& grid, const std::vector<const Block*>& running, const Unstarted& unstarted);

/// The launch has used up its instructions, or was cancelled from outside.
Fault report_endless(const Grid& grid, const std::vector<const Block*>& running, bool cancelled);

}  // namespace scanlab::vgpu
