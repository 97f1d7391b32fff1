#include "vgpu/core/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "vgpu/core/alu.hpp"
#include "vgpu/core/async_copy.hpp"
#include "vgpu/core/builtins.hpp"
#include "vgpu/core/cfg.hpp"
#include "vgpu/core/control.hpp"
#include "vgpu/core/fault.hpp"
#include "vgpu/core/frame_layout.hpp"
#include "vgpu/core/mbarrier.hpp"
#include "vgpu/core/memory_ops.hpp"
#include "vgpu/core/observed.hpp"
#include "vgpu/core/pairs.hpp"
#include "vgpu/core/sleeping.hpp"
#include "vgpu/core/special.hpp"
#include "vgpu/core/stack_memory.hpp"
#include "vgpu/core/uniformity.hpp"
#include "vgpu/core/warp_ops.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Operand;
using ptx::Type;
using Kind = ptx::Operand::Kind;

class Decoder {
 public:
  Decoder(Program& program, const DecodeContext& context)
      : program_(program),
        function_(*program.source),
        context_(context),
        flow_(control_flow(function_)),
        frame_(function_) {}

  void run() {
    program_.code = pass();
    starts_of_any_ = start_of_;
    if (context_.image->convergent && function_.is_entry) make_convergent();
    frame_.finish(program_);
  }

 private:
  [[noreturn]] void unsupported(const std::string& what) {
    FaultException f;
    f.fault.kind = Fault::Kind::unsupported;
    f.fault.headline = what;
    const auto places = places_of(*context_.module, function_.instructions.empty() ? 0 : here().line);
    if (!places.empty()) {
      f.fault.where = places.front();
      f.fault.called_from.assign(places.begin() + 1, places.end());
    }
    f.fault.details.push_back(fmt::format("in {}", ptx::source_name(function_.name)));
    f.fault.advice = "the virtual GPU cannot run this; write it another way, or check on a real GPU with --device gpu";
    throw f;
  }
  [[noreturn]] void unknown_instruction() {
    unsupported(fmt::format("the virtual GPU does not know the instruction {}", here().spelling()));
  }
  const ptx::Instruction& here() const { return function_.instructions[index_]; }

  /// Decodes the whole function, for any warp or, with `uniformity_`, for those that stay together.
  std::vector<Inst> pass() {
    code_.clear();
    jumps_.clear();
    jumps_behind_.clear();
    first_side_ends_.clear();
    closed_at_.clear();
    tables_.clear();
    program_.leaves.clear();
    uncharged_ = own_ = 0;
    start_of_.assign(function_.instructions.size() + 1, 0);
    for (std::size_t k = 0; k < function_.instructions.size(); ++k) {
      index_ = static_cast<std::uint32_t>(k);
      start_of_[k] = code_.size();
      if (uniformity_)
        convergent_instruction(function_.instructions[k]);
      else
        instruction(function_.instructions[k]);
      finish_block(k);
    }
    index_ = function_.instructions.empty() ? 0 : static_cast<std::uint32_t>(function_.instructions.size() - 1);
    start_of_.back() = code_.size();
    emit_charged(control::end_of_code);
    for (const auto& [at, target] : jumps_) code_[at].imm = address_of(target);
    for (const auto& [at, branch] : jumps_behind_)
      code_[at].imm = reinterpret_cast<std::uint64_t>(&code_[closed_at_.at(branch) + 1]);
    for (const auto& [at, region] : first_side_ends_)
      code_[at].aux = static_cast<std::uint32_t>(start_of_[region->other] - at);
    for (const auto& labels : tables_) {
      auto& table = program_.jump_tables.emplace_back();
      for (const std::string& label : labels)
        table.push_back(&code_[start_of_[static_cast<std::size_t>(function_.labels.at(label))]]);
    }
    return std::move(code_);
  }

  // --- operands ----------------------------------------------------------------------------------------------------

  OperandRef reg(std::int32_t index) {
    if (uniformity_ && is_paired(index)) needs_lanes_[static_cast<std::size_t>(index)] = true;
    if (const auto ref = frame_.reg(index)) return *ref;
    unsupported("an instruction without its register");
  }

  /// The same, when its lanes can hold a value of `type`; `none`: whatever they hold.
  OperandRef reg(std::int32_t index, Type type) {
    const OperandRef ref = reg(index);
    const std::uint32_t has = frame_.lane_bytes_of(index), wants = type == Type::none ? has : lane_bytes(type);
    if (has < wants || (has != 0 && wants == 0))
      unsupported(fmt::format("{} with an operand in a register of another width", here().spelling()));
    return ref;
  }

  /// The value of a symbol as an address in its own space; nothing for local variables, whose place is the frame's.
  std::optional<std::uint64_t> symbol_value(const std::string& name) {
    if (const SharedVariable* v = context_.shared_variable(name)) return v->offset;
    if (function_.is_entry)
      for (std::size_t k = 0; k < function_.parameters.size(); ++k)
        if (function_.parameters[k].name == name) return context_.image->parameter_offsets[k];
    if (const auto it = context_.symbols->find(name); it != context_.symbols->end()) {
      if (const ptx::Function* f = context_.module->find_function(name)) context_.program_of(*f);
      return it->second;
    }
    return std::nullopt;
  }

  /// A source operand as a value of `type`.
  OperandRef source(const Operand& o, Type type) {
    switch (o.kind) {
      case Kind::reg:
        if (!o.part.empty() || (o.negated && type != Type::pred)) unknown_instruction();
        return reg(o.reg, type);
      case Kind::integer:
      case Kind::floating:
        return frame_.constant(immediate_bits(o, type), type);
      case Kind::special: {
        const auto special = special_or_fault(o.name);
        const OperandRef to = frame_.temporary(lane_bytes(special.type));
        Inst& i = emit(special.run);
        i.op[0] = to;
        i.imm = special.imm;
        return to;
      }
      case Kind::symbol: {
        if (const auto local = frame_.local(o.name)) {
          const OperandRef to = frame_.temporary(8);
          emit_local_address(to, *local + static_cast<std::uint64_t>(o.offset), lane_bytes(type));
          return to;
        }
        const auto value = symbol_value(o.name);
        if (!value) unsupported(fmt::format("unknown symbol {}", ptx::demangle(o.name)));
        return frame_.constant(*value + static_cast<std::uint64_t>(o.offset), type);
      }
      default:
        unknown_instruction();
    }
  }

