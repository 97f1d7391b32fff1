// For each location of memory, the oldest write that may still be read: what the literature calls a view.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace scanlab::vgpu {

/// A location's number, and one of its writes.
struct KnownWrite {
  std::uint32_t location = 0, write = 0;
};

/// In modification order, how far a write is from the oldest one.
class WriteRanks {
 public:
  virtual ~WriteRanks() = default;
  virtual std::uint32_t rank(KnownWrite write) const = 0;
};

/// A set of known writes, the newest of each location. What is not in it is known by its initial value. Copies are
/// cheap: they share what was there before, and a few new entries stand apart from it.
class KnownWrites {
 public:
  bool is_empty() const { return !shared_ && own_.empty(); }
  /// The newest known write of the location; 0, the initial value, where none is known.
  std::uint32_t of(std::uint32_t location) const;
  /// `write` has to be newer than the one that is known.
  void set(KnownWrite write);
  /// Whatever `other` knows is known from now on.
  void join(const KnownWrites& other, const WriteRanks& ranks);
  /// Is everything known that `other` knows?
  bool includes(const KnownWrites& other, const WriteRanks& ranks) const;
  bool is_same_as(const KnownWrites& other) const {
    return shared_ == other.shared_ && own_.empty() && other.own_.empty();
  }
  /// Moves all entries to where copies share them. To be done before it is copied often.
  void settle();
  void clear() { shared_.reset(), own_.clear(); }

 private:
  using Entries = std::vector<KnownWrite>;  ///< by rising location
  static constexpr std::size_t most_own = 16;

  std::shared_ptr<const Entries> shared_;
  std::vector<KnownWrite> own_;  ///< in no order; newer than those in shared_
};

}  // namespace scanlab::vgpu
