// Decoding what has to do with addresses: loads, stores, atomics, asynchronous copies, barrier objects, the stack.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "vgpu/core/decode/decoder.hpp"
#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/memory/async_copy.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/gang.hpp"

namespace scanlab::vgpu {

ptx::StateSpace Decoder::space_of(const ptx::Instruction& in) {
  for (const std::string& m : in.modifiers) {
    if (m == "global") return ptx::StateSpace::global;
    if (m.starts_with("shared")) return ptx::StateSpace::shared;
    if (m == "local") return ptx::StateSpace::local;
    if (m == "const") return ptx::StateSpace::constant;
    if (m.starts_with("param")) return ptx::StateSpace::param;
  }
  return ptx::StateSpace::generic;
}

void Decoder::memory(const ptx::Instruction& in) {
  if (context_.image->fine_grain) emit_checkpoint();
  const bool is_store = !has_destination(in);
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
      const std::uint64_t value = symbol_or_fault(address.name);
      is_parameter = space == ptx::StateSpace::param;
      if (is_parameter)
        offset += value;
      else
        base = frame_.constant(value, Type::u64);
    } else {
      base = frame_.constant(address.bits, Type::u64);
    }
  }
  auto s = select_memory(in, function_.registers, space, width, *context_.image);
  if (!s) unknown_instruction();

  s->form.is_used = s->form.has_result && liveness_.is_used(index_);
  InstFields fields{.op = {}, .imm = offset, .aux = std::bit_cast<std::uint32_t>(s->form)};
  unsigned place = in.opcode == "red" ? 1 : 0;
  for (std::size_t k = 0; k < in.operands.size(); ++k) {
    const Operand& o = in.operands[k];
    if (k == address_at) continue;
    for (const Operand& e : o.kind == Kind::vector ? std::span(o.elements) : std::span(&o, 1))
      if (place < 7) fields.op[place++] = !is_store && k == 0 ? destination(e, s->type) : source(e, s->type);
  }
  const std::uint64_t bytes = std::uint64_t{s->form.count} * s->form.bytes;
  if (slot) {
    if (offset > slot->size || bytes > slot->size - offset) unsupported("an access outside an argument of a call");
    s->run = is_store ? store_slot : load_slot;
    constexpr std::uint64_t word = 4;
    const std::uint64_t begin = offset / word * word;
    if (!is_store && context_.image->names_elements && s->form.bytes < word && begin + word <= slot->size)
      emit(report_argument_word, {each_together}, {.op = {}, .imm = slot->offset + begin, .aux = slot->size});
    fields.imm += slot->offset;
    fields.op[6] = slot->size;
  } else if (is_parameter) {
    if (is_store || offset > context_.image->parameter_bytes || bytes > context_.image->parameter_bytes - offset)
      unsupported("an access outside the kernel's parameters");
    s->run = load_parameter;
  } else {
    fields.op[6] = context_.image->ranges++;
    fields.op[7] = base;
  }
  emit(s->run, {each_alone}, fields);
}

void Decoder::copy_asynchronously(const ptx::Instruction& in) {
  if (select_mbarrier(in)) return barrier_object(in);
  if (is_async_wait(in)) {
    const bool counts = in.has("wait_group") && !in.operands.empty();
    return emit(async_wait, {each_alone},
                {.imm = counts ? in.operands[0].bits : Observer::wait_for_all, .aux = in.has("commit_group")});
  }
  const auto bytes = async_copy_bytes(in);
  if (!bytes) unknown_instruction();
  AsyncCopyForm form;
  form.bytes = static_cast<std::uint8_t>(*bytes);
  const Operand &to = in.operands[0], &from = in.operands[1];
  const auto base_of = [&](const Operand& o) {
    if (o.reg >= 0) return reg(o.reg, frame_.lane_bytes_of(o.reg) == 8 ? Type::u64 : Type::u32);
    return frame_.constant(value_of(o), Type::u64);
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
  const OperandRef to_base = base_of(to), from_base = base_of(from);
  const OperandRef count = has_third ? source(in.operands[3], is_predicate ? Type::pred : Type::u32) : 0;
  const AsyncCopyOffsets offsets{static_cast<std::int32_t>(to.offset), static_cast<std::int32_t>(from.offset)};
  emit(async_copy, {each_alone},
       {.op = {to_base, from_base, count},
        .imm = std::bit_cast<std::uint64_t>(offsets),
        .aux = std::bit_cast<std::uint32_t>(form)});
}

void Decoder::stack_memory(const ptx::Instruction& in) {
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
  const OperandRef top =
      in.opcode == "stackrestore" ? source(operands[0], Type::u64) : destination(operands[0], Type::u64);
  emit(allocates                  ? allocate_on_stack
       : in.opcode == "stacksave" ? save_stack
                                  : restore_stack,
       {}, {.op = {top, bytes}, .imm = align});
}

void Decoder::barrier_object(const ptx::Instruction& in) {
  const auto selection = select_mbarrier(in);
  if (!selection) unknown_instruction();
  const MbarrierSelection& s = *selection;
  emit_checkpoint();
  OperandRef result = frame_.trash(), value = frame_.constant(1, s.type), base = 0;
  if (s.result >= 0) {
    const Operand& to = in.operands[static_cast<std::size_t>(s.result)];
    result = destination(to, s.result_type);
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
  emit(s.run, {},
       {.op = {result, value, 0, 0, 0, 0, 0, base}, .imm = offset, .aux = std::bit_cast<std::uint32_t>(form)});
}

std::uint64_t Decoder::value_of(const Operand& address) {
  return address.name.empty() ? address.bits : symbol_or_fault(address.name);
}

std::uint64_t Decoder::window_or_fault(const ptx::Instruction& in) {
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

void Decoder::convert_address(const ptx::Instruction& in) {
  if (in.operands.size() != 2 || !in.has("u64")) unknown_instruction();
  const std::uint64_t window = window_or_fault(in);
  const OperandRef from = source(in.operands[1], Type::u64), to = destination(in.operands[0], Type::u64);
  emit(add_window, {each_alone}, {.op = {to, from}, .imm = in.has("to") ? 0 - window : window});
}

void Decoder::is_space_of(const ptx::Instruction& in) {
  if (in.operands.size() != 2) unknown_instruction();
  const OperandRef from = source(in.operands[1], Type::u64), to = destination(in.operands[0], Type::pred);
  const bool is_constant = space_of(in) == ptx::StateSpace::constant;
  const std::uint64_t window = is_constant ? is_constant_space : window_or_fault(in);
  emit(is_space, {each_alone}, {.op = {to, from}, .imm = window});
}

}  // namespace scanlab::vgpu
