// Decoding code for warps that stay together: which instructions work on pairs, and the ways out of it and back.
#include <algorithm>
#include <bit>

#include "vgpu/core/decode/decoder.hpp"
#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/warp/control.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {

bool Decoder::is_paired(std::int32_t index) const {
  return uniformity_->shape_of(index) != Shape::varying &&
         function_.registers[static_cast<std::size_t>(index)].type != Type::pred &&
         frame_.lane_bytes_of(index) <= sizeof(Pair::value);
}

void Decoder::make_convergent() {
  const auto rule = std::bind_front(&Decoder::shape_given_by, this);
  const Uniformity uniformity(function_, flow_, liveness_, rule, context_.image->fast.masked_regions);
  uniformity_ = &uniformity;
  // The first pass only finds out which registers have to be there lane by lane too.
  needs_lanes_.assign(function_.registers.size(), false);
  pass();
  program_.convergent.code = pass();
  make_ways_back();
  uniformity_ = nullptr;
}

bool Decoder::mentions_local(const ptx::Instruction& in) const {
  return std::any_of(in.operands.begin(), in.operands.end(),
                     [&](const Operand& o) { return o.kind == Kind::symbol && frame_.local(o.name); });
}

Shape Decoder::shape_given_by(const ptx::Instruction& in, const std::vector<Shape>& shapes) {
  if (in.operands.empty() || in.guard >= 0 || adds_names(in)) return Shape::varying;
  if (in.opcode == "ld") return shape_of_load(in, shapes);
  if (is_predicate_logic(in)) {
    Shape most = Shape::uniform;
    for_each_use(in, [&](std::int32_t r) { most = std::max(most, shapes[static_cast<std::size_t>(r)]); });
    return most;
  }
  if (mentions_local(in)) return Shape::varying;
  const auto s = select_pairs(with_addresses(in), function_, shapes, context_.image->row_lanes);
  return s ? s->result : Shape::varying;
}

bool Decoder::is_predicate_logic(const ptx::Instruction& in) {
  const std::string_view op = in.opcode;
  return (op == "and" || op == "or" || op == "xor" || op == "not" || op == "mov") && in.modifiers.size() == 1 &&
         in.modifiers[0] == "pred" && in.operands[0].kind == Kind::reg;
}

