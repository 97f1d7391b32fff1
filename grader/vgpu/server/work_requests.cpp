// What requests say about the order of the program's work, for the listener to it.
#include <cstring>

#include "vgpu/server/requests.hpp"

namespace scanlab::server {

using vgpu::Stream;
using vgpu::Work;
using wire::Op;
using wire::Request;

namespace {

Stream stream_of(const Request& request) {
  Stream stream;
  stream.number = static_cast<std::uint32_t>(request.stream);
  stream.is_branch = (request.stream & wire::stream_branch) != 0;
  stream.is_non_blocking = stream.is_branch || (request.stream & wire::stream_non_blocking) != 0;
  stream.is_per_thread = (request.stream & wire::stream_per_thread) != 0;
  return stream;
}

bool is_stream_ordered(const Request& request) {
  return (request.flags & wire::flag_stream_ordered) != 0;
}

}  // namespace

bool Requests::is_work(const Request& request) {
  const bool is_memory = request.op == Op::allocate || request.op == Op::release;
  return is_memory ? is_stream_ordered(request) : kind_of(request.op)->nature == Kind::uses_memory;
}

const char* Requests::call_of(const Request& request) {
  const Kind& kind = *kind_of(request.op);
  return request.flags & wire::flag_by_async ? kind.async_call : kind.call;
}

const char* Requests::name_of_call(const Request& request) {
  if (request.op == Op::allocate) return "an allocation of memory";
  if (request.op == Op::release && !is_stream_ordered(request)) return "cudaFree, or a call like it,";
  const char* const call = call_of(request);
  return *call ? call : "a call of the CUDA runtime";
}

void Requests::report_before(const Request& request, Payload payload) {
  // cudaFree makes the host wait, but for memory of a pool (cudaMallocAsync). That cudaMalloc does, or any other call
  // that allocates, or cudaFreeHost or cudaHostUnregister, is said nowhere. A module is unloaded, and the device reset,
  // when all is done.
  const bool is_free = request.op == Op::release && !is_stream_ordered(request);
  const vgpu::Allocation* const freed = is_free ? device_.memory().find(request.to, 0) : nullptr;
  const bool waits = freed && !freed->on_host && !pool_.contains(request.to);
  if (waits || request.op == Op::unload_module || request.op == Op::reset) options_.work->host_waited_for_all();
  if (freed && !waits)
    options_.work->host_accessed(
        {.address = freed->base,
         .bytes = freed->size,
         .writes = true,
         .place = call_site_,
         .gives_back = freed->label.starts_with("registered") ? "unregisters it" : "frees it"});
  if (request.op == Op::allocate) options_.work->allocation_comes(call_site_);
  if (!is_work(request)) return;
  Work work;
  work.stream = stream_of(request);
  work.call = call_of(request);
  if (request.flags & wire::flag_host_waits) work.host = Work::Host::waits;
  if (request.flags & wire::flag_host_has_waited) work.host = Work::Host::has_waited;
  // The other end of a copy, where that is memory which device code may use.
  const auto is_known = [&](vgpu::Address address) {
    return address != 0 && device_.memory().find(address, request.bytes) != nullptr;
  };
  if (request.op == Op::copy_to_device && is_known(request.from)) work.read_too = request.from;
  if (request.op == Op::copy_to_host && is_known(request.to)) work.written_too = request.to;
  work.bytes_too = request.bytes;
  if (request.op == Op::launch) work.arguments = words_in(payload);
  work.place = call_site_;
  work.graph_place = graph_site_;
  options_.work->work_begin(work);
}

void Requests::report_host_wait(const Request& request) {
  switch (static_cast<wire::HostWait>(request.value)) {
    case wire::HostWait::none:
      return;
    case wire::HostWait::stream:
      return options_.work->host_waited(stream_of(request));
    case wire::HostWait::event:
      return options_.work->host_waited(request.id);
    case wire::HostWait::all:
      return options_.work->host_waited_for_all();
  }
  throw ProtocolError("an unknown wait");
}

void Requests::report_after(const Request& request, const wire::Reply& reply) {
  vgpu::WorkListener& listener = *options_.work;
  if (is_work(request)) listener.work_end();
  if (request.op == Op::synchronise || request.op == Op::note_host_wait) report_host_wait(request);
  if (reply.error != wire::error::success) return;
  if (request.op == Op::host_function)
    listener.host_function(
        {request.id, static_cast<vgpu::HostFunction::Step>(request.value), stream_of(request), call_site_});
  if (request.op == Op::record_event && request.value == 0) listener.recorded(request.id, stream_of(request));
  if (request.op == Op::drop_event) listener.dropped(request.id);
  if (request.op == Op::drop_stream) listener.dropped(stream_of(request));
  if (request.op == Op::wait_event) listener.waits(stream_of(request), request.id);
}

}  // namespace scanlab::server
