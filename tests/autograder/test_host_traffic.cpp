// When what went to the host and back is a mistake.
#include <catch2/catch_test_macros.hpp>

#include "autograder/device/call_findings.hpp"
#include "vgpu/checks/finding_order.hpp"

using namespace scanlab;
using grade::HostTraffic;
using grade::scan_on_host;

namespace {

HostTraffic traffic(std::uint64_t out, std::uint64_t in) {
  return {out, in, "by copies to the host", "by cudaMemset"};
}

}  // namespace

TEST_CASE("data that goes to the host and comes back is a mistake, in one direction it is not") {
  const std::uint64_t all = 2049 * 4;
  CHECK(scan_on_host(traffic(all, all), 2049));
  CHECK(!scan_on_host(traffic(all, 0), 2049));
  CHECK(!scan_on_host(traffic(0, all), 2049));
  CHECK(!scan_on_host({}, 0));
}

TEST_CASE("sums of sections may be scanned on the host, single elements may not") {
  const std::size_t n = 1 << 20;
  const std::uint64_t sums = n / 1024 * 8, bits = n / 8;
  CHECK(!scan_on_host(traffic(sums, sums), n));
  CHECK(scan_on_host(traffic(2 * bits, 2 * bits), n));
  // A counter, and the parameters of some launches, at any size.
  CHECK(!scan_on_host(traffic(64, 200), 1));
  CHECK(!scan_on_host(traffic(200, 64), 0));
}

TEST_CASE("the finding says how much went each way, and by what; a race is more basic, a wrong output is not") {
  const std::optional<vgpu::Finding> finding = scan_on_host(traffic(4096, 8192), 1024);
  REQUIRE(finding);
  CHECK(finding->id == "host.scan");
  CHECK(finding->weight == vgpu::Finding::Weight::mistake);
  const std::string text = finding->text();
  for (const char* part : {"4096", "8192", "by copies to the host", "by cudaMemset", "384 bytes", "1024 elements"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  vgpu::Finding race, wrong;
  race.id = "race.shared";
  wrong.id = "wrong.other";
  CHECK(vgpu::is_more_basic(race, *finding));
  CHECK(vgpu::is_more_basic(*finding, wrong));
}
