#include "autograder/device/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <type_traits>
#include <utility>

#include "autograder/check/inputs.hpp"

namespace scanlab::grade {

namespace {

constexpr std::size_t most_shown = 3;         // elements one by one, before they become a range
constexpr std::size_t most_parts = 6;         // of a sum in a message
constexpr std::size_t most_inputs = 1 << 15;  // of a sum that is taken apart
constexpr std::size_t most_combined = 1 << 26;

std::uint64_t from_chance() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// "x3", "x3 + x4", "x3 + … + x7"; with "x3, x4", "x3 to x7" in sentences.
std::string range_text(ElementRange range, const char* between, const char* until) {
  if (range.last - range.first > most_shown) return fmt::format("x{}{}x{}", range.first, until, range.last - 1);
  std::string text;
  for (std::uint32_t i = range.first; i < range.last; ++i) text += fmt::format("{}x{}", text.empty() ? "" : between, i);
  return text;
}

/// Neighbours that follow each other, as ranges.
std::vector<ElementRange> ranges_of(std::span<const std::uint32_t> inputs) {
  std::vector<ElementRange> ranges;
  for (const std::uint32_t i : inputs) {
    if (!ranges.empty() && ranges.back().last == i)
      ++ranges.back().last;
    else
      ranges.push_back({i, i + 1});
  }
  return ranges;
}

/// "x1, x3 to x7 …"; as a sum "x1 + x3 + … + x7 + …".
std::string list_text(std::span<const std::uint32_t> inputs, bool as_sum = false) {
  const char *between = as_sum ? " + " : ", ", *until = as_sum ? " + … + " : " to ", *more = as_sum ? " + …" : " …";
  std::string text;
  const std::vector<ElementRange> ranges = ranges_of(inputs);
  for (std::size_t k = 0; k < ranges.size() && k < most_parts; ++k)
    text += (k ? between : "") + range_text(ranges[k], between, until);
  return ranges.size() > most_parts ? text + more : text;
}

const char* are(std::span<const std::uint32_t> inputs) {
  return inputs.size() == 1 ? "is" : "are";
}

}  // namespace

std::vector<Affine> Provenance::begin(std::span<const Affine> x, std::uint64_t seed, Remember remember) {
  end();
  is_remembered_ = remember == Remember::additions;
  using Kind = vgpu::ElementNames::Kind;
  // The name of an expression is worth nothing that no addition has made; that of an interval could be calculated.
  if (is_remembered_)
    names_.emplace(Kind::expressions, mix(seed, "names"), seed);
  else
    names_.emplace(Kind::intervals, from_chance(), from_chance());
  std::vector<bool> is_kept(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) is_kept[i] = grade::is_kept(x[i]);
  const std::vector<ElementName> names = names_->name_inputs(std::move(is_kept));
  if (is_remembered_) {
    graph_.reset(names);
    attach_graph(x.size());
  }
  device_.elements = &*names_;
  std::vector<Affine> elements(names.size());
  std::ranges::transform(names, elements.begin(), [](ElementName name) { return std::bit_cast<Affine>(name); });
  return elements;
}

std::vector<float> Provenance::begin(std::span<const float> x) {
  end();
  names_.reset();
  is_remembered_ = true;
  if (!floats_) floats_.emplace(from_chance(), from_chance());
  device_.floats = &*floats_;
  std::vector<float> elements;
  for (const std::uint32_t name : floats_->name_inputs(x.size())) elements.push_back(std::bit_cast<float>(name));
  std::vector<ElementName> names;
  for (const float element : elements) names.push_back(name_of(element));
  graph_.reset_floats(names, from_chance());
  attach_graph(x.size());
  return elements;
}

void Provenance::begin_maps() {
  end();
  is_remembered_ = false;
  device_.elements = &names_.emplace(vgpu::ElementNames::Kind::maps, 0, 0);
}

void Provenance::attach_graph(std::size_t inputs) {
  device_.attach(&graph_);
  is_attached_ = true;
  is_order_known_ = !device_.may_shuffle() || inputs <= most_remembered;
  if (is_order_known_) lane_races_.begin();
}

std::vector<vgpu::Breach> Provenance::breaches() const {
  if (!is_remembered_) return {};
  std::vector<vgpu::Breach> all = graph_.breaches();
  if (is_order_known_) std::ranges::move(lane_races_.breaches(), std::back_inserter(all));
  return all;
}

void Provenance::end() {
  device_.elements = nullptr;
  device_.floats = nullptr;
  device_.detach(&graph_);
  is_attached_ = false;
  lane_races_.end();
}

template <typename T>
Provenance::Sums<T> Provenance::sums(std::span<const T> x, std::vector<T> outputs) const {
  Sums<T> sums{std::vector<ElementName>(outputs.size()), std::move(outputs), {}};
  std::vector<ElementName>& names = sums.names;
  std::ranges::transform(sums.values, names.begin(), [&](T output) { return name_of(output); });
  if (is_remembered_) {
    const std::vector<T> of_nodes = values_of_nodes(x);
    sums.intervals.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto node = graph_.find(names[i]);
      if (!node) continue;
      sums.values[i] = of_nodes[*node];
      sums.intervals[i] = graph_.interval(*node);
    }
    return sums;
  }
  sums.intervals = names_->intervals(names);
  ElementRange running;  // and its sum: mostly an interval extends the one before it
  T sum = identity<T>();
  std::size_t combined = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<ElementRange>& range = sums.intervals[i];
    if (!range || combined > most_combined) continue;
    if (range->first != running.first || range->last < running.last) {
      running = {range->first, range->first};
      sum = identity<T>();
    }
    for (; running.last < range->last; ++running.last, ++combined) sum = combine(sum, x[running.last]);
    sums.values[i] = sum;
  }
  return sums;
}

