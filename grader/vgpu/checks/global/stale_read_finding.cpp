#include "vgpu/checks/global/stale_read_finding.hpp"

#include <fmt/format.h>

#include <utility>

namespace scanlab::vgpu {

Finding finding_of(const StaleRead& read) {
  Finding f;
  f.id = "fence.missing";
  f.kind = "stale";
  f.kernel = read.kernel;
  f.variable = read.variable;
  f.grid_size = read.grid;
  f.block_size = read.block;
  f.headline =
      fmt::format("FENCE MISSING: a read has returned an old value of {}, kernel {}", read.variable, read.kernel);
  const auto add = [&](const char* does, const StaleRead::Place& place) {
    if (place.is_initial) return;
    Finding::Part part;
    part.does = does;
    part.where = place.where;
    part.has_thread = part.has_block = true;
    set_index(part.thread, place.thread, read.block);
    set_index(part.block, place.block, read.grid);
    f.parts.push_back(std::move(part));
  };
  add("write", read.newer);
  if (read.has_flag) {
    add("flag set", read.flag);
    add("flag seen", read.flag_read);
  }
  add("old value read", read.read);
  f.advice = read.cure();
  return f;
}

}  // namespace scanlab::vgpu
