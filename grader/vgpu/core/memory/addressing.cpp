#include "vgpu/core/memory/addressing.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "vgpu/core/decode/address_base.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {
namespace {

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "read" : kind == AccessKind::write ? "write" : "atomic operation";
}

std::string byte_count(std::uint64_t n) {
  return fmt::format("{} byte{}", n, n == 1 ? "" : "s");
}

/// Does the label of an allocation say its size, as "cudaMalloc #2 (2048 bytes)" and "malloc(40) in the kernel" do?
bool says_size(std::string_view name, std::uint64_t size) {
  return name.find(fmt::format("({}", size)) != name.npos || name.find(fmt::format(", {} byte", size)) != name.npos;
}

/// "4 bytes past the end of s_xy, which has 4096 bytes".
std::string missed(std::string_view name, std::uint64_t size, std::int64_t distance) {
  const std::string target =
      says_size(name, size) ? std::string(name) : fmt::format("{}, which has {}", name, byte_count(size));
  if (distance < 0)
    return fmt::format("{} before the beginning of {}", byte_count(static_cast<std::uint64_t>(-distance)), target);
  const auto beyond = static_cast<std::uint64_t>(distance - 1);
  if (beyond == 0) return fmt::format("just past the end of {}", target);
  return fmt::format("{} past the end of {}", byte_count(beyond), target);
}

/// How far an address is from eight bytes of poison: a pointer that was read from unwritten memory, and an index or a
/// member's offset added to it. Nothing when it is too far for that.
std::optional<std::int64_t> distance_from_poison(std::uint64_t address) {
  constexpr std::uint64_t pointer = 0x0101010101010101 * static_cast<std::uint64_t>(poison);
  constexpr std::int64_t limit = std::int64_t{1} << 40;
  const auto distance = static_cast<std::int64_t>(address - pointer);
  if (distance <= -limit || distance >= limit) return {};
  return distance;
}

struct Explanation {
  std::string id;        ///< the fault's
  std::string target;    ///< "shared array s_xy"
  std::string variable;  ///< "s_xy"
  std::optional<std::uint64_t> element = {};
  std::vector<std::string> details;
  std::string advice;
};

Explanation explain_shared(Warp& w, std::uint64_t address, std::uint32_t bytes) {
  const Image& image = *w.block->grid->image;
  Explanation e;
  e.id = "bounds.shared";
  e.target = "every shared array";
  if (image.shared.empty()) {
    e.details.push_back("the kernel has no shared memory");
    return e;
  }
  // A 32-bit address that wrapped below zero is meant as a negative offset.
  const auto near = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(address)));
  const SharedVariable* best = nullptr;
  std::uint64_t best_size = 0;
  std::int64_t best_distance = 0;
  for (const SharedVariable& v : image.shared) {
    const std::uint64_t size = v.offset == image.dynamic_offset ? w.block->grid->dynamic_shared : v.size;
    const auto base = static_cast<std::int64_t>(v.offset);
    const std::int64_t d = near < base ? near - base
                           : near >= base + static_cast<std::int64_t>(size)
                               ? near - base - static_cast<std::int64_t>(size) + 1
                               : 1;
    if (!best || std::llabs(d) < std::llabs(best_distance)) {
      best = &v;
      best_size = size;
      best_distance = d;
    }
  }
  e.target = fmt::format("shared array {}", best->name);
  e.variable = best->name;
  e.details.push_back(missed(best->name + best->piece, best_size, best_distance));
  if (best->offset == image.dynamic_offset && best_size == 0)
    e.advice =
        "the array is dynamic: pass its size in bytes as the third launch parameter, <<<blocks, threads, bytes>>>";
  else
    e.advice = best_distance < 0
                   ? "guard the access, or look at how the index is calculated: it has to stay at or above "
                     "0"
                   : fmt::format(
                         "guard the access, or look at how the index is calculated: it has to stay "
                         "below {}",
                         best_size / std::max(bytes, 1u));
  return e;
}

Explanation explain_poison(std::int64_t distance) {
  std::string detail = "the address comes from memory that no thread has written (poison)";
  if (distance != 0)
    detail += fmt::format(", {} {}", byte_count(static_cast<std::uint64_t>(std::llabs(distance))),
                          distance > 0 ? "further on" : "before it");
  return {
      .id = "uninitialised.pointer",
      .target = "every allocation",
      .variable = {},
      .details = {std::move(detail)},
      .advice = "write the pointer before it is read: every entry of a table of pointers, every pointer in a struct"};
}

