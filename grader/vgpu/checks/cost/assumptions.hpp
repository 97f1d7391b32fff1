// What a proof by names assumes of a program (AdditionGraph), and where a call breaks it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// An assumption that a call has broken, and the first place of that.
struct Breach {
  enum class What : std::uint8_t {
    element,         ///< it does more with elements than move and add them
    host,            ///< elements, or parts of them, get to the host or are copied by the byte
    unwritten,       ///< it computes with what nobody has written
    unwritten_copy,  ///< such words get to the host
    values,          ///< it computes with more different values than are kept
    failed_call,     ///< a call of the CUDA runtime fails
    overlap,         ///< a copy on the device is between places that overlap
    misnamed_copy,   ///< a copy on the device is of a kind that calls one of the places the host's
    clock,           ///< those of Dependence, in its order
    place,
    active_lanes,
    barrier_state,
    heap_place,
    discarded,
    absent_lane,
    zero_divisor,
    stack,
    split_barrier,
    unequal_masks,
    open_barrier,
    open_form,
    approximation,
    opaque_bits,
    contraction,
    lost_carry,
    blank,
    barrier_bits,    ///< it reads or writes an mbarrier object by other instructions than those of mbarriers
    lane_order,      ///< lanes of a warp change the same place by one atomic, and their order shows
    lane_exchange,   ///< lanes of a warp exchange values by several strong accesses to global memory
    shared_order,    ///< threads of a block exchange values by atomic or volatile accesses to shared memory
    barrier_order,   ///< which threads meet at a barrier for a number of them
    warp_order,      ///< a shuffle or a vote is taken for a barrier of memory
    work_order,      ///< launches or copies that no stream orders meet in memory
    host_exchange,   ///< the host uses memory that work uses which it does not know to be done
    host_function,   ///< a function of the host runs beside it
    unwritten_read,  ///< it reads what nobody has written, whatever becomes of that
    read_only,       ///< it reads by a read-only load what the launch writes
    mistake,         ///< one of the executions has a mistake
  };
  What what = What::element;
  SourcePlace where;       ///< unknown for what the host copies; a call whose line is unknown is named as its function
  SourcePlace other = {};  ///< of the other side of `work_order`
  std::string said = {};   ///< of a mistake: its headline

  /// Whether only the order of threads is in question: the result holds for the orders that were run.
  bool is_of_order() const { return what >= What::lane_order; }
  /// "scan.cu:27 looks at what an element is, and does not only add".
  std::string text() const;
};

/// The break that a dependence is.
constexpr Breach::What what_of(Dependence dependence) {
  return static_cast<Breach::What>(static_cast<int>(Breach::What::clock) + static_cast<int>(dependence));
}

/// The record of one call: values that may be elements are kept until it is asked which were.
class Assumptions {
 public:
  /// Is a word of 32 bits an element's name, or half of one? Asked once for each that was kept.
  using IsElement = std::function<bool(std::uint32_t word)>;
  /// Which place of the learner's an event has.
  using Place = std::uint32_t;

  /// A word that something is computed with.
  void looks_at(std::uint32_t word, Place place) { keep(looks_, word, place); }
  /// A word whose bits get into these words of a result, of which one may be an element again.
  void rearranges(std::uint32_t word, std::uint32_t result, std::uint32_t other, Place place);
  /// Words that leave the device, or of which parts are copied.
  void leave(std::span<const std::byte> bytes);
  void depends(Breach::What what, Place place);

  /// The first of each kind, the most serious first. `places` are those that events were given by number.
  std::vector<Breach> breaches(const IsElement& is_element, const std::vector<SourcePlace>& places) const;

 private:
  static constexpr std::size_t most = 1 << 16;  ///< of a kind that are kept
  static constexpr std::size_t kinds = static_cast<std::size_t>(Breach::What::mistake) + 1;
  using Words = std::unordered_map<std::uint32_t, Place>;

  template <class Known, class Key>
  void keep(Known& known, const Key& key, Place place) {
    if (known.size() < most)
      known.try_emplace(key, place);
    else if (!known.contains(key))
      depends(Breach::What::values, place);
  }

  Words looks_, left_;
  struct Rearranged {
    std::uint32_t word = 0, result = 0, other = 0;
    bool operator==(const Rearranged&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Rearranged& r) const {
      return (r.word * 0x9E37'79B9'7F4A'7C15u ^ r.result) * 0x9E37'79B9'7F4A'7C15u ^ r.other;
    }
  };
  std::unordered_map<Rearranged, Place, Hash> rearranged_;
  bool has_left_more_ = false;       ///< than is kept
  bool has_left_unwritten_ = false;  ///< what nobody has written
  std::array<std::optional<Place>, kinds> first_;
};

}  // namespace scanlab::vgpu
