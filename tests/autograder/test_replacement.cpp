// Code in the place of a program's own: under which names its kernels are found.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "autograder/device/replacement.hpp"
#include "vgpu/ptx/module.hpp"

using namespace scanlab;

namespace {

/// PTX with one empty function of each name.
std::string code_of(const std::vector<std::string>& names, const std::string& kind = ".visible .entry ") {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (const std::string& name : names) text += kind + name + "()\n{\n  ret;\n}\n";
  return text;
}

std::vector<std::string> names_of(const ptx::Module& module) {
  std::vector<std::string> names;
  for (const ptx::Function& function : module.functions) names.push_back(function.name);
  return names;
}

}  // namespace

TEST_CASE("a kernel of a version has the name of the program's own kernel that reads the same") {
  const std::string scan = "_Z4scanIL4Kind0EEvPKfPfi", other = "_Z4scanIL4Kind1EEvPKfPfi", plain = "_Z3addPf";
  const ptx::Module own = ptx::parse(code_of({plain, scan, other}));
  // scanlab_version_07::scan<(scanlab_version_07::Kind)1>(float const*, float*, int) and its like: types have it too.
  const std::string space = "18scanlab_version_07";
  const ptx::Module version =
      grade::replacement(own, code_of({"_ZN" + space + "4scanILNS_4KindE1EEEvPKfPfi",
                                       "_ZN" + space + "4scanILNS_4KindE0EEEvPKfPfi", "_ZN" + space + "3addEPf"}));
  CHECK(names_of(version) == std::vector<std::string>{other, scan, plain});
}

TEST_CASE("a kernel that the program does not have keeps its name, and so does what is no kernel") {
  const ptx::Module own = ptx::parse(code_of({"_Z3addPf"}));
  const std::string unknown = "_ZN18scanlab_version_073subEPf";
  CHECK(names_of(grade::replacement(own, code_of({unknown}))) == std::vector<std::string>{unknown});
  const std::string function = "_ZN18scanlab_version_073addEPf";
  CHECK(names_of(grade::replacement(own, code_of({function}, ".visible .func "))) ==
        std::vector<std::string>{function});
  CHECK(names_of(grade::replacement(own, code_of({"_Z3addPf"}))) == std::vector<std::string>{"_Z3addPf"});
}

TEST_CASE("code that is no PTX is refused") {
  CHECK_THROWS_AS(grade::replacement(ptx::parse(code_of({"k"})), "no code"), ptx::ParseError);
}
