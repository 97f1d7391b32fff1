// What `+` gives where elements may be names: in the build whose `+` is that of grader/runner/by_name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/warp/key_table.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// An element's bits: the name of an input or of a sum, or a map, which is its own name: a in the lower half and b in
/// the upper one, of x -> a * x + b modulo 2^32.
using ElementName = std::uint64_t;

/// The identity is the map that it is everywhere, x -> 1 * x + 0: no constant tells a program that others are names.
inline constexpr ElementName identity_name = 1;

/// Elements first … last - 1 of the input, each once, in their order.
struct ElementRange {
  std::uint32_t first = 0, last = 0;
  bool operator==(const ElementRange&) const = default;
};

/// The names of elements, and of their sums. A name cannot be guessed, and says nothing to a program that has it; which
/// is a function of the key and the operands alone, so that a run gives the same names whatever else happens.
///
/// There are three kinds, two of them made with one cipher (below). An *expression*'s name is a keyed hash of its
/// operands' names (CBC-MAC), so that another expression has another name, and `x0 + (x1 + x2)` is not `(x0 + x1) +
/// x2`; what it is the sum of, an observer has to remember (Observer::combined). An *interval*'s name is its bounds,
/// enciphered: nothing needs to be remembered, and sums of the same elements have the same name, however they were
/// added. That is the monoid of intervals of summations of Chong, Donaldson and Ketema ("A sound and complete
/// abstraction for reasoning about parallel prefix sums", POPL 2014); what is no interval gets a name without a
/// meaning. A *map* is itself, and sums are computed: that is quick, and proves nothing.
///
/// Sums of two maps are maps in all three, as on a GPU: what a program computes with constants says nothing of names.
class ElementNames {
 public:
  enum class Kind { expressions, intervals, maps };

  /// A key of 128 bits.
  ElementNames(Kind kind, std::uint64_t high, std::uint64_t low);

  Kind kind() const { return kind_; }
  /// The names of inputs 0 … n - 1; `is_kept` says of which scanlab.cuh's keep() is true: of no other name. Maps are
  /// theirs already, and those with an odd b are kept.
  std::vector<ElementName> name_inputs(std::vector<bool> is_kept);
  /// Of which of `count` names, at most 32, keep() is true: a bit each.
  Mask kept(const ElementName* names, unsigned count) const;
  /// The names of the sums of `count` pairs, at most 32. Those of expressions are remembered, so they are made by one
  /// host thread.
  void add(const ElementName* earlier, const ElementName* later, ElementName* sum, unsigned count) const;
  /// The intervals that names of kind `intervals` stand for; empty ones for the identity, nothing where there is none.
  std::vector<std::optional<ElementRange>> intervals(std::span<const ElementName> names) const;

  /// Speck64/128 (Beaulieu et al., "The SIMON and SPECK families of lightweight block ciphers", 2013): the halves of a
  /// word are its x and y.
  void encipher(std::uint64_t* words, std::size_t count) const;
  void decipher(std::uint64_t* words, std::size_t count) const;

 private:
  static constexpr unsigned rounds = 27;

  /// Of which words, deciphered in `plain`, are names, and not maps: a bit each.
  Mask named(const ElementName* names, const std::uint64_t* plain, unsigned count) const;

  Kind kind_;
  std::uint32_t keys_[rounds];
  mutable KeyTable sums_;      ///< names of expressions that are sums
  std::vector<bool> is_kept_;  ///< by input
};

/// `scanlab.add {d, e}, {a, b}, {f, g}` and `scanlab.keep d, {a, b}`, neither of which is PTX's: a name is two
/// registers of 32 bits, the lower half first, in the operands' order from op[0] on. A fault where the device has no
/// names (Device::elements).
const Inst* add_elements(Warp& w, const Inst* i);
const Inst* keep_element(Warp& w, const Inst* i);

/// Reports the value of register op[0], of aux bytes, to observers (Observer::computed_with).
const Inst* report_element_use(Warp& w, const Inst* i);
/// The same of a word of an argument of a call, of which a part is loaded: lane l's is at imm + l * aux in the frame.
const Inst* report_argument_word(Warp& w, const Inst* i);
/// Reports that words of op[0], as it was before, got into op[1] (Observer::rearranged). imm is the predicate's place
/// plus one for the instruction's guard, or 0.
const Inst* report_rearranged(Warp& w, const Inst* i);
/// Reports a Dependence, aux (Observer::depends).
const Inst* report_dependence(Warp& w, const Inst* i);
/// Reports the lanes whose register op[0] is 0, as Dependence::zero_divisor; imm and aux as of report_rearranged.
const Inst* report_zero_divisor(Warp& w, const Inst* i);

/// Inst::aux of report_rearranged.
struct RearrangedForm {
  std::uint32_t from_bytes : 8 = 0, to_bytes : 8 = 0;  ///< 4 or 8; of what is looked at, 0: nothing stays whole
  std::uint32_t low : 1 = 0, high : 1 = 0;             ///< which words of op[0] count
  std::uint32_t same_place : 1 = 0, guard_negated : 1 = 0;
};
static_assert(sizeof(RearrangedForm) == sizeof(std::uint32_t));

}  // namespace scanlab::vgpu
