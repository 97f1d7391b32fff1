#include "vgpu/checks/uninitialised/uninitialised.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

/// A kernel with so many trials in vain gets fewer of them, where they are expensive.
constexpr unsigned most_in_vain = 8;
constexpr std::uint64_t expensive = 1'000'000;  // warp instructions

/// "element 5 of cudaMalloc #3 (4096 bytes)"
std::string element_of(const Allocation& a, std::uint64_t element, std::uint64_t bytes) {
  return a.size == bytes ? a.label : fmt::format("element {} of {}", element, a.label);
}

}  // namespace

Uninitialised::Uninitialised(Memory& memory) : memory_(memory), footprint_(memory, defined_) {
  memory_.listen(this);
}

Uninitialised::~Uninitialised() {
  memory_.ignore(this);
}

void Uninitialised::forget(Address address, std::uint64_t bytes) {
  for (ByteSet* const set : sets_) set->remove(address, bytes);
  // Whoever has put something there looks at it by other ways.
  if (const Allocation* const a = memory_.find(address, 1)) fresh_[a->base].is_done = true;
}

// --- the host --------------------------------------------------------------------------------------------------------

void Uninitialised::allocated(const Allocation& a) {
  if (a.on_host)
    defined_.add(a.base, a.size);
  else
    fresh_[a.base] = {launches_, false};
}

void Uninitialised::shared(const Allocation& a) {
  if (a.on_host || a.size == 0 || defined_.has_all(a.base, a.size))
    defined_.add(a.base, a.size);
  else
    managed_[a.base] = {a.base + a.size, true};
}

void Uninitialised::take_used_pages() {
  for (auto next = managed_.begin(); next != managed_.end();) {
    const auto here = next++;
    const auto& [base, memory] = *here;
    const Address begin = base / page_bytes * page_bytes;
    std::vector<unsigned char> is_used(static_cast<std::size_t>(round_up(memory.end - begin, page_bytes) / page_bytes));
    const bool is_known = mincore(memory_.host(begin), is_used.size() * page_bytes, is_used.data()) == 0;
    std::size_t used = 0;
    for (std::size_t k = 0; k < is_used.size(); ++k) {
      if (is_known && !(is_used[k] & 1)) continue;
      ++used;
      const Address first = std::max(base, begin + k * page_bytes);
      defined_.add(first, std::min(memory.end, begin + (k + 1) * page_bytes) - first);
    }
    if (used == is_used.size())
      managed_.erase(here);
    else if (used > 0)
      here->second.is_untouched = false;
  }
}

void Uninitialised::released(const Allocation& a) {
  for (ByteSet* const set : sets_) set->forget(a.base, a.size);
  footprint_.forget(a.base, a.size);
  origins_.forget(a.base, a.size);
  fresh_.erase(a.base);
  managed_.erase(a.base);
}

void Uninitialised::note_copied(Address address, std::uint64_t bytes) {
  if (!unwritten_copied_.empty() || defined_.has_all(address, bytes)) return;
  bool is_unwritten = false;
  for (std::uint64_t at = 0; at < bytes && !is_unwritten; at += 64) {
    const auto count = static_cast<unsigned>(std::min<std::uint64_t>(64, bytes - at));
    const std::uint64_t known = defined_.which(address + at, count) | computed_.which(address + at, count);
    is_unwritten = std::popcount(known) < static_cast<int>(count);
  }
  if (!is_unwritten) return;  // kernels have stored it
  if (const Allocation* const array = memory_.find(address, 1)) unwritten_copied_ = array->label;
}

void Uninitialised::copied(Address to, Address from, std::uint64_t bytes) {
  take_used_pages();
  note_copied(from, bytes);
  for (ByteSet* const set : sets_) set->copy(to, from, bytes);
  origins_.copy(to, from, bytes);
}

void Uninitialised::read(Address address, std::uint64_t bytes) {
  take_used_pages();
  note_copied(address, bytes);
  report_unwritten(address, bytes);
  if (origins_.empty()) return;
  const std::optional<Address> first = first_undefined(address, bytes, Padding::is_ignored);
  Origin* const origin = first ? origins_.find(*first) : nullptr;
  if (origin && !std::exchange(origin->was_reported, true)) findings_.add(origin->finding);
}

