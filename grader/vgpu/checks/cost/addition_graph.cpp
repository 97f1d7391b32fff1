#include "vgpu/checks/cost/addition_graph.hpp"

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <unordered_set>
#include <utility>

#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/report.hpp"
#include "vgpu/core/warp/float_names.hpp"

namespace scanlab::vgpu {
namespace {

constexpr ElementRange no_interval{1, 0};
constexpr std::size_t most_sums = 1u << 20;  // and n^2: a loop without end makes any number, and memory is finite

bool is_of_another_block(const Adder& one, const Adder& other) {
  return one.block != other.block || one.launch != other.launch;
}

/// Visits 0 … count - 1, each some time after it was announced: what is looked up by then is in the cache.
template <class Announce, class Visit>
void for_each_expected(std::size_t count, Announce announce, Visit visit) {
  constexpr std::size_t ahead = 16;
  for (std::size_t k = 0; k < count + ahead; ++k) {
    if (k < count) announce(k);
    if (k >= ahead) visit(k - ahead);
  }
}

/// The headers that every lab includes: labs/*.cuh and those of grader/runner/by_name.
bool is_of_labs(const SourcePlace& place) {
  return place.file.ends_with("scanlab.cuh") || place.file.ends_with("affine_sum.cuh");
}

/// The learner's place of an addition, or of a look at an element: the headers that define `+` and atomics are not
/// theirs.
SourcePlace place_of_addition(const ptx::Module& module, std::uint32_t line) {
  for (const SourcePlace& place : places_of(module, line))
    if (!is_of_labs(place) && !of_toolkit(place)) return place;
  return {};
}

}  // namespace

double AdditionWork::efficiency() const {
  return warp_useful ? static_cast<double>(useful) / (warp_size * static_cast<double>(warp_useful)) : 1.0;
}

void AdditionGraph::reset(std::span<const ElementName> inputs) {
  *this = AdditionGraph();
  node_of_name_ = KeyTable(4 * inputs.size());  // some additions for each element
  begin(inputs);
}

void AdditionGraph::reset_floats(std::span<const ElementName> inputs, std::uint64_t secret) {
  *this = AdditionGraph();
  std::mt19937_64 random(secret);
  unknown_weight_ = random();
  weight_before_ = {0};
  for (std::size_t i = 0; i < inputs.size(); ++i) weight_before_.push_back(weight_before_.back() + random());
  begin(inputs);
}

void AdditionGraph::begin(std::span<const ElementName> inputs) {
  inputs_ = static_cast<std::uint32_t>(inputs.size());
  insert(identity_name);
  for (const ElementName name : inputs) insert(name);
}

AdditionGraph::Node AdditionGraph::node_of(ElementName name) const {
  if (!are_floats()) return node_of_name_.find(name);
  const std::size_t number = FloatNames::number_of(name);
  return name == identity_name ? identity : number < node_of_number_.size() ? node_of_number_[number] : unknown;
}

std::optional<AdditionGraph::Node> AdditionGraph::find(ElementName name) const {
  const Node found = node_of(name);
  return found == unknown ? std::nullopt : std::optional(found);
}

/// False when it was there.
bool AdditionGraph::insert(ElementName name) {
  const auto add_to = [&](Node& node) {
    if (node != unknown) return false;
    node = static_cast<Node>(names_.size());
    names_.push_back(name);
    return true;
  };
  if (!are_floats()) return add_to(node_of_name_[name]);
  const std::size_t number = name == identity_name ? 0 : FloatNames::number_of(name);
  if (number >= node_of_number_.size()) node_of_number_.resize(number + 1, unknown);
  return add_to(node_of_number_[number]);
}

std::optional<ElementRange> AdditionGraph::interval(Node node) const {
  const ElementRange range = this->range(node);
  if (range.first > range.last) return std::nullopt;
  if (are_floats() && weight(node) != weight_before_[range.last] - weight_before_[range.first]) return std::nullopt;
  return range;
}

ElementRange AdditionGraph::range(Node node) const {
  if (node == unknown) return no_interval;
  if (node == identity) return {};
  return is_sum(node) ? sums_[node - inputs_ - 1].range : ElementRange{input_of(node), input_of(node) + 1};
}

std::uint64_t AdditionGraph::weight(Node node) const {
  if (node == unknown) return unknown_weight_;
  if (node == identity) return 0;
  return is_sum(node) ? sums_[node - inputs_ - 1].weight : weight_before_[node] - weight_before_[node - 1];
}

std::vector<std::uint32_t> AdditionGraph::inputs_of(Node node, std::size_t most) const {
  std::vector<std::uint32_t> inputs;
  std::vector<Node> left = {node};
  while (!left.empty() && inputs.size() < most) {
    const Node next = left.back();
    left.pop_back();
    if (next == unknown || next == identity) continue;
    if (is_input(next)) {
      inputs.push_back(input_of(next));
    } else {
      left.push_back(later(next));
      left.push_back(earlier(next));
    }
  }
  return inputs;
}

AdditionWork AdditionGraph::work(std::span<const ElementName> outputs) const {
  AdditionWork work;
  work.with_identity = with_identity_;
  work.lines = lines_;
  std::vector<bool> is_used(names_.size(), false);
  for (const ElementName output : outputs)
    if (const auto node = find(output)) is_used[*node] = true;
  for (std::size_t k = sums_.size(); k-- > 0;) {
    if (!is_used[k + inputs_ + 1]) continue;
    for (const Node operand : {sums_[k].earlier, sums_[k].later})
      if (operand != unknown) is_used[operand] = true;
  }
  // The same elements with other brackets, or identities between them, are no other sum.
  const auto whole = [&](const Sum& sum) {
    return are_floats() ? sum.weight : std::uint64_t{sum.range.first} << 32 | sum.range.last;
  };
  KeyTable known(sums_.size()), of_thread;
  std::vector<std::uint64_t> by_thread;
  std::set<std::uint32_t> shared;  // where the prefixes end
  Node deepest = identity;
  std::uint32_t latest = 0;  // instructions count from 1, and sums stand in their order
  for_each_expected(
      sums_.size(), [&](std::size_t k) { known.expect(whole(sums_[k])); },
      [&](std::size_t k) {
        const Sum& sum = sums_[k];
        if (!is_used[k + inputs_ + 1]) return;
        for (const Node operand : {sum.earlier, sum.later})
          if (is_sum(operand) && is_of_another_block(adder(operand), sum.adder) &&
              made_again_.find(made_by(operand, sum.adder)) == KeyTable::none)
            if (const auto elements = interval(operand); elements && elements->first == 0 && elements->last > 0)
              shared.insert(elements->last);
        if (is_empty(sum.earlier) || is_empty(sum.later)) return;
        if (sum.depth > work.span) {
          work.span = sum.depth;
          deepest = static_cast<Node>(k + inputs_ + 1);
        }
        const bool is_known_whole = are_floats() || sum.range.first <= sum.range.last;
        if (is_known_whole && std::exchange(known[whole(sum)], 0) == 0) return;
        ++work.useful;
        ++work.lines[sum.adder.place].useful;
        work.warp_useful += std::exchange(latest, sum.instruction) != sum.instruction;
        const Adder& by = sum.adder;  // a block has at most 1024 threads
        std::uint32_t& thread = of_thread[std::uint64_t{by.launch} << 43 ^ std::uint64_t{by.block} << 11 ^ by.thread];
        if (thread == KeyTable::none) {
          thread = static_cast<std::uint32_t>(by_thread.size());
          by_thread.push_back(0);
        }
        work.busiest_thread = std::max(work.busiest_thread, ++by_thread[thread]);
      });
  work.wasted = additions_ - with_identity_ - work.useful;
  work.shared_prefixes = shared.size();
  for (Node next = deepest; is_sum(next);) {
    const Sum& sum = sums_[next - inputs_ - 1];
    if (!is_empty(sum.earlier) && !is_empty(sum.later)) ++work.lines[sum.adder.place].in_chain;
    next = depth(sum.earlier) > depth(sum.later) ? sum.earlier : sum.later;
  }
  return work;
}

void AdditionGraph::kernel_begin(const KernelInfo& info) {
  forget();
  ++launch_;
  module_ = info.module;
  place_of_line_.clear();
}

/// The place itself is kept, for the module may be gone when it is asked for.
std::uint32_t AdditionGraph::number_of_place(std::uint32_t line) {
  const auto [found, is_new] = place_of_line_.try_emplace(line, static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back(place_of_addition(*module_, line));
  return found->second;
}

void AdditionGraph::combined(const Actor& actor, Mask mask, const std::uint64_t* earlier, const std::uint64_t* later,
                             const std::uint64_t* sum) {
  const std::uint32_t place = number_of_place(actor.line);
  while (lines_.size() <= place) lines_.push_back({places_[lines_.size()]});
  ++instructions_;
  for (int k = 0; !are_floats() && k < std::popcount(mask); ++k)
    for (const ElementName name : {earlier[k], later[k], sum[k]}) node_of_name_.expect(name);
  for (const unsigned lane : lanes_in(mask))
    add(*earlier++, *later++, *sum++,
        {launch_, static_cast<std::uint32_t>(actor.block), actor.warp * warp_size + lane, place});
}

void AdditionGraph::add(ElementName earlier, ElementName later, ElementName name, const Adder& adder) {
  ++additions_;
  Sum sum{node_of(earlier), node_of(later), no_interval, 0, instructions_, adder, 0};
  const bool has_identity = is_empty(sum.earlier) || is_empty(sum.later);
  if (has_identity) ++with_identity_;
  AdditionWork::Line& line = lines_[adder.place];
  ++line.made;
  if (has_identity) ++line.with_identity;
  const auto is_map = [](Node node) { return node == identity || node == unknown; };
  if (is_map(sum.earlier) && is_map(sum.later)) return;  // so is their sum
  if (sums_.size() >= most_sums + std::size_t{inputs_} * inputs_) return;
  if (!insert(name)) {
    if (const Node known = node_of(name); !has_identity && is_sum(known) && range(known).first == 0)
      if (is_of_another_block(this->adder(known), adder)) made_again_[made_by(known, adder)] = 0;
    return;
  }
  sum.depth = std::max(depth(sum.earlier), depth(sum.later)) + (has_identity ? 0 : 1);
  const ElementRange a = range(sum.earlier), b = range(sum.later);
  if (has_identity) {
    sum.range = is_empty(sum.earlier) ? b : a;
  } else if (are_floats()) {
    sum.range = {std::min(a.first, b.first), std::max(a.last, b.last)};
  } else if (a.first <= a.last && b.first <= b.last && a.last == b.first) {
    sum.range = {a.first, b.last};
  }
  if (are_floats()) sum.weight = weight(sum.earlier) + weight(sum.later);
  sums_.push_back(sum);
}

bool AdditionGraph::may_be_element(std::uint32_t word) const {
  // Half of a map's name is any number. Small ones are indices and flags, and one in 4,000 halves.
  constexpr std::uint32_t small = 1u << 20;
  if (is_unwritten(word)) return true;
  return are_floats() ? FloatNames::may_be_name(word) : word + small >= 2 * small;
}

void AdditionGraph::look_at(std::uint64_t word, const Actor& actor) {
  const auto bits = static_cast<std::uint32_t>(word);
  if (may_be_element(bits)) assumptions_.looks_at(bits, number_of_place(actor.line));
}

void AdditionGraph::computed_with(const Actor& actor, Mask mask, const std::uint64_t* values, unsigned bytes) {
  for (const unsigned lane : lanes_in(mask)) {
    look_at(values[lane], actor);
    if (bytes == sizeof(std::uint64_t)) look_at(values[lane] >> 32, actor);
  }
}

void AdditionGraph::rearranged(const Actor& actor, Mask mask, const std::uint32_t* words, const std::uint64_t* results,
                               unsigned bytes) {
  for (const unsigned lane : lanes_in(mask)) {
    if (!may_be_element(words[lane])) continue;
    const auto low = static_cast<std::uint32_t>(results[lane]), high = static_cast<std::uint32_t>(results[lane] >> 32);
    const std::uint32_t place = number_of_place(actor.line);
    if (bytes == 0)
      assumptions_.looks_at(words[lane], place);
    else
      assumptions_.rearranges(words[lane], low, bytes == sizeof(std::uint64_t) ? high : low, place);
  }
}

void AdditionGraph::depends(const Actor& actor, Mask mask, Dependence what) {
  // What a lane gives that takes no part is as what nobody has written: harmless where nothing is computed with it.
  if (mask && what != Dependence::absent_lane) assumptions_.depends(what_of(what), number_of_place(actor.line));
}

void AdditionGraph::broken(Breach::What what, const Actor& actor) {
  assumptions_.depends(what, number_of_place(actor.line));
}

bool AdditionGraph::is_narrow(const Access& access) {
  constexpr std::uint32_t word = 4;
  return access.block && access.inst && (access.bytes < word || form_of(access.inst).bytes < word);
}

void AdditionGraph::look_at_words(const AccessRun& run, LaneExchanges::Effect effect) {
  const bool is_store = effect == LaneExchanges::Effect::writes;
  for (unsigned k = 0; k < run.count; ++k) {
    const Access access = run.of(k);
    for (const unsigned lane : lanes_in(access.mask))
      for (std::uint64_t at = access.at(lane) / 4 * 4; at < access.at(lane) + access.bytes; at += 4)
        // A store leaves the rest of a word as it is, also where nobody has written that.
        if (const std::uint64_t word = word_now(access, lane, at); !is_store || !is_unwritten(word))
          look_at(word, access.actor);
  }
}

void AdditionGraph::atomic(const Access& access) {
  blocks_talk_ = blocks_talk_ || access.space == ptx::StateSpace::global;
  ThreadOrders::atomic(access);
  if (access.mbarrier != Access::Mbarrier::none || !access.block || !access.inst) return;
  for (const unsigned lane : lanes_in(access.mask))
    for (std::uint64_t at = access.at(lane) / 4 * 4; at < access.at(lane) + access.bytes; at += 4)
      if (!leaves_word(access, lane, at) && !(are_floats() && adds_floats(access)))
        look_at(word_now(access, lane, at), access.actor);
}

std::vector<Breach> AdditionGraph::breaches() const {
  std::optional<std::unordered_set<std::uint32_t>> words;  // of all names
  const auto is_element = [&](std::uint32_t word) {
    if (!words) {
      words.emplace();
      for (std::size_t k = 1; k < names_.size(); ++k) {
        words->insert(static_cast<std::uint32_t>(names_[k]));
        if (!are_floats()) words->insert(static_cast<std::uint32_t>(names_[k] >> 32));
      }
    }
    return words->contains(word) && may_be_element(word);
  };
  return assumptions_.breaches(is_element, places_);
}

std::optional<SourcePlace> AdditionGraph::looked_at() const {
  const std::vector<Breach> all = breaches();
  const auto look = std::ranges::find(all, Breach::What::element, &Breach::what);
  return look == all.end() ? std::nullopt : std::optional(look->where);
}

}  // namespace scanlab::vgpu
