// How messages of vgpu-run name files.
#pragma once

#include <filesystem>
#include <string>

namespace scanlab::server {

/// Files in the folder from which this program was started are named as from there.
inline std::string with_short_paths(std::string text) {
  const std::string here = std::filesystem::current_path().string() + "/";
  for (std::size_t at = 0; here.size() > 1 && (at = text.find(here, at)) != std::string::npos;)
    text.erase(at, here.size());
  return text;
}

}  // namespace scanlab::server
