#include "vgpu/core/memory/mbarrier.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/sleeping.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

constexpr std::uint32_t most_arrivals = (1u << 20) - 1;  // PTX's limit of a count

/// A barrier object, and the state that an arrival returns: PTX leaves the bits open. `mark` distinguishes an object
/// from poisoned, zeroed or overwritten memory.
struct Object {
  static constexpr std::uint64_t valid = 0xB, phase_mask = (1 << 20) - 1;
  std::uint64_t pending : 20 = 0;   ///< arrivals that the current phase still waits for
  std::uint64_t expected : 20 = 0;  ///< arrivals of each later phase
  std::uint64_t phase : 20 = 0;     ///< of which PTX sees the lowest bit
  std::uint64_t mark : 4 = 0;
};
static_assert(sizeof(Object) == 8);

/// The object of one lane, in host memory. Objects are read and written through copies, as all of device memory.
class Place {
 public:
  Place(Warp& w, const Inst* i, unsigned lane) : address(address_of(w, i, lane)), lane_(lane) {
    host_ = check_lane(w, StateSpace::shared, AccessKind::atomic, lane, address, sizeof(Object));
  }
  /// In shared memory.
  static std::uint64_t address_of(Warp& w, const Inst* i, unsigned lane) {
    w.pc = i;
    const auto form = std::bit_cast<MbarrierForm>(i->aux);
    std::uint64_t at = 0;
    if (form.address_is_64)
      at = w.lanes<std::uint64_t>(i->op[7])[lane] + i->imm;
    else
      at = static_cast<std::uint32_t>(w.lanes<std::uint32_t>(i->op[7])[lane] + i->imm);
    if (!form.is_generic) return at;
    const Resolved r = resolve(at);
    if (r.space != StateSpace::shared)
      raise(Fault::Kind::trap, lane, "an mbarrier object outside shared memory", "declare it __shared__");
    return r.address;
  }
  void init(std::uint32_t count) const {
    Object o;
    o.pending = o.expected = count;
    o.mark = Object::valid;
    write(o);
  }
  bool is_object() const {
    Object o;
    std::memcpy(&o, host_, sizeof o);
    return o.mark == Object::valid;
  }
  /// The object; it has to be one.
  Object read() const {
    Object o;
    std::memcpy(&o, host_, sizeof o);
    if (o.mark != Object::valid)
      raise(Fault::Kind::trap, lane_, "an mbarrier object that is not initialised",
            "one thread initialises it, init(&barrier, count), and a __syncthreads() lets the others see it");
    return o;
  }
  void write(const Object& o) const { std::memcpy(host_, &o, sizeof o); }

  const std::uint64_t address;

 private:
  unsigned lane_;
  std::byte* host_ = nullptr;
};

std::uint32_t count_of(Warp& w, const Inst* i, unsigned lane) {
  const std::uint32_t count = w.lanes<std::uint32_t>(i->op[1])[lane];
  if (count == 0 || count > most_arrivals)
    raise(Fault::Kind::trap, lane, "a count of an mbarrier that is 0 or above 1048575 (2^20 - 1)");
  return count;
}

const Inst* invalidate(Warp& w, const Inst* i);

enum class Copies : std::uint8_t { none, arrive };

/// `phase`: at which each lane arrives, or which it saw complete.
void report(Warp& w, const Inst* i, Mask mask, const std::uint64_t* address, AccessKind kind, Access::Order order,
            const std::uint64_t* phase = nullptr, Copies copies = Copies::none) {
  if (!is_observed(w)) return;
  Access a;
  a.phase = phase;
  a.is_async = copies == Copies::arrive;
  a.mbarrier = i->run == invalidate ? Access::Mbarrier::ends : Access::Mbarrier::uses;
  a.actor = actor_of(w, i);
  a.space = StateSpace::shared;
  a.mask = mask;
  a.bytes = sizeof(Object);
  a.address = address;
  a.order = order;
  a.scope = Access::Scope::block;
  for (Observer* o : w.block->grid->observers) kind == AccessKind::atomic ? o->atomic(a) : o->store(a);
}

