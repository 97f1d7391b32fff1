#include "vgpu/core/memory/any_space.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>

#include "vgpu/core/memory/atomic_ops.hpp"
#include "vgpu/core/memory/lane_access.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/warp/control.hpp"
#include "vgpu/core/warp/float_names.hpp"

namespace scanlab::vgpu {
namespace {

/// The addresses of an access in any space, checked.
struct Located {
  std::byte* host[warp_size];  ///< of every active lane
  Addresses a;
  Mask global = 0;  ///< the lanes that access global memory

  bool is_global(unsigned lane) const { return global >> lane & 1; }
  /// It looks at memory that others write: see note_poll.
  void note_poll(Warp& w) const {
    vgpu::note_poll(w, global, [&](unsigned l) { return a.of[l]; });
  }
};
template <AddressWidth Width>
Located locate(Warp& w, const Inst* i, AccessKind kind, std::uint32_t bytes) {
  Located at;
  w.pc = i;
  gather<Width>(w, i, at.a);
  const auto space = static_cast<StateSpace>(form_of(i).space);
  Mask of_space[8] = {};
  for (const unsigned l : lanes_in(w.active)) {
    const Resolved r = space == StateSpace::generic ? resolve(at.a.of[l]) : Resolved{space, at.a.of[l]};
    at.a.of[l] = r.address;
    at.host[l] = check_lane(w, r.space, kind, l, r.address, bytes);
    of_space[static_cast<unsigned>(r.space)] |= Mask{1} << l;
  }
  at.global = of_space[static_cast<unsigned>(StateSpace::global)];
  if (Claims* const claims = w.block->grid->claims)
    claims->note_lanes(kind, at.global, bytes, [&](unsigned l) { return at.a.of[l]; });
  if (!is_observed(w)) return at;
  for (unsigned s = 0; s < 8; ++s)
    if (of_space[s]) {
      const Access access = access_of(w, i, static_cast<StateSpace>(s), of_space[s], bytes, at.a.of);
      if (kind == AccessKind::atomic)
        for (Observer* o : w.block->grid->observers) o->atomic(access);
      else
        report(w, access, kind);
    }
  return at;
}

/// The view machine, if it has a say in such an access.
Views* views_of(const Warp& w, const Inst* i) {
  const MemoryForm form = form_of(i);
  const auto space = static_cast<StateSpace>(form.space);
  const bool may_be_global = space == StateSpace::global || space == StateSpace::generic;
  return may_be_global && is_strong(form) ? w.block->grid->views : nullptr;
}

// --- loads and stores ------------------------------------------------------------------------------------------------

/// Little-endian, as all CUDA hosts are: the low bytes come first.
void copy_in(Warp& w, OperandRef to, unsigned lane, const std::byte* from, const MemoryForm& form) {
  if (form.bytes == 16) return void(std::memcpy(w.lanes<std::byte>(to) + lane * 16, from, 16));
  std::uint64_t value = 0;
  std::memcpy(&value, from, form.bytes);
  value = extend(value, form);
  std::memcpy(w.lanes<std::byte>(to) + lane * form.lane_bytes, &value, form.lane_bytes);
}

void copy_out(Warp& w, OperandRef from, unsigned lane, std::byte* to, const MemoryForm& form) {
  std::memcpy(to, w.lanes<std::byte>(from) + lane * form.lane_bytes, form.bytes);
}

/// Loads or stores every element of the active lanes; those of lane l begin at place(l).
template <AccessKind kind, class Place>
void move_elements(Warp& w, const Inst* i, Place place) {
  const MemoryForm form = form_of(i);
  for (std::uint32_t k = 0; k < form.count; ++k)
    for (const unsigned l : lanes_in(w.active)) {
      if constexpr (kind == AccessKind::read)
        copy_in(w, i->op[k], l, place(l) + k * form.bytes, form);
      else
        copy_out(w, i->op[k], l, place(l) + k * form.bytes, form);
    }
}

StrongAccess strong_access(const Warp& w, const Inst* i, unsigned lane, Address address) {
  const MemoryForm form = form_of(i);
  return {actor_of(w, i),
          lane,
          address,
          form.bytes,
          static_cast<Access::Order>(form.order),
          static_cast<Access::Scope>(form.scope),
          form.atomic != 0 && !form.has_result};
}

/// The same as the view machine has it. The elements of a vector are accesses of their own (PTX ISA, "Vector
/// Data-types").
template <AccessKind kind>
void move_viewed(Warp& w, const Inst* i, const Located& at, Views& views) {
  const MemoryForm form = form_of(i);
  for (const unsigned l : lanes_in(w.active))
    for (std::uint32_t k = 0; k < form.count; ++k) {
      std::byte value[16];
      std::byte* const place = at.is_global(l) ? value : at.host[l] + k * form.bytes;
      const StrongAccess access = strong_access(w, i, l, at.a.of[l] + k * form.bytes);
      if constexpr (kind == AccessKind::read) {
        if (at.is_global(l) && !views.read(access, value)) ++w.block->grid->epoch;  // it may look again
        copy_in(w, i->op[k], l, place, form);
      } else {
        copy_out(w, i->op[k], l, place, form);
        if (at.is_global(l)) views.write(access, value);
      }
    }
}

template <AccessKind kind, AddressWidth Width>
const Inst* access_any(Warp& w, const Inst* i) {
  const MemoryForm form = form_of(i);
  Views* const views = views_of(w, i);
  if (views && is_held_back(w, i)) return nullptr;
  const Located at = locate<Width>(w, i, kind, form.count * form.bytes);
  if (kind == AccessKind::write)
    ++w.block->grid->epoch;
  else if (is_strong(form))
    at.note_poll(w);
  if (views)
    move_viewed<kind>(w, i, at, *views);
  else
    move_elements<kind>(w, i, [&](unsigned l) { return at.host[l]; });
  return proceed(w, i + 1);
}

// --- atomics ---------------------------------------------------------------------------------------------------------

bool lies_in_shared(const Warp& w, const std::byte* host) {
  const std::vector<std::byte>& shared = w.block->shared;
  return !std::less<>{}(host, shared.data()) && std::less<>{}(host, shared.data() + shared.size());
}

template <AddressWidth Width, class T, T (*compute)(T, T, T)>
const Inst* atomic(Warp& w, const Inst* i) {
  Views* const views = views_of(w, i);
  if (views && is_held_back(w, i)) return nullptr;
  const Located at = locate<Width>(w, i, AccessKind::atomic, sizeof(T));
  const T *const b = w.lanes<T>(i->op[1]), *const c = w.lanes<T>(i->op[2]);
  T* const result = form_of(i).has_result ? w.lanes<T>(i->op[0]) : nullptr;
  FloatSums sums(w.block->grid->floats);
  // What is there after lane l, which finds `old`.
  const auto now = [&](unsigned l, T old) {
    if constexpr (std::is_same_v<T, float>) {
      const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
      if (const auto named = sums.add(l, bits(old), bits(b[l]))) return std::bit_cast<float>(*named);
      if (lies_in_shared(w, at.host[l])) return atomic_ops::add_f32_shared(old, b[l]);
    }
    return compute(old, b[l], c[l]);
  };
  for (const unsigned l : lanes_in(w.active)) {
    T old;
    if (views && at.is_global(l)) {
      const auto update = [&](const std::byte* before, std::byte* after) {
        T value;
        std::memcpy(&value, before, sizeof(T));
        value = now(l, value);
        std::memcpy(after, &value, sizeof(T));
        return !is_compare_and_swap(form_of(i).atomic) || std::memcmp(before, &b[l], sizeof(T)) == 0;
      };
      std::byte before[16];
      if (views->update(strong_access(w, i, l, at.a.of[l]), update, before)) ++w.block->grid->epoch;
      std::memcpy(&old, before, sizeof(T));
    } else {
      std::memcpy(&old, at.host[l], sizeof(T));
      const T value = now(l, old);
      // A failed compare-and-swap or an exchange of equal values changes nothing for threads that wait.
      if (std::memcmp(&old, &value, sizeof(T)) != 0) {
        std::memcpy(at.host[l], &value, sizeof(T));
        ++w.block->grid->epoch;
      }
    }
    if (result) result[l] = old;
  }
  sums.report(w, i);
  at.note_poll(w);
  return proceed(w, i + 1);
}

template <AddressWidth Width>
struct SelectAtomic {
  template <class T, T (*compute)(T, T, T)>
  static constexpr Handler handler = &atomic<Width, T, compute>;
};

template <class T>
void broadcast(Warp& w, OperandRef to, std::uint64_t value) {
  set_active<T>(w, to, [value](unsigned) { return static_cast<T>(value); });
}

}  // namespace

bool is_held_back(Warp& w, const Inst* i) {
  if (w.block->grid->views->may_act(w, i)) return false;
  // In front of its guard, which sets the active lanes.
  if (i != w.frame->program->code.data() && (i - 1)->run == control::guard) {
    w.active = w.guarded;
    --i;
  }
  w.pc = i;
  return true;
}

Handler select_any(AccessKind kind, const MemoryForm& form, AddressWidth width) {
  return with_width(width, [&]<AddressWidth W>() -> Handler {
    if (kind == AccessKind::atomic) return select_atomic<SelectAtomic<W>>(form.atomic);
    return kind == AccessKind::read ? &access_any<AccessKind::read, W> : &access_any<AccessKind::write, W>;
  });
}

// --- parameters ------------------------------------------------------------------------------------------------------

const Inst* load_parameter(Warp& w, const Inst* i) {
  const MemoryForm form = form_of(i);
  const std::byte* const from = w.block->grid->parameters.data() + i->imm;
  if (form.bytes == 16) {
    move_elements<AccessKind::read>(w, i, [&](unsigned) { return from; });
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
  move_elements<AccessKind::read>(w, i, [&](unsigned l) { return w.registers + i->imm + l * i->op[6]; });
  return proceed(w, i + 1);
}

const Inst* store_slot(Warp& w, const Inst* i) {
  move_elements<AccessKind::write>(w, i, [&](unsigned l) { return w.registers + i->imm + l * i->op[6]; });
  return proceed(w, i + 1);
}

}  // namespace scanlab::vgpu
