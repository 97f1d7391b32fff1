#include "vgpu/core/decode/decode.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vgpu/core/decode/decoder.hpp"
#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/memory/async_copy.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/control.hpp"
#include "vgpu/core/warp/float_names.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/sleeping.hpp"

namespace scanlab::vgpu {
namespace {

/// An addition that is reported before it runs. Its own handler is in Inst::imm, which arithmetic leaves free.
const Inst* observed_addition(Warp& w, const Inst* i) {
  for (Observer* o : w.block->grid->of_work) o->addition(w.active, 1);
  return reinterpret_cast<Handler>(i->imm)(w, i);
}

}  // namespace

void Decoder::run() {
  if (!heads_.empty()) program_.rounds = frame_.temporary(sizeof(std::uint32_t));
  program_.code = pass();
  starts_of_any_ = start_of_;
  if (context_.image->convergent && function_.is_entry) make_convergent();
  frame_.finish(program_);
  const auto live = function_.instructions.empty() ? std::vector<std::int32_t>{} : liveness_.live_before(0);
  program_.blanks = frame_.blanks(live);
  program_.unwritten_slots = frame_.slots(slots_read_unwritten(function_, flow_));
  if (program_.rounds) program_.blanks.push_back({*program_.rounds, sizeof(std::uint32_t) * warp_size});
  if (program_.convergent.code.empty()) return;
  program_.convergent.blanks = frame_.blank_pairs(live);
  make_steps(program_.convergent, forms_, program_.constants);
}

void Decoder::unsupported(const std::string& what) {
  FaultException f(Fault::Kind::unsupported, what,
                   "the virtual GPU cannot run this; write it another way, or check on a real GPU with --device gpu");
  f.fault.does = "needs it";
  f.fault.set_places(places_of(*context_.image->module, function_.instructions.empty() ? 0 : here().line));
  f.fault.details.push_back(fmt::format("in {}", ptx::source_name(function_.name)));
  throw f;
}

void Decoder::unknown_instruction() {
  unsupported(fmt::format("the virtual GPU does not know the instruction {}", here().spelling()));
}

std::vector<Inst> Decoder::pass() {
  code_.clear();
  forms_.clear();
  jumps_.clear();
  jumps_behind_.clear();
  first_side_ends_.clear();
  closed_at_.clear();
  tables_.clear();
  program_.convergent.leaves.clear();
  uncharged_ = own_ = 0;
  start_of_.assign(function_.instructions.size() + 1, 0);
  for (std::size_t k = 0; k < function_.instructions.size(); ++k) {
    index_ = static_cast<std::uint32_t>(k);
    start_of_[k] = code_.size();
    const std::vector<ElementUse> none, &uses = element_uses_.empty() ? none : element_uses_[k];
    if (heads_.contains(index_)) emit(control::count_round, {each_together}, {.op = {*program_.rounds}, .aux = index_});
    if (!dependences_.empty()) {
      if (const auto& dependence = dependences_[k])
        emit(report_dependence, {each_together}, {.op = {}, .aux = static_cast<std::uint32_t>(*dependence)});
      look_at_divisor();
    }
    const std::vector<OperandRef> kept = look_at_elements(uses);
    instruction(function_.instructions[k]);
    for (std::size_t n = 0; n < kept.size(); ++n)
      if (uses[n].is_result || uses[n].keeps != ElementUse::Keeps::nothing) look_at_result(uses[n], kept[n]);
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

OperandRef Decoder::reg(std::int32_t index) {
  if (uniformity_ && is_paired(index)) needs_lanes_[static_cast<std::size_t>(index)] = true;
  if (const auto ref = frame_.reg(index)) return *ref;
  unsupported("an instruction without its register");
}

OperandRef Decoder::reg(std::int32_t index, Type type) {
  const OperandRef ref = reg(index);
  const std::uint32_t has = frame_.lane_bytes_of(index), wants = type == Type::none ? has : lane_bytes(type);
  if (has < wants || (has != 0 && wants == 0))
    unsupported(fmt::format("{} with an operand in a register of another width", here().spelling()));
  return ref;
}

std::optional<std::uint64_t> Decoder::symbol_value(const std::string& name) {
  if (const SharedVariable* v = context_.shared_variable(name)) return v->offset;
  if (function_.is_entry)
    for (std::size_t k = 0; k < function_.parameters.size(); ++k)
      if (function_.parameters[k].name == name) return context_.image->parameter_offsets[k];
  if (const auto it = context_.symbols->find(name); it != context_.symbols->end()) {
    if (const ptx::Function* f = context_.image->module->find_function(name); f && !f->is_entry)
      context_.program_of(*f);
    return it->second;
  }
  return std::nullopt;
}

std::uint64_t Decoder::symbol_or_fault(const std::string& name) {
  if (const auto value = symbol_value(name)) return *value;
  unsupported(fmt::format("unknown symbol {}", ptx::demangle(name)));
}

OperandRef Decoder::source(const Operand& o, Type type) {
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
      emit_special(to, special);
      return to;
    }
    case Kind::symbol: {
      if (const auto local = frame_.local(o.name)) {
        const OperandRef to = frame_.temporary(8);
        emit_local_address(to, *local + static_cast<std::uint64_t>(o.offset), lane_bytes(type));
        return to;
      }
      return frame_.constant(symbol_or_fault(o.name) + static_cast<std::uint64_t>(o.offset), type);
    }
    default:
      unknown_instruction();
  }
}

OperandRef Decoder::destination(const Operand& o, Type type) {
  if (o.kind == Kind::sink) return frame_.trash();
  if (o.kind != Kind::reg || !o.part.empty()) unknown_instruction();
  return reg(o.reg, type);
}

SpecialSelection Decoder::special_or_fault(const std::string& name) {
  if (name.starts_with("%clock") || name.starts_with("%globaltimer")) emit_checkpoint();
  if (const auto s = select_special(name)) return *s;
  unsupported(fmt::format("the virtual GPU does not know the special register {}", name));
}

void Decoder::emit(Handler run, StepForm form, const InstFields& fields) {
  forms_.push_back(form);
  Inst& i = code_.emplace_back();
  i.run = run;
  i.imm = fields.imm;
  std::ranges::copy(fields.op, i.op);
  i.aux = fields.aux;
  i.index = index_;
  if (!function_.instructions.empty()) {
    i.line = here().line;
    i.rank = flow_.blocks[flow_.block_of[index_]].rank;
  }
}

void Decoder::emit_charged(Handler run, StepForm form, const InstFields& fields) {
  emit(run, form, fields);
  charge_of(code_.back()) = std::exchange(uncharged_, 0);
}

void Decoder::emit_checkpoint() {
  if (uncharged_ <= own_) return;
  emit(control::checkpoint);
  charge_of(code_.back()) = uncharged_ - own_;
  uncharged_ = own_;
}

void Decoder::emit_local_address(OperandRef to, std::uint64_t offset, std::uint32_t bytes) {
  emit(local_address, {each_alone}, {.op = {to}, .imm = offset, .aux = bytes});
}

void Decoder::emit_special(OperandRef to, const SpecialSelection& special) {
  emit(special.run, {special.is_clock ? nullptr : each_alone}, {.op = {to}, .imm = special.imm});
}

void Decoder::emit_copy_low(OperandRef to, std::uint32_t to_bytes, OperandRef from, std::uint32_t from_bytes) {
  emit(copy_low, {each_alone}, {.op = {to, from}, .aux = to_bytes | from_bytes << 8});
}

std::uint64_t Decoder::address_of(std::size_t target) const {
  return reinterpret_cast<std::uint64_t>(&code_[start_of_[target]]);
}

void Decoder::finish_block(std::size_t k) {
  const BasicBlock& block = flow_.blocks[flow_.block_of[k]];
  if (k + 1 != block.end || k + 1 >= function_.instructions.size()) return;
  const ptx::Instruction& last = function_.instructions[k];
  if (uniformity_ && close_regions(k + 1)) return;
  if (opcode_of(last).next != Opcode::Next::following && !is_branched_around(last)) return;
  if (flow_.blocks[flow_.block_of[k + 1]].predecessors > 1 || is_branched_around(last))
    emit_charged(control::fall_through);
}

void Decoder::instruction(const ptx::Instruction& in) {
  const std::size_t before = code_.size();
  own_ = 1;
  uncharged_ += own_;
  if (in.opcode == "bra")
    uniformity_ ? convergent_branch(in) : branch(in);
  else if (in.guard < 0)
    unguarded(in);
  else if (is_branched_around(in))
    branched_around(in);
  else
    guarded(in);
  // Hints, of which nothing is left, do not count.
  if (code_.size() == before) uncharged_ -= own_;
}

void Decoder::branched_around(const ptx::Instruction& in) {
  const OperandRef guard = reg(in.guard, Type::pred);
  const std::uint32_t if_not = in.guard_negated ? 0 : 1;
  if (uniformity_)
    emit_charged(run_as_gang, {branch_together}, {.op = {guard, if_not}, .aux = new_leave()});
  else
    emit_charged(control::branch, {}, {.op = {guard}, .aux = if_not});
  jump_to(index_ + 1);
  own_ = 0;
  unguarded(in);
}

void Decoder::guarded(const ptx::Instruction& in) {
  const std::size_t before = code_.size();
  lane_by_lane(in);
  if (code_.size() == before) return;
  const Inst body = code_.back();
  const StepForm form = forms_.back();
  code_.pop_back();
  forms_.pop_back();
  emit(control::guard, {form.run ? each_alone : nullptr},
       {.op = {reg(in.guard, Type::pred)}, .aux = in.guard_negated ? 1u : 0u});
  code_.push_back(body);
  forms_.push_back({});
  emit(control::unguard);
}

void Decoder::unguarded(const ptx::Instruction& in) {
  uniformity_ ? convergent_unguarded(in) : lane_by_lane(in);
}

void Decoder::lane_by_lane(const ptx::Instruction& in) {
  (this->*opcode_of(in).decode)(in);
}

void Decoder::end(const ptx::Instruction& in) {
  emit_charged(opcode_of(in).run);
}

void Decoder::alone(const ptx::Instruction& in) {
  emit(opcode_of(in).run);
}

void Decoder::compute(const ptx::Instruction& in) {
  if (const auto s = select_warp(in)) return warp_operation(in, *s);
  const ptx::Instruction plain = with_addresses(in);
  auto s = select_alu(plain, function_.registers);
  if (!s) unknown_instruction();
  if (adds_names(in)) {
    s->run = add_float_names;
    s->in_gang = nullptr;
  }
  alu(plain, *s);
}

void Decoder::element_operation(const ptx::Instruction& in) {
  const bool adds = in.has("add") && in.operands.size() == 3;
  if (!adds && !(in.has("keep") && in.operands.size() == 2)) unknown_instruction();
  std::array<OperandRef, 8> op = {};
  std::size_t place = 0;
  for (std::size_t k = 0; k < in.operands.size(); ++k) {
    const std::span<const Operand> halves =
        in.operands[k].kind == Kind::vector ? std::span(in.operands[k].elements) : std::span(&in.operands[k], 1);
    for (const Operand& half : halves) {
      if (place >= 6) unknown_instruction();
      op[place++] = k == 0 ? destination(half, Type::b32) : source(half, Type::b32);
    }
  }
  if (place != (adds ? 6 : 3)) unknown_instruction();
  emit(adds ? add_elements : keep_element, {each_together}, {.op = op});
}

ptx::Instruction Decoder::with_addresses(const ptx::Instruction& in) {
  ptx::Instruction plain = in;
  for (Operand& o : plain.operands)
    if (o.kind == Kind::symbol) {
      o.kind = Kind::integer;
      o.bits = symbol_or_fault(o.name) + static_cast<std::uint64_t>(o.offset);
    }
  return plain;
}

void Decoder::branch(const ptx::Instruction& in) {
  if (in.operands.empty() || in.operands[0].target < 0) unknown_instruction();
  if (in.guard >= 0)
    emit_charged(control::branch, {}, {.op = {reg(in.guard, Type::pred)}, .aux = in.guard_negated ? 1u : 0u});
  else
    emit_charged(control::jump);
  jump_to(static_cast<std::size_t>(in.operands[0].target));
}

void Decoder::table_branch(const ptx::Instruction& in) {
  if (in.operands.size() != 2) unknown_instruction();
  if (uniformity_) return emit_leave();
  const auto table = function_.branch_targets.find(in.operands[1].name);
  if (table == function_.branch_targets.end()) unsupported("a switch without its table of targets");
  const OperandRef index = source(in.operands[0], Type::u32);
  emit_charged(control::jump_table, {}, {.op = {index}, .aux = static_cast<std::uint32_t>(tables_.size())});
  tables_.push_back(table->second);
}

void Decoder::alu(const ptx::Instruction& in, const AluSelection& s) {
  std::array<OperandRef, 8> op = {};
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
      put(destination(o.elements[0], Type::none));
      second = destination(o.elements[1], Type::none);
    } else if (o.kind == Kind::vector) {
      for (const Operand& e : o.elements)
        put(k == 0 ? destination(e, Type::none) : source(e, s.type[std::min(place, 7u)]));
    } else if (k == 0) {
      put(destination(o, Type::none));
    } else {
      put(source(o, s.type[std::min(place, 7u)]));
    }
  }
  const bool is_reported = s.is_addition && context_.image->watched == Watched::everything;
  if (!in.operands.empty() && in.operands[0].kind == Kind::pair) op[s.second] = second;
  emit(s.run, {s.in_gang ? s.in_gang : each_alone, is_reported && s.in_gang}, {.op = op, .imm = s.imm, .aux = s.aux});
  if (!is_reported) return;
  Inst& made = code_.back();
  made.imm = reinterpret_cast<std::uint64_t>(std::exchange(made.run, observed_addition));
}