/// An address below is null, and an offset.
constexpr std::uint64_t null_page = 4096;

/// The pointer from which the faulting access has made its address, and the live array that it points to.
struct Pointer {
  const Allocation* array = nullptr;
  std::uint64_t value = 0;
  std::optional<std::size_t> parameter = {};  ///< of the kernel; nothing: a variable
};

/// Nothing where the code does not say, or the pointer is itself no good.
std::optional<Pointer> pointer_of(const Warp& w) {
  const Grid& grid = *w.block->grid;
  const Image& image = *grid.image;
  const ptx::Function* const function = w.frame && w.frame->program ? w.frame->program->source : nullptr;
  if (!function || !w.pc || w.pc->index >= function->instructions.size()) return {};
  const ptx::Operand* const operand = address_of(function->instructions[w.pc->index]);
  const std::optional<AddressBase> base = operand ? base_of(*function, *operand) : std::nullopt;
  if (!base) return {};
  Pointer pointer;
  if (base->is_parameter) {
    const auto at = std::ranges::find(function->parameters, base->name, &ptx::Variable::name);
    if (function != image.kernel || at == function->parameters.end()) return {};
    pointer.parameter = static_cast<std::size_t>(at - function->parameters.begin());
    const std::int64_t offset = std::int64_t{image.parameter_offsets[*pointer.parameter]} + base->offset;
    const auto size = static_cast<std::int64_t>(grid.parameters.size());
    if (offset < 0 || offset > size - static_cast<std::int64_t>(sizeof(pointer.value))) return {};
    std::memcpy(&pointer.value, grid.parameters.data() + offset, sizeof(pointer.value));
  } else {
    const auto at = image.symbols->find(base->name);
    if (at == image.symbols->end()) return {};
    pointer.value = at->second;
  }
  const Placement p = grid.memory->place(pointer.value, 1);
  if (!p.allocation || p.distance != 0 || p.allocation->freed) return {};
  pointer.array = p.allocation;
  return pointer;
}

/// Is the index what four or eight bytes hold that no thread has written, perhaps with a little added?
bool is_unwritten(std::int64_t index) {
  constexpr auto of_eight = static_cast<std::int64_t>(0x0101010101010101 * static_cast<std::uint64_t>(poison));
  constexpr auto of_four = static_cast<std::int64_t>(static_cast<std::int32_t>(of_eight));
  constexpr auto as_unsigned = static_cast<std::int64_t>(static_cast<std::uint32_t>(of_eight));
  constexpr std::int64_t near = 1024;
  return std::ranges::any_of(std::initializer_list<std::int64_t>{of_eight, of_four, as_unsigned},
                             [&](std::int64_t held) { return index >= held - near && index <= held + near; });
}

/// The address lies outside of the array whose pointer it was made from, wherever that may be.
Explanation explain_outside(const Pointer& pointer, std::uint64_t address, std::uint32_t bytes) {
  const Allocation& a = *pointer.array;
  Explanation e;
  e.id = "bounds.global";
  e.target = e.variable = a.label;
  const auto distance = static_cast<std::int64_t>(address - pointer.value);
  const auto width = static_cast<std::int64_t>(bytes);
  const std::int64_t index = distance / width - (distance % width < 0 ? 1 : 0);
  constexpr std::int64_t words = std::int64_t{1} << 32;
  if (address >= a.base) e.element = (address - a.base) / bytes;
  const std::string whose =
      pointer.parameter ? fmt::format("the kernel's parameter {}", *pointer.parameter + 1) : a.label;
  if (is_unwritten(index)) {
    e.element.reset();
    e.details.push_back(fmt::format(
        "the index, counted from {}, is {}: such numbers stand in memory that no thread has written (poison)", whose,
        index));
    e.advice = "write the index before it is read: look at where it comes from";
    return e;
  }
  if (index >= words / 2 && index < words) {
    e.element.reset();
    e.details.push_back(
        fmt::format("the index, counted from {}, is {}, which is {} as an int", whose, index, index - words));
    e.advice =
        "an unsigned index below 0 becomes one of about 4 billion: look at how it is calculated, or let only threads "
        "whose index stays at or above 0 make the access";
    return e;
  }
  if (address < a.base) {
    e.details.push_back(missed(a.label, a.size, -static_cast<std::int64_t>(a.base - address)));
    e.advice =
        "the index is below 0: look at how it is calculated, or let only threads whose index stays at or above 0 make "
        "the access";
    return e;
  }
  e.details.push_back(
      missed(a.label, a.size, std::max<std::int64_t>(1, static_cast<std::int64_t>(address - a.base - a.size) + 1)));
  e.advice =
      a.size % bytes != 0 ? "cudaMalloc counts bytes, not elements: multiply the number of elements by sizeof(Element)"
      : a.label.starts_with("cudaMalloc")
          ? "guard the access by the number of elements, or allocate more: cudaMalloc counts bytes, not elements"
          : "guard the access by the number of elements, with < and not <=: the last block may have threads without an "
            "element";
  return e;
}

