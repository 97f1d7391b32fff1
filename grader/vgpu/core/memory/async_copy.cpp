#include "vgpu/core/memory/async_copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "vgpu/core/memory/claims.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {

bool is_async_wait(const ptx::Instruction& in) {
  return in.opcode == "cp" && in.has("async") && (in.has("commit_group") || in.has("wait_group") || in.has("wait_all"));
}

std::optional<std::uint32_t> async_copy_bytes(const ptx::Instruction& in) {
  using Kind = ptx::Operand::Kind;
  if (in.opcode != "cp" || in.modifiers.size() < 4 || in.modifiers[0] != "async") return std::nullopt;
  if (in.modifiers[1] != "ca" && in.modifiers[1] != "cg") return std::nullopt;
  if (!in.modifiers[2].starts_with("shared") || in.modifiers[3] != "global") return std::nullopt;
  if (in.operands.size() < 3 || in.operands.size() > (in.has("L2::cache_hint") ? 5 : 4)) return std::nullopt;
  if (in.operands[0].kind != Kind::address || in.operands[1].kind != Kind::address) return std::nullopt;
  if (in.operands[2].kind != Kind::integer) return std::nullopt;
  const std::uint64_t bytes = in.operands[2].bits;
  if (bytes != 4 && bytes != 8 && bytes != 16) return std::nullopt;
  return static_cast<std::uint32_t>(bytes);
}

const Inst* async_copy(Warp& w, const Inst* i) {
  w.pc = i;
  const auto form = std::bit_cast<AsyncCopyForm>(i->aux);
  const auto offset = std::bit_cast<AsyncCopyOffsets>(i->imm);
  Memory& memory = *w.block->grid->memory;
  const std::uint32_t bytes = form.bytes;
  Addresses from, to;
  std::byte* target[warp_size];
  std::array<std::byte, 16> copied[warp_size] = {};
  Mask reads = 0, cuts = 0;  // lanes that copy something; of which the last word only in part
  Mask too_many = 0;         // lanes that would read more than they write: PTX leaves open what they do
  std::uint64_t cut[warp_size] = {};
  for (const unsigned l : lanes_in(w.active)) {
    to.of[l] = form.to_is_64 ? w.lanes<std::uint64_t>(i->op[0])[l] : w.lanes<std::uint32_t>(i->op[0])[l];
    to.of[l] += static_cast<std::uint64_t>(offset.to);
    from.of[l] = w.lanes<std::uint64_t>(i->op[1])[l] + static_cast<std::uint64_t>(offset.from);
    std::uint32_t count = form.has_count ? w.lanes<std::uint32_t>(i->op[2])[l] : bytes;
    if (count > bytes) too_many |= Mask{1} << l;
    count = std::min(bytes, count);
    if (form.ignores && (w.predicate(i->op[2]) >> l & 1) == (form.ignores == 1)) count = 0;
    target[l] = check_lane(w, StateSpace::shared, AccessKind::write, l, to.of[l], bytes);
    if (from.of[l] % bytes != 0 || (count > 0 && !memory.find(from.of[l], count)))
      raise_bad_access(w, StateSpace::global, AccessKind::read, l, from.of[l], bytes);
    if (Claims* const claims = w.block->grid->claims; claims && count > 0)
      claims->note(AccessKind::read, from.of[l], count);
    if (count > 0) std::memcpy(copied[l].data(), memory.host(from.of[l]), count);
    if (count > 0) reads |= Mask{1} << l;
    if (const std::uint32_t rest = count % 4; rest > 0) {
      const Address word = from.of[l] + count - rest;
      cuts |= Mask{1} << l;
      std::memcpy(&cut[l], memory.host(word), memory.find(word, 4) ? 4 : rest);
    }
  }
  ++w.block->grid->epoch;
  Access access;
  access.actor = actor_of(w, i);
  access.bytes = bytes;
  access.is_async = true;
  access.block = w.block;
  access.copied = copied;
  for (Observer* o : w.block->grid->observers) {
    access.space = StateSpace::global;
    access.mask = reads;
    access.address = from.of;
    o->load(access);
    access.space = StateSpace::shared;
    access.mask = w.active;
    access.address = to.of;
    o->store(access);
    if (too_many) o->depends(access.actor, too_many, Dependence::open_form);
    if (cuts) o->computed_with(access.actor, cuts, cut, 4);  // what it leaves is made of a word, and is not that word
  }
  for (const unsigned l : lanes_in(w.active)) std::memcpy(target[l], copied[l].data(), bytes);
  return i + 1;
}

const Inst* async_wait(Warp& w, const Inst* i) {
  for (Observer* o : w.block->grid->observers) {
    if (i->aux)
      o->async_commit(actor_of(w, i), w.active);
    else
      o->async_wait(actor_of(w, i), w.active, static_cast<std::uint32_t>(i->imm));
  }
  return i + 1;
}

}  // namespace scanlab::vgpu
