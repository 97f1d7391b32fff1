#include "vgpu/core/decode/element_uses.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "vgpu/core/decode/opcodes.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Calls visit(register) for each register among these operands; that of an address does not count.
template <class Visit>
void for_each_register(const Operand& operand, Visit visit) {
  if (operand.kind == Operand::Kind::reg) visit(operand.reg);
  for (const Operand& element : operand.elements) for_each_register(element, visit);
}

/// Does it keep one half of a word, or all of it?
bool is_whole_mask(const Operand& operand) {
  if (operand.kind != Operand::Kind::integer) return false;
  const std::uint64_t mask = operand.bits;
  return mask == 0xffff'ffff || mask == ~std::uint64_t{0} || mask == ~std::uint64_t{0} << 32;
}

/// Is it an integer of 32 or 64 bits, or no type at all?
bool is_word(std::string_view modifier) {
  const ptx::Type type = ptx::type_from_suffix(modifier);
  return type == ptx::Type::none || is_one_of(modifier, {"b32", "u32", "s32", "b64", "u64", "s64"});
}

bool is_64_bits(const Instruction& in) {
  return in.has_any({"b64", "u64", "s64"});
}

/// By how much an instruction shifts its first source, where that is known.
std::optional<std::uint64_t> shift_of(const Instruction& in) {
  const Operand& by = in.operands.back();
  return by.kind == Operand::Kind::integer ? std::optional(by.bits) : std::nullopt;
}

/// Which operands, by number, it moves: it gives their whole words, perhaps joined or taken apart. Bit k is operand k.
std::uint32_t moved_operands(const ptx::Function& function, const Instruction& in) {
  constexpr std::uint32_t none = 0, first = 1u << 1, both = 1u << 1 | 1u << 2, all = ~0u;
  if (has_destination(in)) {
    bool is_narrow = false;
    for_each_register(in.operands[0], [&](std::int32_t r) {
      const ptx::Type type = function.registers[static_cast<std::size_t>(r)].type;
      is_narrow = is_narrow || (type != ptx::Type::pred && ptx::size_of(type) < 4);
    });
    if (is_narrow && !is_one_of(in.opcode, {"ld", "ldu"})) return none;
  }
  if (in.opcode == "shl" || in.opcode == "shr") return is_64_bits(in) && shift_of(in) == 32 ? first : none;
  if (in.opcode == "and") return std::ranges::any_of(in.operands, is_whole_mask) ? both : none;
  if (in.opcode == "cvt") return std::ranges::all_of(in.modifiers, is_word) ? first : none;
  if (in.opcode == "atom") return in.has("exch") ? 1u << 2 : none;
  if (in.opcode == "red") return in.has("exch") ? 1u << 1 : none;
  if (in.opcode == "shfl") return first;
  if (in.opcode == "selp") return both;
  return is_one_of(in.opcode, {"mov", "st", "scanlab", "cvta"}) ? all : none;
}

/// Which operands' bits it puts into its result, of those that it does not move.
std::uint32_t rearranged_operands(const Instruction& in) {
  constexpr std::uint32_t first = 1u << 1, both = 1u << 1 | 1u << 2;
  if (is_one_of(in.opcode, {"or", "and", "xor", "prmt", "shf", "bfi"})) return both;
  if (in.opcode == "lop3") return both | 1u << 3;
  return in.opcode == "bfe" || (in.opcode == "shr" && is_64_bits(in) && shift_of(in) >= 32) ? first : 0;
}

/// Words of a register of 8 bytes, or the only one of a narrower register.
enum Words : std::uint8_t { no_word = 0, low_word = 1, high_word = 2, both_words = 3 };