/// Beyond that distance from an array nothing says that it was meant; no block has so much shared memory.
constexpr std::uint64_t far_away = 1 << 20;

Explanation explain_global(Warp& w, std::uint64_t address, std::uint32_t bytes) {
  Explanation e;
  e.id = "bounds.global";
  e.target = "every allocation";
  const Grid& grid = *w.block->grid;
  const Placement p = grid.memory->place(address, bytes);
  const std::optional<Pointer> pointer = address < null_page ? std::nullopt : pointer_of(w);
  const Resolved as_generic = resolve(address);
  if (pointer && !pointer->array->contains(address, bytes)) return explain_outside(*pointer, address, bytes);
  if (address < null_page) {
    e.target = "global memory: a null pointer";
    e.details.push_back(address == 0 ? "the address is null"
                                     : fmt::format("the address is {} after null", byte_count(address)));
    e.advice =
        "was the pointer set by cudaMalloc, and passed to the kernel? Where it may be null, ask before it is used";
  } else if ((as_generic.space == StateSpace::shared || as_generic.space == StateSpace::local) &&
             as_generic.address >= far_away) {
    e.details.push_back("no array lies there, or near");
    e.advice =
        "look at how the index is calculated: is it below 0, or was it never written? Or does the pointer belong to "
        "another block, or another kernel?";
  } else if (as_generic.space == StateSpace::shared) {
    e.details.push_back("the address is one of a block's shared memory, used as one of global memory");
    e.advice = "a pointer to shared memory is of use only in its own block: copy the data to global memory instead";
  } else if (as_generic.space == StateSpace::local) {
    e.details.push_back("the address is one of a thread's local memory, used as one of global memory");
    e.advice = "a pointer to a local variable is of use only in its own thread: copy the data to global memory instead";
  } else if (!p.allocation) {
    e.id = "host_pointer";
    e.details.push_back("the address is no device memory: is it a host pointer, or an uninitialised one?");
    e.advice = "pass pointers from cudaMalloc to the kernel";
  } else if (p.allocation->freed && p.allocation->owner == Owner::caller) {
    e.target = "live memory";
    e.details.push_back(
        fmt::format("the address lies where {} was, which the program did not allocate", p.allocation->label));
    e.advice =
        "look at how the index is calculated: is it negative, or too large for its type (a short ends at 32767)? Or is "
        "the pointer kept from an earlier call?";
  } else if (p.allocation->freed) {
    e.id = "use_after_free";
    e.target = "live memory";
    e.variable = p.allocation->label;
    e.details.push_back(fmt::format("the address lies in {}, which has been freed", p.allocation->label));
    e.advice = "call cudaFree only after the last kernel that uses the memory has been launched";
  } else if (p.distance == 0 && p.allocation->is_constant) {
    e.target = "writable memory";
    e.variable = p.allocation->label;
    e.details.push_back(fmt::format("the address lies in {}, which device code can only read", p.allocation->label));
    e.advice = "write constant memory from the host, with cudaMemcpyToSymbol";
  } else if (static_cast<std::uint64_t>(std::llabs(p.distance)) > far_away && !pointer) {
    e.details.push_back("no array lies there, or near");
    e.advice =
        "look at how the index is calculated: is it below 0, too large for its type, or was it never written? Or was "
        "the pointer?";
  } else {
    e.target = e.variable = p.allocation->label;
    if (p.distance > 0) e.element = (address - p.allocation->base) / bytes;
    e.details.push_back(missed(p.allocation->label, p.allocation->size, p.distance));
    e.advice =
        p.distance < 0
            ? "the index is below 0: look at how it is calculated, or let only threads whose index stays at or "
              "above 0 make the access"
        : p.allocation->size % bytes != 0
            ? "cudaMalloc counts bytes, not elements: multiply the number of elements by sizeof(Element)"
        : p.allocation->label.starts_with("cudaMalloc")
            ? "guard the access by the number of elements, or allocate more: cudaMalloc counts bytes, not elements"
            : "guard the access by the number of elements, with < and not <=: the last block may have threads without "
              "an element";
  }
  return e;
}

