#include "vgpu/core/warp/special.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Type;

/// Whose special register is read.
struct Reading {
  const Warp& warp;
  const Block& block;
  const Grid& grid;
  unsigned lane = 0;

  Mask bit() const { return Mask{1} << lane; }
  /// A clock that ticks once per instruction of the grid, and while threads sleep: monotonic, and the same in every
  /// run.
  std::uint64_t ticks() const {
    return grid.executed + grid.slept + static_cast<std::uint64_t>(warp.quantum - warp.budget);
  }
  std::uint64_t timer() const { return static_cast<std::uint64_t>(grid.start_ns) + ticks(); }
  /// The warp's place in its multiprocessor, which is not its place in the block: that of a block's first warp differs
  /// from block to block.
  std::uint64_t warp_slot() const {
    return (block.index * block.warps.size() + warp.id) % (grid.profile->max_threads_per_multiprocessor / warp_size);
  }
  std::uint64_t shared_bytes() const {
    constexpr std::uint64_t unit = 128;  // in multiples of which shared memory is allocated on sm_80
    return (grid.image->static_shared + grid.dynamic_shared + unit - 1) / unit * unit;
  }
};
template <auto read>
std::uint64_t value_of(const Warp& w, unsigned lane) {
  return read(Reading{w, *w.block, *w.block->grid, lane});
}

/// How a special register differs within a block.
enum class Varies : std::uint8_t { nowhere, by_warp, by_thread, by_lane, freely, in_time };

struct Special {
  std::string_view name;
  Type type = Type::u32;
  Varies varies = Varies::nowhere;
  std::uint64_t (*value)(const Warp& w, unsigned lane) = nullptr;  ///< of which the register has the low bits
};

constexpr Special specials[] = {
    {"%tid.x", Type::u32, Varies::by_thread, value_of<[](Reading r) { return r.warp.tid[0][r.lane]; }>},
    {"%tid.y", Type::u32, Varies::by_thread, value_of<[](Reading r) { return r.warp.tid[1][r.lane]; }>},
    {"%tid.z", Type::u32, Varies::by_thread, value_of<[](Reading r) { return r.warp.tid[2][r.lane]; }>},
    {"%ntid.x", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.block_size.x; }>},
    {"%ntid.y", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.block_size.y; }>},
    {"%ntid.z", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.block_size.z; }>},
    {"%ctaid.x", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.block.id.x; }>},
    {"%ctaid.y", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.block.id.y; }>},
    {"%ctaid.z", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.block.id.z; }>},
    {"%nctaid.x", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.size.x; }>},
    {"%nctaid.y", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.size.y; }>},
    {"%nctaid.z", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.size.z; }>},
    {"%laneid", Type::u32, Varies::by_lane, value_of<[](Reading r) { return r.lane; }>},
    {"%warpid", Type::u32, Varies::by_warp, value_of<[](Reading r) { return r.warp_slot(); }>},
    {"%nwarpid", Type::u32, Varies::nowhere,
     value_of<[](Reading r) { return r.grid.profile->max_threads_per_multiprocessor / warp_size; }>},
    {"%smid", Type::u32, Varies::nowhere,
     value_of<[](Reading r) { return r.block.slot % r.grid.profile->multiprocessors; }>},
    {"%nsmid", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.profile->multiprocessors; }>},
    {"%gridid", Type::u64, Varies::nowhere, value_of<[](Reading) { return 1; }>},
    {"%lanemask_eq", Type::u32, Varies::freely, value_of<[](Reading r) { return r.bit(); }>},
    {"%lanemask_le", Type::u32, Varies::freely, value_of<[](Reading r) { return r.bit() | (r.bit() - 1); }>},
    {"%lanemask_lt", Type::u32, Varies::freely, value_of<[](Reading r) { return r.bit() - 1; }>},
    {"%lanemask_ge", Type::u32, Varies::freely, value_of<[](Reading r) { return ~(r.bit() - 1); }>},
    {"%lanemask_gt", Type::u32, Varies::freely, value_of<[](Reading r) { return ~(r.bit() | (r.bit() - 1)); }>},
    {"%clock", Type::u32, Varies::in_time, value_of<[](Reading r) { return r.ticks(); }>},
    {"%clock_hi", Type::u32, Varies::in_time, value_of<[](Reading r) { return (r.ticks() >> 32); }>},
    {"%clock64", Type::u64, Varies::in_time, value_of<[](Reading r) { return r.ticks(); }>},
    {"%globaltimer", Type::u64, Varies::in_time, value_of<[](Reading r) { return r.timer(); }>},
    {"%globaltimer_lo", Type::u32, Varies::in_time, value_of<[](Reading r) { return r.timer(); }>},
    {"%globaltimer_hi", Type::u32, Varies::in_time, value_of<[](Reading r) { return (r.timer() >> 32); }>},
    {"%total_smem_size", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.shared_bytes(); }>},
    {"%dynamic_smem_size", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.dynamic_shared; }>},
    {"%envreg1", Type::u32, Varies::nowhere, value_of<[](Reading r) { return (r.grid.workspace >> 32); }>},
    {"%envreg2", Type::u32, Varies::nowhere, value_of<[](Reading r) { return r.grid.workspace; }>},
};

/// Families of registers that read as 0: performance counters, the driver's own words, shared memory that is reserved
/// for the system (none), the graph that runs the kernel (none).
constexpr Special empty[] = {{"", Type::u32, Varies::nowhere, value_of<[](Reading) { return 0; }>},
                             {"", Type::u64, Varies::nowhere, value_of<[](Reading) { return 0; }>}};

