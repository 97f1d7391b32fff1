// Makes one module out of a program's several: relocatable device code, nvcc -rdc=true.
#pragma once

#include <stdexcept>
#include <vector>

#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {

/// The files do not fit together; the message names the symbol.
struct LinkError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Joins modules as a linker does: a declaration meets its definition in any of them, weak definitions are one, and
/// internal names stay apart (a clash gives the later one a new name that source_name() undoes). A symbol that no
/// module defines stays declared: whether a kernel needs it is known when the kernel is. Throws LinkError for two
/// definitions of one name, and for declarations that do not fit the definition.
Module link(std::vector<Module> modules);

}  // namespace scanlab::ptx
