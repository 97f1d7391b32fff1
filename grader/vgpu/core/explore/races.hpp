// Plain accesses that nothing orders, in the executions that are explored. What orders two accesses is causality order,
// as the view machine follows it (Causality::follow_instants): an execution in which a read returns an old value shows
// what that read does not order, too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/core/explore/exploration.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class RaceWatch : public Observer {
 public:
  /// `module` has the grid's lines.
  RaceWatch(const Grid& grid, const ptx::Module& module) : grid_(grid), module_(module) {}

  /// A run begins, whose accesses `views` orders. It has to hear of accesses after this, and outlive them.
  void begin(Views& views);
  /// Pairs of lines that race in one of the runs so far, most_races at most.
  std::vector<BrokenAssumption>& races() { return races_; }

  std::uint32_t interests() const override { return 0; }
  void load(const Access& access) override { touch(access, 0, access.order != Access::Order::weak); }
  void store(const Access& access) override { touch(access, access.mask, access.order != Access::Order::weak); }
  void atomic(const Access& access) override;

 private:
  static constexpr std::size_t most_races = 8;
  static constexpr std::uint32_t none = ~0u;
  static constexpr unsigned word_bytes = 4, words = 1024;
  /// Accesses of lanes of a warp to a word.
  struct Node {
    std::uint32_t next = none, line = 0;
    Instant when;
    Mask lanes = 0;
    std::uint8_t bytes = 0;  ///< of the word
    bool writes = false, is_strong = false;
    Reach reach = Reach::device;
  };
  struct Page {
    std::uint32_t run = 0;  ///< of which its words are
    std::array<std::uint32_t, words> first;
  };

  void touch(const Access& access, Mask writing, bool is_strong);
  void touch_word(const Access& access, unsigned lane, std::uint64_t word, const Node& now);
  std::uint32_t& cell(std::uint64_t word);
  void keep(std::uint32_t& first, const Node& now);
  void report(const Node& then, const Node& now, Address address, bool lacks_fence);

  const Grid& grid_;
  const ptx::Module& module_;
  Views* views_ = nullptr;
  std::uint32_t run_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_page_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<BrokenAssumption> races_;
};

}  // namespace scanlab::vgpu
