#include "vgpu/core/warp/warp_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <string_view>

#include "vgpu/core/memory/any_space.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/assembly.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// What the lanes do that have assembled; `rows` says what the operands of the instruction hold.
template <void (*Act)(Warp&, const Inst*), OperandRows rows>
const Inst* together(Warp& w, const Inst* i) {
  const Inst* next = nullptr;
  const Arrived arrived = assemble(w, i, next);
  if (arrived == Arrived::not_all) return next;
  if (arrived == Arrived::at_several) return act_at_several(w, i, Act, rows);
  Act(w, i);
  return proceed(w, i + 1);
}

enum class Shuffle : std::uint32_t { up, down, bfly, idx };

/// The lane that each lane reads from, and whether it is in range; op[2] and op[3] as in the PTX text. A lane whose
/// source is out of range reads itself.
template <Shuffle mode>
Mask shuffle_sources(const std::uint32_t* b, const std::uint32_t* c, std::int32_t* from) {
  alignas(64) std::int32_t in_range[warp_size];
  SCANLAB_LANES_INDEPENDENT
  for (unsigned l = 0; l < warp_size; ++l) {
    const auto lane = static_cast<std::int32_t>(l);
    const auto by = static_cast<std::int32_t>(b[l] & 31), clamp = static_cast<std::int32_t>(c[l] & 31);
    const auto segment = static_cast<std::int32_t>(c[l] >> 8 & 31);
    const std::int32_t limit = (lane & segment) | (clamp & ~segment);
    const std::int32_t j = mode == Shuffle::up     ? lane - by
                           : mode == Shuffle::down ? lane + by
                           : mode == Shuffle::bfly ? lane ^ by
                                                   : (lane & segment) | (by & ~segment);
    const std::int32_t inside = -static_cast<std::int32_t>(mode == Shuffle::up ? j >= limit : j <= limit);
    from[l] = (j & inside) | (lane & ~inside);
    in_range[l] = inside;
  }
  return mask_where<std::uint32_t>(
      [&](Vector<std::int32_t>& holds, unsigned chunk) { holds = vector_at(in_range, chunk); });
}

/// to[l] = a[from[l]].
void permute(std::uint32_t* to, const std::uint32_t* a, const std::int32_t* from) {
#ifdef __AVX2__
  __m256i part[4];
  for (unsigned k = 0; k < 4; ++k) part[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + 8 * k));
  for (unsigned k = 0; k < 4; ++k) {
    const __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8 * k));
    // Bits 0 to 2 choose within a part, bits 3 and 4 the part: as signs they steer the blends.
    const __m256 high = _mm256_castsi256_ps(_mm256_slli_epi32(index, 27)),
                 low = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    const auto pick = [&](unsigned n) { return _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(part[n], index)); };
    const __m256 first = _mm256_blendv_ps(pick(0), pick(1), low), second = _mm256_blendv_ps(pick(2), pick(3), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8 * k),
                        _mm256_castps_si256(_mm256_blendv_ps(first, second, high)));
  }
#else
  for (unsigned l = 0; l < warp_size; ++l) to[l] = a[from[l]];
#endif
}

/// PTX leaves open what a lane gives that takes no part. Its register may be a leftover of another block, so it is what
/// memory that nobody wrote holds.
[[gnu::noinline]] void poison_absent(Warp& w, const Inst* i, const std::int32_t* from, std::uint32_t* result) {
  const Mask absent = lanes_where(w.active, [&](unsigned l) { return (w.active >> from[l] & 1) == 0; });
  for (const unsigned l : lanes_in(absent)) result[l] = unwritten_word;
  if (absent && is_observed(w))
    for (Observer* o : w.block->grid->observers) o->depends(actor_of(w, i), absent, Dependence::absent_lane);
}

template <Shuffle mode>
void shuffle(Warp& w, const Inst* i) {
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  alignas(64) std::int32_t from[warp_size];
  const Mask in_range = shuffle_sources<mode>(w.lanes<std::uint32_t>(i->op[2]), w.lanes<std::uint32_t>(i->op[3]), from);
  alignas(64) std::uint32_t result[warp_size];
  permute(result, w.lanes<std::uint32_t>(i->op[1]), from);
  if (w.active == full_mask) {
    copy_lanes<std::uint32_t>(d, result);
  } else {
    poison_absent(w, i, from, result);
    merge(d, result, w.active);
  }
  if (i->aux & has_second) write_predicate(w, i->op[4], in_range);
}

