// What the race check finds, put so that a learner can act on it.
#pragma once

#include <cstdint>
#include <string>

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Two accesses of different threads of a block to the same bytes of shared memory, at least one a write, that no
/// barrier, fence or atomic orders. A GPU may do them in either order.
struct Race {
  static constexpr const char* id = "race.shared";

  enum class Hazard : std::uint8_t {
    write_after_read,
    read_after_write,
    write_after_write,
    warp_synchronous,  ///< of one warp: right only as long as its lanes go in step, which no GPU since 2017 promises
  };
  enum class Does : std::uint8_t { read, write, atomic, copy };

  struct Side {
    Does does = Does::read;
    SourcePlace where;  ///< the learner's own line: of a function of the toolkit, the call
    unsigned thread[3] = {0, 0, 0};
  };

  Hazard hazard = Hazard::write_after_read;
  std::string kernel;         ///< as the learner wrote it
  std::string array;          ///< name of the shared array
  std::uint64_t element = 0;  ///< counted in elements of `element_bytes`
  std::uint32_t element_bytes = 0;
  unsigned block[3] = {0, 0, 0};
  Dim3 grid_size, block_size;
  Side earlier, later;        ///< in the order in which they were seen
  bool is_one_store = false;  ///< two lanes of the same store, with different values
  std::uint64_t count = 0;    ///< how often these two lines met like this
};

/// "write-after-read" …
const char* name_of(Race::Hazard hazard);
/// "read" …
const char* name_of(Race::Does does);

Finding to_finding(const Race& race);

}  // namespace scanlab::vgpu