/// Words of a 64-bit register that are not 0 in `bits`.
std::uint8_t words_in(std::uint64_t bits) {
  return static_cast<std::uint8_t>(((bits & 0xffff'ffff) ? low_word : no_word) | (bits >> 32 ? high_word : no_word));
}

/// Does a comparison with this number ask for the upper word alone? x < c * 2^32 is upper(x) < c.
bool compares_upper_word(const Instruction& in) {
  const Operand& with = in.operands.back();
  if (in.opcode != "setp" || !is_64_bits(in) || with.kind != Operand::Kind::integer) return false;
  const std::uint64_t lower = with.bits & 0xffff'ffff;
  return in.has_any({"lt", "ge", "lo", "hs"}) ? lower == 0
                                              : in.has_any({"le", "gt", "ls", "hi"}) && lower == 0xffff'ffff;
}

/// Which words of source `k` make a difference to the instruction's result, of which these words do.
std::uint8_t words_asked(const Instruction& in, std::size_t k, std::uint8_t of_result) {
  const Operand& last = in.operands.back();
  if (in.opcode == "and" && last.kind == Operand::Kind::integer) return of_result & words_in(last.bits);
  if (is_one_of(in.opcode, {"or", "and", "xor", "lop3"})) return of_result;
  const bool is_whole = in.operands[0].kind == Operand::Kind::reg && last.kind == Operand::Kind::reg;
  if ((in.opcode == "mov" && is_whole) || (in.opcode == "selp" && k < 3)) return of_result;
  if (in.opcode == "cvt" && is_64_bits(in))
    return in.has_any({"s8", "u8", "s16", "u16", "s32", "u32"}) ? low_word : both_words;
  if (in.opcode == "shr" && is_64_bits(in) && shift_of(in) >= 32) return high_word;
  if (in.opcode == "shl" && is_64_bits(in) && shift_of(in) == 32) return low_word;
  if (compares_upper_word(in)) return high_word;
  if (in.opcode != "bfe" || in.operands.size() < 4) return both_words;
  const Operand& from = in.operands[2];
  if (last.kind == Operand::Kind::integer && from.kind == Operand::Kind::integer)
    return static_cast<std::uint8_t>((from.bits < 32 ? low_word : no_word) |
                                     (from.bits + last.bits > 32 ? high_word : no_word));
  return both_words;
}

/// Which words of each register make a difference to anything: backwards from their uses.
std::vector<std::uint8_t> asked_words(const ptx::Function& function) {
  std::vector<std::uint8_t> asked(function.registers.size(), no_word);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const Instruction& in : function.instructions) {
      std::uint8_t of_result = both_words;
      if (has_destination(in) && in.operands[0].kind == Operand::Kind::reg)
        of_result = asked[static_cast<std::size_t>(in.operands[0].reg)];
      for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k)
        for_each_register(in.operands[k], [&](std::int32_t r) {
          std::uint8_t& known = asked[static_cast<std::size_t>(r)];
          const auto now = static_cast<std::uint8_t>(known | words_asked(in, k, of_result));
          has_changed = has_changed || now != known;
          known = now;
        });
    }
  }
  return asked;
}

/// The use of operand `k`, a register, that the instruction does not move.
ElementUse use_of(const Instruction& in, std::size_t k, std::int32_t r, const std::vector<std::uint8_t>& asked) {
  ElementUse use{r};
  const bool gives_register = has_destination(in) && in.operands[0].kind == Operand::Kind::reg;
  const auto result = gives_register ? asked[static_cast<std::size_t>(in.operands[0].reg)] : std::uint8_t{both_words};
  const std::uint8_t words = words_asked(in, k, result);
  use.low = words & low_word;
  use.high = words & high_word;
  if (!(rearranged_operands(in) >> k & 1)) return use;
  const bool is_bitwise = is_one_of(in.opcode, {"or", "and", "xor", "lop3"});
  use.keeps = is_bitwise ? ElementUse::Keeps::same_place : ElementUse::Keeps::whole;
  return use;
}

/// Does it add names?
bool adds(const Instruction& in, NamedElements kind) {
  if (kind == NamedElements::words) return in.opcode == "scanlab";
  const bool is_atomic = (in.opcode == "atom" || in.opcode == "red") && in.has("add") && in.has("f32");
  return is_atomic || adds_floats(in);
}

