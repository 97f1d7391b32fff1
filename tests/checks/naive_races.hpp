// The race check as its definition has it: a vector clock for each thread, and for each byte every access. Slow, and
// simple enough to be trusted; the check proper is compared with it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "vgpu/checks/footprint.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::test {

/// Kernel, array, and the two places, the earlier access first.
using Verdict = std::tuple<std::string, std::string, std::string, std::string>;

class NaiveRaces : public vgpu::Observer {
  using Clock = std::vector<std::uint32_t>;
  using How = vgpu::How;
  using Mask = vgpu::Mask;

  struct AccessedSpan {
    unsigned thread;
    std::uint32_t time;
    std::uint32_t line;
    How how;
    unsigned syncs = 0;  ///< of its warp, before
  };
  struct Copy {
    unsigned thread;
    std::uint32_t line;
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint32_t commits;
  };
  struct Phase {
    std::map<std::uint64_t, Clock> arrived;  ///< by phase
  };
  struct Block {
    std::vector<Clock> of;  ///< each thread's
    std::vector<bool> has_fenced;
    std::map<unsigned, unsigned> syncs;  ///< how often lanes of a warp have made known what they did
    std::map<std::uint64_t, std::vector<AccessedSpan>> accesses;  ///< by byte
    std::map<std::uint32_t, Clock> barriers;
    std::map<std::uint32_t, std::set<unsigned>> waiting;
    std::map<std::uint64_t, Clock> released;
    std::map<std::uint64_t, Phase> phases;
    std::map<unsigned, Clock> fenced;
    std::vector<Copy> copies;
  };

 public:
  const std::set<Verdict>& verdicts() const { return verdicts_; }
  void reset() { verdicts_.clear(); }

  void kernel_begin(const vgpu::KernelInfo& kernel) override { kernel_ = kernel; }
  void block_begin(std::uint64_t, std::uint32_t slot) override {
    Block& b = blocks_[slot];
    b = {};
    const auto threads = static_cast<unsigned>(kernel_.block.count());
    b.of.assign(threads, Clock(threads, 0));
    for (unsigned t = 0; t < threads; ++t) b.of[t][t] = 1;
    b.has_fenced.assign(threads, false);
  }

  void load(const vgpu::Access& a) override { access(a, How::Kind::read); }
  void store(const vgpu::Access& a) override { access(a, a.is_async ? How::Kind::copy : How::Kind::write); }
  void atomic(const vgpu::Access& a) override { access(a, How::Kind::atomic); }

  void fence(const vgpu::Actor& actor, Mask lanes, vgpu::Access::Scope) override {
    Block& b = blocks_[actor.slot];
    each(actor, lanes, [&](unsigned t, unsigned) {
      b.has_fenced[t] = true;
      b.fenced[t] = {};
      release(b, t, b.fenced[t]);
    });
  }

  void barrier_arrive(const vgpu::Actor& actor, Mask lanes, std::uint32_t id, Arrival how) override {
    Block& b = blocks_[actor.slot];
    each(actor, lanes, [&](unsigned t, unsigned) {
      release(b, t, b.barriers[id]);
      if (how == Arrival::waits) b.waiting[id].insert(t);
    });
  }
  void barrier_complete(const vgpu::Actor& actor, std::uint32_t id, Meeting meeting) override {
    Block& b = blocks_[actor.slot];
    if (meeting == Meeting::all) {
      Clock all;
      for (unsigned t = 0; t < b.of.size(); ++t) release(b, t, all);
      for (Clock& c : b.of) join(c, all);
    } else {
      for (const unsigned t : b.waiting[id]) join(b.of[t], b.barriers[id]);
    }
    b.barriers.erase(id);
    b.waiting.erase(id);
    forget(b);
  }
  void warp_sync(const vgpu::Actor& actor, Mask lanes, WarpSync) override {
    Block& b = blocks_[actor.slot];
    unsigned count = 0;
    each(actor, lanes, [&](unsigned, unsigned) { ++count; });
    if (count < 2) return;
    Clock all;
    each(actor, lanes, [&](unsigned t, unsigned) { release(b, t, all); });
    each(actor, lanes, [&](unsigned t, unsigned) { join(b.of[t], all); });
  }

