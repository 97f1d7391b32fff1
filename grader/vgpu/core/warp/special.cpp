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

enum class Special : std::uint64_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  total_smem_size,
  dynamic_smem_size,
  workspace_low,
  workspace_high,
  nothing,  ///< counters that were never set up, and what the driver leaves empty
};

struct Name {
  const char* name;
  Special special;
  ptx::Type type;
};

using ptx::Type;
constexpr Name names[] = {
    {"%tid.x", Special::tid_x, Type::u32},
    {"%tid.y", Special::tid_y, Type::u32},
    {"%tid.z", Special::tid_z, Type::u32},
    {"%ntid.x", Special::ntid_x, Type::u32},
    {"%ntid.y", Special::ntid_y, Type::u32},
    {"%ntid.z", Special::ntid_z, Type::u32},
    {"%ctaid.x", Special::ctaid_x, Type::u32},
    {"%ctaid.y", Special::ctaid_y, Type::u32},
    {"%ctaid.z", Special::ctaid_z, Type::u32},
    {"%nctaid.x", Special::nctaid_x, Type::u32},
    {"%nctaid.y", Special::nctaid_y, Type::u32},
    {"%nctaid.z", Special::nctaid_z, Type::u32},
    {"%laneid", Special::laneid, Type::u32},
    {"%warpid", Special::warpid, Type::u32},
    {"%nwarpid", Special::nwarpid, Type::u32},
    {"%smid", Special::smid, Type::u32},
    {"%nsmid", Special::nsmid, Type::u32},
    {"%gridid", Special::gridid, Type::u64},
    {"%lanemask_eq", Special::lanemask_eq, Type::u32},
    {"%lanemask_le", Special::lanemask_le, Type::u32},
    {"%lanemask_lt", Special::lanemask_lt, Type::u32},
    {"%lanemask_ge", Special::lanemask_ge, Type::u32},
    {"%lanemask_gt", Special::lanemask_gt, Type::u32},
    {"%clock", Special::clock, Type::u32},
    {"%clock_hi", Special::clock_hi, Type::u32},
    {"%clock64", Special::clock64, Type::u64},
    {"%globaltimer", Special::globaltimer, Type::u64},
    {"%globaltimer_lo", Special::globaltimer_lo, Type::u32},
    {"%globaltimer_hi", Special::globaltimer_hi, Type::u32},
    {"%total_smem_size", Special::total_smem_size, Type::u32},
    {"%dynamic_smem_size", Special::dynamic_smem_size, Type::u32},
    {"%envreg1", Special::workspace_high, Type::u32},
    {"%envreg2", Special::workspace_low, Type::u32},
};

/// Shared memory is allocated in multiples of so many bytes on sm_80.
constexpr std::uint64_t shared_unit = 128;

/// Families of registers that read as 0: performance counters, the driver's own words, shared memory that is reserved
/// for the system (none), the graph that runs the kernel (none).
std::optional<ptx::Type> type_of_empty(std::string_view name) {
  if (name == "%current_graph_exec") return Type::u64;
  if (name.starts_with("%pm")) return name.ends_with("_64") ? Type::u64 : Type::u32;
  if (name.starts_with("%envreg") || name.starts_with("%reserved_smem_offset_")) return Type::u32;
  return std::nullopt;
}

/// A clock that ticks once per instruction of the grid, and while threads sleep: monotonic, and the same in every run.
std::uint64_t ticks(const Warp& w) {
  const Grid& grid = *w.block->grid;
  return grid.executed + grid.slept + static_cast<std::uint64_t>(w.quantum - w.budget);
}

