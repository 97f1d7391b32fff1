// One function body: statements in nested scopes, made into a flat list of instructions.
#pragma once

#include <string_view>
#include <unordered_map>

#include "vgpu/ptx/cursor.hpp"
#include "vgpu/ptx/declaration.hpp"
#include "vgpu/ptx/lines.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {

/// Variables and functions of a module by name. Views into the text.
struct ModuleNames {
  std::unordered_map<std::string_view, std::size_t> variables;  ///< to the index in Module::variables
  std::unordered_map<std::string_view, std::size_t> functions;  ///< to the index in Module::functions
  InitialiserContext initialisers;                              ///< its `uses` are also those of instructions

  bool has(std::string_view name) const { return variables.contains(name) || functions.contains(name); }
};

/// Reads a body, from '{' to the matching '}'. `function` has its parameters; it is not an element of `module` while
/// the body is read. Throws ParseError.
void parse_body(Cursor& cursor, Module& module, ModuleNames& names, LineTable& lines, Function& function);

}  // namespace scanlab::ptx
