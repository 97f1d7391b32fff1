// Loops over the 32 lanes of a warp, and what passes between lanes and masks: the shape of every computing handler.
//
// A warp with all lanes active runs one straight loop over lane arrays that is as long as the warp, so that the
// compiler turns it into vector instructions. Any other warp runs the same loop into a scratch array, from which the
// active lanes are then copied; operations too dear for that visit the active lanes one by one.
#pragma once

#include <bit>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/warp/warp.hpp"

#if defined(__AVX2__) || defined(__SSE__)
#include <immintrin.h>
#endif

/// Before a loop over lanes: lanes never overlap other lanes (a destination may be one of the sources itself).
#ifdef __clang__
#define SCANLAB_LANES_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SCANLAB_LANES_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace scanlab::vgpu {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;

/// The unsigned and the signed integer as wide as T.
template <class T>
using Unsigned = std::tuple_element_t<std::bit_width(sizeof(T)) - 1, std::tuple<u8, u16, u32, u64>>;
template <class T>
using Signed = std::make_signed_t<Unsigned<T>>;
template <class T>
inline constexpr u32 bits_of = 8 * sizeof(T);

/// The lanes behind `ref`; every lane array is aligned to 64 bytes.
template <class T>
inline T* lanes_at(Warp& warp, OperandRef ref) {
  return std::assume_aligned<64>(warp.lanes<T>(ref));
}

// --- lanes and masks -------------------------------------------------------------------------------------------------

/// 32 bytes of lanes as one value of the compiler's vector extension; a comparison gives 0 or -1 a lane.
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(32), may_alias));
  static constexpr unsigned width = 32 / sizeof(T);  ///< lanes in it
  static constexpr unsigned count = warp_size / width;
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T>& vector_at(T* lanes, unsigned chunk) {
  return *reinterpret_cast<Vector<T>*>(lanes + chunk * VectorOf<T>::width);
}
template <class T>
inline const Vector<T>& vector_at(const T* lanes, unsigned chunk) {
  return *reinterpret_cast<const Vector<T>*>(lanes + chunk * VectorOf<T>::width);
}

/// For each lane of one chunk, -1 where its bit of `mask` is set, else 0.
template <class S>
inline void expand(Vector<S>& to, Mask mask, unsigned chunk) {
  using U = Unsigned<S>;
  constexpr unsigned width = VectorOf<U>::width;
  Vector<U> bit;
  for (unsigned k = 0; k < width; ++k) bit[k] = static_cast<U>(U{1} << k);
  const U part = static_cast<U>(mask >> (chunk * width));
  to = ((bit & part) == bit);
}

/// One bit a lane: set where the comparison's lane is not 0.
template <class S>
inline Mask squeeze(const Vector<S>& lanes) {
#ifdef __AVX2__
  __m256i value;
  std::memcpy(&value, &lanes, sizeof value);
  if constexpr (sizeof(S) == 8) return static_cast<Mask>(_mm256_movemask_pd(_mm256_castsi256_pd(value)));
  if constexpr (sizeof(S) == 4) return static_cast<Mask>(_mm256_movemask_ps(_mm256_castsi256_ps(value)));
  if constexpr (sizeof(S) == 2) {
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    return static_cast<Mask>(_mm_movemask_epi8(bytes));
  }
#else
  Mask mask = 0;
  for (unsigned k = 0; k < VectorOf<S>::width; ++k) mask |= static_cast<Mask>(lanes[k] != 0) << k;
  return mask;
#endif
}

/// One bit a lane from a comparison of whole vectors: `compare(result, chunk)` fills in one chunk's 0 and -1.
template <class T, class Compare>
inline Mask mask_where(Compare compare) {
  Mask mask = 0;
  for (unsigned chunk = 0; chunk < VectorOf<T>::count; ++chunk) {
    Vector<Signed<T>> result;
    compare(result, chunk);
    mask |= squeeze<Signed<T>>(result) << (chunk * VectorOf<T>::width);
  }
  return mask;
}

/// Copies all lanes; neither place need be aligned. In pieces as large as those that are read later: a processor
/// forwards stores to loads only whole.
template <class T>
inline void copy_lanes(void* to, const void* from) {
  for (unsigned chunk = 0; chunk < VectorOf<T>::count; ++chunk) {
    Vector<T> piece;
    std::memcpy(&piece, static_cast<const std::byte*>(from) + chunk * sizeof piece, sizeof piece);
    std::memcpy(static_cast<std::byte*>(to) + chunk * sizeof piece, &piece, sizeof piece);
  }
}

/// Copies the lanes of `mask` and leaves the others as they are.
template <class T>
inline void merge(T* to, const T* from, Mask mask) {
  using U = Unsigned<T>;
  for (unsigned chunk = 0; chunk < VectorOf<U>::count; ++chunk) {
    Vector<Signed<U>> taken;
    expand<Signed<U>>(taken, mask, chunk);
    Vector<U>& old = vector_at(reinterpret_cast<U*>(to), chunk);
    old = taken ? vector_at(reinterpret_cast<const U*>(from), chunk) : old;
  }
}

/// The active lanes behind `ref` become value(lane).
template <class T, class Value>
inline void set_active(Warp& warp, OperandRef ref, Value value) {
  T* const to = warp.lanes<T>(ref);
  const Mask active = warp.active;
  SCANLAB_LANES_INDEPENDENT
  for (unsigned lane = 0; lane < warp_size; ++lane) to[lane] = active >> lane & 1 ? value(lane) : to[lane];
}

