#include "vgpu/core/decode/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <unordered_set>

#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/decode/frame_layout.hpp"
#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::vgpu {
namespace {

/// Distance between two shared arrays; larger than the strides by which teaching kernels miss.
constexpr std::uint64_t shared_gap = 8192;

void names_in(const ptx::Operand& o, std::unordered_set<std::string>& names) {
  if (!o.name.empty()) names.insert(o.name);
  for (const ptx::Operand& e : o.elements) names_in(e, names);
}

}  // namespace

bool calls_indirectly(const ptx::Instruction& in) {
  const auto is_register = [](const ptx::Operand& o) { return o.kind == ptx::Operand::Kind::reg; };
  return in.opcode == "call" && std::any_of(in.operands.begin(), in.operands.end(), is_register);
}

std::unordered_set<std::string> addresses_taken(const ptx::Module& module) {
  std::unordered_set<std::string> names;
  for (const ptx::Variable& v : module.variables)
    for (const ptx::Relocation& to : v.relocations) names.insert(to.symbol);
  for (const ptx::Function& f : module.functions)
    for (const ptx::Instruction& in : f.instructions)
      if (in.opcode == "mov")
        for (const ptx::Operand& o : in.operands) names_in(o, names);
  return names;
}

namespace {

/// Every symbol that `kernel` and the functions it reaches mention, and these functions.
struct Reached {
  std::vector<const ptx::Function*> functions;
  std::unordered_set<std::string> names;
};

Reached reach(const ptx::Module& module, const ptx::Function& kernel) {
  Reached r;
  std::unordered_set<const ptx::Function*> seen{&kernel};
  std::deque<const ptx::Function*> todo{&kernel};
  const auto follow = [&](const std::string& name) {
    if (const ptx::Function* f = module.find_function(name); f && f->is_defined && seen.insert(f).second)
      todo.push_back(f);
  };
  while (!todo.empty()) {
    const ptx::Function* f = todo.front();
    todo.pop_front();
    r.functions.push_back(f);
    std::unordered_set<std::string> names;
    for (const ptx::Instruction& in : f->instructions)
      for (const ptx::Operand& o : in.operands) names_in(o, names);
    for (const std::string& name : names) follow(name);
    if (std::ranges::any_of(f->instructions, calls_indirectly))
      for (const std::string& name : addresses_taken(module)) follow(name);
    r.names.merge(names);
  }
  return r;
}

[[noreturn]] void refuse(const ptx::Function& function, const std::string& why) {
  throw FaultException(Fault::Kind::unsupported, fmt::format("{} {}", ptx::source_name(function.name), why));
}

/// Sizes beyond this, and beyond most_local_bytes, are damage, not code; and with them every offset within a frame fits
/// its type.
constexpr std::uint64_t most_thread_frame_bytes = 2 << 20;  // registers and arguments

void check_sizes(const ptx::Module& module, const ptx::Function& function) {
  std::uint64_t local = 0, frame = 0;
  const auto add = [](std::uint64_t& sum, const ptx::Variable& v, std::uint64_t most) {
    sum += std::min<std::uint64_t>(v.align, most) + std::min(v.size, most);  // so it cannot wrap around
  };
  for (const ptx::Register& r : function.registers) frame += std::uint64_t{ptx::size_of(r.type)} + 2;
  for (const ptx::Variable& v : function.variables) {
    if (v.space == ptx::StateSpace::local) add(local, v, most_local_bytes + 1);
    if (v.space == ptx::StateSpace::param) add(frame, v, most_thread_frame_bytes);
  }
  for (const auto* variables : {&function.parameters, &function.returns})
    for (const ptx::Variable& v : *variables) add(frame, v, most_thread_frame_bytes);
  if (local > most_local_bytes) {
    FaultException f(
        Fault::Kind::undefined,
        fmt::format("{} has more than {} bytes of variables and arrays of its own in a thread, which ptxas "
                    "refuses",
                    ptx::source_name(function.name), most_local_bytes),
        "make the arrays smaller, or allocate them with cudaMalloc");
    if (!function.instructions.empty()) f.fault.set_places(places_of(module, function.instructions.front().line));
    throw f;
  }
  if (frame > most_thread_frame_bytes) refuse(function, "has too many registers, or too large arguments");
}

/// The place of the first instruction that names the symbol, without what headers make of it.
std::vector<SourcePlace> places_of_use(const ptx::Module& module, const Reached& reached, const std::string& name) {
  for (const ptx::Function* f : reached.functions)
    for (const ptx::Instruction& in : f->instructions) {
      std::unordered_set<std::string> names;
      for (const ptx::Operand& o : in.operands) names_in(o, names);
      if (!names.contains(name)) continue;
      std::vector<SourcePlace> places = places_of(module, in.line);
      const auto own = std::ranges::find_if(places, [](const SourcePlace& p) { return p.file.ends_with(".cu"); });
      if (own != places.end()) places.erase(places.begin(), own);
      return places;
    }
  return {};
}

/// Everything that the kernel reaches has to be there: what the linker of a GPU program would have refused.
void check_defined(const ptx::Module& module, const Reached& reached) {
  const auto missing = [&](const std::string& name) {
    constexpr std::string_view runtime = "__cudaCDP2";
    // Other names with two underscores are the toolkit's: a GPU may have what is missing here.
    const bool is_toolkits = name.starts_with("__") && !name.starts_with(runtime);
    FaultException f(is_toolkits ? Fault::Kind::unsupported : Fault::Kind::undefined,
                     fmt::format("{} is declared, but defined nowhere in this program", ptx::demangle(name)),
                     "define it in this file; if another file defines it, give all files to one command, with nvcc's "
                     "-rdc=true");
    if (name.starts_with(runtime) || name.starts_with("cudaLaunchDevice")) {
      f.fault.headline = fmt::format("device code calls {}, a function of CUDA's runtime",
                                     name.starts_with(runtime) ? "cuda" + name.substr(runtime.size()) : name);
      f.fault.advice = "kernels are launched, and memory is allocated and freed, by the host: move the call there";
    }
    f.fault.does = "uses it";
    f.fault.set_places(places_of_use(module, reached, name));
    throw f;
  };
  for (const ptx::Variable& v : module.variables)
    if (v.is_extern && v.space != ptx::StateSpace::shared && reached.names.contains(v.name)) missing(v.name);
  for (const ptx::Function& f : module.functions)
    if (!f.is_defined && reached.names.contains(f.name) && !select_builtin(f.name)) missing(f.name);
}

bool may_loop(const ptx::Function& f) {
  std::int64_t k = 0;
  return std::ranges::any_of(f.instructions, [&](const ptx::Instruction& in) {
    const std::int64_t here = k++;
    return in.opcode == "brx" || (in.opcode == "bra" && !in.operands.empty() && in.operands[0].target <= here);
  });
}

/// Is there an instruction, in all that the kernel reaches, of which this is so?
bool has(const Reached& reached, bool (*is_so)(const ptx::Instruction&)) {
  return std::ranges::any_of(reached.functions,
                             [&](const ptx::Function* f) { return std::ranges::any_of(f->instructions, is_so); });
}

/// See Image::separable.
bool is_separable(const Reached& reached) {
  const auto& names = reached.names;
  return !names.contains("vprintf") && !names.contains("malloc") && !names.contains("free") &&
         !has(reached, ties_blocks);
}

/// Places every shared variable; returns names by mangled name.
std::unordered_map<std::string, SharedVariable> lay_out_shared(Image& image, const Reached& reached) {
  std::unordered_map<std::string, SharedVariable> by_name;
  std::uint64_t packed = 0, gaps = shared_gap;
  const auto place = [&](const ptx::Variable& v) {
    if (v.space != ptx::StateSpace::shared || v.is_extern || by_name.count(v.name)) return;
    packed = round_up(packed, std::max<std::uint32_t>(1, v.align));
    SharedVariable s{ptx::source_name(v.name), packed + gaps, v.size, ptx::source_piece(v.name)};
    packed += v.size;
    gaps += shared_gap;
    image.shared.push_back(s);
    by_name.emplace(v.name, std::move(s));
  };
  for (const ptx::Variable& v : image.module->variables)
    if (reached.names.count(v.name)) place(v);
  for (const ptx::Function* f : reached.functions)
    for (const ptx::Variable& v : f->variables) place(v);
  image.static_shared = packed;

  // The dynamic array begins where the static ones end; every extern array is that same array.
  image.dynamic_offset = round_up(packed, 16) + gaps;
  bool has_dynamic = false;
  for (const ptx::Variable& v : image.module->variables)
    if (v.space == ptx::StateSpace::shared && v.is_extern) {
      const SharedVariable s{ptx::source_name(v.name), image.dynamic_offset, 0};
      by_name.emplace(v.name, s);
      if (!has_dynamic && reached.names.count(v.name)) {
        image.shared.push_back(s);
        has_dynamic = true;
      }
    }
  return by_name;
}

}  // namespace

