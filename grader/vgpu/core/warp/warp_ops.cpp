#include "vgpu/core/warp/warp_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/memory/weak_ops.hpp"
#include "vgpu/core/run/raise.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Whether a second destination is wanted (d|p), and a negated source predicate.
enum Flags : std::uint32_t { has_second = 1u << 30, negated_source = 1u << 31 };

/// Those of `lanes` whose own membermask does not name them: PTX leaves open what becomes of them.
inline Mask unnamed(const std::uint32_t* members, Mask lanes) {
  std::uint32_t missing = 0;
  for (unsigned l = 0; l < warp_size; ++l) missing |= ~members[l] & std::uint32_t{1} << l;
  return missing & lanes;
}
[[gnu::noinline]] void raise_unnamed(const std::uint32_t* members, Mask lanes) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  raise(Fault::Kind::trap, lane,
        fmt::format("lane {} calls a *_sync function with the mask {:#010x}, which does not name it", lane,
                    members[lane]),
        "name in the mask all lanes that make the call (0xffffffff: the whole warp)", "warp.mask");
}
inline void check_named(Warp& w, const Inst* i) {
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  if (const Mask lanes = unnamed(members, w.active)) [[unlikely]]
    raise_unnamed(members, lanes);
}

/// Lanes wait at a *.sync instruction until every lane of their membermask that has not exited is there too (PTX ISA,
/// "shfl.sync"). On return `w.active` holds the lanes that go on now; when there are none, false, and `next` is what
/// runs instead.
bool assemble_parts(Warp& w, const Inst* i, const Inst*& next);
void report_sync(Warp& w, const Inst* i, Mask lanes);
inline bool assemble(Warp& w, const Inst* i, const Inst*& next) {
  check_named(w, i);
  if (w.active != w.alive) return assemble_parts(w, i, next);
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, w.active);
  return true;
}
[[gnu::noinline]] bool assemble_parts(Warp& w, const Inst* i, const Inst*& next) {
  if (!w.waiting.empty()) {
    // Lanes that came earlier wait at this very instruction.
    for (std::size_t k = 0; k < w.waiting.size();) {
      const Split& s = w.waiting[k];
      if (s.pc == i && s.frame == w.frame && s.state == Split::State::sync) {
        flush_executed(w);
        w.active |= s.mask;
        w.waiting[k] = w.waiting.back();
        w.waiting.pop_back();
      } else {
        ++k;
      }
    }
  }
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  Mask ready = 0;
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if ((members[l] & w.alive & ~w.active) == 0) ready |= Mask{1} << l;
  }
  if (ready != w.active) set_aside(w, w.active & ~ready, i, Split::State::sync);
  if (!ready) {
    next = run_next(w);
    return false;
  }
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, w.active);
  return true;
}

/// Once for each membermask among the `lanes` that go on. Lanes that have exited are not waited for, and count as
/// having arrived.
void report_sync(const Warp& w, const Inst* i, Mask lanes, const std::uint32_t* members) {
  while (lanes) {
    const std::uint32_t mask = members[std::countr_zero(lanes)];
    const Mask same = lanes & mask_where<std::uint32_t>(
                                  [&](auto& are_so, unsigned chunk) { are_so = vector_at(members, chunk) == mask; });
    for (Observer* o : w.block->grid->observers) o->warp_sync(actor_of(w, i), same | (mask & ~w.alive));
    lanes &= ~same;
  }
}
[[gnu::noinline]] void report_sync(Warp& w, const Inst* i, Mask lanes) {
  report_sync(w, i, lanes, w.lanes<std::uint32_t>(i->op[5]));
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

template <Shuffle mode>
const Inst* shuffle(Warp& w, const Inst* i) {
  const Inst* next = nullptr;
  if (!assemble(w, i, next)) return next;
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  alignas(64) std::int32_t from[warp_size];
  const Mask in_range = shuffle_sources<mode>(w.lanes<std::uint32_t>(i->op[2]), w.lanes<std::uint32_t>(i->op[3]), from);
  alignas(64) std::uint32_t result[warp_size];
  permute(result, w.lanes<std::uint32_t>(i->op[1]), from);
  if (w.active == full_mask) {
    copy_lanes<std::uint32_t>(d, result);
  } else {
    // PTX leaves open what a lane gives that is not there. Its register may be a leftover of another block.
    for (unsigned l = 0; l < warp_size; ++l)
      if (!(w.active >> from[l] & 1)) result[l] = 0;
    merge(d, result, w.active);
  }
  if (i->aux & has_second) write_predicate(w, i->op[4], in_range);
  return proceed(w, i + 1);
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

const Inst* vote(Warp& w, const Inst* i) {
  const Inst* next = nullptr;
  if (!assemble(w, i, next)) return next;
  const auto mode = static_cast<Vote>(i->aux & 3u);
  const Mask source = i->aux & negated_source ? ~w.predicate(i->op[1]) : w.predicate(i->op[1]);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  Mask result = 0;
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const Mask voters = members[l] & w.active, yes = source & voters;
    bool value = false;
    switch (mode) {
      case Vote::all:
        value = yes == voters;
        break;
      case Vote::any:
        value = yes != 0;
        break;
      case Vote::uni:
        value = yes == 0 || yes == voters;
        break;
      case Vote::ballot:
        w.lanes<std::uint32_t>(i->op[0])[l] = yes;
        break;
    }
    result |= Mask{value} << l;
  }
  if (mode != Vote::ballot) {
    Mask& p = w.predicate(i->op[0]);
    p = (p & ~w.active) | result;
  }
  return proceed(w, i + 1);
}

template <class T, bool All>
const Inst* match(Warp& w, const Inst* i) {
  const Inst* next = nullptr;
  if (!assemble(w, i, next)) return next;
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  const T* a = w.lanes<T>(i->op[1]);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  std::uint32_t result[warp_size] = {};
  Mask agree = 0;
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    Mask same = 0;
    const Mask group = members[l] & w.active;
    for (Mask n = group; n; n &= n - 1)
      if (a[std::countr_zero(n)] == a[l]) same |= n & -n;
    if (same == group) agree |= Mask{1} << l;
    result[l] = All ? (same == group ? group : 0) : same;
  }
  for (Mask m = w.active; m; m &= m - 1) d[std::countr_zero(m)] = result[std::countr_zero(m)];
  if (i->aux & has_second) {
    Mask& p = w.predicate(i->op[4]);
    p = (p & ~w.active) | agree;
  }
  return proceed(w, i + 1);
}

