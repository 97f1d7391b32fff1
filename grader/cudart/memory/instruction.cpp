#include "cudart/memory/instruction.hpp"

#include <cstdint>

namespace scanlab::cudart {
namespace {

#if defined(__x86_64__)

/// The manual's maps of opcodes: of one byte, behind 0F, behind 0F 38 and behind 0F 3A.
enum class Map : std::uint8_t { one_byte, two_bytes, with_38, with_3a };
/// The prefix that belongs to the opcode of an instruction on vectors.
enum class Mandatory : std::uint8_t { none, x66, xf3, xf2 };

struct Encoding {
  Map map = Map::one_byte;
  Mandatory mandatory = Mandatory::none;
  std::uint8_t opcode = 0;
  std::uint8_t reg = 0;  ///< of the ModRM byte: a part of some opcodes
  unsigned operand = 4;  ///< bytes of a general register
  unsigned vector = 16;  ///< bytes of a vector register
  bool is_vex = false;
};

/// By the column of a map where bytes and words alternate.
unsigned alternating(const Encoding& code) {
  return code.opcode % 2 == 0 ? 1 : code.operand;
}

unsigned one_byte_operand(const Encoding& code) {
  const std::uint8_t opcode = code.opcode;
  if (opcode < 0x40) return opcode % 8 < 4 ? alternating(code) : 1;  // arithmetic
  if (opcode >= 0xd8 && opcode <= 0xdf) {                            // x87, by pairs: 4 bytes, integers of 4, 8, of 2
    if (opcode % 2 != 0 && code.reg >= 4) return opcode == 0xdb ? 10 : opcode == 0xdf ? (code.reg % 2 ? 8 : 10) : 1;
    constexpr unsigned bytes[] = {4, 4, 4, 4, 8, 8, 2, 2};
    return bytes[opcode - 0xd8];
  }
  switch (opcode) {
    case 0x63:
      return 4;  // movsxd
    case 0x69:
    case 0x6b:
      return code.operand;  // imul
    case 0x80:
    case 0x81:
      return alternating(code);
    case 0x83:
      return code.operand;
    case 0x8f:
      return 8;  // pop
    case 0xff:
      return code.reg < 2 ? code.operand : 8;  // inc and dec; call, jmp and push
    default:
      break;
  }
  // test, xchg, mov; movs, cmps; stos, lods, scas; shifts; mov of a constant; not, neg, mul, div; inc, dec
  const bool alternates = (opcode >= 0x84 && opcode <= 0x8b) || (opcode >= 0xa4 && opcode <= 0xa7) ||
                          (opcode >= 0xaa && opcode <= 0xaf) || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 ||
                          opcode == 0xc7 || (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7 ||
                          opcode == 0xfe;
  return alternates ? alternating(code) : 1;
}

/// An instruction that has a form for vectors, and, by its prefix, one for one float or double.
unsigned scalar_or_vector(const Encoding& code) {
  return code.mandatory == Mandatory::xf3 ? 4 : code.mandatory == Mandatory::xf2 ? 8 : code.vector;
}

unsigned two_byte_operand(const Encoding& code) {
  const std::uint8_t opcode = code.opcode;
  const bool is_scalar = code.mandatory == Mandatory::xf3 || code.mandatory == Mandatory::xf2;
  if (opcode >= 0x40 && opcode <= 0x4f) return code.operand;  // cmov
  if (opcode >= 0x90 && opcode <= 0x9f) return 1;             // setcc
  if (opcode >= 0x51 && opcode <= 0x5f && opcode != 0x5a && opcode != 0x5b) return scalar_or_vector(code);
  switch (opcode) {
    case 0x10:
    case 0x11:
      return scalar_or_vector(code);  // movups, movss, movsd
    case 0x12:                        // movlps, movddup; movsldup
    case 0x16:
      return code.mandatory == Mandatory::xf3 ? code.vector : 8;
    case 0x13:
    case 0x17:
      return 8;
    case 0x2a:
      return is_scalar ? code.operand : 8;  // from integers
    case 0x2c:
    case 0x2d:
      return code.mandatory == Mandatory::xf3 ? 4 : code.mandatory == Mandatory::x66 ? 16 : 8;
    case 0x2e:
    case 0x2f:
      return code.mandatory == Mandatory::x66 ? 8 : 4;  // ucomisd, ucomiss
    case 0x5a:                                          // cvtss2sd and its like
      return is_scalar ? scalar_or_vector(code) : code.mandatory == Mandatory::x66 ? code.vector : code.vector / 2;
    case 0x6e:
      return code.operand == 8 ? 8 : 4;  // movd, movq
    case 0x7e:
      return code.mandatory == Mandatory::xf3 || code.operand == 8 ? 8 : 4;
    case 0xa3:
    case 0xab:
    case 0xaf:
    case 0xb3:
    case 0xba:
    case 0xbb:
    case 0xbc:
    case 0xbd:
      return code.operand;  // bt and its like, imul, bsf, bsr
    case 0xb0:
    case 0xb1:
    case 0xc0:
    case 0xc1:
      return alternating(code);  // cmpxchg, xadd
    case 0xb6:
    case 0xbe:
      return 1;  // movzx, movsx
    case 0xb7:
    case 0xbf:
      return 2;
    case 0xb8:
      return code.operand;  // popcnt
    case 0xc2:
      return scalar_or_vector(code);
    case 0xc3:
      return code.operand;  // movnti
    case 0xc4:
      return 2;  // pinsrw
    case 0xc7:
      return code.reg == 1 ? 2 * code.operand : 1;  // cmpxchg8b
    case 0xd6:
      return 8;  // movq
    case 0xe6:
      return code.mandatory == Mandatory::xf3 ? code.vector / 2 : code.vector;  // cvtdq2pd
    default:
      break;
  }
  const bool is_of_vectors = opcode == 0x14 || opcode == 0x15 || (opcode >= 0x28 && opcode <= 0x2b) ||
                             (opcode >= 0x5b && opcode <= 0x7f) || opcode >= 0xc6;
  if (!is_of_vectors) return 1;
  const bool is_mmx = code.mandatory == Mandatory::none && !code.is_vex && opcode >= 0x60 && opcode != 0xc6;
  return is_mmx ? 8 : code.vector;
}

unsigned operand_bytes(const Encoding& code) {
  if (code.map == Map::one_byte) return one_byte_operand(code);
  if (code.map == Map::two_bytes) return two_byte_operand(code);
  const std::uint8_t opcode = code.opcode;
  if (code.map == Map::with_3a) {
    switch (opcode) {
      case 0x14:
      case 0x20:
        return 1;  // pextrb, pinsrb
      case 0x15:
        return 2;
      case 0x16:
      case 0x22:
        return code.operand == 8 ? 8 : 4;
      case 0x0a:
      case 0x17:
      case 0x21:
        return 4;  // roundss, extractps, insertps
      case 0x0b:
        return 8;
      default:
        return 1;
    }
  }
  if (code.is_vex && opcode >= 0xf2 && opcode <= 0xf7) return code.operand;  // andn, bextr
  if (opcode == 0xf0 || opcode == 0xf1) return code.mandatory == Mandatory::xf2 ? alternating(code) : code.operand;
  const unsigned widening = opcode % 16;
  if ((opcode / 16 == 2 || opcode / 16 == 3) && widening < 6) {  // pmovsx, pmovzx
    constexpr unsigned parts[] = {2, 4, 8, 2, 4, 2};
    return code.vector / parts[widening];
  }
  if (code.is_vex && opcode >= 0x96 && opcode <= 0xbf && opcode % 16 >= 9 && opcode % 2 != 0)  // one product and sum
    return code.operand == 8 ? 8 : 4;
  switch (code.is_vex ? opcode : 0) {
    case 0x18:
    case 0x58:
      return 4;  // broadcasts
    case 0x19:
    case 0x59:
      return 8;
    case 0x78:
      return 1;
    case 0x79:
      return 2;
    default:
      return 1;
  }
}

#endif

}  // namespace

Instruction instruction_at([[maybe_unused]] vgpu::Address at) {
#if defined(__x86_64__)
  const auto* next = reinterpret_cast<const std::uint8_t*>(at);
  Encoding code;
  bool is_locked = false, is_word = false;
  for (bool is_prefix = true; is_prefix;) {
    switch (*next) {
      case 0x66:
        is_word = true;
        if (code.mandatory == Mandatory::none) code.mandatory = Mandatory::x66;
        break;
      case 0xf2:
        code.mandatory = Mandatory::xf2;
        break;
      case 0xf3:
        code.mandatory = Mandatory::xf3;
        break;
      case 0xf0:
        is_locked = true;
        break;
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
      case 0x67:
        break;
      default:
        is_prefix = false;
        continue;
    }
    ++next;
  }
  bool is_wide = false;
  if (*next == 0xc4 || *next == 0xc5) {  // VEX
    const bool is_long = *next++ == 0xc4;
    code.is_vex = true;
    code.map = is_long ? static_cast<Map>(*next++ % 4) : Map::two_bytes;
    is_wide = is_long && (*next & 0x80);
    code.vector = *next & 4 ? 32 : 16;
    code.mandatory = static_cast<Mandatory>(*next++ % 4);
  } else {
    if ((*next & 0xf0) == 0x40) is_wide = *next++ & 8;  // REX
    if (*next == 0x62) return {};                       // EVEX
    if (*next == 0x0f) {
      code.map = *++next == 0x38 ? Map::with_38 : *next == 0x3a ? Map::with_3a : Map::two_bytes;
      if (code.map != Map::two_bytes) ++next;
    }
  }
  code.operand = is_wide ? 8 : is_word ? 2 : 4;
  code.opcode = *next++;
  code.reg = *next / 8 % 8;
  const bool is_exchange = code.map == Map::one_byte && !code.is_vex && (code.opcode == 0x86 || code.opcode == 0x87);
  return {is_locked || is_exchange, operand_bytes(code)};
#else
  return {};
#endif
}

}  // namespace scanlab::cudart
