// The decoder's inside: what its three files share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/alu/alu.hpp"
#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/decode/dependences.hpp"
#include "vgpu/core/decode/element_uses.hpp"
#include "vgpu/core/decode/frame_layout.hpp"
#include "vgpu/core/decode/uniformity.hpp"
#include "vgpu/core/memory/mbarrier.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/warp/elements.hpp"
#include "vgpu/core/warp/special.hpp"
#include "vgpu/core/warp/warp_ops.hpp"

namespace scanlab::vgpu {

using ptx::Operand;
using ptx::Type;
using Kind = ptx::Operand::Kind;

/// What a handler finds in its instruction: see Inst.
struct InstFields {
  std::array<OperandRef, 8> op = {};
  std::uint64_t imm = 0;
  std::uint32_t aux = 0;
};

/// Decodes one function: for any warp and, if it is a kernel, for warps that stay together (convergent.hpp). What
/// decides by the instruction lies in decode.cpp, what concerns addresses in memory_code.cpp, convergent code in
/// convergent_code.cpp.
class Decoder {
 public:
  Decoder(Program& program, const DecodeContext& context)
      : program_(program),
        function_(*program.source),
        context_(context),
        flow_(control_flow(function_)),
        liveness_(function_, flow_),
        frame_(function_) {
    const auto kind = context.image->names_floats ? NamedElements::floats : NamedElements::words;
    if (context.image->reports_dependences) {
      dependences_ = dependences(*context.image->module, function_, flow_, liveness_);
      heads_ = heads_around_barriers(function_, flow_);
    }
    if (context.image->names_elements) element_uses_ = element_uses(function_, kind);
  }

  void run();

  // --- what decodes an instruction: a function a row of opcodes.cpp ------------------------------------------------

  void compute(const ptx::Instruction& in);
  void branch(const ptx::Instruction& in);
  void table_branch(const ptx::Instruction& in);
  void call(const ptx::Instruction& in);
  void end(const ptx::Instruction& in);
  void alone(const ptx::Instruction& in);
  /// Has no effect on results.
  void hint(const ptx::Instruction&) {}
  void sleep_for(const ptx::Instruction& in);
  void move(const ptx::Instruction& in);
  void memory(const ptx::Instruction& in);
  void convert_address(const ptx::Instruction& in);
  void is_space_of(const ptx::Instruction& in);
  void copy_asynchronously(const ptx::Instruction& in);
  void barrier(const ptx::Instruction& in);
  void barrier_object(const ptx::Instruction& in);
  void stack_memory(const ptx::Instruction& in);
  void element_operation(const ptx::Instruction& in);

 private:
  [[noreturn]] void unsupported(const std::string& what);
  [[noreturn]] void unknown_instruction();
  const ptx::Instruction& here() const { return function_.instructions[index_]; }

  /// Decodes the whole function, for any warp or, with `uniformity_`, for those that stay together.
  std::vector<Inst> pass();

  // --- operands ----------------------------------------------------------------------------------------------------

  OperandRef reg(std::int32_t index);

  /// Reports what registers hold, where they may be elements (element_uses.hpp), or keeps it until their instruction is
  /// done: copies, by use.
  std::vector<OperandRef> look_at_elements(const std::vector<ElementUse>& uses);
  /// Reports what has become of such a copy.
  void look_at_result(const ElementUse& use, OperandRef before);
  /// Reports lanes that this instruction makes divide by zero.
  void look_at_divisor();
  /// The place of the predicate of an instruction's guard, plus one; 0 where it has none.
  std::uint64_t guard_of(const ptx::Instruction& in);

  /// The same, when its lanes can hold a value of `type`; `none`: whatever they hold.
  OperandRef reg(std::int32_t index, Type type);

  /// The value of a symbol as an address in its own space; nothing for local variables, whose place is the frame's.
  std::optional<std::uint64_t> symbol_value(const std::string& name);
  std::uint64_t symbol_or_fault(const std::string& name);

  /// A source operand as a value of `type`.
  OperandRef source(const Operand& o, Type type);

  /// The lanes that an instruction writes as `type`; `none`: the caller has compared the widths.
  OperandRef destination(const Operand& o, Type type);
  SpecialSelection special_or_fault(const std::string& name);

  // --- emission ----------------------------------------------------------------------------------------------------

  void emit(Handler run, StepForm form = {}, const InstFields& fields = {});

  /// An instruction that counts those since the last one of its kind.
  void emit_charged(Handler run, StepForm form = {}, const InstFields& fields = {});

  /// A turn may end before the instruction that is being decoded, and what came before is counted.
  void emit_checkpoint();
  void emit_local_address(OperandRef to, std::uint64_t offset, std::uint32_t bytes);
  void emit_special(OperandRef to, const SpecialSelection& special);
  void emit_copy_low(OperandRef to, std::uint32_t to_bytes, OperandRef from, std::uint32_t from_bytes);
  std::uint64_t address_of(std::size_t target) const;
  void jump_to(std::size_t instruction) { jumps_.emplace_back(code_.size() - 1, instruction); }

