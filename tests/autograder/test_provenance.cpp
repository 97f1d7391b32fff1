// What is said of a sum that is not the one that was asked for.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "autograder/check/inputs.hpp"
#include "autograder/device/provenance.hpp"

using namespace scanlab;
using namespace scanlab::grade;

namespace {

using Addition = std::array<int, 3>;  // place k becomes the sum of places i and j: {k, i, j}, k … from n on

constexpr const char* add_maps =
    "ld.global.v2.u32 {{%r1, %r2}}, [%out+{}];\nld.global.v2.u32 {{%r3, %r4}}, [%out+{}];\n"
    "scanlab.add {{%r5, %r6}}, {{%r1, %r2}}, {{%r3, %r4}};\nst.global.v2.u32 [%out+{}], {{%r5, %r6}};\n";
constexpr const char* add_floats =
    "ld.global.f32 %f1, [%out+{}];\nld.global.f32 %f2, [%out+{}];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%out+{}], "
    "%f3;\n";

/// What the program is given for x.
std::vector<Affine> given(Provenance& provenance, const std::vector<Affine>& x) {
  using Remember = Provenance::Remember;
  return provenance.begin(x, 7, x.size() <= Provenance::most_remembered ? Remember::additions : Remember::bounds);
}
std::vector<float> given(Provenance& provenance, const std::vector<float>& x) {
  return provenance.begin(x);
}

/// One thread makes these additions of n inputs, in order; returns what stands at all places, and behind them the
/// identity.
template <typename T>
std::vector<T> elements(Provenance& provenance, vgpu::Device& device, const std::vector<T>& x,
                        const std::vector<Addition>& additions, const std::string& more = {}) {
  std::string body;
  for (const auto& [k, i, j] : additions)
    body += fmt::format(fmt::runtime(std::is_same_v<T, float> ? add_floats : add_maps), sizeof(T) * i, sizeof(T) * j,
                        sizeof(T) * k);
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n"
      ".reg .f32 %f<9>;\n.reg .pred %p<2>;\n.reg .b64 %out;\nld.param.u64 %out, [p];\n" +
      body + more + "ret;\n}\n";
  std::vector<T> names = given(provenance, x);
  names.resize(names.size() + additions.size() + 1);
  if constexpr (std::is_same_v<T, Affine>) names.back() = std::bit_cast<Affine>(vgpu::identity_name);
  const std::size_t bytes = names.size() * sizeof(T);
  const vgpu::Address out = device.memory().allocate(bytes, "out");
  device.memory().write(out, names.data(), bytes);
  std::byte parameters[8];
  std::memcpy(parameters, &out, sizeof out);
  vgpu::LaunchRequest request;
  request.module = device.load(text);
  request.kernel = "k";
  request.grid = request.block = {1, 1, 1};
  request.parameters = parameters;
  REQUIRE(device.launch(request).status == vgpu::LaunchResult::Status::ok);
  provenance.end();
  device.memory().read(names.data(), out, bytes);
  return names;
}

std::vector<ElementName> make(Provenance& provenance, vgpu::Device& device, const std::vector<Affine>& x,
                              const std::vector<Addition>& additions) {
  std::vector<ElementName> names;
  for (const Affine element : elements(provenance, device, x, additions)) names.push_back(Provenance::name_of(element));
  return names;
}

struct Fixture {
  vgpu::Device device{vgpu::small_profile()};
  Provenance provenance{device};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "the graph gives the values that the maps themselves would have") {
  const auto x = affine_maps(4, 3);
  const auto sums =
      provenance.sums<Affine>(x, elements(provenance, device, x, {{4, 0, 1}, {5, 4, 2}, {6, 1, 0}, {7, 5, 3}}));
  CHECK(sums.values[5] == combine(combine(x[0], x[1]), x[2]));
  CHECK(sums.values[6] == combine(x[1], x[0]));
  CHECK(sums.intervals[7] == ElementRange{0, 4});
  CHECK_FALSE(sums.intervals[6]);
  CHECK(sums.values.back() == identity<Affine>());
  CHECK(sums.intervals.back() == ElementRange{});
}

TEST_CASE_METHOD(Fixture, "a wrong sum is explained by what it lacks, has twice, or has in another order") {
  const auto x = affine_maps(8, 3);
  const auto names = make(provenance, device, x,
                          {{8, 0, 1},       // x0 + x1
                           {9, 8, 3},       // without x2
                           {10, 8, 1},      // x1 twice
                           {11, 2, 8},      // x2 first
                           {12, 8, 7},      // a stranger
                           {13, 9, 9},      // several of these
                           {14, 15, 15}});  // nothing and nothing
  const auto said = [&](std::size_t place, std::uint32_t last) {
    return provenance.explain(names[place], {0, last}, "y[9]").text;
  };
  CHECK(said(9, 4) == "in y[9], x2 is missing");
  CHECK(said(10, 2) == "in y[9], x1 counts more than once");
  CHECK(said(11, 3) == "in y[9], x2 stands before x0: the operands of a + are swapped");
  CHECK(said(12, 2) == "in y[9], x7 does not belong to it");
  CHECK(said(13, 4) == "in y[9], x2 is missing, and x0, x1, x3 count more than once");
  CHECK(said(8, 8) == "in y[9], x2 to x7 are missing");
  CHECK(said(14, 2) == "y[9] is identity(): nothing was added");
  CHECK(said(15, 2) == "y[9] is identity(): nothing was added");
  CHECK(provenance.explain(12345, {0, 2}, "y[9]").text == "y[9] was made by something other than `+`");
  CHECK(provenance.explain(ElementName{}, {0, 2}, "y[9]").text ==
        "all bits of y[9] are 0, as of Element{} or after cudaMemset: write identity()");
}

TEST_CASE_METHOD(Fixture, "sums are written with their ranges") {
  const auto x = affine_maps(8, 3);
  const auto names = make(provenance, device, x, {{8, 0, 1}, {9, 8, 2}, {10, 9, 3}, {11, 10, 5}, {12, 3, 0}});
  CHECK(provenance.text(names[0]) == "x0");
  CHECK(provenance.text(names[9]) == "x0 + x1 + x2");
  CHECK(provenance.text(names[10]) == "x0 + … + x3");
  CHECK(provenance.text(names[11]) == "x0 + … + x3 + x5");
  CHECK(provenance.text(names[12]) == "x3 + x0");
  CHECK(provenance.text(vgpu::identity_name) == "identity()");
  CHECK(provenance.text(~ElementName{0}) == "unwritten");
  CHECK(provenance.text(12345) == "no sum of elements");
}

TEST_CASE_METHOD(Fixture, "of many elements only the bounds of sums are known") {
  const auto x = affine_maps(Provenance::most_remembered + 1, 3);
  const int n = static_cast<int>(x.size());
  const auto names = make(provenance, device, x, {{n, 0, 1}, {n + 1, n, 2}, {n + 2, 1, 0}, {n + 3, n, 3}});
  CHECK(provenance.graph() == nullptr);
  std::vector<Affine> outputs;
  for (const ElementName name : names) outputs.push_back(std::bit_cast<Affine>(name));
  const auto sums = provenance.sums<Affine>(x, outputs);
  CHECK(sums.values[x.size() + 1] == combine(combine(x[0], x[1]), x[2]));
  CHECK(sums.intervals[x.size() + 1] == ElementRange{0, 3});
  CHECK_FALSE(sums.intervals[x.size() + 2]);
  CHECK_FALSE(sums.intervals[x.size() + 3]);
  CHECK(provenance.text(names[x.size() + 1]) == "x0 + x1 + x2");
  CHECK(provenance.text(names[x.size() + 2]) == "no sum of neighbours");
  CHECK(provenance.explain(names[x.size() + 2], {0, 2}, "y[1]").text ==
        "in y[1], elements are missing, count more than once or stand in another order");
}

TEST_CASE_METHOD(Fixture, "floats are evaluated to the last bit, and their sums have no order") {
  const std::vector<float> x = {0.1f, 1e8f, -1e8f, 0.3f};
  const std::vector<float> outputs = elements(provenance, device, x, {{4, 0, 1}, {5, 2, 4}, {6, 0, 3}, {7, 6, 1}});
  const auto sums = provenance.sums<float>(x, outputs);
  CHECK(sums.values[5] == (0.1f + 1e8f) + -1e8f);
  CHECK(sums.values[7] == (0.1f + 0.3f) + 1e8f);
  CHECK(sums.intervals[5] == ElementRange{0, 3});
  CHECK_FALSE(sums.intervals[6]);
  CHECK(sums.values.back() == 0.0f);
  CHECK(sums.intervals.back() == ElementRange{});
  const auto said = [&](std::size_t place, ElementRange expected) {
    return provenance.explain(provenance.name_of(outputs[place]), expected, "y[9]").text;
  };
  CHECK(provenance.text(provenance.name_of(outputs[7])) == "x0 + x1 + x3");
  CHECK(said(7, {0, 4}) == "in y[9], x2 is missing");
  CHECK(said(7, {0, 2}) == "in y[9], x3 does not belong to it");
  CHECK(said(8, {0, 2}) == "y[9] is identity(): nothing was added");
  CHECK(provenance.text(provenance.name_of(std::bit_cast<float>(~0u))) == "unwritten");
}

TEST_CASE_METHOD(Fixture, "it is said why the additions of floats cannot be followed") {
  const std::vector<float> x = {1, 2, 3};
  elements(provenance, device, x, {{3, 0, 1}});
  CHECK(provenance.why_not_followed() == "the results are made by something other than +");
  elements(provenance, device, x, {{3, 0, 1}}, "mul.f32 %f3, %f3, 0f40000000;\nst.global.f32 [%out], %f3;\n");
  CHECK(provenance.why_not_followed().ends_with("looks at what an element is: its additions cannot be followed"));
}
