// Memory in the order of a stream: cudaMallocAsync, and the pools that it comes from.
//
// All work runs in the order of submission, so a pool need not hold memory back for a stream: it counts what is used,
// and reserves as a real one does, in whole pieces, of which it keeps up to its release threshold.
#include <algorithm>
#include <set>
#include <utility>

#include "cudart/sides.hpp"

struct CUmemPoolHandle_st {
  std::uint64_t threshold = 0;
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  int reuse[3] = {1, 1, 1};  ///< by cudaMemPoolReuse…: always on, since what has been freed can always be used again
};

namespace scanlab::cudart {
namespace {

using Pool = CUmemPoolHandle_st;

constexpr std::uint64_t piece = 2 << 20;

struct Pools {
  Pool device_default;
  Pool* current = &device_default;
  std::set<Pool*> made;
  std::map<Address, Pool*> owner;  ///< of what has been allocated

  bool valid(Pool* pool) const { return pool == &device_default || made.contains(pool); }
};
Pools& pools = *new Pools;  // under Client::mutex; never destroyed, as the client

void grow(Pool& pool, std::uint64_t bytes) {
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved = std::max(pool.reserved, (pool.used + piece - 1) / piece * piece);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

void trim(Pool& pool, std::uint64_t keep) {
  pool.reserved = std::min(pool.reserved, std::max((pool.used + piece - 1) / piece * piece, keep));
}

cudaError_t allocate_from(Client& state, void** pointer, std::size_t bytes, Pool* pool, cudaStream_t stream) {
  if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
  if (pointer == nullptr || !pools.valid(pool)) return cudaErrorInvalidValue;
  if (state.capture_of(stream) != nullptr) return state.unsupported("cudaMallocAsync in a stream capture");
  if (const cudaError_t error = state.refuse_implicit_capture(stream); error != cudaSuccess) return error;
  state.await_host_functions(stream);
  state.work_in(stream);
  const cudaError_t error =
      allocate(state, pointer, bytes, MemoryKind::device, 0, Waits::no, wire::flag_stream_ordered);
  state.note_work(stream);
  if (error != cudaSuccess || *pointer == nullptr) return error;
  grow(*pool, bytes);
  pools.owner[address_of(*pointer)] = pool;
  return cudaSuccess;
}

/// A number of eight bytes behind `value`, or a switch of four.
std::uint64_t* counter(Pool& pool, cudaMemPoolAttr attribute) {
  const std::pair<cudaMemPoolAttr, std::uint64_t*> counters[] = {{cudaMemPoolAttrReleaseThreshold, &pool.threshold},
                                                                 {cudaMemPoolAttrReservedMemCurrent, &pool.reserved},
                                                                 {cudaMemPoolAttrReservedMemHigh, &pool.reserved_high},
                                                                 {cudaMemPoolAttrUsedMemCurrent, &pool.used},
                                                                 {cudaMemPoolAttrUsedMemHigh, &pool.used_high}};
  for (const auto& [known, value] : counters)
    if (known == attribute) return value;
  return nullptr;
}

bool is_switch(cudaMemPoolAttr attribute) {
  return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t set_attribute(Pool& pool, cudaMemPoolAttr attribute, const void* value) {
  if (is_switch(attribute)) {
    pool.reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *static_cast<const int*>(value) != 0;
    return cudaSuccess;
  }
  const std::uint64_t* wanted = static_cast<const std::uint64_t*>(value);
  if (attribute == cudaMemPoolAttrReleaseThreshold) return give(&pool.threshold, *wanted);
  const bool is_used = attribute == cudaMemPoolAttrUsedMemHigh;
  if (!is_used && attribute != cudaMemPoolAttrReservedMemHigh) return cudaErrorInvalidValue;
  if (*wanted != 0) return cudaErrorInvalidValue;  // a high-water mark can only be reset
  (is_used ? pool.used_high : pool.reserved_high) = is_used ? pool.used : pool.reserved;
  return cudaSuccess;
}

}  // namespace

void forget_pool_allocation(Address address) {
  const auto found = pools.owner.find(address);
  if (found == pools.owner.end()) return;
  Pool& pool = *found->second;
  const AllocationNote* note = client().allocation_of(reinterpret_cast<const void*>(address));
  pool.used -= std::min<std::uint64_t>(pool.used, note == nullptr ? 0 : note->bytes);
  trim(pool, pool.threshold);
  pools.owner.erase(found);
}

void forget_pools() {
  for (Pool* pool : pools.made) delete pool;
  pools = {};
  pools.current = &pools.device_default;
}

}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return call([&](Client& state) { return allocate_from(state, pointer, bytes, pools.current, stream); });
}

cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return call([&](Client& state) { return allocate_from(state, pointer, bytes, pool, stream); });
}

