#include "vgpu/core/memory/memory_ops.hpp"

#include <cstring>

#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/memory/any_space.hpp"
#include "vgpu/core/memory/atomic_ops.hpp"
#include "vgpu/core/memory/lane_access.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Where in the array that `i` has hit last all 32 lanes' elements of `bytes` lie; false when some do not, or are not
/// aligned.
template <AddressWidth Width, class Offset>
bool offsets_within(Warp& w, const Inst* i, std::uint32_t bytes, Offset* into) {
  const Range range = range_of(w, i);
  if (range.bytes < bytes || (sizeof(Offset) == 4 && range.bytes >> 31)) return false;
  const Offset* const registers = w.lanes<Offset>(i->op[7]);
  const auto shift = static_cast<Offset>(i->imm - range.begin), last = static_cast<Offset>(range.bytes - bytes);
  // A borrow shows in the highest bit, which no offset within the array has.
  Offset outside = 0, bits = 0;
  SCANLAB_LANES_INDEPENDENT
  for (unsigned l = 0; l < warp_size; ++l) {
    into[l] = registers[l] + shift;
    outside |= into[l] | (last - into[l]);
    bits |= registers[l] + static_cast<Offset>(i->imm);
  }
  return outside >> (bits_of<Offset> - 1) == 0 && bits % bytes == 0;
}

template <class Offset>
void addresses_from(Warp& w, const Inst* i, const Offset* into, Addresses& a) {
  const std::uint64_t begin = range_of(w, i).begin;
  for (unsigned l = 0; l < warp_size; ++l) a.of[l] = begin + into[l];
}

/// Lanes that are not side by side, or not all there.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Inst* access_scattered(Warp& w, const Inst* i) {
  const std::uint32_t count = i->aux & 7u;
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  w.pc = i;
  Addresses a;
  alignas(64) AddressOf<Width> into[warp_size];
  const bool may_poll = kind == AccessKind::read && is_strong(form_of(i));
  if (w.active != full_mask || may_poll || !offsets_within<Width>(w, i, bytes, into)) {
    gather<Width>(w, i, a);
    access_lanes<kind, T, Space, watched>(w, i, a, count);
    return i + 1;
  }
  if constexpr (watched != Watched::nothing) {
    addresses_from(w, i, into, a);
    report_lanes<Space, watched>(w, i, bytes, a, kind);
  }
  if constexpr (kind == AccessKind::write) ++w.block->grid->epoch;
  std::byte* const host = host_base_of(*w.block, Space) + range_of(w, i).begin;
  for (std::uint32_t k = 0; k < count; ++k)
    move_scattered<kind>(w.lanes<T>(i->op[k]), [&](unsigned l) { return host + k * sizeof(T) + into[l]; });
  return i + 1;
}

/// Elements as wide as their registers, in global or shared memory: nearly all accesses of a kernel.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
const Inst* access(Warp& w, const Inst* i) {
  if constexpr (watched != Watched::everything)
    if (std::uint64_t first; w.active == full_mask && (i->aux & 7u) == 1 &&
                             (kind == AccessKind::write || !is_strong(form_of(i))) &&
                             is_consecutive<Width>(w, i, sizeof(T), first))
      if (std::byte* const host = row<Space>(w, i, first, sizeof(T))) {
        if constexpr (watched == Watched::global)
          if (Claims* const claims = w.block->grid->claims) claims->note(kind, first, warp_size * sizeof(T));
        move_row<kind>(w.lanes<T>(i->op[0]), host);
        if constexpr (kind == AccessKind::write) ++w.block->grid->epoch;
        return proceed(w, i + 1);
      }
  return access_scattered<kind, T, Space, Width, watched>(w, i);
}

template <StateSpace Space, AddressWidth Width>
Handler select_access(AccessKind kind, std::uint32_t bytes, Watched watched) {
  return with_element<Space>(bytes, watched, [&]<class T, Watched seen>() -> Handler {
    return kind == AccessKind::read ? &access<AccessKind::read, T, Space, Width, seen>
                                    : &access<AccessKind::write, T, Space, Width, seen>;
  });
}

/// Words that say where, how cached or how ordered; true when `word` is one of them.
bool read_qualifier(std::string_view word, MemoryForm& form) {
  using Order = Access::Order;
  using Scope = Access::Scope;
  const auto order = [&](Order o) { return form.order = static_cast<std::uint32_t>(o), true; };
  const auto scope = [&](Scope s) { return form.scope = static_cast<std::uint32_t>(s), true; };
  if (word == "weak" || word == "mmio") return true;
  if (word == "volatile") return order(Order::volatile_);
  if (word == "relaxed") return order(Order::relaxed);
  if (word == "acquire") return order(Order::acquire);
  if (word == "release") return order(Order::release);
  if (word == "acq_rel") return order(Order::acq_rel);
  if (word == "cta") return scope(Scope::block);
  if (word == "gpu") return scope(Scope::device);
  if (word == "sys") return scope(Scope::system);
  if (word == "nc") return form.is_read_only = 1, true;
  for (const std::string_view known : {"global", "shared", "shared::cta", "local", "const", "param", "ca", "cg", "cs",
                                       "lu", "cv", "wb", "wt", "param::entry", "param::func"})
    if (word == known) return true;
  return word.starts_with("L1::") || word.starts_with("L2::");
}

