// What `+` gives where the floats of a launch are names: of the very program that a grade counts the work of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/warp/elements.hpp"
#include "vgpu/core/warp/key_table.hpp"

namespace scanlab::vgpu {

/// The names of floats, which stand in memory and registers in the place of values. `add.f32` and `atom.add.f32` give
/// the sum of two names a name, and the sum of a name and zero is that name. Where neither operand is a name, they add
/// numbers.
///
/// 32 bits hold no hash that would be another one for each sum. So sums are numbered, in the order in which they are
/// first made, behind the inputs, and a name is drawn at random for each. The operands' order makes no difference:
/// float addition commutes, and compilers swap them. Which name a sum gets depends on what was added before, so only
/// one host thread may run such a launch (Device::floats); a launch that is run again gives the same sums the same
/// names.
///
/// All are numbers of about 2e26 (high_bits): no NaN, which programs test for, and not what indices, flags, masks or
/// halves of addresses look like as integers.
class FloatNames {
 public:
  static constexpr std::uint32_t high_bits = 0x6b400000, drawn_bits = 0x003fffff;
  /// A quarter of those that there are, so that drawing one takes few tries, and a guess mostly fails.
  static constexpr std::size_t most = (drawn_bits + 1) / 4;

  /// A key of 128 bits.
  FloatNames(std::uint64_t high, std::uint64_t low);

  /// The names of `count` inputs, whose numbers begin with 1. All earlier names are names no more.
  std::vector<std::uint32_t> name_inputs(std::size_t count);
  static bool may_be_name(std::uint32_t bits) { return (bits & ~drawn_bits) == high_bits; }
  bool is_name(std::uint32_t bits) const { return may_be_name(bits) && number_[bits & drawn_bits]; }
  /// The sum will be asked for.
  void expect(std::uint32_t a, std::uint32_t b) const {
    for (const std::uint32_t bits : {a, b}) __builtin_prefetch(&number_[bits & drawn_bits]);
    sums_.expect(key(a, b));
  }
  /// The name of a sum, at least one of whose operands is a name. NaN when there are none left.
  std::uint32_t add(std::uint32_t a, std::uint32_t b);
  /// Have there been more sums than names?
  bool is_used_up() const { return is_used_up_; }

  /// The name as observers see it: its number in the upper half, and these bits. The zeros are the identity's.
  ElementName wide(std::uint32_t bits) const {
    const std::uint32_t number = is_name(bits) ? number_[bits & drawn_bits] : no_number;
    return bits << 1 == 0 ? identity_name : std::uint64_t{number} << 32 | bits;
  }
  static std::uint32_t number_of(ElementName name) { return static_cast<std::uint32_t>(name >> 32); }
  static std::uint32_t bits_of(ElementName name) { return static_cast<std::uint32_t>(name); }
  /// Of what is no name.
  static constexpr std::uint32_t no_number = ~std::uint32_t{0};

 private:
  std::uint32_t draw();
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  }

  ElementNames cipher_;
  std::uint64_t draws_ = 0;
  std::uint64_t drawn_[warp_size];     ///< the next ones: the cipher takes no longer for so many
  std::vector<std::uint32_t> names_;   ///< by number, which is one more
  std::vector<std::uint32_t> number_;  ///< by a name's drawn bits; 0: it is none
  KeyTable sums_;                      ///< by key()
  bool is_used_up_ = false;
};

/// The sums that the lanes of one instruction make, for the observers.
class FloatSums {
 public:
  /// Of the launch, or null: all are numbers.
  explicit FloatSums(FloatNames* names) : names_(names) {}
  /// Lane l's sum of these will be asked for.
  void expect(std::uint32_t a, std::uint32_t b) const {
    if (names_) names_->expect(a, b);
  }
  /// What lane l gets, one after the other by rising index; nothing where neither is a name.
  std::optional<std::uint32_t> add(unsigned lane, std::uint32_t a, std::uint32_t b) {
    if (!names_ || (!names_->is_name(a) && !names_->is_name(b))) return std::nullopt;
    return name(lane, a, b);
  }
  void report(const Warp& w, const Inst* i) const;

 private:
  std::uint32_t name(unsigned lane, std::uint32_t a, std::uint32_t b);

  FloatNames* names_;
  Mask mask_ = 0;
  unsigned count_ = 0;
  ElementName earlier_[warp_size], later_[warp_size], sum_[warp_size];  ///< of the first `count_`
};

/// op[0] = op[1] + op[2], floats, rounded to nearest where they are numbers (Image::names_floats).
const Inst* add_float_names(Warp& w, const Inst* i);

}  // namespace scanlab::vgpu
