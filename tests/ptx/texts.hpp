// Small PTX texts for the tests.
#pragma once

#include <stdexcept>
#include <string>

#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx::test {

inline const std::string header = ".version 9.0\n.target sm_80\n.address_size 64\n";

inline Module parse_items(const std::string& items) {
  return parse(header + items);
}

/// A kernel `k` with two parameters and a few registers; `body` begins at line 5 of the text.
inline std::string kernel(const std::string& body) {
  return header + ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {" +
         ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<8>;\n" + body + "\n}\n";
}

inline Function parse_body(const std::string& body) {
  const Module module = parse(kernel(body));
  return module.functions.at(0);
}

/// The message of the ParseError that `text` must cause, empty when there is none.
inline std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const ParseError& error) {
    return error.what();
  }
  return {};
}

inline const Variable& variable(const Module& module, const std::string& name) {
  for (const Variable& variable : module.variables) {
    if (variable.name == name) return variable;
  }
  throw std::out_of_range("no variable " + name);
}

}  // namespace scanlab::ptx::test
