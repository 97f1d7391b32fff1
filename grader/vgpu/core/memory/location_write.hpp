// One write to a location of strong accesses, and the knowledge that it carries to its readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/core/memory/known_writes.hpp"
#include "vgpu/core/memory/strong_access.hpp"

namespace scanlab::vgpu {

struct LocationWrite {
  /// What the writer knew at its release, and the releases before it in a chain of atomics: for readers of any block,
  /// and for readers of the blocks in which a thread has released with the scope of its block.
  struct Message {
    KnownWrites device;
    std::vector<std::pair<std::uint64_t, KnownWrites>> blocks;

    bool is_empty() const { return device.is_empty() && blocks.empty(); }
    KnownWrites& of_block(std::uint64_t block);
    void join(const Message& other, const WriteRanks& ranks);
    void settle();
  };

  std::array<std::byte, 16> value{};  ///< unset in the newest write, whose value stands in memory
  StrongOperation writer;
  std::uint32_t rank = 0;  ///< its place in modification order
  std::uint32_t turn = 0;  ///< how many writes its thread had made before
  Reach reach = Reach::device;
  bool is_strong = false;
  bool is_tied = false;    ///< of a read-modify-write: nothing comes between it and the write before it
  bool is_repeat = false;  ///< of a read-modify-write that has left the value as it was
  std::shared_ptr<const Message> message;

  /// PTX's "morally strong": both are strong, and the scope of each includes the other's thread.
  bool is_strong_together_with(const StrongAccess& access) const;
  /// Whether a reader of this write learns nothing that a reader of `other` does not learn.
  bool carries_no_more_than(const LocationWrite& other, const WriteRanks& ranks) const;
};

}  // namespace scanlab::vgpu
