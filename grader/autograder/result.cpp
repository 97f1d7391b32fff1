#include "autograder/result.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "vgpu/checks/finding_order.hpp"

namespace scanlab::grade {

namespace {

using Json = nlohmann::ordered_json;

Json json_number(double value) {
  const bool whole = std::floor(value) == value && std::fabs(value) < 0x1p53;
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json to_json(const std::optional<std::vector<std::pair<std::string, double>>>& numbers) {
  if (!numbers) return nullptr;
  Json object = Json::object();
  for (const auto& [name, value] : *numbers) object[name] = json_number(value);
  return object;
}

Json to_json(const std::vector<vgpu::Finding>& findings) {
  Json list = Json::array();
  for (const vgpu::Finding& finding : findings) list.push_back(vgpu::to_json(finding));
  return list;
}

Json to_json(const std::vector<SeenFinding>& findings) {
  Json list = Json::array();
  for (const auto& [finding, checks] : findings) {
    list.push_back(vgpu::to_json(finding));
    list.back()["checks"] = checks;
  }
  return list;
}

Json to_json(const CountLimits& limits) {
  const auto limit = [](const std::optional<double>& value) { return value ? json_number(*value) : Json(nullptr); };
  return {{"n", limits.n}, {"at_least", limit(limits.at_least)}, {"at_most", limit(limits.at_most)}};
}

Json to_json(const CheckResult& check) {
  return {{"name", check.name},
          {"title", check.title},
          {"verdict", name_of(check.verdict)},
          {"points", json_number(check.points)},
          {"max_points", json_number(check.max_points)},
          {"not_run_points", json_number(check.not_run_points)},
          {"cause", check.cause ? to_json(*check.cause) : Json(nullptr)},
          {"counts", to_json(check.counts)},
          {"limits", check.limits ? to_json(*check.limits) : Json(nullptr)},
          {"times", to_json(check.times)},
          {"seconds", std::round(check.seconds * 1e4) / 1e4},
          {"output_hash", check.output_hash ? Json(fmt::format("{:016x}", *check.output_hash)) : Json(nullptr)},
          {"proof", check.proof},
          {"printed", check.printed},
          {"findings", to_json(check.findings)},
          {"findings_total", check.findings_total}};
}

}  // namespace

void throw_errno(const std::string& what) {
  throw KitFault(fmt::format("{}: {}", what, std::strerror(errno)));
}

Verdict Result::verdict() const {
  // A check for no points decides where it cost others theirs, and where none has any.
  const auto has_points = [](const CheckResult& check) { return check.max_points > 0; };
  const bool all_decide =
      std::ranges::none_of(checks, has_points) || std::ranges::any_of(checks, [&](const CheckResult& check) {
        return has_points(check) && check.verdict == Verdict::skipped;
      });
  for (const Verdict worst : {Verdict::error, Verdict::fail, Verdict::timeout, Verdict::inconclusive}) {
    for (const CheckResult& check : checks) {
      if (check.verdict == worst && (all_decide || has_points(check) || worst == Verdict::error)) return worst;
    }
  }
  return Verdict::pass;
}

double Result::sum(double CheckResult::*points) const {
  double total = 0;
  for (const CheckResult& check : checks) total += check.*points;
  return total;
}

std::vector<SeenFinding> Result::findings() const {
  std::vector<SeenFinding> seen;
  for (const CheckResult& check : checks) {
    for (const vgpu::Finding& finding : check.findings) {
      const auto known = std::ranges::find_if(
          seen, [&](const SeenFinding& other) { return vgpu::reads_the_same(other.finding, finding); });
      if (known == seen.end()) {
        seen.push_back({finding, {check.name}});
        continue;
      }
      known->finding.count += finding.count;
      if (known->checks.back() != check.name) known->checks.push_back(check.name);
    }
  }
  std::ranges::stable_sort(
      seen, [](const SeenFinding& a, const SeenFinding& b) { return vgpu::is_more_basic(a.finding, b.finding); });
  return seen;
}

std::uint64_t Result::findings_total() const {
  std::uint64_t total = findings().size();
  for (const CheckResult& check : checks) total += check.findings_total - check.findings.size();
  return total;
}

std::string to_json(const Result& result) {
  Json checks = Json::array();
  for (const CheckResult& check : result.checks) checks.push_back(to_json(check));
  const Json json = {{"schema", "scanlab-result"},
                     {"version", 1},
                     {"lab", result.lab},
                     {"title", result.title},
                     {"device", result.device},
                     {"seed", result.seed},
                     {"verdict", name_of(result.verdict())},
                     {"points", json_number(result.points())},
                     {"max_points", json_number(result.max_points())},
                     {"not_run_points", json_number(result.not_run_points())},
                     {"checks", checks},
                     {"findings", to_json(result.findings())},
                     {"findings_total", result.findings_total()}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_atomically(const std::filesystem::path& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path.string(), getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw_errno("cannot write " + temporary);
  bool ok = true;
  for (std::size_t written = 0; ok && written < text.size();) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    ok = count > 0;
    if (ok) written += static_cast<std::size_t>(count);
  }
  ok = ok && fsync(fd) == 0;
  ok = close(fd) == 0 && ok;
  ok = ok && rename(temporary.c_str(), path.c_str()) == 0;
  if (!ok) {
    const int error = errno;
    unlink(temporary.c_str());
    errno = error;
    throw_errno("cannot write " + path.string());
  }
}

}  // namespace scanlab::grade
