#include "vgpu/checks/global/global_races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "vgpu/checks/global/read_only_loads.hpp"
#include "vgpu/checks/line_shape.hpp"
#include "vgpu/checks/race.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

bool is_global(const Access& a) {
  return a.space == ptx::StateSpace::global;
}

bool is_of_toolkit(const ptx::Module& module, std::uint32_t line) {
  const auto places = places_of(module, line);
  return !places.empty() && of_toolkit(places.front());
}

bool are_plain_writes(const GlobalConflict& c) {
  return c.earlier.how.writes() && c.later.how.writes() && !c.earlier.how.is_strong && !c.later.how.is_strong;
}

bool are_strong(const GlobalConflict& c) {
  return c.earlier.how.is_strong && c.later.how.is_strong;
}

Hazard hazard_of(const GlobalConflict& c) {
  if (!are_plain_writes(c) && c.earlier.block == c.later.block &&
      c.earlier.thread / warp_size == c.later.thread / warp_size)
    return Hazard::warp_synchronous;
  return hazard_between(c.earlier.how, c.later.how);
}

/// Which of several threads say most about two lines: those of different blocks, then of different warps.
unsigned distance_of(const GlobalConflict& c) {
  if (c.earlier.block != c.later.block) return 2;
  return c.earlier.thread / warp_size != c.later.thread / warp_size;
}

/// Two writes are rarely meant to come one after the other: one of them should not be, or not there.
std::string advice_on_writes(const GlobalConflict& c, std::uint32_t line, std::uint32_t other_line,
                             bool is_one_element) {
  if (line != other_line)
    return fmt::format(
        "lines {} and {} write to the same place for two threads, and either value may remain: look at how both "
        "indices are calculated; only if both are right does one have to wait for the other",
        line, other_line);
  if (!is_one_element)
    return "threads write to the same places, and either value may remain: look at how the index is calculated, each "
           "thread needs a place of its own";
  return fmt::format(
      "several threads {}write to the same place, and either value may remain: let only one thread write "
      "there, the one whose value is meant, or look at how the index is calculated",
      c.earlier.block == c.later.block ? "of a block " : "of different blocks ");
}

std::string advice_on_race(const GlobalConflict& c) {
  if (are_strong(c))
    return "an atomic with the scope of a block is atomic only for the threads of its block: use the form without "
           "_block (cuda::thread_scope_device)";
  if (c.earlier.how.is_strong || c.later.how.is_strong) {
    const GlobalHow plain = c.earlier.how.is_strong ? c.later.how : c.earlier.how;
    if (plain.writes())
      return "one of them is atomic or volatile, the other is a plain write, and nothing orders them: either may come "
             "first; write the first value before the launch (cudaMemset), or make both atomic";
    if (c.earlier.how.is_atomic() || c.later.how.is_atomic())
      return advice_on_read(c.use, c.earlier.block == c.later.block, hazard_of(c));
    return "one of them is volatile or relaxed, the other is a plain read, which the compiler may move in front of a "
           "loop: make it volatile or atomic (cuda::atomic_ref)";
  }
  const Hazard hazard = hazard_of(c);
  if (c.earlier.block == c.later.block) return advice_in_block(hazard);
  return fmt::format(
      "blocks run in any order, and nothing here makes one wait for the other: {}; a flag that a loop waits for has to "
      "be written and read atomically; any other value is to be read in a later kernel, or behind such a flag and a "
      "fence",
      may_happen(hazard));
}

}  // namespace

void GlobalRaces::kernel_begin(const KernelInfo& kernel) {
  kernel_ = std::make_shared<KernelInfo>(kernel);
  levels_ = GridClock::levels_for(kernel.grid.count());
  shadow_.begin_launch(kernel.fast_paths.row_shadow);
  found_.clear();
  guesses_.clear();
  has_fence_ = has_fence_for_host_ = has_signal_for_host_ = false;
  constants_.clear();
  read_only_in_ = nullptr;
}

