// What the host does to memory while work that uses it may still run. Each access that the program's side has noticed
// is compared with the work that was submitted before it and that the host does not know to be done.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "vgpu/checks/race.hpp"
#include "vgpu/checks/streams/stream_races.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

/// Accesses of host functions that later ones are compared with.
constexpr std::size_t most_function_uses = 4096;

/// Does the host learn by it what memory held? Not by a plain store.
bool looks_at(const HostAccess& access) {
  return !access.writes || access.is_ordered;
}

}  // namespace

void StreamRaces::hear(Done& work, const HostAccess& access) {
  if (work.is_looked_at || !work.module) return;
  const Span here{access.address, access.address + access.bytes};
  const auto is_signal = [&](const AccessedSpan& t) {
    return t.site.how.is_for_host && t.site.how.writes() && first_common_byte(t.span, here);
  };
  const bool looks = access.bytes > 0 && looks_at(access);
  if (!access.follows_unseen && !(looks && std::ranges::any_of(work.spans, is_signal))) return;
  work.is_looked_at = true;
  if (work.has_host_fence) order_.host_knows_begun(work.place);
}

bool StreamRaces::tells(const Done& work, const AccessedSpan& touched, const HostAccess& access) {
  return work.module && touched.site.how.is_for_host && (looks_at(access) || work.is_looked_at);
}

template <class IsOpen>
InUse StreamRaces::compare_with_work(const HostAccess& access, const Allocation& array, IsOpen is_open) {
  InUse in_use;
  const Span here{access.address, access.address + access.bytes};
  const Address page = access.address / page_bytes * page_bytes;
  for (std::deque<Done>& line : done_)
    for (auto work = line.rbegin(); work != line.rend(); ++work) {
      hear(*work, access);
      // What cudaMemcpy has left on its way from pageable memory is nothing that a host thread can come before.
      const bool is_on_its_way = work->work.host == Work::Host::has_waited;
      const bool may_be_ordered = work->may_be_ordered();
      if (is_on_its_way || !is_open(*work) || (may_be_ordered && exchange_)) continue;
      const AccessedSpan* conflict = nullptr;
      std::optional<Address> byte;
      for (const AccessedSpan& touched : work->spans) {
        const auto reaches_into = [&](Address begin, std::uint64_t bytes) {
          return touched.span.begin < begin + bytes && begin < touched.span.end;
        };
        if (!reaches_into(array.base, array.size)) continue;
        const bool is_signal = work->module && touched.site.how.is_for_host;
        if (!may_be_ordered && !(is_signal && work->is_looked_at)) {
          in_use.array = true;
          in_use.page |= reaches_into(page, page_bytes);
        }
        if (exchange_ && tells(*work, touched, access)) continue;
        if (conflict || access.bytes == 0 || !(access.writes || touched.site.how.writes())) continue;
        if ((byte = first_common_byte(touched.span, here))) conflict = &touched;
      }
      if (!conflict) continue;
      if (!exchange_) exchange_ = {Breach::What::host_exchange, place_of(*work, *conflict)};
      if (may_be_ordered || tells(*work, *conflict, access)) continue;
      report_host_race(*work, *conflict, access, array, *byte);
      if (!access.gives_back.empty()) break;  // what comes after the latest comes after all of the stream
    }
  return in_use;
}

InUse StreamRaces::host_accessed(const HostAccess& reported) {
  const Allocation* const array = is_lost_ ? nullptr : memory_.find(reported.address, 1);
  if (!array) return {};
  HostAccess access = reported;
  access.bytes = std::min(access.bytes, array->base + array->size - access.address);
  if (access.function) return function_accessed(access, *array);
  InUse in_use =
      compare_with_work(access, *array, [&](const Done& work) { return !order_.is_known_to_host(work.place); });
  if (access.bytes == 0) host_uses_.clear();
  settle(&access);
  if (functions_.empty()) return in_use;
  if (access.stays) host_uses_.push_back({access, array->base});
  return {true, true};  // the next accesses count as well
}

