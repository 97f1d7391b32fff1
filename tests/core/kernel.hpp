// Runs one small PTX kernel on a virtual GPU: what the engine's tests share.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "vgpu/core/run/device.hpp"

namespace scanlab::test {

/// A kernel `k` with one parameter, the address of `out`, a buffer of u32 that begins as zeros.
///
/// `body` is the text between the braces; %out holds the address of out, in global space. `before` stands at module
/// scope.
struct Kernel {
  std::string body;
  std::string before = {};

  std::string text() const {
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
           "\n.visible .entry k(.param .u64 k_param_0)\n{\n"
           ".reg .pred %p<10>;\n.reg .b32 %r<40>;\n.reg .f32 %f<10>;\n.reg .b64 %rd<40>;\n.reg .b64 %out;\n"
           "ld.param.u64 %out, [k_param_0];\ncvta.to.global.u64 %out, %out;\n" +
           body + "\n}\n.file 1 \"kernel.cu\"\n";
  }
};

struct Run {
  vgpu::LaunchResult result;
  std::vector<std::uint32_t> out;
  std::string printed;
};

struct Setup {
  vgpu::Dim3 grid{1, 1, 1}, block{32, 1, 1};
  std::size_t words = 64;
  std::uint64_t dynamic_shared = 0;
  vgpu::Schedule schedule{};
  std::uint64_t max_warp_instructions = 10'000'000;
  vgpu::Observer* observer = nullptr;
  std::string label = "out";  ///< of the buffer, in messages
  vgpu::FastPaths fast_paths = {};
  unsigned registers = 0;  ///< of the kernel, as ptxas says; 0: it has not been asked
};

/// A launch of a module's kernel `k`; `parameters` has to stay where it is.
inline vgpu::LaunchRequest launch_of(vgpu::LoadedModule* module, vgpu::Dim3 grid, vgpu::Dim3 block,
                                     std::span<const std::byte> parameters) {
  return {.module = module, .kernel = "k", .grid = grid, .block = block, .parameters = parameters};
}

inline Run run(const Kernel& kernel, const Setup& setup = {}) {
  vgpu::Device device(vgpu::small_profile());
  Run r;
  device.print = [&](std::string_view text) { r.printed += text; };
  device.schedule = setup.schedule;
  if (setup.registers > 0) device.registers["k"] = setup.registers;
  device.fast_paths = setup.fast_paths;
  device.max_warp_instructions = setup.max_warp_instructions;
  if (setup.observer) device.attach(setup.observer);
  vgpu::LoadedModule* module = device.load(kernel.text());
  const vgpu::Address out = device.memory().allocate(4 * setup.words, setup.label);
  device.memory().fill(out, std::byte{0}, 4 * setup.words);
  vgpu::LaunchRequest request = launch_of(module, setup.grid, setup.block, std::as_bytes(std::span(&out, 1)));
  request.dynamic_shared = setup.dynamic_shared;
  r.result = device.launch(request);
  r.out.resize(setup.words);
  device.memory().read(r.out.data(), out, 4 * setup.words);
  return r;
}

/// `out[tid] = value` for a thread's %r register `value`; uses %r30, %rd30 and %rd31.
inline std::string store_at_tid(const std::string& value) {
  return "mov.u32 %r30, %tid.x;\nmul.wide.u32 %rd30, %r30, 4;\nadd.s64 %rd31, %out, %rd30;\nst.global.u32 [%rd31], " +
         value + ";\n";
}

}  // namespace scanlab::test
