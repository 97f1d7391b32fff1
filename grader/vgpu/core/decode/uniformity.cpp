#include "vgpu/core/decode/uniformity.hpp"

#include "vgpu/core/decode/opcodes.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Operand;
using Kind = ptx::Operand::Kind;

/// What may stand inside the side of a masked region: nothing that waits for other lanes, calls, or ends the thread.
bool is_maskable(const ptx::Instruction& in) {
  return opcode_of(in).predicated == Opcode::Predicated::masked;
}

}  // namespace

Uniformity::Uniformity(const ptx::Function& function, const ControlFlow& flow, const Liveness& liveness,
                       const Rule& rule, bool may_mask)
    : function_(function), flow_(flow), liveness_(liveness) {
  if (may_mask) find_regions();
  find_shapes(rule);
}

// --- masked regions --------------------------------------------------------------------------------------------------

/// Blocks [first, end) are entered only from `branch_block` and each other, and left only by running into `join_block`
/// from the last of them.
bool Uniformity::is_side(std::uint32_t branch_block, std::uint32_t first, std::uint32_t end,
                         std::uint32_t join_block) const {
  if (first >= end) return false;
  for (std::uint32_t b = first; b < end; ++b) {
    const BasicBlock& block = flow_.blocks[b];
    for (std::uint32_t k = block.begin; k < block.end; ++k)
      if (!is_maskable(function_.instructions[k])) return false;
    for (const std::uint32_t s : block.successors) {
      const bool leaves_at_end = b + 1 == end && s == join_block;
      if ((s < first || s >= end) && !leaves_at_end) return false;
    }
  }
  for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
    if (b == branch_block || (b >= first && b < end)) continue;
    for (const std::uint32_t s : flow_.blocks[b].successors)
      if (s >= first && s < end) return false;
  }
  return true;
}

void Uniformity::find_regions() {
  for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
    const BasicBlock& block = flow_.blocks[b];
    const std::uint32_t at = block.end - 1;
    const ptx::Instruction& in = function_.instructions[at];
    if (in.opcode != "bra" || in.guard < 0 || in.operands.empty() || in.operands[0].target < 0) continue;
    const auto target = static_cast<std::uint32_t>(in.operands[0].target);
    if (target <= at + 1 || target >= function_.instructions.size()) continue;
    const std::uint32_t target_block = flow_.block_of[target];
    if (is_side(b, b + 1, target_block, target_block)) {
      regions_[at] = {at, target, target};
      continue;
    }
    // Two sides: the first ends in a jump over the second.
    const ptx::Instruction& last = function_.instructions[target - 1];
    if (last.opcode != "bra" || last.guard >= 0 || last.operands.empty() || last.operands[0].target < 0) continue;
    const auto join = static_cast<std::uint32_t>(last.operands[0].target);
    if (join <= target || join >= function_.instructions.size()) continue;
    const std::uint32_t join_block = flow_.block_of[join];
    if (is_side(b, b + 1, target_block, join_block) && is_side(b, target_block, join_block, join_block))
      regions_[at] = {at, target, join};
  }
  // A branch inside at which the lanes can diverge has to open a region too, which lies wholly inside.
  for (bool changes = true; changes;) {
    changes = false;
    for (auto it = regions_.begin(); it != regions_.end();) {
      const MaskedRegion& r = it->second;
      bool is_whole = true;
      for (std::uint32_t k = r.branch + 1; k < r.join && is_whole; ++k) {
        const ptx::Instruction& in = function_.instructions[k];
        if (in.opcode != "bra" || in.guard < 0) continue;
        const auto inner = regions_.find(k);
        const std::uint32_t side_end = r.has_other() && k < r.other ? r.other : r.join;
        is_whole = inner != regions_.end() &&
                   (side_end == r.join ? inner->second.join <= r.join : inner->second.join < side_end);
      }
      changes |= !is_whole;
      it = is_whole ? std::next(it) : regions_.erase(it);
    }
  }
  for (auto it = regions_.begin(); it != regions_.end();) {
    MaskedRegion& r = it->second;
    for (const auto& [branch, outer] : regions_)
      if (branch < r.branch && r.branch < outer.join) r.depth = std::max(r.depth, outer.depth + 1);
    it = r.depth >= most_masked_depth ? regions_.erase(it) : std::next(it);
  }
}

const MaskedRegion* Uniformity::region_at(std::uint32_t branch) const {
  const auto it = regions_.find(branch);
  return it == regions_.end() ? nullptr : &it->second;
}

std::vector<const MaskedRegion*> Uniformity::regions_around(std::uint32_t instruction) const {
  std::vector<const MaskedRegion*> around;
  for (const auto& [branch, region] : regions_)
    if (branch < instruction && instruction < region.join) around.push_back(&region);
  return around;
}

// --- shapes ----------------------------------------------------------------------------------------------------------

void Uniformity::find_shapes(const Rule& rule) {
  shapes_.assign(function_.registers.size(), Shape::uniform);
  bool changes = true;
  const auto raise_to = [&](std::int32_t reg, Shape shape) {
    Shape& now = shapes_[static_cast<std::size_t>(reg)];
    if (shape <= now) return;
    now = shape;
    changes = true;
  };
  while (changes) {
    changes = false;
    for (const ptx::Instruction& in : function_.instructions) {
      const Shape shape = rule(in, shapes_);
      for_each_definition(in, [&](std::int32_t r) { raise_to(r, shape); });
    }
    // Where the lanes may have gone two ways, what is read afterwards differs by the way they went.
    for (const auto& [branch, region] : regions_) {
      if (shapes_[static_cast<std::size_t>(function_.instructions[branch].guard)] == Shape::uniform) continue;
      const RegisterSet& live = liveness_.live_into(flow_.block_of[region.join]);
      // What the first side defines and the second reads has to be there for the second side's lanes.
      const RegisterSet* other = region.has_other() ? &liveness_.live_into(flow_.block_of[region.other]) : nullptr;
      for (std::uint32_t k = branch + 1; k < region.join; ++k)
        for_each_definition(function_.instructions[k], [&, &region = region](std::int32_t r) {  // clang below 16
          if (live[r] || (other && k < region.other && (*other)[r])) raise_to(r, Shape::varying);
        });
    }
  }
}

}  // namespace scanlab::vgpu