Finding::Part StreamRaces::part_of_host(const HostPlace& place) const {
  Finding::Part part;
  if (source_of) part.where = source_of(place);
  part.is_call = part.where.line == 0;
  return part;
}

namespace {

std::string what_does(const GlobalHow& how) {
  return how.is_atomic() ? "updates it atomically" : how.writes() ? "writes it" : "reads it";
}

std::string done_by_host(const HostAccess& access) {
  return std::string(!access.gives_back.empty() ? access.gives_back : access.writes ? "writes it" : "reads it");
}

std::string may_happen_to(const HostAccess& access, Hazard hazard) {
  return std::string(!access.gives_back.empty() ? "it may be given back while it is still in use" : may_happen(hazard));
}

GlobalHow how_of(const HostAccess& access) {
  GlobalHow how;
  how.kind = access.writes ? How::Kind::write : How::Kind::read;
  return how;
}

}  // namespace

std::vector<Finding::Part> StreamRaces::parts_of_work(const Done& work, const AccessedSpan& touched) const {
  Finding::Part uses = part_of_host(work.work.place);
  Finding::Part launched = uses;
  uses.actors =
      fmt::format("{} in {}{}", name_of(work), vgpu::name_of(work.work.stream),
                  work.work.stream.is_non_blocking && !work.work.stream.is_branch ? " (cudaStreamNonBlocking)" : "");
  uses.does = work.is_call_of(frees)       ? "frees it"
              : work.is_call_of(allocates) ? "allocates it"
                                           : what_does(touched.site.how);
  const bool is_of_graph = !work.work.graph_place.empty();
  if (work.module) {
    uses.where = place_of(work, touched);
    uses.is_call = false;
  }
  std::vector<Finding::Part> parts = {std::move(uses)};
  launched.does = is_of_graph ? "it is captured" : "it is launched";
  if (work.module && !launched.is_call) parts.push_back(std::move(launched));
  if (is_of_graph) {
    Finding::Part graph = part_of_host(work.work.graph_place);
    graph.does = "its graph is launched";
    if (!graph.is_call) parts.push_back(std::move(graph));
  }
  return parts;
}

void StreamRaces::report_host_race(const Done& work, const AccessedSpan& touched, const HostAccess& access,
                                   const Allocation& array, Address byte) {
  if (!reported_.emplace(work.work.place, access.place, array.base).second) return;
  const Function* const function = access.function ? &functions_.at(access.function) : nullptr;
  const bool is_function_first = function && function->moment < work.moment;
  const GlobalHow host_how = how_of(access);
  const Hazard hazard =
      is_function_first ? hazard_between(host_how, touched.site.how) : hazard_between(touched.site.how, host_how);
  Finding f = race_at(array, (byte - array.base) / touched.site.bytes, work.module ? "element" : "byte", hazard,
                      fmt::format("{} and {}", name_of(work), function ? "a host function" : "the host"));
  if (work.module) f.kernel = ptx::source_name(work.kernel.c_str());
  f.parts = parts_of_work(work, touched);
  const std::string stream = vgpu::name_of(work.work.stream);
  if (function) {
    std::vector<Finding::Part> its = parts_of_function(*function, access);
    f.parts.insert(is_function_first ? f.parts.begin() : f.parts.end(), its.begin(), its.end());
    const std::string own = vgpu::name_of(function->stream);
    f.advice = fmt::format(
        "{} does not wait for {}: {}; put cudaEventRecord behind the first of the two and cudaStreamWaitEvent in front "
        "of the second, or a synchronisation, or use one stream for both",
        is_function_first ? stream : own, is_function_first ? own : stream, may_happen(hazard));
    findings_.add(std::move(f));
    return;
  }
  Finding::Part host = part_of_host(access.place);
  host.does = done_by_host(access);
  host.actors = host.is_call && !host.where.function.empty() ? "the host, in " + host.where.function + "," : "the host";
  f.parts.push_back(std::move(host));
  if (work.work.call == std::string_view("cudaMemcpy"))
    f.details.emplace_back("cudaMemcpy between two places of the device may return before it is done");
  if (work.is_looked_at && !work.has_host_fence)
    f.details.emplace_back(
        "the host looks at what the kernel sets for it, which orders nothing: between the two stands no "
        "__threadfence_system()");
  const std::string waiting =
      work.work.stream.is_legacy() || work.work.stream.is_per_thread || work.work.stream.is_branch
          ? "cudaDeviceSynchronize()"
          : "cudaStreamSynchronize() for " + stream + ", or cudaDeviceSynchronize(),";
  const std::string_view call = work.work.call;
  const bool is_copy = call.starts_with("cudaMemcpy") || call.starts_with("cudaMemPrefetch");
  f.advice = fmt::format("the host has not waited for {}, which may still run: {}; call {} between the two{}",
                         work.module ? "the kernel"
                         : is_copy   ? "the copy"
                                     : "the " + std::string(call),
                         may_happen_to(access, hazard), waiting,
                         work.is_looked_at && !work.has_host_fence
                             ? ", or __threadfence_system() in the kernel before it sets what the host looks at"
                         : access.writes && access.gives_back.empty() ? ", or write it before"
                                                                      : "");
  findings_.add(std::move(f));
}