/// The same where all warps read the same lanes: the operands are constants.
template <Shuffle mode>
const Step* shuffle_in_gang(Gang& g, const Step* s) {
  if (g.partial_count) return part(g, s);
  const Inst* i = s->inst;
  alignas(64) std::int32_t from[warp_size];
  const Mask in_range = shuffle_sources<mode>(lanes_at<std::uint32_t>(g, g.begin, i->op[2]),
                                              lanes_at<std::uint32_t>(g, g.begin, i->op[3]), from);
  for (unsigned k = g.begin; k < g.end; ++k) {
    if (unnamed(lanes_at<std::uint32_t>(g, k, i->op[5]), g.active[k])) [[unlikely]]
      return part(g, s);
  }
  for_each_active_warp(g, [&](unsigned k) {
    if (is_observed(g.warp(k), Observer::warp_syncs)) report_sync(g.warp(k), i, full_mask);
    alignas(64) std::uint32_t result[warp_size];
    permute(result, lanes_at<std::uint32_t>(g, k, i->op[1]), from);
    copy_lanes<std::uint32_t>(lanes_at<std::uint32_t>(g, k, i->op[0]), result);
    if (i->aux & has_second) predicate_at(g, k, i->op[4]) = in_range;
  });
  return s + 1;
}

enum class Vote : std::uint32_t { all, any, uni, ballot };

template <Vote mode>
void vote(Warp& w, const Inst* i) {
  const Mask source = i->aux & negated_source ? ~w.predicate(i->op[1]) : w.predicate(i->op[1]);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  if constexpr (mode == Vote::ballot) {
    std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
    for (const unsigned l : lanes_in(w.active)) d[l] = source & members[l] & w.active;
  } else {
    const auto holds = [&](unsigned l) {
      const Mask voters = members[l] & w.active, yes = source & voters;
      return mode == Vote::any ? yes != 0 : yes == voters || (mode == Vote::uni && yes == 0);
    };
    write_predicate(w, i->op[0], lanes_where(w.active, holds));
  }
}

template <class T, bool All>
void match(Warp& w, const Inst* i) {
  const T* a = w.lanes<T>(i->op[1]);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  alignas(64) std::uint32_t result[warp_size] = {};
  const auto agrees = [&](unsigned l) {
    const Mask group = members[l] & w.active, same = lanes_where(group, [&](unsigned n) { return a[n] == a[l]; });
    result[l] = !All || same == group ? same : 0;
    return same == group;
  };
  const Mask agree = lanes_where(w.active, agrees);
  merge(w.lanes<std::uint32_t>(i->op[0]), result, w.active);
  if (i->aux & has_second) write_predicate(w, i->op[4], agree);
}

template <class T, class Op>
void redux(Warp& w, const Inst* i) {
  const T* a = w.lanes<T>(i->op[1]);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  alignas(64) T result[warp_size] = {};
  for (const unsigned l : lanes_in(w.active)) {
    const Mask group = members[l] & w.active;
    result[l] = a[std::countr_zero(group)];
    for (const unsigned other : lanes_in(group & (group - 1))) result[l] = Op{}(result[l], a[other]);
  }
  merge(w.lanes<T>(i->op[0]), result, w.active);
}
struct Least {
  auto operator()(auto a, auto b) const { return std::min(a, b); }
};
struct Greatest {
  auto operator()(auto a, auto b) const { return std::max(a, b); }
};

/// The first of the lanes that a membermask names is their leader. PTX leaves open which one it is, but it is always
/// the same one for the same membermask.
void elect(Warp& w, const Inst* i) {
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  alignas(64) std::uint32_t leader[warp_size] = {};
  for (const unsigned l : lanes_in(w.active)) leader[l] = first_lane(members[l] & w.active);
  merge(w.lanes<std::uint32_t>(i->op[0]), leader, w.active);
  write_predicate(w, i->op[4], lanes_where(w.active, [&](unsigned l) { return leader[l] == l; }));
}