/// Right programs copy more than they have written: results have room for the most that there may be, structs have
/// padding. So this is reported in two cases only. Nothing is written: of the whole copy, or of the whole allocation
/// where that is larger than the pieces in which copies travel. Or elements are written in part: no word of four bytes
/// has more than two that are written, in at least two words, or in a copy of one number; the padding of a struct is
/// less than that.
void Uninitialised::report_unwritten(Address address, std::uint64_t bytes) {
  constexpr std::uint64_t whole_copy = 1u << 20, number = 8, word = 4;
  const Allocation* const array = bytes ? memory_.find(address, bytes) : nullptr;
  const auto fresh = array ? fresh_.find(array->base) : fresh_.end();
  // A copy that comes before any kernel measures how fast that is, perhaps.
  if (fresh == fresh_.end() || fresh->second.is_done || fresh->second.launches == launches_) return;
  const bool is_in_pieces = array->size > whole_copy;
  const Address begin = is_in_pieces ? array->base : address, end = begin + (is_in_pieces ? array->size : bytes);
  std::uint64_t touched = 0;
  for (Address at = begin; at < end; at += 64) {
    const auto count = static_cast<unsigned>(std::min<std::uint64_t>(64, end - at));
    // What has been copied as if it were padding is as unwritten as it was there.
    const std::uint64_t written = defined_.which(at, count) | (computed_.which(at, count) & ~padding_.which(at, count));
    if (!written) continue;
    if (is_in_pieces || begin % word) return;
    for (unsigned k = 0; k < count; k += word) {
      const int of_word = std::popcount(written >> k & 0xF);
      if (of_word > 2 || (of_word > 0 && count - k <= 2)) return;
      touched += of_word > 0;
    }
  }
  if (touched == 1 && bytes > number) return;
  fresh->second.is_done = true;
  Finding f;
  f.id = global_id;
  f.kind = "copy";
  f.variable = array->label.substr(0, array->label.find(" #"));
  f.headline = fmt::format("UNINITIALISED: {}, copied to the host", array->label);
  f.parts.emplace_back().does = "cudaMemcpy reads it";
  f.parts.back().is_call = true;
  f.details = {touched ? "of its elements only some bytes have been written, or come from what was"
                       : "nothing of what is copied has ever been written, by a kernel or by a copy"};
  f.advice = touched ? "look at the type through which the kernel writes: it is smaller than an element"
                     : "look at the kernel that should write it: is it launched, with enough threads, and with this "
                       "pointer?";
  findings_.add(std::move(f));
}

std::optional<Finding> Uninitialised::undefined_value(Address address, std::uint64_t bytes) {
  const std::optional<Address> first = first_undefined(address, bytes, Padding::counts);
  const Origin* const origin = first ? origins_.find(*first) : nullptr;
  return origin ? std::optional(origin->finding) : std::nullopt;
}

std::optional<Address> Uninitialised::first_undefined(Address address, std::uint64_t bytes, Padding padding) const {
  for (std::uint64_t at = 0; at < bytes; at += 64) {
    const auto count = static_cast<unsigned>(std::min<std::uint64_t>(64, bytes - at));
    std::uint64_t found = computed_.which(address + at, count) & ~defined_.which(address + at, count);
    if (found && padding == Padding::is_ignored) found &= ~padding_.which(address + at, count);
    if (found) return address + at + static_cast<unsigned>(std::countr_zero(found));
  }
  return {};
}

// --- kernels ---------------------------------------------------------------------------------------------------------

void Uninitialised::kernel_begin(const KernelInfo& kernel) {
  ++launches_;
  take_used_pages();
  kernel_ = kernel;
  generation_ = memory_.generation();
  footprint_.begin(kernel.grid.count());
  repeated_ = RepeatedBlocks(kernel.fast_paths.repeated_blocks);
  suspects_.clear();
}

void Uninitialised::block_begin(std::uint64_t, std::uint32_t slot) {
  if (blocks_.size() <= slot) blocks_.resize(slot + 1);
  ResidentBlock& block = blocks_[slot];
  block.is_suspect = false;
  block.repetition.begin(repeated_);
  if (!block.repetition.is_repeating()) block.shared.begin(kernel_);
}

