// What a check reports to a learner: what is wrong, where, which threads take part, and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

struct Finding {
  enum class Weight : std::uint8_t {
    mistake,  ///< the program is wrong, even where its output happens to be right
    advice,   ///< it is right, and could be better; never a failure
  };

  /// One part in it: an access, a barrier, a call. Printed as "write by thread 5   scan.cu:31".
  struct Part {
    std::string does;  ///< "write", "read", "atomic" …
    SourcePlace where;
    std::vector<SourcePlace> callers = {};       ///< of the function that was inlined there, the innermost first
    bool has_thread = false, has_block = false;  ///< a block is given where it is not the finding's own
    unsigned thread[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    std::string actors;    ///< where it is not one thread: "blocks 0 to 7: threads 0 to 31", "kernel k in stream #1"
    bool is_call = false;  ///< by a call of the host, whose line is not known
  };

  std::string id;  ///< "race.shared"; the first part is the family
  Weight weight = Weight::mistake;
  std::string headline;                  ///< one line: "RACE (write-after-read): shared s_xy[5], kernel k, block 0"
  std::string kernel;                    ///< as the learner wrote it; empty: no kernel's doing
  std::string variable;                  ///< that it is about: "s_xy"; empty: none
  std::optional<std::uint64_t> element;  ///< of the variable, in elements as they were accessed
  std::string kind;                      ///< a finer distinction within the id: "write-after-read"; empty: none
  bool has_block = false;
  unsigned block[3] = {0, 0, 0};
  Dim3 grid_size, block_size;
  std::vector<Part> parts;           ///< in the order in which they happened
  std::vector<std::string> details;  ///< one fact per line
  std::string advice;                ///< what it means, and one next step
  std::string cure;                  ///< a change that was tried, after which it is gone; empty: none is known
  std::uint64_t count = 1;           ///< how often it was seen

  /// The parts and the details as people read them, one line each.
  std::vector<std::string> facts() const;
  /// All of it as people read it, several lines, without a trailing newline.
  std::string text() const;
};

/// True when both say the same to a learner: they differ in the threads and how often at most.
bool reads_the_same(const Finding& a, const Finding& b);

/// "mistake", "advice"
const char* name_of(Finding::Weight weight);

/// With the keys id, weight, headline, kernel, variable, element, kind, block, parts (each with does, who, file, line,
/// block and thread), facts, details, advice, cure, count and text; what is not known is null or empty, a cure left
/// out.
nlohmann::ordered_json to_json(const Finding& finding);

/// "(3, 1)": as many numbers as the shape has dimensions; of a row the number alone.
std::string index_text(const unsigned (&index)[3], Dim3 shape);

/// The index of the thread or block with this number.
void set_index(unsigned (&index)[3], std::uint64_t number, Dim3 shape);

/// What all findings of a kernel say, by the block in which it is, if it is in one.
Finding finding_in(const KernelInfo& kernel, std::optional<std::uint64_t> block);
/// What a thread of its does by a line of its module, which is shown as the learner's own.
Finding::Part part_by(const KernelInfo& kernel, std::string does, std::uint32_t line, std::uint32_t thread);

/// The shared array at `address`, which lies in one: other accesses are faults. Its number in KernelInfo::shared.
std::uint32_t array_at(const KernelInfo& kernel, std::uint64_t address);

/// "scan.cu:31"
std::string place_text(const SourcePlace& place);

/// Findings that read differently, in the order in which they came; those beyond a limit are only counted.
class FindingList {
 public:
  static constexpr std::size_t most = 100;

  /// Adds it, or its count to that of the one that reads the same.
  void add(Finding finding);
  void clear();
  const std::vector<Finding>& list() const { return findings_; }
  /// How many read differently, with those that were left out.
  std::uint64_t total() const { return findings_.size() + left_out_; }

 private:
  std::vector<Finding> findings_;
  std::uint64_t left_out_ = 0;
};

}  // namespace scanlab::vgpu