/// Lanes set up their objects, or end their lives: act(lane, place).
template <class Act>
const Inst* store_objects(Warp& w, const Inst* i, Act act) {
  Addresses at;
  for (const unsigned l : lanes_in(w.active)) {
    const Place place(w, i, l);
    at.of[l] = place.address;
    act(l, place);
  }
  ++w.block->grid->epoch;
  report(w, i, w.active, at.of, AccessKind::write, Access::Order::weak);
  return i + 1;
}

/// PTX leaves open what becomes of an object that is one already, and of a look at a phase that is neither the current
/// one nor the one before.
void report_open(Warp& w, const Inst* i, Mask mask) {
  if (mask && is_observed(w))
    for (Observer* o : w.block->grid->observers) o->depends(actor_of(w, i), mask, Dependence::open_barrier);
}

const Inst* init(Warp& w, const Inst* i) {
  report_open(w, i, lanes_where(w.active, [&](unsigned l) { return Place(w, i, l).is_object(); }));
  return store_objects(w, i, [&](unsigned l, const Place& place) { place.init(count_of(w, i, l)); });
}

const Inst* invalidate(Warp& w, const Inst* i) {
  return store_objects(w, i, [&](unsigned, const Place& place) {
    place.read();
    place.write({});
  });
}

/// Lanes arrive at their objects: act(lane, object) says what that changes.
template <class Act>
const Inst* arrive_at_objects(Warp& w, const Inst* i, Copies copies, Act act) {
  Addresses at, phase;
  for (const unsigned l : lanes_in(w.active)) {
    const Place place(w, i, l);
    Object o = place.read();
    at.of[l] = place.address;
    phase.of[l] = o.phase + 1u;
    act(l, o);
    place.write(o);
  }
  report(w, i, w.active, at.of, AccessKind::atomic, Access::Order::release, phase.of, copies);
  return i + 1;
}

/// `count` arrivals. The last one of a phase begins the next.
void arrive(Object& o, std::uint32_t count, unsigned lane) {
  if (count > o.pending)
    raise(Fault::Kind::trap, lane, "more arrivals at an mbarrier than the phase waits for",
          "the count given to init() is that of the threads that arrive in each phase");
  o.pending -= count;
  if (o.pending != 0) return;
  ++o.phase;
  o.pending = o.expected;
}

enum class Completion : std::uint8_t { allowed, forbidden };

/// mbarrier.arrive and arrive_drop: the result is the object before.
template <Completion completion>
const Inst* arrive(Warp& w, const Inst* i) {
  const auto form = std::bit_cast<MbarrierForm>(i->aux);
  ++w.block->grid->epoch;
  return arrive_at_objects(w, i, Copies::none, [&](unsigned l, Object& o) {
    w.lanes<std::uint64_t>(i->op[0])[l] = std::bit_cast<std::uint64_t>(o);
    const std::uint32_t count = count_of(w, i, l);
    if (completion == Completion::forbidden && count == o.pending)
      raise(Fault::Kind::trap, l, "mbarrier.arrive.noComplete ends a phase, which it must not");
    if (form.drops) {
      if (count > o.expected) raise(Fault::Kind::trap, l, "more threads leave an mbarrier than it expects");
      o.expected -= count;
    }
    arrive(o, count, l);
  });
}

/// cp.async.mbarrier.arrive.noinc: an arrival once the thread's copies are complete, which they are when issued.
const Inst* arrive_after_copies(Warp& w, const Inst* i) {
  ++w.block->grid->epoch;
  return arrive_at_objects(w, i, Copies::arrive, [](unsigned l, Object& o) { arrive(o, 1, l); });
}

/// The same without .noinc: the arrival is expected beyond the object's count, so that together nothing changes.
const Inst* touch_after_copies(Warp& w, const Inst* i) {
  return arrive_at_objects(w, i, Copies::arrive, [](unsigned, Object&) {});
}

