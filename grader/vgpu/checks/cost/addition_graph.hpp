// The graph of additions: what each sum is made of, where elements are names (core/warp/elements.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/checks/cost/thread_orders.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/core/warp/elements.hpp"
#include "vgpu/core/warp/key_table.hpp"

namespace scanlab::vgpu {

/// Which thread has added, and at which of the graph's places.
struct Adder {
  std::uint32_t launch = 0, block = 0, thread = 0, place = 0;
};

/// How the additions of a call share the work. One is *useful* when it makes a sum that gets into an output, and no
/// earlier one of those has made a sum of the same elements; adding the identity is neither that nor wasted.
struct AdditionWork {
  std::uint64_t useful = 0, wasted = 0, with_identity = 0;
  std::uint64_t span = 0;             ///< useful additions one after the other: the longest chain
  std::uint64_t busiest_thread = 0;   ///< useful additions of the thread that has made most of them, of one launch
  std::uint64_t warp_useful = 0;      ///< instructions of warps that have made useful ones
  std::uint64_t shared_prefixes = 0;  ///< sums of all elements up to one that a block has added to and not made itself
  /// The additions of one line.
  struct Line {
    SourcePlace place;
    std::uint64_t made = 0, with_identity = 0, useful = 0, in_chain = 0;  ///< the last: in the one that `span` counts
    std::uint64_t wasted() const { return made - with_identity - useful; }
  };
  std::vector<Line> lines;
  /// Lanes that make a useful addition, of those warps' 32; 1 when there is none.
  double efficiency() const;
};

/// Remembers every addition of names since the last reset, every `scanlab.add` or those of floats, up to many more sums
/// than a scan can have use for; those beyond are unknown.
class AdditionGraph : public ThreadOrders {
 public:
  /// What a name stands for. Sums are numbered as they are first made, so operands come before their sum.
  using Node = std::uint32_t;
  static constexpr Node identity = 0;
  /// An operand that is no name: never written, or made by something other than an addition.
  static constexpr Node unknown = KeyTable::none;

  /// Forgets everything, and knows these names of the input's elements. The order of operands matters.
  void reset(std::span<const ElementName> inputs);
  /// The same for floats (FloatNames::wide), whose sums have no order. `secret` is not known to the program.
  void reset_floats(std::span<const ElementName> inputs, std::uint64_t secret);

  /// How many there are: the identity, the inputs and the sums.
  std::size_t nodes() const { return names_.size(); }
  /// Nothing for a name that neither is an input's nor was made by an addition.
  std::optional<Node> find(ElementName name) const;
  ElementName name(Node node) const { return names_[node]; }
  bool is_input(Node node) const { return node != identity && node <= inputs_; }
  bool is_sum(Node node) const { return node > inputs_ && node != unknown; }
  std::uint32_t input_of(Node node) const { return node - 1; }
  Node earlier(Node sum) const { return sums_[sum - inputs_ - 1].earlier; }
  Node later(Node sum) const { return sums_[sum - inputs_ - 1].later; }
  const Adder& adder(Node sum) const { return sums_[sum - inputs_ - 1].adder; }
  /// The elements that are summed up, when they are neighbours, each once, in order if that matters; empty for the
  /// identity, nothing for any other sum.
  std::optional<ElementRange> interval(Node node) const;
  /// The elements that are summed up, in the order of the sum; at most `most` of them, from the first one on.
  std::vector<std::uint32_t> inputs_of(Node node, std::size_t most) const;
  /// The learner's own place of an addition.
  const SourcePlace& place(Node sum) const { return places_[adder(sum).place]; }
  const std::vector<SourcePlace>& places() const { return places_; }

  AdditionWork work(std::span<const ElementName> outputs) const;

  /// What breaks the assumptions of a proof.
  std::vector<Breach> breaches() const;
  /// Where the program has computed with an element's bits, or compared them; nothing where it never has.
  std::optional<SourcePlace> looked_at() const;
  /// Bytes of the device's memory, words of 32 bits, get to the host, or parts of them are copied.
  void leave(std::span<const std::byte> bytes) { assumptions_.leave(bytes); }

