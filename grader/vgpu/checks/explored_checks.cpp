#include "vgpu/checks/explored_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {

std::unique_ptr<Check> make_divergent_barriers(const bool& across_warps);

// --- reads of what nobody has written --------------------------------------------------------------------------------

void UnwrittenReads::kernel_begin(const KernelInfo& kernel) {
  kernel_ = kernel;
  is_known_ = false;
  for (const auto& [first, bytes] : ranges_) written_.remove(first, bytes);
  ranges_.clear();
}

void UnwrittenReads::block_begin(std::uint64_t, std::uint32_t slot) {
  if (shared_.size() <= slot) shared_.resize(slot + 1);
  shared_[slot].begin(kernel_);
}

void UnwrittenReads::loads(const AccessRun& run) {
  if (is_known_) return;
  const Actor& actor = run.first.actor;
  bool is_unwritten = false;
  if (run.first.space == ptx::StateSpace::shared)
    is_unwritten = !shared_[actor.slot].has_all(run);
  else if (run.first.space == ptx::StateSpace::global)
    for_each_span(run, [&](Address first, std::uint64_t bytes) {
      if (before_.has_written(first, bytes)) return;
      for (std::uint64_t k = 0; k < bytes; ++k)
        is_unwritten |= !written_.has(first + k) && !before_.has_written(first + k, 1);
    });
  if (is_unwritten) note(actor);
}

void UnwrittenReads::note(const Actor& actor) {
  is_known_ = true;
  report_({.what = Breach::What::unwritten_read, .where = own_place(*kernel_.module, actor.line)});
}

/// The write before it may have been in this run; in another it is not.
void UnwrittenReads::may_read_initial(const Actor& actor, std::uint64_t address, std::uint32_t bytes) {
  if (!is_known_ && !before_.has_written(address, bytes)) note(actor);
}

void UnwrittenReads::stores(const AccessRun& run) {
  if (run.first.space == ptx::StateSpace::shared) {
    shared_[run.first.actor.slot].write(run);
  } else if (run.first.space == ptx::StateSpace::global) {
    for_each_span(run, [&](Address first, std::uint64_t bytes) {
      if (before_.has_written(first, bytes) || written_.has_all(first, bytes)) return;
      written_.add(first, bytes);
      ranges_.emplace_back(first, bytes);
    });
  }
}

void UnwrittenReads::atomic(const Access& access) {
  load(access);
  store(access);
}

// --- stores of lanes -------------------------------------------------------------------------------------------------

void LaneStores::store(const Access& a) {
  const bool is_apart = a.is_pattern() && a.is_affine() && static_cast<std::uint64_t>(std::abs(a.stride)) >= a.bytes;
  if (a.space != ptx::StateSpace::global || a.is_async || is_apart) return;
  for (const unsigned lane : lanes_in(a.mask))
    for (const unsigned other : lanes_in(a.mask & ~((Mask{2} << lane) - 1)))
      if (a.at(lane) == a.at(other) && stores_differ(a, lane, other))
        return report_({.what = Breach::What::mistake,
                        .where = own_place(*module_, a.actor.line),
                        .said = "RACE (write-after-write) between lanes of one store"});
}

// --- read-only loads
// --------------------------------------------------------------------------------------------------

void ReadOnlyLoads::begin_launch() {
  module_ = nullptr;
  for (const Read& read : std::exchange(reads_, {})) read_.remove(read.first, read.end - read.first);
  for (const auto& [first, bytes] : std::exchange(writes_, {})) written_.remove(first, bytes);
}

void ReadOnlyLoads::kernel_begin(const KernelInfo& kernel) {
  if (module_ == kernel.module) return;
  module_ = kernel.module;
  has_loads_ = std::ranges::any_of(module_->functions, [](const ptx::Function& function) {
    return std::ranges::any_of(function.instructions, [](const ptx::Instruction& in) {
      return in.opcode == "ldu" || (in.opcode == "ld" && in.has("nc"));
    });
  });
}

void ReadOnlyLoads::load(const Access& access) {
  if (!access.is_read_only) return;
  for_each_span(access, [&](Address first, std::uint64_t bytes) {
    if (read_.has_all(first, bytes)) return;
    read_.add(first, bytes);
    reads_.push_back({first, first + bytes, access.actor.line});
    for (std::uint64_t k = 0; k < bytes; ++k)
      if (written_.has(first + k)) return note(access.actor.line);
  });
}

void ReadOnlyLoads::store(const Access& access) {
  if (!has_loads_ || access.space != ptx::StateSpace::global) return;
  for_each_span(access, [&](Address first, std::uint64_t bytes) {
    if (written_.has_all(first, bytes)) return;
    written_.add(first, bytes);
    writes_.emplace_back(first, bytes);
    for (std::uint64_t k = 0; k < bytes; ++k) {
      if (!read_.has(first + k)) continue;
      const auto meets = [&](const Read& read) { return read.first <= first + k && first + k < read.end; };
      return note(std::ranges::find_if(reads_, meets)->line);
    }
  });
}

void ReadOnlyLoads::note(std::uint32_t line) {
  const SourcePlace where = own_place(*module_, line);
  // Thrust scans in place by read-only loads, and answers for that itself.
  if (!of_toolkit(where)) report_({.what = Breach::What::read_only, .where = where});
}

// --- all of them -----------------------------------------------------------------------------------------------------

ExploredChecks::ExploredChecks(const Uninitialised& before, std::function<void(const Breach&)> report)
    : report_(std::move(report)),
      unexplored_([this](const Breach& breach) { seen_.push_back(breach); }),
      unwritten_(before, [this](const Breach& breach) { seen_.push_back(breach); }),
      lane_stores_([this](const Breach& breach) { seen_.push_back(breach); }),
      read_only_loads_([this](const Breach& breach) { report_(breach); }),
      divergent_barriers_(make_divergent_barriers(across_warps_)),
      observers_{{&run_, &unexplored_, &unwritten_, &lane_stores_, &read_only_loads_},
                 {&path_, &shared_races_, divergent_barriers_.get()}} {}

const ExplorationObservers& ExploredChecks::begin_launch() {
  read_only_loads_.begin_launch();
  return observers_;
}

void ExploredChecks::report_seen() {
  for (const Breach& breach : std::exchange(seen_, {})) report_(breach);
}

void ExploredChecks::begin_path() {
  seen_.clear();
  shared_races_.reset();
  divergent_barriers_->reset();
}

void ExploredChecks::end_path() {
  const std::array<const Check*, 2> checks = {&shared_races_, divergent_barriers_.get()};
  for (const Check* check : checks)
    for (const Finding& f : check->findings().list())
      if (f.weight == Finding::Weight::mistake)
        seen_.push_back({.what = Breach::What::mistake,
                         .where = f.parts.empty() ? SourcePlace{} : f.parts.back().where,
                         .said = f.headline.substr(0, f.headline.find('\n'))});
  std::ranges::copy(shared_races_.breaches(), std::back_inserter(seen_));
  report_seen();
}

}  // namespace scanlab::vgpu
