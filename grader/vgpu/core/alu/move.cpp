// mov between registers, and packing registers into wider ones and back (PTX ISA, mov). mov of special registers and of
// addresses is the decoder's.
#include <algorithm>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

using Kind = ptx::Operand::Kind;

struct Copy {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

const Inst* move_predicate(Warp& warp, const Inst* inst) {
  write_predicate(warp, inst->op[0], warp.predicate(inst->op[1]));
  return proceed(warp, inst + 1);
}

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
    ((result =
          static_cast<Wide>(result | static_cast<Wide>(static_cast<Wide>(static_cast<Element>(elements)) << place)),
      place += bits_of<Element>),
     ...);
    return result;
  }
};

/// mov {e0, e1, …}, a: bit k of `wanted` says that element k is no sink. op[0..count) the elements, op[count] the
/// source.
template <class Wide, class Element, unsigned count, unsigned wanted>
const Inst* unpack(Warp& warp, const Inst* inst) {
  alignas(64) Wide from[warp_size];  // a copy: an element may be as wide as the source, and be the source
  std::memcpy(from, lanes_at<Wide>(warp, inst->op[count]), sizeof from);
  for (unsigned k = 0; k < count; ++k) {
    if (((wanted >> k) & 1u) == 0) continue;
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

template <class Wide, class Element, unsigned count, unsigned... k>
std::optional<AluSelection> select_unpack(const std::vector<ptx::Operand>& elements, ptx::Type type,
                                          std::integer_sequence<unsigned, k...>) {
  constexpr Handler handlers[] = {nullptr, unpack<Wide, Element, count, k + 1>...};
  AluSelection selection;
  unsigned wanted = 0;
  for (unsigned place = 0; place < count; ++place) {
    if (elements[place].kind == Kind::sink) continue;
    if (!is_register(elements[place])) return std::nullopt;
    wanted |= 1u << place;
  }
  for (unsigned place = 0; place < count; ++place) selection.type[place] = type_of<Element>;
  selection.type[count] = type;
  selection.run = handlers[wanted];
  return selection.run ? std::optional(selection) : std::nullopt;
}

template <class Wide, class Element, unsigned... k>
std::optional<AluSelection> select_vector(const ptx::Instruction& instruction, std::integer_sequence<unsigned, k...>) {
  constexpr unsigned count = sizeof...(k);
  const ptx::Operand &to = instruction.operands[0], &from = instruction.operands[1];
  if (to.kind == Kind::vector) {
    if (!is_plain(from)) return std::nullopt;
    return select_unpack<Wide, Element, count>(to.elements, type_of<Wide>,
                                               std::make_integer_sequence<unsigned, (1u << count) - 1>{});
  }
  if (!is_register(to)) return std::nullopt;
  for (const ptx::Operand& element : from.elements) {
    if (!is_plain(element)) return std::nullopt;
  }
  AluSelection selection;
  selection.run = lanewise<Pack<Wide, Element>, Wide, Repeat<Stored<Element>, k>...>;
  selection.type[0] = type_of<Wide>;
  for (unsigned place = 1; place <= count; ++place) selection.type[place] = type_of<Element>;
  return selection;
}

/// mov.b16/b32/b64 with one vector operand of two or four elements that fill the type.
std::optional<AluSelection> select_vector_move(const ptx::Instruction& instruction) {
  const bool packs = instruction.operands[1].kind == Kind::vector;
  if (packs == (instruction.operands[0].kind == Kind::vector)) return std::nullopt;
  const std::size_t count = instruction.operands[packs ? 1 : 0].elements.size();
  using Two = std::integer_sequence<unsigned, 0, 1>;
  using Four = std::integer_sequence<unsigned, 0, 1, 2, 3>;
  const std::string spelling = spelling_of(instruction);
  if (spelling == "mov.b16" && count == 2) return select_vector<u16, u8>(instruction, Two{});
  if (spelling == "mov.b32" && count == 2) return select_vector<u32, u16>(instruction, Two{});
  if (spelling == "mov.b32" && count == 4) return select_vector<u32, u8>(instruction, Four{});
  if (spelling == "mov.b64" && count == 2) return select_vector<u64, u32>(instruction, Two{});
  if (spelling == "mov.b64" && count == 4) return select_vector<u64, u16>(instruction, Four{});
  return std::nullopt;
}

/// 128 bits are only moved: in two halves, or whole.
struct Bits128 {
  u64 low, high;
};
const Inst* pack128(Warp& warp, const Inst* inst) {
  for_each_lane(warp.active, [&](unsigned lane) {
    warp.lanes<Bits128>(inst->op[0])[lane] = {warp.lanes<u64>(inst->op[1])[lane], warp.lanes<u64>(inst->op[2])[lane]};
  });
  return inst + 1;
}
const Inst* unpack128(Warp& warp, const Inst* inst) {
  for_each_lane(warp.active, [&](unsigned lane) {
    const Bits128 value = warp.lanes<Bits128>(inst->op[2])[lane];
    warp.lanes<u64>(inst->op[0])[lane] = value.low;
    warp.lanes<u64>(inst->op[1])[lane] = value.high;
  });
  return inst + 1;
}
/// The same with four parts.
const Inst* pack128_of_four(Warp& warp, const Inst* inst) {
  for_each_lane(warp.active, [&](unsigned lane) {
    const auto part = [&](unsigned k) { return u64{warp.lanes<u32>(inst->op[k])[lane]}; };
    warp.lanes<Bits128>(inst->op[0])[lane] = {part(1) | part(2) << 32, part(3) | part(4) << 32};
  });
  return inst + 1;
}
const Inst* unpack128_to_four(Warp& warp, const Inst* inst) {
  for_each_lane(warp.active, [&](unsigned lane) {
    const Bits128 value = warp.lanes<Bits128>(inst->op[4])[lane];
    for (unsigned k = 0; k < 4; ++k) {
      const u64 half = k < 2 ? value.low : value.high;
      warp.lanes<u32>(inst->op[k])[lane] = static_cast<u32>(half >> (k % 2 * 32));
    }
  });
  return inst + 1;
}
const Inst* copy128(Warp& warp, const Inst* inst) {
  for_each_lane(warp.active, [&](unsigned lane) {
    warp.lanes<Bits128>(inst->op[0])[lane] = warp.lanes<Bits128>(inst->op[1])[lane];
  });
  return inst + 1;
}

/// mov.b128 q, {low, high}; mov.b128 {low, high}, q; the same with four parts; mov.b128 q, r.
std::optional<AluSelection> select_move128(const ptx::Instruction& instruction) {
  const ptx::Operand &to = instruction.operands[0], &from = instruction.operands[1];
  // A vector of `count` whose elements all pass.
  const auto consists = [](const ptx::Operand& operand, std::size_t count, auto passes) {
    return operand.kind == Kind::vector && operand.elements.size() == count &&
           std::all_of(operand.elements.begin(), operand.elements.end(), passes);
  };
  const auto is_part = [](const ptx::Operand& operand) { return is_register(operand) || operand.kind == Kind::sink; };
  using enum ptx::Type;
  AluSelection selection;
  const auto select = [&](Handler run, std::initializer_list<ptx::Type> types) {
    selection.run = run;
    std::copy(types.begin(), types.end(), selection.type);
    return selection;
  };
  if (is_register(to) && consists(from, 2, is_plain)) return select(pack128, {b128, b64, b64});
  if (is_register(to) && consists(from, 4, is_plain)) return select(pack128_of_four, {b128, b32, b32, b32, b32});
  if (is_register(from) && consists(to, 2, is_part)) return select(unpack128, {b64, b64, b128});
  if (is_register(from) && consists(to, 4, is_part)) return select(unpack128_to_four, {b32, b32, b32, b32, b128});
  if (is_register(to) && is_register(from)) return select(copy128, {b128, b128});
  return std::nullopt;
}

Forms move_forms() {
  Forms forms;
  forms.add("mov.pred", move_predicate, {ptx::Type::pred, ptx::Type::pred});
  for_types<u16, u32, u64>([&]<class U>() {
    forms.lanes<Copy, U, U>("mov" + bits_name<U>());
    forms.lanes<Copy, U, U>("mov" + type_name<U>());
    forms.lanes<Copy, U, U>("mov" + type_name<Signed<U>>());
  });
  forms.lanes<Copy, f32, f32>("mov.f32");
  forms.lanes<Copy, f64, f64>("mov.f64");
  return forms;
}

}  // namespace

std::optional<AluSelection> select_move(const ptx::Instruction& instruction) {
  if (instruction.opcode != "mov") return std::nullopt;
  if (instruction.has("b128") && instruction.operands.size() == 2) return select_move128(instruction);
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind == Kind::vector) {
      return instruction.operands.size() == 2 ? select_vector_move(instruction) : std::nullopt;
    }
  }
  static const Forms forms = move_forms();
  return forms.find(instruction);
}

}  // namespace scanlab::vgpu
