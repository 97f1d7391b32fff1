#include "vgpu/core/warp/float_names.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {

FloatNames::FloatNames(std::uint64_t high, std::uint64_t low)
    : cipher_(ElementNames::Kind::expressions, high, low), number_(drawn_bits + 1) {}

std::uint32_t FloatNames::draw() {
  if (names_.size() == most) {
    is_used_up_ = true;
    return canonical_nan_f32;
  }
  for (;;) {
    if (draws_ % warp_size == 0) {
      std::iota(std::begin(drawn_), std::end(drawn_), draws_);
      cipher_.encipher(drawn_, warp_size);
      for (const std::uint64_t drawn : drawn_) __builtin_prefetch(&number_[drawn & drawn_bits]);
    }
    const auto drawn = static_cast<std::uint32_t>(drawn_[draws_++ % warp_size]) & drawn_bits;
    if (number_[drawn]) continue;
    names_.push_back(high_bits | drawn);
    number_[drawn] = static_cast<std::uint32_t>(names_.size());
    return names_.back();
  }
}

std::vector<std::uint32_t> FloatNames::name_inputs(std::size_t count) {
  for (const std::uint32_t name : names_) number_[name & drawn_bits] = 0;
  names_.clear();
  is_used_up_ = false;
  sums_ = KeyTable(4 * count);  // some sums for each
  std::vector<std::uint32_t> names(count);
  std::ranges::generate(names, [this] { return draw(); });
  return names;
}

std::uint32_t FloatNames::add(std::uint32_t a, std::uint32_t b) {
  if (a << 1 == 0) return b;
  if (b << 1 == 0) return a;
  std::uint32_t& sum = sums_[key(a, b)];
  if (sum == KeyTable::none) sum = draw();
  return sum;
}

std::uint32_t FloatSums::name(unsigned lane, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = names_->add(a, b);
  if (names_->is_used_up()) return sum;  // it would stand for several
  mask_ |= Mask{1} << lane;
  earlier_[count_] = names_->wide(a);
  later_[count_] = names_->wide(b);
  sum_[count_++] = names_->wide(sum);
  return sum;
}

void FloatSums::report(const Warp& w, const Inst* i) const {
  if (!mask_) return;
  for (Observer* o : w.block->grid->of_work) o->combined(actor_of(w, i), mask_, earlier_, later_, sum_);
}

const Inst* add_float_names(Warp& w, const Inst* i) {
  w.pc = i;
  const std::uint32_t *a = w.lanes<std::uint32_t>(i->op[1]), *b = w.lanes<std::uint32_t>(i->op[2]);
  FloatSums sums(w.block->grid->floats);
  for (const unsigned l : lanes_in(w.active)) sums.expect(a[l], b[l]);
  for (const unsigned l : lanes_in(w.active)) {
    const auto number = [&] { return canonical(std::bit_cast<f32>(a[l]) + std::bit_cast<f32>(b[l])); };
    const auto named = sums.add(l, a[l], b[l]);
    w.lanes<std::uint32_t>(i->op[0])[l] = named ? *named : std::bit_cast<std::uint32_t>(number());
  }
  sums.report(w, i);
  return proceed(w, i + 1);
}

}  // namespace scanlab::vgpu
