#include "vgpu/core/decode/opcodes.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "vgpu/core/decode/decoder.hpp"
#include "vgpu/core/warp/control.hpp"

namespace scanlab::vgpu {
namespace {

using Effect = Opcode::Effect;

/// What is known of `opcode`; by the chapters of the PTX ISA.
const Opcode& row_of(std::string_view opcode) {
  using enum Opcode::Next;
  using enum Opcode::Predicated;
  using enum Opcode::Result;
  using D = Decoder;
  static const Opcode computing{"", following, masked, first, Effect::none, &D::compute, nullptr};
  static const Opcode table[] = {
      // name, next, predicated, result, effect, decode, run
      // control flow
      {"bra", target, masked, none, Effect::none, &D::branch, nullptr},
      {"brx", target, branch, none, Effect::none, &D::table_branch, nullptr},
      {"call", following, branch, none, Effect::none, &D::call, nullptr},
      {"ret", end, branch, none, Effect::none, &D::end, control::ret},
      {"exit", end, branch, none, Effect::none, &D::end, control::exit},
      {"trap", end, branch, none, Effect::none, &D::end, control::trap},
      {"brkpt", following, own_mask, none, Effect::none, &D::alone, control::breakpoint},
      {"nanosleep", following, branch, none, Effect::sleep, &D::sleep_for, nullptr},
      // data movement
      {"mov", following, masked, first, Effect::none, &D::move, nullptr},
      {"ld", following, masked, first, Effect::load, &D::memory, nullptr},
      {"ldu", following, masked, first, Effect::load, &D::memory, nullptr},
      {"st", following, masked, none, Effect::store, &D::memory, nullptr},
      {"cvta", following, masked, first, Effect::none, &D::convert_address, nullptr},
      {"isspacep", following, masked, first, Effect::none, &D::is_space_of, nullptr},
      {"cp", following, masked, none, Effect::copy, &D::copy_asynchronously, nullptr},
      {"prefetch", following, masked, none, Effect::none, &D::hint, nullptr},
      {"prefetchu", following, masked, none, Effect::none, &D::hint, nullptr},
      {"discard", following, masked, none, Effect::none, &D::hint, nullptr},
      {"applypriority", following, masked, none, Effect::none, &D::hint, nullptr},
      {"createpolicy", following, masked, first, Effect::none, &D::hint, nullptr},
      {"pmevent", following, masked, first, Effect::none, &D::hint, nullptr},
      // parallel synchronisation and communication
      {"bar", following, branch, of_reduction, Effect::none, &D::barrier, nullptr},
      {"barrier", following, branch, of_reduction, Effect::none, &D::barrier, nullptr},
      {"membar", following, masked, first, Effect::fence, &D::compute, nullptr},
      {"fence", following, masked, first, Effect::fence, &D::compute, nullptr},
      {"atom", following, masked, first, Effect::atomic, &D::memory, nullptr},
      {"red", following, masked, none, Effect::reduction, &D::memory, nullptr},
      {"vote", following, branch, first, Effect::none, &D::compute, nullptr},
      {"match", following, branch, first, Effect::none, &D::compute, nullptr},
      {"redux", following, branch, first, Effect::none, &D::compute, nullptr},
      {"shfl", following, branch, first, Effect::none, &D::compute, nullptr},
      {"elect", following, branch, first, Effect::none, &D::compute, nullptr},
      {"activemask", following, branch, first, Effect::none, &D::compute, nullptr},
      {"mbarrier", following, own_mask, first, Effect::none, &D::barrier_object, nullptr},
      // elements by name (warp/elements.hpp): not PTX
      {"scanlab", following, masked, first, Effect::none, &D::element_operation, nullptr},
      // stack manipulation
      {"alloca", following, own_mask, first, Effect::none, &D::stack_memory, nullptr},
      {"stacksave", following, own_mask, first, Effect::none, &D::stack_memory, nullptr},
      {"stackrestore", following, own_mask, none, Effect::none, &D::stack_memory, nullptr},
  };
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Opcode*> rows;
    for (const Opcode& row : table) rows.emplace(row.name, &row);
    return rows;
  }();
  const auto row = by_name.find(opcode);
  return row == by_name.end() ? computing : *row->second;
}

/// A clock, or where the block is resident.
bool depends_on_schedule(const ptx::Operand& o) {
  return o.name.starts_with("%clock") || o.name.starts_with("%globaltimer") || o.name == "%smid" ||
         std::ranges::any_of(o.elements, depends_on_schedule);
}

/// What is not the same for equal threads of all blocks; registers that are not known here are not, either.
bool depends_on_block(const ptx::Operand& o) {
  static constexpr std::array<std::string_view, 8> same = {"%tid.",  "%ntid.",  "%nctaid.",     "%lane",
                                                           "%nwarp", "%gridid", "%globaltimer", "%clock"};
  const auto is_same = [&](std::string_view begin) { return o.name.starts_with(begin); };
  if (o.kind == ptx::Operand::Kind::special && std::ranges::none_of(same, is_same)) return true;
  return std::ranges::any_of(o.elements, depends_on_block);
}

}  // namespace

const Opcode& opcode_of(const ptx::Instruction& instruction) {
  return row_of(instruction.opcode);
}

bool is_branched_around(const ptx::Instruction& in) {
  if (in.guard < 0) return false;
  return opcode_of(in).predicated == Opcode::Predicated::branch || (in.opcode == "mbarrier" && in.has("test_wait"));
}

bool has_destination(const ptx::Instruction& in) {
  if (in.operands.empty()) return false;
  using enum Opcode::Result;
  const Opcode::Result result = opcode_of(in).result;
  return result == of_reduction ? in.has("red") : result == first && in.operands[0].kind != ptx::Operand::Kind::address;
}

bool ties_blocks(const ptx::Instruction& in) {
  const bool in_shared = in.has_any({"shared", "shared::cta"});
  switch (opcode_of(in).effect) {
    case Effect::atomic:
    case Effect::reduction:
      return !in_shared;
    case Effect::load:
    case Effect::store:
      return !in_shared && in.has_any({"volatile", "relaxed", "acquire", "release", "mmio"});
    case Effect::fence:
      return !in.has("cta");
    case Effect::sleep:
      return true;
    default:
      return std::ranges::any_of(in.operands, depends_on_schedule);
  }
}

bool distinguishes_blocks(const ptx::Instruction& in) {
  return std::ranges::any_of(in.operands, depends_on_block);
}

}  // namespace scanlab::vgpu