// --- host functions --------------------------------------------------------------------------------------------------

void StreamRaces::host_function(const HostFunction& function) {
  if (is_lost_) return;
  ++moment_;
  if (function.step == HostFunction::Step::submitted) {
    settle(nullptr);
    // An event is recorded for what it comes after: it is not in the line itself yet.
    recorded(function.id, function.stream);
    StreamOrder::Place turn;
    if (is_lost_) return;
    if (!order_.submit(function.stream, Work::Host::goes_on, turn))
      return give_up("there are too many streams to follow");
    functions_[function.id] = {function.stream, function.place, turn, moment_, {}};
    if (!function_) function_ = {Breach::What::host_function, part_of_host(function.place).where};
    return;
  }
  const auto found = functions_.find(function.id);
  if (found == functions_.end()) return;
  if (function.step == HostFunction::Step::begins) {
    found->second.begun = moment_;
    host_waited(function.id);  // it may notify the host that what was before it is done
    return;
  }
  ended_.insert(functions_.extract(found));
  order_.drop(function.id);
  forget_known();
  if (!functions_.empty()) return;
  host_uses_.clear();
  ended_.clear();
  function_uses_.clear();
}

void StreamRaces::settle(const HostAccess* access) {
  for (auto& [earlier, finding] : std::exchange(suspected_, {}))
    if (!access || access->address != earlier.address || access->place != earlier.place)
      findings_.add(std::move(finding));
}

InUse StreamRaces::function_accessed(const HostAccess& access, const Allocation& array) {
  const auto found = functions_.find(access.function);
  if (found == functions_.end() || !found->second.begun) return {};
  const Function& function = found->second;
  compare_with_work(access, array, [&](const Done& work) {
    return work.moment < *function.begun && is_open_to(access.function, function, work);
  });
  const Span its{access.address, access.address + access.bytes};
  for (const HostUse& use : host_uses_) {
    if (use.array != array.base || !(use.access.writes || access.writes)) continue;
    const Span here{use.access.address, use.access.address + use.access.bytes};
    if (const auto byte = first_common_byte(its, here))
      report_function_race(function, access, use.access, array, *byte);
  }
  compare_with_functions(access, array);
  return {true, true};
}

