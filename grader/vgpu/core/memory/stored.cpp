#include "vgpu/core/memory/stored.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "vgpu/core/memory/atomic_ops.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {
namespace {

/// Where shared or global memory holds what `lane` accesses.
const std::byte* memory_of(const Access& access, unsigned lane) {
  const std::uint64_t address = access.at(lane);
  return access.space == ptx::StateSpace::global ? access.block->grid->memory->host(address)
                                                 : access.block->shared.data() + address;
}

/// The bytes that `lane` stores, from its registers or by an asynchronous copy.
LaneValue value_of(const Access& store, unsigned lane) {
  LaneValue value{};
  if (store.copied) {
    std::ranges::copy(store.copied[lane], value.begin());
    return value;
  }
  const MemoryForm form = form_of(store.inst);
  const std::byte* const registers = store.block->warps[store.actor.warp].registers;
  for (std::uint32_t k = 0; k < form.count; ++k)
    std::memcpy(value.data() + k * form.bytes, registers + store.inst->op[k] + lane * form.lane_bytes, form.bytes);
  return value;
}

}  // namespace

std::optional<LaneValue> value_stored(const Access& store, unsigned lane) {
  if (!store.block || store.is_async) return std::nullopt;
  return value_of(store, lane);
}

std::optional<LaneValue> value_loaded(const Access& load, unsigned lane) {
  if (!load.block || load.bytes > sizeof(LaneValue)) return std::nullopt;
  const std::uint64_t address = load.at(lane);
  LaneValue value{};
  if (load.space == ptx::StateSpace::shared) {
    const std::vector<std::byte>& shared = load.block->shared;
    if (address > shared.size() || load.bytes > shared.size() - address) return std::nullopt;
    std::memcpy(value.data(), shared.data() + address, load.bytes);
    return value;
  }
  const bool is_there =
      load.space == ptx::StateSpace::global && load.block->grid->memory->read(value.data(), address, load.bytes);
  return is_there ? std::optional(value) : std::nullopt;
}

std::optional<LaneValue> value_expected(const Access& atomic, unsigned lane) {
  if (!atomic.block || !atomic.inst || atomic.phase || !is_compare_and_swap(form_of(atomic.inst).atomic)) return {};
  const std::byte* const registers = atomic.block->warps[atomic.actor.warp].registers;
  LaneValue value{};
  std::memcpy(value.data(), registers + atomic.inst->op[1] + lane * atomic.bytes, atomic.bytes);
  return value;
}

std::uint32_t word_now(const Access& access, std::uint64_t address) {
  std::uint32_t word = 0;
  if (!access.block) return word;
  const std::vector<std::byte>& shared = access.block->shared;
  if (access.space == ptx::StateSpace::global || access.space == ptx::StateSpace::constant)
    std::memcpy(&word, access.block->grid->memory->host(address), sizeof word);
  else if (access.space == ptx::StateSpace::shared && address < shared.size())
    std::memcpy(&word, shared.data() + address, std::min(sizeof word, shared.size() - address));
  return word;
}

std::uint32_t word_now(const Access& access, unsigned lane, std::uint64_t address) {
  if (access.space != ptx::StateSpace::local || !access.block) return word_now(access, address);
  const Warp& warp = access.block->warps[access.actor.warp];
  std::uint32_t word = 0;
  if (address + sizeof word <= warp.local_stride)
    std::memcpy(&word, warp.local.data() + lane * warp.local_stride + address, sizeof word);
  return word;
}