  OperandRef destination(const Operand& o, Type type = Type::none) {
    if (o.kind == Kind::sink) return frame_.trash();
    if (o.kind != Kind::reg || !o.part.empty()) unknown_instruction();
    return reg(o.reg, type);
  }

  SpecialSelection special_or_fault(const std::string& name) {
    if (name.starts_with("%clock") || name.starts_with("%globaltimer")) emit_checkpoint();
    if (const auto s = select_special(name)) return *s;
    unsupported(fmt::format("the virtual GPU does not know the special register {}", name));
  }

  // --- emission ----------------------------------------------------------------------------------------------------

  Inst& emit(Handler run) {
    Inst& i = code_.emplace_back();
    i.run = run;
    i.index = index_;
    if (!function_.instructions.empty()) {
      i.line = here().line;
      i.rank = flow_.blocks[flow_.block_of[index_]].rank;
    }
    return i;
  }

  /// An instruction that counts those since the last one of its kind.
  Inst& emit_charged(Handler run) {
    Inst& i = emit(run);
    charge_of(i) = uncharged_;
    uncharged_ = 0;
    return i;
  }

  /// A turn may end before the instruction that is being decoded, and what came before is counted.
  void emit_checkpoint() {
    if (uncharged_ <= own_) return;
    charge_of(emit(control::checkpoint)) = uncharged_ - own_;
    uncharged_ = own_;
  }

  void emit_local_address(OperandRef to, std::uint64_t offset, std::uint32_t bytes) {
    Inst& i = emit(local_address);
    i.op[0] = to;
    i.imm = offset;
    i.aux = bytes;
  }

  void emit_copy_low(OperandRef to, std::uint32_t to_bytes, OperandRef from, std::uint32_t from_bytes) {
    Inst& i = emit(copy_low);
    i.op[0] = to;
    i.op[1] = from;
    i.aux = to_bytes | from_bytes << 8;
  }

  std::uint64_t address_of(std::size_t target) const {
    return reinterpret_cast<std::uint64_t>(&code_[start_of_[target]]);
  }

  void jump_to(std::size_t instruction) { jumps_.emplace_back(code_.size() - 1, instruction); }

  void finish_block(std::size_t k) {
    const BasicBlock& block = flow_.blocks[flow_.block_of[k]];
    if (k + 1 != block.end || k + 1 >= function_.instructions.size()) return;
    const ptx::Instruction& last = function_.instructions[k];
    if (uniformity_ && close_regions(k + 1)) return;
    const bool branches = last.opcode == "bra" || last.opcode == "brx" || last.opcode == "ret" || last.opcode == "exit";
    if (branches && !is_branched_around(last)) return;
    if (flow_.blocks[flow_.block_of[k + 1]].predecessors > 1 || is_branched_around(last))
      emit_charged(control::fall_through);
  }

  // --- instructions ------------------------------------------------------------------------------------------------

  void instruction(const ptx::Instruction& in) {
    const std::size_t before = code_.size();
    own_ = 1;
    uncharged_ += own_;
    if (in.opcode == "bra")
      branch(in);
    else if (in.guard < 0)
      unguarded(in);
    else if (is_branched_around(in))
      branched_around(in);
    else
      guarded(in);
    // Hints, of which nothing is left, do not count.
    if (code_.size() == before) uncharged_ -= own_;
  }

  void branched_around(const ptx::Instruction& in) {
    Inst& i = emit_charged(control::branch);
    i.op[0] = reg(in.guard, Type::pred);
    i.aux = in.guard_negated ? 0 : 1;
    jump_to(index_ + 1);
    own_ = 0;
    unguarded(in);
  }

  /// The guarded instruction has to be one Inst; what its operands need comes before.
  void guarded(const ptx::Instruction& in) {
    const std::size_t before = code_.size();
    unguarded(in);
    if (code_.size() == before) return;
    const Inst body = code_.back();
    code_.pop_back();
    Inst& guard = emit(control::guard);
    guard.op[0] = reg(in.guard, Type::pred);
    guard.aux = in.guard_negated ? 1 : 0;
    code_.push_back(body);
    emit(control::unguard);
  }

  void unguarded(const ptx::Instruction& in) {
    const std::string_view op = in.opcode;
    if (op == "ret") return void(emit_charged(control::ret));
    if (op == "exit") return void(emit_charged(control::exit));
    if (op == "trap") return void(emit_charged(control::trap));
    if (op == "brx") return table_branch(in);
    if (op == "call") return call(in);
    if (op == "ld" || op == "ldu" || op == "st" || op == "atom" || op == "red") return memory(in);
    if (const auto s = select_mbarrier(in)) return barrier_object(in, *s);
    if (op == "nanosleep") return sleep_for(in);
    if (op == "alloca" || op == "stacksave" || op == "stackrestore") return stack_memory(in);
    if (op == "brkpt") return void(emit(control::breakpoint));
    if (op == "cp") return copy_asynchronously(in);
    if (op == "cvta") return convert_address(in);
    if (op == "isspacep") return is_space_of(in);
    if ((op == "bar" || op == "barrier") && !in.has("warp")) return barrier(in);
    if (op == "mov" && move(in)) return;
    // Hints without effect on results.
    if (op == "prefetch" || op == "prefetchu" || op == "discard" || op == "applypriority" || op == "pmevent" ||
        op == "createpolicy")
      return;
    if (const auto s = select_warp(in)) return warp_operation(in, *s);
    const ptx::Instruction plain = with_addresses(in);
    if (const auto s = select_alu(plain, function_.registers)) return alu(plain, *s);
    unknown_instruction();
  }