void GlobalRaces::kernel_end() {
  shadow_.end_launch();
  // Who reads has written the element as well, if only after this has been seen; the other writes it by the same line.
  for (const auto& [key, c] : to_ask_)
    found_[key].is_update =
        own_place(*kernel_->module, c.earlier.line).line == own_place(*kernel_->module, c.later.line).line &&
        shadow_.has_changed(c.address, c.earlier.how.writes() ? c.later : c.earlier);
  to_ask_.clear();
  for (const auto& [key, found] : found_) {
    const GlobalConflict& c = found.example;
    const bool is_known_to_be_right = are_strong(c)                    ? expects_old_value(c)
                                      : c.cause == Cause::reader_fence ? is_of_toolkit(*kernel_->module, c.later.line)
                                                                       : may_be_guess(c, guesses_);
    if (!is_known_to_be_right) findings_.add(describe(key, found));
  }
  found_.clear();
  if (read_only_in_) add_written_read_only(*kernel_, shadow_, *read_only_in_, findings_);
  if (at_end) at_end(*kernel_);
  kernel_.reset();
}

/// Of two strong accesses, which do not race: is the later one right also where it comes first?
bool GlobalRaces::expects_old_value(const GlobalConflict& c) const {
  if (c.cause == Cause::unordered) return false;
  if (of_toolkit(own_place(*kernel_->module, c.later.line)) || shadow_.expects_old_values(c.later.line)) return true;
  // Threads that have counted go on in any case; but where those of one block alone do what the last one has to do, it
  // is behind all others.
  if (!c.has_waited && (c.later.how.writes() || shadow_.is_by_several_blocks(c.later.line))) return true;
  return !c.later.how.writes() && decides_a_loop(*kernel_, c.later.line);
}

void GlobalRaces::block_begin(std::uint64_t block, std::uint32_t slot) {
  if (blocks_.size() <= slot) blocks_.resize(slot + 1);
  if (!blocks_[slot]) blocks_[slot] = std::make_unique<BlockView>();
  if (fenced_for_host_.size() <= slot) fenced_for_host_.resize(slot + 1);
  fenced_for_host_[slot] = 0;
  if (copies_.size() <= slot) copies_.resize(slot + 1);
  copies_[slot].clear();
  blocks_[slot]->begin(block, static_cast<unsigned>(kernel_->block.count()), levels_, shadow_.order());
}

void GlobalRaces::block_end(std::uint64_t block, std::uint32_t slot) {
  const auto warps = static_cast<std::uint32_t>((kernel_->block.count() + warp_size - 1) / warp_size);
  for (std::uint32_t warp = 0; !copies_[slot].is_empty() && warp < warps; ++warp)
    async_wait({.block = block, .warp = warp, .slot = slot}, full_mask, wait_for_all);
  shadow_.end_block(block);
}

/// The copies are complete, for the thread that waited: as if it read now, as it did when it began them. Writes in the
/// meantime have been compared with them.
void GlobalRaces::keep_complete(const std::vector<PendingCopies::Copy>& copies, const Actor& actor) {
  for (const PendingCopies::Copy& copy : copies) {
    Access read;
    read.actor = actor;
    read.actor.line = copy.what.line;
    read.mask = copy.what.lanes;
    read.bytes = copy.what.bytes;
    read.address = copy.address.data();
    shadow_.keep_complete(read, {.is_copy = true}, block_of(actor));
  }
}

void GlobalRaces::compare_with_copies(const Access& a, GlobalHow how) {
  for (std::size_t slot = 0; slot < copies_.size(); ++slot) {
    if (copies_[slot].is_empty()) continue;
    const auto by = slot == a.actor.slot ? PendingCopies::By::own_block : PendingCopies::By::other_block;
    const auto visit = [&](const PendingCopies::Meeting& met) {
      GlobalConflict c;
      c.earlier = {met.copy.what.line,
                   static_cast<std::uint32_t>(blocks_[slot]->block()),
                   met.copy.what.warp * warp_size + met.copying,
                   {.is_copy = true}};
      c.later = {a.actor.line, static_cast<std::uint32_t>(a.actor.block), a.actor.warp * warp_size + met.lane, how};
      c.address = met.address;
      c.bytes = met.bytes;
      c.memory = met.copy.block->grid->memory;
      conflict(c);
    };
    copies_[slot].for_each_meeting(a, visit, by);
  }
}