bool leaves_word(const Access& atomic, unsigned lane, std::uint64_t address) {
  const MemoryForm form = form_of(atomic.inst);
  const std::byte* const registers = atomic.block->warps[atomic.actor.warp].registers;
  const auto word_of = [&](unsigned k) {
    std::uint32_t word = 0;
    const std::byte* const operand = registers + atomic.inst->op[k] + lane * form.lane_bytes;
    const std::uint64_t offset = address > atomic.at(lane) ? address - atomic.at(lane) : 0;
    std::memcpy(&word, operand + offset, std::min<std::size_t>(sizeof word, form.bytes - offset));
    return word;
  };
  if (form.bytes < sizeof(std::uint32_t)) return false;
  const std::string_view operation = atomic_operation(form.atomic);
  if (operation == "exch") return true;
  if (operation == "and") return word_of(1) == ~std::uint32_t{0};
  if (operation == "cas") {
    return std::memcmp(registers + atomic.inst->op[1] + lane * form.lane_bytes,
                       registers + atomic.inst->op[2] + lane * form.lane_bytes, form.bytes) == 0;
  }
  const bool is_sum = operation == "add" || operation == "or" || operation == "xor";
  return is_sum && word_of(1) == 0;
}

bool only_loads(const Access& atomic, unsigned lane, std::uint64_t address) {
  if (!atomic.block || !atomic.inst || atomic.phase) return false;
  const MemoryForm form = form_of(atomic.inst);
  return form.has_result && form.atomic && atomic_operation(form.atomic) != "exch" &&
         leaves_word(atomic, lane, address);
}

bool counts(const Access& atomic) {
  if (!atomic.block || !atomic.inst || atomic.phase) return false;
  const MemoryForm form = form_of(atomic.inst);
  if (!form.atomic) return false;
  const std::string_view operation = atomic_operation(form.atomic);
  return operation != "exch" && operation != "cas";
}

bool commutes(const Access& atomic) {
  if (!atomic.block || !atomic.inst || atomic.phase) return false;
  const unsigned form = form_of(atomic.inst).atomic;
  const std::string_view operation = atomic_operation(form);
  if (operation == "add")
    return form != atomic_form("add", ptx::Type::f32) && form != atomic_form("add", ptx::Type::f64);
  return operation == "and" || operation == "or" || operation == "xor" || operation == "min" || operation == "max";
}

bool orders_lanes(const Access& atomic) {
  if (!atomic.block || !atomic.inst || atomic.phase) return false;
  if (!form_of(atomic.inst).is_used && commutes(atomic)) return false;
  for (const unsigned lane : lanes_in(lanes_that_change(atomic)))
    for (const unsigned other : lanes_in(atomic.mask & ~(Mask{1} << lane)))
      if (atomic.at(other) == atomic.at(lane)) return true;
  return false;
}

bool adds_floats(const Access& atomic) {
  return form_of(atomic.inst).atomic == atomic_form("add", ptx::Type::f32);
}

Mask lanes_that_change(const Access& atomic) {
  if (!atomic.block || !atomic.inst || atomic.phase || !form_of(atomic.inst).atomic) return atomic.mask;
  const MemoryForm form = form_of(atomic.inst);
  const std::byte* const registers = atomic.block->warps[atomic.actor.warp].registers;
  Mask changing = 0;
  for (const unsigned lane : lanes_in(atomic.mask)) {
    const auto operand = [&](unsigned k) { return registers + atomic.inst->op[k] + lane * form.lane_bytes; };
    if (atomic_changes(form.atomic, memory_of(atomic, lane), operand(1), operand(2))) changing |= Mask{1} << lane;
  }
  if (changing == 0 || changing == atomic.mask) return changing;
  // Lanes at the same place come one after the other: what one of them changes another may find.
  for (const unsigned lane : lanes_in(atomic.mask & ~changing))
    if (lanes_where(changing, [&](unsigned other) { return atomic.at(other) == atomic.at(lane); }))
      changing |= Mask{1} << lane;
  return changing;
}

bool changes_memory(const Access& store, unsigned lane, std::uint64_t from, std::uint64_t count) {
  if (!store.block) return true;
  return std::memcmp(value_of(store, lane).data() + from, memory_of(store, lane) + from, count) != 0;
}

bool stores_differ(const Access& store, unsigned lane, unsigned other) {
  if (!store.block) return true;
  return std::memcmp(value_of(store, lane).data(), value_of(store, other).data(), store.bytes) != 0;
}

}  // namespace scanlab::vgpu
