// What a wrong output shows about the program that wrote it.
#pragma once

#include <string>

namespace scanlab::grade {

struct Diagnosis {
  std::string id;    ///< of the finding: "wrong.last_section"
  std::string text;  ///< one sentence, never empty
};

}  // namespace scanlab::grade
