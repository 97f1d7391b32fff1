#include "vgpu/checks/cost/assumptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "vgpu/checks/finding.hpp"

namespace scanlab::vgpu {

namespace {

/// "scan.cu:27", or the name of a call whose line is not known.
std::string name_of(const SourcePlace& place) {
  if (place.line != 0) return place_text(place);
  return place.function.empty() ? "a line of the program" : place.function;
}

/// What the line of a breach does; those with a sentence of another form are not here.
constexpr std::pair<Breach::What, std::string_view> what_a_line_does[] = {
    {Breach::What::element, "looks at what an element is, and does not only add"},
    {Breach::What::unwritten,
     "computes with what nobody has written, or what a lane gives that takes no part in a shuffle"},
    {Breach::What::values, "computes with more different values than are compared with the elements"},
    {Breach::What::failed_call, "fails, and whether it does so on every device is not known"},
    {Breach::What::overlap, "copies between places of the device that overlap, which CUDA leaves open"},
    {Breach::What::misnamed_copy,
     "copies between places of the device by a kind that calls one of them the host's, which CUDA leaves open"},
    {Breach::What::clock, "reads a clock, or a counter of the machine, which differs from run to run"},
    {Breach::What::place,
     "asks a special register (%smid, %warpid, %nsmid …) where it runs, which differs between runs or devices"},
    {Breach::What::active_lanes, "asks which lanes are active at that moment, which no order of warps decides"},
    {Breach::What::barrier_state, "asks how far a barrier object is, by more than a plain loop that waits for it"},
    {Breach::What::heap_place, "calls malloc() in a kernel, and an order of threads decides where that finds room"},
    {Breach::What::discarded, "discards memory, after which nobody knows what it holds"},
    {Breach::What::absent_lane, "shuffles values from lanes that take no part in it, which are undefined"},
    {Breach::What::zero_divisor, "divides an integer by zero, whose result PTX leaves open"},
    {Breach::What::stack,
     "needs a stack whose depth only the run decides (recursion, alloca), for which a GPU may have too little room"},
    {Breach::What::split_barrier, "is a barrier to which not all lanes of a warp come together, as PTX asks"},
    {Breach::What::unequal_masks, "waits for lanes whose masks are not the same, which PTX leaves open"},
    {Breach::What::open_barrier,
     "uses a barrier in a way that PTX leaves open: threads name different counts or operations, or an object is set "
     "up twice"},
    {Breach::What::open_form, "has an instruction whose result PTX leaves open for these operands"},
    {Breach::What::approximation,
     "has an instruction that approximates (approx, full), of whose result PTX gives only the accuracy"},
    {Breach::What::opaque_bits, "uses bits that PTX leaves open, those of a cache policy"},
    {Breach::What::contraction,
     "makes a product that a sum takes, and PTX leaves open whether the two are rounded once or twice (__fmul_rn and "
     "__fadd_rn say it)"},
    {Breach::What::lost_carry, "adds a carry, which PTX keeps only in straight code, without branches and calls"},
    {Breach::What::blank, "uses a variable that the code before it does not always give a value"},
    {Breach::What::barrier_bits,
     "accesses a barrier object (an mbarrier), whose bits PTX leaves open, as if it were plain memory"},
    {Breach::What::lane_order,
     "changes one place by an atomic of several lanes of a warp, in one of the orders that they may take"},
    {Breach::What::lane_exchange, "exchanges values between lanes of a warp by atomic or volatile accesses"},
    {Breach::What::shared_order,
     "exchanges values between threads of a block by atomic or volatile accesses to shared memory"},
    {Breach::What::barrier_order,
     "comes to a barrier at which not always the same threads meet, so that their order may decide"},
    {Breach::What::warp_order, "relies on a shuffle or a vote to order memory between lanes, which __syncwarp() does"},
    {Breach::What::host_exchange, "uses memory that the host uses too, while nothing tells the host that this is done"},
    {Breach::What::host_function, "gives the device a function of the host, which runs beside the program"},
    {Breach::What::unwritten_read, "reads what nobody has written"},
    {Breach::What::read_only,
     "reads by a read-only load (__ldg, const and __restrict__) what the same launch may write"},
};
constexpr std::size_t with_other_forms = 4;  // host, unwritten_copy, work_order, mistake
static_assert(std::size(what_a_line_does) + with_other_forms == static_cast<std::size_t>(Breach::What::mistake) + 1);

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
  const auto* const row = std::ranges::find(what_a_line_does, what, &std::pair<What, std::string_view>::first);
  return fmt::format("{} {}", name_of(where), row->second);
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
