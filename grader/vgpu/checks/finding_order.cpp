#include "vgpu/checks/finding_order.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "finding_ranks.hpp"

namespace scanlab::vgpu {
namespace {

std::size_t rank(const Finding& finding) {
  const std::string_view id = finding.id;
  const auto row = std::ranges::find_if(finding_ranks, [&](const FindingRank& one) {
    return id == one.id || (one.id.ends_with('.') && id.starts_with(one.id));
  });
  return row == std::end(finding_ranks) ? std::size(finding_ranks) : row->rank;
}

}  // namespace

bool is_more_basic(const Finding& a, const Finding& b) {
  return std::tuple(a.weight, rank(a)) < std::tuple(b.weight, rank(b));
}

void sort_most_basic_first(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, is_more_basic);
}

}  // namespace scanlab::vgpu
