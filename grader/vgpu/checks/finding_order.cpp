#include "vgpu/checks/finding_order.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace scanlab::vgpu {
namespace {

/// Ids, or families of them. Whatever is read too early, for lack of a barrier or a fence, may be unwritten as well: so
/// the order of accesses comes before unwritten memory.
constexpr std::array<std::string_view, 27> most_basic_first = {
    "unsupported", "compile", "entry",     "launch.failed", "host_pointer", "use_after_free", "bounds",
    "misaligned",  "warp",    "barrier",   "race.shared",   "fence",        "race.global",    "uninitialised",
    "deadlock",    "endless", "assertion", "trap",          "crash",        "output",         "cuda",
    "runner",      "input",   "wrong",     "launch",        "cost",         "leak",
};

bool names(std::string_view entry, std::string_view id) {
  return id.starts_with(entry) && (id.size() == entry.size() || id[entry.size()] == '.');
}

std::size_t rank(const Finding& finding) {
  const auto entry = std::ranges::find_if(most_basic_first, [&](auto name) { return names(name, finding.id); });
  return static_cast<std::size_t>(entry - most_basic_first.begin());
}

}  // namespace

bool is_more_basic(const Finding& a, const Finding& b) {
  return std::tuple(a.weight, rank(a)) < std::tuple(b.weight, rank(b));
}

void sort_most_basic_first(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, is_more_basic);
}

}  // namespace scanlab::vgpu