std::uint64_t value_of(const Warp& w, Special special, unsigned lane) {
  const Block& block = *w.block;
  const Grid& grid = *block.grid;
  const Mask bit = Mask{1} << lane;
  switch (special) {
    case Special::tid_x:
      return w.tid[0][lane];
    case Special::tid_y:
      return w.tid[1][lane];
    case Special::tid_z:
      return w.tid[2][lane];
    case Special::ntid_x:
      return grid.block_size.x;
    case Special::ntid_y:
      return grid.block_size.y;
    case Special::ntid_z:
      return grid.block_size.z;
    case Special::ctaid_x:
      return block.id.x;
    case Special::ctaid_y:
      return block.id.y;
    case Special::ctaid_z:
      return block.id.z;
    case Special::nctaid_x:
      return grid.size.x;
    case Special::nctaid_y:
      return grid.size.y;
    case Special::nctaid_z:
      return grid.size.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return w.id;
    case Special::nwarpid:
      return grid.profile->max_threads_per_multiprocessor / warp_size;
    case Special::smid:
      return block.slot % grid.profile->multiprocessors;
    case Special::nsmid:
      return grid.profile->multiprocessors;
    case Special::gridid:
      return 1;
    case Special::lanemask_eq:
      return bit;
    case Special::lanemask_le:
      return bit | (bit - 1);
    case Special::lanemask_lt:
      return bit - 1;
    case Special::lanemask_ge:
      return ~(bit - 1);
    case Special::lanemask_gt:
      return ~(bit | (bit - 1));
    case Special::clock:
      return static_cast<std::uint32_t>(ticks(w));
    case Special::clock_hi:
      return ticks(w) >> 32;
    case Special::clock64:
      return ticks(w);
    case Special::globaltimer:
      return static_cast<std::uint64_t>(grid.start_ns) + ticks(w);
    case Special::globaltimer_lo:
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(grid.start_ns) + ticks(w));
    case Special::globaltimer_hi:
      return (static_cast<std::uint64_t>(grid.start_ns) + ticks(w)) >> 32;
    case Special::total_smem_size:
      return (grid.image->static_shared + grid.dynamic_shared + shared_unit - 1) / shared_unit * shared_unit;
    case Special::dynamic_smem_size:
      return grid.dynamic_shared;
    case Special::workspace_low:
      return static_cast<std::uint32_t>(grid.workspace);
    case Special::workspace_high:
      return grid.workspace >> 32;
    case Special::nothing:
      return 0;
  }
  return 0;
}

/// The first twelve, which nearly every kernel reads.
const Inst* read_index(Warp& w, const Inst* i) {
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  const Mask active = w.active;
  if (i->imm <= static_cast<std::uint64_t>(Special::tid_z)) {
    const std::uint32_t* from = w.tid[i->imm].data();
#pragma GCC ivdep
    for (unsigned l = 0; l < warp_size; ++l) d[l] = active >> l & 1 ? from[l] : d[l];
  } else {
    const auto value = static_cast<std::uint32_t>(value_of(w, static_cast<Special>(i->imm), 0));
#pragma GCC ivdep
    for (unsigned l = 0; l < warp_size; ++l) d[l] = active >> l & 1 ? value : d[l];
  }
  return proceed(w, i + 1);
}

template <class T>
const Inst* read_special(Warp& w, const Inst* i) {
  T* d = w.lanes<T>(i->op[0]);
  const auto special = static_cast<Special>(i->imm);
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    d[l] = static_cast<T>(value_of(w, special, l));
  }
  return proceed(w, i + 1);
}

}  // namespace

std::optional<SpecialSelection> select_special(std::string_view name) {
  for (const Name& n : names)
    if (name == n.name) {
      const Handler run = n.special <= Special::nctaid_z ? &read_index
                          : n.type == Type::u64          ? &read_special<std::uint64_t>
                                                         : &read_special<std::uint32_t>;
      const bool is_clock = n.special >= Special::clock && n.special <= Special::globaltimer_hi;
      return SpecialSelection{run, static_cast<std::uint64_t>(n.special), n.type, is_clock};
    }
  if (const auto type = type_of_empty(name))
    return SpecialSelection{*type == Type::u64 ? &read_special<std::uint64_t> : &read_special<std::uint32_t>,
                            static_cast<std::uint64_t>(Special::nothing), *type};
  return std::nullopt;
}

