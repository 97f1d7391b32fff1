// A change of a program's code as it is loaded: what a learner would change at one line, so that it can be tried.
#pragma once

#include <string>
#include <vector>

#include "vgpu/ptx/module.hpp"

namespace scanlab::grade {

struct Amendment {
  enum class Change {
    barrier,          ///< __syncthreads() at the mark
    warp_barrier,     ///< __syncwarp() at the mark
    fence,            ///< __threadfence() at the mark
    without_barrier,  ///< no __syncthreads() in the line
    strong,           ///< the line's plain accesses to memory are volatile
    atomic,           ///< what the line reads, changes by one operation and writes is changed by one atomic
  };
  Change change = Change::barrier;
  unsigned line = 0;                    ///< or the mark's number: a mark is `pmevent NUMBER`, which does nothing
  std::string file = {};                ///< of the line, as the code names it; empty: the .cu file
  unsigned without = 0;                 ///< and no __syncthreads() in this line, which is moved to the mark; 0: none is
  std::vector<unsigned> barriers = {};  ///< marks at which there is a __syncthreads() besides
};

/// Makes the change wherever the line's code is, or the mark: it may be unrolled, or inlined several times. What a line
/// calls is of the line. Returns whether there was such a place.
bool amend(ptx::Module& module, const Amendment& amendment);

}  // namespace scanlab::grade
