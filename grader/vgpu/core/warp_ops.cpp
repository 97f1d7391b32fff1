#include "vgpu/core/warp_ops.hpp"

#include <algorithm>
#include <bit>

#include "vgpu/core/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Whether a second destination is wanted (d|p), and a negated source predicate.
enum Flags : std::uint32_t { has_second = 1u << 30, negated_source = 1u << 31 };

/// Lanes wait at a *.sync instruction until every lane of their membermask that has not exited is there too (PTX ISA,
/// "shfl.sync"). On return `w.active` holds the lanes that go on now; when there are none, false, and `next` is what
/// runs instead.
bool assemble(Warp& w, const Inst* i, const Inst*& next) {
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
  if (is_observed(w)) [[unlikely]]
    for (Observer* o : w.block->grid->observers) o->warp_sync(actor_of(w, i), w.active);
  return true;
}

enum class Shuffle : std::uint32_t { up, down, bfly, idx };

const Inst* shuffle(Warp& w, const Inst* i) {
  const Inst* next = nullptr;
  if (!assemble(w, i, next)) return next;
  const auto mode = static_cast<Shuffle>(i->aux & 3u);
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  const std::uint32_t* a = w.lanes<std::uint32_t>(i->op[1]);
  const std::uint32_t* b = w.lanes<std::uint32_t>(i->op[2]);
  const std::uint32_t* c = w.lanes<std::uint32_t>(i->op[3]);
  std::uint32_t result[warp_size];
  Mask in_range = 0;
  for (unsigned l = 0; l < warp_size; ++l) {
    const std::uint32_t by = b[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
    const auto limit = static_cast<std::int32_t>((l & segment) | (clamp & ~segment));
    const auto lane = static_cast<std::int32_t>(l);
    std::int32_t j = lane;
    bool inside = false;
    switch (mode) {
      case Shuffle::up:
        j = lane - static_cast<std::int32_t>(by);
        inside = j >= limit;
        break;
      case Shuffle::down:
        j = lane + static_cast<std::int32_t>(by);
        inside = j <= limit;
        break;
      case Shuffle::bfly:
        j = lane ^ static_cast<std::int32_t>(by);
        inside = j <= limit;
        break;
      case Shuffle::idx:
        j = static_cast<std::int32_t>((l & segment) | (by & ~segment));
        inside = j <= limit;
        break;
    }
    if (!inside) j = lane;
    in_range |= Mask{inside} << l;
    result[l] = a[j];
  }
  if (w.active == full_mask)
    std::copy(result, result + warp_size, d);
  else
    for (Mask m = w.active; m; m &= m - 1) d[std::countr_zero(m)] = result[std::countr_zero(m)];
  if (i->aux & has_second) {
    Mask& p = w.predicate(i->op[4]);
    p = (p & ~w.active) | (in_range & w.active);
  }
  return i + 1;
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
  return i + 1;
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
  return i + 1;
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
    Mask group = (members[l] & w.active) | Mask{1} << l;  // PTX leaves open what a lane outside its own mask gets
    T value = a[std::countr_zero(group)];
    for (group &= group - 1; group; group &= group - 1) value = Op(value, a[std::countr_zero(group)]);
    result[l] = value;
  }
  for (Mask m = w.active; m; m &= m - 1) d[std::countr_zero(m)] = result[std::countr_zero(m)];
  return i + 1;
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
  if (is_observed(w)) [[unlikely]]
    for (Observer* o : w.block->grid->observers) o->warp_sync(actor_of(w, i), arrived);
  if (arrived == ready) return i + 1;
  // The others whose masks are complete now go on behind their own barriers.
  for (Split& s : w.waiting)
    if (s.state == Split::State::sync && is_warp_barrier(s.pc)) {
      const auto* theirs = reinterpret_cast<const std::uint32_t*>(
          (s.pc->op[5] & 1u ? s.frame->program->constants.bytes.get() : s.frame->registers) + (s.pc->op[5] & ~1u));
      if ((theirs[std::countr_zero(s.mask)] & w.alive & ~arrived) == 0) {
        s.state = Split::State::ready;
        ++s.pc;
      }
    }
  update_pending(w);
  return go_to(w, i + 1);
}

const Inst* active_mask(Warp& w, const Inst* i) {
  std::uint32_t* d = w.lanes<std::uint32_t>(i->op[0]);
  for (Mask m = w.active; m; m &= m - 1) d[std::countr_zero(m)] = w.active;
  return i + 1;
}

const Inst* fence(Warp& w, const Inst* i) {
  if (is_observed(w)) [[unlikely]]
    for (Observer* o : w.block->grid->observers) o->fence(actor_of(w, i), w.active, static_cast<Access::Scope>(i->aux));
  return i + 1;
}

std::optional<WarpSelection> select_fence(const ptx::Instruction& in) {
  WarpSelection s;
  s.run = fence;
  auto scope = Access::Scope::device;
  for (const std::string& word : in.modifiers) {
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
  s.aux = static_cast<std::uint32_t>(scope);
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
    return s;
  }
  if ((in.opcode == "bar" || in.opcode == "barrier") && words({"warp", "sync"})) {
    s.run = warp_barrier;
    s.members = 0;
    return s;
  }
  if (in.opcode == "shfl" && in.operands.size() == 5) {
    const char* const modes[] = {"up", "down", "bfly", "idx"};
    for (std::uint32_t k = 0; k < 4; ++k)
      if (words({"sync", modes[k], "b32"})) {
        s.run = shuffle;
        s.aux = k | (second ? has_second : 0u);
        s.type[1] = s.type[2] = s.type[3] = Type::b32;
        s.members = 4;
        return s;
      }
  }
  if (in.opcode == "vote" && in.operands.size() == 3) {
    // CUB writes vote.ballot.sync; ptxas takes the words in either order.
    s.type[1] = Type::pred;
    s.members = 2;
    s.run = vote;
    if (in.operands[1].negated) s.aux |= negated_source;
    const char* const modes[] = {"all", "any", "uni"};
    for (std::uint32_t k = 0; k < 3; ++k)
      if (words({"sync", modes[k], "pred"}) || words({modes[k], "sync", "pred"})) return s.aux |= k, s;
    if (words({"sync", "ballot", "b32"}) || words({"ballot", "sync", "b32"}))
      return s.aux |= static_cast<std::uint32_t>(Vote::ballot), s;
  }
  if (in.opcode == "match" && in.operands.size() == 3) {
    s.members = 2;
    s.aux = second ? has_second : 0u;
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
    s.type[1] = Type::b32;
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
