// Tells words of PTX apart.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace scanlab::vgpu {

inline bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace scanlab::vgpu
