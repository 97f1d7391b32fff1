#include "vgpu/checks/fault_finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace scanlab::vgpu {
namespace {

/// By Fault::Kind.
constexpr const char* ids[] = {"bounds.global", "misaligned",       "trap",          "assertion", "unsupported",
                               "undefined",     "deadlock.threads", "launch.failed", "endless"};

Dim3 dim3_of(const unsigned (&size)[3]) {
  return {size[0], size[1], size[2]};
}

/// "FAULT: write of 4 bytes outside shared array s_xy, kernel k, block 0"
std::string headline(const Fault& fault) {
  constexpr std::string_view deadlock = "deadlock: ";
  std::string text;
  switch (fault.kind) {
    case Fault::Kind::refused:  // the reason names the kernel
      return "LAUNCH REFUSED: " + fault.headline;
    case Fault::Kind::deadlock:
      text = fault.id == "endless"
                 ? "ENDLESS: " + fault.headline
                 : "DEADLOCK: " +
                       (fault.headline.starts_with(deadlock) ? fault.headline.substr(deadlock.size()) : fault.headline);
      break;
    default:
      text = "FAULT: " + fault.headline;
  }
  if (!fault.kernel.empty()) text += ", kernel " + fault.kernel;
  if (fault.has_thread) text += ", block " + index_text(fault.block, dim3_of(fault.grid_size));
  return text;
}

/// What the launch says of an index that leads beyond an array: the fault itself knows the array alone.
std::string advice_of(const Fault& fault) {
  const bool is_alone = dim3_of(fault.grid_size).count() * dim3_of(fault.block_size).count() == 1;
  if (is_alone && fault.advice.starts_with("guard the access by the number of elements, with <")) {
    return "only one thread runs: its loop goes too far, or an index is wrong. The last element is n - 1, so the loop "
           "ends "
           "with i < n, not i <= n; and for n = 0 there is none";
  }
  const bool is_in_first = std::ranges::all_of(fault.block, [](unsigned index) { return index == 0; });
  if (fault.id == "bounds.shared" && !is_in_first) {
    return "a shared array is the block's own, and its places begin at 0 in each block, as threadIdx.x does: look for "
           "an "
           "index, or a guard, that counts from the beginning of the whole array";
  }
  return fault.advice;
}

Finding::Part part_of(const Fault& fault) {
  Finding::Part part;
  part.does = fault.does.empty() ? "executed" : fault.does;
  part.where = fault.where;
  part.has_thread = fault.has_thread;
  std::ranges::copy(fault.thread, part.thread);
  return part;
}

Finding::Part part_of(const WaitingThreads& waiting) {
  Finding::Part part;
  part.does = waiting.does;
  part.actors = waiting.which;
  part.where = waiting.where;
  part.has_block = true;
  std::ranges::copy(waiting.block, part.block);
  return part;
}

}  // namespace

Finding to_finding(const Fault& fault) {
  Finding finding;
  finding.id = fault.id.empty() ? ids[static_cast<std::size_t>(fault.kind)] : fault.id;
  finding.headline = headline(fault);
  finding.kernel = fault.kernel;
  finding.variable = fault.variable;
  finding.element = fault.element;
  finding.has_block = fault.has_thread;
  std::ranges::copy(fault.block, finding.block);
  finding.grid_size = dim3_of(fault.grid_size);
  finding.block_size = dim3_of(fault.block_size);
  const bool is_of_code = fault.waiting.empty() && fault.where.line != 0;  // and of no thread: nothing has run
  if (fault.has_thread || is_of_code) finding.parts.push_back(part_of(fault));
  for (const WaitingThreads& waiting : fault.waiting) finding.parts.push_back(part_of(waiting));
  for (const SourcePlace& caller : fault.called_from) {
    if (caller.line == 0) continue;
    const std::string function = caller.function.empty() ? std::string() : " in " + caller.function;
    finding.details.push_back(fmt::format("called from {}{}", place_text(caller), function));
  }
  std::ranges::copy(fault.details, std::back_inserter(finding.details));
  finding.advice = advice_of(fault);
  return finding;
}

}  // namespace scanlab::vgpu
