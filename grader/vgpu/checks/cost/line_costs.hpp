// Where the work is: which lines of the learner's source make shared memory take extra passes, move more of global
// memory than they use, make the lanes of a warp diverge, or stand at a barrier.
//
// These are costs, not mistakes: the best solution of a lab may have them. So they are reported only where costs were
// asked for: with a count that is beyond its limit, and with `run --counters`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class LineCosts : public Observer {
 public:
  enum class Cost : std::uint8_t { bank_conflicts, sectors, divergence, barriers, traffic };

  /// The lines that cost most, with the most expensive first: at most `most`, of all launches since the last reset. Of
  /// bank conflicts and sectors only lines that have more than they need; of branches those that diverge. `traffic`:
  /// the bytes of global memory that they ask for.
  std::vector<Finding> findings(Cost cost, std::size_t most = 3) const;
  void reset() {
    lines_.clear();
    blocks_.clear();
  }

  std::uint32_t interests() const override { return branches | plain_shared; }
  void kernel_begin(const KernelInfo& kernel) override;
  void kernel_end() override;
  void load(const Access& access) override { request(access, 1); }
  void store(const Access& access) override { request(access, 1); }
  void loads(const AccessRun& run) override { requests(run); }
  void stores(const AccessRun& run) override { requests(run); }
  void atomic(const Access& access) override { request(access, 1); }
  void branch(const Actor& actor, Mask active, Mask taken) override;
  void barrier_complete(const Actor& actor, std::uint32_t, Meeting) override { ++running_[actor.line].barriers; }
  std::unique_ptr<Observer> fork() const override;
  void join(Observer& fork) override;

 private:
  /// What has been seen of one line.
  struct Line {
    std::uint64_t requests = 0, replays = 0;  ///< of shared memory
    unsigned ways = 1;                        ///< most passes of one request
    std::int64_t stride = 0;                  ///< bytes between the lanes of that one; 0: not the same for all
    std::uint32_t bytes = 4;                  ///< of its lanes
    std::string array;                        ///< that it touches
    std::uint64_t global_requests = 0, sectors = 0, global_bytes = 0;
    std::uint64_t branches = 0, divergent = 0, lanes_apart = 0;  ///< the last: on the smaller sides of divergent ones
    std::uint64_t barriers = 0;                                  ///< completed, each once per block

    bool is_used() const { return requests || global_requests || branches || barriers; }
    void add(const Line& other);
  };
  struct Place {
    std::string kernel, file;
    unsigned line = 0;
    auto operator<=>(const Place&) const = default;
  };

  void request(const Access& access, std::uint64_t times);
  void requests(const AccessRun& run);
  Finding describe(const Place& place, const Line& line, Cost cost) const;

  std::shared_ptr<const KernelInfo> kernel_;     ///< while it runs
  std::vector<Line> running_;                    ///< of this launch, by index into the module's lines
  std::map<Place, Line> lines_;                  ///< of the launches that have ended
  std::map<std::string, std::uint64_t> blocks_;  ///< of each kernel, all its launches together
};

}  // namespace scanlab::vgpu