  void async_commit(const vgpu::Actor& actor, Mask lanes) override {
    each(actor, lanes, [&](unsigned t, unsigned) {
      for (Copy& c : blocks_[actor.slot].copies) c.commits += c.thread == t;
    });
  }
  void async_wait(const vgpu::Actor& actor, Mask lanes, std::uint32_t left) override {
    Block& b = blocks_[actor.slot];
    std::erase_if(b.copies, [&](const Copy& c) {
      const bool waits = c.thread / vgpu::warp_size == actor.warp && (lanes >> c.thread % vgpu::warp_size & 1);
      if (!waits || (left != wait_for_all && c.commits <= left)) return false;
      const How how{How::Kind::copy, How::Strength::weak};
      for (std::uint64_t k = 0; k < c.bytes; ++k)
        b.accesses[c.address + k].push_back({c.thread, b.of[c.thread][c.thread], c.line, how, syncs_of(b, c.thread)});
      return true;
    });
  }

 private:
  template <class Visit>
  void each(const vgpu::Actor& actor, Mask lanes, Visit visit) {
    for (; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const unsigned thread = actor.warp * vgpu::warp_size + lane;
      if (thread < kernel_.block.count()) visit(thread, lane);
    }
  }
  static void join(Clock& to, const Clock& from) {
    to.resize(std::max(to.size(), from.size()));
    for (std::size_t k = 0; k < from.size(); ++k) to[k] = std::max(to[k], from[k]);
  }
  static void release(Block& b, unsigned t, Clock& to) {
    join(to, b.of[t]);
    ++b.of[t][t];
    ++b.syncs[t / vgpu::warp_size];
  }
  static unsigned syncs_of(Block& b, unsigned t) { return b.syncs[t / vgpu::warp_size]; }

  void access(const vgpu::Access& a, How::Kind kind) {
    const bool is_shared = a.space == ptx::StateSpace::shared;
    if (!is_shared && a.space != ptx::StateSpace::global) return;
    Block& b = blocks_[a.actor.slot];
    if (is_shared) {
      if (kind == How::Kind::write) compare_lanes(a);
      // All lanes at once: none is before another.
      for (const bool keeps : {false, true})
        each(a.actor, a.mask, [&](unsigned t, unsigned lane) { access_all(b, a, t, lane, how_of(b, a, kind), keeps); });
    }
    if (a.order == vgpu::Access::Order::weak && kind != How::Kind::atomic) return;
    each(a.actor, a.mask, [&](unsigned t, unsigned lane) { synchronise(b, a, kind, t, lane); });
  }

  How how_of(const Block& b, const vgpu::Access& a, How::Kind kind) {
    using enum How::Strength;
    if (kind == How::Kind::atomic) return {kind, strong};
    if (a.order == vgpu::Access::Order::weak) return {kind, weak};
    bool have_fenced = true;
    each(a.actor, a.mask, [&](unsigned t, unsigned) { have_fenced &= b.has_fenced[t]; });
    if (kind == How::Kind::write && a.order == vgpu::Access::Order::volatile_ && !have_fenced) return {kind, unfenced};
    return {kind, strong};
  }

  void access_all(Block& b, const vgpu::Access& a, unsigned t, unsigned lane, How how, bool keeps) {
    const std::uint64_t at = a.at(lane);
    if (how.kind == How::Kind::copy && keeps) b.copies.push_back({t, a.actor.line, at, a.bytes, 0});
    for (std::uint64_t k = 0; k < a.bytes; ++k) {
      if (!keeps)
        for (const Copy& c : b.copies)
          if (at + k >= c.address && at + k < c.address + c.bytes) report(at + k, c.line, a.actor.line);
      const AccessedSpan now{t, b.of[t][t], a.actor.line, how, syncs_of(b, t)};
      if (keeps)
        b.accesses[at + k].push_back(now);
      else
        compare(b, at + k, now, how.kind == How::Kind::write && !changes_memory(a, lane, k, 1));
    }
  }

