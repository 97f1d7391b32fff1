#include "vgpu/core/explore/exploration.hpp"

#include <fmt/format.h>

namespace scanlab::vgpu {
namespace {

std::string text_of(const SourcePlace& place) {
  return place.line == 0 ? "a line that is not known" : fmt::format("{}:{}", place.file, place.line);
}

}  // namespace

std::string BrokenAssumption::text() const {
  const char* const does = writes ? "writes" : "reads";
  const char* const other_does = other_writes ? "writes" : "reads";
  const std::string what = memory.empty() ? "memory" : memory;
  switch (kind) {
    case Kind::reader_fence:
      return fmt::format("{} {} {}, which {} {}, without a fence after the flag", text_of(where), does, what,
                         text_of(other), other_does);
    case Kind::mixed_sizes:
      return fmt::format("{} and {} access the same bytes in different sizes", text_of(other), text_of(where));
    case Kind::race:
      break;
  }
  return fmt::format("{} {} {}, which {} {}, and in one of the executions nothing orders the two", text_of(where), does,
                     what, text_of(other), other_does);
}

}  // namespace scanlab::vgpu
