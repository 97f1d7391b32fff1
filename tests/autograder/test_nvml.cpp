#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "autograder/device/nvml.hpp"

using namespace scanlab::grade;
using Texts = std::vector<std::string>;

namespace {

std::optional<Texts> slowdowns(const char* bits) {
  setenv("FAKE_NVML_BITS", bits, 1);
  return Nvml("0000:3B:00.0", FAKE_NVML).slowdowns();
}

}  // namespace

TEST_CASE("a GPU that slows itself down says why", "[nvml]") {
  CHECK(slowdowns("0") == Texts{});
  CHECK(slowdowns("20") == Texts{"software slowdown: too hot"});
  CHECK(slowdowns("48") == Texts{"hardware slowdown", "hardware slowdown: too hot"});
  CHECK(slowdowns("80") == Texts{"hardware slowdown: power brake"});
}

TEST_CASE("an idle GPU, chosen clocks and an ordinary power limit are not slowdowns", "[nvml]") {
  CHECK(slowdowns("1") == Texts{});
  CHECK(slowdowns("117") == Texts{});
}

TEST_CASE("without the library, or when it does not know the GPU, there is no answer", "[nvml]") {
  CHECK_FALSE(Nvml("0000:3B:00.0", "libno-such-library.so.1").slowdowns());
  CHECK_FALSE(Nvml("0000:3B:00.0", "libc.so.6").slowdowns());  // a library without these functions
  CHECK_FALSE(Nvml("0000:AF:00.0", FAKE_NVML).slowdowns());
  setenv("FAKE_NVML_BROKEN", "1", 1);
  CHECK_FALSE(Nvml("0000:3B:00.0", FAKE_NVML).slowdowns());
  unsetenv("FAKE_NVML_BROKEN");
}