  /// `is_same`: it writes what is there.
  void compare(Block& b, std::uint64_t byte, const AccessedSpan& now, bool is_same) {
    for (const AccessedSpan& then : b.accesses[byte]) {
      if (then.thread == now.thread || b.of[now.thread][then.thread] >= then.time) continue;
      if (!vgpu::can_race(then.how, now.how) || (then.how.writes() && is_same)) continue;
      if (!now.how.writes() && has_written(b, byte, now.thread, then)) continue;
      if (!then.how.writes() && is_same && has_written(b, byte, then.thread, now)) continue;
      if (is_loop_of_toolkit(then, now)) continue;
      report(byte, then.line, now.line);
    }
  }

  /// By the same line as `other`, and no lane of its warp has synchronised since.
  static bool has_written(Block& b, std::uint64_t byte, unsigned thread, const AccessedSpan& other) {
    return std::ranges::any_of(b.accesses[byte], [&](const AccessedSpan& own) {
      return own.thread == thread && own.line == other.line && own.how == other.how &&
             own.syncs == b.syncs[thread / vgpu::warp_size];
    });
  }

  /// A compare-and-swap loop of a header begins with a plain read.
  bool is_loop_of_toolkit(const AccessedSpan& a, const AccessedSpan& b) const {
    const auto is_of_toolkit = [&](const AccessedSpan& t) {
      const auto places = vgpu::places_of(*kernel_.module, t.line);
      return !places.empty() && vgpu::of_toolkit(places.front());
    };
    const bool is_pair = (a.how.kind == How::Kind::read && b.how.kind == How::Kind::atomic) ||
                         (b.how.kind == How::Kind::read && a.how.kind == How::Kind::atomic);
    return is_pair && is_of_toolkit(a) && is_of_toolkit(b);
  }

  void compare_lanes(const vgpu::Access& a) {
    each(a.actor, a.mask, [&](unsigned, unsigned lane) {
      each(a.actor, a.mask, [&](unsigned, unsigned other) {
        if (other < lane && a.at(other) == a.at(lane) && stores_differ(a, other, lane))
          report(a.at(lane), a.actor.line, a.actor.line);
      });
    });
  }

  void synchronise(Block& b, const vgpu::Access& a, How::Kind kind, unsigned t, unsigned lane) {
    using Order = vgpu::Access::Order;
    const std::uint64_t at = a.at(lane);
    const bool acquires = a.order == Order::acquire || a.order == Order::acq_rel,
               releases = a.order == Order::release || a.order == Order::acq_rel;
    if (a.phase) {
      const std::uint64_t phase = a.phase[lane];
      if (a.is_async) async_wait(a.actor, Mask{1} << lane, wait_for_all);
      for (auto& [of, clock] : b.phases[at].arrived)
        if (acquires && of <= phase) join(b.of[t], clock);
      if (releases) release(b, t, b.phases[at].arrived[phase]);
      return;
    }
    if (kind != How::Kind::write && b.released.contains(at)) join(b.of[t], b.released[at]);
    if (kind == How::Kind::read) return;
    if (kind == How::Kind::write) b.released.erase(at);
    if (b.fenced.contains(t)) join(b.released[at], b.fenced[t]);
    if (releases) release(b, t, b.released[at]);
  }

  /// Accesses that have happened before whatever any thread does next cannot race any more.
  void forget(Block& b) {
    for (auto& [byte, accesses] : b.accesses)
      std::erase_if(accesses, [&](const AccessedSpan& then) {
        return std::ranges::all_of(b.of, [&](const Clock& c) { return c[then.thread] >= then.time; });
      });
    std::erase_if(b.accesses, [](const auto& of_byte) { return of_byte.second.empty(); });
  }

  void report(std::uint64_t byte, std::uint32_t earlier, std::uint32_t later) {
    const vgpu::SharedVariable* array = nullptr;
    for (const vgpu::SharedVariable& v : kernel_.shared)
      if (v.offset <= byte) array = &v;
    const auto place = [&](std::uint32_t line) {
      const vgpu::SourcePlace p = vgpu::own_place(*kernel_.module, line);
      return p.file + ":" + std::to_string(p.line);
    };
    verdicts_.insert({ptx::source_name(kernel_.name), array ? array->name : "?", place(earlier), place(later)});
  }

  vgpu::KernelInfo kernel_;
  std::map<std::uint32_t, Block> blocks_;
  std::set<Verdict> verdicts_;
};

}  // namespace scanlab::test
