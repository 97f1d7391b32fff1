#include "autograder/result.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

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
          {"breach", check.breach},
          {"printed", check.printed},
          {"findings", to_json(check.findings)},
          {"findings_total", check.findings_total}};
}

}  // namespace

void throw_errno(const std::string& what) {
  throw KitFault(fmt::format("{}: {}", what, std::strerror(errno)));
}

std::string to_json(const Result& result) {
  Json checks = Json::array();
  for (const CheckResult& check : result.checks) checks.push_back(to_json(check));
  const Json json = {{"schema", "scanlab-checks"}, {"version", 1}, {"device", result.device}, {"checks", checks}};
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
