// What the host does to memory while work that uses it may still run. Each access that the program's side has noticed
// is compared with the work that was submitted before it and that the host does not know to be done.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/checks/race.hpp"
#include "vgpu/checks/streams/stream_races.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {

InUse StreamRaces::host_accessed(const HostAccess& access) {
  InUse in_use;
  const Allocation* const array = is_lost_ ? nullptr : memory_.find(access.address, 1);
  if (!array) return in_use;
  const Span here{access.address, access.address + access.bytes};
  const Address page = access.address / page_bytes * page_bytes;
  for (const std::deque<Done>& line : done_)
    for (auto work = line.rbegin(); work != line.rend(); ++work) {
      // What cudaMemcpy has left on its way from pageable memory is nothing that a host thread can come before.
      const bool is_on_its_way = work->work.host == Work::Host::has_waited;
      if (work->signals_host || is_on_its_way || order_.is_known_to_host(work->place)) continue;
      const AccessedSpan* conflict = nullptr;
      for (const AccessedSpan& touched : work->spans) {
        const auto reaches_into = [&](Address begin, std::uint64_t bytes) {
          return touched.span.begin < begin + bytes && begin < touched.span.end;
        };
        if (!reaches_into(array->base, array->size)) continue;
        in_use.array = true;
        in_use.page |= reaches_into(page, page_bytes);
        if (!conflict && access.bytes > 0 && (access.writes || touched.site.how.writes()) &&
            first_common_byte(touched.span, here))
          conflict = &touched;
      }
      if (conflict) report_host_race(*work, *conflict, access, *array);
    }
  return in_use;
}

void StreamRaces::report_host_race(const Done& earlier, const AccessedSpan& first, const HostAccess& access,
                                   const Allocation& array) {
  if (!reported_.emplace(earlier.work.place, access.place, array.base).second) return;
  const bool is_kernel = earlier.module != nullptr;
  const std::string name =
      is_kernel ? "kernel " + ptx::source_name(earlier.kernel.c_str()) : std::string(earlier.work.call);
  const std::string stream = name_of(earlier.work.stream);
  GlobalHow second;
  second.kind = access.writes ? How::Kind::write : How::Kind::read;
  const Hazard hazard = hazard_between(first.site.how, second);

  Finding f;
  f.id = "race.host";
  f.kind = name_of(hazard);
  f.kernel = is_kernel ? ptx::source_name(earlier.kernel.c_str()) : std::string();
  f.variable = array.label.substr(0, array.label.find(" #"));
  f.element = (access.address - array.base) / first.site.bytes;
  f.headline = fmt::format("RACE ({}): {} {} of {}, {} and the host", f.kind, is_kernel ? "element" : "byte",
                           *f.element, array.label, name);
  Finding::Part uses;
  uses.actors = fmt::format("{} in {}", name, stream);
  uses.does = first.site.how.is_atomic() ? "updates it atomically" : first.site.how.writes() ? "writes it" : "reads it";
  const auto stand = [&](Finding::Part& part, const HostPlace& place) {
    if (source_of) part.where = source_of(place);
    part.is_call = part.where.line == 0;
  };
  if (is_kernel)
    uses.where = own_place(*earlier.module, first.site.line);
  else
    stand(uses, earlier.work.place);
  f.parts.push_back(std::move(uses));
  if (is_kernel) {
    Finding::Part launched;
    launched.does = "it is launched";
    stand(launched, earlier.work.place);
    if (!launched.is_call) f.parts.push_back(std::move(launched));
  }
  Finding::Part host;
  host.does = access.writes ? "writes it" : "reads it";
  stand(host, access.place);
  host.actors = host.is_call && !host.where.function.empty() ? "the host, in " + host.where.function + "," : "the host";
  f.parts.push_back(std::move(host));

  const std::string waiting = earlier.work.stream.is_legacy() || earlier.work.stream.is_per_thread
                                  ? "cudaDeviceSynchronize()"
                                  : "cudaStreamSynchronize() for " + stream + ", or cudaDeviceSynchronize(),";
  f.advice = fmt::format("the host has not waited for {}, which may still run: {}; call {} between the two",
                         is_kernel ? "the kernel" : "the copy", may_happen(hazard), waiting);
  if (!is_kernel && earlier.work.call == std::string_view("cudaMemsetAsync"))
    f.advice.replace(f.advice.find("the copy"), 8, "it");
  findings_.add(std::move(f));
}

}  // namespace scanlab::vgpu
