#include "vgpu/core/warp/elements.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

ElementRange range_of(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

std::uint64_t word_of(ElementRange range) {
  return std::uint64_t{range.first} << 32 | range.last;
}

/// The map that applies `earlier` first.
ElementName sum_of_maps(ElementName earlier, ElementName later) {
  const auto a = static_cast<std::uint32_t>(earlier), b = static_cast<std::uint32_t>(earlier >> 32);
  const auto a_later = static_cast<std::uint32_t>(later), b_later = static_cast<std::uint32_t>(later >> 32);
  return std::uint64_t{a_later * b + b_later} << 32 | a * a_later;
}

const ElementNames& names_of(const Warp& w) {
  const ElementNames* names = w.block->grid->elements;
  if (!names)
    raise(Fault::Kind::unsupported, first_lane(w.active), "elements are names, and only the grader gives them");
  return *names;
}

/// The names that the active lanes hold in op[low] and the register behind it, one after the other; returns how many.
unsigned gather_names(Warp& w, const Inst* i, unsigned low, ElementName* names) {
  const std::uint32_t *const lower = w.lanes<std::uint32_t>(i->op[low]), *const upper =
                                                                             w.lanes<std::uint32_t>(i->op[low + 1]);
  unsigned count = 0;
  for (const unsigned l : lanes_in(w.active)) names[count++] = std::uint64_t{upper[l]} << 32 | lower[l];
  return count;
}

}  // namespace

ElementNames::ElementNames(Kind kind, std::uint64_t high, std::uint64_t low) : kind_(kind) {
  std::uint32_t left[3] = {static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
                           static_cast<std::uint32_t>(high >> 32)};
  keys_[0] = static_cast<std::uint32_t>(low);
  for (std::uint32_t k = 0; k + 1 < rounds; ++k) {
    std::uint32_t& next = left[k % 3];
    next = (keys_[k] + std::rotr(next, 8)) ^ k;
    keys_[k + 1] = std::rotl(keys_[k], 3) ^ next;
  }
}

namespace {

#if defined(__x86_64__) && !defined(__AVX2__)
#define SCANLAB_WIDE_VECTORS [[gnu::target_clones("avx2", "default")]]
#else
#define SCANLAB_WIDE_VECTORS
#endif

constexpr unsigned batch = 32;  // words at a time: registers' worth of independent work
/// Halves of words, in as many registers as they need: the compiler keeps those in registers that the target has.
using Part [[gnu::vector_size(32)]] = std::uint32_t;
constexpr unsigned words_a_part = sizeof(Part) / sizeof(std::uint32_t);
struct Halves {
  Part parts[batch / words_a_part] = {};
  std::uint32_t& operator[](std::size_t k) { return reinterpret_cast<std::uint32_t*>(parts)[k]; }
};

SCANLAB_WIDE_VECTORS void encipher_batch(Halves* high, Halves* low, const std::uint32_t* keys, unsigned rounds) {
  Halves x = *high, y = *low;
  for (unsigned round = 0; round < rounds; ++round)
#pragma GCC unroll 8
    for (unsigned k = 0; k < batch / words_a_part; ++k) {
      Part &a = x.parts[k], &b = y.parts[k];
      a = ((a >> 8 | a << 24) + b) ^ keys[round];
      b = (b << 3 | b >> 29) ^ a;
    }
  *high = x, *low = y;
}

SCANLAB_WIDE_VECTORS void decipher_batch(Halves* high, Halves* low, const std::uint32_t* keys, unsigned rounds) {
  Halves x = *high, y = *low;
  for (unsigned round = rounds; round-- > 0;)
#pragma GCC unroll 8
    for (unsigned k = 0; k < batch / words_a_part; ++k) {
      Part &a = x.parts[k], &b = y.parts[k];
      b ^= a;
      b = b >> 3 | b << 29;
      a = (a ^ keys[round]) - b;
      a = a << 8 | a >> 24;
    }
  *high = x, *low = y;
}

template <class Cipher>
void for_batches(std::uint64_t* words, std::size_t count, Cipher cipher) {
  for (std::size_t done = 0; done < count; done += batch) {
    const std::size_t now = std::min<std::size_t>(count - done, batch);
    Halves x, y;
    for (std::size_t k = 0; k < now; ++k) {
      x[k] = static_cast<std::uint32_t>(words[done + k] >> 32);
      y[k] = static_cast<std::uint32_t>(words[done + k]);
    }
    cipher(&x, &y);
    for (std::size_t k = 0; k < now; ++k) words[done + k] = std::uint64_t{x[k]} << 32 | y[k];
  }
}

}  // namespace

void ElementNames::encipher(std::uint64_t* words, std::size_t count) const {
  for_batches(words, count, [&](Halves* x, Halves* y) { encipher_batch(x, y, keys_, rounds); });
}

void ElementNames::decipher(std::uint64_t* words, std::size_t count) const {
  for_batches(words, count, [&](Halves* x, Halves* y) { decipher_batch(x, y, keys_, rounds); });
}

