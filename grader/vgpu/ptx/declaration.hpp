// Declarations of variables and parameters: PTX ISA chapters 5.4 and 5.5, initialisers included.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vgpu/ptx/cursor.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {

/// A name that some place of the text uses before its declaration was seen.
struct SymbolUse {
  std::string_view name;
  std::uint32_t ptx_line = 0;
};

/// What all initialisers of a module share.
struct InitialiserContext {
  std::uint64_t bytes_left = std::uint64_t{1} << 28;  ///< a limit on initialised data, against damaged sizes
  std::vector<SymbolUse> uses;                        ///< symbols whose addresses are taken
};

/// What stands before the names of a declaration: ".align 8 .b8".
struct DeclarationHead {
  StateSpace space = StateSpace::generic;
  Type type = Type::none;
  std::uint32_t align = 0;         ///< 0: natural
  std::uint32_t vector_width = 1;  ///< 4 for .v4
  bool is_managed = false;
};

/// `.global` → StateSpace::global …; nothing for a directive that is not a state space.
std::optional<StateSpace> state_space_from_directive(std::string_view name);

/// Reads attributes, alignment and type; the state space has been read.
DeclarationHead parse_declaration_head(Cursor& cursor, StateSpace space);

/// Reads one name with its dimensions and its initialiser.
Variable parse_declarator(Cursor& cursor, const DeclarationHead& head, bool is_extern, InitialiserContext& context);

/// Reads one formal parameter, ".param .u64 .ptr .global .align 8 name".
Variable parse_parameter(Cursor& cursor);

}  // namespace scanlab::ptx
