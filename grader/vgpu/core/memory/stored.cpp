#include "vgpu/core/memory/stored.hpp"

#include <cstddef>
#include <cstring>

#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {
namespace {

/// The bytes that `lane` stores, from its registers.
LaneValue value_of(const Access& store, unsigned lane) {
  const MemoryForm form = form_of(store.inst);
  const std::byte* const registers = store.block->warps[store.actor.warp].registers;
  LaneValue value{};
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

bool changes_memory(const Access& store, unsigned lane, std::uint64_t from, std::uint64_t count) {
  if (!store.block) return true;
  const LaneValue value = value_of(store, lane);
  const std::uint64_t address = store.at(lane);
  const std::byte* const memory = store.space == ptx::StateSpace::global ? store.block->grid->memory->host(address)
                                                                         : store.block->shared.data() + address;
  return std::memcmp(value.data() + from, memory + from, count) != 0;
}

bool stores_differ(const Access& store, unsigned lane, unsigned other) {
  if (!store.block) return true;
  return std::memcmp(value_of(store, lane).data(), value_of(store, other).data(), store.bytes) != 0;
}

}  // namespace scanlab::vgpu