std::vector<ElementName> ElementNames::name_inputs(std::vector<bool> is_kept) {
  is_kept_ = std::move(is_kept);
  sums_ = KeyTable(kind_ == Kind::expressions ? 4 * is_kept_.size() : 0);
  std::vector<ElementName> names(is_kept_.size());
  for (std::uint64_t i = 0; i < names.size(); ++i)
    names[i] = word_of({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)});
  encipher(names.data(), names.size());
  return names;
}

Mask ElementNames::kept(const ElementName* names, unsigned count) const {
  if (kind_ == Kind::maps) {
    Mask kept = 0;
    for (unsigned k = 0; k < count; ++k) kept |= Mask{(names[k] >> 32) % 2 != 0} << k;
    return kept;
  }
  std::uint64_t words[warp_size];
  std::copy_n(names, count, words);
  decipher(words, count);
  Mask kept = 0;
  const Mask named = this->named(names, words, count);
  for (unsigned k = 0; k < count; ++k) {
    const ElementRange bounds = range_of(words[k]);
    const bool is_input = bounds.last == bounds.first + 1 && bounds.first < is_kept_.size();
    const bool is_map = !(named >> k & 1);
    kept |= Mask{is_map ? (names[k] >> 32) % 2 != 0 : is_input && is_kept_[bounds.first]} << k;
  }
  return kept;
}

Mask ElementNames::named(const ElementName* names, const std::uint64_t* plain, unsigned count) const {
  Mask named = 0;
  for (unsigned k = 0; k < count; ++k) {
    const ElementRange bounds = range_of(plain[k]);
    const bool is_input = bounds.last == bounds.first + 1 && bounds.first < is_kept_.size();
    const bool is_interval = kind_ == Kind::intervals && bounds.first < bounds.last && bounds.last <= is_kept_.size();
    named |= Mask{is_input || is_interval || sums_.find(names[k]) != KeyTable::none} << k;
  }
  return named;
}

void ElementNames::add(const ElementName* earlier, const ElementName* later, ElementName* sum, unsigned count) const {
  std::uint64_t words[warp_size], others[warp_size];
  const Mask all = count == warp_size ? full_mask : (Mask{1} << count) - 1;
  std::copy_n(earlier, count, words);
  std::copy_n(later, count, others);
  Mask named = 0;
  if (kind_ != Kind::maps) {
    decipher(words, count);
    decipher(others, count);
    named = this->named(earlier, words, count) | this->named(later, others, count);
  }
  for (const unsigned k : lanes_in(all & ~named)) sum[k] = sum_of_maps(earlier[k], later[k]);
  Mask left = named;  // to be named
  if (kind_ == Kind::intervals) {
    for (const unsigned k : lanes_in(named)) {
      const ElementRange a = range_of(words[k]), b = range_of(others[k]);
      const bool is_interval = a.first < a.last && a.last == b.first && b.first < b.last;
      left &= ~(Mask{is_interval} << k);
      words[k] = word_of({a.first, b.last});
    }
    encipher(words, count);
    for (const unsigned k : lanes_in(named)) {
      const bool is_same = later[k] == identity_name, is_later = earlier[k] == identity_name;
      sum[k] = is_later ? later[k] : is_same ? earlier[k] : words[k];
      left &= ~(Mask{is_same || is_later} << k);
    }
  }
  if (!left) return;
  std::copy_n(earlier, count, words);
  encipher(words, count);
  for (unsigned k = 0; k < count; ++k) words[k] ^= later[k];
  encipher(words, count);
  for (const unsigned k : lanes_in(left)) {
    sum[k] = words[k];
    if (kind_ == Kind::expressions) sums_[words[k]] = 0;
  }
}

std::vector<std::optional<ElementRange>> ElementNames::intervals(std::span<const ElementName> names) const {
  std::vector<std::uint64_t> words(names.begin(), names.end());
  decipher(words.data(), words.size());
  std::vector<std::optional<ElementRange>> intervals(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const ElementRange bounds = range_of(words[k]);
    if (names[k] == identity_name)
      intervals[k].emplace();
    else if (kind_ == Kind::intervals && bounds.first < bounds.last && bounds.last <= is_kept_.size())
      intervals[k] = bounds;
  }
  return intervals;
}

namespace {

/// The sums of maps, which are computed; what they are made of is not asked.
void add_maps(Warp& w, const Inst* i) {
  const u32 *a = lanes_at<u32>(w, i->op[2]), *b = lanes_at<u32>(w, i->op[3]);
  const u32 *a_later = lanes_at<u32>(w, i->op[4]), *b_later = lanes_at<u32>(w, i->op[5]);
  alignas(64) u32 a_sum[warp_size], b_sum[warp_size];
  SCANLAB_LANES_INDEPENDENT
  for (unsigned l = 0; l < warp_size; ++l) {
    a_sum[l] = a[l] * a_later[l];
    b_sum[l] = a_later[l] * b[l] + b_later[l];
  }
  for (const unsigned l : lanes_in(w.active)) {
    lanes_at<u32>(w, i->op[0])[l] = a_sum[l];
    lanes_at<u32>(w, i->op[1])[l] = b_sum[l];
  }
}

}  // namespace

