#include "vgpu/checks/global/read_only_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/checks/race.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

/// A read-only load and a write of the same byte.
struct Pair {
  AccessSite read, write;
  Address byte = 0;
};

/// The first that is found, for each line that reads and each array.
std::vector<std::pair<Pair, const Allocation*>> pairs_in(const std::vector<AccessedSpan>& spans, const Memory& memory) {
  std::vector<const AccessedSpan*> reads;
  std::vector<Address> reach;  // for each of them the last byte of it and of all before it, + 1
  for (const AccessedSpan& accessed : spans) {
    if (!accessed.site.how.is_read_only) continue;
    reads.push_back(&accessed);
    reach.push_back(std::max(reach.empty() ? 0 : reach.back(), accessed.span.end));
  }
  std::vector<std::pair<Pair, const Allocation*>> found;
  std::set<std::pair<std::uint32_t, Address>> known;
  for (const AccessedSpan& write : spans) {
    if (!write.site.how.writes()) continue;
    const auto from = std::ranges::upper_bound(reach, write.span.begin) - reach.begin();
    for (auto read = reads.begin() + from; read != reads.end() && (*read)->span.begin < write.span.end; ++read) {
      const std::optional<Address> byte = first_common_byte((*read)->span, write.span);
      if (!byte) continue;
      const Allocation* const array = memory.find(*byte, 1);
      // The heap's memory goes from thread to thread through malloc() and free(), which are not observed.
      if (array && !array->on_heap && known.emplace((*read)->site.line, array->base).second)
        found.push_back({{(*read)->site, write.site, *byte}, array});
    }
  }
  return found;
}

Finding describe(const KernelInfo& kernel, const GlobalShadow& shadow, const Pair& pair, const Allocation& array) {
  Finding f = finding_in(kernel, std::nullopt);
  const auto part = [&](const char* does, const AccessSite& site) {
    const std::optional<GlobalConflict::Side> by = shadow.thread_at(pair.byte, site);
    Finding::Part p = part_by(kernel, does, site.line, by ? by->thread : 0);
    p.has_thread = p.has_block = by.has_value();
    if (by) set_index(p.block, by->block, f.grid_size);
    return p;
  };
  f.id = "race.read_only";
  f.variable = array.label.substr(0, array.label.find(" #"));
  f.element = (pair.byte - array.base) / std::min(pair.read.bytes, pair.write.bytes);
  f.headline = fmt::format("RACE (read-only): element {} of {}, kernel {}", *f.element, array.label, f.kernel);
  f.kind = "read-only";
  f.parts = {part("read-only load", pair.read), part(name_of(pair.write.how.kind), pair.write)};
  f.advice = fmt::format(
      "line {} reads it by a read-only load, which nvcc makes of __ldg() and of a pointer that is const and "
      "__restrict__: its value is undefined where any thread of the launch writes the element, before or after, and no "
      "fence or barrier changes that; read it by a plain load: without __ldg, and without __restrict__ on its pointer",
      f.parts.front().where.line);
  return f;
}

}  // namespace

void add_written_read_only(const KernelInfo& kernel, const GlobalShadow& shadow, const Memory& memory,
                           FindingList& findings) {
  AccessedSpans spans;
  shadow.collect(spans);
  for (const auto& [pair, array] : pairs_in(spans.list(), memory)) {
    // Thrust scans in place by read-only loads, and answers for that itself.
    if (of_toolkit(own_place(*kernel.module, pair.read.line))) continue;
    findings.add(describe(kernel, shadow, pair, *array));
  }
}

}  // namespace scanlab::vgpu