LaneBytes make_lane_bytes(std::size_t bytes) {
  LaneBytes made(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
  std::memset(made.get(), 0, bytes);
  return made;
}

const Program* Image::function_at(Address address) const {
  if (address < function_address(0) || (address - function_address(0)) % 16 != 0) return nullptr;
  const std::size_t index = (address - function_address(0)) / 16;
  if (index >= module->functions.size()) return nullptr;
  const auto it = by_function.find(&module->functions[index]);
  return it == by_function.end() ? nullptr : it->second;
}

std::uint32_t layout_parameters(const ptx::Function& kernel, std::vector<std::uint32_t>& offsets) {
  std::uint64_t at = 0;
  offsets.clear();
  for (const ptx::Variable& p : kernel.parameters) {
    const std::uint64_t align = std::max<std::uint64_t>(p.align, p.type == ptx::Type::b8 ? 1 : ptx::size_of(p.type));
    at = round_up(at, std::max<std::uint64_t>(1, align));
    offsets.push_back(static_cast<std::uint32_t>(at));
    at += p.size;
  }
  return static_cast<std::uint32_t>(at);
}

std::unique_ptr<Image> make_image(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols,
                                  const ImageOptions& options) {
  auto image = std::make_unique<Image>();
  image->module = &module;
  image->kernel = &kernel;
  image->symbols = &symbols;
  static_cast<ImageOptions&>(*image) = options;
  image->names_elements |= options.names_floats;
  image->reports_dependences |= image->names_elements;
  image->convergent = !options.fine_grain && options.fast.pairs;
  image->parameter_bytes = layout_parameters(kernel, image->parameter_offsets);
  const Reached reached = reach(module, kernel);
  for (const ptx::Function* f : reached.functions) check_sizes(module, *f);
  check_defined(module, reached);
  const auto shared = lay_out_shared(*image, reached);
  image->separable = is_separable(reached);
  image->alike_blocks = !has(reached, distinguishes_blocks);
  image->loops = reached.functions.size() > 1 || may_loop(kernel);
  if (image->separable && reached.functions.size() == 1 && options.fast.independent_blocks)
    image->affine_accesses.emplace(kernel, image->parameter_offsets, symbols);

  std::deque<Program*> todo;
  DecodeContext context;
  context.image = image.get();
  context.symbols = &symbols;
  context.program_of = [&](const ptx::Function& f) -> const Program* {
    const auto [it, is_new] = image->by_function.try_emplace(&f, nullptr);
    if (is_new) {
      Program& p = *image->programs.emplace_back(std::make_unique<Program>());
      p.source = &f;
      p.image = image.get();
      it->second = &p;
      todo.push_back(&p);
    }
    return it->second;
  };
  context.shared_variable = [&](const std::string& name) -> const SharedVariable* {
    const auto it = shared.find(name);
    return it == shared.end() ? nullptr : &it->second;
  };
  // Another kernel can only be mentioned: no function calls it.
  for (const ptx::Function* f : reached.functions)
    if (!f->is_entry || f == &kernel) context.program_of(*f);
  while (!todo.empty()) {
    Program* p = todo.front();
    todo.pop_front();
    decode(*p, context);
  }
  image->entry = image->by_function.at(&kernel);
  return image;
}

}  // namespace scanlab::vgpu