template Provenance::Sums<Affine> Provenance::sums(std::span<const Affine>, std::vector<Affine>) const;
template Provenance::Sums<float> Provenance::sums(std::span<const float>, std::vector<float>) const;

std::optional<ElementRange> Provenance::interval(ElementName name) const {
  if (!is_remembered_) return names_->intervals({&name, 1}).front();
  const auto node = graph_.find(name);
  return node ? graph_.interval(*node) : std::nullopt;
}

template <typename T>
std::vector<T> Provenance::values_of_nodes(std::span<const T> x) const {
  std::vector<T> values = {identity<T>()};
  values.insert(values.end(), x.begin(), x.end());
  const auto value = [&](vgpu::AdditionGraph::Node node) {
    if (node < values.size()) return values[node];
    if constexpr (std::is_same_v<T, float>)  // made of what is no element
      return std::numeric_limits<float>::quiet_NaN();
    else
      return T{0, 0};
  };
  while (values.size() < graph_.nodes()) {
    const auto sum = static_cast<vgpu::AdditionGraph::Node>(values.size());
    values.push_back(combine(value(graph_.earlier(sum)), value(graph_.later(sum))));
  }
  return values;
}

std::vector<std::uint32_t> Provenance::inputs_of(ElementName name) const {
  if (!is_remembered_) {
    std::vector<std::uint32_t> inputs;
    if (const auto bounds = interval(name))
      for (std::uint32_t i = bounds->first; i < bounds->last && inputs.size() < most_inputs; ++i) inputs.push_back(i);
    return inputs;
  }
  const auto node = graph_.find(name);
  std::vector<std::uint32_t> inputs = node ? graph_.inputs_of(*node, most_inputs) : std::vector<std::uint32_t>{};
  if (!names_) std::ranges::sort(inputs);
  return inputs;
}

std::string Provenance::why_not_followed() const {
  if (const auto looked = is_remembered_ ? graph_.looked_at() : std::nullopt)
    return fmt::format("{}:{} looks at what an element is: its additions cannot be followed", looked->file,
                       looked->line);
  if (!names_ && floats_->is_used_up())
    return fmt::format("there are more than {} different sums: they are not followed", vgpu::FloatNames::most);
  return "the results are made by something other than +";
}

std::string Provenance::text(ElementRange interval) {
  return interval.first == interval.last ? "identity()" : range_text(interval, " + ", " + … + ");
}

std::string Provenance::text(ElementName name) const {
  if (is_unwritten(std::bit_cast<Affine>(name))) return "unwritten";
  if (const auto bounds = interval(name)) return text(*bounds);
  const std::vector<std::uint32_t> inputs = inputs_of(name);
  if (inputs.empty()) return is_remembered_ ? "no sum of elements" : "no sum of neighbours";
  return list_text(inputs, true);
}

/// "thread 3 adds x1 and x3, without x2 between them". Both parts are sums of neighbours, and the whole is not.
std::string Provenance::text_of_addition(vgpu::AdditionGraph::Node sum) const {
  const auto a = graph_.interval(graph_.earlier(sum)), b = graph_.interval(graph_.later(sum));
  if (!a || !b || a->first == a->last || b->first == b->last) return {};
  std::string why;
  const bool may_be_swapped = names_.has_value();
  if (a->last < b->first)
    why = fmt::format("without {} between them", range_text({a->last, b->first}, ", ", " to "));
  else if (b->last < a->first)
    why = fmt::format("without {} between them", range_text({b->last, a->first}, ", ", " to "));
  else if (b->last == a->first && may_be_swapped)
    why = "with the later ones on the left";
  else if (const ElementRange both{std::max(a->first, b->first), std::min(a->last, b->last)}; both.first < both.last)
    why = fmt::format("and both have {}{}", range_text(both, ", ", " to "),
                      a->first == b->first ? ": what is to be the sum of all before it is its own" : "");
  else
    return {};
  return fmt::format("thread {} adds {} and {}, {}", graph_.adder(sum).thread, text(*a), text(*b), why);
}