  /// Have threads used atomics, or volatile or other strong accesses, on global memory? If not, no block can wait for
  /// another, and a launch without races does the same in every order of its blocks and warps.
  bool blocks_talk() const { return blocks_talk_; }

  std::uint32_t interests() const override { return Interest::work | ThreadOrders::interests(); }
  void kernel_begin(const KernelInfo& info) override;
  void combined(const Actor& actor, Mask mask, const std::uint64_t* earlier, const std::uint64_t* later,
                const std::uint64_t* sum) override;
  void loads(const AccessRun& run) override { note(run, LaneExchanges::Effect::reads); }
  void stores(const AccessRun& run) override { note(run, LaneExchanges::Effect::writes); }
  void atomic(const Access& access) override;
  void computed_with(const Actor& actor, Mask mask, const std::uint64_t* values, unsigned bytes) override;
  void rearranged(const Actor& actor, Mask mask, const std::uint32_t* words, const std::uint64_t* results,
                  unsigned bytes) override;
  void depends(const Actor& actor, Mask mask, Dependence what) override;
  void printed(std::uint32_t word) override { leave(std::as_bytes(std::span(&word, 1))); }

 private:
  struct Sum {
    Node earlier = unknown, later = unknown;
    ElementRange range;  ///< first > last: no interval; of floats: from the first element to the last
    std::uint32_t depth = 0, instruction = 0;
    Adder adder;
    std::uint64_t weight = 0;  ///< of floats: of all its elements together
  };

  void begin(std::span<const ElementName> inputs);
  Node node_of(ElementName name) const;
  bool insert(ElementName name);
  std::uint32_t depth(Node node) const { return is_sum(node) ? sums_[node - inputs_ - 1].depth : 0; }
  void add(ElementName earlier, ElementName later, ElementName sum, const Adder& adder);
  void note(const AccessRun& run, LaneExchanges::Effect effect) {
    ThreadOrders::note(run, effect);
    if (run.first.order != Access::Order::weak)
      blocks_talk_ = blocks_talk_ || run.first.space == ptx::StateSpace::global;
    if (is_narrow(run.first)) look_at_words(run, effect);
  }
  void broken(Breach::What what, const Actor& actor) override;
  /// Does it access less than a word at a time?
  static bool is_narrow(const Access& access);
  void look_at_words(const AccessRun& run, LaneExchanges::Effect effect);
  void look_at(std::uint64_t word, const Actor& actor);
  /// Can a word be an element's name, or half of one?
  bool may_be_element(std::uint32_t word) const;
  static std::uint64_t made_by(Node sum, const Adder& adder) {
    return std::uint64_t{sum} << 32 | (adder.launch << 24 ^ adder.block);
  }
  std::uint32_t number_of_place(std::uint32_t line);
  /// The identity, or a sum of identities alone.
  bool is_empty(Node node) const {
    const ElementRange elements = range(node);
    return elements.first == elements.last;
  }

  std::uint64_t weight(Node node) const;
  ElementRange range(Node node) const;
  bool are_floats() const { return !weight_before_.empty(); }

  std::uint32_t inputs_ = 0;
  /// Of floats: a random weight for each element, as the sum of those before it (modulo 2^64), and one for what is no
  /// element. What weighs as much as neighbours do is their sum, in whatever order and with whatever brackets.
  std::vector<std::uint64_t> weight_before_;
  std::uint64_t unknown_weight_ = 0;
  std::vector<Sum> sums_;
  std::vector<ElementName> names_;  ///< of all nodes
  KeyTable node_of_name_;
  KeyTable made_again_;  ///< sums from the first element on that a block has made, too, after their adder: made_by
  std::vector<Node> node_of_number_;  ///< of floats
  std::uint64_t additions_ = 0, with_identity_ = 0;
  std::uint32_t instructions_ = 0;  ///< of warps, that add
  bool blocks_talk_ = false;
  std::vector<SourcePlace> places_;
  std::vector<AdditionWork::Line> lines_;  ///< by place, without what is useful
  Assumptions assumptions_;
  // Of the running launch: its number and module, and the numbers of the places of its lines.
  std::uint32_t launch_ = 0;
  const ptx::Module* module_ = nullptr;
  std::unordered_map<std::uint32_t, std::uint32_t> place_of_line_;
};

}  // namespace scanlab::vgpu