Shape Decoder::shape_of_load(const ptx::Instruction& in, const std::vector<Shape>& shapes) {
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

Decoder::RowHandler Decoder::row_handler(const ptx::Instruction& in, const Operand& address, ptx::StateSpace space,
                                         RowKind kind) const {
  if (!context_.image->fast.rows) return {};
  const bool is_narrow = address.reg >= 0 && frame_.lane_bytes_of(address.reg) == 4;
  const auto width = is_narrow ? AddressWidth::bits32 : AddressWidth::bits64;
  const auto s = select_memory(in, function_.registers, space, width, *context_.image);
  if (!s || in.opcode == "atom" || in.opcode == "red") return {};
  return {select_row(s->form, space, width, kind, context_.image->watched), s->form, s->type};
}

bool Decoder::opens_region(std::uint32_t branch) const {
  return uniformity_->region_at(branch) &&
         uniformity_->shape_of(function_.instructions[branch].guard) == Shape::varying;
}

void Decoder::convergent_branch(const ptx::Instruction& in) {
  if (in.operands.empty() || in.operands[0].target < 0) unknown_instruction();
  const auto target = static_cast<std::size_t>(in.operands[0].target);
  if (in.guard < 0) {
    for (const MaskedRegion* r : uniformity_->regions_around(index_)) {
      if (!opens_region(r->branch)) continue;
      if (r->has_other() && index_ + 1 == r->other) {
        emit_charged(run_as_gang, {end_first_side}, {.op = {0, 0, r->depth}});
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
  const OperandRef guard = reg(in.guard, Type::pred);
  const std::uint32_t is_negated = in.guard_negated;
  if (!r) {
    emit_charged(run_as_gang, {branch_together}, {.op = {guard, is_negated}, .aux = new_leave()});
    return jump_to(target);
  }
  emit_charged(run_as_gang, {open_region}, {.op = {guard, is_negated, r->depth, r->has_other()}});
  if (r->has_other())
    jump_to(target);
  else
    jumps_behind_.emplace_back(code_.size() - 1, r->branch);
}

bool Decoder::close_regions(std::size_t next) {
  auto regions = uniformity_->regions_around(index_);
  bool any = false;
  for (std::size_t k = regions.size(); k-- > 0;) {
    const MaskedRegion* r = regions[k];
    if (r->join != next || !opens_region(r->branch)) continue;
    emit_charged(run_as_gang, {close_region}, {.op = {0, 0, r->depth}});
    closed_at_[r->branch] = code_.size() - 1;
    any = true;
  }
  return any;
}

void Decoder::convergent_unguarded(const ptx::Instruction& in) {
  const bool known = !in.operands.empty() && in.operands[0].kind == Kind::reg && in.operands[0].reg >= 0;
  if (!known || in.opcode == "ld" || is_predicate_logic(in) || mentions_local(in) || adds_names(in))
    return lane_by_lane(in);
  const std::int32_t to = in.operands[0].reg;
  const bool is_predicate = function_.registers[static_cast<std::size_t>(to)].type == Type::pred;
  if (!is_predicate && !is_paired(to)) return lane_by_lane(in);
  const ptx::Instruction plain = with_addresses(in);
  const auto s = select_pairs(plain, function_, uniformity_->shapes(), context_.image->row_lanes);
  if (!s) return lane_by_lane(in);
  std::array<OperandRef, 8> op = {};
  const bool is_reported = s->is_addition && context_.image->watched == Watched::everything;
  const auto put = [&](std::size_t k, std::int32_t r) {
    const bool is_pair = function_.registers[static_cast<std::size_t>(r)].type != Type::pred;
    op[k] = is_pair ? pair_of(r) : reg(r);
  };
  put(0, to);
  for (std::size_t k = 0; k < s->sources.size(); ++k) {
    const Operand& o = plain.operands[s->sources[k]];
    const Type type = s->type[s->sources[k]];
    if (o.kind == Kind::reg) {
      put(k + 1, o.reg);
    } else {
      op[k + 1] = frame_.pair_constant(immediate_bits(o, type == Type::none ? Type::u64 : type));
    }
  }
  std::uint64_t imm = s->imm;
  if (s->is_window) imm = in.has("to") ? 0 - window_or_fault(in) : window_or_fault(in);
  const std::uint32_t aux = s->may_leave ? new_leave() : s->aux;
  emit(run_as_gang, {s->run, is_reported}, {.op = op, .imm = imm, .aux = aux});
  if (!is_predicate) defined(to, s->result);
}

void Decoder::defined(std::int32_t index, Shape result) {
  const Shape shape = uniformity_->shape_of(index);
  if (shape == Shape::affine && result == Shape::uniform) emit(run_as_gang, {clear_growth}, {.op = {pair_of(index)}});
  if (needs_lanes_[static_cast<std::size_t>(index)])
    emit(run_as_gang, {spread_handler(frame_.lane_bytes_of(index), shape)},
         {.op = {*frame_.reg(index), pair_of(index)}});
}

bool Decoder::paired_memory(const ptx::Instruction& in, const Operand& address, ptx::StateSpace space,
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
    const auto s = select_memory(in, function_.registers, space, AddressWidth::bits64, *context_.image);
    const std::uint64_t offset = *symbol + static_cast<std::uint64_t>(address.offset);
    if (!s || offset > context_.image->parameter_bytes || s->form.bytes > context_.image->parameter_bytes - offset)
      unsupported("an access outside the kernel's parameters");
    emit(run_as_gang, {load_parameter_pair},
         {.op = {pair_of(element.reg)}, .imm = offset, .aux = std::bit_cast<std::uint32_t>(s->form)});
    defined(element.reg, Shape::uniform);
    return true;
  }
  if (address.reg >= 0 && uniformity_->shape_of(address.reg) == Shape::varying) return false;
  const RowKind kind = !is_load ? RowKind::store : to_pair ? RowKind::load_uniform : RowKind::load;
  const RowHandler row = row_handler(in, address, space, kind);
  if (!row.run) return false;
  const OperandRef value = to_pair   ? pair_of(element.reg)
                           : is_load ? destination(element, row.type)
                                     : source(element, row.type);
  const OperandRef base = address.reg >= 0 ? pair_of(address.reg) : frame_.pair_constant(*symbol);
  emit(run_as_gang, {row.run},
       {.op = {value, 0, 0, 0, 0, 0, context_.image->ranges++, base},
        .imm = static_cast<std::uint64_t>(address.offset),
        .aux = std::bit_cast<std::uint32_t>(row.form)});
  if (to_pair) defined(element.reg, Shape::uniform);
  return true;
}

std::vector<PairedRegister> Decoder::paired(const std::vector<std::int32_t>& registers) {
  std::vector<PairedRegister> result;
  for (const std::int32_t r : registers)
    if (is_paired(r))
      result.push_back({pair_of(r), *frame_.reg(r), static_cast<std::uint8_t>(frame_.lane_bytes_of(r)),
                        uniformity_->shape_of(r) == Shape::affine});
  return result;
}

std::uint32_t Decoder::new_leave() {
  Leave l;
  std::vector<std::int32_t> live = liveness_.live_before(index_);
  for (const MaskedRegion* r : uniformity_->regions_around(index_)) {
    if (!opens_region(r->branch)) continue;
    const bool is_first = r->has_other() && index_ < r->other;
    l.sides.push_back({r->depth, is_first, start_for_any(r->other), start_for_any(r->join)});
    for (const std::uint32_t at : {r->other, r->join})
      for (const std::int32_t reg : liveness_.live_before(at)) live.push_back(reg);
  }
  std::sort(live.begin(), live.end());
  live.erase(std::unique(live.begin(), live.end()), live.end());
  l.live = paired(live);
  l.to = start_for_any(index_);
  program_.convergent.leaves.push_back(std::move(l));
  return static_cast<std::uint32_t>(program_.convergent.leaves.size() - 1);
}

void Decoder::emit_leave() {
  emit(leave, {}, {.aux = new_leave()});
  // What is counted after it is counted there.
  uncharged_ = 0;
}

void Decoder::make_ways_back() {
  std::vector<std::size_t> barriers;
  for (std::size_t k = 0; k + 1 < function_.instructions.size(); ++k) {
    if (starts_of_any_[k + 1] == starts_of_any_[k]) continue;  // a hint, of which nothing is left
    const Inst& last = program_.code[starts_of_any_[k + 1] - 1];
    if (last.run == control::barrier && last.index == k) barriers.push_back(k);
  }
  program_.convergent.ways_back.reserve(barriers.size());
  for (const std::size_t k : barriers) {
    auto live = paired(liveness_.live_before(static_cast<std::uint32_t>(k + 1)));
    program_.convergent.ways_back.push_back({&program_.convergent.code[start_of_[k + 1]], std::move(live)});
    program_.code[starts_of_any_[k + 1] - 1].imm =
        reinterpret_cast<std::uint64_t>(&program_.convergent.ways_back.back());
  }
}

}  // namespace scanlab::vgpu
