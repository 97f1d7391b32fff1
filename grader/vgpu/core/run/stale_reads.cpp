#include "vgpu/core/run/stale_reads.hpp"

#include <fmt/format.h>

#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

StaleRead::Place place_of(const Grid& grid, const StrongOperation& operation) {
  StaleRead::Place place;
  place.is_initial = operation.is_initial();
  if (place.is_initial) return place;
  place.block = operation.block;
  place.thread = operation.thread;
  place.where = own_place(*grid.image->module, operation.line);
  return place;
}

std::string variable_of(const Grid& grid, Address address, std::uint32_t bytes) {
  const Allocation* a = grid.memory->find(address, bytes);
  return a ? fmt::format("{} at byte {}", a->label, address - a->base) : "global memory";
}

std::string text_of(const char* what, const StaleRead::Place& place) {
  if (place.is_initial) return fmt::format("\n  {} what was there before the launch", what);
  return fmt::format("\n  {} thread {} of block {}   {}:{}", what, place.thread, place.block, place.where.file,
                     place.where.line);
}

}  // namespace

std::string StaleRead::cure() const {
  static constexpr const char* cures[] = {
      // by Missing
      "",
      "nothing orders the two writes: put __threadfence() between them, or make the second a release",
      "nothing orders the two reads: put __threadfence() between them, or make the first an acquire",
      "nothing orders the two writes, nor the two reads: put __threadfence() between each pair",
      "what orders them has the scope of a block only: use the scope of the device",
  };
  return cures[static_cast<std::size_t>(missing)];
}

std::string StaleRead::text() const {
  std::string text =
      fmt::format("STALE {}: a read of {} bytes of {} has returned an old value", kernel, bytes, variable);
  if (count > 1) text += fmt::format(", {} times", count);
  text += text_of("read by ", read);
  text += text_of(returned.is_initial ? "returned" : "returned the write by", returned);
  text += text_of("newer write by", newer);
  if (has_flag) {
    text += text_of("after it that thread wrote:", flag);
    text += text_of("which the reader had read: ", flag_read);
  }
  return missing == Missing::unknown ? text : fmt::format("{}\n  {}", text, cure());
}

std::vector<StaleRead> describe_stale(const Grid& grid, std::span<const StaleAccess> accesses) {
  std::vector<StaleRead> all;
  for (const StaleAccess& s : accesses) {
    StaleRead& made = all.emplace_back();
    made.kernel = ptx::source_name(grid.image->kernel->name);
    made.variable = variable_of(grid, s.address, s.bytes);
    made.bytes = s.bytes;
    made.read = place_of(grid, s.read);
    made.returned = place_of(grid, s.returned);
    made.newer = place_of(grid, s.newer);
    made.has_flag = s.has_flag;
    made.flag = place_of(grid, s.flag);
    made.flag_read = place_of(grid, s.flag_read);
    made.grid = grid.size;
    made.block = grid.block_size;
    made.missing = s.missing;
    made.count = s.count;
  }
  return all;
}

}  // namespace scanlab::vgpu