/// Is the access to shared memory one that an earlier block has made, too, at this point of its work?
bool Uninitialised::is_repeated(ResidentBlock& block, const AccessRun& run, BlockStep::Kind kind) {
  const auto catch_up = [&](std::span<const BlockStep> steps) {
    block.shared.begin(kernel_);
    for (const BlockStep& step : steps)
      if (step.kind == BlockStep::Kind::write) block.shared.write(step.run());
  };
  if (BlockStep::may_be(run.first)) return block.repetition.repeats(catch_up, kind, run);
  block.repetition.part(catch_up);
  return false;
}

void Uninitialised::suspect(const Actor& actor) {
  if (!std::exchange(blocks_[actor.slot].is_suspect, true)) suspects_.push_back(actor.block);
  if (!unwritten_read_) unwritten_read_ = own_place(*kernel_.module, actor.line);
}

void Uninitialised::loads(const AccessRun& run) {
  const Actor& actor = run.first.actor;
  if (run.first.space == ptx::StateSpace::shared) {
    ResidentBlock& block = blocks_[actor.slot];
    if (is_repeated(block, run, BlockStep::Kind::read) || block.shared.has_all(run)) return;
    block.repetition.part();
    suspect(actor);
  } else if (run.first.space == ptx::StateSpace::global) {
    for_each_span(run, [&](Address first, std::uint64_t bytes) {
      footprint_.read(actor.block, first, bytes);
      if (!defined_.has_all(first, bytes)) suspect(actor);
    });
  }
}

void Uninitialised::stores(const AccessRun& run) {
  const Actor& actor = run.first.actor;
  if (run.first.space == ptx::StateSpace::shared) {
    ResidentBlock& block = blocks_[actor.slot];
    if (!is_repeated(block, run, BlockStep::Kind::write)) block.shared.write(run);
  } else if (run.first.space == ptx::StateSpace::global) {
    for_each_span(run, [&](Address first, std::uint64_t bytes) {
      footprint_.write(actor.block, first, bytes);
      defined_.add(first, bytes);
    });
  }
}

void Uninitialised::atomic(const Access& access) {
  load(access);
  store(access);
}

void Uninitialised::may_replay(Replay& replay) {
  // What a kernel allocates would lie elsewhere in another run.
  if (suspects_.empty() || footprint_.is_too_large() || memory_.generation() != generation_) return;
  Patience& patience = patience_[kernel_.name];
  if (patience.pass > 0) {
    --patience.pass;
    return;
  }
  std::ranges::sort(suspects_);
  Trial trial(replay, kernel_, defined_, footprint_, std::move(suspects_));
  suspects_.clear();
  trial.run();
  if (!trial.arrivals().empty()) {
    patience.in_vain = 0;
  } else if (trial.spent() > expensive && ++patience.in_vain > most_in_vain) {
    patience.pass = std::uint64_t{1} << std::min(patience.in_vain - most_in_vain, 20u);
  }
  for (const auto& [number, bits] : trial.undefined()) {
    const auto padding = trial.padding().find(number);
    for (std::uint64_t k = 0; k < ByteSet::words_a_page; ++k) {
      defined_.page(number)[k] &= ~bits[k];
      computed_.page(number)[k] |= bits[k];
      padding_.page(number)[k] &= ~bits[k];
      if (padding != trial.padding().end()) padding_.page(number)[k] |= padding->second[k];
    }
  }
  for (const Trial::Arrival& arrival : trial.arrivals()) {
    if (arrival.at != Trial::Arrival::At::memory) {
      findings_.add(finding_of(arrival));
      continue;
    }
    const Allocation* const array = memory_.find(arrival.address, arrival.bytes);
    if (!array) continue;
    Origin origin;
    origin.begin = array->base;
    origin.end = array->base + array->size;
    origin.finding = finding_of(arrival);
    if (array->shared || array->on_host) {
      // The host reads it without asking, and may write it. Of managed memory it may look at what has been written
      // only: but not where that was nothing.
      const Allocation* const source =
          arrival.from.space == ptx::StateSpace::global ? memory_.find(arrival.from.address, 1) : nullptr;
      const auto unused = source ? managed_.find(source->base) : managed_.end();
      const bool is_unclear = source && source->shared && (unused == managed_.end() || !unused->second.is_untouched);
      if (!is_unclear && first_undefined(array->base, array->size, Padding::is_ignored)) findings_.add(origin.finding);
      defined_.add(array->base, array->size);
    } else {
      origins_.add(std::move(origin));
    }
  }
}