  void finish_block(std::size_t k);

  // --- instructions ------------------------------------------------------------------------------------------------

  void instruction(const ptx::Instruction& in);
  void branched_around(const ptx::Instruction& in);

  /// The guarded instruction has to be one Inst; what its operands need comes before.
  void guarded(const ptx::Instruction& in);
  void unguarded(const ptx::Instruction& in);
  /// The same lane by lane, whatever is known of the lanes.
  void lane_by_lane(const ptx::Instruction& in);

  /// The instruction with the addresses of variables and functions as plain numbers.
  ptx::Instruction with_addresses(const ptx::Instruction& in);
  void alu(const ptx::Instruction& in, const AluSelection& s);
  /// mov of special registers and of addresses; false when it is an ordinary mov.
  bool move_address(const ptx::Instruction& in);

  static ptx::StateSpace space_of(const ptx::Instruction& in);
  /// What an address operand without a register stands for, its offset not added.
  std::uint64_t value_of(const Operand& address);

  /// Where the window of the instruction's space begins in the generic space; 0 for global and constant memory.
  std::uint64_t window_or_fault(const ptx::Instruction& in);
  void warp_operation(const ptx::Instruction& in, const WarpSelection& s);

  // --- code for warps that stay together (convergent.hpp) ----------------------------------------------------------

  bool is_paired(std::int32_t index) const;
  void make_convergent();
  const Inst* start_for_any(std::size_t index) const { return &program_.code[starts_of_any_[index]]; }

  bool mentions_local(const ptx::Instruction& in) const;
  /// Does the instruction add names?
  bool adds_names(const ptx::Instruction& in) const { return context_.image->names_floats && adds_floats(in); }

  /// The rule of the analysis. It has to promise no more than convergent_unguarded keeps.
  Shape shape_given_by(const ptx::Instruction& in, const std::vector<Shape>& shapes);
  static bool is_predicate_logic(const ptx::Instruction& in);
  Shape shape_of_load(const ptx::Instruction& in, const std::vector<Shape>& shapes);

  struct RowHandler {
    StepHandler run = nullptr;
    MemoryForm form{};
    Type type = Type::none;
  };
  RowHandler row_handler(const ptx::Instruction& in, const Operand& address, ptx::StateSpace space, RowKind kind) const;
  bool opens_region(std::uint32_t branch) const;
  void convergent_branch(const ptx::Instruction& in);

  /// Ends the masked regions whose join comes next; false when there is none.
  bool close_regions(std::size_t next);
  std::uint32_t pair_of(std::int32_t index) { return frame_.pair(index); }

  void convergent_unguarded(const ptx::Instruction& in);

  /// After the definition of a pair: its stride and its lanes, where they are wanted.
  void defined(std::int32_t index, Shape result);

  /// A load or store whose address is a pair; false when it has to be done lane by lane.
  bool paired_memory(const ptx::Instruction& in, const Operand& address, ptx::StateSpace space,
                     const Program::Slot* slot);

  // --- ways out of it, and back ------------------------------------------------------------------------------------

  std::vector<PairedRegister> paired(const std::vector<std::int32_t>& registers);

  /// How to leave before this instruction; `to` is filled in at the end.
  std::uint32_t new_leave();
  void emit_leave();

  /// After every barrier that a warp reaches together it may come back.
  void make_ways_back();
  Program& program_;
  const ptx::Function& function_;
  const DecodeContext& context_;
  ControlFlow flow_;
  Liveness liveness_;
  std::uint32_t index_ = 0;
  std::uint32_t uncharged_ = 0;  ///< instructions since the last that counts them, this one included
  std::uint32_t own_ = 0;        ///< 1 until this instruction itself has been counted
  FrameLayout frame_;
  std::vector<std::optional<Dependence>> dependences_;  ///< of each instruction; empty where none is reported
  std::set<std::uint32_t> heads_;  ///< of loops whose rounds are counted: none where none is reported
  std::vector<std::vector<ElementUse>> element_uses_;  ///< empty where no element is a name, or none looks
  std::vector<Inst> code_;
  std::vector<StepForm> forms_;        ///< by element of code_
  std::vector<std::size_t> start_of_;  ///< by instruction: where in code_ it begins
  std::vector<std::pair<std::size_t, std::size_t>> jumps_;
  std::vector<std::vector<std::string>> tables_;

  // For convergent code.
  const Uniformity* uniformity_ = nullptr;
  std::vector<std::size_t> starts_of_any_;  ///< start_of_ of the code for any warp
  std::vector<bool> needs_lanes_;           ///< by register: a pair that is read lane by lane too
  std::vector<std::pair<std::size_t, std::uint32_t>> jumps_behind_;  ///< to after the end of the region of a branch
  std::vector<std::pair<std::size_t, const MaskedRegion*>> first_side_ends_;
  std::unordered_map<std::uint32_t, std::size_t> closed_at_;  ///< by branch: where its region ends
};

}  // namespace scanlab::vgpu