namespace {

/// Inst::aux of a special register read into a Pair: how it grows.
struct Growth {
  std::int16_t stride = 0, jump = 0;
};

template <class T>
const Step* read_pair(Gang& g, const Step* s) {
  const auto special = static_cast<Special>(s->inst->imm);
  const auto [stride, jump] = std::bit_cast<Growth>(s->inst->aux);
  const Column to = g.column(s->inst->op[0]);
  const bool differs = special <= Special::tid_z || special == Special::warpid;
  Pair p{static_cast<T>(value_of(g.warp(g.begin), special, 0)), stride, jump};
  for_each_warp(g, [&](unsigned k) {
    if (differs) p.value = static_cast<T>(value_of(g.warp(k), special, 0));
    to.set(k, p);
  });
  return s + 1;
}

}  // namespace

std::optional<SpecialPair> select_special_pair(std::string_view name, unsigned row_lanes) {
  const auto known = std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return name == n.name; });
  if (known == std::end(names)) return std::nullopt;
  SpecialPair s;
  const bool is_wide = known->type == Type::u64;
  s.run = is_wide ? &read_pair<std::uint64_t> : &read_pair<std::uint32_t>;
  s.imm = static_cast<std::uint64_t>(known->special);
  const auto grows = [&](int stride, int jump) {
    s.aux = std::bit_cast<std::uint32_t>(Growth{static_cast<std::int16_t>(stride), static_cast<std::int16_t>(jump)});
    s.is_affine = true;
    return s;
  };
  const bool is_narrow = row_lanes < warp_size;
  switch (known->special) {
    case Special::tid_x:
      if (row_lanes == 1) return std::nullopt;
      return grows(1, is_narrow ? -static_cast<int>(row_lanes) : 0);
    case Special::tid_y:
      if (row_lanes == 1) return std::nullopt;
      return is_narrow ? grows(0, 1) : s;
    case Special::tid_z:
      if (row_lanes == 1) return std::nullopt;
      return s;
    case Special::laneid:
      return grows(1, 0);
    case Special::lanemask_eq:
    case Special::lanemask_le:
    case Special::lanemask_lt:
    case Special::lanemask_ge:
    case Special::lanemask_gt:
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi:
      return std::nullopt;
    default:
      return s;
  }
}

const Inst* copy_low(Warp& w, const Inst* i) {
  const std::uint32_t to = i->aux & 0xff, from = i->aux >> 8;
  std::byte* d = w.lanes<std::byte>(i->op[0]);
  const std::byte* a = w.lanes<std::byte>(i->op[1]);
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    std::memcpy(d + l * to, a + l * from, to);  // little-endian: the low bytes
  }
  return proceed(w, i + 1);
}

const Inst* add_window(Warp& w, const Inst* i) {
  std::uint64_t* d = w.lanes<std::uint64_t>(i->op[0]);
  const std::uint64_t* a = w.lanes<std::uint64_t>(i->op[1]);
  const Mask active = w.active;
#pragma GCC ivdep
  for (unsigned l = 0; l < warp_size; ++l) d[l] = active >> l & 1 ? a[l] + i->imm : d[l];
  return proceed(w, i + 1);
}

const Inst* is_space(Warp& w, const Inst* i) {
  Mask& p = w.predicate(i->op[0]);
  const std::uint64_t* a = w.lanes<std::uint64_t>(i->op[1]);
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const Resolved r = resolve(a[l]);
    bool inside = i->imm == 0 ? r.space == StateSpace::global : a[l] >> 40 == i->imm >> 40;
    if (i->imm == is_constant_space) {
      const Allocation* found = w.block->grid->memory->find(a[l], 1);
      inside = found && found->is_constant;
    }
    p = inside ? p | Mask{1} << l : p & ~(Mask{1} << l);
  }
  return proceed(w, i + 1);
}

const Inst* local_address(Warp& w, const Inst* i) {
  const std::uint64_t value = w.frame->local_base + i->imm;
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (i->aux == 4)
      w.lanes<std::uint32_t>(i->op[0])[l] = static_cast<std::uint32_t>(value);
    else
      w.lanes<std::uint64_t>(i->op[0])[l] = value;
  }
  return proceed(w, i + 1);
}

}  // namespace scanlab::vgpu
