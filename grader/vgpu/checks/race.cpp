#include "vgpu/checks/race.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace scanlab::vgpu {
namespace {

std::string place(const SourcePlace& p) {
  if (p.line == 0) return "an unknown line (compile with -lineinfo)";
  return fmt::format("{}:{}", p.file, p.line);
}

/// As many numbers as the shape has dimensions.
std::string index(const unsigned (&v)[3], Dim3 of) {
  if (of.y == 1 && of.z == 1) return std::to_string(v[0]);
  if (of.z == 1) return fmt::format("({}, {})", v[0], v[1]);
  return fmt::format("({}, {}, {})", v[0], v[1], v[2]);
}

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

nlohmann::ordered_json side_json(const Race::Side& s) {
  return {{"access", name_of(s.does)}, {"file", s.where.file}, {"line", s.where.line}, {"thread", s.thread}};
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

std::string Race::text() const {
  const auto side = [&](const Side& s) {
    return fmt::format("{:<5} by thread {}   {}", name_of(s.does), index(s.thread, block_size), place(s.where));
  };
  std::string out = fmt::format("RACE ({}): shared {}[{}], kernel {}, block {}", name_of(hazard), array, element,
                                kernel, index(block, grid_size));
  out += "\n  " + side(earlier) + "\n  " + side(later) + "\n  " + advice(*this);
  if (count > 1) out += fmt::format("\n  and {} more of these two lines", count - 1);
  return out;
}

nlohmann::ordered_json to_json(const Race& race) {
  return {{"id", Race::id},
          {"hazard", name_of(race.hazard)},
          {"kernel", race.kernel},
          {"array", race.array},
          {"element", race.element},
          {"element_bytes", race.element_bytes},
          {"block", race.block},
          {"earlier", side_json(race.earlier)},
          {"later", side_json(race.later)},
          {"count", race.count},
          {"text", race.text()}};
}

}  // namespace scanlab::vgpu
