#include "vgpu/checks/uninitialised/trial.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace scanlab::vgpu {
namespace {

/// Warp instructions that one run may take, in launches whose blocks can be run one by one: of more blocks than that
/// allows, some spread over the grid stand for all.
constexpr std::uint64_t most_in_a_run = 20'000'000;
/// And those for finding out where a value comes from, in all.
constexpr std::uint64_t most_to_explain = 40'000'000;
/// Arrays that are reported, of those in which a launch leaves undefined values.
constexpr std::size_t most_reported_arrays = 4;

/// Large as a number of any type, so that it shows through a maximum, a comparison or a sum: a float of 1e36, a half of
/// 50000, an int of two thousand million; and as an address nowhere.
std::byte random_byte(std::uint64_t address, std::uint64_t seed) {
  std::uint64_t x = (address / 2 + seed * 0x9E3779B97F4A7C15ull + 1) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 31) * 0x94D049BB133111EBull;
  x ^= x >> 29;
  return static_cast<std::byte>(address % 2 ? 0x78 | (x >> 8 & 3) : x & 0xFF);
}

bool has(const Trial::Bytes& bytes, Address address) {
  const std::uint64_t from = address - global_window, k = from % page_bytes;
  const auto page = bytes.find(from / page_bytes);
  return page != bytes.end() && page->second[k / 64] >> k % 64 & 1;
}

void add(Trial::Bytes& bytes, Address address) {
  const std::uint64_t from = address - global_window, k = from % page_bytes;
  bytes[from / page_bytes][k / 64] |= std::uint64_t{1} << k % 64;
}

/// By ascending address, until visit(address) is false.
template <class Visit>
void for_each_byte(const Trial::Bytes& bytes, Visit visit) {
  for (const auto& [number, bits] : bytes)
    for (std::uint64_t word = 0; word < bits.size(); ++word)
      for (std::uint64_t b = bits[word]; b; b &= b - 1) {
        const auto bit = static_cast<std::uint64_t>(std::countr_zero(b));
        if (!visit(global_window + number * page_bytes + word * 64 + bit)) return;
      }
}

/// Evenly spaced ones, with the first and the last.
void thin_out(std::vector<std::uint64_t>& blocks, std::size_t most) {
  if (blocks.size() <= most) return;
  if (most < 2) return blocks.resize(1);
  std::vector<std::uint64_t> kept;
  for (std::size_t k = 0; k < most; ++k) kept.push_back(blocks[k * (blocks.size() - 1) / (most - 1)]);
  blocks = std::move(kept);
}

}  // namespace

Trial::Trial(const Replay& replay, const KernelInfo& kernel, ByteSet& defined, LaunchFootprint& footprint,
             std::vector<std::uint64_t> blocks)
    : replay_(replay),
      kernel_(kernel),
      memory_(replay.memory()),
      defined_(defined),
      footprint_(footprint),
      blocks_(std::move(blocks)) {
  const std::uint64_t taken = replay.warp_instructions();
  const bool is_whole = footprint.blocks_work_together();
  const std::uint64_t of_one = is_whole ? taken : taken / kernel.grid.count() + 1;
  if (of_one > most_in_a_run) return;
  if (is_whole)
    blocks_.clear();
  else
    thin_out(blocks_, most_in_a_run / of_one);
  limit_ = of_one * std::max<std::size_t>(blocks_.size(), 1);
  // Blocks differ; and with other values they may do more.
  limit_ = 4 * limit_ + 100'000;
}

std::byte Trial::filled_with(Filler filler, const BlankRead& read, std::uint32_t k) {
  const Address address = read.address + k;
  switch (filler) {
    case Filler::zeros:
      return std::byte{0};
    case Filler::numbers:
      return random_byte(address, read.block);
    case Filler::ones:
      return std::byte{k == 0};
    case Filler::left_over: {
      const std::uint64_t from = address - global_window;
      const PageJournal::Page* const launch = footprint_.before().find(from / page_bytes);  // as the launch has left it
      return launch ? launch->bytes[from % page_bytes] : *memory_.host(address);
    }
  }
  return {};
}

