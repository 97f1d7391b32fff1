#include "vgpu/checks/check_suite.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "vgpu/checks/global_races.hpp"
#include "vgpu/checks/shared_races.hpp"
#include "vgpu/checks/uninitialised.hpp"

namespace scanlab::vgpu {
namespace {

/// What the others may follow from comes first.
constexpr std::array<std::string_view, 5> most_basic_first = {"race.shared", "fence.missing", "race.global",
                                                              "uninitialised.shared", "uninitialised.global"};

std::size_t rank(const Finding& finding) {
  return static_cast<std::size_t>(std::ranges::find(most_basic_first, finding.id) - most_basic_first.begin());
}

}  // namespace

CheckSuite::CheckSuite(Device& device) : device_(device) {
  checks_.push_back(std::make_unique<SharedRaces>());
  checks_.push_back(std::make_unique<GlobalRaces>());
  auto uninitialised = std::make_unique<Uninitialised>(device.memory());
  uninitialised_ = uninitialised.get();
  checks_.push_back(std::move(uninitialised));
  for (const auto& check : checks_) device_.attach(check.get());
}

CheckSuite::~CheckSuite() {
  for (const auto& check : checks_) device_.detach(check.get());
}

void CheckSuite::reset() {
  for (const auto& check : checks_) check->reset();
}

bool CheckSuite::Findings::has_mistake() const {
  return std::ranges::any_of(list, [](const Finding& f) { return f.weight == Finding::Weight::mistake; });
}

CheckSuite::Findings CheckSuite::findings() const {
  Findings all;
  for (const auto& check : checks_) {
    std::ranges::copy(check->findings().list(), std::back_inserter(all.list));
    all.total += check->findings().total();
  }
  std::ranges::stable_sort(all.list, {}, [](const Finding& f) { return std::tuple(f.weight, rank(f)); });
  return all;
}

}  // namespace scanlab::vgpu