template <class T, T (*Op)(T, T)>
const Inst* redux(Warp& w, const Inst* i) {
  const Inst* next = nullptr;
  if (!assemble(w, i, next)) return next;
  T* d = w.lanes<T>(i->op[0]);
  const T* a = w.lanes<T>(i->op[1]);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  T result[warp_size];
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    Mask group = members[l] & w.active;
    T value = a[std::countr_zero(group)];
    for (group &= group - 1; group; group &= group - 1) value = Op(value, a[std::countr_zero(group)]);
    result[l] = value;
  }
  for (Mask m = w.active; m; m &= m - 1) d[std::countr_zero(m)] = result[std::countr_zero(m)];
  return proceed(w, i + 1);
}

using u32 = std::uint32_t;
using s32 = std::int32_t;
u32 red_add(u32 a, u32 b) {
  return a + b;
}
u32 red_and(u32 a, u32 b) {
  return a & b;
}
u32 red_or(u32 a, u32 b) {
  return a | b;
}
u32 red_xor(u32 a, u32 b) {
  return a ^ b;
}
template <class T>
T red_min(T a, T b) {
  return std::min(a, b);
}
template <class T>
T red_max(T a, T b) {
  return std::max(a, b);
}

/// bar.warp.sync lets lanes meet that stand at different ones.
const Inst* warp_barrier(Warp& w, const Inst* i) {
  check_named(w, i);
  const std::uint32_t* members = w.lanes<std::uint32_t>(i->op[5]);
  Mask arrived = w.active;
  for (const Split& s : w.waiting)
    if (s.state == Split::State::sync && is_warp_barrier(s.pc)) arrived |= s.mask;
  Mask ready = 0;
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if ((members[l] & w.alive & ~arrived) == 0) ready |= Mask{1} << l;
  }
  if (ready != w.active) set_aside(w, w.active & ~ready, i, Split::State::sync);
  if (!ready) return run_next(w);
  if (arrived == ready) {
    if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, ready);
    return proceed(w, i + 1);
  }
  // The others whose masks are complete now go on after their own barriers.
  std::uint32_t masks[warp_size];
  std::copy_n(members, warp_size, masks);
  Mask released = ready;
  for (Split& s : w.waiting)
    if (s.state == Split::State::sync && is_warp_barrier(s.pc)) {
      const auto* theirs = reinterpret_cast<const std::uint32_t*>(s.frame->registers + s.pc->op[5]);
      if ((theirs[std::countr_zero(s.mask)] & w.alive & ~arrived) == 0) {
        s.state = Split::State::ready;
        ++s.pc;
        released |= s.mask;
        for (Mask m = s.mask; m; m &= m - 1) masks[std::countr_zero(m)] = theirs[std::countr_zero(m)];
      }
    }
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, released, masks);
  update_pending(w);
  return go_to(w, i + 1);
}

