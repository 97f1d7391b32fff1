#include "vgpu/server/host_lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

extern char** environ;

namespace scanlab::server {
namespace {

/// What a program prints; empty when it cannot be started.
std::string output_of(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const bool is_started = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t got; is_started && (got = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  if (is_started) waitpid(child, nullptr, 0);
  return text;
}

/// Files of the compiler and the toolkit; nvcc's own for host code.
bool is_of_toolkit(std::string_view file) {
  return file.starts_with("/usr/") || file.find("/tmpxft_") != file.npos || file.find(".cudafe1.") != file.npos ||
         file.find("/include/c++/") != file.npos ||
         (file.find("/cuda") != file.npos && file.find("/include/") != file.npos);
}

/// Functions of the runtime that the program is linked with, and what nvcc makes for launches.
bool is_of_runtime(std::string_view function) {
  const bool is_call = function.starts_with("cuda") && function.size() > 4 && function[4] >= 'A' && function[4] <= 'Z';
  return is_call || function.starts_with("__cuda") || function.starts_with("__device_stub__") ||
         function.starts_with("std::") || function.find("scanlab::cudart") != function.npos;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

vgpu::SourcePlace HostLines::operator()(const vgpu::HostPlace& place) {
  if (place.empty()) return {};
  const auto [known, is_new] = known_.try_emplace(place);
  vgpu::SourcePlace& found = known->second;
  if (!is_new) return found;
  // Each function with its place on the next line; those inlined there before those that they are in.
  std::vector<std::string> words = {"addr2line", "-e", program_, "-f", "-C", "-i"};
  for (const std::uint64_t at : place) words.push_back(fmt::format("{:#x}", at));
  const std::string text = output_of(std::move(words));
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t k = 0; k + 1 < lines.size(); k += 2) {
    const std::string_view function = lines[k];
    std::string_view at = lines[k + 1];
    at = at.substr(0, at.find(" (discriminator"));
    if (is_of_runtime(function) || is_of_toolkit(at)) continue;
    const std::size_t colon = at.rfind(':');
    unsigned line = 0;
    if (colon != at.npos) std::from_chars(at.data() + colon + 1, at.data() + at.size(), line);
    if (found.function.empty() && !function.starts_with("??")) found.function = function.substr(0, function.find('('));
    if (line == 0 || at.starts_with("??")) continue;
    found.file = at.substr(0, colon);
    found.line = line;
    break;
  }
  return found;
}

}  // namespace scanlab::server