/// Does the instruction leave open which space it means?
bool is_generic(const Warp& w) {
  const auto& instructions = w.frame->program->source->instructions;
  return w.pc && w.pc->index < instructions.size() &&
         !instructions[w.pc->index].has_any({"shared", "local", "global", "const", "param"});
}

}  // namespace

void raise_bad_access(Warp& w, StateSpace space, AccessKind kind, unsigned lane, std::uint64_t address,
                      std::uint32_t bytes) {
  FaultException f;
  f.lane = lane;
  f.fault.does = kind == AccessKind::atomic ? "atomic" : verb(kind);
  // A generic address may be one of global memory and an index, and have come to lie in another window.
  if ((space == StateSpace::shared || space == StateSpace::local) && is_generic(w) &&
      (address >= far_away || pointer_of(w))) {
    address += space == StateSpace::shared ? shared_window : local_window;
    space = StateSpace::global;
  }
  const std::optional<std::int64_t> from_poison = distance_from_poison(address);
  // Where nothing is, the address is a pointer that was never set, whatever it is a multiple of.
  const bool is_nowhere = space == StateSpace::global && !from_poison &&
                          (address < null_page || explain_global(w, address, bytes).id == "host_pointer");
  if (!from_poison && !is_nowhere && address % std::bit_floor(bytes) != 0 && space != StateSpace::generic) {
    f.fault.kind = Fault::Kind::misaligned;
    f.fault.headline = fmt::format("misaligned {} of {}", verb(kind), byte_count(bytes));
    f.fault.details.push_back(
        fmt::format("the address is {} past a multiple of {}", byte_count(address % bytes), bytes));
    f.fault.advice = fmt::format("an access of {0} bytes needs an address that is a multiple of {0}", bytes);
    throw f;
  }
  f.fault.kind = Fault::Kind::out_of_bounds;
  Explanation e;
  if (from_poison) space = StateSpace::global;
  switch (space) {
    case StateSpace::shared:
      e = explain_shared(w, address, bytes);
      break;
    case StateSpace::local:
      e.id = "bounds.local";
      e.target = "the thread's local arrays";
      e.details.push_back(fmt::format("local address {}, of {} in use", address, w.frame->local_top()));
      e.advice = "an index of a local array is out of its range";
      break;
    case StateSpace::param:
      e.id = "bounds.param";
      e.target = "the kernel's parameters";
      e.details.push_back(
          fmt::format("parameter offset {}, of {}", address, byte_count(w.block->grid->parameters.size())));
      break;
    case StateSpace::constant:
    default:
      e = from_poison ? explain_poison(*from_poison) : explain_global(w, address, bytes);
      break;
  }
  f.fault.id = std::move(e.id);
  f.fault.variable = std::move(e.variable);
  f.fault.element = e.element;
  f.fault.headline = fmt::format("{} of {} outside {}", verb(kind), byte_count(bytes), e.target);
  f.fault.details = std::move(e.details);
  f.fault.advice = std::move(e.advice);
  throw f;
}