void Decoder::move(const ptx::Instruction& in) {
  if (!move_address(in)) compute(in);
}

bool Decoder::move_address(const ptx::Instruction& in) {
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
      emit_copy_low(destination(to[k], Type::u32), 4, part, 4);
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
      emit_copy_low(destination(in.operands[0], Type::none), wanted, whole, lane_bytes(special.type));
      return true;
    }
    emit_special(destination(in.operands[0], special.type), special);
    return true;
  }
  if (from.kind == Kind::symbol)
    if (const auto local = frame_.local(from.name)) {
      const Type type = ptx::type_from_suffix(in.modifiers.back());
      emit_local_address(destination(in.operands[0], type), *local + static_cast<std::uint64_t>(from.offset),
                         lane_bytes(type));
      return true;
    }
  return false;
}

void Decoder::sleep_for(const ptx::Instruction& in) {
  if (in.operands.size() != 1 || !in.has("u32")) unknown_instruction();
  const OperandRef time = source(in.operands[0], Type::u32);
  emit_checkpoint();
  emit(sleep, {}, {.op = {time}});
}

void Decoder::barrier(const ptx::Instruction& in) {
  if (in.has("warp")) return compute(in);
  static constexpr std::pair<std::string_view, std::uint32_t> words[] = {{"sync", 0},
                                                                         {"arrive", control::arrive_only},
                                                                         {"red", 0},
                                                                         {"popc", control::reduce_popc},
                                                                         {"and", control::reduce_and},
                                                                         {"or", control::reduce_or},
                                                                         {"cta", 0},
                                                                         {"aligned", 0},
                                                                         {"u32", 0},
                                                                         {"pred", 0}};
  if (!in.has_any({"sync", "arrive", "red"})) unknown_instruction();
  std::uint32_t flags = in.opcode == "barrier" && !in.has("aligned") ? control::lane_by_lane : 0;
  for (const std::string& m : in.modifiers) {
    const auto* const known = std::ranges::find(words, m, &std::pair<std::string_view, std::uint32_t>::first);
    if (known == std::end(words)) unknown_instruction();
    flags |= known->second;
  }
  const bool reduces = flags & (control::reduce_popc | control::reduce_and | control::reduce_or);
  std::vector<Operand> operands = in.operands;
  std::array<OperandRef, 8> op = {};
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
  emit_charged(control::barrier, {}, {.op = op, .aux = flags});
}

