// mov between registers, and packing registers into wider ones and back (PTX ISA, mov). mov of predicates is in
// bits.cpp, mov of special registers and of addresses is the decoder's.
#include <algorithm>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

using Kind = ptx::Operand::Kind;

using Copy = decltype([](auto a) { return a; });

/// Registers of 8-bit elements have lanes of 16 bits, of which the low half counts.
template <class Element>
using Stored = std::conditional_t<sizeof(Element) == 1, u16, Element>;

/// mov d, {e0, e1, …}: e0 becomes the least significant part.
template <class Wide, class Element>
struct Pack {
  template <class... E>
  Wide operator()(E... elements) const {
    Wide result = 0;
    unsigned place = 0;
    ((result |= static_cast<Wide>(Wide{static_cast<Element>(elements)} << place), place += bits_of<Element>), ...);
    return result;
  }
};

/// mov {e0, e1, …}, a: bit k of aux says that element k is no sink. op[0..count) the elements, op[count] the source.
template <class Wide, class Element>
const Inst* unpack(Warp& warp, const Inst* inst) {
  constexpr unsigned count = sizeof(Wide) / sizeof(Element);
  alignas(64) Wide from[warp_size];  // a copy: an element may be as wide as the source, and be the source
  std::memcpy(from, lanes_at<Wide>(warp, inst->op[count]), sizeof from);
  for (unsigned k = 0; k < count; ++k) {
    if (((inst->aux >> k) & 1u) == 0) continue;
    Stored<Element>* const to = lanes_at<Stored<Element>>(warp, inst->op[k]);
    alignas(64) Stored<Element> parts[warp_size];
    SCANLAB_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      parts[lane] = static_cast<Element>(from[lane] >> (k * bits_of<Element>));
    }
    if (warp.active == full_mask) {
      std::memcpy(to, parts, sizeof parts);
    } else {
      merge(to, parts, warp.active);
    }
  }
  return proceed(warp, inst + 1);
}

/// 128 bits are only moved: in parts, the least significant one first, or whole.
template <class Part>
const Inst* pack128(Warp& warp, const Inst* inst) {
  constexpr unsigned count = 16 / sizeof(Part);
  for (const unsigned lane : lanes_in(warp.active)) {
    for (unsigned k = 0; k < count; ++k)
      warp.lanes<Part>(inst->op[0])[lane * count + k] = warp.lanes<Part>(inst->op[k + 1])[lane];
  }
  return inst + 1;
}
template <class Part>
const Inst* unpack128(Warp& warp, const Inst* inst) {
  constexpr unsigned count = 16 / sizeof(Part);
  for (const unsigned lane : lanes_in(warp.active)) {
    for (unsigned k = 0; k < count; ++k)
      warp.lanes<Part>(inst->op[k])[lane] = warp.lanes<Part>(inst->op[count])[lane * count + k];
  }
  return inst + 1;
}
const Inst* copy128(Warp& warp, const Inst* inst) {
  for (const unsigned lane : lanes_in(warp.active)) {
    std::memcpy(warp.lanes<std::byte>(inst->op[0]) + 16 * lane, warp.lanes<std::byte>(inst->op[1]) + 16 * lane, 16);
  }
  return inst + 1;
}

/// How parts of a type become a wider value, and how it is taken apart.
struct VectorMove {
  std::string_view spelling;
  std::size_t parts;
  ptx::Type whole, part;
  Handler pack, unpack;
};
template <class Wide, class Element, unsigned... k>
VectorMove vector_move(std::string_view spelling, std::integer_sequence<unsigned, k...>) {
  return {spelling,
          sizeof...(k),
          type_of<Wide>,
          type_of<Element>,
          lanewise<Pack<Wide, Element>, Wide, Repeat<Stored<Element>, k>...>,
          unpack<Wide, Element>};
}

const VectorMove* find_move(std::string_view spelling, std::size_t parts) {
  using Two = std::integer_sequence<unsigned, 0, 1>;
  using Four = std::integer_sequence<unsigned, 0, 1, 2, 3>;
  static const VectorMove all[] = {
      vector_move<u16, u8>("mov.b16", Two{}),
      vector_move<u32, u16>("mov.b32", Two{}),
      vector_move<u32, u8>("mov.b32", Four{}),
      vector_move<u64, u32>("mov.b64", Two{}),
      vector_move<u64, u16>("mov.b64", Four{}),
      {"mov.b128", 2, ptx::Type::b128, ptx::Type::b64, pack128<u64>, unpack128<u64>},
      {"mov.b128", 4, ptx::Type::b128, ptx::Type::b32, pack128<u32>, unpack128<u32>},
  };
  const auto found = std::ranges::find_if(
      all, [&](const VectorMove& move) { return move.spelling == spelling && move.parts == parts; });
  return found == std::end(all) ? nullptr : found;
}

}  // namespace

void add_move_forms(Forms& forms) {
  for_types<u16, u32, u64>([&]<class U>() {
    forms.lanes<Copy, U, U>("mov" + bits_name<U>());
    forms.lanes<Copy, U, U>("mov" + type_name<U>());
    forms.lanes<Copy, U, U>("mov" + type_name<Signed<U>>());
  });
  forms.lanes<Copy, f32, f32>("mov.f32");
  forms.lanes<Copy, f64, f64>("mov.f64");
}

std::optional<AluSelection> select_vector_move(const ptx::Instruction& instruction) {
  if (instruction.operands.size() != 2) return std::nullopt;
  const std::string spelling = instruction.spelling();
  const ptx::Operand &to = instruction.operands[0], &from = instruction.operands[1];
  AluSelection selection;
  if (spelling == "mov.b128" && is_register(to) && is_register(from)) {
    selection.run = copy128;
    selection.type[0] = selection.type[1] = ptx::Type::b128;
    return selection;
  }
  const bool packs = from.kind == Kind::vector;
  if (packs == (to.kind == Kind::vector)) return std::nullopt;
  const std::vector<ptx::Operand>& parts = (packs ? from : to).elements;
  const VectorMove* const move = find_move(spelling, parts.size());
  if (!move) return std::nullopt;
  std::fill_n(selection.type, parts.size() + 1, move->part);
  if (packs) {
    if (!is_register(to) || !std::ranges::all_of(parts, is_plain)) return std::nullopt;
    selection.run = move->pack;
    selection.type[0] = move->whole;
    return selection;
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].kind == Kind::sink) continue;
    if (!is_register(parts[k])) return std::nullopt;
    selection.aux |= 1u << k;
  }
  if (move->whole == ptx::Type::b128 ? !is_register(from) : !selection.aux || !is_plain(from)) return std::nullopt;
  selection.run = move->unpack;
  selection.type[parts.size()] = move->whole;
  return selection;
}

}  // namespace scanlab::vgpu
