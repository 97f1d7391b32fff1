// Executes one computing instruction on a warp of its own, for tests.
#pragma once

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpu/core/alu/alu.hpp"
#include "vgpu/core/warp/warp.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu::test {

/// A register's contents, the same in each lane. `bits` 1 is a predicate.
struct Value {
  unsigned bits = 32;
  std::uint64_t value = 0;
  bool negated = false;
};
inline Value r16(std::uint64_t x) {
  return {16, x & 0xffffu};
}
inline Value r32(std::uint64_t x) {
  return {32, x & 0xffffffffu};
}
inline Value r64(std::uint64_t x) {
  return {64, x};
}
inline Value f(float x) {
  return {32, std::bit_cast<std::uint32_t>(x)};
}
inline Value d(double x) {
  return {64, std::bit_cast<std::uint64_t>(x)};
}
inline Value p(bool x) {
  return {1, x ? 1u : 0u};
}
inline Value not_p(bool x) {
  return {1, x ? 1u : 0u, true};
}

inline ptx::Type register_type(unsigned bits) {
  switch (bits) {
    case 1:
      return ptx::Type::pred;
    case 16:
      return ptx::Type::b16;
    case 32:
      return ptx::Type::b32;
    default:
      return ptx::Type::b64;
  }
}

/// "add.rn.f32" with one register operand a width; register k is operand k.
inline ptx::Instruction instruction_of(std::string_view spelling, const std::vector<unsigned>& widths,
                                       std::vector<ptx::Register>& registers) {
  ptx::Instruction instruction;
  std::stringstream parts{std::string(spelling)};
  std::getline(parts, instruction.opcode, '.');
  for (std::string part; std::getline(parts, part, '.');) instruction.modifiers.push_back(part);
  for (const unsigned bits : widths) {
    ptx::Operand operand;
    operand.kind = ptx::Operand::Kind::reg;
    operand.reg = static_cast<std::int32_t>(registers.size());
    instruction.operands.push_back(operand);
    registers.push_back({"%r" + std::to_string(registers.size()), register_type(bits)});
  }
  return instruction;
}

/// A warp with eight registers of any width.
class Machine {
 public:
  static constexpr std::size_t slot_bytes = 256;

  Machine() {
    warp_.registers = registers_.data();
    warp_.active = full_mask;
  }
  Warp& warp() { return warp_; }

  void fill(unsigned slot, const Value& value) {
    for (unsigned lane = 0; lane < warp_size; ++lane) set(slot, value.bits, lane, value.value);
  }
  void set(unsigned slot, unsigned bits, unsigned lane, std::uint64_t value) {
    std::byte* const at = registers_.data() + slot * slot_bytes;
    if (bits == 1) {
      Mask mask;
      std::memcpy(&mask, at, sizeof mask);
      mask = (mask & ~(Mask{1} << lane)) | static_cast<Mask>(value & 1u) << lane;
      std::memcpy(at, &mask, sizeof mask);
    } else {
      std::memcpy(at + lane * (bits / 8), &value, bits / 8);  // little-endian, like the lanes
    }
  }
  std::uint64_t get(unsigned slot, unsigned bits, unsigned lane) const {
    const std::byte* const at = registers_.data() + slot * slot_bytes;
    std::uint64_t value = 0;
    if (bits == 1) {
      std::memcpy(&value, at, sizeof(Mask));
      return (value >> lane) & 1u;
    }
    std::memcpy(&value, at + lane * (bits / 8), bits / 8);
    return value;
  }
  void execute(Handler run, const std::vector<unsigned>& slots) {
    AluSelection selection;
    selection.run = run;
    execute(selection, slots);
  }
  void execute(const AluSelection& selection, const std::vector<unsigned>& slots) {
    Inst code[2];
    code[0].run = selection.run;
    code[0].imm = selection.imm;
    code[0].aux = selection.aux;
    for (std::size_t k = 0; k < slots.size(); ++k) code[0].op[k] = static_cast<OperandRef>(slots[k] * slot_bytes);
    code[1].run = [](Warp& w, const Inst* i) -> const Inst* {
      w.pc = i;
      return nullptr;
    };
    const Inst* next = selection.run(warp_, code);
    while (next) next = next->run(warp_, next);
    if (std::exchange(warp_.pc, nullptr) != code + 1)
      throw std::logic_error("a computing instruction has to fall through");
  }

 private:
  alignas(64) std::array<std::byte, 8 * slot_bytes> registers_{};
  Warp warp_;
};

/// What `spelling` makes of the sources, in a destination of `bits`. Nothing when the form is not known. It is executed
/// with all lanes, with some (the others have to keep what they had), and in place of each source that is as wide as
/// the destination; all have to agree.
inline std::optional<std::uint64_t> evaluate(std::string_view spelling, unsigned bits,
                                             const std::vector<Value>& sources) {
  std::vector<unsigned> widths{bits};
  for (const Value& source : sources) widths.push_back(source.bits);
  std::vector<ptx::Register> registers;
  ptx::Instruction instruction = instruction_of(spelling, widths, registers);
  for (std::size_t k = 0; k < sources.size(); ++k) instruction.operands[k + 1].negated = sources[k].negated;
  const auto selection = select_alu(instruction, registers);
  if (!selection) return std::nullopt;

  std::optional<std::uint64_t> result;
  const auto run = [&](Mask active, unsigned destination) {
    Machine machine;
    constexpr std::uint64_t before = 0xa5a5a5a5a5a5a5a5u;
    machine.fill(0, {bits, before});
    std::vector<unsigned> slots{destination};
    for (unsigned k = 0; k < sources.size(); ++k) {
      machine.fill(k + 1, sources[k]);
      slots.push_back(k + 1);
    }
    const std::uint64_t kept = machine.get(destination, bits, 0);
    machine.warp().active = active;
    machine.execute(*selection, slots);
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const std::uint64_t got = machine.get(destination, bits, lane);
      if (((active >> lane) & 1u) == 0) {
        if (got != kept) throw std::logic_error(std::string(spelling) + " wrote a lane that is not active");
        continue;
      }
      if (!result) result = got;
      if (got != *result) throw std::logic_error(std::string(spelling) + " differs between lanes, masks or in place");
    }
  };
  run(full_mask, 0);
  for (const Mask active : {0x00000001u, 0x80000000u, 0x5a5aa5a5u, 0x7fffffffu, 0x0000ffffu}) run(active, 0);
  for (unsigned k = 0; k < sources.size(); ++k) {
    if (sources[k].bits != bits) continue;
    run(full_mask, k + 1);
    run(0x0ff0f00fu, k + 1);
  }
  return result;
}

/// A form, the bits of its destination, what it reads, and what it has to give.
struct Case {
  const char* form;
  unsigned bits;
  std::vector<Value> sources;
  std::uint64_t expected;
};

inline void check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    std::string sources;
    for (const Value& source : one.sources) sources += " " + std::to_string(source.value);
    INFO(one.form << " of" << sources);
    const auto got = evaluate(one.form, one.bits, one.sources);
    REQUIRE(got.has_value());
    CHECK(*got == one.expected);
  }
}

}  // namespace scanlab::vgpu::test
