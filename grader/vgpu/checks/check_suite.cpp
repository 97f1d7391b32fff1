#include "vgpu/checks/check_suite.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "vgpu/checks/finding_order.hpp"
#include "vgpu/checks/global/carried_counters.hpp"
#include "vgpu/checks/global/global_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/checks/uninitialised/uninitialised.hpp"

namespace scanlab::vgpu {

/// Checks of which nobody knows more than that: each is in a file of its name.
std::unique_ptr<Check> make_divergent_barriers();

CheckSuite::CheckSuite(Device& device) : device_(device) {
  checks_.push_back(make_divergent_barriers());
  checks_.push_back(std::make_unique<SharedRaces>());
  auto global_races = std::make_unique<GlobalRaces>();
  streams_.emplace(device.memory(), *global_races);
  checks_.push_back(std::move(global_races));
  auto uninitialised = std::make_unique<Uninitialised>(device.memory());
  uninitialised_ = uninitialised.get();
  checks_.push_back(std::move(uninitialised));
  auto counters = std::make_unique<CarriedCounters>(device.memory());
  counters_ = counters.get();
  checks_.push_back(std::move(counters));
  for (const auto& check : checks_) device_.attach(check.get());
}

CheckSuite::~CheckSuite() {
  streams_.reset();
  for (const auto& check : checks_) device_.detach(check.get());
}

void CheckSuite::reset() {
  for (const auto& check : checks_) check->reset();
  streams_->reset();
}

void CheckSuite::explain(Fault& fault) const {
  counters_->explain(fault);
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
  for (const auto& check : checks_) add(check->findings());
  add(streams_->findings());
  sort_most_basic_first(all.list);
  return all;
}

}  // namespace scanlab::vgpu
