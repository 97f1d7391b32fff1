// Blocks that repeat what an earlier block of the launch did to its shared memory.
//
// Most blocks of a grid do the same: the same loads and stores by the same patterns, the same barriers. What a check
// makes of these depends on nothing else, so where it has found nothing in a block, it has nothing to look for in
// another one that does the same. The steps of a block in which all was well are kept. A block that begins after that
// is compared with them, step by step, and the check does its work only when the block does something else: then it
// catches up on all steps so far, and goes on by itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// One of the things that a block may do.
struct BlockStep {
  enum class Kind : std::uint32_t { read, write, barrier, warp_sync, fence };

  Kind kind;
  std::uint32_t line = 0;
  Mask lanes = 0;  ///< of the first warp
  std::uint16_t warp = 0, warps = 1;
  std::uint32_t bytes = 0;
  Pattern pattern = {};  ///< of the first warp
  std::int64_t step = 0;
  const std::uint64_t* address = nullptr;  ///< of each lane, where they are no pattern

  /// Is all that a check makes of the access, but for the values, seen by its addresses?
  static bool may_be(const Access& a) { return a.order == Access::Order::weak && !a.is_async && !a.phase; }
  static BlockStep of(Kind kind, const AccessRun& run) {
    const Access& a = run.first;
    BlockStep s{kind, a.actor.line, a.mask, static_cast<std::uint16_t>(a.actor.warp)};
    s.warps = static_cast<std::uint16_t>(run.count);
    s.bytes = a.bytes;
    s.step = run.step;
    s.address = a.address;
    if (a.is_pattern()) s.pattern = a;
    return s;
  }
  static BlockStep of(Kind kind, unsigned warp, Mask lanes) {
    return {kind, 0, lanes, static_cast<std::uint16_t>(warp)};
  }
  /// The access again, by a block, but for the values.
  AccessRun run(std::uint64_t block = 0) const {
    AccessRun made;
    static_cast<Pattern&>(made.first) = pattern;
    made.first.actor = {block, warp, 0, line};
    made.first.space = ptx::StateSpace::shared;
    made.first.mask = lanes;
    made.first.bytes = bytes;
    made.first.address = address;
    made.count = warps;
    made.step = step;
    return made;
  }

  bool is(Kind what, unsigned of_warp, Mask its_lanes) const {
    return kind == what && warp == of_warp && lanes == its_lanes;
  }
  bool is(Kind what, const AccessRun& run) const {
    const Access& a = run.first;
    const auto differ = [](auto x, auto y) { return static_cast<std::uint64_t>(x) ^ static_cast<std::uint64_t>(y); };
    if (differ(kind, what) | differ(line, a.actor.line) | differ(lanes, a.mask) | differ(warp, a.actor.warp) |
        differ(warps, run.count) | differ(bytes, a.bytes))
      return false;
    if (address || a.address) return address && a.address && has_same_addresses(a.address);
    return (differ(pattern.first, a.first) | differ(pattern.stride, a.stride) | differ(step, run.step) |
            differ(pattern.row_lanes, a.row_lanes) | differ(pattern.row_step, a.row_step)) == 0;
  }

 private:
  bool has_same_addresses(const std::uint64_t* other) const {
    return !lanes_where(lanes, [&](unsigned lane) { return address[lane] != other[lane]; });
  }
};

class RepeatedBlocks {
  struct Steps {
    std::vector<BlockStep> all;
    std::deque<std::array<std::uint64_t, warp_size>> addresses;  ///< of some of them
  };

 public:
  /// Of a launch that begins.
  explicit RepeatedBlocks(bool is_on = false) : attempts_(is_on ? most_attempts : 0) {}

  /// One block, from its first step to its last.
  class Block {
   public:
    void begin(const RepeatedBlocks& all) {
      known_ = all.known_;
      at_ = 0;
      is_kept_ = !known_ && all.attempts_ > 0;
      own_ = nullptr;
    }
    /// Does the block do what an earlier one did, up to now?
    bool is_repeating() const { return known_ != nullptr; }
    /// True when there is nothing to do, since the step is a repetition. Else `catch_up(steps)` has been called with
    /// those for which this was true, and this will never be true again for the block.
    /// `step`: its kind, and an access run, or a warp and lanes.
    template <class CatchUp, class... Step>
    bool repeats(CatchUp catch_up, const Step&... step) {
      if (known_ && at_ < known_->all.size() && known_->all[at_].is(step...)) [[likely]] {
        ++at_;
        return true;
      }
      if (known_)
        part(catch_up);
      else if (is_kept_)
        keep(BlockStep::of(step...));
      return false;
    }
    /// The block does what is no step, or what was found depends on more than steps: it is by itself from here on.
    template <class CatchUp>
    void part(CatchUp catch_up) {
      is_kept_ = false;
      if (!known_) return;
      has_parted_ = true;
      const auto known = std::exchange(known_, nullptr);
      catch_up(std::span(known->all).first(at_));
    }
    /// The same for a block that repeats nothing.
    void part() { is_kept_ = false; }
    /// The block has ended.
    void end(RepeatedBlocks& all) {
      if (std::exchange(has_parted_, false)) {
        all.known_ = nullptr;
      } else if (known_) {
        all.attempts_ = most_attempts;
      } else if (std::exchange(is_kept_, false) && own_ && !all.known_) {
        all.known_ = std::move(own_);
        --all.attempts_;
      }
      known_ = nullptr;
    }

   private:
    void keep(const BlockStep& step) {
      if (!own_) own_ = std::make_shared<Steps>();
      is_kept_ = own_->all.size() < most_steps;
      BlockStep& kept = own_->all.emplace_back(step);
      if (!step.address) return;
      auto& addresses = own_->addresses.emplace_back();
      std::copy_n(step.address, warp_size, addresses.begin());
      kept.address = addresses.data();
    }

    std::shared_ptr<const Steps> known_;  ///< that the block repeats, if it does
    std::size_t at_ = 0;
    std::shared_ptr<Steps> own_;
    bool is_kept_ = false;     ///< what it does goes to `own_`
    bool has_parted_ = false;  ///< it did something else than is known
  };

 private:
  static constexpr std::size_t most_steps = 1 << 14;
  /// So many blocks in a row may turn out to be unlike the next ones.
  static constexpr unsigned most_attempts = 4;

  std::shared_ptr<const Steps> known_;
  unsigned attempts_ = 0;
};

}  // namespace scanlab::vgpu