/// Outside of global memory: what it orders within the block.
void GlobalRaces::synchronise(const AccessRun& run, BlockSync::Effect effect) {
  if (const Access& a = run.first; a.phase && a.is_async)
    keep_complete(copies_[a.actor.slot].bind(a), a.actor);
  else if (a.phase && a.order == Access::Order::acquire)
    copies_[a.actor.slot].see(a);
  for (unsigned k = 0; k < run.count; ++k) block_of(run.first.actor).strong_access(run.of(k), effect);
}

void GlobalRaces::loads(const AccessRun& run) {
  if (is_global(run.first)) {
    touch(run, How::Kind::read);
    if (run.first.is_async)
      copies_[run.first.actor.slot].add(run.first, {.line = run.first.actor.line,
                                                    .lanes = run.first.mask,
                                                    .warp = static_cast<std::uint8_t>(run.first.actor.warp),
                                                    .how = {},
                                                    .bytes = static_cast<std::uint8_t>(run.first.bytes)});
    return;
  }
  if (run.first.space == ptx::StateSpace::constant)
    for (unsigned k = 0; k < run.count; ++k) {
      const Access one = run.of(k);
      std::optional<Address> before;  // all lanes mostly read the same
      for_each_lane(one.mask, [&](unsigned lane) {
        if (std::exchange(before, one.at(lane)) != one.at(lane))
          constants_.emplace(one.at(lane), one.actor.line, one.bytes);
      });
    }
  if (run.first.order != Access::Order::weak) synchronise(run, BlockSync::Effect::reads);
}

void GlobalRaces::collect(AccessedSpans& spans) const {
  shadow_.collect(spans);
  for (const auto& [address, line, bytes] : constants_) spans.add(address, 0, 1, bytes, {{}, line, bytes});
}

void GlobalRaces::stores(const AccessRun& run) {
  if (is_global(run.first)) return touch(run, How::Kind::write);
  if (run.first.order != Access::Order::weak) synchronise(run, BlockSync::Effect::writes);
}

void GlobalRaces::atomic(const Access& a) {
  if (!is_global(a)) return synchronise({a, 1, 0}, BlockSync::Effect::updates);
  const Mask changing = lanes_that_change(a);
  for (const auto& [lanes, kind] : {std::pair{a.mask & ~changing, How::Kind::idle}, {changing, How::Kind::atomic}}) {
    Access part = a;
    part.mask = lanes;
    if (lanes) touch({part, 1, 0}, kind);
  }
}

void GlobalRaces::touch(const AccessRun& run, How::Kind kind) {
  using enum BlockSync::Effect;
  const Access& a = run.first;
  BlockView& block = block_of(a.actor);
  GlobalHow how;
  how.kind = kind;
  how.is_strong = how.is_atomic() || a.order != Access::Order::weak;
  how.is_for_block = how.is_strong && a.scope == Access::Scope::block;
  how.is_for_host = how.is_strong && (a.scope == Access::Scope::system || a.order == Access::Order::volatile_);
  how.is_read_only = a.is_read_only;
  how.is_copy = a.is_async;
  if (a.is_read_only && a.block) read_only_in_ = a.block->grid->memory;
  has_fence_ |= !how.is_for_block && a.order >= Access::Order::acquire;
  const bool releases = a.order == Access::Order::release || a.order == Access::Order::acq_rel;
  if (releases && !how.is_for_block)
    for (unsigned k = 0; k < run.count; ++k) block.publish(a.actor.warp + k, run.lanes_of(k));
  has_fence_for_host_ |= releases && how.is_for_host;
  if (has_fence_for_host_ && how.writes())
    has_signal_for_host_ |=
        (fenced_for_host_[a.actor.slot] >> a.actor.warp & ((std::uint64_t{1} << run.count) - 1)) != 0;
  if (how.writes())
    for (unsigned k = 0; k < run.count; ++k) compare_with_copies(run.of(k), how);
  shadow_.access(run, how, block);
  if (how.is_strong) synchronise(run, how.is_atomic() ? updates : kind == How::Kind::write ? writes : reads);
}

