// The check barrier.divergent: the threads of a warp that meet at a barrier stand at different __syncthreads().
//
// A GPU counts arrivals, not lines, so the block goes on: but some threads are a barrier ahead of the others from there
// on. Whole warps that meet from different lines are not reported: programs whose warps have different roles are
// written like that, and GPUs promise as much. Where no thread arrives any more the device itself reports a deadlock,
// under the same id. Advice, under the id barrier.exited: threads have returned before the others meet, which is
// defined on GPUs since Volta, where they count as arrived, and a mistake as soon as they have something to do behind
// the barrier.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/checks/check.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

/// That of __syncthreads().
constexpr std::uint32_t own_barrier = 0;

class DivergentBarriers : public Check {
 public:
  explicit DivergentBarriers(const bool& across_warps) : across_warps_(across_warps) {}

  /// Arrivals by another instruction than lanes of the same warp that wait already are reported to all observers.
  std::uint32_t interests() const override { return across_warps_ ? std::uint32_t{arrivals} : 0; }
  void kernel_begin(const KernelInfo& kernel) override {
    kernel_ = std::make_shared<const KernelInfo>(kernel);
    found_.clear();
    exited_.clear();
  }

  void block_begin(std::uint64_t, std::uint32_t slot) override {
    if (arrived_.size() <= slot) arrived_.resize(slot + 1);
    arrived_[slot].clear();
  }

  void loads(const AccessRun&) override {}  // by default each warp's are reported one by one
  void stores(const AccessRun&) override {}

  void barrier_arrive(const Actor& actor, Mask lanes, std::uint32_t id, Arrival how) override {
    if (id != own_barrier || how != Arrival::waits) return;
    std::vector<Arrived>& arrived = arrived_[actor.slot];
    for (const Arrived& other : arrived)
      if (other.line == actor.line && other.thread / warp_size == actor.warp) return;
    arrived.push_back({actor.line, actor.warp * warp_size + first_lane(lanes)});
  }

  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override {
    if (id != own_barrier) return;
    std::vector<Arrived>& arrived = arrived_[actor.slot];
    // nvcc may make two of one barrier: what counts is the learner's line.
    for (std::size_t k = 1; k < arrived.size() && meeting == Meeting::all; ++k) {
      const auto of_warp = std::ranges::find_if(arrived, [&](const Arrived& a) {
        return across_warps_ || a.thread / warp_size == arrived[k].thread / warp_size;
      });
      const auto [first, other] = std::minmax(*of_warp, arrived[k], [](auto& a, auto& b) { return a.line < b.line; });
      if (own_place(*kernel_->module, first.line).is_same_line(own_place(*kernel_->module, other.line))) continue;
      add({first.line, other.line}, {actor.block, {first.thread, other.thread}, 1});
    }
    arrived.clear();
  }

  void barrier_without(const Actor& actor, std::uint32_t id, std::uint32_t exited, std::uint32_t first) override {
    if (id == own_barrier) add(actor.line, {actor.block, exited, first, actor.warp * warp_size});
  }

  void kernel_end() override {
    add_exited();
    for (const auto& [lines, example] : found_) {
      Finding finding = finding_in(*kernel_, example.block);
      finding.id = "barrier.divergent";
      finding.headline = fmt::format("BARRIER: not all threads wait at the same __syncthreads(), kernel {}, block {}",
                                     finding.kernel, index_text(finding.block, kernel_->grid));
      for (const auto& [line, thread] :
           {std::pair{lines.first, example.threads[0]}, {lines.second, example.threads[1]}})
        finding.parts.push_back(part_by(*kernel_, "wait", line, thread));
      finding.advice =
          "some threads never reach one of them, and are a barrier ahead of the others from there on: move it out of "
          "the branch or the loop that not all threads go through";
      finding.count = example.count;
      findings_.add(std::move(finding));
    }
    kernel_.reset();
  }

  std::unique_ptr<Observer> fork() const override {
    auto other = std::make_unique<DivergentBarriers>(across_warps_);
    other->kernel_ = kernel_;
    return other;
  }

  void join(Observer& fork) override {
    const auto& other = static_cast<DivergentBarriers&>(fork);
    for (const auto& [lines, example] : other.found_) add(lines, example);
    for (const auto& [line, exited] : other.exited_) add(line, exited);
  }

 private:
  /// A line, and the first thread of a warp that has arrived there.
  struct Arrived {
    std::uint32_t line = 0;
    unsigned thread = 0;
  };
  struct Example {
    std::uint64_t block = 0;
    unsigned threads[2] = {0, 0};
    std::uint64_t count = 0;
  };
  using Lines = std::pair<std::uint32_t, std::uint32_t>;
  /// The threads of a block without which a barrier has completed.
  struct Exited {
    std::uint64_t block = 0;
    unsigned count = 0, first = 0;  ///< how many, and which is the first
    unsigned waits = 0;             ///< the first thread of a warp that was waited for
  };

  /// Of the lowest block; where the block repeats it, the first time.
  void add(std::uint32_t line, const Exited& exited) {
    const auto [known, is_new] = exited_.try_emplace(line, exited);
    if (!is_new && exited.block < known->second.block) known->second = exited;
  }

  /// The first line of each kernel is enough: those behind it have the same cause.
  void add_exited() {
    if (exited_.empty()) return;
    const auto& [line, exited] = *std::ranges::min_element(
        exited_, {}, [&](const auto& of) { return std::pair(own_place(*kernel_->module, of.first).line, of.first); });
    Finding finding = finding_in(*kernel_, exited.block);
    finding.id = "barrier.exited";
    finding.weight = Finding::Weight::advice;
    finding.headline =
        fmt::format("BARRIER (advice): threads have returned before __syncthreads(), kernel {}, block {}",
                    finding.kernel, index_text(finding.block, kernel_->grid));
    finding.parts.push_back(part_by(*kernel_, "wait", line, exited.waits));
    unsigned first[3];
    set_index(first, exited.first, kernel_->block);
    finding.details.push_back(fmt::format("{} of {} threads have returned, the first of them is thread {}",
                                          exited.count, kernel_->block.count(), index_text(first, kernel_->block)));
    finding.advice =
        "a barrier is for all threads of the block: let those without work skip the work, and not the barrier; who has "
        "returned counts as arrived on today's GPUs, but can load or add nothing for the others any more";
    findings_.add(std::move(finding));
  }

  void add(const Lines& lines, const Example& example) {
    const auto [known, is_new] = found_.try_emplace(lines, example);
    if (is_new) return;
    const std::uint64_t count = known->second.count + example.count;
    if (example.block < known->second.block) known->second = example;
    known->second.count = count;
  }

  const bool& across_warps_;                  ///< see CheckSuite
  std::shared_ptr<const KernelInfo> kernel_;  ///< while it runs
  std::vector<std::vector<Arrived>>
      arrived_;                     ///< at the block's own barrier, by resident place: an entry per line and warp
  std::map<Lines, Example> found_;  ///< in this launch
  std::map<std::uint32_t, Exited> exited_;  ///< in this launch, by line
};

}  // namespace

std::unique_ptr<Check> make_divergent_barriers(const bool& across_warps) {
  return std::make_unique<DivergentBarriers>(across_warps);
}

}  // namespace scanlab::vgpu