  /// The instruction with the addresses of variables and functions as plain numbers.
  ptx::Instruction with_addresses(const ptx::Instruction& in) {
    ptx::Instruction plain = in;
    for (Operand& o : plain.operands)
      if (o.kind == Kind::symbol) {
        const auto value = symbol_value(o.name);
        if (!value) unsupported(fmt::format("unknown symbol {}", ptx::demangle(o.name)));
        o.kind = Kind::integer;
        o.bits = *value + static_cast<std::uint64_t>(o.offset);
      }
    return plain;
  }

  void branch(const ptx::Instruction& in) {
    if (in.operands.empty() || in.operands[0].target < 0) unknown_instruction();
    Inst& i = emit_charged(in.guard >= 0 ? control::branch : control::jump);
    if (in.guard >= 0) i.op[0] = reg(in.guard, Type::pred);
    i.aux = in.guard_negated ? 1 : 0;
    jump_to(static_cast<std::size_t>(in.operands[0].target));
  }

  void table_branch(const ptx::Instruction& in) {
    if (in.operands.size() != 2) unknown_instruction();
    if (uniformity_) return emit_leave();
    const auto table = function_.branch_targets.find(in.operands[1].name);
    if (table == function_.branch_targets.end()) unsupported("a switch without its table of targets");
    const OperandRef index = source(in.operands[0], Type::u32);
    Inst& i = emit_charged(control::jump_table);
    i.op[0] = index;
    i.aux = static_cast<std::uint32_t>(tables_.size());
    tables_.push_back(table->second);
  }

  void alu(const ptx::Instruction& in, const AluSelection& s) {
    OperandRef op[8] = {};
    unsigned place = 0;
    const auto put = [&](OperandRef ref) {
      if (place >= 8) unknown_instruction();
      op[place++] = ref;
    };
    OperandRef second = 0;
    for (std::size_t k = 0; k < in.operands.size(); ++k) {
      Operand o = in.operands[k];
      o.part.clear();  // what the handler does with it is in the selection
      o.negated = false;
      if (o.kind == Kind::pair && o.elements.size() == 2 && k == 0) {
        put(destination(o.elements[0]));
        second = destination(o.elements[1]);
      } else if (o.kind == Kind::vector) {
        for (const Operand& e : o.elements) put(k == 0 ? destination(e) : source(e, s.type[std::min(place, 7u)]));
      } else if (k == 0) {
        put(destination(o));
      } else {
        put(source(o, s.type[std::min(place, 7u)]));
      }
    }
    Inst& i = emit(s.run);
    std::copy(std::begin(op), std::end(op), std::begin(i.op));
    if (!in.operands.empty() && in.operands[0].kind == Kind::pair) i.op[s.second] = second;
    i.imm = s.imm;
    if (s.is_addition && context_.image->observed) observe_addition(i);
  }

  /// mov of special registers and of addresses; false when it is an ordinary mov.
  bool move(const ptx::Instruction& in) {
    if (in.operands.size() != 2) return false;
    const Operand& from = in.operands[1];
    if (from.kind == Kind::special && in.operands[0].kind == Kind::vector) {
      // mov.v4.u32 of a whole family: x, y, z and 0.
      const std::vector<Operand>& to = in.operands[0].elements;
      if (!in.has("v4") || !in.has("u32") || to.size() != 4) unknown_instruction();
      const char* const parts[] = {".x", ".y", ".z"};
      for (std::size_t k = 0; k < 4; ++k) {
        OperandRef part = frame_.constant(0, Type::u32);
        if (k < 3) {
          Operand one = from;
          one.name += parts[k];
          part = source(one, Type::u32);
        }
        emit_copy_low(destination(to[k]), 4, part, 4);
      }
      return true;
    }
    if (from.kind == Kind::special) {
      const auto special = special_or_fault(from.name);
      const std::uint32_t wanted = lane_bytes(ptx::type_from_suffix(in.modifiers.empty() ? "" : in.modifiers.back()));
      if (wanted > lane_bytes(special.type)) return false;
      if (wanted < lane_bytes(special.type)) {  // %gridid as 32 bits, %tid as 16: of older PTX
        const OperandRef whole = source(from, special.type);
        if (in.operands[0].kind == Kind::reg && frame_.lane_bytes_of(in.operands[0].reg) != wanted) return false;
        emit_copy_low(destination(in.operands[0]), wanted, whole, lane_bytes(special.type));
        return true;
      }
      const OperandRef to = destination(in.operands[0], special.type);
      Inst& i = emit(special.run);
      i.op[0] = to;
      i.imm = special.imm;
      return true;
    }
    if (from.kind == Kind::symbol)
      if (const auto local = frame_.local(from.name)) {
        emit_local_address(destination(in.operands[0], ptx::type_from_suffix(in.modifiers.back())),
                           *local + static_cast<std::uint64_t>(from.offset),
                           lane_bytes(ptx::type_from_suffix(in.modifiers.back())));
        return true;
      }
    return false;
  }

  static ptx::StateSpace space_of(const ptx::Instruction& in) {
    for (const std::string& m : in.modifiers) {
      if (m == "global") return ptx::StateSpace::global;
      if (m.starts_with("shared")) return ptx::StateSpace::shared;
      if (m == "local") return ptx::StateSpace::local;
      if (m == "const") return ptx::StateSpace::constant;
      if (m.starts_with("param")) return ptx::StateSpace::param;
    }
    return ptx::StateSpace::generic;
  }