void GlobalRaces::fence(const Actor& actor, Mask lanes, Access::Scope scope) {
  has_fence_ |= scope != Access::Scope::block;
  if (scope == Access::Scope::system) {
    has_fence_for_host_ = true;
    fenced_for_host_[actor.slot] |= std::uint64_t{1} << actor.warp;
  }
  // Lanes that fence together wait for each other, which orders none of their accesses in PTX.
  if (order_ == LaneOrder::ptx)
    for_each_lane(lanes, [&](unsigned lane) { block_of(actor).fence(actor.warp, Mask{1} << lane, scope); });
  else
    block_of(actor).fence(actor.warp, lanes, scope);
}

void GlobalRaces::conflict(const GlobalConflict& c) {
  std::string name = "global memory";
  std::uint64_t offset = 0;
  if (const Allocation* const a = c.memory ? c.memory->find(c.address, 1) : nullptr) {
    // The heap's memory goes from thread to thread through malloc() and free(), which are not observed.
    if (a->on_heap) return;
    name = a->label;
    offset = c.address - a->base;
  }
  const Key key{c.earlier.line, c.later.line, std::move(name), c.cause, c.use};
  Found& found = found_[key];
  // Of a line that reads and writes behind a flag without a fence it is the write that is a mistake.
  const bool is_first_write =
      c.cause == Cause::reader_fence && c.later.how.writes() && !found.example.later.how.writes();
  const bool says_more = c.has_waited == found.example.has_waited
                             ? is_first_write || distance_of(c) > distance_of(found.example)
                             : c.has_waited;
  if (found.count++ == 0 || says_more) {
    found.example = c;
    found.element = offset / c.bytes;
  }
  to_ask_.emplace(key, c);
  found.is_one_element &= c.address == found.example.address || c.earlier.block != found.example.earlier.block;
}

