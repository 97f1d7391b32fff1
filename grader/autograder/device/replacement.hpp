// Code that is run in the place of a program's own.
#pragma once

#include <string_view>

#include "vgpu/ptx/module.hpp"

namespace scanlab::grade {

/// Reads the PTX of another version of a program. Its kernels get the names by which the program asks for them: those
/// of its own kernels that read the same without namespaces `scanlab_version_N`, which keep versions of one file apart.
/// Throws ptx::ParseError.
ptx::Module replacement(const ptx::Module& own, std::string_view code);

}  // namespace scanlab::grade
