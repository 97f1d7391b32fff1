// Where the loader has put what PTX names.
#pragma once

#include <string>
#include <unordered_map>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// Addresses of module variables and functions, by mangled name.
using SymbolTable = std::unordered_map<std::string, Address>;

}  // namespace scanlab::vgpu
