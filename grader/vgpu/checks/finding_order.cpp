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

/// An address that is no good.
bool is_address(const Finding& finding) {
  return finding.id.starts_with("bounds.") || finding.id == "misaligned";
}

/// What is in shared memory, something else than what `fault` is about, is read too early, or is what the last of
/// several threads has written: the value may be the index, or the pointer, that it fails with. So is what no thread
/// has written and where the access goes depends on.
bool may_lead_to(const Finding& cause, const Finding& fault) {
  if (cause.kernel != fault.kernel || !cause.has_block || !fault.has_block) return false;
  if (cause.id.starts_with("uninitialised.") && cause.kind == "address" && !fault.parts.empty())
    return cause.parts.back().where.is_same_line(fault.parts.front().where);
  return cause.id == "race.shared" && (cause.kind == "read-after-write" || cause.kind == "write-after-write") &&
         cause.variable != fault.variable && std::ranges::equal(cause.block, fault.block);
}

}  // namespace

bool is_more_basic(const Finding& a, const Finding& b) {
  return std::tuple(a.weight, rank(a)) < std::tuple(b.weight, rank(b));
}

const Finding* cause_of(const Finding& fault, const std::vector<Finding>& findings) {
  if (!is_address(fault)) return nullptr;
  const auto cause = std::ranges::find_if(findings, [&](const Finding& one) { return may_lead_to(one, fault); });
  return cause == findings.end() ? nullptr : &*cause;
}

void sort_most_basic_first(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, is_more_basic);
  if (findings.empty()) return;
  if (const Finding* const found = cause_of(findings.front(), findings)) {
    const auto cause = findings.begin() + (found - findings.data());
    std::rotate(findings.begin(), cause, std::next(cause));
  }
}

}  // namespace scanlab::vgpu
