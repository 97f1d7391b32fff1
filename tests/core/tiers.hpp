// What a kernel gives by each of the engine's kinds of code.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "vgpu/checks/cost/counters.hpp"

namespace scanlab::test {

/// What `kernel` writes. A block's warps are one gang, then each is a gang of its own, and a random schedule runs the
/// code for any warp alone: all give the same, with the same counts. So does every fast path switched off.
inline std::vector<std::uint32_t> written(const Kernel& kernel, vgpu::Dim3 block, std::size_t words,
                                          unsigned blocks = 1) {
  using Order = vgpu::Schedule::Order;
  const Order orders[] = {Order::lockstep, Order::in_order, Order::reversed, Order::random};
  std::vector<std::uint32_t> out[4];
  std::vector<std::pair<std::string, double>> counts[4];
  for (const int k : {0, 1, 2, 3}) {
    vgpu::Counters counters;
    Setup setup;
    setup.grid.x = blocks;
    setup.block = block;
    setup.words = words;
    setup.observer = &counters;
    setup.schedule = {orders[k], 3};
    const auto r = run(kernel, setup);
    INFO((r.result.fault ? r.result.fault->text() : std::string()));
    REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
    out[k] = r.out;
    counts[k] = counters.counts().named();
    // The same without an observer.
    setup.observer = nullptr;
    CHECK(run(kernel, setup).out == r.out);
  }
  for (const vgpu::NamedFastPath& path : vgpu::fast_paths) {
    INFO("without " << path.name);
    vgpu::Counters counters;
    Setup setup;
    setup.grid.x = blocks;
    setup.block = block;
    setup.words = words;
    setup.observer = &counters;
    setup.fast_paths.*path.is_on = false;
    CHECK(run(kernel, setup).out == out[3]);
    CHECK(counters.counts().named() == counts[3]);
    setup.observer = nullptr;
    CHECK(run(kernel, setup).out == out[3]);
  }
  for (const int k : {0, 1, 2}) {
    CHECK(out[k] == out[3]);
    CHECK(counts[k] == counts[3]);
  }
  return out[0];
}
inline std::vector<std::uint32_t> written(const Kernel& kernel, unsigned threads, std::size_t words,
                                          unsigned blocks = 1) {
  return written(kernel, vgpu::Dim3{threads, 1, 1}, words, blocks);
}

}  // namespace scanlab::test