/// Does it bring in what other instructions, lanes or functions have stored?
bool brings_elements(const ptx::Function& function, const Instruction& in) {
  if (is_one_of(in.opcode, {"atom", "shfl"})) return true;
  if (in.opcode != "ld") return false;
  // A kernel's own parameters are the host's, which has no elements.
  return !function.is_entry || !in.has("param") ||
         std::ranges::any_of(function.variables, [&](const ptx::Variable& v) { return v.name == in.operands[1].name; });
}

}  // namespace

bool adds_floats(const Instruction& in) {
  return in.opcode == "add" && in.has("f32") &&
         std::ranges::all_of(in.modifiers, [](const std::string& word) { return word == "f32" || word == "rn"; });
}

std::vector<std::vector<ElementUse>> element_uses(const ptx::Function& function, NamedElements kind) {
  std::vector<bool> may_hold(function.registers.size(), false);
  const auto holds = [&](std::int32_t r) { return may_hold[static_cast<std::size_t>(r)]; };
  const auto for_each_source = [](const Instruction& in, auto visit) {
    for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k)
      for_each_register(in.operands[k], [&](std::int32_t r) { visit(k, r); });
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const Instruction& in : function.instructions) {
      if (!has_destination(in)) continue;
      bool gives = brings_elements(function, in) || adds(in, kind);
      const std::uint32_t kept = moved_operands(function, in) | rearranged_operands(in);
      if (!gives) for_each_source(in, [&](std::size_t k, std::int32_t r) { gives |= (kept >> k & 1) && holds(r); });
      if (!gives) continue;
      for_each_register(in.operands[0], [&](std::int32_t r) {
        has_changed = has_changed || !holds(r);
        may_hold[static_cast<std::size_t>(r)] = true;
      });
    }
  }
  const std::vector<std::uint8_t> asked = asked_words(function);
  std::vector<std::vector<ElementUse>> uses(function.instructions.size());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const Instruction& in = function.instructions[k];
    if (adds(in, kind) || is_one_of(in.opcode, {"call", "bra", "ld"})) continue;
    const std::uint32_t moved = moved_operands(function, in);
    for_each_source(in, [&](std::size_t operand, std::int32_t r) {
      const std::uint32_t bytes = ptx::size_of(function.registers[static_cast<std::size_t>(r)].type);
      if (!(moved >> operand & 1) && holds(r) && (bytes == 4 || bytes == 8))
        uses[k].push_back(use_of(in, operand, r, asked));
    });
  }
  return uses;
}

namespace {

/// What only waits: loops that end when a test of a barrier object succeeds, and that have no effect but time.
class Waiting {
 public:
  Waiting(const ptx::Function& function, const ControlFlow& flow, const Liveness& liveness)
      : function_(function), flow_(flow), liveness_(liveness), waits_(function.instructions.size(), false) {
    for (std::uint32_t k = 0; k < waits_.size(); ++k)
      if (const Instruction& in = function.instructions[k];
          in.opcode == "mbarrier" && in.has_any({"test_wait", "try_wait"}))
        mark_loop_of(k);
  }

  /// Is the instruction one of such a loop?
  bool has(std::uint32_t k) const { return waits_[k]; }

  /// Is the result of an instruction used for nothing but in such loops, for how long to sleep?
  bool is_only_for_waiting(std::uint32_t k) const {
    std::vector<bool> follows(function_.registers.size(), false);
    const auto marks = [&](const Instruction& in) {
      bool is_new = false;
      for_each_register(in.operands[0], [&](std::int32_t r) {
        is_new = is_new || !follows[static_cast<std::size_t>(r)];
        follows[static_cast<std::size_t>(r)] = true;
      });
      return is_new;
    };
    for (bool has_changed = marks(function_.instructions[k]); has_changed;) {
      has_changed = false;
      for (std::uint32_t i = 0; i < waits_.size(); ++i) {
        const Instruction& in = function_.instructions[i];
        if (waits_[i] || !uses(in, follows)) continue;
        if (!is_one_of(in.opcode, {"mov", "add", "sub", "cvt"})) return false;
        has_changed = marks(in) || has_changed;
      }
    }
    return true;
  }

