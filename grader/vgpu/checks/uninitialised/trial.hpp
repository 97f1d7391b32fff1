// Whether it matters what was in memory that had not been written: the launch is run again, with other things there.
//
// First as it was, to see which elements are read unwritten; then with zeros in these, and with large random numbers.
// What then branches otherwise, goes to other addresses or leaves other bytes in memory depends on them: whatever the
// arithmetic in between, and however it hides them (x * 0, max, a select, a store that comes later). They may also be
// compared with what they are to become, as a flag is (`while (flag != 1)`): so the launch is run with ones there, and,
// in global memory, with what it leaves there itself, as an earlier call may have. It cannot see what comes out the
// same for all of them by chance: a comparison with a number that none of them is, say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "vgpu/checks/uninitialised/launch_footprint.hpp"
#include "vgpu/checks/uninitialised/rerun.hpp"
#include "vgpu/core/run/replay.hpp"

namespace scanlab::vgpu {

class Trial {
 public:
  /// `blocks`: those that have read unwritten memory, by ascending index.
  Trial(const Replay& replay, const KernelInfo& kernel, ByteSet& defined, LaunchFootprint& footprint,
        std::vector<std::uint64_t> blocks);

  void run();

  /// Where the value of an unwritten element gets to.
  struct Arrival {
    enum class At : std::uint8_t { branch, address, memory } at = At::memory;
    BlankRead from;
    std::uint64_t block = 0;  ///< of the branch, the access or the store
    std::uint32_t line = 0, thread = 0;
    std::optional<Fault> fault;  ///< that an address led to, instead of the three above
    Address address = 0;         ///< of the element in memory
    std::uint32_t bytes = 0;
  };
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  /// The bytes of global memory, by page, whose value depends on unwritten elements.
  using Bytes = std::map<std::uint64_t, ByteSet::PageBits>;
  const Bytes& undefined() const { return undefined_; }
  /// Of these, those that look like the padding of structs.
  const Bytes& padding() const { return padding_; }
  /// Warp instructions of all runs.
  std::uint64_t spent() const { return spent_; }

 private:
  enum class Filler : std::uint8_t { zeros, numbers, ones, left_over };
  /// Is it for flags: numbers with which they are compared?
  static bool is_for_flags(Filler filler) { return filler == Filler::ones || filler == Filler::left_over; }
  static bool is_filled_with(Filler filler, const BlankRead& read) {
    return filler != Filler::left_over || read.space == ptx::StateSpace::global;
  }
  struct Variation {
    std::vector<const BlankRead*> reads;  ///< the elements that hold something else
    Filler filler = Filler::zeros;
  };
  struct ControlDifference {
    Filler filler;
    std::optional<Rerun::Difference> difference;
    std::optional<Fault> fault;
  };

  std::optional<Fault> once(Rerun& rerun, const Variation& variation, const std::vector<std::uint64_t>& blocks);
  /// What an unwritten byte holds with it.
  std::byte filled_with(Filler filler, const BlankRead& read, std::uint32_t k);
  /// All elements hold it.
  Variation all_with(Filler filler) const;
  Rerun make_rerun() const { return Rerun(kernel_, memory_, defined_); }
  /// Is it a fault, and not that of the launch?
  bool is_another(const std::optional<Fault>& fault) const;
  void compare_memory(Rerun& as_it_was, Rerun& varied, Filler filler);
  /// Of the elements that are tried, the first ones hold the filler and the others what was there; or the other way.
  enum class Start : std::uint8_t { as_it_was, filled };
  template <class Shows>
  const BlankRead& find_source(std::uint64_t block, std::uint32_t thread, Filler filler, Start from, Shows shows);
  void find_padding();
  BlankRead by_thread(const BlankRead& read, std::uint64_t block, std::uint32_t thread);
  const BlankRead& source_of(Address byte, const Rerun::Store& store, Filler filler);
  std::uint64_t block_of(const Fault& fault) const;
  void explain(const ControlDifference& control);
  void explain_memory();

  const Replay& replay_;
  const KernelInfo& kernel_;
  Memory& memory_;
  ByteSet& defined_;
  LaunchFootprint& footprint_;
  std::vector<std::uint64_t> blocks_;  ///< that are run; none: all
  std::uint64_t limit_ = 0;            ///< warp instructions of a run
  std::uint64_t spent_ = 0, explained_from_ = 0;
  std::optional<Fault> fault_;  ///< of the launch, as it was
  std::vector<BlankRead> reads_;
  Trace trace_;
  std::vector<Arrival> arrivals_;
  Bytes undefined_, padding_;
  Bytes by_zeros_;  ///< of the undefined ones, those that differ with zeros,
  Bytes copied_;    ///< and are then zeros themselves
};

}  // namespace scanlab::vgpu