std::optional<vgpu::SourcePlace> Provenance::made(ElementRange sum, std::uint64_t block, std::uint64_t thread) const {
  if (!is_remembered_) return std::nullopt;
  for (std::size_t k = graph_.nodes(); k-- > 0;) {
    const auto node = static_cast<vgpu::AdditionGraph::Node>(k);
    if (!graph_.is_sum(node)) break;
    const vgpu::Adder& adder = graph_.adder(node);
    if (adder.block == block && adder.thread == thread && graph_.interval(node) == sum) return graph_.place(node);
  }
  return std::nullopt;
}

/// " (thread 31 of block 0 makes their sum in scan.cu:62)"; empty where these are no neighbours, or no thread does.
std::string Provenance::who_made(std::span<const ElementRange> elements) const {
  if (!is_remembered_ || elements.size() != 1 || elements.front().last - elements.front().first < 2) return {};
  for (vgpu::AdditionGraph::Node node = elements.front().last; node < graph_.nodes(); ++node) {
    if (!graph_.is_sum(node) || graph_.interval(node) != elements.front() || graph_.place(node).line == 0) continue;
    const vgpu::Adder& adder = graph_.adder(node);
    return fmt::format(" (thread {} of block {} makes their sum in {}:{})", adder.thread, adder.block,
                       graph_.place(node).file, graph_.place(node).line);
  }
  return {};
}

SumMistake Provenance::explain(ElementName name, ElementRange expected, const std::string& output) const {
  const std::vector<std::uint32_t> inputs = inputs_of(name);
  SumMistake mistake;
  if (is_remembered_) {
    // Operands have lower numbers than their sum: the first addition of parts that are right each, and do not adjoin.
    if (const auto node = graph_.find(name); node && graph_.is_sum(*node)) {
      mistake.where = graph_.place(*node);
      std::vector<vgpu::AdditionGraph::Node> left = {*node};
      std::optional<vgpu::AdditionGraph::Node> first;
      while (!left.empty() && !graph_.interval(*node)) {
        const auto next = left.back();
        left.pop_back();
        if (!graph_.is_sum(next) || graph_.interval(next)) continue;
        const auto a = graph_.earlier(next), b = graph_.later(next);
        if (graph_.interval(a) && graph_.interval(b) && (!first || next < *first)) first = next;
        left.insert(left.end(), {a, b});
      }
      if (first) {
        mistake.where = graph_.place(*first);
        mistake.added = text_of_addition(*first);
      }
    }
  }
  if (inputs.empty() && !is_remembered_ && name != vgpu::identity_name) {
    mistake.text = fmt::format("in {}, elements are missing, count more than once or stand in another order", output);
    return mistake;
  }
  if (inputs.empty()) {
    // identity() + identity() is a sum, too.
    const auto node = is_remembered_ ? graph_.find(name) : std::nullopt;
    const bool is_identity = name == vgpu::identity_name || (node && graph_.interval(*node) == ElementRange{});
    if (is_identity)
      mistake.text = fmt::format("{} is identity(): nothing was added", output);
    else if (name == ElementName{})
      mistake.text =
          fmt::format("all bits of {} are 0, as of Element{{}} or after cudaMemset: write identity()", output);
    else
      mistake.text = fmt::format("{} was made by something other than `+`", output);
    return mistake;
  }
  std::map<std::uint32_t, std::size_t> times;
  for (const std::uint32_t i : inputs) ++times[i];
  std::vector<std::uint32_t> missing, twice, foreign;
  for (std::uint32_t i = expected.first; i < expected.last; ++i)
    if (!times.contains(i)) missing.push_back(i);
  for (const auto& [i, count] : times) {
    if (i < expected.first || i >= expected.last)
      foreign.push_back(i);
    else if (count > 1)
      twice.push_back(i);
  }
  std::vector<std::string> parts;
  if (!missing.empty())
    parts.push_back(fmt::format("{} {} missing{}", list_text(missing), are(missing), who_made(ranges_of(missing))));
  if (!twice.empty())
    parts.push_back(fmt::format("{} {} more than once", list_text(twice), twice.size() == 1 ? "counts" : "count"));
  if (!foreign.empty())
    parts.push_back(fmt::format("{} {} not belong to it", list_text(foreign), foreign.size() == 1 ? "does" : "do"));
  if (parts.empty()) {
    const auto descent = std::ranges::adjacent_find(inputs, std::ranges::greater());
    mistake.is_order = descent != inputs.end();
    parts.push_back(descent == inputs.end()
                        ? std::string("something is added to it that is no element")
                        : fmt::format("x{} stands before x{}: the operands of a + are swapped", *descent, descent[1]));
  }
  mistake.text = fmt::format("in {}, {}", output, fmt::join(parts, ", and "));
  return mistake;
}

}  // namespace scanlab::grade