std::uint32_t lane_bytes_of(const ptx::Operand& o, std::span<const ptx::Register> registers, ptx::Type type) {
  if (o.kind == ptx::Operand::Kind::reg && o.reg >= 0 && static_cast<std::size_t>(o.reg) < registers.size())
    type = registers[static_cast<std::size_t>(o.reg)].type;
  return std::max<std::uint32_t>(2, ptx::size_of(type));
}

}  // namespace

std::optional<MemorySelection> select_memory(const ptx::Instruction& in, std::span<const ptx::Register> registers,
                                             ptx::StateSpace space, AddressWidth width, const ImageOptions& options) {
  const Opcode::Effect effect = opcode_of(in).effect;
  const bool is_load = effect == Opcode::Effect::load, is_store = effect == Opcode::Effect::store;
  const bool is_atomic = effect == Opcode::Effect::atomic || effect == Opcode::Effect::reduction;
  if ((!is_load && !is_store && !is_atomic) || in.operands.size() < 2) return std::nullopt;
  MemorySelection s;
  s.form.count = 1;
  s.form.space = static_cast<std::uint32_t>(space);
  s.form.is_read_only = in.opcode == "ldu";
  if (is_atomic) {
    s.form.order = static_cast<std::uint32_t>(Access::Order::relaxed);
    s.form.scope = static_cast<std::uint32_t>(Access::Scope::device);
  }
  std::string_view operation;
  for (const std::string& word : in.modifiers) {
    if (read_qualifier(word, s.form)) continue;
    if (word == "v2" || word == "v4") {
      s.form.count = word == "v2" ? 2 : 4;
    } else if (const ptx::Type t = ptx::type_from_suffix(word); t != ptx::Type::none && s.type == ptx::Type::none) {
      s.type = t;
    } else if (is_atomic && operation.empty()) {
      operation = word;
    } else if (is_atomic && operation == "add" && word == "noftz") {
      operation = "add.noftz";
    } else {
      return std::nullopt;
    }
  }
  s.form.bytes = ptx::size_of(s.type);
  const bool is_whole_b128 = s.type == ptx::Type::b128 && s.form.count == 1 && !is_atomic;
  if (s.type == ptx::Type::none || s.form.bytes == 0 || (s.form.bytes > 8 && !is_whole_b128)) return std::nullopt;
  s.form.is_signed = ptx::is_signed(s.type);
  if (is_atomic) {
    if (s.form.count != 1) return std::nullopt;
    s.form.has_result = effect == Opcode::Effect::atomic;
    s.form.lane_bytes = s.form.bytes;
    for (const ptx::Operand& o : in.operands)
      if (o.kind == ptx::Operand::Kind::reg && lane_bytes_of(o, registers, s.type) < s.form.bytes) return std::nullopt;
    s.form.atomic = atomic_form(operation, s.type);
    s.run = select_any(AccessKind::atomic, s.form, width);
    return s.run ? std::optional(s) : std::nullopt;
  }
  const ptx::Operand& value = in.operands[is_load ? 0 : 1];
  if (value.kind == ptx::Operand::Kind::vector && value.elements.size() != s.form.count) return std::nullopt;
  const ptx::Operand* shape = &value;
  if (value.kind == ptx::Operand::Kind::vector) {
    shape = &value.elements[0];
    for (const ptx::Operand& e : value.elements)
      if (e.kind == ptx::Operand::Kind::reg) shape = &e;
  }
  s.form.lane_bytes = lane_bytes_of(*shape, registers, s.type);
  if (s.form.lane_bytes < s.form.bytes || (s.form.lane_bytes == 16) != is_whole_b128) return std::nullopt;
  const AccessKind kind = is_load ? AccessKind::read : AccessKind::write;
  const bool is_viewed = options.is_weak && space == StateSpace::global && is_strong(s.form);
  if (s.form.lane_bytes == s.form.bytes && !is_viewed)
    s.run = with_width(width, [&]<AddressWidth W>() -> Handler {
      if (space == StateSpace::global) return select_access<StateSpace::global, W>(kind, s.form.bytes, options.watched);
      if (space == StateSpace::shared) return select_access<StateSpace::shared, W>(kind, s.form.bytes, options.watched);
      return nullptr;
    });
  if (!s.run) s.run = select_any(kind, s.form, width);
  return s;
}

}  // namespace scanlab::vgpu
