#include "vgpu/checks/check_suite.hpp"

#include <algorithm>
#include <iterator>

#include "vgpu/checks/finding_order.hpp"

namespace scanlab::vgpu {

// Checks whose classes are known in their own files only.
std::unique_ptr<Check> make_divergent_barriers(const bool& across_warps);

namespace {

std::vector<std::unique_ptr<Check>> make_others(const CheckSuite& suite) {
  std::vector<std::unique_ptr<Check>> made;
  made.push_back(make_divergent_barriers(suite.across_warps));
  return made;
}

}  // namespace

CheckSuite::CheckSuite(Device& device)
    : device_(device),
      others_(make_others(*this)),
      streams_(device.memory(), global_races_),
      uninitialised_(device.memory()),
      counters_(device.memory()) {
  for (const std::unique_ptr<Check>& other : others_) checks_.push_back(other.get());
  checks_.insert(checks_.end(), {&shared_races_, &global_races_, &uninitialised_, &counters_});
  for (Check* const check : checks_) device_.attach(check);
}

CheckSuite::~CheckSuite() {
  for (Check* const check : checks_) device_.detach(check);
}

void CheckSuite::reset() {
  for (Check* const check : checks_) check->reset();
  streams_.reset();
}

std::vector<Breach> CheckSuite::breaches() const {
  std::vector<Breach> all = streams_.breaches();
  std::ranges::copy(shared_races_.breaches(), std::back_inserter(all));
  return all;
}

bool CheckSuite::Findings::has_mistake() const {
  return std::ranges::any_of(list, [](const Finding& f) { return f.weight == Finding::Weight::mistake; });
}

CheckSuite::Findings CheckSuite::findings() const {
  Findings all;
  const auto add = [&](const FindingList& findings) {
    std::ranges::copy(findings.list(), std::back_inserter(all.list));
    all.total += findings.total();
  };
  for (const Check* const check : checks_) add(check->findings());
  add(streams_.findings());
  sort_most_basic_first(all.list);
  return all;
}

}  // namespace scanlab::vgpu
