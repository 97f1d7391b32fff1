#include "vgpu/core/stored.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "vgpu/core/grid.hpp"
#include "vgpu/core/memory_ops.hpp"

namespace scanlab::vgpu {
namespace {

constexpr std::size_t most_bytes = 32;  // of a lane: four elements of 8
using Value = std::array<std::byte, most_bytes>;

/// The bytes that `lane` stores, from its registers.
Value value_of(const Access& store, unsigned lane) {
  const MemoryForm form = form_of(store.inst);
  const std::byte* const registers = store.block->warps[store.who.warp].registers;
  Value value{};
  for (std::uint32_t k = 0; k < form.count; ++k)
    std::memcpy(value.data() + k * form.bytes, registers + store.inst->op[k] + lane * form.lane_bytes, form.bytes);
  return value;
}

}  // namespace

bool changes_memory(const Access& store, unsigned lane, std::uint64_t from, std::uint64_t count) {
  if (!store.block) return true;
  const Value value = value_of(store, lane);
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
