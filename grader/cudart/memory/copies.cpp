// Copies and sets, by pointer and by symbol.
#include <cstring>
#include <iterator>

#include "cudart/sides.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Request;

namespace {

/// What a cudaMemcpyKind claims, by its number; cudaMemcpyDefault, the last, claims nothing.
struct Direction {
  const char* name;
  bool to_device, from_device;
};
constexpr Direction directions[] = {{"cudaMemcpyHostToHost", false, false},
                                    {"cudaMemcpyHostToDevice", true, false},
                                    {"cudaMemcpyDeviceToHost", false, true},
                                    {"cudaMemcpyDeviceToDevice", true, true}};

/// Does the pointer fit the side that `kind` claims? Memory that both sides can use fits both.
bool fits(const Client& state, const void* pointer, bool device_claimed) {
  return in_device_window(pointer) == device_claimed || is_shared(state, pointer);
}

/// The kind claims that one end of a copy between two device pointers is the host's.
bool is_misnamed(const Client& state, const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost) return false;
  const auto is_of_device = [&](const void* pointer) {
    return in_device_window(pointer) && !is_shared(state, pointer);
  };
  return is_of_device(to) && is_of_device(from);
}

cudaError_t check_kind(const Client& state, const void* to, const void* from, cudaMemcpyKind kind) {
  // A GPU copies between two device pointers whichever side the kind calls the host's (seen with 13.0 on an H100).
  if (kind == cudaMemcpyDefault || is_misnamed(state, to, from, kind)) return cudaSuccess;
  if (static_cast<unsigned>(kind) >= std::size(directions)) return cudaErrorInvalidMemcpyDirection;
  const Direction& direction = directions[kind];
  const bool to_fits = fits(state, to, direction.to_device);
  if (to_fits && fits(state, from, direction.from_device)) return cudaSuccess;
  const void* wrong = to_fits ? from : to;
  say("copy refused: its kind is %s, but the %s is a %s pointer (the destination is the first argument)",
      direction.name, to_fits ? "source" : "destination", in_device_window(wrong) ? "device" : "host");
  return cudaErrorInvalidValue;
}

/// Says which allocation a device range leaves.
cudaError_t explain(Client& state, cudaError_t error, const char* what, const void* pointer, std::size_t bytes) {
  if (error != cudaErrorInvalidValue || state.sticky != cudaSuccess) return error;
  const auto found = last_up_to(state.allocations, address_of(pointer));
  if (found == state.allocations.end())
    say("%s of %zu bytes refused: its device pointer belongs to no allocation", what, bytes);
  else
    say("%s of %zu bytes refused: it begins at byte %llu of %s and does not lie within it", what, bytes,
        static_cast<unsigned long long>(address_of(pointer) - found->first), found->second.label.c_str());
  return error;
}

bool is_pageable(const Client& state, const void* host) {
  return !in_device_window(host) && registration_of(state, host) == nullptr;
}

/// When the call returns, as CUDA documents it ("API synchronization behavior"): which of its work the host knows to
/// be done. Here it is done in any case.
std::uint32_t host_waits(const Client& state, const void* to, const void* from, cudaMemcpyKind kind, Waits waits) {
  const bool to_device = on_device(state, to), from_device = on_device(state, from);
  const bool is_managed = is_shared(state, to) || is_shared(state, from);
  if (waits == Waits::no)
    return wire::flag_by_async | (from_device && !to_device && is_pageable(state, to) ? wire::flag_host_waits : 0);
  if (to_device && from_device) {
    // Between two places of the device nothing waits. CUDA 11 made an exception of managed memory; later documentation
    // does not: where both ends may lie on the device, it is one place of it.
    const bool may_be_on_device = kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
    return is_managed && !may_be_on_device ? wire::flag_host_waits : 0;
  }
  // Pageable memory has been staged, but may be still on its way.
  return to_device && is_pageable(state, from) ? wire::flag_host_has_waited : wire::flag_host_waits;
}

/// A copy uses the memory itself; what may still be in use when it returns is watched.
class OwnUse {
 public:
  OwnUse(Client& state, const void* to, const void* from, std::size_t bytes, std::uint32_t flags)
      : state_(state), to_(to), from_(from), bytes_(bytes), goes_on_((flags & wire::flag_host_waits) == 0) {
    if (!state_.reports_host()) return;
    had_closed_ = state_.watch.has_closed();
    if (!on_device(state, to)) state_.watch.open(address_of(to), bytes);
    if (!on_device(state, from)) state_.watch.open(address_of(from), bytes);
  }
  ~OwnUse() {
    if (!state_.reports_host()) return;
    using How = HostWatch::How;
    // Pages that were opened may be in use by other work as well: then the next access asks.
    if (goes_on_ || had_closed_) {
      state_.watch.used(device_address(to_), bytes_, How::closed);
      state_.watch.used(device_address(from_), bytes_, had_closed_ ? How::closed : How::readable);
    }
    state_.watch.is_stale |= had_closed_;
  }
  OwnUse(const OwnUse&) = delete;
  OwnUse& operator=(const OwnUse&) = delete;