std::optional<Fault> Trial::once(Rerun& rerun, const Variation& variation, const std::vector<std::uint64_t>& blocks) {
  const auto fill = [&](const BlankRead& read, std::byte* at) {
    for (std::uint32_t k = 0; k < read.bytes; ++k)
      if (read.is_unwritten(k)) at[k] = filled_with(variation.filler, read, k);
  };
  std::unordered_map<std::uint64_t, std::vector<const BlankRead*>> of_block;
  for (const BlankRead* read : variation.reads) {
    if (read->space == ptx::StateSpace::shared) {
      of_block[read->block].push_back(read);
      continue;
    }
    const Address from = read->address - global_window;
    rerun.journal().save(from / page_bytes);
    rerun.journal().save((from + read->bytes - 1) / page_bytes);
    fill(*read, memory_.host(read->address));
  }
  Replay::Run what;
  what.observer = &rerun;
  what.blocks = blocks;
  what.max_warp_instructions = limit_;
  what.prepare_shared = [&](std::uint64_t block, std::span<std::byte> window) {
    if (const auto found = of_block.find(block); found != of_block.end())
      for (const BlankRead* read : found->second) fill(*read, window.data() + read->address);
  };
  Replay::Result result = replay_.run(what);
  spent_ += result.warp_instructions;
  rerun.journal().swap();
  return std::move(result.fault);
}

void Trial::run() {
  if (!limit_) return;
  const Memory::Seclusion alone(memory_);
  struct Before {
    PageJournal& journal;
    explicit Before(PageJournal& pages) : journal(pages) { journal.swap(); }
    ~Before() { journal.swap(); }
  } const before(footprint_.before());

  Rerun as_it_was = make_rerun();
  as_it_was.record = &trace_;
  as_it_was.blank_reads = &reads_;
  fault_ = once(as_it_was, {}, blocks_);
  if (reads_.empty() || (fault_ && !replay_.fault())) return;
  std::optional<ControlDifference> control;
  for (const Filler filler : {Filler::zeros, Filler::numbers, Filler::ones, Filler::left_over}) {
    const Variation all = all_with(filler);
    if (is_for_flags(filler) && (control || all.reads.empty())) break;
    Rerun varied = make_rerun();
    varied.compare_with = &trace_;
    std::optional<Fault> other = once(varied, all, blocks_);
    if (!control && varied.difference())
      control = {filler, varied.difference(), {}};
    else if (!control && is_another(other))
      control = {filler, {}, std::move(other)};
    if (!is_for_flags(filler)) compare_memory(as_it_was, varied, filler);
  }
  find_padding();
  explained_from_ = spent_;
  if (control) {
    // What else differs follows from it.
    undefined_.clear();
    explain(*control);
  } else if (fault_) {
    undefined_.clear();
  } else {
    explain_memory();
  }
}

Trial::Variation Trial::all_with(Filler filler) const {
  Variation all{{}, filler};
  for (const BlankRead& read : reads_)
    if (is_filled_with(filler, read)) all.reads.push_back(&read);
  return all;
}

bool Trial::is_another(const std::optional<Fault>& fault) const {
  return fault && (!fault_ || fault->headline != fault_->headline || fault->details != fault_->details);
}

void Trial::compare_memory(Rerun& as_it_was, Rerun& varied, Filler filler) {
  const auto compare = [&](std::uint64_t number) {
    const PageJournal::Page* const a = as_it_was.journal().find(number);
    if (!a) return;
    const PageJournal::Page* const b = varied.journal().find(number);
    const PageJournal::Page* const launch = footprint_.before().find(number);  // as the launch has left it
    const std::byte* const now = memory_.host(global_window + number * page_bytes);
    const std::byte *const of_a = a->bytes, *const of_b = b ? b->bytes : now;
    if (std::memcmp(of_a, of_b, page_bytes) == 0) return;
    for (std::uint64_t k = 0; k < page_bytes; ++k) {
      if (of_a[k] == of_b[k] || !(a->stored[k / 64] >> k % 64 & 1)) continue;
      // Another block may have stored there since.
      if (of_a[k] != (launch ? launch->bytes : now)[k]) continue;
      undefined_[number][k / 64] |= std::uint64_t{1} << k % 64;
      if (filler != Filler::zeros) continue;
      by_zeros_[number][k / 64] |= std::uint64_t{1} << k % 64;
      if (of_a[k] == poison && of_b[k] == std::byte{0}) copied_[number][k / 64] |= std::uint64_t{1} << k % 64;
    }
  };
  for (std::size_t k = 0; k < as_it_was.journal().size(); ++k) compare(as_it_was.journal().page(k).number);
}

