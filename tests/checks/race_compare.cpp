// Runs a CUDA program, linked with libcudart_vgpu.a, and compares after each launch what the race check and the naive
// one have found: race_compare [--schedule NAME] [--seed N] PROGRAM [ARGUMENTS]. Prints the number of launches, how
// many were racy, and of races; exit code 1 when the two ever differ.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "naive_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/server/protocol.hpp"
#include "vgpu/server/session.hpp"

extern char** environ;

namespace {

using namespace scanlab;

/// Attached after the two, so that a launch has ended for both.
class Comparison : public vgpu::Observer {
 public:
  Comparison(vgpu::SharedRaces& check, test::NaiveRaces& naive) : check_(check), naive_(naive) {}
  std::uint32_t interests() const override { return 0; }

  void kernel_end() override {
    std::set<test::Verdict> found;
    for (const vgpu::Finding& f : check_.findings().list())
      found.insert(
          {f.kernel, f.variable, vgpu::place_text(f.parts.front().where), vgpu::place_text(f.parts.back().where)});
    print(naive_.verdicts(), found, "only the naive check");
    print(found, naive_.verdicts(), "only the check");
    ++launches;
    racy += !naive_.verdicts().empty();
    races += naive_.verdicts().size();
    check_.reset();
    naive_.reset();
  }

  unsigned long launches = 0, racy = 0, races = 0, differences = 0;

 private:
  void print(const std::set<test::Verdict>& those, const std::set<test::Verdict>& others, const char* source) {
    for (const test::Verdict& v : those) {
      if (others.contains(v)) continue;
      const auto& [kernel, array, earlier, later] = v;
      fmt::print("{}: kernel {}, array {}, {} and {}\n", source, kernel, array, earlier, later);
      ++differences;
    }
  }

  vgpu::SharedRaces& check_;
  test::NaiveRaces& naive_;
};

}  // namespace

int main(int argc, char** argv) {
  vgpu::Device device(vgpu::small_profile());
  int at = 1;
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
    if (std::string_view(argv[at]) == "--schedule") device.schedule.order = vgpu::order_by_name(argv[at + 1]);
    if (std::string_view(argv[at]) == "--seed") device.schedule.seed = std::strtoull(argv[at + 1], nullptr, 10);
  }
  if (at >= argc) return 2;

  vgpu::SharedRaces check;
  test::NaiveRaces naive;
  Comparison comparison(check, naive);
  for (vgpu::Observer* o : std::initializer_list<vgpu::Observer*>{&check, &naive, &comparison}) device.attach(o);

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 3;
  setenv(server::wire::fd_variable, std::to_string(ends[1]).c_str(), 1);
  server::Session session(device, ends[0], {});
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  if (posix_spawn(&pid, argv[at], &actions, nullptr, argv + at, environ) != 0) return 3;
  close(ends[1]);
  std::thread reaper([&] {
    int status = 0;
    waitpid(pid, &status, 0);
    session.drain();
    session.stop();
  });
  session.serve();
  reaper.join();
  for (vgpu::Observer* o : std::initializer_list<vgpu::Observer*>{&check, &naive, &comparison}) device.detach(o);
  fmt::print("{} launches, {} racy, {} races, {} differences\n", comparison.launches, comparison.racy, comparison.races,
             comparison.differences);
  return comparison.differences ? 1 : 0;
}
