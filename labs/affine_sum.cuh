// The `+` of affine maps, for scanlab.cuh: `earlier + later` is later(earlier(x)). Included by it alone.
#pragma once

__host__ __device__ inline Element operator+(Element earlier, Element later) {
  return {earlier.a * later.a, later.a * earlier.b + later.b};
}

// Whether compaction keeps an element (see scanlab.cuh): the maps with an odd b.
__host__ __device__ inline bool keep(Element element) {
  return element.b % 2 != 0;
}
