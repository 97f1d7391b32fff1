#include "vgpu/checks/cost/line_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "vgpu/checks/cost/access_cost.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

using Cost = LineCosts::Cost;

std::string times_text(double times) {
  return times < 9.95 ? fmt::format("{:.1f}", times) : fmt::format("{:.0f}", times);
}

std::uint64_t lanes(Mask mask) {
  return static_cast<std::uint64_t>(std::popcount(mask));
}

}  // namespace

void LineCosts::Line::add(const Line& other) {
  requests += other.requests;
  replays += other.replays;
  if (other.ways > ways) {
    ways = other.ways;
    stride = other.stride;
    bytes = other.bytes;
    array = other.array;
  }
  global_requests += other.global_requests;
  sectors += other.sectors;
  global_bytes += other.global_bytes;
  branches += other.branches;
  divergent += other.divergent;
  lanes_apart += other.lanes_apart;
  barriers += other.barriers;
}

void LineCosts::kernel_begin(const KernelInfo& kernel) {
  kernel_ = std::make_shared<KernelInfo>(kernel);
  running_.assign(kernel.module->lines.size(), {});
  blocks_[ptx::source_name(kernel.name)] += kernel.grid.count();
}

void LineCosts::kernel_end() {
  const std::string name = ptx::source_name(kernel_->name);
  for (std::uint32_t index = 0; index < running_.size(); ++index) {
    if (!running_[index].is_used()) continue;
    const SourcePlace place = own_place(*kernel_->module, index);
    lines_[{name, place.file, place.line}].add(running_[index]);
  }
  running_.clear();
  kernel_.reset();
}

void LineCosts::request(const Access& a, std::uint64_t times) {
  Line& line = running_[a.actor.line];
  if (a.space == ptx::StateSpace::shared) {
    line.requests += times;
    if (is_row(a)) return;
    const unsigned taken = passes(a), least = passes_without_conflict(a);
    line.replays += times * (taken - least);
    if (const unsigned ways = least ? taken / least : 1; ways > line.ways) {
      line.ways = ways;
      line.stride = a.is_affine() ? a.stride : 0;
      line.bytes = a.bytes;
      line.array = kernel_->shared[array_at(*kernel_, a.at(first_lane(a.mask)))].name;
    }
  } else if (a.space == ptx::StateSpace::global) {
    line.global_requests += times;
    line.sectors += times * sectors(a);
    line.global_bytes += times * a.bytes * lanes(a.mask);
  }
}

void LineCosts::requests(const AccessRun& run) {
  for_each_cost(run, [&](const Access& a, std::uint64_t times) { request(a, times); });
}

void LineCosts::branch(const Actor& actor, Mask active, Mask taken) {
  Line& line = running_[actor.line];
  ++line.branches;
  if (!taken || taken == active) return;
  ++line.divergent;
  line.lanes_apart += std::min(lanes(taken), lanes(active & ~taken));
}

std::unique_ptr<Observer> LineCosts::fork() const {
  auto made = std::make_unique<LineCosts>();
  made->kernel_ = kernel_;
  made->running_.resize(running_.size());
  return made;
}

void LineCosts::join(Observer& fork) {
  const std::vector<Line>& others = static_cast<LineCosts&>(fork).running_;
  for (std::size_t index = 0; index < running_.size(); ++index) running_[index].add(others[index]);
}

namespace {

/// What findings say of a cost, whichever line has it; by Cost.
struct CostWords {
  const char *id, *does, *advice;
};
constexpr CostWords words_by_cost[] = {
    {"cost.bank_conflicts", "access",
     "let neighbouring threads use neighbouring elements, or put a free word after every 32"},
    {"cost.uncoalesced", "access",
     "let neighbouring threads read and write neighbouring elements: 32 floats side by side fill 4 sectors"},
    {"cost.divergence", "branch",
     "both ways are taken one after the other: let whole warps go one way, threads with work side by side"},
    {"cost.barrier", "barrier",
     "a barrier is needed only between a write and another thread's access to the same element"},
    {"cost.traffic", "access",
     "read and write each element once, and keep in registers or shared memory what is needed again"},
};

/// What a line costs beyond what it needs; 0: nothing worth reporting.
std::uint64_t excess(const auto& line, Cost cost) {
  const std::uint64_t needed = (line.global_bytes + sector_bytes - 1) / sector_bytes;
  const std::uint64_t by_cost[] = {line.replays, line.sectors - std::min(line.sectors, needed), line.lanes_apart,
                                   line.barriers, line.global_bytes};
  return by_cost[static_cast<std::size_t>(cost)];
}

}  // namespace

Finding LineCosts::describe(const Place& place, const Line& line, Cost cost) const {
  Finding f;
  f.weight = Finding::Weight::advice;
  f.kernel = place.kernel;
  f.count = 1;
  const CostWords& words = words_by_cost[static_cast<std::size_t>(cost)];
  f.id = words.id;
  f.advice = words.advice;
  Finding::Part& part = f.parts.emplace_back();
  part.does = words.does;
  part.where.file = place.file;
  part.where.line = place.line;
  switch (cost) {
    case Cost::bank_conflicts: {
      f.variable = line.array;
      f.headline = fmt::format("BANK CONFLICTS: shared {}, {} extra passes for {} requests, up to {} ways, kernel {}",
                               line.array, line.replays, line.requests, line.ways, place.kernel);
      const std::int64_t apart = line.stride / bank_bytes;
      if (line.stride % bank_bytes == 0 && apart != 0)
        f.details.push_back(fmt::format("neighbouring threads stand {} words apart, so {} of a warp meet in one bank",
                                        std::abs(apart), line.ways));
      break;
    }
    case Cost::sectors:
      f.headline =
          fmt::format("UNCOALESCED: {} sectors of 32 bytes for {} bytes, {} times as many as they fill, kernel {}",
                      line.sectors, line.global_bytes,
                      times_text(static_cast<double>(line.sectors) * sector_bytes /
                                 static_cast<double>(std::max<std::uint64_t>(line.global_bytes, 1))),
                      place.kernel);
      break;
    case Cost::divergence:
      f.headline = fmt::format("DIVERGENCE: {} of {} branches send the lanes of a warp two ways, kernel {}",
                               line.divergent, line.branches, place.kernel);
      break;
    case Cost::barriers: {
      const double each = static_cast<double>(line.barriers) / static_cast<double>(blocks_.at(place.kernel));
      f.headline = fmt::format("BARRIER: {:.3g} a block, kernel {}", each, place.kernel);
      break;
    }
    case Cost::traffic:
      f.headline = fmt::format("TRAFFIC: {} bytes of global memory in {} requests, kernel {}", line.global_bytes,
                               line.global_requests, place.kernel);
      break;
  }
  return f;
}

std::vector<Finding> LineCosts::findings(Cost cost, std::size_t most) const {
  std::vector<std::pair<const Place*, const Line*>> costly;
  for (const auto& [place, line] : lines_)
    if (excess(line, cost)) costly.emplace_back(&place, &line);
  std::ranges::stable_sort(costly, std::greater{}, [&](const auto& each) { return excess(*each.second, cost); });
  if (costly.size() > most) costly.resize(most);
  std::vector<Finding> findings;
  for (const auto& [place, line] : costly) findings.push_back(describe(*place, *line, cost));
  return findings;
}

}  // namespace scanlab::vgpu
