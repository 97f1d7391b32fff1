// Litmus tests in PTX: a few threads, each with a few strong accesses, and all outcomes that they may have.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel.hpp"

namespace scanlab::test {

// Instructions of a thread. `how` is what PTX has between opcode and space: "relaxed.gpu", "volatile".
inline constexpr int x = 0, y = 64, z = 128;  ///< bytes from the beginning of `out`

inline std::string ld(const std::string& how, int result, int at) {
  return fmt::format("ld.{}.global.u32 %r{}, [%out+{}];\n", how, result, at);
}
inline std::string ld_by_lane(const std::string& how, int result, int at) {
  return fmt::format("ld.{}.global.u32 %r{}, [%rd1{}];\n", how, result, at / 64);
}
inline std::string st(const std::string& how, int at, int value) {
  return fmt::format("st.{}.global.u32 [%out+{}], {};\n", how, at, value);
}
inline std::string fence(const std::string& how) {
  return fmt::format("fence.{};\n", how);
}
inline std::string atom(const std::string& how, int result, int at, int value) {
  return fmt::format("atom.{}.u32 %r{}, [%out+{}], {};\n", how, result, at, value);
}
inline std::string bar() {
  return "bar.sync 0;\n";
}
/// Looks until it is not 0.
inline std::string await(const std::string& how, int at, const std::string& label) {
  return fmt::format("{}:\n{}setp.eq.u32 %p9, %r29, 0;\n@%p9 bra {};\n", label, ld(how, 29, at), label);
}

struct Litmus {
  /// A thread: in which block it is, what it does. Each is in a warp of its own. Those of a block are its first warps.
  /// Or several lanes of a warp: what each finds by `ld_by_lane` is its own.
  struct Thread {
    int block = 0;
    std::string body;
    int lanes = 1;
  };
  std::vector<Thread> threads;
  int results = 0;             ///< registers %r1 …, each of one thread, that belong to the outcome
  std::vector<int> locations;  ///< whose last values belong to it

  static constexpr int results_at = 256, most_results = 9;  ///< of a lane

  int lanes() const {
    int most = 1;
    for (const Thread& t : threads) most = std::max(most, t.lanes);
    return most;
  }

  Kernel kernel() const {
    Kernel k;
    k.body = "mov.u32 %r30, %ctaid.x;\nmov.u32 %r31, %tid.x;\n";
    if (lanes() > 1) k.body += by_lane();
    std::map<int, int> warps;
    std::string bodies;
    for (std::size_t n = 0; n < threads.size(); ++n) {
      const int warp = warps[threads[n].block]++;
      k.body += fmt::format(
          "setp.eq.u32 %p1, %r30, {};\nsub.u32 %r29, %r31, {};\nsetp.lt.u32 %p2, %r29, {};\nand.pred %p3, %p1, %p2;\n"
          "@%p3 bra THREAD{};\n",
          threads[n].block, 32 * warp, threads[n].lanes, n);
      bodies += fmt::format("THREAD{}:\n{}", n, threads[n].body);
      for (int r = 1; r <= results; ++r)
        if (threads[n].body.find(fmt::format(" %r{},", r)) != std::string::npos)
          bodies += fmt::format("st.global.u32 [{}+{}], %r{};\n", threads[n].lanes > 1 ? "%rd13" : "%out",
                                results_at + 4 * r, r);
      bodies += "ret;\n";
    }
    k.body += "ret;\n" + bodies;
    return k;
  }

  /// %rd10, %rd11 and %rd12 point at x, y and z in lane 0, at y, z and x in lane 1; %rd13 is where its results go.
  static std::string by_lane() {
    std::string text = "and.b32 %r28, %r31, 31;\n";
    for (int place = 0; place < 3; ++place)
      text += fmt::format(
          "add.u32 %r27, %r28, {0};\nrem.u32 %r27, %r27, 3;\nmul.wide.u32 %rd9, %r27, 64;\nadd.s64 %rd1{0}, %out, "
          "%rd9;\n",
          place);
    return text + fmt::format("mul.wide.u32 %rd9, %r28, {};\nadd.s64 %rd13, %out, %rd9;\n", 4 * most_results);
  }

  vgpu::Dim3 grid() const {
    int blocks = 0;
    for (const Thread& t : threads) blocks = std::max(blocks, t.block + 1);
    return {static_cast<std::uint32_t>(blocks), 1, 1};
  }
  vgpu::Dim3 block() const {
    std::map<int, std::uint32_t> warps;
    std::uint32_t most = 1;
    for (const Thread& t : threads) most = std::max(most, ++warps[t.block]);
    return {32 * most, 1, 1};
  }

  /// The values of the results, and the last ones of the locations: "1 0".
  std::string outcome(const std::vector<std::uint32_t>& out) const {
    std::string text;
    for (int lane = 0; lane < lanes(); ++lane)
      for (int r = 1; r <= results; ++r)
        text += fmt::format(" {}", out[static_cast<std::size_t>(results_at / 4 + most_results * lane + r)]);
    for (const int at : locations) text += fmt::format(" {}", out[static_cast<std::size_t>(at / 4)]);
    return text.empty() ? text : text.substr(1);
  }
};

using Outcomes = std::set<std::string>;

/// A device with the test's kernel, which can be run again and again.
class LitmusDevice {
 public:
  static constexpr std::size_t words = 128;

  explicit LitmusDevice(const Litmus& litmus) : litmus_(litmus), device(vgpu::small_profile()) {
    request.module = device.load(litmus.kernel().text());
    out_ = device.memory().allocate(4 * words, "out");
    request.kernel = "k";
    request.grid = litmus.grid();
    request.block = litmus.block();
    request.parameters = std::as_bytes(std::span(&out_, 1));
    clear();
  }
  void clear() { device.memory().fill(out_, std::byte{0}, 4 * words); }
  std::string outcome() {
    std::vector<std::uint32_t> values(words);
    device.memory().read(values.data(), out_, 4 * words);
    return litmus_.outcome(values);
  }
  /// Of runs under the schedule `weak` with the seeds 0 to `seeds` - 1. A fault is an outcome too.
  Outcomes of_seeds(unsigned seeds) {
    Outcomes all;
    for (unsigned seed = 0; seed < seeds; ++seed) {
      clear();
      device.schedule = {vgpu::Schedule::Order::weak, seed};
      const auto result = device.launch(request);
      all.insert(result.fault ? result.fault->headline : outcome());
    }
    return all;
  }

 private:
  Litmus litmus_;
  vgpu::Address out_ = 0;

 public:
  vgpu::Device device;
  vgpu::LaunchRequest request;
};

}  // namespace scanlab::test
