// Which bytes of global memory a piece of work touches, and how: few spans, since what lies side by side or repeats in
// regular steps is one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vgpu/checks/global/global_access.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// The bytes [begin, end) when `period` is 0. Else pieces of `length` bytes that begin `period` (> `length`) bytes
/// after each other, the first at `begin`, the last up to `end`.
struct Span {
  Address begin = 0, end = 0;
  std::uint64_t period = 0, length = 0;

  bool operator==(const Span&) const = default;
};

/// The first of the bytes that both have; nothing when they have none in common.
std::optional<Address> first_common_byte(const Span& a, const Span& b);

/// What is done to memory, and by which line.
struct AccessSite {
  GlobalHow how;
  std::uint32_t line = 0;   ///< index into ptx::Module::lines
  std::uint32_t bytes = 1;  ///< of an element

  bool operator==(const AccessSite&) const = default;
};

struct AccessedSpan {
  Span span;
  AccessSite site;

  bool operator==(const AccessedSpan&) const = default;
};

/// Collects the spans that one piece of work accesses.
class AccessedSpans {
 public:
  /// `count` pieces of `length` bytes, `stride` after each other.
  void add(Address first, std::int64_t stride, std::uint64_t count, std::uint64_t length, const AccessSite& site);
  /// There are more spans than can be kept: the rest is missing.
  bool is_too_large() const { return is_too_large_; }
  /// By ascending first byte.
  std::vector<AccessedSpan> list();
  void clear();

 private:
  static constexpr std::size_t most = 1u << 18;
  struct Group {
    AccessSite site;
    std::vector<Span> even;     ///< without gaps
    std::vector<Span> strided;  ///< with gaps
  };

  Group& group_of(const AccessSite& site);
  void tidy_all();

  std::vector<Group> groups_;  ///< the first `used_` are in use
  std::size_t used_ = 0;
  std::size_t last_ = 0;   ///< the group that was used last
  std::size_t count_ = 0;  ///< of spans
  bool is_too_large_ = false;
};

}  // namespace scanlab::vgpu