/// bar.warp.sync lets lanes meet that stand at different ones.
const Inst* warp_barrier(Warp& w, const Inst* i) {
  check_named(w, i);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  Mask arrived = w.active;
  for (const Split& s : w.waiting)
    if (s.state == Split::State::sync && is_warp_barrier(s.pc)) arrived |= s.mask;
  const Mask ready = lanes_where(w.active, [&](unsigned l) { return (members[l] & w.alive & ~arrived) == 0; });
  if (ready != w.active) set_aside(w, w.active & ~ready, i, Split::State::sync);
  if (!ready) return run_next(w);
  if (arrived == ready) {
    if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, ready);
    return proceed(w, i + 1);
  }
  // The others whose masks are complete now go on after their own barriers.
  alignas(64) std::uint32_t masks[warp_size];
  std::copy_n(members, warp_size, masks);
  Mask released = ready;
  for (Split& s : w.waiting)
    if (s.state == Split::State::sync && is_warp_barrier(s.pc)) {
      const auto* theirs = reinterpret_cast<const std::uint32_t*>(s.frame->registers + s.pc->op[5]);
      if ((theirs[std::countr_zero(s.mask)] & w.alive & ~arrived) == 0) {
        s.state = Split::State::ready;
        ++s.pc;
        released |= s.mask;
        for (const unsigned lane : lanes_in(s.mask)) masks[lane] = theirs[lane];
      }
    }
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, released, masks);
  update_pending(w);
  return go_to(w, i + 1);
}

const Inst* active_mask(Warp& w, const Inst* i) {
  set_active<std::uint32_t>(w, i->op[0], [&](unsigned) { return w.active; });
  return proceed(w, i + 1);
}

/// Of a fence's Inst::aux, beside its scope.
constexpr std::uint32_t is_sequential = 1u << 8;

const Inst* fence(Warp& w, const Inst* i) {
  if (i->aux & is_sequential && w.block->grid->views && is_held_back(w, i)) [[unlikely]]
    return nullptr;
  const auto scope = static_cast<Access::Scope>(i->aux & ~is_sequential);
  if (is_observed(w)) [[unlikely]]
    for (Observer* o : w.block->grid->observers) o->fence(actor_of(w, i), w.active, scope);
  if (Views* const views = w.block->grid->views)
    views->fence(actor_of(w, i), w.active, scope,
                 i->aux & is_sequential ? Views::Fence::sequential : Views::Fence::acquire_release);
  return proceed(w, i + 1);
}

std::optional<WarpSelection> select_fence(const ptx::Instruction& in) {
  WarpSelection s;
  s.run = fence;
  auto scope = Access::Scope::device;
  // membar is fence.sc (PTX ISA, "membar").
  bool is_sc = in.opcode == "membar" && !in.has("proxy");
  for (const std::string& word : in.modifiers) {
    is_sc |= word == "sc";
    if (word == "cta")
      scope = Access::Scope::block;
    else if (word == "gl" || word == "gpu")
      scope = Access::Scope::device;
    else if (word == "sys")
      scope = Access::Scope::system;
    else if (word != "sc" && word != "acq_rel" && word != "acquire" && word != "release" && word != "proxy" &&
             word != "alias")
      return std::nullopt;
  }
  s.aux = static_cast<std::uint32_t>(scope) | (is_sc ? is_sequential : 0u);
  return s;
}

/// A row of the table of *.sync instructions.
struct Form {
  std::string_view spelling;
  Handler run = nullptr;
  ptx::Type destination, source;
  StepHandler in_gang = nullptr;
};

/// How many bytes of each lane a register has, 0 for a predicate.
constexpr std::uint8_t bytes_of(ptx::Type type) {
  return type == ptx::Type::pred ? 0 : type == ptx::Type::b64 ? 8 : 4;
}

template <void (*Act)(Warp&, const Inst*), ptx::Type Destination, ptx::Type Source>
constexpr Form form(std::string_view spelling, StepHandler in_gang = nullptr) {
  return {spelling, together<Act, OperandRows{bytes_of(Destination), bytes_of(Source)}>, Destination, Source, in_gang};
}

}  // namespace

bool is_warp_barrier(const Inst* i) {
  return i->run == warp_barrier;
}