const Inst* add_elements(Warp& w, const Inst* i) {
  w.pc = i;
  const ElementNames& names = names_of(w);
  if (names.kind() == ElementNames::Kind::maps) {
    add_maps(w, i);
    return proceed(w, i + 1);
  }
  ElementName earlier[warp_size], later[warp_size], sum[warp_size];
  gather_names(w, i, 2, earlier);
  names.add(earlier, later, sum, gather_names(w, i, 4, later));
  for (Observer* o : w.block->grid->of_work) o->combined(actor_of(w, i), w.active, earlier, later, sum);
  const ElementName* next = sum;
  for (const unsigned l : lanes_in(w.active)) {
    w.lanes<std::uint32_t>(i->op[0])[l] = static_cast<std::uint32_t>(*next);
    w.lanes<std::uint32_t>(i->op[1])[l] = static_cast<std::uint32_t>(*next++ >> 32);
  }
  return proceed(w, i + 1);
}

const Inst* keep_element(Warp& w, const Inst* i) {
  w.pc = i;
  ElementName names[warp_size];
  const unsigned count = gather_names(w, i, 1, names);
  Mask kept = names_of(w).kept(names, count);
  for (const unsigned l : lanes_in(w.active)) w.lanes<std::uint32_t>(i->op[0])[l] = std::exchange(kept, kept >> 1) & 1;
  return proceed(w, i + 1);
}

const Inst* report_element_use(Warp& w, const Inst* i) {
  std::uint64_t values[warp_size];
  for (unsigned l = 0; l < warp_size; ++l)
    values[l] =
        i->aux == sizeof(std::uint64_t) ? w.lanes<std::uint64_t>(i->op[0])[l] : w.lanes<std::uint32_t>(i->op[0])[l];
  for (Observer* o : w.block->grid->of_work) o->computed_with(actor_of(w, i), w.active, values, i->aux);
  return proceed(w, i + 1);
}

const Inst* report_argument_word(Warp& w, const Inst* i) {
  std::uint64_t values[warp_size] = {};
  for (const unsigned l : lanes_in(w.active)) std::memcpy(&values[l], w.registers + i->imm + l * i->aux, 4);
  for (Observer* o : w.block->grid->of_work) o->computed_with(actor_of(w, i), w.active, values, 4);
  return proceed(w, i + 1);
}

/// The active lanes for which the instruction's guard holds.
static Mask guarded_lanes(Warp& w, const Inst* i) {
  if (i->imm == 0) return w.active;
  const Mask guard = w.predicate(static_cast<OperandRef>(i->imm - 1));
  return w.active & (std::bit_cast<RearrangedForm>(i->aux).guard_negated ? ~guard : guard);
}

const Inst* report_rearranged(Warp& w, const Inst* i) {
  const auto form = std::bit_cast<RearrangedForm>(i->aux);
  const Mask mask = guarded_lanes(w, i);
  const auto value = [&](OperandRef at, std::uint32_t bytes, unsigned l) -> std::uint64_t {
    return bytes == 0 ? 0 : bytes == 8 ? w.lanes<std::uint64_t>(at)[l] : w.lanes<std::uint32_t>(at)[l];
  };
  for (const bool is_high : {false, true}) {
    if (is_high ? !form.high || form.from_bytes < 8 : !form.low) continue;
    std::uint32_t words[warp_size] = {};
    std::uint64_t results[warp_size] = {};
    unsigned bytes = form.to_bytes;
    for (const unsigned l : lanes_in(mask)) {
      words[l] = static_cast<std::uint32_t>(value(i->op[0], form.from_bytes, l) >> (is_high ? 32 : 0));
      results[l] = value(i->op[1], form.to_bytes, l);
      if (form.same_place && is_high) results[l] >>= 32;
    }
    if (form.same_place) bytes = sizeof(std::uint32_t);
    for (Observer* o : w.block->grid->of_work) o->rearranged(actor_of(w, i), mask, words, results, bytes);
  }
  return proceed(w, i + 1);
}

const Inst* report_zero_divisor(Warp& w, const Inst* i) {
  const auto form = std::bit_cast<RearrangedForm>(i->aux);
  const auto is_zero = [&](unsigned lane) {
    switch (form.from_bytes) {
      case sizeof(std::uint64_t):
        return w.lanes<std::uint64_t>(i->op[0])[lane] == 0;
      case sizeof(std::uint32_t):
        return w.lanes<std::uint32_t>(i->op[0])[lane] == 0;
      default:
        return w.lanes<std::uint16_t>(i->op[0])[lane] == 0;
    }
  };
  if (const Mask zeros = lanes_where(guarded_lanes(w, i), is_zero))
    for (Observer* o : w.block->grid->observers) o->depends(actor_of(w, i), zeros, Dependence::zero_divisor);
  return proceed(w, i + 1);
}

const Inst* report_dependence(Warp& w, const Inst* i) {
  for (Observer* o : w.block->grid->observers) o->depends(actor_of(w, i), w.active, static_cast<Dependence>(i->aux));
  return proceed(w, i + 1);
}

}  // namespace scanlab::vgpu
