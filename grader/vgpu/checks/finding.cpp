#include "vgpu/checks/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

bool has_actors(const Finding::Part& part) {
  return !part.actors.empty();
}

/// "write by thread 5", "blocks 0 to 7: threads 0 to 31 wait at the barrier"; what is done in a column of `width`.
std::string deed_text(const Finding::Part& part, const Finding& finding, std::size_t width) {
  if (has_actors(part)) return fmt::format("{} {}", part.actors, part.does);
  std::string text = fmt::format("{:<{}}", part.does, width);
  if (part.has_thread) text += fmt::format(" by thread {}", index_text(part.thread, finding.block_size));
  if (part.has_block)
    text += fmt::format(" {} block {}", part.has_thread ? "of" : "by", index_text(part.block, finding.grid_size));
  return text;
}

/// "scan.cu:31", behind three spaces; nothing for a call.
std::string where_text(const Finding::Part& part) {
  if (part.is_call) return {};
  std::string text = "   " + place_text(part.where);
  if (!part.callers.empty()) text += ", called from " + place_text(part.callers.front());
  return text;
}

using PartKey = std::tuple<std::string_view, std::string_view, unsigned>;

/// What is done, and where, in its order; of groups of threads, which stand side by side, each once.
std::vector<PartKey> steps_of(const Finding& finding) {
  std::vector<PartKey> steps;
  for (const Finding::Part& part : finding.parts) steps.emplace_back(part.does, part.where.file, part.where.line);
  if (std::ranges::any_of(finding.parts, has_actors)) {
    std::ranges::sort(steps);
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  }
  return steps;
}

}  // namespace

std::string index_text(const unsigned (&index)[3], Dim3 shape) {
  if (shape.y == 1 && shape.z == 1) return std::to_string(index[0]);
  if (shape.z == 1) return fmt::format("({}, {})", index[0], index[1]);
  return fmt::format("({}, {}, {})", index[0], index[1], index[2]);
}

void set_index(unsigned (&index)[3], std::uint64_t number, Dim3 shape) {
  index[0] = static_cast<unsigned>(number % shape.x);
  index[1] = static_cast<unsigned>(number / shape.x % shape.y);
  index[2] = static_cast<unsigned>(number / shape.x / shape.y);
}

Finding finding_in(const KernelInfo& kernel, std::optional<std::uint64_t> block) {
  Finding f;
  f.kernel = ptx::source_name(kernel.name);
  f.grid_size = kernel.grid;
  f.block_size = kernel.block;
  f.has_block = block.has_value();
  if (block) set_index(f.block, *block, kernel.grid);
  return f;
}

Finding::Part part_by(const KernelInfo& kernel, std::string does, std::uint32_t line, std::uint32_t thread) {
  Finding::Part part;
  part.does = std::move(does);
  part.where = own_place(*kernel.module, line);
  part.callers = own_callers(*kernel.module, line);
  part.has_thread = true;
  set_index(part.thread, thread, kernel.block);
  return part;
}

std::uint32_t array_at(const KernelInfo& kernel, std::uint64_t address) {
  const auto behind = std::ranges::upper_bound(kernel.shared, address, {}, &SharedVariable::offset);
  return static_cast<std::uint32_t>(behind - kernel.shared.begin()) - 1;
}

std::string place_text(const SourcePlace& place) {
  if (place.line == 0) return "an unknown line (compile with -lineinfo)";
  return fmt::format("{}:{}", place.file, place.line);
}

const char* name_of(Finding::Weight weight) {
  return weight == Finding::Weight::mistake ? "mistake" : "advice";
}

std::vector<std::string> Finding::facts() const {
  // Where some parts have actors and others go on with what those do, the places are the column; else the threads.
  const auto with_actors = static_cast<std::size_t>(std::ranges::count_if(parts, has_actors));
  const bool is_mixed = with_actors > 0 && with_actors < parts.size();
  std::size_t width = 0;
  if (!is_mixed)
    for (const Part& part : parts) width = std::max(width, part.does.size());
  std::vector<std::string> deeds;
  std::size_t column = 0;
  for (const Part& part : parts) {
    deeds.push_back(deed_text(part, *this, width));
    if (is_mixed && !part.is_call) column = std::max(column, deeds.back().size());
  }
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string where = where_text(parts[k]);
    lines.push_back(where.empty() ? deeds[k] : fmt::format("{:<{}}{}", deeds[k], column, where));
  }
  std::ranges::copy(details, std::back_inserter(lines));
  return lines;
}

std::string Finding::text() const {
  std::string out = headline;
  for (const std::string& line : facts()) out += "\n  " + line;
  if (!advice.empty()) out += "\n  " + advice;
  if (!cure.empty()) out += "\n  fix: " + cure;
  if (count > 1) out += fmt::format("\n  and {} more like this", count - 1);
  return out;
}

bool reads_the_same(const Finding& a, const Finding& b) {
  return a.id == b.id && a.kernel == b.kernel && a.variable == b.variable && a.kind == b.kind &&
         steps_of(a) == steps_of(b);
}

nlohmann::ordered_json to_json(const Finding& finding) {
  using Json = nlohmann::ordered_json;
  Json parts = Json::array();
  for (const Finding::Part& part : finding.parts) {
    parts.push_back({{"does", part.does},
                     {"who", part.actors},
                     {"file", part.where.file},
                     {"line", part.where.line},
                     {"block", part.has_block ? Json(part.block) : Json()},
                     {"thread", part.has_thread ? Json(part.thread) : Json()}});
  }
  Json json = {{"id", finding.id},
               {"weight", name_of(finding.weight)},
               {"headline", finding.headline},
               {"kernel", finding.kernel},
               {"variable", finding.variable},
               {"element", finding.element ? Json(*finding.element) : Json()},
               {"kind", finding.kind},
               {"block", finding.has_block ? Json(finding.block) : Json()},
               {"parts", std::move(parts)},
               {"facts", finding.facts()},
               {"details", finding.details},
               {"advice", finding.advice}};
  if (!finding.cure.empty()) json["cure"] = finding.cure;
  json["count"] = finding.count;
  json["text"] = finding.text();
  return json;
}

void FindingList::add(Finding finding) {
  const auto known =
      std::ranges::find_if(findings_, [&](const Finding& other) { return reads_the_same(other, finding); });
  if (known != findings_.end()) {
    known->count += finding.count;
  } else if (findings_.size() < most) {
    findings_.push_back(std::move(finding));
  } else {
    ++left_out_;
  }
}

void FindingList::clear() {
  findings_.clear();
  left_out_ = 0;
}

}  // namespace scanlab::vgpu
