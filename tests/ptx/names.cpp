// Mangled names and what a learner wrote.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <string_view>

#include "vgpu/ptx/module.hpp"

using namespace scanlab::ptx;

TEST_CASE("a mangled name gives the name that was written") {
  struct Case {
    std::string mangled, written;
  };
  const Case c = GENERATE(
      Case{"_ZZ2ksIfEvPKT_PS0_iE2xy", "xy"}, Case{"_Z2ksPf", "ks"}, Case{"_Z2ksIfEvPKT_PS0_i", "ks"}, Case{"ks", "ks"},
      Case{"", ""}, Case{"vprintf", "vprintf"}, Case{"$str$2", "$str"}, Case{"_Z9short", "_Z9short"}, Case{"_Z", "_Z"},
      Case{"_ZZ1kPiE3sum_$_0", "sum"}, Case{"_ZZ1kPiE1q_$_1_$_12", "q"}, Case{"_$_0", "_$_0"}, Case{"_ZZ2ckE2sh", "sh"},
      Case{"_ZZ2ckE2sh$1", "sh"}, Case{"__cuda_local_var_35_30_non_const_xy", "xy"},
      Case{"_ZN36_GLOBAL__N__4397d3f1_4_a_cu_8d1b7e344anonEPi", "anon"},
      Case{"_ZN34_INTERNAL_4397d3f1_4_a_cu_8d1b7e3436_GLOBAL__N__4397d3f1_4_a_cu_8d1b7e345anonvE", "anonv"},
      Case{"_ZN12_GLOBAL__N_14anonEPi", "anon"}, Case{"_ZN1VD1Ev", "~V"}, Case{"_ZN1W1fEi", "f"},
      Case{"_ZN1WplERKS_", "operator+"}, Case{"_ZNK1WclEf", "operator()"}, Case{"_ZplIfE1WIT_ERKS2_S4_", "operator+"},
      Case{"_ZN1WltIfEEbT_", "operator<"}, Case{"_ZNK1WcvfEv", "operator float"}, Case{"_ZNK1WixEi", "operator[]"},
      Case{"_ZZNK1WclEfE2xy", "xy"}, Case{"_ZZ4mainENKUlfE_clEf", "lambda"}, Case{"_ZZZ4mainENKUlfE_clEfE2xy", "xy"},
      Case{"_Z4klamIZ4mainEUlfE_EvPfT_", "klam"}, Case{"_Z1fIfESt4pairIT_S1_ES1_", "f"},
      Case{"_ZN3cub9BlockScanIfLi128EE4scanEf", "scan"}, Case{"_Z1fIXgtLi3ELi2EEEvv", "f"},
      Case{"_ZN1A9operatorsEv", "operators"});
  CAPTURE(c.mangled, demangle(c.mangled));
  CHECK(source_name(c.mangled) == c.written);
}

TEST_CASE("a variable that was an element says which") {
  CHECK(source_piece("_ZZ1kPiE3sum_$_0") == "[0]");
  CHECK(source_piece("_ZZ1kPiE1q_$_1_$_12") == "[1][12]");
  CHECK(source_piece("_ZZ1kPiE3sum_$_1$2") == "[1]");
  for (const char* const whole : {"_ZZ1kPiE3sum", "sum_1", "sh$1", "$str$2", "_$_0", ""})
    CHECK(source_piece(whole).empty());
}

TEST_CASE("a demangled name has no hashes of files") {
  CHECK(demangle("_Z2ksIfEvPKT_i") == "void ks<float>(float const*, int)");
  CHECK(demangle("_ZN34_INTERNAL_4397d3f1_4_a_cu_8d1b7e3414__shfl_up_syncEjfji") ==
        "__shfl_up_sync(unsigned int, float, unsigned int, int)");
  CHECK(demangle("_ZN34_INTERNAL_4397d3f1_4_a_cu_8d1b7e3436_GLOBAL__N__4397d3f1_4_a_cu_8d1b7e345anonvE") ==
        "(anonymous namespace)::anonv");
  CHECK(demangle("main") == "main");
}

TEST_CASE("types have PTX's names and sizes") {
  CHECK(type_from_suffix(".u32") == Type::u32);
  CHECK(type_from_suffix("f16x2") == Type::f16x2);
  CHECK(type_from_suffix("u33") == Type::none);
  CHECK(type_from_suffix("") == Type::none);
  CHECK(size_of(Type::b128) == 16);
  CHECK(size_of(Type::pred) == 0);
  CHECK(is_float(Type::bf16));
  CHECK_FALSE(is_float(Type::b32));
  CHECK(is_signed(Type::s8));
  CHECK_FALSE(is_signed(Type::u8));
}

TEST_CASE("names that would grow beyond all bounds are shown in part, and at once") {
  // f(a, b<a, a>, b<b<a, a>, b<a, a>>, …): each parameter is twice as long as the one before.
  const auto substitution = [](int k) {
    constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (k == 0) return std::string("S_");
    std::string text = "_";
    for (int n = k - 1;; n = n / 36 - 1) {
      text.insert(0, 1, digits[static_cast<std::size_t>(n % 36)]);
      if (n < 36) break;
    }
    return "S" + text;
  };
  const auto growing = [&](const std::string& begin, int links) {
    std::string name = begin + "1a1bIS_S_E";
    for (int k = 0; k < links; ++k) name += substitution(1) + "I" + substitution(k + 2) + substitution(k + 2) + "E";
    return name;
  };
  CHECK(demangle(growing("_Z1f", 1)) == "f(a, b<a, a>, b<b<a, a>, b<a, a> >)");
  CHECK(source_name(growing("_Z1f", 30)) == "f");
  CHECK(demangle(growing("_ZN3one3twoIiEEv", 300)) == "one::two<...>");
  CHECK(source_name(growing("_ZN3one3twoIiEEv", 300)) == "two");
  CHECK(source_name(growing("_ZZ1fv", 300) + "E2xy") == "xy");
  const std::string unreadable = growing("_Z", 300) + "?";
  CHECK_FALSE(demangle(unreadable).empty());
}
