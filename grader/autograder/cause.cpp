#include "autograder/cause.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace scanlab::grade {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::array<std::uint64_t, 3> triple(const unsigned (&values)[3]) {
  return {values[0], values[1], values[2]};
}

Json to_json(const Where& where) {
  return {{"file", where.file},
          {"line", where.line},
          {"kernel", where.kernel},
          {"block", or_null(where.block)},
          {"thread", or_null(where.thread)}};
}

Json to_json(const OutputRow& row) {
  return {{"i", row.i},
          {"x", row.x},
          {"y", row.y},
          {"expected", row.expected},
          {"sum", row.sum},
          {"expected_sum", row.expected_sum},
          {"is_wrong", row.is_wrong}};
}

}  // namespace

nlohmann::ordered_json to_json(const Cause& cause) {
  Json json = {{"id", cause.id},
               {"headline", cause.headline},
               {"rationale", cause.rationale},
               {"expected", cause.expected},
               {"actual", cause.actual},
               {"where", cause.where ? to_json(*cause.where) : Json(nullptr)},
               {"details", cause.details},
               {"next", cause.next}};
  for (const OutputRow& row : cause.outputs) json["outputs"].push_back(to_json(row));
  return json;
}

std::string to_text(const Cause& cause) {
  std::string text = cause.headline;
  const auto line = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "  " : "\n  ") + more;
  };
  std::string place;
  if (cause.where) {
    const Where& where = *cause.where;
    if (where.line != 0) place += fmt::format(" {}:{}", where.file, where.line);
    if (!where.kernel.empty()) place += fmt::format(" in {}", where.kernel);
    if (where.block && where.thread) {
      place += fmt::format(" (block {}, thread {})", fmt::join(*where.block, ","), fmt::join(*where.thread, ","));
    }
  }
  if (!cause.expected.empty()) {
    line(fmt::format("{}, expected {}{}", cause.actual, cause.expected, place));
    place.clear();
  } else if (!cause.actual.empty()) {
    line(cause.actual);
  }
  line(cause.rationale);
  if (!place.empty()) line("at" + place);
  for (const std::string& detail : cause.details) line(detail);
  if (!cause.next.empty()) line("again: " + cause.next);
  return text;
}

void replace_explanation(Cause& cause, std::string id, std::string rationale) {
  cause.id = std::move(id);
  cause.details.insert(cause.details.begin(), std::move(cause.rationale));
  cause.rationale = std::move(rationale);
}

Cause cause_of(const vgpu::Finding& finding) {
  Cause cause{.id = finding.id, .rationale = finding.advice, .actual = finding.headline, .details = finding.facts()};
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
