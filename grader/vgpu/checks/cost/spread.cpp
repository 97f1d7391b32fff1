#include "vgpu/checks/cost/spread.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace scanlab::vgpu {
namespace {

constexpr std::uint64_t bytes_a_word = 4;

std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) {
  return (address + bytes + bytes_a_word - 1) / bytes_a_word;
}

}  // namespace

void Ranges::add(std::uint64_t begin, std::uint64_t end) {
  if (!ranges_.empty()) {
    Range& last = ranges_.back();
    if (begin >= last.begin && begin <= last.end) {
      last.end = std::max(last.end, end);
      return;
    }
  }
  if (ranges_.size() == next_merge_) {
    merge();
    next_merge_ = std::max(first_merge, 2 * ranges_.size());
  }
  ranges_.push_back({begin, end});
}

std::uint64_t Ranges::count() {
  merge();
  std::uint64_t sum = 0;
  for (const Range& r : ranges_) sum += r.end - r.begin;
  return sum;
}

void Ranges::merge() {
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::size_t kept = 0;
  for (const Range& r : ranges_) {
    if (kept > 0 && r.begin <= ranges_[kept - 1].end) {
      ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, r.end);
    } else {
      ranges_[kept++] = r;
    }
  }
  ranges_.resize(kept);
}

void Spread::kernel_begin(const KernelInfo&) {
  warp_ += std::exchange(launch_warp_, 0);
  block_ += std::exchange(launch_block_, 0);
  blocks_.clear();  // those that were stopped
  latest_ = nullptr;
}

Spread::Running& Spread::running(std::uint64_t block) {
  if (latest_ == nullptr || latest_block_ != block) {
    latest_ = &blocks_[block];
    latest_block_ = block;
  }
  return *latest_;
}

void Spread::executed_by(std::uint64_t block, std::uint32_t warp, std::uint64_t count) {
  std::vector<std::uint64_t>& instructions = running(block).instructions;
  if (instructions.size() <= warp) instructions.resize(warp + 1);
  instructions[warp] += count;
}

void Spread::block_end(std::uint64_t block, std::uint32_t) {
  Running& ended = running(block);
  const std::uint64_t words = ended.words.count(), shares = std::max(words, section_words);
  for (const std::uint64_t count : ended.instructions)
    launch_warp_ = std::max(launch_warp_, count * section_words / shares);
  launch_block_ = std::max(launch_block_, words);
  blocks_.erase(block);
  latest_ = nullptr;
}

void Spread::join(Observer& fork) {
  const auto& other = static_cast<const Spread&>(fork);
  launch_warp_ = std::max(launch_warp_, other.launch_warp_);
  launch_block_ = std::max(launch_block_, other.launch_block_);
}

void Spread::touch(const Access& a) {
  if ((a.space != ptx::StateSpace::global && a.space != ptx::StateSpace::constant) || a.mask == 0) return;
  Ranges& words = running(a.actor.block).words;
  const auto first = first_lane(a.mask);
  const auto last = 31 - static_cast<unsigned>(std::countl_zero(a.mask));
  const bool has_no_gap = std::popcount(a.mask) == static_cast<int>(last - first + 1);
  if (has_no_gap && a.is_affine() && a.stride >= 0 && static_cast<std::uint64_t>(a.stride) <= a.bytes) {
    words.add(a.at(first) / bytes_a_word, end_of(a.at(last), a.bytes));
    return;
  }
  for (const unsigned lane : lanes_in(a.mask)) {
    const std::uint64_t address = a.at(lane);
    words.add(address / bytes_a_word, end_of(address, a.bytes));
  }
}

}  // namespace scanlab::vgpu
