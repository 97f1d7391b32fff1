// PTX texts, kernels and fat binaries: an error, a fault or a result each.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "../damage.hpp"
#include "targets.hpp"
#include "vgpu/checks/check_suite.hpp"
#include "vgpu/checks/cost/counters.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/ptx/fatbin.hpp"
#include "vgpu/ptx/link.hpp"

namespace scanlab::fuzz {
namespace {

constexpr std::size_t most_kernels = 4;

std::string changed_bytes(std::string text, Random& random) {
  const std::size_t size = text.size();
  text.resize(size + 64 + random() % 64);
  text.resize(change_bytes(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

std::string changed_text(std::string text, const std::vector<std::string>& others, Random& random) {
  return random() % 4 == 0 ? changed_bytes(std::move(text), random) : damaged_text(std::move(text), others, random);
}

/// Names of kernels as they stand in the text, whether the text can be parsed or not.
std::vector<std::string> kernels_of(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    at += 7;
    const std::size_t end = text.find_first_of("( \n\t", at);
    if (end != std::string::npos && names.size() < most_kernels) names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

vgpu::DeviceProfile profile() {
  vgpu::DeviceProfile small = vgpu::small_profile();
  small.memory = 4 << 20;
  return small;
}

/// Places in what was parsed exist.
void check_module(const ptx::Module& module) {
  for (const ptx::Function& function : module.functions) {
    (void)ptx::source_name(function.name);
    for (const ptx::Instruction& in : function.instructions) {
      if (in.line >= module.lines.size()) broken("a place that does not exist");
      for (const ptx::Operand& operand : in.operands) {
        if (operand.reg >= static_cast<std::int32_t>(function.registers.size())) broken("a register out of range");
        if (operand.target > static_cast<std::int32_t>(function.instructions.size())) broken("a target out of range");
      }
    }
  }
  for (const ptx::LineInfo& line : module.lines)
    if (line.file >= module.files.size()) broken("a file that does not exist");
}

// ---- ptx: one or several files, with '\f' between them, parsed, linked, decoded -------------------------------------

void run_ptx(Bytes input) {
  const std::string text = text_of(input);
  std::vector<std::string_view> files;
  for (std::size_t at = 0; files.size() < 4;) {
    const std::size_t end = std::min(text.find('\f', at), text.size());
    files.push_back(std::string_view(text).substr(at, end - at));
    if (end == text.size()) break;
    at = end + 1;
  }
  try {
    check_module(ptx::parse(files[0]));
  } catch (const ptx::ParseError& error) {
    if (error.ptx_line == 0) broken("an error without a line");
  }
  vgpu::Device device(profile());
  try {
    vgpu::LoadedModule* module = device.load(files);
    for (const std::string& name : kernels_of(text)) {
      if (!device.attributes(module, name)) continue;
      vgpu::LaunchRequest request;
      request.module = module;
      request.kernel = name;
      const vgpu::LaunchResult result = device.check(request);
      if (result.fault) (void)result.fault->text();
    }
    device.unload(module);
  } catch (const ptx::ParseError&) {
  } catch (const ptx::LinkError&) {
  }
}

// ---- kernels: 16 bytes that say how to launch, then PTX; run under all checks ---------------------------------------

constexpr std::size_t header_bytes = 16;

struct How {
  std::uint8_t grid, block, rows, shared, order, seed, flags, count, parameters[8];
};
static_assert(sizeof(How) == header_bytes);

struct Ran {
  std::string reported;  ///< statuses, faults, findings
  std::vector<std::byte> memory;
  bool operator==(const Ran&) const = default;
};

Ran run_once(const std::string& text, const How& how, bool is_checked, unsigned threads) {
  Ran ran;
  vgpu::Device device(profile());
  device.print = [&](std::string_view said) { ran.reported.append(said.substr(0, 200)); };
  device.max_warp_instructions = 3000;
  device.threads = threads;
  device.least_parallel_ns = threads > 1 ? 0 : 1e6;
  constexpr vgpu::Schedule::Order orders[] = {vgpu::Schedule::Order::lockstep, vgpu::Schedule::Order::in_order,
                                              vgpu::Schedule::Order::reversed, vgpu::Schedule::Order::random};
  device.schedule = {orders[how.order % 4], how.seed};
  std::optional<vgpu::CheckSuite> checks;
  vgpu::Counters counters;
  if (is_checked) {
    checks.emplace(device);
    device.attach(&counters);
  }
  try {
    vgpu::LoadedModule* module = device.load(text);
    constexpr std::size_t buffer_bytes = 4096;
    const vgpu::Address buffer = device.memory().allocate(buffer_bytes, "buffer");
    device.memory().fill(buffer, std::byte{1}, buffer_bytes);
    for (const std::string& name : kernels_of(text)) {
      const auto attributes = device.attributes(module, name);
      if (!attributes) continue;
      std::vector<std::byte> parameters(std::min<std::size_t>(attributes->parameter_bytes, 4096));
      for (std::size_t at = 0; at + 8 <= parameters.size(); at += 8) {
        const std::uint8_t said = how.parameters[at / 8 % 8];
        const std::uint64_t value = said < 192   ? buffer + said * 16u
                                    : said < 250 ? said - 192u
                                                 : 0 - std::uint64_t{said};
        std::memcpy(parameters.data() + at, &value, 8);
      }
      // The last one is often a count.
      if (parameters.size() >= 4 && how.flags & 1) {
        const std::uint32_t count = how.count;
        std::memcpy(parameters.data() + (parameters.size() - 4) / 4 * 4, &count, 4);
      }
      vgpu::LaunchRequest request;
      request.module = module;
      request.kernel = name;
      request.grid = {1u + how.grid % 5, how.flags & 16 ? 2u : 1u, 1};
      request.block = {1u + how.block % 128, 1u + how.rows % 2, 1};
      request.dynamic_shared = how.shared * 64;
      request.cooperative = how.flags & 2;
      request.parameters = parameters;
      const vgpu::LaunchResult result = device.launch(request);
      ran.reported += std::to_string(static_cast<int>(result.status)) + result.message;
      if (result.fault) ran.reported += result.fault->text();
    }
    ran.memory.resize(buffer_bytes);
    device.memory().read(ran.memory.data(), buffer, buffer_bytes);
    if (checks)
      for (const vgpu::Finding& finding : checks->findings().list) ran.reported += finding.text();
    device.unload(module);
  } catch (const ptx::ParseError&) {
    ran.reported += "unreadable";
  }
  return ran;
}

void run_kernels(Bytes input) {
  if (input.size() < header_bytes) return;
  How how;
  std::memcpy(&how, input.data(), sizeof how);
  const std::string text = text_of(input.subspan(header_bytes));
  const bool is_checked = (how.flags & 12) != 4;
  const Ran first = run_once(text, how, is_checked, 1);
  // On several threads of the host the result is the same.
  if ((how.flags & 12) == 4 && run_once(text, how, is_checked, 2) != first) broken("threads change a result");
}

std::string change_kernels(std::string input, const std::vector<std::string>& others, Random& random) {
  input.resize(std::max(input.size(), header_bytes));
  if (random() % 5 == 0) {
    input[random() % header_bytes] = static_cast<char>(random());
    return input;
  }
  return input.substr(0, header_bytes) + changed_text(input.substr(header_bytes), others, random);
}

// ---- fatbin ---------------------------------------------------------------------------------------------------------

void run_fatbin(Bytes input) {
  const auto bytes = std::as_bytes(input);
  try {
    for (const ptx::PtxImage& image : ptx::read_fatbin(bytes)) {
      try {
        check_module(ptx::parse(image.text));
      } catch (const ptx::ParseError&) {
      }
    }
  } catch (const ptx::FatbinError& error) {
    if (*error.what() == '\0') broken("an error without a message");
  }
  try {
    std::size_t all = 0;
    for (const auto part : ptx::split_fatbins(bytes)) all += part.size();
    if (all > bytes.size()) broken("parts that are more than the whole");
  } catch (const ptx::FatbinError&) {
  }
}

std::string change_fatbin(std::string input, const std::vector<std::string>&, Random& random) {
  return random() % 3 == 0 ? changed_bytes(std::move(input), random) : damaged_binary(std::move(input), random);
}

}  // namespace

const Target ptx_target = {"ptx", run_ptx, changed_text};
const Target kernels_target = {"kernels", run_kernels, change_kernels};
const Target fatbin_target = {"fatbin", run_fatbin, change_fatbin};

}  // namespace scanlab::fuzz