/// The padding of structs is copied with them, and unwritten as it is: a few bytes after others that are defined, and
/// that again and again. An array of which every second element is unwritten looks the same.
void Trial::find_padding() {
  constexpr std::uint64_t largest_padding = 15, largest_struct = 64;
  struct Gap {
    Address begin, end;
  };
  std::map<Address, std::vector<Gap>> of_array;  // by base
  const auto is_defined = [&](Address address) {
    const std::uint64_t from = address - global_window, k = from % page_bytes;
    const PageJournal::Page* const page = footprint_.before().find(from / page_bytes);
    return page ? page->defined[k / 64] >> k % 64 & 1 : defined_.has(address);
  };
  const auto end_run = [&](Address begin, Address end) {
    const Allocation* const array = memory_.find(begin, end - begin);
    if (!array || end - begin > largest_padding || begin == array->base || !is_defined(begin - 1)) return;
    for (Address at = begin; at < end; ++at)
      if (!has(copied_, at)) return;
    of_array[array->base].push_back({begin, end});
  };
  Address begin = 0, end = 0;
  for_each_byte(undefined_, [&](Address address) {
    if (address != end) {
      if (end != begin) end_run(begin, end);
      begin = address;
    }
    end = address + 1;
    return true;
  });
  if (end != begin) end_run(begin, end);
  for (const auto& [base, gaps] : of_array) {
    if (gaps.size() < 2 && memory_.find(base, 1)->size > largest_struct) continue;
    for (const Gap& gap : gaps)
      for (Address at = gap.begin; at < gap.end; ++at) add(padding_, at);
  }
}

/// A read of the same element by the thread that does something with it, if there is one.
BlankRead Trial::by_thread(const BlankRead& read, std::uint64_t block, std::uint32_t thread) {
  std::vector<BlankRead> reads;
  Rerun rerun = make_rerun();
  rerun.blank_reads = &reads;
  rerun.only = &read;
  once(rerun, {}, blocks_);
  const auto found =
      std::ranges::find_if(reads, [&](const BlankRead& r) { return r.block == block && r.thread == thread; });
  return found == reads.end() ? read : *found;
}

/// The earliest read whose element makes the difference, when on the way from one run to the other those before it have
/// changed already: shows(variation, blocks) says whether it is there.
template <class Shows>
const BlankRead& Trial::find_source(std::uint64_t block, std::uint32_t thread, Filler filler, Start from, Shows shows) {
  std::vector<const BlankRead*> candidates;
  for (const BlankRead& read : reads_)
    if ((blocks_.empty() || read.block == block) && is_filled_with(filler, read)) candidates.push_back(&read);
  const std::vector<std::uint64_t> blocks = blocks_.empty() ? blocks_ : std::vector<std::uint64_t>{block};
  std::size_t without = 0, with = candidates.size();
  while (with - without > 1 && spent_ - explained_from_ < most_to_explain) {
    const std::size_t middle = without + (with - without) / 2;
    const auto at = candidates.begin() + static_cast<std::ptrdiff_t>(middle);
    Variation some{{}, filler};
    if (from == Start::as_it_was)
      some.reads.assign(candidates.begin(), at);
    else
      some.reads.assign(at, candidates.end());
    (shows(some, blocks) ? with : without) = middle;
  }
  if (with - without == 1) return *candidates[without];
  // It would take too long: the first read by the same thread, or of the same block, is a good guess.
  const auto of_thread = [&](const BlankRead& r) { return r.block == block && r.thread == thread; };
  if (const auto found = std::ranges::find_if(reads_, of_thread); found != reads_.end()) return *found;
  const auto found = std::ranges::find(reads_, block, &BlankRead::block);
  return found != reads_.end() ? *found : reads_.front();
}

std::uint64_t Trial::block_of(const Fault& fault) const {
  return fault.block[0] + (fault.block[1] + std::uint64_t{fault.block[2]} * kernel_.grid.y) * kernel_.grid.x;
}

