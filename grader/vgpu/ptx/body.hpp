// One function body: statements in nested scopes, made into a flat list of instructions.
#pragma once

#include <string_view>
#include <unordered_map>

#include "vgpu/ptx/cursor.hpp"
#include "vgpu/ptx/declaration.hpp"
#include "vgpu/ptx/lines.hpp"
#include "vgpu/ptx/module.hpp"
#include "vgpu/ptx/scope.hpp"

namespace scanlab::ptx {

/// Variables and functions of a module by name. Views into the text.
struct ModuleNames {
  std::unordered_map<std::string_view, std::size_t> variables;  ///< to the index in Module::variables
  std::unordered_map<std::string_view, std::size_t> functions;  ///< to the index in Module::functions
  InitialiserContext initialisers;                              ///< its `uses` are also those of instructions

  bool has(std::string_view name) const { return variables.contains(name) || functions.contains(name); }
};

class BodyParser {
 public:
  /// `function` has its parameters; it is not an element of `module` while the body is read.
  BodyParser(Cursor& cursor, Module& module, ModuleNames& names, LineTable& lines, Function& function);

  /// From '{' to the matching '}'.
  void parse();

 private:
  void statement();
  void directive();
  void declare_registers();
  void declare_variables(StateSpace space, bool is_extern);
  void declare_in_module(Variable variable, std::string_view name);
  bool label();
  void instruction();
  void call(Instruction& instruction);

  void operands(Instruction& instruction);
  Operand operand(int depth);
  Operand named_operand();
  Operand address(int depth);
  Operand vector(char open, char close, int depth);
  Operand label_operand(LabelTable::Kind kind, std::size_t position);
  void named(Operand& operand, std::string_view name);
  std::int32_t register_index(std::string_view name);

  Cursor& cursor_;
  Module& module_;
  ModuleNames& names_;
  LineTable& lines_;
  Function& function_;
  ScopeStack scopes_;
  LabelTable labels_;
  UniqueNames unique_names_;
};

}  // namespace scanlab::ptx
