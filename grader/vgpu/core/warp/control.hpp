// Branches, calls, returns and block barriers. What each handler finds in its Inst stands beside its declaration; all
// but guard and unguard also hold a charge (inst.hpp).
#pragma once

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu::control {

/// imm: target.
const Inst* jump(Warp& w, const Inst* i);
/// imm: target, op[0]: predicate, aux 1: jump where it is false.
const Inst* branch(Warp& w, const Inst* i);
/// End of a block without a branch. The next block follows.
const Inst* fall_through(Warp& w, const Inst* i);
/// Stands before instructions at which lanes may have to wait, and that read the clock; in an image of fine grain
/// before every access to memory too. A turn may end here.
const Inst* checkpoint(Warp& w, const Inst* i);
/// op[0]: index register (u32), aux: index into Program::jump_tables.
const Inst* jump_table(Warp& w, const Inst* i);
/// op[0]: predicate, aux 1: negated. Executes the instruction that follows it for the lanes where it holds; `unguard`
/// stands after that.
const Inst* guard(Warp& w, const Inst* i);
const Inst* unguard(Warp& w, const Inst* i);
/// aux: index into Program::calls.
const Inst* call(Warp& w, const Inst* i);
const Inst* call_indirect(Warp& w, const Inst* i);
/// Returns from the function; from the kernel it exits.
const Inst* ret(Warp& w, const Inst* i);
const Inst* exit(Warp& w, const Inst* i);
const Inst* trap(Warp& w, const Inst* i);
/// A breakpoint that no debugger takes stops the kernel.
const Inst* breakpoint(Warp& w, const Inst* i);
/// op[0]: barrier id (b32 lanes), op[1]: thread count (b32 lanes) when aux & has_count.
/// For a reduction op[2]: destination, op[3]: predicate, aux & the operation.
const Inst* barrier(Warp& w, const Inst* i);
/// op[0]: Program::rounds; aux: a loop, whose head this is.
const Inst* count_round(Warp& w, const Inst* i);
/// The code runs past its end, which PTX does not allow.
const Inst* end_of_code(Warp& w, const Inst* i);

enum BarrierFlags : std::uint32_t {
  has_count = 1,
  arrive_only = 2,
  reduce_popc = 4,
  reduce_and = 8,
  reduce_or = 16,
  negated_predicate = 32,
  lane_by_lane = 64,  ///< barrier without .aligned: lanes of a warp may come to it by different instructions
};

}  // namespace scanlab::vgpu::control

namespace scanlab::vgpu {

struct Block;

/// Releases every barrier of the block at which all expected threads have arrived; to be called after exits.
void release_barriers(Block& block);

}  // namespace scanlab::vgpu
