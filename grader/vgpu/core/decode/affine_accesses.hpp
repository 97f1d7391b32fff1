// Which global memory the blocks of a launch read and write, found from the code before they run.
//
// Most kernels of a course compute their addresses from the parameters, the block's and the thread's numbers alone, as
// base + 4·(blockIdx.x·blockDim.x + threadIdx.x). Within one launch, where parameters and sizes are numbers, such an
// address is Σ stride·(block's number) + an offset between two bounds; so the bytes that a block may touch are known
// before it runs. Where an address depends on data, on a loop or on a branch, nothing is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/core/run/observer.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// What addresses depend on in a launch.
struct LaunchNumbers {
  std::span<const std::byte> parameters;
  Dim3 grid, block;
};

/// Addresses of module variables and functions, by mangled name.
using SymbolTable = std::unordered_map<std::string, Address>;
using ParameterOffsets = std::unordered_map<std::string_view, std::uint32_t>;  ///< by name

/// The accesses of one kernel, which calls nothing and has no atomics.
class AffineAccesses {
 public:
  /// `parameter_offsets` as in Image. Both the kernel and `symbols` have to outlive it.
  AffineAccesses(const ptx::Function& kernel, std::span<const std::uint32_t> parameter_offsets,
                 const SymbolTable& symbols);

  /// True when this is certain: no byte that the launch writes is written by two of its blocks, or read by any. Then
  /// its blocks may run in any order, at the same time, and again, and give the same.
  bool blocks_are_apart(const LaunchNumbers& launch) const;

 private:
  struct Access {
    const ptx::Operand* address = nullptr;
    std::uint32_t bytes = 0;
    bool writes = false;
  };

  bool collect_accesses();
  bool collect_definitions();

  const ptx::Function& kernel_;
  const SymbolTable& symbols_;
  ParameterOffsets parameters_;
  std::vector<Access> accesses_;
  std::vector<const ptx::Instruction*> definitions_;  ///< of all that the addresses depend on, in the code's order
  bool is_known_ = false;                             ///< these are all, and each register has one value
};

}  // namespace scanlab::vgpu
