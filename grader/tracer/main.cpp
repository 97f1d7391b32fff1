// tracer --plan plan.json --result accesses.json: calls one entry of a submission on the elements that the plan gives,
// on the virtual GPU, and writes down what one block of each kernel reads and writes. README.md describes both files.
//
// Exit code: 0 the accesses are written, however the call ended; 2 usage; 3 the kit's own fault.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "autograder/device/devices.hpp"
#include "autograder/device/provenance.hpp"
#include "autograder/process/submission.hpp"
#include "tracer/accesses.hpp"
#include "vgpu/checks/cost/step_tracer.hpp"
#include "vgpu/checks/shared/shared_races.hpp"

namespace scanlab::grade {

namespace {

using Json = nlohmann::ordered_json;

enum ExitCode { exit_written = 0, exit_usage = 2, exit_kit_fault = 3 };

constexpr int plan_version = 1;
constexpr std::size_t shown_bytes = 2000;

struct TracePlan {
  Plan call;  ///< the runner, the limits
  Operation entry = Operation::inclusive;
  ElementType element = ElementType::affine;
  std::vector<std::uint32_t> x;  ///< the elements' words
  vgpu::Schedule schedule;
  std::uint64_t block = 0, most_accesses = 0;

  std::size_t n() const { return x.size() * sizeof(std::uint32_t) / bytes_of(element); }
};

/// Throws what the JSON library throws, and KitFault.
TracePlan read_trace_plan(const std::string& path) {
  std::ifstream file(path);
  const Json json = Json::parse(file);
  if (json.at("version") != plan_version) throw KitFault("the plan is of another version");
  TracePlan plan;
  plan.element = json.at("element") == name_of(ElementType::float_) ? ElementType::float_ : ElementType::affine;
  plan.call.runners[name_of(plan.element)] = json.at("runner").get<std::string>();
  plan.call.launcher = json.at("launcher").get<std::vector<std::string>>();
  plan.call.profile = json.at("profile");
  plan.call.limits.seconds = json.at("seconds");
  plan.call.limits.warp_instructions = json.at("warp_instructions");
  const auto wanted = [&](Operation one) { return json.at("entry") == entry_name(one); };
  const auto entry = std::ranges::find_if(all_operations(), wanted);
  if (entry == all_operations().end()) throw KitFault("the plan's entry is none");
  plan.entry = *entry;
  plan.x = json.at("x").get<std::vector<std::uint32_t>>();
  plan.schedule = {vgpu::order_by_name(json.at("schedule").get<std::string>()), json.at("seed"),
                   json.value("trail", "")};
  plan.block = json.at("block");
  plan.most_accesses = json.at("most_accesses");
  return plan;
}

/// The failure, and what the submission printed.
Json ending(const CallReport& report, Submission& submission, const TracePlan& plan) {
  Json failure = nullptr;
  if (report.failure) {
    Cause cause = report.failure->cause;
    cause.headline = fmt::format("{} of {}, n = {}", noun_of(plan.entry),
                                 plan.element == ElementType::float_ ? "floats" : "affine maps", plan.n());
    failure = {{"verdict", name_of(report.failure->verdict)}, {"cause", to_json(cause)}};
  }
  return {{"failure", std::move(failure)}, {"printed", submission.output().substr(0, shown_bytes)}};
}

Json trace(const TracePlan& plan) {
  vgpu::StepTracer tracer(plan.block, plan.most_accesses);
  vgpu::SharedRaces races;
  const auto device =
      make_virtual_device(plan.call.profile, plan.call.limits.warp_instructions, Checking::off, {&tracer, &races});
  const std::size_t n = plan.n();
  CallMemory memory(*device, plan.entry, n, bytes_of(plan.element), fmt::format(" ({})", elements_text(n)));
  Provenance* const provenance = plan.element == ElementType::affine ? device->provenance() : nullptr;
  if (provenance) {
    const std::span maps(reinterpret_cast<const Affine*>(plan.x.data()), n);
    device->write(memory.x, provenance->begin(maps, plan.schedule.seed, Provenance::Remember::additions).data());
  } else {
    device->write(memory.x, plan.x.data());
  }
  memory.blank();

  TimeLimit limit(plan.call.limits.seconds, device->counted_time());
  Submission submission(plan.call, *device, plan.element, limit);
  const CallReport report = submission.call(plan.entry, memory, plan.schedule);

  Json json = accesses_json(tracer.launches(), races.findings(), provenance ? provenance->graph() : nullptr);
  json.update(ending(report, submission, plan));
  return json;
}

int run(int argc, char** argv) {
  std::string plan, result;
  for (int k = 1; k + 1 < argc; k += 2) {
    if (std::string_view(argv[k]) == "--plan") plan = argv[k + 1];
    if (std::string_view(argv[k]) == "--result") result = argv[k + 1];
  }
  if (plan.empty() || result.empty() || argc != 5) {
    fmt::print(stderr, "usage: tracer --plan plan.json --result accesses.json\n");
    return exit_usage;
  }
  adopt_orphans();
  write_atomically(result, trace(read_trace_plan(plan)).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return exit_written;
}

}  // namespace

}  // namespace scanlab::grade

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  try {
    return scanlab::grade::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tracer: {}\n", error.what());
    return scanlab::grade::exit_kit_fault;
  }
}