void grow_local(Warp& w, std::uint64_t bytes) {
  const std::uint64_t stride = std::max<std::uint64_t>(std::bit_ceil(bytes), 256);
  constexpr std::uint64_t limit = 512 * 1024;  // a thread, as on GPUs
  if (stride > limit)
    raise(Fault::Kind::trap, first_lane(w.active),
          fmt::format("stack overflow: more than {} bytes of local memory in one thread", limit),
          "is a recursive device function missing its end?");
  std::vector<std::byte> larger(stride * warp_size, poison);
  for (unsigned l = 0; l < warp_size; ++l)
    if (w.local_stride) std::memcpy(larger.data() + l * stride, w.local.data() + l * w.local_stride, w.local_stride);
  w.local.swap(larger);
  w.local_stride = stride;
}

std::byte* check_lane(Warp& w, StateSpace space, AccessKind kind, unsigned lane, std::uint64_t address,
                      std::uint32_t bytes, Range* hit) {
  Grid& grid = *w.block->grid;
  const bool aligned = address % bytes == 0;
  switch (space) {
    case StateSpace::shared: {
      if (!aligned) break;
      for (const SharedVariable& v : grid.image->shared) {
        const std::uint64_t size = v.offset == grid.image->dynamic_offset ? grid.dynamic_shared : v.size;
        if (address >= v.offset && address - v.offset + bytes <= size) {
          if (hit) *hit = {v.offset, size};
          return w.block->shared.data() + address;
        }
      }
      break;
    }
    case StateSpace::local:
      if (!aligned || address < local_start || address + bytes > w.frame->local_top()) break;
      if (kind != AccessKind::read) w.local_written = std::max(w.local_written, address + bytes);
      return local_host(w, lane, address);
    case StateSpace::param:
      if (aligned && kind == AccessKind::read && address <= grid.parameters.size() &&
          bytes <= grid.parameters.size() - address)
        return const_cast<std::byte*>(grid.parameters.data()) + address;
      break;
    default: {
      if (!aligned) break;
      const Allocation* found = grid.memory->find(address, bytes);
      if (!found || (found->is_constant && kind != AccessKind::read)) break;
      if (hit) *hit = {found->base, found->size};
      return grid.memory->host(address);
    }
  }
  raise_bad_access(w, space, kind, lane, address, bytes);
}

View view(Warp& w, const Inst* i, StateSpace space, AccessKind kind, const Addresses& a, std::uint32_t bytes) {
  Range& range = range_of(w, i);
  View v;
  v.base = host_base_of(*w.block, space);
  // Whether [low, last + bytes) lies in the array that was hit last.
  const auto inside = [&](std::uint64_t low, std::uint64_t last) {
    return low >= range.begin && last - range.begin <= range.bytes && range.bytes - (last - range.begin) >= bytes;
  };
  const std::uint64_t first = a.of[0];
  if (w.active == full_mask) {
    std::uint64_t different = 0;
    SCANLAB_LANES_INDEPENDENT
    for (unsigned l = 0; l < warp_size; ++l) different |= a.of[l] ^ (first + std::uint64_t{l} * bytes);
    v.consecutive = different == 0;
    // Within the array that was hit last? A borrow shows in the highest bit, as no address has it.
    if (!v.consecutive && range.bytes >= bytes) {
      const std::uint64_t begin = range.begin, last_begin = range.bytes - bytes;
      std::uint64_t outside = 0, all_bits = 0;
      SCANLAB_LANES_INDEPENDENT
      for (unsigned l = 0; l < warp_size; ++l) {
        const std::uint64_t into = a.of[l] - begin;
        outside |= into | (last_begin - into);
        all_bits |= a.of[l];
      }
      if (outside >> 63 == 0 && all_bits % bytes == 0) return v;
    }
  }
  std::uint64_t low = first, last = a.of[warp_size - 1], bits = first;
  if (!v.consecutive || last < first) {
    low = ~0ull;
    last = bits = 0;
    for (const unsigned l : lanes_in(w.active)) {
      const std::uint64_t x = a.of[l];
      low = std::min(low, x);
      last = std::max(last, x);
      bits |= x;
    }
  }
  if (bits % bytes == 0) {
    if (inside(low, last)) return v;
    // Another array than last time: look it up by one lane.
    const unsigned l = first_lane(w.active);
    check_lane(w, space, kind, l, a.of[l], bytes, &range);
    if (inside(low, last)) return v;
  }
  for (const unsigned l : lanes_in(w.active)) check_lane(w, space, kind, l, a.of[l], bytes);
  return v;
}

}  // namespace scanlab::vgpu