Finding GlobalRaces::describe(const Key& key, const Found& found) const {
  const GlobalConflict& c = found.example;
  const bool is_race = c.cause == Cause::unordered || c.cause == Cause::lanes_of_one;
  const bool is_in_block = c.earlier.block == c.later.block;
  Finding f = finding_in(*kernel_, is_in_block ? std::optional<std::uint64_t>(c.earlier.block) : std::nullopt);
  // Allocations without a name of their own differ by a number from launch to launch.
  const std::string& label = std::get<2>(key);
  f.variable = label.substr(0, label.find(" #"));
  f.element = found.element;
  f.count = found.count;
  const auto part = [&](const char* does, std::uint32_t line, std::uint32_t block, unsigned thread) {
    Finding::Part p = part_by(*kernel_, does, line, thread);
    p.has_block = !is_in_block;
    set_index(p.block, block, f.grid_size);
    return p;
  };
  const auto part_of = [&](const GlobalConflict::Side& side) {
    return part(name_of(side.how.is_copy ? How::Kind::copy : side.how.kind), side.line, side.block, side.thread);
  };
  const Finding::Part earlier = part_of(c.earlier), later = part_of(c.later);
  const std::string where = fmt::format("element {} of {}, kernel {}{}", *f.element, label, f.kernel,
                                        is_in_block ? fmt::format(", block {}", index_text(f.block, f.grid_size)) : "");
  if (is_race) {
    f.id = "race.global";
    f.kind = name_of(hazard_of(c));
    f.headline = fmt::format("RACE ({}): {}", f.kind, where);
    f.parts = {earlier, later};
    const bool is_value = !c.earlier.how.is_strong && !c.later.how.is_strong;
    // A number that both have taken from a counter is no flag: it is set and seen by the same line.
    const bool has_flag = c.flag.order && c.flag.set_line != c.flag.seen_line;
    const bool is_one_line = earlier.where.line == later.where.line && earlier.where.file == later.where.file;
    const bool may_be_update =
        found.is_update || (is_value && is_one_line && c.has_several_writers && !c.later.how.writes());
    const bool is_combination = may_be_update && combines_elements(*kernel_, later.where);
    const bool is_read_and_write = is_value && c.earlier.how.writes() != c.later.how.writes();
    const bool is_by_one = is_in_block && c.earlier.thread == c.later.thread;
    if (c.earlier.how.is_copy)
      f.advice = fmt::format("the copy may not have read it yet: its thread has to wait for it (cp.async.wait_group){}",
                             is_by_one ? "" : ", and then the others for that thread");
    else if (may_be_update && !is_combination)
      f.advice = advice_on_update(later.where.line);
    else if (is_read_and_write && !has_flag &&
             sets_what_it_has_looked_at(*kernel_, (c.earlier.how.writes() ? earlier : later).where))
      f.advice = fmt::format(
          "threads look at it and set it, in line {} among others, and either access may come first: if each order is "
          "right, make all reads and writes of it relaxed atomics (cuda::atomic_ref, memory_order_relaxed); if one "
          "thread alone may set it, use atomicCAS",
          (c.earlier.how.writes() ? earlier : later).where.line);
    else if (is_value && !is_in_block && c.has_several_writers && !c.later.how.writes() && !is_combination)
      f.advice = fmt::format(
          "several threads of block {} write it, and block {} does not wait for all of them: let only one thread do "
          "what line {} does",
          index_text(earlier.block, f.grid_size), index_text(later.block, f.grid_size), earlier.where.line);
    else if (are_plain_writes(c))
      f.advice = advice_on_writes(c, earlier.where.line, later.where.line, found.is_one_element);
    else if (is_value && has_flag && !is_in_block && c.earlier.how.writes())
      f.advice = fmt::format(
          "the flag, set in line {} and seen in line {}, is set before the value is written: write the value first, "
          "then __threadfence(), then set the flag",
          own_place(*kernel_->module, c.flag.set_line).line, own_place(*kernel_->module, c.flag.seen_line).line);
    else
      f.advice = advice_on_race(c);
    return f;
  }
  f.id = "fence.missing";
  if (c.cause == Cause::reader_fence) {
    // Nothing at all makes a write wait for the flag; of reads it is known that GPUs do them in order.
    const bool writes = c.later.how.writes();
    if (!writes) f.weight = Finding::Weight::advice;
    f.kind = "reader";
    f.headline = fmt::format("{}: {}", writes ? "FENCE MISSING" : "FENCE (advice)", where);
    f.parts = {earlier, later};
    f.advice = fmt::format(
        "the writer has a fence between value and flag, {} has none between flag and value: a __threadfence() before "
        "line {} (or {} with an acquire) keeps the value from being {} first",
        writes ? "this thread" : "the reader", later.where.line, writes ? "taking a lock" : "reading the flag",
        writes ? "written" : "read");
    return f;
  }
  f.kind = "writer";
  f.headline = fmt::format("FENCE MISSING: {}", where);
  const FlagWords words = words_of_flag(c.flag.is_lock);
  const Finding::Part set = part(words.set, c.flag.set_line, c.earlier.block, c.flag.set_by),
                      seen = part(words.seen, c.flag.seen_line, c.flag.seen_in, c.flag.seen_by);
  f.parts = {earlier, set, seen, later};
  if (c.flag.has_block_fence)
    f.details.emplace_back(
        "__threadfence_block() and the scope of a block order memory for threads of the same block only");
  if (c.flag.has_block_scope) {
    f.advice =
        "the flag has the scope of a block, and passes nothing on to other blocks: use the form without _block "
        "(cuda::thread_scope_device) to set it and to see it";
    return f;
  }
  if (c.flag.is_lock || is_in_block || !c.has_reader_fence) {
    f.advice = advice_on_fences(f.parts, c.flag.is_lock, is_in_block);
    return f;
  }
  f.advice = fmt::format(
      "the flag may be visible to other blocks before the value is: put __threadfence() between line {} and line {}, "
      "or set the flag with a release (cuda::atomic_ref, memory_order_release)",
      earlier.where.line, set.where.line);
  return f;
}

}  // namespace scanlab::vgpu