 private:
  static bool uses(const Instruction& in, const std::vector<bool>& registers) {
    bool found = in.guard >= 0 && registers[static_cast<std::size_t>(in.guard)];
    for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k) {
      const Operand& operand = in.operands[k];
      if (operand.kind == Operand::Kind::address && operand.reg >= 0)
        found = found || registers[static_cast<std::size_t>(operand.reg)];
      for_each_register(operand, [&](std::int32_t r) { found = found || registers[static_cast<std::size_t>(r)]; });
    }
    return found;
  }

  /// Where control comes into these blocks, ascending; the number of blocks where that is at more than one place.
  std::uint32_t head_of(const std::vector<std::uint32_t>& body) const {
    const auto none = static_cast<std::uint32_t>(flow_.blocks.size());
    std::uint32_t head = none;
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
      if (std::ranges::binary_search(body, b)) continue;
      for (const std::uint32_t next : flow_.blocks[b].successors) {
        if (!std::ranges::binary_search(body, next) || next == head) continue;
        if (head != none) return none;
        head = next;
      }
    }
    return head;
  }

  /// The innermost loop around the test at `k`, with all of its ways back.
  std::vector<std::uint32_t> body_around(std::uint32_t k) const {
    std::vector<std::uint32_t> body;
    std::uint32_t head = 0;
    for (const Loop& loop : loops_around(flow_, flow_.block_of[k])) {
      const std::uint32_t head_of_loop = head_of(loop.blocks);
      if (!body.empty() && head_of_loop != head) break;
      head = head_of_loop;
      std::vector<std::uint32_t> both;
      std::ranges::set_union(body, loop.blocks, std::back_inserter(both));
      body = std::move(both);
    }
    return body;
  }

  /// Takes out of `set`, the registers that a loop sets, those that get the same value each time around.
  void forget_invariants(const std::vector<std::uint32_t>& body, std::vector<bool>& set) const {
    std::vector<unsigned> definitions(set.size(), 0);
    const auto for_each_in_body = [&](auto visit) {
      for (const std::uint32_t b : body)
        for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i)
          if (const Instruction& in = function_.instructions[i]; has_destination(in)) visit(in);
    };
    for_each_in_body([&](const Instruction& in) {
      for_each_register(in.operands[0], [&](std::int32_t r) { ++definitions[static_cast<std::size_t>(r)]; });
    });
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for_each_in_body([&](const Instruction& in) {
        const auto is_special = [](const Operand& operand) { return operand.kind == Operand::Kind::special; };
        if (in.opcode == "mbarrier" || uses(in, set) || std::ranges::any_of(in.operands, is_special)) return;
        for_each_register(in.operands[0], [&](std::int32_t r) {
          const auto at = static_cast<std::size_t>(r);
          if (definitions[at] != 1 || !set[at]) return;
          set[at] = false;
          has_changed = true;
        });
      });
    }
  }

  void mark_loop_of(std::uint32_t test) {
    const std::vector<std::uint32_t> body = body_around(test);
    const auto is_in_body = [&](std::uint32_t block) { return std::ranges::binary_search(body, block); };
    std::vector<bool> set(function_.registers.size(), false), of_test = set;  // in the loop; by the test alone
    std::vector<std::pair<std::uint32_t, std::uint32_t>> exits;
    for (const std::uint32_t b : body) {
      for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i) {
        const Instruction& in = function_.instructions[i];
        const bool computes = is_one_of(
            in.opcode, {"mov", "selp", "setp", "not", "and", "or", "add", "sub", "shr", "shl", "cvt", "min", "max"});
        if (!computes && !is_one_of(in.opcode, {"bra", "nanosleep"}) && i != test) return;
        if (in.guard >= 0 && in.opcode != "bra") return;
        if (has_destination(in))
          for_each_register(in.operands[0], [&](std::int32_t r) { set[static_cast<std::size_t>(r)] = true; });
      }
      for (const std::uint32_t next : flow_.blocks[b].successors)
        if (!is_in_body(next)) exits.emplace_back(b, next);
    }
    if (exits.size() != 1) return;
    const auto [from, to] = exits.front();
    forget_invariants(body, set);
    for (const std::int32_t r : liveness_.live_before(flow_.blocks[to].begin))
      if (set[static_cast<std::size_t>(r)]) return;  // how it waited is known behind it
    // The one way out is taken by what the test says, and by nothing else.
    for (std::uint32_t i = flow_.blocks[from].begin; i < flow_.blocks[from].end; ++i) {
      const Instruction& in = function_.instructions[i];
      bool is_of_test = i == test;
      if (!is_of_test && is_one_of(in.opcode, {"mov", "selp", "setp", "not"})) is_of_test = uses(in, of_test);
      if (has_destination(in))
        for_each_register(in.operands[0], [&](std::int32_t r) { of_test[static_cast<std::size_t>(r)] = is_of_test; });
      for (std::size_t k = 1; is_of_test && i != test && k < in.operands.size(); ++k)
        for_each_register(in.operands[k], [&](std::int32_t r) {
          if (!of_test[static_cast<std::size_t>(r)])
            for_each_register(in.operands[0], [&](std::int32_t d) { of_test[static_cast<std::size_t>(d)] = false; });
        });
    }
    const Instruction& last = function_.instructions[flow_.blocks[from].end - 1];
    if (last.opcode != "bra" || last.guard < 0 || !of_test[static_cast<std::size_t>(last.guard)]) return;
    for (const std::uint32_t b : body)
      for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i) waits_[i] = true;
  }

  const ptx::Function& function_;
  const ControlFlow& flow_;
  const Liveness& liveness_;
  std::vector<bool> waits_;
};

