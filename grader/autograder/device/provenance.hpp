// Elements as names: what every output of a call is the sum of, on devices that record the additions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograder/element.hpp"
#include "vgpu/checks/cost/addition_graph.hpp"
#include "vgpu/checks/lane_races.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/core/warp/elements.hpp"
#include "vgpu/core/warp/float_names.hpp"

namespace scanlab::grade {

using vgpu::ElementName;
using vgpu::ElementRange;

/// What is said of the place of a SumMistake.
inline constexpr const char* first_wrong_addition = "is the addition where it first went wrong";
/// The id of a wrong output of which the right sum was made, and then lost.
inline constexpr const char* sum_not_stored = "wrong.not_stored";
/// The ids of what such an output may be taken for.
inline constexpr std::array lost_sums_look_like = {"wrong.other", "wrong.nothing_added", "wrong.steps_missing",
                                                   "wrong.last_element"};

/// Why a value is not the sum of certain elements.
struct SumMistake {
  std::string text;                        ///< one sentence: "x2 is missing in y[5]"
  std::optional<vgpu::SourcePlace> where;  ///< the addition at which it first went wrong
  std::string added;                       ///< what it adds, and why that is wrong; empty: not known
  bool is_order = false;                   ///< nothing but that: each element counts, and counts once
};

/// The names of one call's elements, and their graph of additions.
///
/// A program whose `+` is that of grader/runner/by_name cannot see what an element is. So if each output is the sum of
/// the right inputs, in their order, it is right for all inputs and every associative operation (Chong et al., see
/// core/warp/elements.hpp). The affine maps that a name stands for here are such an operation: the judge evaluates the
/// graph with them, and the output is the same as on a GPU.
///
/// Floats are names in the program as it is (core/warp/float_names.hpp): there the order of a sum does not matter, and
/// the graph gives its value to the last bit.
class Provenance {
 public:
  /// Of up to this many elements a check remembers every addition of every call; of more, only the sums' bounds, but
  /// of up to so many every addition of a call that is wrong, to explain it, or whose additions are counted.
  static constexpr std::size_t most_remembered = 1u << 13, most_explained = 1u << 16, most_counted = 1u << 18;
  /// Up to this many floats can be names.
  static constexpr std::size_t most_floats = 1u << 16;
  /// The device outlives it.
  explicit Provenance(vgpu::Device& device) : device_(device) {}
  ~Provenance() { end(); }
  Provenance(const Provenance&) = delete;
  Provenance& operator=(const Provenance&) = delete;

  enum class Remember : bool { bounds, additions };
  /// The names of the elements of x, as the elements that the program is given. `seed` makes the key, with chance where
  /// names could be made without an addition. Where only bounds are remembered, equal sums have equal names.
  std::vector<Affine> begin(std::span<const Affine> x, std::uint64_t seed, Remember remember);
  std::vector<float> begin(std::span<const float> x);
  /// Elements are maps: `+` computes, and nothing is known of the results but what they are.
  void begin_maps();
  /// The call is over: no addition is recorded any more. What has been is kept until the next call begins.
  void end();

  /// The name that an element of the program's holds.
  static ElementName name_of(Affine element) { return std::bit_cast<ElementName>(element); }
  ElementName name_of(float element) const { return floats_->wide(std::bit_cast<std::uint32_t>(element)); }

  template <typename T>
  struct Sums {
    std::vector<ElementName> names;
    /// What they stand for; elements that hold no name are taken as they are.
    std::vector<T> values;
    /// The elements that each is the sum of, where they are neighbours, each once, in order if that matters: none for
    /// the identity. Nothing for any other sum, and for what is no name.
    std::vector<std::optional<ElementRange>> intervals;
  };
  /// Of what the program has made of the elements of x.
  template <typename T>
  Sums<T> sums(std::span<const T> x, std::vector<T> outputs) const;

  /// "x0 + x1 + x3 + … + x7", "identity()", or "no sum of elements"; "no sum of neighbours" where no more is known.
  std::string text(ElementName name) const;
  static std::string text(ElementRange interval);
  /// Why the output that messages call `name_of_output` is not the sum of these elements, which it is not.
  SumMistake explain(ElementName name, ElementRange expected, const std::string& name_of_output) const;

  /// Where this thread has made the sum of these elements; nothing where it has not, or that is not known.
  std::optional<vgpu::SourcePlace> made(ElementRange sum, std::uint64_t block, std::uint64_t thread) const;

  /// Is it known what breaks the assumptions of a proof? Not where only bounds are remembered, and of programs with
  /// shuffles not of many elements: to look for races without them takes long.
  bool knows_breaches() const { return is_remembered_ && is_order_known_; }
  std::vector<vgpu::Breach> breaches() const;
  /// Null where only bounds are remembered.
  const vgpu::AdditionGraph* graph() const { return is_remembered_ ? &graph_ : nullptr; }
  /// Words of the device's memory get to the host, or parts of them are copied, while a call is on.
  void leave(std::span<const std::byte> words) {
    if (is_attached_) graph_.leave(words);
  }
  /// Why the additions of a call with a wrong result cannot be followed, which may be right for values.
  std::string why_not_followed() const;

 private:
  std::optional<ElementRange> interval(ElementName name) const;
  std::vector<std::uint32_t> inputs_of(ElementName name) const;
  template <typename T>
  std::vector<T> values_of_nodes(std::span<const T> x) const;
  void attach_graph(std::size_t inputs);
  std::string text_of_addition(vgpu::AdditionGraph::Node sum) const;
  std::string who_made(std::span<const ElementRange> elements) const;

  vgpu::Device& device_;
  std::optional<vgpu::ElementNames> names_;  ///< of maps; else of
  std::optional<vgpu::FloatNames> floats_;   ///< floats, whose table stays
  vgpu::AdditionGraph graph_;
  vgpu::LaneRaces lane_races_{device_};
  bool is_attached_ = false;
  bool is_remembered_ = false, is_order_known_ = false;
};

}  // namespace scanlab::grade
