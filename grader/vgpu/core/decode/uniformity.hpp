// What a kernel's registers hold while all 32 lanes of a warp execute together: often one value, or one that grows by
// the same stride from lane to lane. Code for such a warp (convergent.hpp) computes these once, not 32 times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

enum class Shape : std::uint8_t {
  uniform,  ///< the same in every lane; a predicate: all or none
  affine,   ///< base + lane * stride
  varying,  ///< anything
};

/// A branch at which the lanes may diverge and whose sides meet again soon: both sides execute one after the other,
/// each by its lanes, and nothing needs to be known of the lanes' places. Sides are straight pieces of code without
/// anything that waits, calls or leaves.
struct MaskedRegion {
  std::uint32_t branch = 0;  ///< instruction indices: the conditional branch,
  std::uint32_t other = 0;   ///< where its target side begins (= join when only one side has code),
  std::uint32_t join = 0;    ///< where the sides meet
  std::uint32_t depth = 0;   ///< regions around this one
  bool has_other() const { return other != join; }
};

inline constexpr std::uint32_t most_masked_depth = 8;

class Uniformity {
 public:
  /// The shape that an instruction gives to what it defines, from those of its sources.
  using Rule = std::function<Shape(const ptx::Instruction&, const std::vector<Shape>&)>;

  /// Without masked regions, unless it `may_mask`.
  Uniformity(const ptx::Function& function, const ControlFlow& flow, const Liveness& liveness, const Rule& rule,
             bool may_mask);

  const std::vector<Shape>& shapes() const { return shapes_; }
  Shape shape_of(std::int32_t reg) const { return shapes_[static_cast<std::size_t>(reg)]; }
  /// The region that the branch at this instruction opens, or null.
  const MaskedRegion* region_at(std::uint32_t branch) const;
  /// The regions in whose sides the instruction lies, outermost first.
  std::vector<const MaskedRegion*> regions_around(std::uint32_t instruction) const;

 private:
  void find_regions();
  bool is_side(std::uint32_t branch_block, std::uint32_t first, std::uint32_t end, std::uint32_t join_block) const;
  void find_shapes(const Rule& rule);

  const ptx::Function& function_;
  const ControlFlow& flow_;
  const Liveness& liveness_;
  std::map<std::uint32_t, MaskedRegion> regions_;
  std::vector<Shape> shapes_;
};

}  // namespace scanlab::vgpu
