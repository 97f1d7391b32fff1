// Elements as names: what every output of a call is the sum of, on devices that record the additions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograder/element.hpp"
#include "vgpu/checks/cost/addition_graph.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/core/warp/elements.hpp"

namespace scanlab::grade {

using vgpu::ElementName;
using vgpu::ElementRange;

/// What is said of the place of a SumMistake.
inline constexpr const char* first_wrong_addition = "is the addition where it first went wrong";

/// Why a value is not the sum of certain elements.
struct SumMistake {
  std::string text;                        ///< one sentence: "x2 is missing in y[5]"
  std::optional<vgpu::SourcePlace> where;  ///< the addition at which it first went wrong
};

/// The names of one call's elements, and their graph of additions.
///
/// A program of the provenance build (scanlab.cuh) cannot see what an element is. So if each output is the sum of the
/// right inputs, in their order, it is right for all inputs and every associative operation (Chong et al., see
/// core/warp/elements.hpp). The affine maps that a name stands for here are such an operation: the judge evaluates the
/// graph with them, and the output is the same as on a GPU.
class Provenance {
 public:
  /// Both outlive it. Up to this many elements every addition is remembered; of more, only the sums' bounds.
  static constexpr std::size_t most_remembered = 1u << 13;
  explicit Provenance(vgpu::Device& device) : device_(device) {}
  ~Provenance() { end(); }
  Provenance(const Provenance&) = delete;
  Provenance& operator=(const Provenance&) = delete;

  enum class Remember : bool { bounds, additions };
  /// The names of the elements of x, which outlives the call. `seed` makes the key, with chance where names could be
  /// made without an addition. Where only bounds are remembered, equal sums have equal names.
  std::vector<ElementName> begin(std::span<const Affine> x, std::uint64_t seed, Remember remember);
  /// The call is over: no addition is recorded any more. What has been is kept until the next call begins.
  void end();

  struct Sums {
    /// The maps that the names stand for; bytes that are no name are taken as they are.
    std::vector<Affine> values;
    /// The elements that each is the sum of, where they are neighbours, each once, in order: none for the identity.
    /// Nothing for any other sum, and for what is no name.
    std::vector<std::optional<ElementRange>> intervals;
  };
  Sums sums(std::span<const ElementName> names) const;

  /// "x0 + x1 + x3 + … + x7", "identity()", or "no sum of elements"; "no sum of neighbours" where no more is known.
  std::string text(ElementName name) const;
  static std::string text(ElementRange interval);
  /// Why the output that messages call `name_of_output` is not the sum of these elements, which it is not.
  SumMistake explain(ElementName name, ElementRange expected, const std::string& name_of_output) const;

  /// Null where only bounds are remembered.
  const vgpu::AdditionGraph* graph() const { return is_remembered_ ? &graph_ : nullptr; }

 private:
  std::optional<ElementRange> interval(ElementName name) const;
  std::vector<std::uint32_t> inputs_of(ElementName name) const;
  std::vector<Affine> values_of_nodes() const;

  vgpu::Device& device_;
  std::span<const Affine> x_;
  std::optional<vgpu::ElementNames> names_;
  vgpu::AdditionGraph graph_;
  bool is_remembered_ = false, is_attached_ = false;
};

}  // namespace scanlab::grade