void Trial::explain(const ControlDifference& control) {
  Arrival arrival;
  if (control.fault) {
    const Fault& fault = *control.fault;
    arrival.at = Arrival::At::address;
    arrival.fault = fault;
    arrival.block = block_of(fault);
    arrival.from = find_source(arrival.block, ~0u, control.filler, Start::as_it_was,
                               [&](const Variation& some, const auto& blocks) {
                                 Rerun rerun = make_rerun();
                                 return is_another(once(rerun, some, blocks));
                               });
    arrivals_.push_back(std::move(arrival));
    return;
  }
  const Rerun::Difference& d = *control.difference;
  const std::optional<Event>& expected = d.expected;
  Mask lanes = d.got.lanes;
  arrival.at = d.got.kind == Event::Kind::branch ? Arrival::At::branch : Arrival::At::address;
  if (expected && expected->lanes != d.got.lanes) {
    // A predicate that keeps lanes from the instruction, or from what comes before it.
    arrival.at = Arrival::At::branch;
    lanes = expected->lanes ^ d.got.lanes;
  } else if (expected && expected->kind == Event::Kind::branch && d.got.kind == Event::Kind::branch) {
    lanes = static_cast<Mask>(expected->what ^ d.got.what);
  } else if (expected && expected->kind == Event::Kind::access && d.got.kind == Event::Kind::access) {
    Rerun probe = make_rerun();
    probe.look_at = d.place;
    once(probe, {}, blocks_);
    const Mask differ = lanes_where(lanes, [&](unsigned l) { return probe.addresses()[l] != d.addresses[l]; });
    if (differ) lanes = differ;
  }
  arrival.block = d.place.block;
  arrival.line = d.got.line;
  arrival.thread = d.place.warp * warp_size + first_lane(lanes);
  // As long as one of several elements leads to the fault, there is one.
  const Start start = !expected && fault_ ? Start::filled : Start::as_it_was;
  arrival.from =
      find_source(arrival.block, arrival.thread, control.filler, start, [&](const Variation& some, const auto& blocks) {
        Rerun rerun = make_rerun();
        rerun.compare_with = &trace_;
        once(rerun, some, blocks);
        const auto& other = rerun.difference();
        const bool is_there = other && other->place.block == d.place.block;
        return is_there == (start == Start::as_it_was);
      });
  if (!expected && fault_ && fault_->has_thread && block_of(*fault_) == arrival.block) {
    // There the launch has faulted, where it goes on with something else.
    const unsigned(&t)[3] = fault_->thread;
    arrival.thread = t[0] + (t[1] + t[2] * kernel_.block.y) * kernel_.block.x;
  }
  arrival.from = by_thread(arrival.from, arrival.block, arrival.thread);
  arrivals_.push_back(std::move(arrival));
}

/// From what is there with the filler, not from what was there: one element of poison makes a sum infinite, and then
/// the others seem not to matter.
const BlankRead& Trial::source_of(Address byte, const Rerun::Store& store, Filler filler) {
  const auto value = [&](const Variation& some, const std::vector<std::uint64_t>& blocks) {
    Rerun rerun = make_rerun();
    once(rerun, some, blocks);
    return rerun.journal().at(byte);
  };
  std::optional<std::byte> filled;
  return find_source(store.block, store.thread, filler, Start::filled, [&](const Variation& some, const auto& blocks) {
    if (!filled) filled = value(all_with(filler), blocks);
    return value(some, blocks) != *filled;
  });
}

void Trial::explain_memory() {
  // The first undefined byte of each array; one of padding where there is no other.
  std::vector<Address> bytes;
  const Allocation* last = nullptr;
  for_each_byte(undefined_, [&](Address address) {
    if (last && last->contains(address, 1)) {
      if (has(padding_, bytes.back()) && !has(padding_, address)) bytes.back() = address;
      return true;
    }
    if (bytes.size() == most_reported_arrays) return false;
    last = memory_.find(address, 1);
    if (last) bytes.push_back(address);
    return true;
  });
  if (bytes.empty()) return;
  Rerun probe = make_rerun();
  probe.look_for = bytes;
  once(probe, {}, blocks_);
  for (std::size_t k = 0; k < bytes.size() && k < probe.stores().size(); ++k) {
    if (!probe.stores()[k]) continue;
    const Rerun::Store& store = *probe.stores()[k];
    const Address byte = bytes[k];
    Arrival arrival;
    arrival.block = store.block;
    arrival.line = store.line;
    arrival.thread = store.thread;
    arrival.address = store.address;
    arrival.bytes = store.bytes;
    arrival.from = by_thread(source_of(byte, store, has(by_zeros_, byte) ? Filler::zeros : Filler::numbers),
                             store.block, store.thread);
    arrivals_.push_back(std::move(arrival));
  }
}

}  // namespace scanlab::vgpu
