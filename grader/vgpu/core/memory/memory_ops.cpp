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

template <AddressWidth Width>
using OffsetOf = std::conditional_t<Width == AddressWidth::bits32, std::uint32_t, std::uint64_t>;

template <class Offset>
void addresses_from(Warp& w, const Inst* i, const Offset* into, Addresses& a) {
  const std::uint64_t begin = range_of(w, i).begin;
  for (unsigned l = 0; l < warp_size; ++l) a.of[l] = begin + into[l];
}

template <StateSpace Space>
std::byte* host_of_range(Warp& w, const Inst* i) {
  const std::uint64_t begin = range_of(w, i).begin;
  return Space == StateSpace::shared ? w.block->shared.data() + begin : w.block->grid->memory->host(begin);
}

/// Lanes that are not side by side, or not all there.
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Inst* load_scattered(Warp& w, const Inst* i) {
  const std::uint32_t count = i->aux & 7u;
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  w.pc = i;
  Addresses a;
  alignas(64) OffsetOf<Width> into[warp_size];
  if (w.active != full_mask || form_of(i).order != 0 || !offsets_within<Width>(w, i, bytes, into)) {
    gather<Width>(w, i, a);
    load_lanes<T, Space, watched>(w, i, a, count);
    return i + 1;
  }
  if constexpr (watched != Watched::nothing) {
    addresses_from(w, i, into, a);
    report_lanes<Space, watched>(w, i, bytes, a, AccessKind::read);
  }
  const std::byte* const from = host_of_range<Space>(w, i);
  for (std::uint32_t k = 0; k < count; ++k) take_lanes(w.lanes<T>(i->op[k]), from + k * sizeof(T), into);
  return i + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Inst* store_scattered(Warp& w, const Inst* i) {
  const std::uint32_t count = i->aux & 7u;
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  w.pc = i;
  Addresses a;
  alignas(64) OffsetOf<Width> into[warp_size];
  if (w.active != full_mask || !offsets_within<Width>(w, i, bytes, into)) {
    gather<Width>(w, i, a);
    store_lanes<T, Space, watched>(w, i, a, count);
    return i + 1;
  }
  if constexpr (watched != Watched::nothing) {
    addresses_from(w, i, into, a);
    report_lanes<Space, watched>(w, i, bytes, a, AccessKind::write);
  }
  ++w.block->grid->epoch;
  std::byte* const to = host_of_range<Space>(w, i);
  for (std::uint32_t k = 0; k < count; ++k) {
    const T* const from = w.lanes<T>(i->op[k]);
    for (unsigned l = 0; l < warp_size; ++l) std::memcpy(to + k * sizeof(T) + into[l], &from[l], sizeof(T));
  }
  return i + 1;
}

/// Elements as wide as their registers, in global or shared memory: nearly all accesses of a kernel.
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Inst* load(Warp& w, const Inst* i) {
  if constexpr (watched != Watched::everything)
    if (std::uint64_t first; w.active == full_mask && (i->aux & 7u) == 1 && form_of(i).order == 0 &&
                             is_consecutive<Width>(w, i, sizeof(T), first))
      if (const std::byte* from = row<Space>(w, i, first, sizeof(T))) {
        if constexpr (watched == Watched::global)
          if (Claims* const claims = w.block->grid->claims) claims->read(first, warp_size * sizeof(T));
        copy_lanes<T>(w.lanes<T>(i->op[0]), from);
        return proceed(w, i + 1);
      }
  return load_scattered<T, Space, Width, watched>(w, i);
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Inst* store(Warp& w, const Inst* i) {
  if constexpr (watched != Watched::everything)
    if (std::uint64_t first;
        w.active == full_mask && (i->aux & 7u) == 1 && is_consecutive<Width>(w, i, sizeof(T), first))
      if (std::byte* to = row<Space>(w, i, first, sizeof(T))) {
        if constexpr (watched == Watched::global)
          if (Claims* const claims = w.block->grid->claims) claims->write(first, warp_size * sizeof(T));
        copy_lanes<T>(to, w.lanes<T>(i->op[0]));
        ++w.block->grid->epoch;
        return proceed(w, i + 1);
      }
  return store_scattered<T, Space, Width, watched>(w, i);
}

/// Loads every element of the active lanes; what lane l loads begins at from(l).
template <class From>
void load_elements(Warp& w, const Inst* i, From from) {
  const MemoryForm form = form_of(i);
  for (std::uint32_t k = 0; k < form.count; ++k)
    for (const unsigned l : lanes_in(w.active)) copy_in(w, i->op[k], l, from(l) + k * form.bytes, form);
}
template <class To>
void store_elements(Warp& w, const Inst* i, To to) {
  const MemoryForm form = form_of(i);
  for (std::uint32_t k = 0; k < form.count; ++k)
    for (const unsigned l : lanes_in(w.active)) copy_out(w, i->op[k], l, to(l) + k * form.bytes, form);
}

/// Any space, any widths.
template <AddressWidth Width>
const Inst* load_any(Warp& w, const Inst* i) {
  const MemoryForm form = form_of(i);
  const Located at = locate<Width>(w, i, AccessKind::read, form.count * form.bytes);
  if (form.order != static_cast<std::uint32_t>(Access::Order::weak)) at.note_poll(w);
  load_elements(w, i, [&](unsigned l) { return at.host[l]; });
  return proceed(w, i + 1);
}

template <AddressWidth Width>
const Inst* store_any(Warp& w, const Inst* i) {
  const MemoryForm form = form_of(i);
  const Located at = locate<Width>(w, i, AccessKind::write, form.count * form.bytes);
  ++w.block->grid->epoch;
  store_elements(w, i, [&](unsigned l) { return at.host[l]; });
  return proceed(w, i + 1);
}

template <AddressWidth Width, class T, T (*compute)(T, T, T)>
const Inst* atomic(Warp& w, const Inst* i) {
  const Located at = locate<Width>(w, i, AccessKind::atomic, sizeof(T));
  AtomicLanes<T, compute> lanes(w, i);
  for (const unsigned l : lanes_in(w.active)) lanes.act(l, at.host[l]);
  lanes.report(i);
  at.note_poll(w);
  return proceed(w, i + 1);
}

template <AddressWidth Width>
struct SelectAtomic {
  template <class T, T (*compute)(T, T, T)>
  static constexpr Handler handler = &atomic<Width, T, compute>;
};

template <StateSpace Space, AddressWidth Width, Watched watched>
Handler pick(std::uint32_t bytes, bool is_load) {
  switch (bytes) {
    case 2:
      return is_load ? &load<std::uint16_t, Space, Width, watched> : &store<std::uint16_t, Space, Width, watched>;
    case 4:
      return is_load ? &load<std::uint32_t, Space, Width, watched> : &store<std::uint32_t, Space, Width, watched>;
    case 8:
      return is_load ? &load<std::uint64_t, Space, Width, watched> : &store<std::uint64_t, Space, Width, watched>;
    default:
      return nullptr;
  }
}

template <StateSpace Space, AddressWidth Width>
Handler pick(std::uint32_t bytes, bool is_load, Watched watched) {
  if (watched == Watched::everything) return pick<Space, Width, Watched::everything>(bytes, is_load);
  if constexpr (Space == StateSpace::global)
    if (watched == Watched::global) return pick<Space, Width, Watched::global>(bytes, is_load);
  return pick<Space, Width, Watched::nothing>(bytes, is_load);
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
  for (const std::string_view known : {"global", "shared", "shared::cta", "local", "const", "param", "nc", "ca", "cg",
                                       "cs", "lu", "cv", "wb", "wt", "param::entry", "param::func"})
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
                                             ptx::StateSpace space, AddressWidth width, Watched watched) {
  const Opcode::Effect effect = opcode_of(in).effect;
  const bool is_load = effect == Opcode::Effect::load, is_store = effect == Opcode::Effect::store;
  const bool is_atomic = effect == Opcode::Effect::atomic || effect == Opcode::Effect::reduction;
  if ((!is_load && !is_store && !is_atomic) || in.operands.size() < 2) return std::nullopt;
  MemorySelection s;
  s.form.count = 1;
  s.form.space = static_cast<std::uint32_t>(space);
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
    s.run = with_width(width, [&]<AddressWidth W>() { return select_atomic<SelectAtomic<W>>(s.form.atomic); });
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
  const std::uint32_t bytes = s.form.lane_bytes == s.form.bytes ? s.form.bytes : 0;
  s.run = with_width(width, [&]<AddressWidth W>() -> Handler {
    Handler run = nullptr;
    if (space == StateSpace::global) run = pick<StateSpace::global, W>(bytes, is_load, watched);
    if (space == StateSpace::shared) run = pick<StateSpace::shared, W>(bytes, is_load, watched);
    return run ? run : is_load ? &load_any<W> : &store_any<W>;
  });
  return s;
}

namespace {

template <class T>
void broadcast(Warp& w, OperandRef to, std::uint64_t value) {
  T* d = w.lanes<T>(to);
  const Mask active = w.active;
#pragma GCC ivdep
  for (unsigned l = 0; l < warp_size; ++l) d[l] = active >> l & 1 ? static_cast<T>(value) : d[l];
}

}  // namespace

const Inst* load_parameter(Warp& w, const Inst* i) {
  const MemoryForm form = form_of(i);
  const std::byte* const from = w.block->grid->parameters.data() + i->imm;
  if (form.bytes == 16) {
    load_elements(w, i, [&](unsigned) { return from; });
    return i + 1;
  }
  for (std::uint32_t k = 0; k < form.count; ++k) {
    std::uint64_t value = 0;
    std::memcpy(&value, from + k * form.bytes, form.bytes);
    value = extend(value, form);
    if (form.lane_bytes == 2)
      broadcast<std::uint16_t>(w, i->op[k], value);
    else if (form.lane_bytes == 4)
      broadcast<std::uint32_t>(w, i->op[k], value);
    else
      broadcast<std::uint64_t>(w, i->op[k], value);
  }
  return proceed(w, i + 1);
}

const Inst* load_slot(Warp& w, const Inst* i) {
  load_elements(w, i, [&](unsigned l) { return w.registers + i->imm + l * i->op[6]; });
  return proceed(w, i + 1);
}

const Inst* store_slot(Warp& w, const Inst* i) {
  store_elements(w, i, [&](unsigned l) { return w.registers + i->imm + l * i->op[6]; });
  return proceed(w, i + 1);
}

}  // namespace scanlab::vgpu