const Inst* active_mask(Warp& w, const Inst* i) {
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  for (Mask m = w.active; m; m &= m - 1) d[std::countr_zero(m)] = w.active;
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

}  // namespace

bool is_warp_barrier(const Inst* i) {
  return i->run == warp_barrier;
}

std::optional<WarpSelection> select_warp(const ptx::Instruction& in) {
  using ptx::Type;
  WarpSelection s;
  const auto words = [&](std::initializer_list<const char*> expected) {
    return std::equal(in.modifiers.begin(), in.modifiers.end(), expected.begin(), expected.end());
  };
  const bool second = !in.operands.empty() && in.operands[0].kind == ptx::Operand::Kind::pair;
  if (in.opcode == "membar" || in.opcode == "fence") return select_fence(in);
  if (in.opcode == "activemask" && words({"b32"})) {
    s.run = active_mask;
    s.type[0] = Type::b32;
    return s;
  }
  if ((in.opcode == "bar" || in.opcode == "barrier") && words({"warp", "sync"})) {
    s.run = warp_barrier;
    s.members = 0;
    return s;
  }
  if (in.opcode == "shfl" && in.operands.size() == 5) {
    struct Mode {
      const char* name;
      Handler run;
      StepHandler in_gang;
    };
    const Mode modes[] = {{"up", shuffle<Shuffle::up>, shuffle_in_gang<Shuffle::up>},
                          {"down", shuffle<Shuffle::down>, shuffle_in_gang<Shuffle::down>},
                          {"bfly", shuffle<Shuffle::bfly>, shuffle_in_gang<Shuffle::bfly>},
                          {"idx", shuffle<Shuffle::idx>, shuffle_in_gang<Shuffle::idx>}};
    const bool is_constant = std::all_of(in.operands.begin() + 2, in.operands.end(), [](const ptx::Operand& operand) {
      return operand.kind == ptx::Operand::Kind::integer;
    });
    for (const Mode& mode : modes)
      if (words({"sync", mode.name, "b32"})) {
        s.run = mode.run;
        if (is_constant) s.in_gang = mode.in_gang;
        s.aux = second ? has_second : 0u;
        s.type[0] = s.type[1] = s.type[2] = s.type[3] = Type::b32;
        s.members = 4;
        return s;
      }
  }
  if (in.opcode == "vote" && in.operands.size() == 3) {
    // CUB writes vote.ballot.sync; ptxas takes the words in either order.
    s.type[0] = s.type[1] = Type::pred;
    s.members = 2;
    s.run = vote;
    if (in.operands[1].negated) s.aux |= negated_source;
    const char* const modes[] = {"all", "any", "uni"};
    for (std::uint32_t k = 0; k < 3; ++k)
      if (words({"sync", modes[k], "pred"}) || words({modes[k], "sync", "pred"})) return s.aux |= k, s;
    if (words({"sync", "ballot", "b32"}) || words({"ballot", "sync", "b32"}))
      return s.aux |= static_cast<std::uint32_t>(Vote::ballot), s.type[0] = Type::b32, s;
  }
  if (in.opcode == "match" && in.operands.size() == 3) {
    s.members = 2;
    s.aux = second ? has_second : 0u;
    s.type[0] = Type::b32;
    s.type[1] = in.has("b64") ? Type::b64 : Type::b32;
    const auto either = [&](const char* kind, const char* type) {
      return words({kind, "sync", type}) || words({"sync", kind, type});
    };
    if (either("any", "b32")) return s.run = match<std::uint32_t, false>, s;
    if (either("any", "b64")) return s.run = match<std::uint64_t, false>, s;
    if (either("all", "b32")) return s.run = match<std::uint32_t, true>, s;
    if (either("all", "b64")) return s.run = match<std::uint64_t, true>, s;
  }
  if (in.opcode == "redux" && in.operands.size() == 3) {
    s.members = 2;
    s.type[0] = s.type[1] = Type::b32;
    if (words({"sync", "add", "u32"}) || words({"sync", "add", "s32"})) return s.run = redux<u32, red_add>, s;
    if (words({"sync", "min", "u32"})) return s.run = redux<u32, red_min<u32>>, s;
    if (words({"sync", "max", "u32"})) return s.run = redux<u32, red_max<u32>>, s;
    if (words({"sync", "min", "s32"})) return s.run = redux<s32, red_min<s32>>, s;
    if (words({"sync", "max", "s32"})) return s.run = redux<s32, red_max<s32>>, s;
    if (words({"sync", "and", "b32"})) return s.run = redux<u32, red_and>, s;
    if (words({"sync", "or", "b32"})) return s.run = redux<u32, red_or>, s;
    if (words({"sync", "xor", "b32"})) return s.run = redux<u32, red_xor>, s;
  }
  return std::nullopt;
}

}  // namespace scanlab::vgpu
