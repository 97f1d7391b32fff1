// Turns one PTX function into handlers with their operands: the decoder.
#pragma once

#include <functional>
#include <string_view>

#include "vgpu/core/decode/image.hpp"

namespace scanlab::vgpu {

/// What the decoder of a function needs to know of the rest of the kernel.
struct DecodeContext {
  Image* image = nullptr;
  const SymbolTable* symbols = nullptr;
  /// Program of a function that is called or whose address is taken; it may still be empty.
  std::function<const Program*(const ptx::Function&)> program_of;
  /// Offset of a shared variable by its mangled name, or nothing.
  std::function<const SharedVariable*(const std::string&)> shared_variable;
};

/// Fills `program` from `program.source`. Throws FaultException (unsupported) that names the instruction or symbol and
/// line.
void decode(Program& program, const DecodeContext& context);

/// Handler for a call of extern function `name` (aux: index into Program::calls, as for a call), or null when the
/// virtual GPU has no such function.
Handler select_builtin(std::string_view name);

/// The .loc chain of `line`, innermost place first.
std::vector<struct SourcePlace> places_of(const ptx::Module& module, std::uint32_t line);

}  // namespace scanlab::vgpu