void Decoder::warp_operation(const ptx::Instruction& in, const WarpSelection& s) {
  std::array<OperandRef, 8> op = {};
  for (std::size_t k = 0; k < in.operands.size() && k < 6; ++k) {
    const Operand& o = in.operands[k];
    if (static_cast<int>(k) == s.members) {
      op[5] = source(o, Type::b32);
    } else if (k == 0 && o.kind == Kind::pair) {
      op[0] = destination(o.elements[0], s.type[0]);
      op[4] = destination(o.elements[1], Type::pred);
    } else if (k == 0) {
      op[0] = destination(o, s.type[0]);
    } else {
      op[k] = source(o, s.type[k] == Type::none ? Type::b32 : s.type[k]);
    }
  }
  if (s.members >= 0) emit_checkpoint();
  emit(s.run, {s.in_gang ? s.in_gang : each_together}, {.op = op, .aux = s.aux});
}

void Decoder::call(const ptx::Instruction& in) {
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
    const ptx::Function* f = context_.image->module->find_function(callee.name);
    if (f && f->is_entry) unsupported(fmt::format("a call of {}, which is a kernel", ptx::demangle(callee.name)));
    if (f && f->is_defined) {
      c.callee = context_.program_of(*f);
    } else {
      run = select_builtin(callee.name);
      if (!run)
        unsupported(fmt::format("a call of {}, which is defined nowhere in this program", ptx::demangle(callee.name)));
    }
  }
  const bool enters = run == control::call || run == control::call_indirect;
  if (uniformity_ && enters) return emit_leave();
  if (run == control::call_indirect) emit_checkpoint();
  const auto number = static_cast<std::uint32_t>(program_.calls.size());
  program_.calls.push_back(std::move(c));
  enters ? emit_charged(run, {}, {.aux = number}) : emit(run, {}, {.aux = number});
}

void decode(Program& program, const DecodeContext& context) {
  Decoder(program, context).run();
}

std::vector<SourcePlace> places_of(const ptx::Module& module, std::uint32_t line) {
  std::vector<SourcePlace> places;
  for (auto at = static_cast<std::int64_t>(line);
       at > 0 && static_cast<std::size_t>(at) < module.lines.size() && places.size() < 32;) {
    const ptx::LineInfo& l = module.lines[static_cast<std::size_t>(at)];
    const std::string file = l.file < module.files.size() ? module.files[l.file] : "";
    places.push_back({file, l.line, l.column, l.function});
    at = l.inlined_at;
  }
  return places;
}

}  // namespace scanlab::vgpu
