#include "vgpu/core/run/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/memory/mbarrier.hpp"
#include "vgpu/core/warp/warp_ops.hpp"

namespace scanlab::vgpu {
namespace {

constexpr std::size_t most_details = 8;
constexpr std::size_t most_callers = 8;

std::string at_line(const SourcePlace& p) {
  if (p.line == 0) return "an unknown line (compile with -lineinfo)";
  return fmt::format("{}:{}", p.file, p.line);
}

/// The learner's own line, and the kernel's, into which it was inlined; `places` from the innermost to the outermost.
std::string at_own_line(const std::vector<SourcePlace>& places) {
  if (places.empty()) return at_line({});
  const auto own = std::ranges::find_if_not(places, of_toolkit);
  if (own == places.end() || own == places.end() - 1) return at_line(places.back());
  const SourcePlace& call = places.back();
  return fmt::format("{}, called from {}", at_line(*own),
                     call.file == own->file ? fmt::format("line {}", call.line) : at_line(call));
}

std::string text_of(Dim3 index, Dim3 of) {
  if (of.y == 1 && of.z == 1) return std::to_string(index.x);
  if (of.z == 1) return fmt::format("({}, {})", index.x, index.y);
  return fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

void copy_to(unsigned (&to)[3], Dim3 from) {
  std::ranges::copy(std::initializer_list<unsigned>{from.x, from.y, from.z}, to);
}

/// Threads of one block that stand at the same place for the same reason.
struct Group {
  std::uint32_t count = 0, first = ~0u, last = 0;
  bool at_mbarrier = false;
  bool in_registers = false;  ///< in a loop that no other thread can end
};

/// What threads do that wait, and what comes before the line.
struct Words {
  const char *of_one, *of_several, *before;
};
constexpr Words words_of[] = {
    // by Split::State
    {"runs", "run", " at "},
    {"waits at the barrier", "wait at the barrier", " in "},
    {"waits for other lanes of its warp", "wait for other lanes of their warp", " in "},
    {"loops until memory changes", "loop until memory changes", ", at "},
};
constexpr Words words_at_mbarrier = {"waits for the phase of an mbarrier", "wait for the phase of an mbarrier",
                                     ", at "};
constexpr Words words_in_registers = {"loops without end", "loop without end", " in "};

/// An instruction of a loop that may find something new each time: other threads write what it reads.
bool asks_others(const ptx::Instruction& in) {
  if (in.opcode == "call") return true;
  switch (opcode_of(in).effect) {
    case Opcode::Effect::load:
    case Opcode::Effect::copy:
      return !in.has_any({"param", "const", "local"});
    case Opcode::Effect::atomic:
    case Opcode::Effect::sleep:
      return true;
    default:
      return in.has_any({"try_wait", "test_wait"});
  }
}

/// The loops around the place where a split stands.
struct Loops {
  bool in_registers = false;    ///< there are some, and in none of them a thread can see what another has written
  const Inst* again = nullptr;  ///< leads back to the head of the innermost; null: there is no loop
};

Loops loops_of(const Frame& frame, const Inst* pc) {
  const ptx::Function& function = *frame.program->source;
  if (pc->index >= function.instructions.size()) return {};
  const ControlFlow flow = control_flow(function);
  const std::vector<Loop> loops = loops_around(flow, flow.block_of[pc->index]);
  if (loops.empty()) return {};
  const auto asks = [&](std::uint32_t b) {
    const auto first = function.instructions.begin();
    return std::any_of(first + flow.blocks[b].begin, first + flow.blocks[b].end, asks_others);
  };
  const auto& code = frame.program->code;
  const std::uint32_t last = flow.blocks[loops.front().last].end - 1;
  const auto again = std::ranges::find(code, last, &Inst::index);
  return {std::ranges::none_of(loops.back().blocks, asks), again == code.end() ? nullptr : &*again};
}

/// What a split waits for, and the instruction whose line says so.
struct Reason {
  Split::State state;
  const Inst* at;
  bool in_registers = false;
};

/// `known`: the loops around places where other splits stand, which are often the same.
Reason reason_of(const Split& s, std::map<const Inst*, Loops>& known) {
  if (s.state == Split::State::barrier) return {s.state, s.pc - 1};
  if (s.state != Split::State::spin) return {s.state, s.pc};
  const auto [at, is_new] = known.try_emplace(s.pc);
  if (is_new) at->second = loops_of(*s.frame, s.pc);
  const Loops& loops = at->second;
  return loops.in_registers && loops.again ? Reason{s.state, loops.again, true} : Reason{s.state, s.pc};
}

/// What the same threads of one block or several do.
struct Stand {
  std::vector<std::uint64_t> blocks;  ///< by ascending number
  std::string which;                  ///< "threads 0 to 31"
  std::string does;                   ///< "wait at the barrier"
  std::string at;                     ///< " in scan.cu:16"
  SourcePlace where;
  std::vector<SourcePlace> callers;  ///< of the function in which that is, from the inner one to the kernel
  bool spins = false;                ///< in a loop that waits for memory, not for an mbarrier
  bool in_registers = false;         ///< in a loop that waits for nothing
};

struct Waiting {
  std::vector<Stand> stands;
  bool barrier = false, sync = false, spin = false, mbarrier = false, several_barriers = false;
  bool polls = false;         ///< a loop waits for memory that is no mbarrier
  bool in_registers = false;  ///< a loop waits for nothing: it never ends
  bool torn_warp = false;     ///< all lanes that a warp has left wait for each other: no other thread can free them
};

/// Adds what threads of a block do to the others that do the same.
void add_stand(std::vector<Stand>& stands, std::uint64_t block, Stand stand) {
  const auto same = std::ranges::find_if(stands, [&](const Stand& other) {
    return other.which == stand.which && other.does == stand.does && other.at == stand.at;
  });
  if (same == stands.end()) {
    stand.blocks = {block};
    stands.push_back(std::move(stand));
  } else {
    same->blocks.insert(std::ranges::upper_bound(same->blocks, block), block);
  }
}

Waiting waiting_threads(const Grid& grid, const std::vector<const Block*>& running) {
  Waiting result;
  const ptx::Module& module = *grid.image->module;
  std::map<const Inst*, Loops> known;
  for (const Block* block : running) {
    std::map<std::pair<Split::State, std::uint32_t>, Group> groups;
    for (const Warp& w : block->warps) {
      std::vector<Split> splits = w.waiting;
      if (w.active && w.stop == Stop::barrier)
        splits.push_back({w.barrier + 1, w.frame, w.active, Split::State::barrier, w.barrier_id});
      else if (w.active)
        splits.push_back({w.pc, w.frame, w.active, Split::State::ready, 0});
      result.torn_warp |=
          !splits.empty() && std::ranges::all_of(splits, [](const Split& s) { return s.state == Split::State::sync; });
      for (const Split& s : splits) {
        const Reason reason = reason_of(s, known);
        Group& g = groups[{reason.state, reason.at->line}];
        g.in_registers |= reason.in_registers;
        g.count += static_cast<std::uint32_t>(std::popcount(s.mask));
        g.first = std::min(g.first, w.id * warp_size + first_lane(s.mask));
        g.last = std::max(g.last, w.id * warp_size + last_lane(s.mask));
        g.at_mbarrier |= s.state == Split::State::spin && is_mbarrier_wait(s.pc);
      }
    }
    unsigned barriers = 0;
    for (const auto& [key, g] : groups) {
      const auto& [state, line] = key;
      const auto places = places_of(module, line);
      Stand stand;
      if (!places.empty()) stand.where = places.back();
      stand.spins = state == Split::State::spin && !g.at_mbarrier && !g.in_registers;
      const auto own = std::ranges::find_if_not(places, of_toolkit);
      if (state != Split::State::barrier && own != places.end()) {
        stand.where = *own;
        stand.callers.assign(own + 1, places.end());
      }
      const bool one = g.count == 1;
      const Words& words = g.at_mbarrier    ? words_at_mbarrier
                           : g.in_registers ? words_in_registers
                                            : words_of[static_cast<std::size_t>(state)];
      stand.does = one ? words.of_one : words.of_several;
      result.barrier |= state == Split::State::barrier;
      barriers += state == Split::State::barrier;
      result.sync |= state == Split::State::sync;
      result.spin |= state == Split::State::spin;
      result.mbarrier |= g.at_mbarrier;
      result.polls |= stand.spins;
      stand.in_registers = g.in_registers;
      result.in_registers |= g.in_registers;
      stand.which = one ? fmt::format("thread {}", g.first)
                    : g.last - g.first + 1 == g.count
                        ? fmt::format("threads {} to {}", g.first, g.last)
                        : fmt::format("{} threads from {} to {}", g.count, g.first, g.last);
      stand.at = words.before + at_own_line(places);
      add_stand(result.stands, block->index, std::move(stand));
    }
    result.several_barriers |= barriers > 1;
    const auto threads = static_cast<std::uint32_t>(grid.block_size.count());
    if (block->live < threads) {
      Stand ended;
      ended.which = fmt::format("{} of {} threads", threads - block->live, threads);
      ended.does = "have ended";
      add_stand(result.stands, block->index, std::move(ended));
    }
  }
  return result;
}

/// "block 3", "blocks 0 and 4", "blocks 0 to 7", "4 blocks from 0 to 7"
std::string blocks_text(const std::vector<std::uint64_t>& blocks, Dim3 size) {
  const auto name = [&](std::uint64_t number) { return text_of(size.at(number), size); };
  if (blocks.size() == 1) return "block " + name(blocks.front());
  if (blocks.size() == 2) return fmt::format("blocks {} and {}", name(blocks.front()), name(blocks.back()));
  if (blocks.back() - blocks.front() + 1 == blocks.size())
    return fmt::format("blocks {} to {}", name(blocks.front()), name(blocks.back()));
  return fmt::format("{} blocks from {} to {}", blocks.size(), name(blocks.front()), name(blocks.back()));
}

/// Those for which the others wait come first: threads in a loop without end, and those that wait for other blocks.
void report(Fault& fault, std::vector<Stand> stands, const Grid& grid) {
  if (fault.id == "deadlock.blocks" || fault.id == "deadlock.threads")
    std::stable_partition(stands.begin(), stands.end(), [](const Stand& stand) { return stand.spins; });
  std::stable_partition(stands.begin(), stands.end(), [](const Stand& stand) { return stand.in_registers; });
  std::size_t left_out = 0;
  for (Stand& stand : stands) {
    if (fault.waiting.size() + fault.details.size() >= most_details) {
      ++left_out;
      continue;
    }
    const std::string which = fmt::format("{}: {}", blocks_text(stand.blocks, grid.size), stand.which);
    std::string line = fmt::format("{} {}{}", which, stand.does, stand.at);
    if (stand.at.empty()) {
      fault.details.push_back(std::move(line));
      continue;
    }
    WaitingThreads threads;
    copy_to(threads.block, grid.size.at(stand.blocks.front()));
    threads.which = which;
    threads.does = stand.does;
    threads.where = stand.where;
    threads.line = std::move(line);
    fault.waiting.push_back(std::move(threads));
    if (stand.callers.empty()) continue;
    std::string chain = at_line(stand.where) + " is called from";
    for (const SourcePlace& caller : stand.callers)
      chain += fmt::format("{} {}", &caller == stand.callers.data() ? "" : ",", at_line(caller));
    if (std::ranges::find(fault.details, chain) == fault.details.end()) fault.details.push_back(std::move(chain));
  }
  if (!fault.waiting.empty()) fault.where = fault.waiting.front().where;
  if (left_out) fault.details.push_back(fmt::format("and {} more groups of threads", left_out));
}

void set_sizes(Fault& fault, const Grid& grid) {
  copy_to(fault.grid_size, grid.size);
  copy_to(fault.block_size, grid.block_size);
}

/// atomicAdd and the like are lines of a header: the line that calls them is the learner's.
void name_own_line(Fault& fault) {
  const auto own = std::ranges::find_if_not(fault.called_from, of_toolkit);
  if (!of_toolkit(fault.where) || own == fault.called_from.end()) return;
  const std::string function = fault.where.function;
  fault.where = *own;
  if (fault.where.function.empty()) fault.where.function = function;
  fault.called_from.erase(fault.called_from.begin(), own + 1);
}

}  // namespace

void raise(Fault::Kind kind, unsigned lane, std::string headline, std::string advice, std::string id) {
  FaultException f(kind, std::move(headline), std::move(advice));
  f.lane = lane;
  f.fault.id = std::move(id);
  throw f;
}

bool of_toolkit(const SourcePlace& p) {
  const auto has = [&](const char* part) { return p.file.find(part) != std::string::npos; };
  return has("/include/") && (has("/targets/") || has("/cuda") || has("/nvidia/"));
}

void complete(Fault& fault, const Warp& w, const Inst* i, unsigned lane) {
  const Grid& grid = *w.block->grid;
  fault.kernel = ptx::source_name(grid.image->kernel->name);
  fault.set_places(places_of(*grid.image->module, i->line));
  set_sizes(fault, grid);
  fault.has_thread = true;
  copy_to(fault.block, w.block->id);
  for (unsigned k = 0; k < 3; ++k) fault.thread[k] = w.tid[k][lane];
  // Functions that were called, not inlined: the lines of the calls.
  std::size_t left_out = 0;
  for (const Frame* f = w.frame; f && f->caller; f = f->caller) {
    if (fault.called_from.size() >= most_callers) {
      ++left_out;
      continue;
    }
    for (SourcePlace& p : places_of(*grid.image->module, f->call->line)) fault.called_from.push_back(std::move(p));
  }
  if (left_out) fault.details.push_back(fmt::format("and {} more call{}", left_out, left_out == 1 ? "" : "s"));
  name_own_line(fault);
}

SourcePlace own_place(const ptx::Module& module, std::uint32_t line) {
  Fault f;
  f.set_places(places_of(module, line));
  name_own_line(f);
  return f.where;
}

std::vector<SourcePlace> own_callers(const ptx::Module& module, std::uint32_t line) {
  Fault f;
  f.set_places(places_of(module, line));
  name_own_line(f);
  return f.called_from;
}

namespace {

/// What the threads of a deadlock wait for, and what to do about it.
struct Reading {
  const char* id;
  const char* advice;
};

Reading read_deadlock(const Waiting& w, bool has_unstarted) {
  constexpr const char* all_come =
      "all lanes that are named in the mask of a *_sync call must reach that call: put it in front of the branch or "
      "loop that only some of them enter";
  if (w.in_registers)
    return {"endless",
            "nothing that the loop looks at changes any more: check the step, since 0 doubled or halved stays 0, and "
            "the condition"};
  if (w.torn_warp) return {"warp.divergent", all_come};
  if (w.spin && !w.mbarrier && has_unstarted)
    return {"deadlock.blocks",
            "a block may only wait for blocks that started before it: take the block's number from an atomic counter, "
            "not from "
            "blockIdx.x"};
  if (w.mbarrier && !w.polls)
    return {"deadlock.threads",
            "a phase of an mbarrier (cuda::barrier) ends with as many arrivals as init() was given: count who arrives, "
            "and who has ended without arrive_and_drop()"};
  if (w.spin && w.barrier)
    return {
        "deadlock.threads",
        "the loop ends only when what it reads changes, and it never does: the other threads wait at the barrier, or "
        "have ended. Check the loop's condition, and which thread should set what it reads"};
  if (w.spin)
    return {
        "deadlock.threads",
        "the loop ends only when another thread writes memory, and none does: check its condition, and which thread "
        "should set what it reads"};
  if (w.sync) return {"warp.divergent", all_come};
  if (w.several_barriers)
    return {"barrier.divergent",
            "every thread of a block must reach the same __syncthreads(): move it out of the branch"};
  return {"barrier.divergent", "every thread of a block must reach every __syncthreads(), or return before it"};
}

/// "36 blocks have not started, such as block 3: …"
std::string unstarted_text(const Unstarted& blocks, Dim3 size) {
  constexpr const char* why = "a block gets a place only when another ends";
  const std::string first = blocks_text({blocks.lowest}, size);
  if (blocks.count == 1) return fmt::format("{} has not started: {}", first, why);
  return fmt::format("{} blocks have not started, such as {}: {}", blocks.count, first, why);
}

}  // namespace

Fault report_deadlock(const Grid& grid, const std::vector<const Block*>& running, const Unstarted& unstarted) {
  Fault f;
  f.kind = Fault::Kind::deadlock;
  f.kernel = ptx::source_name(grid.image->kernel->name);
  set_sizes(f, grid);
  Waiting w = waiting_threads(grid, running);
  f.headline = w.in_registers ? "a loop never ends" : "deadlock: no thread can go on";
  const Reading reading = read_deadlock(w, unstarted.count > 0);
  f.id = reading.id;
  f.advice = reading.advice;
  report(f, std::move(w.stands), grid);
  if (unstarted.count) f.details.push_back(unstarted_text(unstarted, grid.size));
  return f;
}

Fault report_endless(const Grid& grid, const std::vector<const Block*>& running, bool cancelled) {
  Fault f;
  f.kind = Fault::Kind::budget;
  f.kernel = ptx::source_name(grid.image->kernel->name);
  f.headline = cancelled ? "stopped: the time for this check is over"
                         : fmt::format("stopped after {} warp instructions, at the limit of a launch", grid.executed);
  set_sizes(f, grid);
  Waiting w = waiting_threads(grid, running);
  report(f, std::move(w.stands), grid);
  f.advice =
      "check that the loop in that line comes to its end for every thread, or share the work out among more of them";
  for (const Block* block : running)
    for (const Warp& warp : block->warps) {
      if (!warp.active) continue;
      const Inst* again = loops_of(*warp.frame, warp.stop == Stop::barrier ? warp.barrier : warp.pc).again;
      if (!again) continue;
      f.where = own_place(*grid.image->module, again->line);
      f.details.push_back(fmt::format("in the loop of {}", at_line(f.where)));
      return f;
    }
  return f;
}

std::string Fault::text() const {
  std::string out = kind == Kind::refused
                        ? fmt::format("LAUNCH REFUSED: {}", headline)
                        : fmt::format("FAULT in kernel {}: {}", kernel.empty() ? "?" : kernel, headline);
  const auto triple_of = [](const unsigned(&v)[3]) { return fmt::format("({}, {}, {})", v[0], v[1], v[2]); };
  if (where.line || has_thread) {
    out += "\n  ";
    if (where.line) out += fmt::format("at {}:{}", where.file, where.line);
    if (!where.function.empty()) out += fmt::format(" in {}", where.function);
    if (has_thread)
      out += fmt::format("{}block {}, thread {}", where.line ? ", " : "", triple_of(block), triple_of(thread));
  }
  for (const SourcePlace& p : called_from)
    if (p.line) out += fmt::format("\n  called from {}:{}", p.file, p.line);
  for (const WaitingThreads& w : waiting) out += "\n  " + w.line;
  for (const std::string& d : details) out += "\n  " + d;
  if (!advice.empty()) out += "\n  next: " + advice;
  return out;
}

}  // namespace scanlab::vgpu