const Special* find_empty(std::string_view name) {
  if (name == "%current_graph_exec") return &empty[1];
  if (name.starts_with("%pm")) return &empty[name.ends_with("_64")];
  return name.starts_with("%envreg") || name.starts_with("%reserved_smem_offset_") ? empty : nullptr;
}

const Special* find(std::string_view name) {
  const auto known = std::ranges::find(specials, name, &Special::name);
  return known == std::end(specials) ? nullptr : known;
}

const Special& special_of(const Inst* i) {
  return *reinterpret_cast<const Special*>(i->imm);
}

/// The same for all lanes.
template <class T>
const Inst* read_for_all(Warp& w, const Inst* i) {
  set_active<T>(w, i->op[0], [value = static_cast<T>(special_of(i).value(w, 0))](unsigned) { return value; });
  return proceed(w, i + 1);
}

/// %tid, which nearly every kernel reads.
const Inst* read_thread(Warp& w, const Inst* i) {
  const std::uint32_t* const from = w.tid[&special_of(i) - specials].data();
  set_active<std::uint32_t>(w, i->op[0], [from](unsigned l) { return from[l]; });
  return proceed(w, i + 1);
}

template <class T>
const Inst* read_by_lane(Warp& w, const Inst* i) {
  for (const unsigned l : lanes_in(w.active)) w.lanes<T>(i->op[0])[l] = static_cast<T>(special_of(i).value(w, l));
  return proceed(w, i + 1);
}

/// Inst::aux of a special register read into a Pair: how it grows.
struct Growth {
  std::int16_t stride = 0, jump = 0;
};

template <class T>
const Step* read_pair(Gang& g, const Step* s) {
  const Special& special = special_of(s->inst);
  const auto [stride, jump] = std::bit_cast<Growth>(s->inst->aux);
  const Column to = g.column(s->inst->op[0]);
  const bool differs = special.varies == Varies::by_thread || special.varies == Varies::by_warp;
  Pair p{static_cast<T>(special.value(g.warp(g.begin), 0)), stride, jump};
  for_each_warp(g, [&](unsigned k) {
    if (differs) p.value = static_cast<T>(special.value(g.warp(k), 0));
    to.set(k, p);
  });
  return s + 1;
}

}  // namespace

std::optional<SpecialSelection> select_special(std::string_view name) {
  const Special* s = find(name);
  if (!s) s = find_empty(name);
  if (!s) return std::nullopt;
  const bool is_wide = s->type == Type::u64, is_same = s->varies <= Varies::by_warp;
  Handler run = is_same ? read_for_all<std::uint32_t> : read_by_lane<std::uint32_t>;
  if (is_wide) run = is_same ? read_for_all<std::uint64_t> : read_by_lane<std::uint64_t>;
  if (s->varies == Varies::by_thread) run = read_thread;
  return SpecialSelection{run, reinterpret_cast<std::uint64_t>(s), s->type, s->varies == Varies::in_time};
}

std::optional<SpecialPair> select_special_pair(std::string_view name, unsigned row_lanes) {
  const Special* const known = find(name);
  if (!known || known->varies >= Varies::freely) return std::nullopt;
  if (known->varies == Varies::by_thread && row_lanes == 1) return std::nullopt;
  Growth growth;
  if (known->varies == Varies::by_lane || name == "%tid.x") growth.stride = 1;
  if (row_lanes < warp_size && name == "%tid.x") growth.jump = static_cast<std::int16_t>(-static_cast<int>(row_lanes));
  if (row_lanes < warp_size && name == "%tid.y") growth.jump = 1;
  return SpecialPair{known->type == Type::u64 ? &read_pair<std::uint64_t> : &read_pair<std::uint32_t>,
                     reinterpret_cast<std::uint64_t>(known), std::bit_cast<std::uint32_t>(growth),
                     growth.stride || growth.jump};
}

const Inst* copy_low(Warp& w, const Inst* i) {
  const std::uint32_t to = i->aux & 0xff, from = i->aux >> 8;
  std::byte* d = w.lanes<std::byte>(i->op[0]);
  const std::byte* a = w.lanes<std::byte>(i->op[1]);
  for (const unsigned l : lanes_in(w.active)) std::memcpy(d + l * to, a + l * from, to);  // little-endian
  return proceed(w, i + 1);
}

const Inst* add_window(Warp& w, const Inst* i) {
  const std::uint64_t* const a = w.lanes<std::uint64_t>(i->op[1]);
  set_active<std::uint64_t>(w, i->op[0], [a, window = i->imm](unsigned l) { return a[l] + window; });
  return proceed(w, i + 1);
}

const Inst* is_space(Warp& w, const Inst* i) {
  const std::uint64_t* a = w.lanes<std::uint64_t>(i->op[1]);
  const auto is_inside = [&](unsigned l) {
    if (i->imm != is_constant_space)
      return i->imm == 0 ? resolve(a[l]).space == StateSpace::global : a[l] >> 40 == i->imm >> 40;
    const Allocation* found = w.block->grid->memory->find(a[l], 1);
    return found && found->is_constant;
  };
  write_predicate(w, i->op[0], lanes_where(w.active, is_inside));
  return proceed(w, i + 1);
}

const Inst* local_address(Warp& w, const Inst* i) {
  const std::uint64_t value = w.frame->local_base + i->imm;
  if (i->aux == 4)
    set_active<std::uint32_t>(w, i->op[0], [value](unsigned) { return static_cast<std::uint32_t>(value); });
  else
    set_active<std::uint64_t>(w, i->op[0], [value](unsigned) { return value; });
  return proceed(w, i + 1);
}

}  // namespace scanlab::vgpu
