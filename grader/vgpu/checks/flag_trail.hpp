// What the threads of a block have seen of each other's flags: which accesses would be ordered if each flag had its
// fences. It orders nothing; it says of a race that there is a flag, or a lock, and that only its fences are missing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "vgpu/checks/block_clocks.hpp"

namespace scanlab::vgpu {

class FlagTrail {
 public:
  /// The latest flag of a thread that another one has seen, itself or through others.
  struct Seen {
    BlockClocks::Stamp until = 0;  ///< when it was set: accesses of its thread up to that would be ordered
    std::uint32_t set_line = 0, seen_line = 0;
    bool is_lock = false;  ///< it was seen by an atomic that has changed it: a lock, given back and taken
  };
  /// How a thread touches a flag.
  struct Touch {
    unsigned thread = 0;
    std::uint64_t location = 0;
    std::uint32_t line = 0;
    bool is_count = false;  ///< by an atomicAdd or the like: a thread that counts waits for no other that does
  };

  bool is_empty() const { return flags_.empty(); }
  void clear() {
    flags_.clear();
    trails_.clear();
  }
  void set(const Touch& touch, BlockClocks::Stamp now);
  void see(const Touch& touch, bool is_lock);
  /// What `thread` has seen of the other's flags; null: nothing.
  const Seen* seen(unsigned thread, unsigned other) const;

 private:
  using Trail = std::map<unsigned, Seen>;  ///< by thread
  struct Flag {
    Touch touch;
    BlockClocks::Stamp stamp = 0;
    std::shared_ptr<const Trail> trail;  ///< of the thread that has set it
  };

  std::unordered_map<std::uint64_t, Flag> flags_;  ///< by location: what single threads have set
  std::unordered_map<unsigned, std::shared_ptr<const Trail>> trails_;
};

}  // namespace scanlab::vgpu
