// What one request of a warp costs the memory: sectors of global memory, passes over the banks of shared memory.
#pragma once

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

inline constexpr unsigned banks = 32;
inline constexpr unsigned bank_bytes = 4;
inline constexpr unsigned sector_bytes = 32;

/// Passes over the banks that a request takes: the most different 4-byte words in any bank. A request of 8 or 16 bytes
/// per lane is carried out in halves or quarters of the warp, so that each moves at most 128 bytes (CUDA C++
/// Programming Guide, "Shared memory").
unsigned passes(const Access& access);

/// Passes that a request of this width takes without conflicts: one for each group of lanes that takes part.
unsigned passes_without_conflict(const Access& access);

/// Sectors that a request touches.
unsigned sectors(const Access& access);

/// Elements side by side, or one for all lanes: these never share a bank.
inline bool is_row(const Access& a) {
  return a.is_affine() && (a.stride == a.bytes || a.stride == 0);
}

/// Visits the requests of the run, those that cost the same at once: visit(access, times).
template <class Visit>
void for_each_cost(const AccessRun& run, Visit visit) {
  if (!run.is_whole()) {
    visit(run.first, 1);
    return for_each_cost(run.rest(), visit);
  }
  // A shift by whole sectors, or whole rounds of the banks, changes nothing.
  if (run.step % (banks * bank_bytes) == 0 ||
      (run.step % sector_bytes == 0 && run.first.space != ptx::StateSpace::shared))
    return visit(run.first, run.count);
  for (unsigned k = 0; k < run.count; ++k) visit(run.of(k), 1);
}

}  // namespace scanlab::vgpu