 private:
  Address device_address(const void* pointer) const {
    return in_device_window(pointer) ? address_of(pointer) : device_alias(state_, pointer);
  }

  Client& state_;
  const void *to_, *from_;
  std::size_t bytes_;
  bool goes_on_, had_closed_ = false;
};

cudaError_t copy(Client& state, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Waits waits) {
  if (bytes == 0) return waits == Waits::yes ? state.synchronise() : cudaSuccess;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_kind(state, to, from, kind); error != cudaSuccess) return error;
  // Pinned memory is read and written in this process: its bounds are checked here.
  for (const void* side : {static_cast<const void*>(to), from})
    if (!on_device(state, side) && !lies_within(state, side, bytes))
      return explain(state, cudaErrorInvalidValue, "copy", side, bytes);
  const std::uint32_t flags = flags_of(waits) | host_waits(state, to, from, kind, waits);
  const OwnUse own_use(state, to, from, bytes, flags);
  const bool to_device = on_device(state, to), from_device = on_device(state, from);
  // A kernel that still runs may write to pinned or registered memory, which is read in this process.
  if (!from_device) state.drain();
  if (to_device && from_device) {
    Request request{
        .op = Op::copy_on_device, .flags = flags, .to = address_of(to), .from = address_of(from), .bytes = bytes};
    if (is_misnamed(state, to, from, kind)) {
      request.flags |= wire::flag_misnamed;
      if (!state.reports_host())
        say("copy of kind %s between two device pointers: a GPU copies them all the same; cudaMemcpyDeviceToDevice "
            "says what it does",
            directions[kind].name);
    }
    return explain(state, state.submit(request), "copy on the device", to, bytes);
  }
  if (to_device)
    return explain(state, state.copy_to_device(address_of(to), from, bytes, flags, device_alias(state, from)),
                   "copy to the device", to, bytes);
  if (from_device)
    return explain(state, state.copy_to_host(to, address_of(from), bytes, flags, device_alias(state, to)),
                   "copy to the host", from, bytes);
  if (waits == Waits::yes)
    if (const cudaError_t error = state.synchronise(); error != cudaSuccess) return error;
  state.note(Client::wait_for_all());  // between two places of the host it is done when the call returns
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t fill(Client& state, void* to, int value, std::size_t bytes, Waits waits) {
  if (bytes == 0) return cudaSuccess;
  if (!in_device_window(to)) {
    if (to != nullptr) say("cudaMemset takes a device pointer, and this is a host pointer (use memset)");
    return cudaErrorInvalidValue;
  }
  // cudaMemset returns before it is done, but for memory that the host sees.
  const std::uint32_t flags = waits == Waits::no     ? wire::flag_by_async
                              : is_shared(state, to) ? wire::flag_host_waits
                                                     : 0;
  const Request request{
      .op = Op::fill, .flags = flags, .to = address_of(to), .bytes = bytes, .value = static_cast<unsigned char>(value)};
  const cudaError_t error = state.submit(request);
  if (state.reports_host() && !(flags & wire::flag_host_waits))
    state.watch.used(address_of(to), bytes, HostWatch::How::closed);
  return explain(state, error, "cudaMemset", to, bytes);
}

/// Calls each(0), each(1) … up to the first error.
template <class Each>
cudaError_t until_error(std::size_t count, Each each) {
  cudaError_t error = cudaSuccess;
  for (std::size_t i = 0; i < count && error == cudaSuccess; ++i) error = each(i);
  return error;
}

cudaError_t copy_rows(Client& state, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, cudaMemcpyKind kind, Waits waits) {
  // The documented error; for a single row CUDA 13.0 was seen to return the other one, on an H200.
  if (width > to_pitch || width > from_pitch) return height == 1 ? cudaErrorInvalidValue : cudaErrorInvalidPitchValue;
  if (width == to_pitch && width == from_pitch) return copy(state, to, from, width * height, kind, waits);
  return until_error(height, [&](std::size_t row) {
    return copy(state, static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                width, kind, waits);
  });
}

cudaError_t fill_rows(Client& state, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                      Waits waits) {
  if (width > pitch) return cudaErrorInvalidValue;
  return until_error(
      height, [&](std::size_t row) { return fill(state, static_cast<char*>(to) + row * pitch, value, width, waits); });
}

cudaError_t copy_box(Client& state, const cudaMemcpy3DParms& box, Waits waits) {
  if (box.srcArray != nullptr || box.dstArray != nullptr) return state.unsupported("a copy of a CUDA array");
  const auto corner = [](const cudaPitchedPtr& base, const cudaPos& at, std::size_t z) {
    return static_cast<char*>(base.ptr) + ((at.z + z) * base.ysize + at.y) * base.pitch + at.x;
  };
  return until_error(box.extent.depth, [&](std::size_t z) {
    return copy_rows(state, corner(box.dstPtr, box.dstPos, z), box.dstPtr.pitch, corner(box.srcPtr, box.srcPos, z),
                     box.srcPtr.pitch, box.extent.width, box.extent.height, box.kind, waits);
  });
}

