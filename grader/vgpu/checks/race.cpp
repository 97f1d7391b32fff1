#include "vgpu/checks/race.hpp"

#include <fmt/format.h>

namespace scanlab::vgpu {

FlagWords words_of_flag(bool is_lock) {
  if (is_lock) return {"lock released", "lock taken"};
  return {"flag set", "flag seen"};
}

std::string advice_on_fences(const std::vector<Finding::Part>& parts, bool is_lock, bool is_in_block) {
  const auto line = [&](std::size_t k) { return parts[k].where.line; };
  const char* const fence = is_in_block ? "__threadfence_block()" : "__threadfence()";
  const char* const others = is_in_block ? "threads" : "blocks";
  if (is_lock)
    return fmt::format(
        "the lock may be free for other {} before line {} is done: put {} before line {} releases it, and another one "
        "between line {}, which takes it, and line {}",
        others, line(0), fence, line(1), line(2), line(3));
  return fmt::format(
      "the flag may be visible to other {} before the value is: put {} between line {} and line {}, and another one "
      "between line {} and line {}",
      others, fence, line(0), line(1), line(2), line(3));
}

const char* name_of(Hazard hazard) {
  static constexpr const char* names[] = {"write-after-read", "read-after-write", "write-after-write",
                                          "warp-synchronous"};
  return names[static_cast<std::size_t>(hazard)];
}

const char* name_of(How::Kind kind) {
  static constexpr const char* names[] = {"read", "write", "atomic", "async copy", "atomic"};
  return names[static_cast<std::size_t>(kind)];
}

const char* may_happen(Hazard hazard) {
  if (hazard == Hazard::read_after_write) return "the read may come first, and find what was there before";
  if (hazard == Hazard::write_after_read) return "the write may come first, and the read find the new value";
  return "either value may remain";
}

/// Which of the two ought to come first, only the program's author knows.
static const char* may_happen_in_block(Hazard hazard) {
  if (hazard == Hazard::write_after_write) return may_happen(hazard);
  return "the read may find what was there before, or what is written";
}

std::string advice_in_block(Hazard hazard) {
  if (hazard == Hazard::warp_synchronous)
    return "both threads are of one warp, whose lanes need not go in step: only __syncwarp() or __syncthreads() orders "
           "them";
  return std::string("no barrier separates them: ") + may_happen_in_block(hazard);
}

std::string advice_on_update(unsigned line) {
  return fmt::format(
      "line {} reads the value, changes it and writes it back while another thread does the same, and one of the "
      "changes gets lost: do it by one atomic, such as atomicAdd",
      line);
}

std::string advice_on_read(ReadUse use, bool is_in_block, Hazard hazard) {
  if (use == ReadUse::look)
    return "what is read plainly may have changed when the thread's own atomic comes: use what the atomic returns, or "
           "make the read volatile or atomic (cuda::atomic_ref)";
  if (use == ReadUse::poll)
    return "one of them is atomic, the other is a plain read, which the compiler may move in front of a loop: make it "
           "volatile or atomic (cuda::atomic_ref)";
  if (is_in_block) return advice_in_block(hazard) + "; put __syncthreads() between them";
  return "one of them is atomic, the other is a plain read, and nothing makes it wait: read the value in a later "
         "kernel, or in the last block to finish; a flag for which a loop waits has to be volatile or atomic "
         "(cuda::atomic_ref)";
}

}  // namespace scanlab::vgpu
