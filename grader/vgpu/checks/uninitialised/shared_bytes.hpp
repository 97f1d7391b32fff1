// The shared memory of a block: which of its bytes have been written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class SharedBytes {
 public:
  void begin(const KernelInfo& kernel);
  void write(std::uint64_t first, std::uint64_t bytes);
  void write(const AccessRun& run);
  /// Has every byte of the access been written?
  bool has_all(const AccessRun& run);
  /// True when it is known at once that every byte of the access has been written; it may have been when this is false
  /// too.
  bool surely_has(const AccessRun& run) const {
    if (left_ == 0) return true;
    const Extent e = extent_of(run);
    return e.begin >= known_.begin && e.end <= known_.end;
  }
  bool has_all(std::uint64_t first, std::uint64_t bytes) const {
    return !left_ || all_bits(written_.data(), first, bytes);
  }
  std::uint64_t which(std::uint64_t first, unsigned bytes) const { return bits_at(written_.data(), first, bytes); }

 private:
  /// Elements of `bytes`, each `stride` after the one before: what columns and fields leave behind.
  struct Strided {
    std::uint64_t begin = 0, count = 0;
    std::int64_t stride = 1;
    std::uint32_t bytes = 0;
    /// Where the next element would be.
    std::uint64_t end() const { return begin + count * static_cast<std::uint64_t>(stride); }
    /// Are they of one pattern, without a gap between them?
    bool touches(const Strided& other) const;
  };

  void mark(std::uint64_t k, std::uint64_t mask) {
    left_ -= static_cast<std::uint64_t>(std::popcount(mask & ~written_[k]));
    written_[k] |= mask;
  }
  static std::optional<Strided> strided_of(const AccessRun& run);
  Strided* touching(const Strided& c);
  template <class Visit>
  static void for_each_outside(const Strided& c, const Strided* known, Visit visit);
  void add_to_strided(const Strided& c, Strided* near);

  std::vector<std::uint64_t> written_;
  std::uint64_t left_ = 0;               ///< bytes of arrays that have not been written
  Extent known_;                         ///< all of these bytes have been written: of a tile, usually all that is used
  std::array<Strided, 8> strided_ = {};  ///< these have been written too
};

}  // namespace scanlab::vgpu
