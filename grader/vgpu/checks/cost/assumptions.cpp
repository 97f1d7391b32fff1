#include "vgpu/checks/cost/assumptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "vgpu/checks/finding.hpp"

namespace scanlab::vgpu {

namespace {

/// "scan.cu:27", or the name of a call whose line is not known.
std::string name_of(const SourcePlace& place) {
  if (place.line != 0) return place_text(place);
  return place.function.empty() ? "a line of the program" : place.function;
}

}  // namespace

std::string Breach::text() const {
  if (what == What::host) return "the host reads elements or copies parts of them, or a kernel prints them";
  if (what == What::unwritten_copy)
    return "the host reads what nobody has written, or what a lane gives that takes no part in a shuffle";
  if (what == What::work_order)
    return other.line == 0 && other.function.empty()
               ? "the order of the streams' work could not be followed"
               : fmt::format("{} and {} use the same memory, and no stream orders the two", name_of(other),
                             name_of(where));
  if (what == What::mistake) return fmt::format("one of the executions has a {}, {}", said, name_of(where));
  const char* does = "";
  switch (what) {
    case What::element:
      does = "looks at what an element is, and does not only add";
      break;
    case What::unwritten:
      does = "computes with what nobody has written, or what a lane gives that takes no part in a shuffle";
      break;
    case What::values:
      does = "computes with more different values than are compared with the elements";
      break;
    case What::failed_call:
      does = "fails, and whether it does so on every device is not known";
      break;
    case What::overlap:
      does = "copies between places of the device that overlap, which CUDA leaves open";
      break;
    case What::misnamed_copy:
      does = "copies between places of the device by a kind that calls one of them the host's, which CUDA leaves open";
      break;
    case What::clock:
      does = "reads a clock, or a counter of the machine, which differs from run to run";
      break;
    case What::place:
      does = "asks a special register (%smid, %warpid, %nsmid …) where it runs, which differs between runs or devices";
      break;
    case What::active_lanes:
      does = "asks which lanes are active at that moment, which no order of warps decides";
      break;
    case What::barrier_state:
      does = "asks how far a barrier object is, by more than a plain loop that waits for it";
      break;
    case What::heap_place:
      does = "calls malloc() in a kernel, and an order of threads decides where that finds room";
      break;
    case What::discarded:
      does = "discards memory, after which nobody knows what it holds";
      break;
    case What::absent_lane:
      does = "shuffles values from lanes that take no part in it, which are undefined";
      break;
    case What::zero_divisor:
      does = "divides an integer by zero, whose result PTX leaves open";
      break;
    case What::stack:
      does =
          "needs a stack whose depth only the run decides (recursion, alloca), for which a GPU may have too little "
          "room";
      break;
    case What::split_barrier:
      does = "is a barrier to which not all lanes of a warp come together, as PTX asks";
      break;
    case What::unequal_masks:
      does = "waits for lanes whose masks are not the same, which PTX leaves open";
      break;
    case What::open_barrier:
      does =
          "uses a barrier in a way that PTX leaves open: threads name different counts or operations, or an object is "
          "set up twice";
      break;
    case What::open_form:
      does = "has an instruction whose result PTX leaves open for these operands";
      break;
    case What::opaque_bits:
      does = "uses bits that PTX leaves open, those of a cache policy";
      break;
    case What::contraction:
      does =
          "makes a product that a sum takes, and PTX leaves open whether the two are rounded once or twice "
          "(__fmul_rn and __fadd_rn say it)";
      break;
    case What::lost_carry:
      does = "adds a carry, which PTX keeps only in straight code, without branches and calls";
      break;
    case What::blank:
      does = "uses a variable that the code before it does not always give a value";
      break;
    case What::barrier_bits:
      does = "accesses a barrier object (an mbarrier), whose bits PTX leaves open, as if it were plain memory";
      break;
    case What::lane_order:
      does = "changes one place by an atomic of several lanes of a warp, in one of the orders that they may take";
      break;
    case What::lane_exchange:
      does = "exchanges values between lanes of a warp by atomic or volatile accesses";
      break;
    case What::shared_order:
      does = "exchanges values between threads of a block by atomic or volatile accesses to shared memory";
      break;
    case What::barrier_order:
      does = "comes to a barrier at which not always the same threads meet, so that their order may decide";
      break;
    case What::warp_order:
      does = "relies on a shuffle or a vote to order memory between lanes, which __syncwarp() does";
      break;
    case What::host_exchange:
      does = "uses memory that the host uses too, while nothing tells the host that this is done";
      break;
    case What::host_function:
      does = "gives the device a function of the host, which runs beside the program";
      break;
    case What::unwritten_read:
      does = "reads what nobody has written";
      break;
    case What::read_only:
      does = "reads by a read-only load (__ldg, const and __restrict__) what the same launch may write";
      break;
    case What::host:
    case What::unwritten_copy:
    case What::work_order:
    case What::mistake:
      break;
  }
  return fmt::format("{} {}", name_of(where), does);
}

void Assumptions::rearranges(std::uint32_t word, std::uint32_t result, std::uint32_t other, Place place) {
  if (word != result && word != other) keep(rearranged_, Rearranged{word, result, other}, place);
}

void Assumptions::leave(std::span<const std::byte> bytes) {
  for (std::size_t k = 0; k + sizeof(std::uint32_t) <= bytes.size(); k += sizeof(std::uint32_t)) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + k, sizeof word);
    if (is_unwritten(word))
      has_left_unwritten_ = true;
    else if (left_.size() < most)
      left_.try_emplace(word, 0);
    else
      has_left_more_ = true;
  }
}

void Assumptions::depends(Breach::What what, Place place) {
  std::optional<Place>& first = first_[static_cast<std::size_t>(what)];
  if (!first) first = place;
}

std::vector<Breach> Assumptions::breaches(const IsElement& is_element, const std::vector<SourcePlace>& places) const {
  std::array<std::optional<Place>, kinds> first = first_;
  const auto note = [&](Breach::What what, Place place) {
    std::optional<Place>& known = first[static_cast<std::size_t>(what)];
    known = known ? std::min(*known, place) : place;
  };
  for (const auto& [word, place] : looks_)
    if (is_unwritten(word))
      note(Breach::What::unwritten, place);
    else if (is_element(word))
      note(Breach::What::element, place);
  for (const auto& [bits, place] : rearranged_)
    if (is_unwritten(bits.word))
      note(Breach::What::unwritten, place);
    else if (is_element(bits.word) && !is_element(bits.result) && !is_element(bits.other))
      note(Breach::What::element, place);
  if (has_left_more_ || std::ranges::any_of(left_, [&](const auto& left) { return is_element(left.first); }))
    note(Breach::What::host, 0);
  if (has_left_unwritten_) note(Breach::What::unwritten_copy, 0);
  std::vector<Breach> breaches;
  for (std::size_t k = 0; k < kinds; ++k) {
    const auto what = static_cast<Breach::What>(k);
    const bool has_place = what != Breach::What::host && what != Breach::What::unwritten_copy;
    if (first[k]) breaches.push_back({what, has_place ? places[*first[k]] : SourcePlace{}});
  }
  return breaches;
}

}  // namespace scanlab::vgpu