std::optional<WarpSelection> select_warp(const ptx::Instruction& in) {
  using ptx::Type;
  if (in.opcode == "membar" || in.opcode == "fence") return select_fence(in);
  // CUB writes vote.ballot.sync; ptxas takes the words in either order.
  std::string spelling = in.opcode == "barrier" ? "bar" : in.opcode;
  for (const std::string& word : in.modifiers)
    if (word != "sync") spelling += "." + word;
  const std::size_t operands = in.operands.size();
  const bool is_sync = in.has("sync"), has_pair = operands > 0 && in.operands[0].kind == ptx::Operand::Kind::pair;
  WarpSelection s;
  if (spelling == "activemask.b32" && !is_sync) {
    s.run = active_mask;
    s.type[0] = Type::b32;
    return s;
  }
  if (!is_sync) return std::nullopt;
  if (spelling == "bar.warp") {
    s.run = warp_barrier;
    s.members = 0;
    return s;
  }
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  using s32 = std::int32_t;
  static constexpr Form forms[] = {
      form<shuffle<Shuffle::up>, Type::b32, Type::b32>("shfl.up.b32", shuffle_in_gang<Shuffle::up>),
      form<shuffle<Shuffle::down>, Type::b32, Type::b32>("shfl.down.b32", shuffle_in_gang<Shuffle::down>),
      form<shuffle<Shuffle::bfly>, Type::b32, Type::b32>("shfl.bfly.b32", shuffle_in_gang<Shuffle::bfly>),
      form<shuffle<Shuffle::idx>, Type::b32, Type::b32>("shfl.idx.b32", shuffle_in_gang<Shuffle::idx>),
      form<vote<Vote::all>, Type::pred, Type::pred>("vote.all.pred"),
      form<vote<Vote::any>, Type::pred, Type::pred>("vote.any.pred"),
      form<vote<Vote::uni>, Type::pred, Type::pred>("vote.uni.pred"),
      form<vote<Vote::ballot>, Type::b32, Type::pred>("vote.ballot.b32"),
      form<match<u32, false>, Type::b32, Type::b32>("match.any.b32"),
      form<match<u64, false>, Type::b32, Type::b64>("match.any.b64"),
      form<match<u32, true>, Type::b32, Type::b32>("match.all.b32"),
      form<match<u64, true>, Type::b32, Type::b64>("match.all.b64"),
      form<elect, Type::b32, Type::b32>("elect"),
      form<redux<u32, std::plus<>>, Type::b32, Type::b32>("redux.add.u32"),
      form<redux<u32, std::plus<>>, Type::b32, Type::b32>("redux.add.s32"),
      form<redux<u32, Least>, Type::b32, Type::b32>("redux.min.u32"),
      form<redux<u32, Greatest>, Type::b32, Type::b32>("redux.max.u32"),
      form<redux<s32, Least>, Type::b32, Type::b32>("redux.min.s32"),
      form<redux<s32, Greatest>, Type::b32, Type::b32>("redux.max.s32"),
      form<redux<u32, std::bit_and<>>, Type::b32, Type::b32>("redux.and.b32"),
      form<redux<u32, std::bit_or<>>, Type::b32, Type::b32>("redux.or.b32"),
      form<redux<u32, std::bit_xor<>>, Type::b32, Type::b32>("redux.xor.b32"),
  };
  const auto* const found = std::ranges::find(forms, spelling, &Form::spelling);
  const bool is_shuffle = in.opcode == "shfl", is_election = in.opcode == "elect";
  if (found == std::end(forms) || operands != (is_shuffle ? 5 : is_election ? 2 : 3)) return std::nullopt;
  if (is_election && !has_pair) return std::nullopt;
  const auto is_integer = [](const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::integer; };
  s.run = found->run;
  if (std::all_of(in.operands.begin() + 2, in.operands.end(), is_integer)) s.in_gang = found->in_gang;
  s.type[0] = found->destination;
  s.type[1] = found->source;
  s.members = static_cast<int>(operands) - 1;
  if (has_pair) s.aux = has_second;
  if (in.operands[1].negated && in.opcode == "vote") s.aux = negated_source;
  return s;
}

}  // namespace scanlab::vgpu