const Inst* pending_count(Warp& w, const Inst* i) {
  std::uint32_t* count = w.lanes<std::uint32_t>(i->op[0]);
  const std::uint64_t* state = w.lanes<std::uint64_t>(i->op[1]);
  for (const unsigned l : lanes_in(w.active)) count[l] = std::bit_cast<Object>(state[l]).pending;
  return i + 1;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

/// Looks in a row that find a phase unfinished while no thread writes, before the lanes count as waiting in vain.
constexpr std::uint32_t most_looks = 1024;

enum class By : std::uint8_t { state, parity };

/// mbarrier.test_wait: true when the phase of the state, or the one with that parity, is complete.
template <By by>
const Inst* test_wait(Warp& w, const Inst* i) {
  Addresses at, phase;
  Mask complete = 0, old = 0;
  std::optional<Place> place;
  Object o;
  for (const unsigned l : lanes_in(w.active)) {
    at.of[l] = Place::address_of(w, i, l);
    if (!place || place->address != at.of[l]) o = place.emplace(w, i, l).read();  // mostly, all wait for the same
    bool is_complete;
    if constexpr (by == By::parity) {
      is_complete = ((w.lanes<std::uint32_t>(i->op[1])[l] ^ o.phase) & 1u) != 0;
      phase.of[l] = o.phase;  // the one before
    } else {
      const auto asked = std::bit_cast<Object>(w.lanes<std::uint64_t>(i->op[1])[l]).phase;
      is_complete = asked != o.phase;
      old |= Mask{((o.phase - asked) & Object::phase_mask) > 1} << l;
      phase.of[l] = asked + 1u;
    }
    complete |= Mask{is_complete} << l;
  }
  report_open(w, i, old);
  if (complete) report(w, i, complete, at.of, AccessKind::atomic, Access::Order::acquire, phase.of);
  if (complete != w.active) {
    if (complete == 0 && waits_in_vain(w, most_looks)) return set_aside_until_write(w, i);
    note_poll(w);
  }
  write_predicate(w, i->op[0], complete);
  return i + 1;
}

}  // namespace

bool is_mbarrier_wait(const Inst* i) {
  return i->run == test_wait<By::state> || i->run == test_wait<By::parity>;
}

std::optional<MbarrierSelection> select_mbarrier(const ptx::Instruction& in) {
  // The words without those that say where the object lies, and without the order that PTX has anyway.
  const bool waits = in.has("test_wait");
  std::string words = in.opcode;
  for (const std::string& m : in.modifiers)
    if (m != "shared" && m != "shared::cta" && m != "cta" && m != (waits ? "acquire" : "release")) words += "." + m;
  struct Form {
    std::string_view words;
    Handler run;
    bool drops;
    std::string_view operands;  ///< r: destination, a: address, s: 32-bit source, t: a state
  };
  static constexpr Form forms[] = {
      {"mbarrier.init.b64", init, false, "as"},
      {"mbarrier.inval.b64", invalidate, false, "a"},
      {"mbarrier.arrive.b64", arrive<Completion::allowed>, false, "ra"},
      {"mbarrier.arrive.noComplete.b64", arrive<Completion::forbidden>, false, "ras"},
      {"mbarrier.arrive_drop.b64", arrive<Completion::allowed>, true, "ra"},
      {"mbarrier.arrive_drop.noComplete.b64", arrive<Completion::forbidden>, true, "ras"},
      {"mbarrier.test_wait.b64", test_wait<By::state>, false, "rat"},
      {"mbarrier.test_wait.parity.b64", test_wait<By::parity>, false, "ras"},
      {"mbarrier.pending_count.b64", pending_count, false, "rt"},
      {"cp.async.mbarrier.arrive.b64", touch_after_copies, false, "a"},
      {"cp.async.mbarrier.arrive.noinc.b64", arrive_after_copies, false, "a"},
  };
  const auto* const form = std::ranges::find(forms, words, &Form::words);
  if (form == std::end(forms) || in.operands.size() != form->operands.size()) return std::nullopt;
  MbarrierSelection s;
  s.run = form->run;
  s.drops = form->drops;
  if (waits) s.result_type = ptx::Type::pred;
  if (form->run == pending_count) s.result_type = ptx::Type::b32;
  for (std::size_t k = 0; k < form->operands.size(); ++k) {
    const char kind = form->operands[k];
    if ((in.operands[k].kind == ptx::Operand::Kind::address) != (kind == 'a')) return std::nullopt;
    (kind == 'a' ? s.address : kind == 'r' ? s.result : s.source) = static_cast<int>(k);
    if (kind == 't') s.type = ptx::Type::b64;
  }
  return s;
}

}  // namespace scanlab::vgpu
