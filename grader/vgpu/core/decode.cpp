#include "vgpu/core/decode.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "vgpu/core/alu.hpp"
#include "vgpu/core/async_copy.hpp"
#include "vgpu/core/builtins.hpp"
#include "vgpu/core/cfg.hpp"
#include "vgpu/core/control.hpp"
#include "vgpu/core/fault.hpp"
#include "vgpu/core/frame_layout.hpp"
#include "vgpu/core/memory_ops.hpp"
#include "vgpu/core/observed.hpp"
#include "vgpu/core/special.hpp"
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
    start_of_.assign(function_.instructions.size() + 1, 0);
    for (std::size_t k = 0; k < function_.instructions.size(); ++k) {
      index_ = static_cast<std::uint32_t>(k);
      start_of_[k] = program_.code.size();
      instruction(function_.instructions[k]);
      finish_block(k);
    }
    index_ = function_.instructions.empty() ? 0 : static_cast<std::uint32_t>(function_.instructions.size() - 1);
    start_of_.back() = program_.code.size();
    emit(control::end_of_code);
    frame_.finish(program_);
    for (const auto& [at, target] : jumps_) program_.code[at].imm = address_of(target);
    for (const auto& labels : tables_) {
      auto& table = program_.jump_tables.emplace_back();
      for (const std::string& label : labels)
        table.push_back(&program_.code[start_of_[static_cast<std::size_t>(function_.labels.at(label))]]);
    }
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

  // --- operands ----------------------------------------------------------------------------------------------------

  OperandRef reg(std::int32_t index) {
    if (const auto ref = frame_.reg(index)) return *ref;
    unsupported("an instruction without its register");
  }

  /// The same, when its lanes can hold a value of `type`; `none`: whatever they hold.
  OperandRef reg(std::int32_t index, Type type) {
    const OperandRef ref = reg(index);
    const std::uint32_t has = frame_.lane_bytes_of(index), wants = type == Type::none ? has : lane_bytes(type);
    if (has < wants || (has != 0 && wants == 0)) unsupported("an operand in a register of another width");
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
    if (o.kind != Kind::reg) unknown_instruction();
    return reg(o.reg, type);
  }

  SpecialSelection special_or_fault(const std::string& name) {
    if (const auto s = select_special(name)) return *s;
    unsupported(fmt::format("the virtual GPU does not know the special register {}", name));
  }

  // --- emission ----------------------------------------------------------------------------------------------------

  Inst& emit(Handler run) {
    Inst& i = program_.code.emplace_back();
    i.run = run;
    i.index = index_;
    if (!function_.instructions.empty()) {
      i.line = here().line;
      i.rank = flow_.blocks[flow_.block_of[index_]].rank;
    }
    return i;
  }

  void emit_local_address(OperandRef to, std::uint64_t offset, std::uint32_t bytes) {
    Inst& i = emit(local_address);
    i.op[0] = to;
    i.imm = offset;
    i.aux = bytes;
  }

  std::uint64_t address_of(std::size_t target) const {
    return reinterpret_cast<std::uint64_t>(&program_.code[start_of_[target]]);
  }

  void jump_to(std::size_t instruction) { jumps_.emplace_back(program_.code.size() - 1, instruction); }

  void finish_block(std::size_t k) {
    const BasicBlock& block = flow_.blocks[flow_.block_of[k]];
    if (k + 1 != block.end || k + 1 >= function_.instructions.size()) return;
    const ptx::Instruction& last = function_.instructions[k];
    const bool branches = last.opcode == "bra" || last.opcode == "brx" || last.opcode == "ret" || last.opcode == "exit";
    if (branches && !is_branched_around(last)) return;
    if (flow_.blocks[flow_.block_of[k + 1]].predecessors > 1 || is_branched_around(last)) emit(control::fall_through);
  }

  // --- instructions ------------------------------------------------------------------------------------------------

  void instruction(const ptx::Instruction& in) {
    if (in.opcode == "bra") return branch(in);
    if (in.guard >= 0) {
      if (is_branched_around(in)) {
        Inst& i = emit(control::branch);
        i.op[0] = reg(in.guard, Type::pred);
        i.aux = in.guard_negated ? 0 : 1;
        jump_to(index_ + 1);
      } else {
        // The guarded instruction has to be one Inst; what its operands need comes before.
        const std::size_t before = program_.code.size();
        unguarded(in);
        Inst guard;
        guard.run = control::guard;
        guard.op[0] = reg(in.guard, Type::pred);
        guard.aux = in.guard_negated ? 1 : 0;
        guard.index = index_;
        guard.line = in.line;
        guard.rank = flow_.blocks[flow_.block_of[index_]].rank;
        if (program_.code.size() == before) return;
        program_.code.insert(program_.code.end() - 1, guard);
        return;
      }
    }
    unguarded(in);
  }

  void unguarded(const ptx::Instruction& in) {
    const std::string_view op = in.opcode;
    if (op == "ret") return void(emit(control::ret));
    if (op == "exit") return void(emit(control::exit));
    if (op == "trap") return void(emit(control::trap));
    if (op == "brx") return table_branch(in);
    if (op == "call") return call(in);
    if (op == "ld" || op == "ldu" || op == "st" || op == "atom" || op == "red") return memory(in);
    if (op == "cp") return copy_asynchronously(in);
    if (op == "cvta") return convert_address(in);
    if (op == "isspacep") return is_space_of(in);
    if ((op == "bar" || op == "barrier") && !in.has("warp")) return barrier(in);
    if (op == "mov" && move(in)) return;
    // Hints without effect on results.
    if (op == "prefetch" || op == "prefetchu" || op == "nanosleep" || op == "discard" || op == "applypriority" ||
        op == "pmevent" || op == "createpolicy")
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
    Inst& i = emit(in.guard >= 0 ? control::branch : control::jump);
    if (in.guard >= 0) i.op[0] = reg(in.guard, Type::pred);
    i.aux = in.guard_negated ? 1 : 0;
    jump_to(static_cast<std::size_t>(in.operands[0].target));
  }

  void table_branch(const ptx::Instruction& in) {
    if (in.operands.size() != 2) unknown_instruction();
    const auto table = function_.branch_targets.find(in.operands[1].name);
    if (table == function_.branch_targets.end()) unsupported("a switch without its table of targets");
    const OperandRef index = source(in.operands[0], Type::u32);
    Inst& i = emit(control::jump_table);
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
      const Operand& o = in.operands[k];
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
    if (!in.operands.empty() && in.operands[0].kind == Kind::pair) i.op[4] = second;
    if (s.is_addition && context_.image->observed) observe_addition(i);
  }

  /// mov of special registers and of addresses; false when it is an ordinary mov.
  bool move(const ptx::Instruction& in) {
    if (in.operands.size() != 2) return false;
    const Operand& from = in.operands[1];
    if (from.kind == Kind::special) {
      const auto special = special_or_fault(from.name);
      const std::uint32_t wanted = lane_bytes(ptx::type_from_suffix(in.modifiers.empty() ? "" : in.modifiers.back()));
      if (wanted != lane_bytes(special.type)) return false;  // through a temporary, by the ordinary mov's own rules
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
    const bool is_store = in.opcode == "st" || in.opcode == "red";
    const std::size_t address_at = is_store ? 0 : 1;
    if (in.operands.size() <= address_at) unknown_instruction();
    const Operand& address = in.operands[address_at];
    if (address.kind != Kind::address) unknown_instruction();
    const ptx::StateSpace space = space_of(in);

    // Arguments and results of calls live in the frame.
    const Program::Slot* slot = nullptr;
    if (space == ptx::StateSpace::param && address.reg < 0) slot = frame_.slot(address.name);

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
    form.has_count = in.operands.size() > 3;
    const OperandRef bases[] = {base_of(to), base_of(from)};
    const OperandRef count = form.has_count ? source(in.operands[3], Type::u32) : 0;
    Inst& i = emit(async_copy);
    std::copy(std::begin(bases), std::end(bases), std::begin(i.op));
    i.op[2] = count;
    i.aux = std::bit_cast<std::uint32_t>(form);
    i.imm = std::bit_cast<std::uint64_t>(
        AsyncCopyOffsets{static_cast<std::int32_t>(to.offset), static_cast<std::int32_t>(from.offset)});
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
    Inst& i = emit(control::barrier);
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
    Inst& i = emit(run);
    i.aux = static_cast<std::uint32_t>(program_.calls.size() - 1);
  }

  Program& program_;
  const ptx::Function& function_;
  const DecodeContext& context_;
  ControlFlow flow_;
  std::uint32_t index_ = 0;
  FrameLayout frame_;
  std::vector<std::size_t> start_of_;
  std::vector<std::pair<std::size_t, std::size_t>> jumps_;
  std::vector<std::vector<std::string>> tables_;
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