cudaError_t CUDARTAPI cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    if (state.capture_of(stream) != nullptr) return state.unsupported("cudaFreeAsync in a stream capture");
    if (const cudaError_t error = state.refuse_implicit_capture(stream); error != cudaSuccess) return error;
    state.await_host_functions(stream);
    state.work_in(stream);
    if (state.reports_host()) state.note_call_site(frames_here());
    return release(state, pointer, Waits::no, wire::flag_stream_ordered);
  });
}

cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return call([&](Client&) -> cudaError_t {
    return pool != nullptr && device != 0 ? cudaErrorInvalidDevice : give(pool, &pools.device_default);
  });
}

cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return call([&](Client&) -> cudaError_t {
    return pool != nullptr && device != 0 ? cudaErrorInvalidDevice : give(pool, pools.current);
  });
}

cudaError_t CUDARTAPI cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return call([&](Client&) -> cudaError_t {
    if (device != 0) return cudaErrorInvalidDevice;
    if (!pools.valid(pool)) return cudaErrorInvalidValue;
    pools.current = pool;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return call([&](Client&) -> cudaError_t {
    if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned)
      return cudaErrorInvalidValue;
    if (properties->location.type != cudaMemLocationTypeDevice) return cudaErrorNotSupported;
    if (properties->location.id != 0) return cudaErrorInvalidDevice;
    *pool = new Pool;
    pools.made.insert(*pool);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t pool) {
  return call([&](Client&) -> cudaError_t {
    if (pools.made.erase(pool) == 0) return cudaErrorInvalidValue;
    if (pools.current == pool) pools.current = &pools.device_default;
    std::erase_if(pools.owner, [&](const auto& entry) { return entry.second == pool; });  // it lives on by itself
    delete pool;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return call([&](Client&) -> cudaError_t {
    if (!pools.valid(pool)) return cudaErrorInvalidValue;
    trim(*pool, keep);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call([&](Client&) -> cudaError_t {
    if (!pools.valid(pool) || value == nullptr) return cudaErrorInvalidValue;
    return set_attribute(*pool, attribute, value);
  });
}

cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call([&](Client&) -> cudaError_t {
    if (!pools.valid(pool) || value == nullptr) return cudaErrorInvalidValue;
    if (is_switch(attribute))
      return give(static_cast<int*>(value), pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies]);
    const std::uint64_t* own = counter(*pool, attribute);
    return own == nullptr ? cudaErrorInvalidValue : give(static_cast<std::uint64_t*>(value), *own);
  });
}

// The one device can use what lies on it, and no other can.
cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted, size_t count) {
  return call([&](Client&) -> cudaError_t {
    if (!pools.valid(pool) || (count > 0 && wanted == nullptr)) return cudaErrorInvalidValue;
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted[i].location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
      if (wanted[i].location.id != 0) return cudaErrorInvalidDevice;
      if (wanted[i].flags != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return call([&](Client&) -> cudaError_t {
    if (flags == nullptr || location == nullptr || !pools.valid(pool)) return cudaErrorInvalidValue;
    if (location->type != cudaMemLocationTypeDevice || location->id != 0) return cudaErrorInvalidDevice;
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
  });
}

}  // extern "C"
