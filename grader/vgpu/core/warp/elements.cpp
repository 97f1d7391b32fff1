#include "vgpu/core/warp/elements.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/raise.hpp"
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

const ElementNames& names_of(const Warp& w) {
  const ElementNames* names = w.block->grid->elements;
  if (!names)
    raise(Fault::Kind::unsupported, static_cast<unsigned>(std::countr_zero(w.active)),
          "elements are names (SCANLAB_PROVENANCE), and only the grader gives them");
  return *names;
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

constexpr unsigned batch = 32;  // words at a time: vectors' worth of independent work

SCANLAB_WIDE_VECTORS void encipher_batch(std::uint32_t* x, std::uint32_t* y, const std::uint32_t* keys,
                                         unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned k = 0; k < batch; ++k) {
      x[k] = (std::rotr(x[k], 8) + y[k]) ^ keys[round];
      y[k] = std::rotl(y[k], 3) ^ x[k];
    }
}

SCANLAB_WIDE_VECTORS void decipher_batch(std::uint32_t* x, std::uint32_t* y, const std::uint32_t* keys,
                                         unsigned rounds) {
  for (unsigned round = rounds; round-- > 0;)
    for (unsigned k = 0; k < batch; ++k) {
      y[k] = std::rotr(x[k] ^ y[k], 3);
      x[k] = std::rotl((x[k] ^ keys[round]) - y[k], 8);
    }
}

template <class Cipher>
void for_batches(std::uint64_t* words, std::size_t count, Cipher cipher) {
  for (std::size_t done = 0; done < count; done += batch) {
    const std::size_t now = std::min<std::size_t>(count - done, batch);
    alignas(64) std::uint32_t x[batch] = {}, y[batch] = {};
    for (std::size_t k = 0; k < now; ++k) {
      x[k] = static_cast<std::uint32_t>(words[done + k] >> 32);
      y[k] = static_cast<std::uint32_t>(words[done + k]);
    }
    cipher(x, y);
    for (std::size_t k = 0; k < now; ++k) words[done + k] = std::uint64_t{x[k]} << 32 | y[k];
  }
}

}  // namespace

void ElementNames::encipher(std::uint64_t* words, std::size_t count) const {
  for_batches(words, count, [&](std::uint32_t* x, std::uint32_t* y) { encipher_batch(x, y, keys_, rounds); });
}

void ElementNames::decipher(std::uint64_t* words, std::size_t count) const {
  for_batches(words, count, [&](std::uint32_t* x, std::uint32_t* y) { decipher_batch(x, y, keys_, rounds); });
}

std::vector<ElementName> ElementNames::name_inputs(std::vector<bool> is_kept) {
  is_kept_ = std::move(is_kept);
  std::vector<ElementName> names(is_kept_.size());
  for (std::uint64_t i = 0; i < names.size(); ++i)
    names[i] = word_of({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)});
  encipher(names.data(), names.size());
  return names;
}

bool ElementNames::is_kept(ElementName name) const {
  decipher(&name, 1);
  const ElementRange bounds = range_of(name);
  return bounds.last == bounds.first + 1 && bounds.first < is_kept_.size() && is_kept_[bounds.first];
}

void ElementNames::add(const ElementName* earlier, const ElementName* later, ElementName* sum, unsigned count) const {
  std::uint64_t words[warp_size], others[warp_size];
  Mask left = count == warp_size ? full_mask : (Mask{1} << count) - 1;  // to be named
  std::copy_n(earlier, count, words);
  if (kind_ == Kind::intervals) {
    std::copy_n(later, count, others);
    decipher(words, count);
    decipher(others, count);
    for (unsigned k = 0; k < count; ++k) {
      const ElementRange a = range_of(words[k]), b = range_of(others[k]);
      const bool is_interval = a.first < a.last && a.last == b.first && b.first < b.last;
      left &= ~(Mask{is_interval} << k);
      words[k] = word_of({a.first, b.last});
    }
    encipher(words, count);
    for (unsigned k = 0; k < count; ++k) {
      const bool is_same = later[k] == identity_name, is_later = earlier[k] == identity_name;
      sum[k] = is_later ? later[k] : is_same ? earlier[k] : words[k];
      left &= ~(Mask{is_same || is_later} << k);
    }
    if (!left) return;
    std::copy_n(earlier, count, words);
  }
  encipher(words, count);
  for (unsigned k = 0; k < count; ++k) words[k] ^= later[k];
  encipher(words, count);
  for (unsigned k = 0; k < count; ++k)
    if (left >> k & 1) sum[k] = words[k];
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

const Inst* add_elements(Warp& w, const Inst* i) {
  w.pc = i;
  const ElementNames& names = names_of(w);
  const auto half = [&](unsigned operand) { return w.lanes<std::uint32_t>(i->op[operand]); };
  ElementName earlier[warp_size], later[warp_size], sum[warp_size];  // of the active lanes, one after the other
  unsigned count = 0;
  for (Mask m = w.active; m; m &= m - 1, ++count) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    earlier[count] = std::uint64_t{half(3)[l]} << 32 | half(2)[l];
    later[count] = std::uint64_t{half(5)[l]} << 32 | half(4)[l];
  }
  names.add(earlier, later, sum, count);
  for (Observer* o : w.block->grid->of_work) o->combined(actor_of(w, i), w.active, earlier, later, sum);
  count = 0;
  for (Mask m = w.active; m; m &= m - 1, ++count) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    half(0)[l] = static_cast<std::uint32_t>(sum[count]);
    half(1)[l] = static_cast<std::uint32_t>(sum[count] >> 32);
  }
  return proceed(w, i + 1);
}

const Inst* keep_element(Warp& w, const Inst* i) {
  w.pc = i;
  const ElementNames& names = names_of(w);
  const auto half = [&](unsigned operand) { return w.lanes<std::uint32_t>(i->op[operand]); };
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    half(0)[l] = names.is_kept(std::uint64_t{half(2)[l]} << 32 | half(1)[l]);
  }
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

}  // namespace scanlab::vgpu
