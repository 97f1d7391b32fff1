#include "vgpu/checks/shared/shared_races.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vgpu/checks/line_shape.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

Hazard hazard_of(const Conflict& c) {
  if (c.between == Conflict::Between::accesses && c.earlier.thread / warp_size == c.later.thread / warp_size)
    return Hazard::warp_synchronous;
  return hazard_between(c.earlier.how, c.later.how);
}

/// Would fences of the flag that was seen order them?
bool lacks_fences(const Conflict& c) {
  return c.between == Conflict::Between::accesses && c.flag && c.is_before_flag;
}

std::string advice_on(const Conflict& c, Hazard hazard, const ptx::Module& module) {
  using enum How::Strength;
  if (c.between == Conflict::Between::lanes_of_one) return advice_on_one_store;
  if (c.earlier.how.kind == How::Kind::copy)
    return "the copy may not be complete: its thread has to wait for it (cp.async.wait_group), and then the others for "
           "that thread";
  if (c.earlier.how.strength != weak && c.later.how.strength != weak && hazard != Hazard::warp_synchronous)
    return "a volatile flag is no barrier, and its thread has executed no fence before it sets it: put "
           "__threadfence_block() between the value and the flag, or __syncthreads() in the place of both";
  if (c.flag && c.earlier.how.writes())
    return fmt::format(
        "the flag, set in line {} and seen in line {}, is set before the value is written: write the value first, then "
        "__threadfence_block(), then set the flag",
        own_place(module, c.flag->set_line).line, own_place(module, c.flag->seen_line).line);
  if (c.earlier.how.is_plain_read() ? c.later.how.kind == How::Kind::atomic
                                    : c.later.how.is_plain_read() && c.earlier.how.kind == How::Kind::atomic)
    return advice_on_read(c.use, true, hazard);
  return advice_in_block(hazard);
}

}  // namespace

void SharedRaces::kernel_begin(const KernelInfo& kernel) {
  kernel_ = std::make_shared<KernelInfo>(kernel);
  window_bytes_ = 0;
  for (const SharedVariable& v : kernel.shared)
    if (v.size) window_bytes_ = v.offset + v.size;
  found_.clear();
  guesses_.clear();
  repeated_ = RepeatedBlocks(kernel.fast_paths.repeated_blocks);
}

void SharedRaces::kernel_end() {
  // Of blocks that have not ended, after a fault.
  for (const auto& block : blocks_)
    if (block) block->end();
  std::erase_if(found_, [&](const auto& of) { return may_be_guess(of.second.example, guesses_); });
  leave_out_flags();
  join_warps();
  for (const auto& [key, found] : found_) findings_.add(describe(key, found));
  if (breaches_.empty() && !arrivals_.empty())
    breaches_.push_back(
        {.what = Breach::What::barrier_order, .where = own_place(*kernel_->module, *arrivals_.begin())});
  arrivals_.clear();
  found_.clear();
  kernel_.reset();
}

/// A volatile flag without a fence races itself: what it ought to pass on says more.
void SharedRaces::leave_out_flags() {
  using enum How::Strength;
  std::set<std::pair<std::uint32_t, std::uint32_t>> flags;
  for (const auto& [key, found] : found_)
    if (lacks_fences(found.example)) flags.emplace(found.example.flag->set_line, found.example.flag->seen_line);
  std::erase_if(found_, [&](const auto& of) {
    const Conflict& c = of.second.example;
    return c.earlier.how.strength != weak && c.later.how.strength != weak &&
           (flags.contains({c.earlier.line, c.later.line}) || flags.contains({c.later.line, c.earlier.line}));
  });
}

/// Two lines that race across warps usually do so within one as well, and the same barrier fixes both: reported once.
void SharedRaces::join_warps() {
  for (auto it = found_.begin(); it != found_.end();) {
    const auto& [earlier, later, array, lacks_fences, hazard, use] = it->first;
    const auto across =
        found_.lower_bound({earlier, later, array, lacks_fences, Hazard{}, ReadUse{}});  // the least of the hazards
    if (hazard == Hazard::warp_synchronous && across != it) {
      across->second.count += it->second.count;
      across->second.is_by_both |= it->second.is_by_both;
      it = found_.erase(it);
    } else {
      ++it;
    }
  }
}

void SharedRaces::block_begin(std::uint64_t block, std::uint32_t slot) {
  if (!window_bytes_) return;
  if (blocks_.size() <= slot) blocks_.resize(slot + 1);
  if (!blocks_[slot])
    blocks_[slot] = std::make_unique<BlockRaces>(static_cast<ConflictSink<Conflict>&>(*this), repeated_);
  blocks_[slot]->begin(block, static_cast<unsigned>(kernel_->block.count()), window_bytes_,
                       kernel_->fast_paths.access_log);
}