  void memory(const ptx::Instruction& in) {
    if (context_.image->fine_grain) emit_checkpoint();
    const bool is_store = in.opcode == "st" || in.opcode == "red";
    const std::size_t address_at = is_store ? 0 : 1;
    if (in.operands.size() <= address_at) unknown_instruction();
    const Operand& address = in.operands[address_at];
    if (address.kind != Kind::address) unknown_instruction();
    ptx::StateSpace space = space_of(in);
    // A variable's name stands for its address in its own space.
    if (space == ptx::StateSpace::generic && !address.name.empty()) {
      if (frame_.local(address.name)) space = ptx::StateSpace::local;
      if (context_.shared_variable(address.name)) space = ptx::StateSpace::shared;
    }

    // Arguments and results of calls live in the frame.
    const Program::Slot* slot = nullptr;
    if (space == ptx::StateSpace::param && address.reg < 0) slot = frame_.slot(address.name);

    if (uniformity_ && paired_memory(in, address, space, slot)) return;
    OperandRef base = 0;
    bool is_parameter = false;  // of the kernel, at a known place
    auto width = AddressWidth::bits64;
    auto offset = static_cast<std::uint64_t>(address.offset);
    if (address.reg >= 0) {
      if (frame_.lane_bytes_of(address.reg) == 4) width = AddressWidth::bits32;
      base = reg(address.reg, width == AddressWidth::bits32 ? Type::u32 : Type::u64);
    } else if (!slot) {
      if (const auto local = frame_.local(address.name)) {
        base = frame_.temporary(8);
        emit_local_address(base, *local, 8);
      } else if (!address.name.empty()) {
        const auto value = symbol_value(address.name);
        if (!value) unsupported(fmt::format("unknown symbol {}", ptx::demangle(address.name)));
        is_parameter = space == ptx::StateSpace::param;
        if (is_parameter)
          offset += *value;
        else
          base = frame_.constant(*value, Type::u64);
      } else {
        base = frame_.constant(address.bits, Type::u64);
      }
    }
    const auto s = select_memory(in, function_.registers, space, width, context_.image->observed);
    if (!s) unknown_instruction();

    OperandRef op[8] = {};
    unsigned place = 0;
    const auto add = [&](const Operand& o, bool is_destination) {
      const std::vector<Operand> one{o};
      for (const Operand& e : o.kind == Kind::vector ? o.elements : one)
        if (place < 7) op[place++] = is_destination ? destination(e, s->type) : source(e, s->type);
    };
    if (in.opcode == "red") place = 1;
    for (std::size_t k = 0; k < in.operands.size(); ++k)
      if (k != address_at) add(in.operands[k], !is_store && k == 0);
    Inst& i = emit(s->run);
    std::copy(std::begin(op), std::end(op), std::begin(i.op));
    i.aux = std::bit_cast<std::uint32_t>(s->form);
    if (slot) {
      i.run = is_store ? store_slot : load_slot;
      const std::uint64_t bytes = std::uint64_t{s->form.count} * s->form.bytes;
      if (offset > slot->size || bytes > slot->size - offset) unsupported("an access outside an argument of a call");
      i.imm = slot->offset + offset;
      i.op[6] = slot->size;
    } else if (is_parameter) {
      const std::uint64_t bytes = std::uint64_t{s->form.count} * s->form.bytes;
      if (is_store || offset > context_.image->parameter_bytes || bytes > context_.image->parameter_bytes - offset)
        unsupported("an access outside the kernel's parameters");
      i.run = load_parameter;
      i.imm = offset;
    } else {
      i.op[6] = context_.image->ranges++;
      i.op[7] = base;
      i.imm = offset;
    }
  }

  void copy_asynchronously(const ptx::Instruction& in) {
    if (is_async_wait(in)) return;
    const auto bytes = async_copy_bytes(in);
    if (!bytes) unknown_instruction();
    AsyncCopyForm form;
    form.bytes = static_cast<std::uint8_t>(*bytes);
    const Operand &to = in.operands[0], &from = in.operands[1];
    const auto base_of = [&](const Operand& o) {
      if (o.reg >= 0) return reg(o.reg, frame_.lane_bytes_of(o.reg) == 8 ? Type::u64 : Type::u32);
      const auto value = o.name.empty() ? std::optional(o.bits) : symbol_value(o.name);
      if (!value) unsupported(fmt::format("unknown symbol {}", ptx::demangle(o.name)));
      return frame_.constant(*value, Type::u64);
    };
    const auto is_64 = [&](const Operand& o) { return o.reg < 0 || frame_.lane_bytes_of(o.reg) == 8; };
    if (!is_64(from)) unknown_instruction();
    form.to_is_64 = is_64(to);
    // The last operand may be a cache policy, which changes no result.
    const bool has_third = in.operands.size() > (in.has("L2::cache_hint") ? 4u : 3u);
    const bool is_predicate = has_third && in.operands[3].kind == Kind::reg &&
                              function_.registers[static_cast<std::size_t>(in.operands[3].reg)].type == Type::pred;
    form.has_count = has_third && !is_predicate;
    form.ignores = !is_predicate ? 0 : in.operands[3].negated ? 2 : 1;
    const OperandRef bases[] = {base_of(to), base_of(from)};
    const OperandRef count = has_third ? source(in.operands[3], is_predicate ? Type::pred : Type::u32) : 0;
    Inst& i = emit(async_copy);
    std::copy(std::begin(bases), std::end(bases), std::begin(i.op));
    i.op[2] = count;
    i.aux = std::bit_cast<std::uint32_t>(form);
    i.imm = std::bit_cast<std::uint64_t>(
        AsyncCopyOffsets{static_cast<std::int32_t>(to.offset), static_cast<std::int32_t>(from.offset)});
  }

  void sleep_for(const ptx::Instruction& in) {
    if (in.operands.size() != 1 || !in.has("u32")) unknown_instruction();
    const OperandRef time = source(in.operands[0], Type::u32);
    emit_checkpoint();
    emit(sleep).op[0] = time;
  }

  void stack_memory(const ptx::Instruction& in) {
    const std::vector<Operand>& operands = in.operands;
    const bool allocates = in.opcode == "alloca";
    if (!in.has("u64") || operands.size() < (allocates ? 2u : 1u) || operands.size() > (allocates ? 3u : 1u))
      unknown_instruction();
    std::uint64_t align = 8;
    if (operands.size() == 3) align = operands[2].bits;
    if (!std::has_single_bit(align) || align > 4096) unknown_instruction();
    for (std::size_t k = 0; k < std::min<std::size_t>(operands.size(), 2); ++k)
      if (operands[k].kind == Kind::reg && frame_.lane_bytes_of(operands[k].reg) != 8) unknown_instruction();
    const OperandRef bytes = allocates ? source(operands[1], Type::u64) : 0;
    const OperandRef top = in.opcode == "stackrestore" ? source(operands[0], Type::u64) : destination(operands[0]);
    Inst& i = emit(allocates ? allocate_on_stack : in.opcode == "stacksave" ? save_stack : restore_stack);
    i.op[0] = top;
    i.op[1] = bytes;
    i.imm = align;
  }