cudaError_t fill_box(Client& state, cudaPitchedPtr to, int value, cudaExtent extent, Waits waits) {
  return until_error(extent.depth, [&](std::size_t z) {
    char* slice = static_cast<char*>(to.ptr) + z * to.pitch * to.ysize;
    return fill_rows(state, slice, to.pitch, value, extent.width, extent.height, waits);
  });
}

/// A copy to or from a symbol, whose other end is `other`: the variable's part [offset, offset + bytes).
enum class Symbol { is_destination, is_source };
template <Symbol symbol_is>
cudaError_t copy_symbol(Client& state, const void* symbol, const void* other, std::size_t bytes, std::size_t offset,
                        cudaMemcpyKind kind, Waits waits) {
  const bool is_destination = symbol_is == Symbol::is_destination;
  if (kind == (is_destination ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice) || kind == cudaMemcpyHostToHost)
    return cudaErrorInvalidMemcpyDirection;
  Variable* variable = state.find_variable(symbol);
  if (variable == nullptr) return cudaErrorInvalidSymbol;
  if (const cudaError_t error = state.resolve(*variable); error != cudaSuccess) return error;
  if (offset > variable->bytes || bytes > variable->bytes - offset) {
    say("copy refused: %zu bytes at offset %zu do not lie within the %llu bytes of the symbol", bytes, offset,
        static_cast<unsigned long long>(variable->bytes));
    return cudaErrorInvalidValue;
  }
  void* part = reinterpret_cast<void*>(variable->address + offset);
  return is_destination ? copy(state, part, other, bytes, kind, waits)
                        : copy(state, const_cast<void*>(other), part, bytes, kind, waits);
}
constexpr auto copy_to_symbol = copy_symbol<Symbol::is_destination>;
constexpr auto copy_from_symbol = copy_symbol<Symbol::is_source>;

/// `function`, which copies memory, as work of a stream.
template <auto function, cudaGraphNodeType type = cudaGraphNodeTypeMemcpy, class... Arguments>
cudaError_t submit_copy(cudaStream_t stream, Waits waits, Arguments... arguments) {
  return submit(stream, type, [=](Client& state, cudaStream_t) { return function(state, arguments..., waits); });
}
/// The same for one that sets memory.
template <auto function, class... Arguments>
cudaError_t submit_set(cudaStream_t stream, Waits waits, Arguments... arguments) {
  return submit_copy<function, cudaGraphNodeTypeMemset>(stream, waits, arguments...);
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return submit_copy<copy>(nullptr, Waits::yes, to, from, bytes, kind);
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return submit_copy<copy>(stream, Waits::no, to, from, bytes, kind);
}

cudaError_t CUDARTAPI cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                          cudaStream_t stream) {
  if (to_device != 0 || from_device != 0) return record(cudaErrorInvalidDevice);
  return submit_copy<copy>(stream, Waits::no, to, from, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t CUDARTAPI cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                   size_t height, cudaMemcpyKind kind) {
  return submit_copy<copy_rows>(nullptr, Waits::yes, to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                        size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return submit_copy<copy_rows>(stream, Waits::no, to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                                         cudaMemcpyKind kind) {
  return submit_copy<copy_to_symbol>(nullptr, Waits::yes, symbol, from, bytes, offset, kind);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                           cudaMemcpyKind kind) {
  return submit_copy<copy_from_symbol>(nullptr, Waits::yes, symbol, to, bytes, offset, kind);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                              cudaMemcpyKind kind, cudaStream_t stream) {
  return submit_copy<copy_to_symbol>(stream, Waits::no, symbol, from, bytes, offset, kind);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                                cudaMemcpyKind kind, cudaStream_t stream) {
  return submit_copy<copy_from_symbol>(stream, Waits::no, symbol, to, bytes, offset, kind);
}

cudaError_t CUDARTAPI cudaMemset(void* to, int value, size_t bytes) {
  return submit_set<fill>(nullptr, Waits::yes, to, value, bytes);
}

cudaError_t CUDARTAPI cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return submit_set<fill>(stream, Waits::no, to, value, bytes);
}

cudaError_t CUDARTAPI cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return submit_set<fill_rows>(nullptr, Waits::yes, to, pitch, value, width, height);
}

cudaError_t CUDARTAPI cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                        cudaStream_t stream) {
  return submit_set<fill_rows>(stream, Waits::no, to, pitch, value, width, height);
}

cudaError_t CUDARTAPI cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return submit_set<fill_box>(nullptr, Waits::yes, to, value, extent);
}

cudaError_t CUDARTAPI cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return submit_set<fill_box>(stream, Waits::no, to, value, extent);
}

cudaError_t CUDARTAPI cudaMemcpy3D(const cudaMemcpy3DParms* box) {
  if (box == nullptr) return record(cudaErrorInvalidValue);
  return submit_copy<copy_box>(nullptr, Waits::yes, *box);
}

cudaError_t CUDARTAPI cudaMemcpy3DAsync(const cudaMemcpy3DParms* box, cudaStream_t stream) {
  if (box == nullptr) return record(cudaErrorInvalidValue);
  return submit_copy<copy_box>(stream, Waits::no, *box);
}

}  // extern "C"
