// Hash tables: open addressing with compare-and-swap of a 64-bit slot, chains with a lock a bucket taken lane by lane,
// counting of words, deletion by tombstones, a Bloom filter of atomicOr.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>

#include "arrays.hpp"

constexpr uint32_t kEmpty = 0xffffffff, kDeleted = 0xfffffffe;

__host__ __device__ uint32_t hash(uint32_t k) {
  k ^= k >> 16;
  k *= 0x85ebca6b;
  k ^= k >> 13;
  k *= 0xc2b2ae35;
  return k ^ k >> 16;
}

struct Table {
  unsigned long long* slots;  // key above, value below
  uint32_t capacity;

  // Adds to the value under the key. False: the table is full.
  __device__ bool add(uint32_t key, uint32_t value) {
    uint32_t slot = hash(key) % capacity;
    for (uint32_t probes = 0; probes < capacity; ++probes, slot = slot + 1 == capacity ? 0 : slot + 1) {
      unsigned long long seen = *(volatile unsigned long long*)&slots[slot];
      for (;;) {
        const uint32_t holder = seen >> 32;
        if (holder != kEmpty && holder != key) break;
        const uint32_t sum = (holder == kEmpty ? 0 : uint32_t(seen)) + value;
        const unsigned long long wanted = (unsigned long long)key << 32 | sum;
        const unsigned long long before = atomicCAS(&slots[slot], seen, wanted);
        if (before == seen) return true;
        seen = before;
      }
    }
    return false;
  }
  __device__ uint32_t* find(uint32_t key) {
    uint32_t slot = hash(key) % capacity;
    for (uint32_t probes = 0; probes < capacity; ++probes, slot = (slot + 1) % capacity) {
      const uint32_t holder = slots[slot] >> 32;
      if (holder == key) return reinterpret_cast<uint32_t*>(&slots[slot]);  // little-endian: the value comes first
      if (holder == kEmpty) break;
    }
    return nullptr;
  }
  __device__ bool erase(uint32_t key) {
    uint32_t* value = find(key);
    return value && atomicCAS(value + 1, key, kDeleted) == key;
  }
};

__global__ void insert(Table table, const uint32_t* keys, int n, int* failures) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !table.add(keys[i], 1)) atomicAdd(failures, 1);
}
__global__ void erase(Table table, uint32_t divisor, uint32_t limit, int* erased) {
  const uint32_t key = (blockIdx.x * blockDim.x + threadIdx.x) * divisor;
  if (key < limit && table.erase(key)) atomicAdd(erased, 1);
}
__global__ void look_up(Table table, uint32_t limit, int* counts) {
  const uint32_t key = blockIdx.x * blockDim.x + threadIdx.x;
  if (key >= limit) return;
  const uint32_t* value = table.find(key);
  counts[key] = value ? int(*value) : 0;
}

struct Entry {
  uint32_t key;
  Entry* next;
};
struct Chains {
  Entry **heads, *pool;
  int* locks;
  int buckets;
};
__global__ void chain(Chains t, const uint32_t* keys, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bucket = hash(keys[i]) % t.buckets;
  // The lanes in turn: two of them may want the same lock.
  for (int lane = 0; lane < 32; ++lane)
    if (threadIdx.x % 32 == lane) {
      while (atomicExch(&t.locks[bucket], 1))
        ;
      __threadfence();
      Entry* e = &t.pool[i];
      e->key = keys[i];
      e->next = *(Entry* volatile*)&t.heads[bucket];
      *(Entry* volatile*)&t.heads[bucket] = e;
      __threadfence();
      atomicExch(&t.locks[bucket], 0);
    }
}
__global__ void check_chains(Chains t, int* entries, int* misplaced) {
  const int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= t.buckets) return;
  for (Entry* e = t.heads[b]; e; e = e->next) {
    atomicAdd(entries, 1);
    if (hash(e->key) % t.buckets != b) atomicAdd(misplaced, 1);
  }
}

__global__ void bloom_add(uint32_t* bits, const uint32_t* keys, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (uint32_t k = 0, h = hash(keys[i]); k < 3; ++k, h = hash(h + k)) atomicOr(&bits[h >> 5 & 1023], 1u << (h & 31));
}

int main() {
  const int n = 5000;
  const uint32_t limit = 1200;
  std::vector<uint32_t> keys(n);
  std::map<uint32_t, int> expected;
  for (int i = 0; i < n; ++i) expected[keys[i] = hash(i) % 10 ? hash(i) % limit : 7]++;
  const Array d_keys(keys);
  const Array<int> d_counts(limit);
  for (uint32_t capacity : {2048u, uint32_t(expected.size()), 100u}) {
    const Array<unsigned long long> slots(capacity, 0xff);
    const Array<int> result(2, 0);
    Table table;
    table.slots = slots;
    table.capacity = capacity;
    insert<<<(n + 127) / 128, 128>>>(table, d_keys, n, result);
    if (capacity >= expected.size()) erase<<<2, 200>>>(table, 3, limit, result + 1);
    look_up<<<(limit + 99) / 100, 100>>>(table, limit, d_counts);
    const auto h = result.read(), counts = d_counts.read();
    int wrong = 0, kept = 0, multiples = 0;
    for (uint32_t k = 0; k < limit; ++k) {
      const int e = expected.count(k) ? expected[k] : 0;
      wrong += counts[k] != (capacity >= expected.size() && k % 3 == 0 ? 0 : e);
      kept += counts[k] != 0;
      multiples += k % 3 == 0 && e;
    }
    if (capacity >= expected.size())
      printf("%s table: %d failures, %d wrong, erased %s\n", capacity == 2048 ? "large" : "full", h[0], wrong,
             h[1] == multiples ? "all" : "not all");
    else
      printf("small table: %d keys, %s\n", kept, h[0] > 0 && wrong > 0 ? "others refused" : "too many");
  }

  const int buckets = 37;
  const Array<Entry*> heads(buckets, 0);
  const Array<Entry> pool(n);
  const Array<int> locks(buckets, 0), result(2, 0);
  const Chains t = {heads, pool, locks, buckets};
  chain<<<8, 125>>>(t, d_keys, 990);
  check_chains<<<1, 64>>>(t, result, result + 1);
  const auto h = result.read();
  printf("chains: %d entries, %d misplaced\n", h[0], h[1]);

  uint32_t by_host[1024] = {};
  const Array<uint32_t> bits(1024, 0);
  bloom_add<<<3, 100>>>(bits, d_keys, 250);
  for (int i = 0; i < 250; ++i)
    for (uint32_t k = 0, x = hash(keys[i]); k < 3; ++k, x = hash(x + k)) by_host[x >> 5 & 1023] |= 1u << (x & 31);
  printf("filter: %s\n", count_wrong(bits.read(), by_host) == 0 ? "right" : "wrong");
  return cudaDeviceSynchronize();
}