  void barrier_object(const ptx::Instruction& in, const MbarrierSelection& s) {
    emit_checkpoint();
    OperandRef result = frame_.trash(), value = frame_.constant(1, s.type), base = 0;
    if (s.result >= 0) {
      const Operand& to = in.operands[static_cast<std::size_t>(s.result)];
      result = destination(to);
      if (to.kind == Kind::reg && frame_.lane_bytes_of(to.reg) != lane_bytes(s.result_type)) unknown_instruction();
    }
    if (s.source >= 0) value = source(in.operands[static_cast<std::size_t>(s.source)], s.type);
    MbarrierForm form;
    form.drops = s.drops;
    std::uint64_t offset = 0;
    if (s.address >= 0) {
      const Operand& at = in.operands[static_cast<std::size_t>(s.address)];
      offset = static_cast<std::uint64_t>(at.offset);
      form.address_is_64 = at.reg < 0 || frame_.lane_bytes_of(at.reg) == 8;
      if (!form.address_is_64 && frame_.lane_bytes_of(at.reg) != 4) unknown_instruction();
      // A variable's name stands for its address in its own space.
      form.is_generic = space_of(in) == ptx::StateSpace::generic && at.name.empty();
      base = at.reg >= 0 ? reg(at.reg) : frame_.constant(value_of(at), Type::u64);
    }
    Inst& i = emit(s.run);
    i.op[0] = result;
    i.op[1] = value;
    i.op[7] = base;
    i.imm = offset;
    i.aux = std::bit_cast<std::uint32_t>(form);
  }

  /// What an address operand without a register stands for, its offset not added.
  std::uint64_t value_of(const Operand& address) {
    if (address.name.empty()) return address.bits;
    const auto value = symbol_value(address.name);
    if (!value) unsupported(fmt::format("unknown symbol {}", ptx::demangle(address.name)));
    return *value;
  }

  /// Where the window of the instruction's space begins in the generic space; 0 for global and constant memory.
  std::uint64_t window_or_fault(const ptx::Instruction& in) {
    switch (space_of(in)) {
      case ptx::StateSpace::shared:
        return shared_window;
      case ptx::StateSpace::local:
        return local_window;
      case ptx::StateSpace::param:
        return param_window;
      case ptx::StateSpace::global:
      case ptx::StateSpace::constant:
        return 0;
      default:
        unknown_instruction();
    }
  }

  void convert_address(const ptx::Instruction& in) {
    if (in.operands.size() != 2 || !in.has("u64")) unknown_instruction();
    const std::uint64_t window = window_or_fault(in);
    const OperandRef from = source(in.operands[1], Type::u64), to = destination(in.operands[0], Type::u64);
    Inst& i = emit(add_window);
    i.op[0] = to;
    i.op[1] = from;
    i.imm = in.has("to") ? 0 - window : window;
  }

  void is_space_of(const ptx::Instruction& in) {
    if (in.operands.size() != 2) unknown_instruction();
    const OperandRef from = source(in.operands[1], Type::u64), to = destination(in.operands[0], Type::pred);
    std::uint64_t window = 0;
    switch (space_of(in)) {
      case ptx::StateSpace::shared:
        window = shared_window;
        break;
      case ptx::StateSpace::local:
        window = local_window;
        break;
      case ptx::StateSpace::param:
        window = param_window;
        break;
      case ptx::StateSpace::global:
        break;
      case ptx::StateSpace::constant:
        window = is_constant_space;
        break;
      default:
        unknown_instruction();
    }
    Inst& i = emit(is_space);
    i.op[0] = to;
    i.op[1] = from;
    i.imm = window;
  }

  void barrier(const ptx::Instruction& in) {
    std::uint32_t flags = 0;
    bool has_kind = false;
    for (const std::string& m : in.modifiers) {
      if (m == "sync")
        has_kind = true;
      else if (m == "arrive")
        has_kind = true, flags |= control::arrive_only;
      else if (m == "red")
        has_kind = true;
      else if (m == "popc")
        flags |= control::reduce_popc;
      else if (m == "and")
        flags |= control::reduce_and;
      else if (m == "or")
        flags |= control::reduce_or;
      else if (m != "cta" && m != "aligned" && m != "u32" && m != "pred")
        unknown_instruction();
    }
    if (!has_kind) unknown_instruction();
    const bool reduces = flags & (control::reduce_popc | control::reduce_and | control::reduce_or);
    std::vector<Operand> operands = in.operands;
    OperandRef op[4] = {};
    if (reduces) {
      if (operands.size() < 3) unknown_instruction();
      op[2] = destination(operands.front(), flags & control::reduce_popc ? Type::u32 : Type::pred);
      const Operand& p = operands.back();
      if (p.negated) flags |= control::negated_predicate;
      op[3] = source(p, Type::pred);
      operands.erase(operands.begin());
      operands.pop_back();
    }
    op[0] = operands.empty() ? frame_.constant(0, Type::u32) : source(operands[0], Type::u32);
    if (operands.size() > 1) {
      flags |= control::has_count;
      op[1] = source(operands[1], Type::u32);
    }
    Inst& i = emit_charged(control::barrier);
    std::copy(std::begin(op), std::end(op), std::begin(i.op));
    i.aux = flags;
  }

  void warp_operation(const ptx::Instruction& in, const WarpSelection& s) {
    OperandRef op[8] = {};
    for (std::size_t k = 0; k < in.operands.size() && k < 6; ++k) {
      const Operand& o = in.operands[k];
      if (static_cast<int>(k) == s.members) {
        op[5] = source(o, Type::b32);
      } else if (k == 0 && o.kind == Kind::pair) {
        op[0] = destination(o.elements[0]);
        op[4] = destination(o.elements[1]);
      } else if (k == 0) {
        op[0] = destination(o);
      } else {
        op[k] = source(o, s.type[k] == Type::none ? Type::b32 : s.type[k]);
      }
    }
    if (s.members >= 0) emit_checkpoint();
    Inst& i = emit(s.run);
    std::copy(std::begin(op), std::end(op), std::begin(i.op));
    i.aux = s.aux;
  }