/// The device runs host functions one after the other. One that was submitted before another began, in a stream that
/// does not wait for it, may as well run first.
void StreamRaces::compare_with_functions(const HostAccess& access, const Allocation& array) {
  if (access.is_ordered) return;
  const Function& own = functions_.at(access.function);
  const Span its{access.address, access.address + access.bytes};
  for (const FunctionUse& use : function_uses_) {
    if (use.array != array.base || !(use.access.writes || access.writes)) continue;
    const Span here{use.access.address, use.access.address + use.access.bytes};
    const std::optional<Address> byte = first_common_byte(its, here);
    if (!byte) continue;
    const auto ended = ended_.find(use.function);
    if (ended == ended_.end()) continue;  // its own
    // What the host knew when it submitted this one, a function that had begun may have told it.
    const Function& earlier = ended->second;
    if (*earlier.begun > own.moment && !order_.comes_before(earlier.turn, access.function))
      report_race_of_functions(use, access, array, *byte);
  }
  if (functions_.size() > 1 && function_uses_.size() < most_function_uses)
    function_uses_.push_back({access.function, access, array.base});
}

Finding StreamRaces::race_at(const Allocation& array, std::uint64_t element, std::string_view unit, Hazard hazard,
                             std::string_view between) const {
  Finding f;
  f.id = "race.host";
  f.kind = vgpu::name_of(hazard);
  f.variable = array.label.substr(0, array.label.find(" #"));
  f.element = element;
  f.headline = fmt::format("RACE ({}): {} {} of {}, {}", f.kind, unit, element, label_of(array), between);
  return f;
}

std::vector<Finding::Part> StreamRaces::parts_of_function(const Function& function, const HostAccess& access) const {
  Finding::Part does = part_of_host(access.place);
  does.actors = fmt::format("a host function in {}", vgpu::name_of(function.stream));
  does.does = access.writes ? "writes it" : "reads it";
  Finding::Part submitted = part_of_host(function.place);
  submitted.does = "it is submitted";
  std::vector<Finding::Part> parts = {std::move(does)};
  if (!submitted.is_call) parts.push_back(std::move(submitted));
  return parts;
}

void StreamRaces::report_race_of_functions(const FunctionUse& earlier, const HostAccess& access,
                                           const Allocation& array, Address byte) {
  const Function &first = ended_.at(earlier.function), &second = functions_.at(access.function);
  if (!reported_.emplace(first.place, second.place, array.base).second) return;
  const Hazard hazard = hazard_between(how_of(earlier.access), how_of(access));
  Finding f = race_at(array, byte - array.base, "byte", hazard, "a host function and another");
  f.parts = parts_of_function(first, earlier.access);
  std::ranges::move(parts_of_function(second, access), std::back_inserter(f.parts));
  const std::string a = vgpu::name_of(first.stream), b = vgpu::name_of(second.stream);
  f.advice = fmt::format(
      "{} does not wait for {}: {}; put cudaEventRecord and cudaStreamWaitEvent between the two, or a "
      "synchronisation, or use one stream for both",
      b, a, may_happen(hazard));
  findings_.add(std::move(f));
}

void StreamRaces::report_function_race(const Function& function, const HostAccess& its, const HostAccess& host,
                                       const Allocation& array, Address byte) {
  if (!reported_.emplace(function.place, host.place, array.base).second) return;
  const Hazard hazard = hazard_between(how_of(its), how_of(host));
  Finding f = race_at(array, byte - array.base, "byte", hazard, "a host function and the host");
  f.parts = parts_of_function(function, its);
  Finding::Part other = part_of_host(host.place);
  other.actors = "the host";
  other.does = done_by_host(host);
  f.parts.push_back(std::move(other));
  f.advice = fmt::format(
      "the host has not waited for the host function, which may still wait for its turn, or run: {}; call "
      "cudaStreamSynchronize() for {}, or cudaDeviceSynchronize(), between the two",
      may_happen_to(host, hazard), vgpu::name_of(function.stream));
  suspected_.emplace_back(host, std::move(f));
}

}  // namespace scanlab::vgpu
