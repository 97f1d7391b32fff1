#include "autograder/cause.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace scanlab::grade {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Where& where) {
  return {{"file", where.file},
          {"line", where.line},
          {"kernel", where.kernel},
          {"block", or_null(where.block)},
          {"thread", or_null(where.thread)}};
}

}  // namespace

nlohmann::ordered_json to_json(const Cause& cause) {
  return {{"id", cause.id},
          {"headline", cause.headline},
          {"rationale", cause.rationale},
          {"expected", cause.expected},
          {"actual", cause.actual},
          {"where", cause.where ? to_json(*cause.where) : Json(nullptr)},
          {"details", cause.details},
          {"next", cause.next}};
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

}  // namespace scanlab::grade