  void call(const ptx::Instruction& in) {
    Program::Call c;
    std::size_t callee_at = 0;
    while (callee_at < in.operands.size() && in.operands[callee_at].kind == Kind::vector) ++callee_at;
    if (callee_at >= in.operands.size()) unknown_instruction();
    const auto slots_of = [&](const Operand& list) {
      std::vector<Program::Slot> slots;
      for (const Operand& o : list.elements) {
        const Program::Slot* slot = frame_.slot(o.name);
        if (!slot) unsupported("a call with arguments that are not .param variables");
        slots.push_back(*slot);
      }
      return slots;
    };
    if (callee_at > 0) c.results = slots_of(in.operands[0]);
    if (callee_at + 1 < in.operands.size() && in.operands[callee_at + 1].kind == Kind::vector)
      c.arguments = slots_of(in.operands[callee_at + 1]);
    const Operand& callee = in.operands[callee_at];
    Handler run = control::call;
    if (callee.kind == Kind::reg) {
      c.target = reg(callee.reg, Type::u64);
      run = control::call_indirect;
    } else {
      const ptx::Function* f = context_.module->find_function(callee.name);
      if (f && f->is_defined) {
        c.callee = context_.program_of(*f);
      } else {
        run = select_builtin(callee.name);
        if (!run)
          unsupported(
              fmt::format("a call of {}, which is defined nowhere in this program", ptx::demangle(callee.name)));
      }
    }
    program_.calls.push_back(std::move(c));
    const bool enters = run == control::call || run == control::call_indirect;
    if (uniformity_ && enters) {
      program_.calls.pop_back();
      return emit_leave();
    }
    if (run == control::call_indirect) emit_checkpoint();
    Inst& i = enters ? emit_charged(run) : emit(run);
    i.aux = static_cast<std::uint32_t>(program_.calls.size() - 1);
  }

  // --- code for warps that stay together (convergent.hpp) ----------------------------------------------------------

  bool is_paired(std::int32_t index) const {
    return uniformity_->shape_of(index) != Shape::varying &&
           function_.registers[static_cast<std::size_t>(index)].type != Type::pred &&
           frame_.lane_bytes_of(index) <= sizeof(Pair::value);
  }

  void make_convergent() {
    const Uniformity uniformity(function_, flow_, [&](const ptx::Instruction& in, const std::vector<Shape>& shapes) {
      return shape_given_by(in, shapes);
    });
    uniformity_ = &uniformity;
    // The first pass only finds out which registers have to be there lane by lane too.
    needs_lanes_.assign(function_.registers.size(), false);
    pass();
    program_.convergent = pass();
    make_ways_back();
    uniformity_ = nullptr;
  }

  const Inst* start_for_any(std::size_t index) const { return &program_.code[starts_of_any_[index]]; }

  bool mentions_local(const ptx::Instruction& in) const {
    return std::any_of(in.operands.begin(), in.operands.end(),
                       [&](const Operand& o) { return o.kind == Kind::symbol && frame_.local(o.name); });
  }

  /// The rule of the analysis. It has to promise no more than convergent_instruction keeps.
  Shape shape_given_by(const ptx::Instruction& in, const std::vector<Shape>& shapes) {
    if (in.operands.empty() || in.guard >= 0) return Shape::varying;
    if (in.opcode == "ld") return shape_of_load(in, shapes);
    if (is_predicate_logic(in)) {
      Shape most = Shape::uniform;
      for_each_use(in, [&](std::int32_t r) { most = std::max(most, shapes[static_cast<std::size_t>(r)]); });
      return most;
    }
    if (mentions_local(in)) return Shape::varying;
    const auto s = select_pairs(with_addresses(in), function_, shapes, context_.image->rows);
    return s ? s->result : Shape::varying;
  }

  static bool is_predicate_logic(const ptx::Instruction& in) {
    const std::string_view op = in.opcode;
    return (op == "and" || op == "or" || op == "xor" || op == "not" || op == "mov") && in.modifiers.size() == 1 &&
           in.modifiers[0] == "pred" && in.operands[0].kind == Kind::reg;
  }

  Shape shape_of_load(const ptx::Instruction& in, const std::vector<Shape>& shapes) {
    if (in.operands.size() != 2 || in.operands[0].kind != Kind::reg || in.operands[1].kind != Kind::address)
      return Shape::varying;
    const Operand& address = in.operands[1];
    const ptx::StateSpace space = space_of(in);
    if (space == ptx::StateSpace::param)
      return address.reg < 0 && !frame_.slot(address.name) ? Shape::uniform : Shape::varying;
    if (address.reg >= 0 && shapes[static_cast<std::size_t>(address.reg)] != Shape::uniform) return Shape::varying;
    if (frame_.local(address.name)) return Shape::varying;
    return row_handler(in, address, space, RowKind::load_uniform).run ? Shape::uniform : Shape::varying;
  }

  struct RowHandler {
    Handler run = nullptr;
    MemoryForm form{};
    Type type = Type::none;
  };
  RowHandler row_handler(const ptx::Instruction& in, const Operand& address, ptx::StateSpace space,
                         RowKind kind) const {
    const bool is_narrow = address.reg >= 0 && frame_.lane_bytes_of(address.reg) == 4;
    const auto width = is_narrow ? AddressWidth::bits32 : AddressWidth::bits64;
    const auto s = select_memory(in, function_.registers, space, width, context_.image->observed);
    if (!s || in.opcode == "atom" || in.opcode == "red") return {};
    return {select_row(s->form, space, width, kind, context_.image->observed), s->form, s->type};
  }

