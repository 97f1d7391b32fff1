// Who chooses among the outcomes that the memory model allows for a strong access.
#pragma once

#include <cstdint>
#include <span>

#include "vgpu/core/memory/strong_access.hpp"

namespace scanlab::vgpu {

class MemoryChooser {
 public:
  enum class Kind : std::uint8_t {
    read,    ///< which write a read returns; 0: the newest
    update,  ///< the same for a read-modify-write
    place,   ///< which write a new one follows in modification order; 0: the newest
  };
  struct Question {
    Kind kind = Kind::read;
    std::uint32_t location = 0;
    std::span<const std::uint32_t> writes;  ///< to choose from, newest first
    const StrongOperation* by = nullptr;
  };
  /// An access or a fence.sc, once it has been executed.
  struct Answer {
    enum class Effect : std::uint8_t { read, write, update, fence } effect = Effect::read;
    StrongOperation by;
    bool may_update = false;  ///< a read-modify-write that writes, or would, had it read another write
    std::uint32_t location = 0;
    std::uint32_t read = 0;                          ///< the write that was read
    std::uint32_t written = 0;                       ///< the write that was made; 0: none
    std::span<const std::uint32_t> allowed, placed;  ///< the writes to choose from: of a read, of a write
    std::uint64_t updating = 0;                      ///< a bit for each of `allowed`: reading that one, it would write
    unsigned chosen = 0, chosen_place = 0;
  };
  virtual ~MemoryChooser() = default;
  /// Whether the warp may make its next strong access now. If not, its turn ends before it.
  virtual bool may_act(Warp&, const Inst*) { return true; }
  /// The index of one of the writes. There are at least two.
  virtual unsigned choose(const Question& question) = 0;
  virtual void happened(const Answer&) {}
};

/// The choices of a seed. Every second read returns the newest write, so that every loop that waits ends.
class RandomChooser : public MemoryChooser {
 public:
  explicit RandomChooser(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull) {}
  unsigned choose(const Question& question) override;

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

}  // namespace scanlab::vgpu
