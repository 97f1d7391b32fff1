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
  std::byte* host[warp_size];
  Addresses a;
  Mask global = 0;
  locate<Width>(w, i, AccessKind::read, form.count * form.bytes, host, a, global);
  note_poll(w, global, [&](unsigned l) { return a.of[l]; });
  Views* const views = w.block->grid->views;
  for_each_lane(w.active, [&](unsigned l) {
    const bool is_global = global >> l & 1;
    std::byte value[16];
    for (std::uint32_t k = 0; k < form.count; ++k) {
      // The elements of a vector are accesses of their own (PTX ISA, "Vector Data-types").
      if (!views || !is_global) {
        std::memcpy(value, host[l] + k * form.bytes, form.bytes);
      } else if (!views->read(strong_access(w, i, l, a.of[l] + k * form.bytes), value)) {
        ++w.block->grid->epoch;  // it may look again and see another value
      }
      copy_in(w, i->op[k], l, value, form);
    }
  });
  return proceed(w, i + 1);
}

template <AddressWidth Width>
const Inst* store(Warp& w, const Inst* i) {
  if (is_held_back(w, i)) return nullptr;
  const MemoryForm form = form_of(i);
  std::byte* host[warp_size];
  Addresses a;
  Mask global = 0;
  locate<Width>(w, i, AccessKind::write, form.count * form.bytes, host, a, global);
  ++w.block->grid->epoch;
  Views* const views = w.block->grid->views;
  for_each_lane(w.active, [&](unsigned l) {
    const bool is_global = global >> l & 1;
    std::byte value[16];
    for (std::uint32_t k = 0; k < form.count; ++k) {
      copy_out(w, i->op[k], l, value, form);
      if (views && is_global)
        views->write(strong_access(w, i, l, a.of[l] + k * form.bytes), value);
      else
        std::memcpy(host[l] + k * form.bytes, value, form.bytes);
    }
  });
  return proceed(w, i + 1);
}

template <AddressWidth Width, class T, T (*Op)(T, T, T)>
const Inst* weak_atomic(Warp& w, const Inst* i) {
  if (is_held_back(w, i)) return nullptr;
  const MemoryForm form = form_of(i);
  std::byte* host[warp_size];
  Addresses a;
  Mask global = 0;
  locate<Width>(w, i, AccessKind::atomic, sizeof(T), host, a, global);
  Views* const views = w.block->grid->views;
  const T* b = w.lanes<T>(i->op[1]);
  const T* c = w.lanes<T>(i->op[2]);
  T* result = form.has_result ? w.lanes<T>(i->op[0]) : nullptr;
  FloatSums sums(w.block->grid->floats);
  for_each_lane(w.active, [&](unsigned l) {
    T old;
    if (views && (global >> l & 1)) {
      const AtomicOperands<T> operands{sums, l, b[l], c[l], false};
      const auto compute = [](const void* context, const std::byte* before, std::byte* after) {
        T value;
        std::memcpy(&value, before, sizeof(T));
        value = result_of_atomic<T, Op>(*static_cast<const AtomicOperands<T>*>(context), value);
        std::memcpy(after, &value, sizeof(T));
      };
      std::byte before[16];
      if (views->update(strong_access(w, i, l, a.of[l]), compute, &operands, before)) ++w.block->grid->epoch;
      std::memcpy(&old, before, sizeof(T));
    } else {
      std::memcpy(&old, host[l], sizeof(T));
      const T now =
          result_of_atomic<T, Op>({sums, l, b[l], c[l], std::is_same_v<T, float> && lies_in_shared(w, host[l])}, old);
      if (std::memcmp(&old, &now, sizeof(T)) != 0) {
        std::memcpy(host[l], &now, sizeof(T));
        ++w.block->grid->epoch;
      }
    }
    if (result) result[l] = old;
  });
  sums.report(w, i);
  note_poll(w, global, [&](unsigned l) { return a.of[l]; });
  return proceed(w, i + 1);
}

template <AddressWidth Width>
struct SelectWeakAtomic {
  template <class T, T (*Op)(T, T, T)>
  static constexpr Handler handler = &weak_atomic<Width, T, Op>;
};

/// The operation of an atomic, as select_atomic knows it.
std::string_view operation_of(const ptx::Instruction& in) {
  if (in.has("noftz")) return "add.noftz";
  for (const char* known : {"add", "and", "or", "xor", "exch", "cas", "min", "max", "inc", "dec"})
    if (in.has(known)) return known;
  return "";
}

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
  const bool is_64 = width == AddressWidth::bits64;
  switch (opcode_of(in).effect) {
    case Opcode::Effect::load:
      return is_64 ? load<AddressWidth::bits64> : load<AddressWidth::bits32>;
    case Opcode::Effect::store:
      return is_64 ? store<AddressWidth::bits64> : store<AddressWidth::bits32>;
    case Opcode::Effect::atomic:
    case Opcode::Effect::reduction: {
      const std::string_view operation = operation_of(in);
      const Handler run = is_64 ? select_atomic<SelectWeakAtomic<AddressWidth::bits64>>(operation, s.type)
                                : select_atomic<SelectWeakAtomic<AddressWidth::bits32>>(operation, s.type);
      return run ? run : s.run;
    }
    default:
      return s.run;
  }
}

}  // namespace scanlab::vgpu