Finding Uninitialised::finding_of(const Trial::Arrival& arrival) {
  using At = Trial::Arrival::At;
  const BlankRead& from = arrival.from;
  const std::string kernel = ptx::source_name(kernel_.name);
  const char* const does = arrival.at == At::branch ? "branch" : arrival.at == At::address ? "access" : "write";
  Finding::Part arrives = part_by(kernel_, does, arrival.line, arrival.thread);
  if (arrival.fault) {
    arrives.where = arrival.fault->where;
    std::ranges::copy(arrival.fault->thread, arrives.thread);
  }
  Finding f;
  const Origin* const earlier = from.space == ptx::StateSpace::global ? origins_.find(from.address) : nullptr;
  if (earlier && computed_.has(from.address)) {
    // What it reads has been stored, but comes from what was never written.
    f = earlier->finding;
    f.details.back() = fmt::format(
        "kernel {} reads what comes from it in {}, and {}", kernel, place_text(own_place(*kernel_.module, from.line)),
        arrival.at == At::memory ? "stores in " + place_text(arrives.where) + " what it makes of it"
                                 : fmt::format("the {} in {} depends on it", does, place_text(arrives.where)));
  } else {
    f = finding_in(kernel_, from.block);
    std::string what;
    if (from.space == ptx::StateSpace::shared) {
      const SharedVariable& array = kernel_.shared[array_at(kernel_, from.address)];
      f.id = shared_id;
      f.variable = array.name;
      f.element = (from.address - array.offset) / from.bytes;
      what = "shared " + array.element_text(*f.element, from.bytes);
      f.advice =
          "give every element that is read a value first, in every thread that should: where there is no input, 0 or "
          "whatever changes no result (identity())";
    } else {
      const Allocation* const array = memory_.find(from.address, from.bytes);
      f.id = global_id;
      f.variable = array ? array->label : "memory";
      f.element = array ? (from.address - array->base) / from.bytes : 0;
      what = array ? element_of(*array, *f.element, from.bytes) : f.variable;
      f.advice =
          array && array->shared
              ? "on a GPU such memory holds zeros at first, which CUDA does not promise: write it on the "
                "host, or cudaMemset it, before a kernel reads it"
          : from.is_partial()
              ? "look at what writes it: a size is in bytes, n * sizeof(Element) for n elements, and a type through "
                "which is written must not be smaller than an element"
              : "cudaMalloc does not clear memory: cudaMemset it, or let a kernel write it, before it is read";
    }
    f.headline = fmt::format("UNINITIALISED: {}, kernel {}, block {}", what, kernel, index_text(f.block, f.grid_size));
    f.parts = {part_by(kernel_, "read", from.line, from.thread)};
    if (arrival.block != from.block) {
      arrives.has_block = true;
      set_index(arrives.block, arrival.block, kernel_.grid);
    }
    f.parts.push_back(std::move(arrives));
    f.details = {from.is_partial() ? "of its bytes only some have been written before it is read"
                                   : "no thread has written it before it is read"};
  }
  f.kind = arrival.at == At::branch ? "branch" : arrival.at == At::address ? "address" : "result";
  switch (arrival.at) {
    case At::branch:
      f.details.push_back("which way the branch goes depends on it");
      break;
    case At::address:
      f.details.push_back("where the access goes depends on it");
      if (arrival.fault) f.details.push_back("with something else there: " + arrival.fault->headline);
      break;
    case At::memory:
      if (const Allocation* const array = memory_.find(arrival.address, arrival.bytes))
        f.details.push_back(
            fmt::format("{} holds a value that depends on it",
                        element_of(*array, (arrival.address - array->base) / arrival.bytes, arrival.bytes)));
      break;
  }
  return f;
}

}  // namespace scanlab::vgpu
