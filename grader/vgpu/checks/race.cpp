#include "vgpu/checks/race.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scanlab::vgpu {
namespace {

std::string advice(const Race& race) {
  using Hazard = Race::Hazard;
  if (race.is_one_store) return "one store by both: which of their values remains is left open";
  if (race.earlier.does == Race::Does::copy)
    return "the copy may not be complete: its thread has to wait for it (cp.async.wait_group), and then the others for "
           "that thread";
  switch (race.hazard) {
    case Hazard::read_after_write:
      return "no barrier separates them: the read may come first, and find what was there before";
    case Hazard::write_after_read:
      return "no barrier separates them: the write may come first, and the read find the new value";
    case Hazard::write_after_write:
      return "no barrier separates them: either value may remain";
    case Hazard::warp_synchronous:
      return "both threads are of one warp, whose lanes need not go in step: only __syncwarp() orders them";
  }
  return {};
}

Finding::Part part(const Race::Side& side) {
  Finding::Part part;
  part.does = name_of(side.does);
  part.where = side.where;
  part.has_thread = true;
  std::ranges::copy(side.thread, part.thread);
  return part;
}

}  // namespace

const char* name_of(Race::Hazard hazard) {
  switch (hazard) {
    case Race::Hazard::write_after_read:
      return "write-after-read";
    case Race::Hazard::read_after_write:
      return "read-after-write";
    case Race::Hazard::write_after_write:
      return "write-after-write";
    case Race::Hazard::warp_synchronous:
      return "warp-synchronous";
  }
  return "?";
}

const char* name_of(Race::Does does) {
  switch (does) {
    case Race::Does::read:
      return "read";
    case Race::Does::write:
      return "write";
    case Race::Does::atomic:
      return "atomic";
    case Race::Does::copy:
      return "async copy";
  }
  return "?";
}

Finding to_finding(const Race& race) {
  Finding finding;
  finding.id = Race::id;
  finding.kernel = race.kernel;
  finding.variable = race.array;
  finding.element = race.element;
  finding.kind = name_of(race.hazard);
  finding.has_block = true;
  std::ranges::copy(race.block, finding.block);
  finding.grid_size = race.grid_size;
  finding.block_size = race.block_size;
  finding.headline = fmt::format("RACE ({}): shared {}[{}], kernel {}, block {}", finding.kind, race.array,
                                 race.element, race.kernel, index_text(race.block, race.grid_size));
  finding.parts = {part(race.earlier), part(race.later)};
  finding.advice = advice(race);
  finding.count = race.count;
  return finding;
}

}  // namespace scanlab::vgpu
