#include "vgpu/core/memory/weak_ops.hpp"

#include <bit>
#include <cstring>

#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/memory/any_space.hpp"
#include "vgpu/core/memory/atomic_ops.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/warp/control.hpp"

namespace scanlab::vgpu {
namespace {

Views::Strong strong_access(const Warp& w, const Inst* i, unsigned lane, Address address) {
  const MemoryForm form = form_of(i);
  return {actor_of(w, i),
          lane,
          address,
          form.bytes,
          static_cast<Access::Order>(form.order),
          static_cast<Access::Scope>(form.scope),
          form.atomic != 0 && !form.has_result};
}

template <AddressWidth Width>
const Inst* load(Warp& w, const Inst* i) {
  if (is_held_back(w, i)) return nullptr;
  const MemoryForm form = form_of(i);
  const Located at = locate<Width>(w, i, AccessKind::read, form.count * form.bytes);
  at.note_poll(w);
  Views* const views = w.block->grid->views;
  for (const unsigned l : lanes_in(w.active)) {
    const bool is_global = at.global >> l & 1;
    std::byte value[16];
    for (std::uint32_t k = 0; k < form.count; ++k) {
      // The elements of a vector are accesses of their own (PTX ISA, "Vector Data-types").
      if (!views || !is_global) {
        std::memcpy(value, at.host[l] + k * form.bytes, form.bytes);
      } else if (!views->read(strong_access(w, i, l, at.a.of[l] + k * form.bytes), value)) {
        ++w.block->grid->epoch;  // it may look again and see another value
      }
      copy_in(w, i->op[k], l, value, form);
    }
  }
  return proceed(w, i + 1);
}

template <AddressWidth Width>
const Inst* store(Warp& w, const Inst* i) {
  if (is_held_back(w, i)) return nullptr;
  const MemoryForm form = form_of(i);
  const Located at = locate<Width>(w, i, AccessKind::write, form.count * form.bytes);
  ++w.block->grid->epoch;
  Views* const views = w.block->grid->views;
  for (const unsigned l : lanes_in(w.active)) {
    const bool is_global = at.global >> l & 1;
    std::byte value[16];
    for (std::uint32_t k = 0; k < form.count; ++k) {
      copy_out(w, i->op[k], l, value, form);
      if (views && is_global)
        views->write(strong_access(w, i, l, at.a.of[l] + k * form.bytes), value);
      else
        std::memcpy(at.host[l] + k * form.bytes, value, form.bytes);
    }
  }
  return proceed(w, i + 1);
}

template <AddressWidth Width, class T, T (*compute)(T, T, T)>
const Inst* atomic(Warp& w, const Inst* i) {
  if (is_held_back(w, i)) return nullptr;
  const Located at = locate<Width>(w, i, AccessKind::atomic, sizeof(T));
  Views* const views = w.block->grid->views;
  AtomicLanes<T, compute> lanes(w, i);
  for (const unsigned l : lanes_in(w.active)) {
    if (!views || !(at.global >> l & 1)) {
      lanes.act(l, at.host[l]);
      continue;
    }
    const auto update = [&](const std::byte* before, std::byte* after) {
      T value;
      std::memcpy(&value, before, sizeof(T));
      value = lanes.now(l, value, false);
      std::memcpy(after, &value, sizeof(T));
    };
    std::byte before[16];
    if (views->update(strong_access(w, i, l, at.a.of[l]), update, before)) ++w.block->grid->epoch;
    T old;
    std::memcpy(&old, before, sizeof(T));
    lanes.give(l, old);
  }
  lanes.report(i);
  at.note_poll(w);
  return proceed(w, i + 1);
}

template <AddressWidth Width>
struct SelectAtomic {
  template <class T, T (*compute)(T, T, T)>
  static constexpr Handler handler = &atomic<Width, T, compute>;
};

}  // namespace

bool is_held_back(Warp& w, const Inst* i) {
  Views* const views = w.block->grid->views;
  if (!views || views->may_act(w, i)) return false;
  // In front of its guard, which sets the active lanes.
  if (i != w.frame->program->code.data() && (i - 1)->run == control::guard) {
    w.active = w.guarded;
    --i;
  }
  w.pc = i;
  return true;
}

Handler select_weak(const ptx::Instruction& in, const MemorySelection& s, AddressWidth width) {
  const auto space = static_cast<StateSpace>(s.form.space);
  const bool may_be_global = space == StateSpace::global || space == StateSpace::generic;
  if (!may_be_global || s.form.order == static_cast<std::uint32_t>(Access::Order::weak)) return s.run;
  return with_width(width, [&]<AddressWidth W>() -> Handler {
    if (s.form.atomic) return select_atomic<SelectAtomic<W>>(s.form.atomic);
    return opcode_of(in).effect == Opcode::Effect::store ? &store<W> : &load<W>;
  });
}

}  // namespace scanlab::vgpu
