#include "vgpu/core/explore/trail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace scanlab::vgpu {
namespace {

std::string step_text(const TrailStep& step) {
  std::string text = fmt::format("{}.{}", step.block, step.warp);
  std::size_t count = step.choices.size();
  while (count > 0 && !step.choices[count - 1]) --count;
  for (std::size_t k = 0; k < count; ++k) {
    text += k ? "," : "=";
    if (const auto& c = step.choices[k])
      text += c->is_initial() ? "i" : fmt::format("{}.{}.{}", c->block, c->thread, c->number);
  }
  return text;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool is_at_end() const { return text_.empty(); }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool is_at_digit() const { return !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; }
  template <class T>
  T number() {
    T value = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (problem != std::errc{}) fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  [[noreturn]] void fail() const {
    throw std::invalid_argument(fmt::format("no trail of an execution, from \"{}\" on", text_.substr(0, 40)));
  }

 private:
  std::string_view text_;
};

}  // namespace

std::string Trail::text() const {
  std::string all, last;
  std::size_t times = 0;
  const auto flush = [&] {
    if (times == 0) return;
    if (!all.empty()) all += ' ';
    all += times > 1 ? fmt::format("{}*{}", last, times) : last;
  };
  for (const TrailStep& step : steps) {
    const std::string text = step_text(step);
    if (text != last) flush(), last = text, times = 0;
    ++times;
  }
  flush();
  return all;
}

Trail Trail::parse(std::string_view text) {
  constexpr std::uint64_t most_steps = 1'000'000;
  Trail trail;
  Reader in(text);
  while (in.take(' ')) {
  }
  while (!in.is_at_end()) {
    TrailStep step;
    step.block = in.number<std::uint64_t>();
    in.expect('.');
    step.warp = in.number<std::uint32_t>();
    if (in.take('=')) do {
        auto& choice = step.choices.emplace_back();
        if (in.take('i')) {
          choice.emplace();
        } else if (in.is_at_digit()) {
          choice.emplace();
          choice->block = in.number<std::uint64_t>();
          in.expect('.');
          choice->thread = in.number<std::uint32_t>();
          in.expect('.');
          choice->number = in.number<std::uint32_t>();
        }
      } while (in.take(','));
    const std::uint64_t times = in.take('*') ? in.number<std::uint64_t>() : 1;
    if (times > most_steps - std::min<std::uint64_t>(most_steps, trail.steps.size())) in.fail();
    trail.steps.insert(trail.steps.end(), times, step);
    if (in.is_at_end()) break;
    in.expect(' ');
    while (in.take(' ')) {
    }
  }
  return trail;
}

}  // namespace scanlab::vgpu