void SharedRaces::touch(const AccessRun& run, How::Kind kind, BlockSync::Effect effect) {
  const Access& a = run.first;
  if (a.space == ptx::StateSpace::shared) return block_of(a.actor).access(run, kind);
  // An access to other memory may order accesses to shared memory.
  if (a.space != ptx::StateSpace::global || a.order == Access::Order::weak || !window_bytes_) return;
  for (unsigned k = 0; k < run.count; ++k) block_of(a.actor).global_access(run.of(k), effect);
}

void SharedRaces::conflict(const Conflict& c) {
  const bool is_fence = lacks_fences(c);
  add({c.earlier.line, c.later.line, array_at(*kernel_, c.address), is_fence, is_fence ? Hazard{} : hazard_of(c),
       c.use},
      {c, 1, c.is_by_both});
}

void SharedRaces::add(const Key& key, const Found& found) {
  const auto [known, is_new] = found_.try_emplace(key, found);
  if (is_new) return;
  if (found.example.block < known->second.example.block) known->second.example = found.example;
  known->second.count += found.count;
  known->second.is_by_both |= found.is_by_both;
}

/// Does a line read what it writes, and write what others write by it?
bool SharedRaces::is_update(const Key& key, const Found& found) const {
  const Conflict& c = found.example;
  const auto line_of = [&](std::uint32_t line) { return own_place(*kernel_->module, line).line; };
  const auto& [earlier, later, array, lacks_fences, hazard, use] = key;
  if (!c.earlier.how.is_plain_read() == !c.later.how.is_plain_read() || line_of(earlier) != line_of(later))
    return false;
  return found.is_by_both || std::ranges::any_of(found_, [&](const auto& of) {
           const Conflict& other = of.second.example;
           return std::get<2>(of.first) == array && other.earlier.how.writes() && other.later.how.writes() &&
                  line_of(other.earlier.line) == line_of(earlier) && line_of(other.later.line) == line_of(earlier);
         });
}

Finding SharedRaces::describe(const Key& key, const Found& found) const {
  const Conflict& c = found.example;
  const auto& [earlier, later, array, lacks_fences, hazard, use] = key;
  Finding f = finding_in(*kernel_, c.block);
  const SharedVariable& variable = kernel_->shared[array];
  f.variable = variable.name;
  f.element = (c.address - variable.offset) / c.bytes;
  const std::string where = fmt::format("shared {}, kernel {}, block {}", variable.element_text(*f.element, c.bytes),
                                        f.kernel, index_text(f.block, f.grid_size));
  for (const Conflict::Side& side : {c.earlier, c.later})
    f.parts.push_back(part_by(*kernel_, name_of(side.how.kind), side.line, side.thread));
  f.count = found.count;
  if (lacks_fences) {
    f.id = "fence.missing";
    f.kind = "writer";
    f.headline = "FENCE MISSING: " + where;
    const FlagWords words = words_of_flag(c.flag->is_lock);
    f.parts.insert(f.parts.begin() + 1, {part_by(*kernel_, words.set, c.flag->set_line, c.earlier.thread),
                                         part_by(*kernel_, words.seen, c.flag->seen_line, c.later.thread)});
    f.advice = advice_on_fences(f.parts, c.flag->is_lock, true);
    return f;
  }
  f.id = "race.shared";
  f.kind = name_of(hazard);
  f.headline = fmt::format("RACE ({}): {}", f.kind, where);
  f.advice = is_update(key, found) && !combines_elements(*kernel_, f.parts.back().where)
                 ? advice_on_update(f.parts.back().where.line)
                 : advice_on(c, hazard, *kernel_->module);
  return f;
}

std::unique_ptr<Observer> SharedRaces::fork() const {
  auto made = std::make_unique<SharedRaces>(order_);
  made->kernel_ = kernel_;
  made->window_bytes_ = window_bytes_;
  made->repeated_ = repeated_;
  return made;
}

void SharedRaces::join(Observer& fork) {
  const auto& other = static_cast<SharedRaces&>(fork);
  for (const auto& [key, found] : other.found_) add(key, found);
  guesses_.insert(other.guesses_.begin(), other.guesses_.end());
  arrivals_.insert(other.arrivals_.begin(), other.arrivals_.end());
}

}  // namespace scanlab::vgpu