/// The special registers that a launch and a thread's place in it decide; two of %envreg have a grid's barrier.
constexpr std::string_view of_the_launch[] = {"%tid.",
                                              "%ntid.",
                                              "%ctaid.",
                                              "%nctaid.",
                                              "%laneid",
                                              "%lanemask_",
                                              "%cluster",
                                              "%nclusterid.",
                                              "%is_explicit_cluster",
                                              "%dynamic_smem_size"};
constexpr std::string_view of_time[] = {"%clock", "%globaltimer", "%pm"};

/// What a special register says, besides the place of a thread in its launch.
std::optional<Dependence> dependence_of(const Operand& operand) {
  const auto begins = [&](std::string_view prefix) { return operand.name.starts_with(prefix); };
  const bool has_barrier = operand.name == "%envreg1" || operand.name == "%envreg2";
  if (operand.kind == Operand::Kind::special && !has_barrier && !std::ranges::any_of(of_the_launch, begins))
    return std::ranges::any_of(of_time, begins) ? Dependence::clock : Dependence::place;
  for (const Operand& element : operand.elements)
    if (const auto found = dependence_of(element)) return found;
  return std::nullopt;
}

}  // namespace

std::vector<std::optional<Dependence>> dependences(const ptx::Function& function, const ControlFlow& flow,
                                                   const Liveness& liveness) {
  const Waiting waiting(function, flow, liveness);
  std::vector<std::optional<Dependence>> found(function.instructions.size());
  for (std::uint32_t k = 0; k < found.size(); ++k) {
    const Instruction& in = function.instructions[k];
    if (waiting.has(k)) continue;
    for (const Operand& operand : in.operands)
      if (!found[k]) found[k] = dependence_of(operand);
    if (found[k]) {
      if (found[k] == Dependence::clock && waiting.is_only_for_waiting(k)) found[k].reset();
    } else if (in.opcode == "activemask" || in.opcode == "elect") {
      found[k] = Dependence::active_lanes;
    } else if (in.opcode == "mbarrier" && in.has_any({"test_wait", "try_wait", "pending_count"})) {
      found[k] = Dependence::barrier_state;
    } else if (in.opcode == "mbarrier" && in.has_any({"arrive", "arrive_drop"}) && has_destination(in)) {
      // The phase that it returns says how many are missing.
      if (!waiting.is_only_for_waiting(k)) found[k] = Dependence::barrier_state;
    } else if (in.opcode == "call" && std::ranges::find(in.operands, "malloc", &Operand::name) != in.operands.end()) {
      found[k] = Dependence::heap_place;
    } else if (in.opcode == "discard") {
      found[k] = Dependence::discarded;
    }
  }
  return found;
}

}  // namespace scanlab::vgpu