  void convergent_instruction(const ptx::Instruction& in) {
    const std::size_t before = code_.size();
    own_ = 1;
    uncharged_ += own_;
    if (in.opcode == "bra")
      convergent_branch(in);
    else if (in.guard < 0)
      convergent_unguarded(in);
    else if (is_branched_around(in))
      convergent_branched_around(in);
    else
      guarded(in);
    if (code_.size() == before) uncharged_ -= own_;
  }

  void convergent_branched_around(const ptx::Instruction& in) {
    Inst& i = emit_charged(branch_together);
    i.op[0] = reg(in.guard, Type::pred);
    i.op[1] = in.guard_negated ? 0 : 1;
    i.aux = new_leave();
    jump_to(index_ + 1);
    own_ = 0;
    convergent_unguarded(in);
  }

  bool opens_region(std::uint32_t branch) const {
    return uniformity_->region_at(branch) &&
           uniformity_->shape_of(function_.instructions[branch].guard) == Shape::varying;
  }

  void convergent_branch(const ptx::Instruction& in) {
    if (in.operands.empty() || in.operands[0].target < 0) unknown_instruction();
    const auto target = static_cast<std::size_t>(in.operands[0].target);
    if (in.guard < 0) {
      for (const MaskedRegion* r : uniformity_->regions_around(index_)) {
        if (!opens_region(r->branch)) continue;
        if (r->has_other() && index_ + 1 == r->other) {
          Inst& i = emit_charged(end_first_side);
          i.op[2] = r->depth;
          first_side_ends_.emplace_back(code_.size() - 1, r);
          jumps_behind_.emplace_back(code_.size() - 1, r->branch);
          return;
        }
        // A jump to where the region ends anyway: close_regions follows.
        if (index_ + 1 == r->join && target == r->join) return;
      }
      emit_charged(control::jump);
      return jump_to(target);
    }
    const MaskedRegion* r = opens_region(index_) ? uniformity_->region_at(index_) : nullptr;
    Inst& i = emit_charged(r ? open_region : branch_together);
    i.op[0] = reg(in.guard, Type::pred);
    i.op[1] = in.guard_negated ? 1 : 0;
    if (!r) {
      i.aux = new_leave();
      return jump_to(target);
    }
    i.op[2] = r->depth;
    i.op[3] = r->has_other();
    if (r->has_other())
      jump_to(target);
    else
      jumps_behind_.emplace_back(code_.size() - 1, r->branch);
  }

  /// Ends the masked regions whose join comes next; false when there is none.
  bool close_regions(std::size_t next) {
    auto regions = uniformity_->regions_around(index_);
    bool any = false;
    for (std::size_t k = regions.size(); k-- > 0;) {
      const MaskedRegion* r = regions[k];
      if (r->join != next || !opens_region(r->branch)) continue;
      Inst& i = emit_charged(close_region);
      i.op[2] = r->depth;
      closed_at_[r->branch] = code_.size() - 1;
      any = true;
    }
    return any;
  }

  OperandRef pair_of(std::int32_t index) { return frame_.pair(index); }

  void convergent_unguarded(const ptx::Instruction& in) {
    const bool known = !in.operands.empty() && in.operands[0].kind == Kind::reg && in.operands[0].reg >= 0;
    if (!known || in.opcode == "ld" || is_predicate_logic(in) || mentions_local(in)) return unguarded(in);
    const std::int32_t to = in.operands[0].reg;
    const bool is_predicate = function_.registers[static_cast<std::size_t>(to)].type == Type::pred;
    if (!is_predicate && !is_paired(to)) return unguarded(in);
    const ptx::Instruction plain = with_addresses(in);
    const auto s = select_pairs(plain, function_, uniformity_->shapes(), context_.image->rows);
    if (!s) return unguarded(in);
    OperandRef op[8] = {};
    op[0] = is_predicate ? reg(to) : pair_of(to);
    for (std::size_t k = 0; k < s->sources.size(); ++k) {
      const Operand& o = plain.operands[s->sources[k]];
      const Type type = s->type[s->sources[k]];
      if (o.kind == Kind::reg)
        op[k + 1] =
            function_.registers[static_cast<std::size_t>(o.reg)].type == Type::pred ? reg(o.reg) : pair_of(o.reg);
      else
        op[k + 1] = frame_.pair_constant(immediate_bits(o, type == Type::none ? Type::u64 : type));
    }
    std::uint64_t imm = s->imm;
    if (s->is_window) imm = in.has("to") ? 0 - window_or_fault(in) : window_or_fault(in);
    const std::uint32_t aux = s->may_leave ? new_leave() : s->aux;
    Inst& i = emit(s->run);
    std::copy(std::begin(op), std::end(op), std::begin(i.op));
    i.imm = imm;
    i.aux = aux;
    if (s->is_addition && context_.image->observed) observe_addition(i);
    if (!is_predicate) defined(to, s->result);
  }

  /// Behind the definition of a pair: its stride and its lanes, where they are wanted.
  void defined(std::int32_t index, Shape result) {
    const Shape shape = uniformity_->shape_of(index);
    if (shape == Shape::affine && result == Shape::uniform) emit(clear_stride).op[0] = pair_of(index);
    if (!needs_lanes_[static_cast<std::size_t>(index)]) return;
    Inst& i = emit(spread_handler(frame_.lane_bytes_of(index), shape));
    i.op[0] = *frame_.reg(index);
    i.op[1] = pair_of(index);
  }