/// Writes the active lanes of a predicate.
inline void write_predicate(Warp& warp, OperandRef ref, Mask value) {
  Mask& to = warp.predicate(ref);
  to = (to & ~warp.active) | (value & warp.active);
}

// --- rounding --------------------------------------------------------------------------------------------------------

enum class Rounding : u8 { nearest, zero, down, up };

/// The host rounds that way while this lives. Floating-point work has to lie between loads and stores that the compiler
/// cannot move over the change: operands come from lane arrays, results go to lane arrays, and `fence` names the array.
class HostRounding {
 public:
  HostRounding(Rounding to, void* results) : results_(results) {
    set(to);
    fence();
  }
  ~HostRounding() {
    fence();
    set(Rounding::nearest);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  void fence() { asm volatile("" : : "r"(results_) : "memory"); }
  static void set(Rounding to) {
#ifdef __SSE__
    constexpr u32 control[] = {0x0000, 0x6000, 0x2000, 0x4000};  // the RC field of MXCSR
    _mm_setcsr((_mm_getcsr() & ~0x6000u) | control[static_cast<u8>(to)]);
#else
    constexpr int mode[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(mode[static_cast<u8>(to)]);
#endif
  }
  void* results_;
};

// --- handlers --------------------------------------------------------------------------------------------------------

/// Operations that are dearer than copying lanes say so by `static constexpr bool is_costly = true`.
template <class Op>
constexpr bool is_costly() {
  return requires {
    Op::is_costly;
  };
}

namespace detail {

template <class Op, class D, class... S>
[[gnu::always_inline]] inline void compute_all(D* results, const S*... sources) {
  D* const to = std::assume_aligned<64>(results);
  SCANLAB_LANES_INDEPENDENT
  for (unsigned lane = 0; lane < warp_size; ++lane) to[lane] = Op{}(sources[lane]...);
}

template <class Op, class D, class... S, std::size_t... k>
[[gnu::always_inline]] inline const Inst* every_lane(Warp& warp, const Inst* inst, std::index_sequence<k...>) {
  compute_all<Op>(lanes_at<D>(warp, inst->op[0]), static_cast<const S*>(lanes_at<S>(warp, inst->op[k + 1]))...);
  return proceed(warp, inst + 1);
}

/// For the lanes of `active`, which are not all.
template <class Op, class D, class... S>
[[gnu::noinline]] void compute_active(D* to, Mask active, const S*... sources) {
  if constexpr (is_costly<Op>()) {
    for (const unsigned lane : lanes_in(active)) to[lane] = Op{}(sources[lane]...);
  } else {
    alignas(64) D results[warp_size];
    compute_all<Op>(results, sources...);
    merge(to, results, active);
  }
}

template <class Op, class D, class... S, std::size_t... k>
[[gnu::always_inline]] inline const Inst* active_lanes(Warp& warp, const Inst* inst, std::index_sequence<k...>) {
  compute_active<Op>(lanes_at<D>(warp, inst->op[0]), warp.active,
                     static_cast<const S*>(lanes_at<S>(warp, inst->op[k + 1]))...);
  return proceed(warp, inst + 1);
}

/// The masked half of lanewise, apart and called last, so that the other half needs no stack frame.
template <class Op, class D, class... S>
[[gnu::noinline]] const Inst* active_lanes(Warp& warp, const Inst* inst) {
  return active_lanes<Op, D, S...>(warp, inst, std::index_sequence_for<S...>{});
}

}  // namespace detail

/// d[lane] = Op(a[lane], b[lane], …): op[0] holds D, op[1..] hold S... in order. A destination may be one of the
/// sources when both have the same width; lanes of different widths must not overlap.
template <class Op, class D, class... S>
const Inst* lanewise(Warp& warp, const Inst* inst) {
  if (warp.active != full_mask) [[unlikely]]
    return detail::active_lanes<Op, D, S...>(warp, inst);
  return detail::every_lane<Op, D, S...>(warp, inst, std::index_sequence_for<S...>{});
}

/// merge, not inlined: where the code's size matters.
template <class U>
[[gnu::noinline]] void merge_apart(U* to, const U* from, Mask mask) {
  merge(to, from, mask);
}

/// The same for forms that are rare: one loop whatever lanes are active, which the compiler translates once, not twice.
template <class Op, class D, class... S>
const Inst* lanewise_rare(Warp& warp, const Inst* inst) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    D* const to = lanes_at<D>(warp, inst->op[0]);
    if constexpr (is_costly<Op>()) {
      for_each_lane(warp.active, [&](unsigned lane) { to[lane] = Op{}(lanes_at<S>(warp, inst->op[k + 1])[lane]...); });
    } else {
      alignas(64) D results[warp_size];
      detail::compute_all<Op>(results, static_cast<const S*>(lanes_at<S>(warp, inst->op[k + 1]))...);
      using U = Unsigned<D>;
      merge_apart(reinterpret_cast<U*>(to), reinterpret_cast<const U*>(results), warp.active);
    }
  }
  (std::index_sequence_for<S...>{});
  return proceed(warp, inst + 1);
}

/// The same while the host rounds as Inst::aux says.
template <class Op, class D, class... S>
const Inst* lanewise_rounded(Warp& warp, const Inst* inst) {
  alignas(64) D results[warp_size];
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    const HostRounding scope(static_cast<Rounding>(inst->aux), results);
    detail::compute_all<Op>(results, static_cast<const S*>(lanes_at<S>(warp, inst->op[k + 1]))...);
  }
  (std::index_sequence_for<S...>{});
  merge(lanes_at<D>(warp, inst->op[0]), results, warp.active);
  return proceed(warp, inst + 1);
}

}  // namespace scanlab::vgpu
