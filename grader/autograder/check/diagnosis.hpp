// What a wrong output shows about the program that wrote it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace scanlab::grade {

struct Diagnosis {
  std::string id;    ///< of the finding: "wrong.last_section"
  std::string text;  ///< one sentence, never empty
};

/// With what stands for each {} of the text.
template <typename... Arguments>
Diagnosis diagnosis(const char* id, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {id, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

}  // namespace scanlab::grade
