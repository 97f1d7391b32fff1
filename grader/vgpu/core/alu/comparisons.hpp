// Comparisons of lanes: they take and give whole vectors, -1 in the lanes where they hold, or single numbers.
#pragma once

namespace scanlab::vgpu {

struct Equal {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a == b; }
};
struct NotEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a != b; }
};
struct Less {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a < b; }
};
struct LessOrEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a <= b; }
};
struct Greater {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a > b; }
};
struct GreaterOrEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a >= b; }
};

}  // namespace scanlab::vgpu
