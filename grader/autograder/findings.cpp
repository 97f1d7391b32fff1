#include "autograder/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scanlab::grade {

namespace {

std::array<std::uint64_t, 3> triple(const unsigned (&values)[3]) {
  return {values[0], values[1], values[2]};
}

}  // namespace

Cause cause_of(const vgpu::Finding& finding) {
  Cause cause;
  cause.id = finding.id;
  cause.actual = finding.headline;
  cause.rationale = finding.advice;
  cause.details = finding.facts();
  if (!finding.parts.empty() && finding.parts.front().where.line != 0) {
    const vgpu::Finding::Part& part = finding.parts.front();
    Where where{part.where.file, part.where.line, finding.kernel, std::nullopt, std::nullopt};
    if (part.has_block || finding.has_block) where.block = triple(part.has_block ? part.block : finding.block);
    if (part.has_thread) where.thread = triple(part.thread);
    cause.where = where;
  }
  return cause;
}

vgpu::Finding finding_of(const Cause& cause) {
  vgpu::Finding finding;
  finding.id = cause.id;
  finding.headline = cause.actual.empty()     ? cause.rationale
                     : cause.expected.empty() ? cause.actual
                                              : fmt::format("{}, expected {}", cause.actual, cause.expected);
  finding.details = cause.details;
  if (!cause.actual.empty()) finding.advice = cause.rationale;
  if (cause.where) {
    finding.kernel = cause.where->kernel;
    finding.has_block = cause.where->block.has_value();
    if (finding.has_block) std::ranges::copy(*cause.where->block, finding.block);
  }
  return finding;
}

}  // namespace scanlab::grade