  /// A load or store whose address is a pair; false when it has to be done lane by lane.
  bool paired_memory(const ptx::Instruction& in, const Operand& address, ptx::StateSpace space,
                     const Program::Slot* slot) {
    if (slot || in.guard >= 0 || (in.opcode != "ld" && in.opcode != "st")) return false;
    const bool is_load = in.opcode == "ld";
    const Operand& element = in.operands[is_load ? 0 : 1];
    const bool to_pair = is_load && element.kind == Kind::reg && element.reg >= 0 && is_paired(element.reg);
    if (address.reg < 0 && frame_.local(address.name)) return false;
    std::optional<std::uint64_t> symbol = address.bits;
    if (address.reg < 0 && !address.name.empty()) symbol = symbol_value(address.name);
    if (!symbol) return false;
    if (space == ptx::StateSpace::param) {
      if (!to_pair || address.reg >= 0) return false;
      const auto s = select_memory(in, function_.registers, space, AddressWidth::bits64, false);
      const std::uint64_t offset = *symbol + static_cast<std::uint64_t>(address.offset);
      if (!s || offset > context_.image->parameter_bytes || s->form.bytes > context_.image->parameter_bytes - offset)
        unsupported("an access outside the kernel's parameters");
      Inst& i = emit(load_parameter_pair);
      i.op[0] = pair_of(element.reg);
      i.imm = offset;
      i.aux = std::bit_cast<std::uint32_t>(s->form);
      defined(element.reg, Shape::uniform);
      return true;
    }
    if (address.reg >= 0 && uniformity_->shape_of(address.reg) == Shape::varying) return false;
    const RowKind kind = !is_load ? RowKind::store : to_pair ? RowKind::load_uniform : RowKind::load;
    const RowHandler row = row_handler(in, address, space, kind);
    if (!row.run) return false;
    const OperandRef value = to_pair   ? pair_of(element.reg)
                             : is_load ? destination(element)
                                       : source(element, row.type);
    Inst& i = emit(row.run);
    i.op[0] = value;
    i.op[6] = context_.image->ranges++;
    i.op[7] = address.reg >= 0 ? pair_of(address.reg) : frame_.pair_constant(*symbol);
    i.imm = static_cast<std::uint64_t>(address.offset);
    i.aux = std::bit_cast<std::uint32_t>(row.form);
    if (to_pair) defined(element.reg, Shape::uniform);
    return true;
  }

  // --- ways out of it, and back ------------------------------------------------------------------------------------

  std::vector<PairedRegister> paired(const std::vector<std::int32_t>& registers) {
    std::vector<PairedRegister> result;
    for (const std::int32_t r : registers)
      if (is_paired(r))
        result.push_back({pair_of(r), *frame_.reg(r), static_cast<std::uint8_t>(frame_.lane_bytes_of(r)),
                          uniformity_->shape_of(r) == Shape::affine});
    return result;
  }

  /// How to leave before this instruction; `to` is filled in at the end.
  std::uint32_t new_leave() {
    Leave l;
    std::vector<std::int32_t> live = uniformity_->live_before(index_);
    for (const MaskedRegion* r : uniformity_->regions_around(index_)) {
      if (!opens_region(r->branch)) continue;
      Leave::Side side;
      side.depth = r->depth;
      side.is_first = r->has_other() && index_ < r->other;
      side.other = start_for_any(r->other);
      side.join = start_for_any(r->join);
      l.sides.push_back(side);
      for (const std::uint32_t at : {r->other, r->join})
        for (const std::int32_t reg : uniformity_->live_before(at)) live.push_back(reg);
    }
    std::sort(live.begin(), live.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    l.live = paired(live);
    l.to = start_for_any(index_);
    program_.leaves.push_back(std::move(l));
    return static_cast<std::uint32_t>(program_.leaves.size() - 1);
  }

  void emit_leave() {
    const std::uint32_t how = new_leave();
    emit(leave).aux = how;
    // What is counted behind it is counted there.
    uncharged_ = 0;
  }

  /// Behind every barrier that a warp reaches together it may come back.
  void make_ways_back() {
    std::vector<std::size_t> barriers;
    for (std::size_t k = 0; k + 1 < function_.instructions.size(); ++k) {
      if (starts_of_any_[k + 1] == starts_of_any_[k]) continue;  // a hint, of which nothing is left
      const Inst& last = program_.code[starts_of_any_[k + 1] - 1];
      if (last.run == control::barrier && last.index == k) barriers.push_back(k);
    }
    program_.ways_back.reserve(barriers.size());
    for (const std::size_t k : barriers) {
      WayBack r;
      r.to = &program_.convergent[start_of_[k + 1]];
      r.live = paired(uniformity_->live_before(static_cast<std::uint32_t>(k + 1)));
      program_.ways_back.push_back(std::move(r));
      program_.code[starts_of_any_[k + 1] - 1].imm = reinterpret_cast<std::uint64_t>(&program_.ways_back.back());
    }
  }

  Program& program_;
  const ptx::Function& function_;
  const DecodeContext& context_;
  ControlFlow flow_;
  std::uint32_t index_ = 0;
  std::uint32_t uncharged_ = 0;  ///< instructions since the last that counts them, this one included
  std::uint32_t own_ = 0;        ///< 1 until this instruction itself has been counted
  FrameLayout frame_;
  std::vector<Inst> code_;
  std::vector<std::size_t> start_of_;  ///< by instruction: where in code_ it begins
  std::vector<std::pair<std::size_t, std::size_t>> jumps_;
  std::vector<std::vector<std::string>> tables_;

  // For convergent code.
  const Uniformity* uniformity_ = nullptr;
  std::vector<std::size_t> starts_of_any_;  ///< start_of_ of the code for any warp
  std::vector<bool> needs_lanes_;           ///< by register: a pair that is read lane by lane too
  std::vector<std::pair<std::size_t, std::uint32_t>> jumps_behind_;  ///< to behind the end of the region of a branch
  std::vector<std::pair<std::size_t, const MaskedRegion*>> first_side_ends_;
  std::unordered_map<std::uint32_t, std::size_t> closed_at_;  ///< by branch: where its region ends
};

}  // namespace

void decode(Program& program, const DecodeContext& context) {
  Decoder(program, context).run();
}

std::vector<SourcePlace> places_of(const ptx::Module& module, std::uint32_t line) {
  std::vector<SourcePlace> places;
  for (auto at = static_cast<std::int64_t>(line);
       at > 0 && static_cast<std::size_t>(at) < module.lines.size() && places.size() < 32;) {
    const ptx::LineInfo& l = module.lines[static_cast<std::size_t>(at)];
    SourcePlace p;
    if (l.file < module.files.size()) p.file = module.files[l.file];
    p.line = l.line;
    p.column = l.column;
    p.function = l.function;
    places.push_back(std::move(p));
    at = l.inlined_at;
  }
  return places;
}

}  // namespace scanlab::vgpu
