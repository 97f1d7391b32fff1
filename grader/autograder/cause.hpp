// Why a check did not pass, and its forms: for people, as JSON (README.md), and as a finding.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

/// A place in the submission: a source line, a thread, or both. Unknown parts are empty, 0 or absent (JSON: null).
struct Where {
  std::string file;
  unsigned line = 0;
  std::string kernel;
  std::optional<std::array<std::uint64_t, 3>> block, thread;
};

/// One output beside what it was made of, and what it should be. Texts that are not known, or would say nothing, are
/// empty.
struct OutputRow {
  std::size_t i = 0;
  std::string x, y, expected;     ///< element i of the input, of the output, and of the right output
  std::string sum, expected_sum;  ///< of which inputs y is the sum: "x1", "x0 + x1"
  bool is_wrong = false;
};

/// Why a check did not pass, so that a learner can act on it.
struct Cause {
  std::string id = {};         ///< what it is called as a finding: "race.shared", "cost.additions"
  std::string headline = {};   ///< what was tried: "inclusive scan of floats, n = 1025, seed 7, schedule reversed"
  std::string rationale = {};  ///< what it means: "the last, partial section is never written"
  std::string expected = {};   ///< "523776"
  std::string actual = {};     ///< "y[1024] = 0"
  std::optional<Where> where = {};
  std::vector<OutputRow> outputs = {};    ///< around the first wrong one, ascending; empty: no output is wrong
  std::vector<std::string> details = {};  ///< one fact per line
  std::string next = {};                  ///< a command to type, or advice
  std::vector<std::string> of_sums = {};  ///< those of the details that are read off what outputs are the sums of
  std::string fact = {};  ///< of a rationale that guesses, as of its Diagnosis; no part of what is reported
};

/// As people read it, several lines, without a trailing newline.
std::string to_text(const Cause& cause);
/// As a result has it.
nlohmann::ordered_json to_json(const Cause& cause);

/// Gives the cause another id and a better rationale; what was the rationale becomes the first detail.
void replace_explanation(Cause& cause, std::string id, std::string rationale);

/// The cause of a check that fails because of `finding`, without what was tried and how to see it again.
Cause cause_of(const vgpu::Finding& finding);
/// A cause that no check of the device has reported, as a finding: a wrong output, a crash, too much work.
vgpu::Finding finding_of(const Cause& cause);

/// What a wrong output shows about the program that wrote it.
struct Diagnosis {
  std::string id;         ///< of the finding: "wrong.last_section"
  std::string text;       ///< one sentence, never empty
  std::string fact = {};  ///< what is certain of a text that guesses: "the first 64 elements are right"; else empty
};

/// A text that says what is certain, and then guesses.
inline Diagnosis guess(const char* id, std::string fact, std::string_view guessed) {
  std::string text = fmt::format("{}: {}", fact, guessed);
  return {id, std::move(text), std::move(fact)};
}

/// With what stands for each {} of the text.
template <typename... Arguments>
Diagnosis diagnosis(const char* id, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {id, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

}  // namespace scanlab::grade
