// Several modules become one: declarations meet definitions, and internal names stay apart.
#include "vgpu/ptx/link.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace scanlab::ptx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

Module linked(const std::vector<std::string>& texts) {
  std::vector<Module> modules;
  for (const std::string& text : texts) modules.push_back(parse(".version 8.0\n.target sm_80\n" + text));
  return link(std::move(modules));
}

const Variable& variable(const Module& module, const std::string& name) {
  for (const Variable& v : module.variables)
    if (v.name == name) return v;
  throw std::runtime_error("no variable " + name);
}

/// What the first instruction of a kernel, a call, calls.
std::string callee(const Module& module, const std::string& kernel) {
  for (const Operand& o : module.find_function(kernel)->instructions.at(0).operands)
    if (o.kind == Operand::Kind::symbol) return o.name;
  throw std::runtime_error("no call in " + kernel);
}

std::size_t count(const Module& module, const std::string& name) {
  std::size_t n = 0;
  for (const Variable& v : module.variables) n += v.name == name;
  for (const Function& f : module.functions) n += f.name == name;
  return n;
}

}  // namespace

TEST_CASE("a declaration becomes the definition of another file, whichever comes first") {
  const std::string user =
      ".extern .func f();\n.extern .global .align 4 .u32 x;\n.visible .entry k() { call f, (); ret; }\n";
  const std::string owner = ".visible .global .align 4 .u32 x = 7;\n.visible .func f() { ret; }\n";
  for (const auto& texts : {std::vector{user, owner}, std::vector{owner, user}}) {
    const Module module = linked(texts);
    CHECK(count(module, "f") == 1);
    CHECK(module.find_function("f")->is_defined);
    CHECK(count(module, "x") == 1);
    CHECK_FALSE(variable(module, "x").is_extern);
    CHECK(variable(module, "x").init.at(0) == std::byte{7});
  }
}

TEST_CASE("internal names of two files stay apart, and uses follow them") {
  const std::string first =
      ".global .align 1 .b8 $str[2] = {65, 0};\n"
      ".visible .entry a() { .reg .b64 %r<2>; mov.u64 %r1, $str; ret; }\n";
  const std::string second =
      ".global .align 1 .b8 $str[2] = {66, 0};\n"
      ".global .align 8 .u64 to = $str;\n"
      ".visible .entry b() { .reg .b64 %r<2>; mov.u64 %r1, $str; ret; }\n";
  const Module module = linked({first, second});
  const std::string seen_by_a = module.find_function("a")->instructions.at(0).operands.at(1).name;
  const std::string seen_by_b = module.find_function("b")->instructions.at(0).operands.at(1).name;
  CHECK(variable(module, seen_by_a).init.at(0) == std::byte{65});
  CHECK(variable(module, seen_by_b).init.at(0) == std::byte{66});
  CHECK(variable(module, "to").relocations.at(0).symbol == seen_by_b);
  CHECK(source_name(seen_by_b) == source_name(seen_by_a));
}

TEST_CASE("an internal name gives way to a visible one of another file") {
  const Module module = linked({".func f() { ret; }\n.visible .entry a() { call f, (); ret; }\n",
                                ".visible .func f() { trap; }\n.visible .entry b() { call f, (); ret; }\n"});
  CHECK(callee(module, "b") == "f");
  CHECK(module.find_function("f")->instructions.at(0).opcode == "trap");
  const Function* own = module.find_function(callee(module, "a"));
  REQUIRE(own != nullptr);
  CHECK(own->instructions.at(0).opcode == "ret");
}

TEST_CASE("of weak definitions one stays, and a strong one wins") {
  const std::string weak = ".weak .func f() { ret; }\n", strong = ".visible .func f() { trap; }\n";
  CHECK(count(linked({weak, weak}), "f") == 1);
  for (const auto& texts : {std::vector{weak, strong}, std::vector{strong, weak}})
    CHECK(linked(texts).find_function("f")->instructions.at(0).opcode == "trap");
}

TEST_CASE("two strong definitions, and declarations that do not fit, are reported by name") {
  const auto fails = [](const std::string& a, const std::string& b, const std::string& message) {
    CHECK_THROWS_MATCHES(linked({a, b}), LinkError, MessageMatches(ContainsSubstring(message)));
  };
  fails(".visible .func _Z1fv() { ret; }\n", ".visible .func _Z1fv() { ret; }\n", "f is defined in two files");
  fails(".visible .global .u32 x;\n", ".visible .global .u32 x;\n", "x is defined in two files");
  fails(".extern .global .align 4 .b8 x[16];\n", ".visible .global .align 4 .b8 x[8];\n", "x has 16 bytes");
  fails(".extern .const .align 4 .b8 x[8];\n", ".visible .global .align 4 .b8 x[8];\n", "another memory space");
  fails(".extern .func f(.param .b32 p);\n", ".visible .func f() { ret; }\n", "other parameters");
  fails(".extern .func f();\n", ".visible .global .u32 f;\n", "f is a function");
}

TEST_CASE("what no file defines stays declared") {
  const Module module = linked({".extern .func f();\n", ".extern .func f();\n.extern .global .u32 x;\n"});
  CHECK(count(module, "f") == 1);
  CHECK_FALSE(module.find_function("f")->is_defined);
  CHECK(variable(module, "x").is_extern);
}

TEST_CASE("source lines lead to the right file after linking") {
  const auto text = [](const std::string& file, const std::string& kernel) {
    return ".visible .entry " + kernel + "() {\n.loc 1 5 0\nret;\n}\n.file 1 \"" + file + "\"\n";
  };
  const Module module = linked({text("a.cu", "a"), text("b.cu", "b")});
  const auto file_of = [&](const std::string& kernel) {
    return module.files.at(module.lines.at(module.find_function(kernel)->instructions.at(0).line).file);
  };
  CHECK(file_of("a") == "a.cu");
  CHECK(file_of("b") == "b.cu");
}
