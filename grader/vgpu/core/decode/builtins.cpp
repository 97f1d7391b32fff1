// Device functions that CUDA provides and PTX only declares: printf, assert, malloc and free.
#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::vgpu {
namespace {

/// Argument `k` of the call, for one lane.
template <class T>
T argument(Warp& w, const Program::Call& call, std::size_t k, unsigned lane) {
  T value{};
  if (k < call.arguments.size()) {
    const Program::Slot& slot = call.arguments[k];
    std::memcpy(&value, w.registers + slot.offset + lane * slot.size, std::min<std::size_t>(sizeof(T), slot.size));
  }
  return value;
}

template <class T>
void set_result(Warp& w, const Program::Call& call, unsigned lane, T value) {
  if (call.results.empty()) return;
  const Program::Slot& slot = call.results[0];
  std::memcpy(w.registers + slot.offset + lane * slot.size, &value, std::min<std::size_t>(sizeof(T), slot.size));
}

const std::byte* generic_byte(Warp& w, unsigned lane, std::uint64_t address, std::uint32_t bytes) {
  const Resolved r = resolve(address);
  return check_lane(w, r.space, AccessKind::read, lane, r.address, bytes);
}

/// Bytes of text that one printf of one thread makes at most; also of a string that is read, a width and a precision: a
/// program's numbers must not choose how much memory this process takes.
constexpr std::size_t most_text = 64 * 1024;
/// … and of each text of a failed assertion, which goes into messages.
constexpr std::size_t most_assertion_text = 500;

std::string text_at(Warp& w, unsigned lane, std::uint64_t address, std::size_t limit = most_text) {
  std::string text;
  while (text.size() < limit) {
    const auto c = static_cast<char>(*generic_byte(w, lane, address + text.size(), 1));
    if (!c) break;
    text += c;
  }
  return text;
}

/// Reports the words that have these bytes: they may be elements' names, and what is printed shows them.
void report_words(Warp& w, unsigned l, Address address, std::size_t size) {
  constexpr std::uint64_t bytes = sizeof(std::uint32_t);
  std::uint32_t word = 0;
  for (Address at = address / bytes * bytes; at < address + size; at += bytes) {
    try {
      std::memcpy(&word, generic_byte(w, l, at, bytes), bytes);
    } catch (const FaultException&) {
      return;  // an array of chars ends within the word
    }
    for (Observer* o : w.block->grid->of_work) o->printed(word);
  }
}

/// Reads the arguments of printf as the device ABI lays them out: one after the other, each at its own alignment.
class PrintArguments {
 public:
  PrintArguments(Warp& w, unsigned lane, std::uint64_t address) : w_(w), lane_(lane), address_(address) {}
  template <class T>
  T next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, generic_byte(w_, lane_, address_ + offset_, sizeof(T)), sizeof(T));
    if (w_.block->grid->image->names_elements) report_words(w_, lane_, address_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }
  std::string text() {
    const auto at = next<std::uint64_t>();
    std::string found = text_at(w_, lane_, at);
    if (w_.block->grid->image->names_elements) report_words(w_, lane_, at, found.size() + 1);
    return found;
  }

 private:
  Warp& w_;
  unsigned lane_;
  std::uint64_t address_, offset_ = 0;
};

/// A conversion whose width and precision are at most most_text.
std::string clamped(const std::string& spec) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  for (std::size_t k = 0; k < spec.size();) {
    if (!is_digit(spec[k]) || spec[k] == '0') {  // a leading 0 is a flag
      result += spec[k++];
      continue;
    }
    std::size_t number = 0;
    for (; k < spec.size() && is_digit(spec[k]); ++k)
      number = std::min(most_text, number * 10 + static_cast<std::size_t>(spec[k] - '0'));
    result += std::to_string(number);
  }
  return result;
}

template <class T>
void append(std::string& out, const std::string& conversion, T value) {
  const std::string spec = clamped(conversion);
  char buffer[512];
  const int n = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
  if (n < 0) return;
  if (static_cast<std::size_t>(n) < sizeof buffer) {
    out.append(buffer, static_cast<std::size_t>(n));
    return;
  }
  std::string large(static_cast<std::size_t>(n) + 1, '\0');
  std::snprintf(large.data(), large.size(), spec.c_str(), value);
  large.pop_back();
  out += large;
}

std::string format(Warp& w, unsigned lane, const std::string& pattern, std::uint64_t arguments, int& count) {
  std::string out;
  PrintArguments args(w, lane, arguments);
  for (std::size_t k = 0; k < pattern.size() && out.size() < most_text; ++k) {
    if (pattern[k] != '%') {
      out += pattern[k];
      continue;
    }
    std::string spec = "%";
    std::size_t j = k + 1;
    bool is_long = false, is_known = true;
    for (; j < pattern.size(); ++j) {
      const char c = pattern[j];
      if (c == '*' && spec.back() == '.') {
        is_known = false;
      } else if (c == '*') {
        spec += std::to_string(args.next<std::int32_t>());
        ++count;
      } else if (std::strchr("-+ #0123456789.", c)) {
        spec += c;
      } else if (c == 'l') {
        is_long = true;
      } else if (c == 'z' || c == 't' || c == 'j') {
        is_known = false;
      } else if (c != 'h') {
        break;
      }
    }
    if (j >= pattern.size() || spec.size() > 64) {
      out += pattern.substr(k);
      break;
    }
    if (!is_known) {  // %zu and %.*f are not CUDA's: printed as they stand, as on a GPU
      out += pattern.substr(k, j - k + 1);
      k = j;
      continue;
    }
    const char conversion = pattern[j];
    const auto is_one_of = [&](std::string_view known) { return known.find(conversion) != known.npos; };
    k = j;
    if (conversion == '%') {
      out += '%';
      continue;
    }
    ++count;
    if (is_one_of("diuxXo") && is_long)
      append(out, spec + "ll" + conversion, static_cast<long long>(args.next<std::int64_t>()));
    else if (is_one_of("diuxXoc"))
      append(out, spec + conversion, args.next<std::int32_t>());
    else if (is_one_of("fFeEgGaA"))
      append(out, spec + conversion, args.next<double>());
    else if (conversion == 'p')
      append(out, spec + 'p', reinterpret_cast<void*>(args.next<std::uint64_t>()));
    else if (conversion == 's')
      append(out, spec + 's', args.text().c_str());
    else
      out += spec + conversion, --count;
  }
  if (out.size() > most_text) out.resize(most_text);
  return out;
}

/// Calls act(warp, call, lane) for each lane that calls.
template <void (*act)(Warp&, const Program::Call&, unsigned lane)>
const Inst* by_lane(Warp& w, const Inst* i) {
  w.pc = i;
  const Program::Call& call = w.frame->program->calls[i->aux];
  for (const unsigned l : lanes_in(w.active)) act(w, call, l);
  return i + 1;
}

void print(Warp& w, const Program::Call& call, unsigned l) {
  int count = 0;
  const auto address = argument<std::uint64_t>(w, call, 0, l);
  const std::string pattern = text_at(w, l, address);
  // The 0 at its end decides as well, what printf() returns.
  if (w.block->grid->image->names_elements) report_words(w, l, address, pattern.size() + 1);
  const std::string text = format(w, l, pattern, argument<std::uint64_t>(w, call, 1, l), count);
  if (const auto& sink = *w.block->grid->print)
    sink(text);
  else
    std::fwrite(text.data(), 1, text.size(), stdout);
  set_result(w, call, l, count);
}

void fail_assertion(Warp& w, const Program::Call& call, unsigned l) {
  const std::string message = text_at(w, l, argument<std::uint64_t>(w, call, 0, l), most_assertion_text);
  const std::string file = text_at(w, l, argument<std::uint64_t>(w, call, 1, l), most_assertion_text);
  FaultException f(Fault::Kind::assertion, fmt::format("assertion `{}` failed", message));
  f.lane = l;
  f.fault.details.push_back(fmt::format("{}:{}", file, argument<std::uint32_t>(w, call, 2, l)));
  throw f;
}

void allocate(Warp& w, const Program::Call& call, unsigned l) {
  const auto bytes = argument<std::uint64_t>(w, call, 0, l);
  set_result(w, call, l, bytes ? w.block->grid->memory->allocate_on_heap(bytes) : Address{0});
}

void deallocate(Warp& w, const Program::Call& call, unsigned l) {
  Grid& grid = *w.block->grid;
  const auto address = argument<std::uint64_t>(w, call, 0, l);
  if (address && !grid.memory->free_on_heap(address))
    raise(Fault::Kind::trap, l, "free() of a pointer that malloc() did not return, or that has been freed");
  for (Range& r : grid.ranges) r = {};
}

}  // namespace

Handler select_builtin(std::string_view name) {
  if (name == "vprintf") return by_lane<print>;
  if (name == "__assertfail" || name == "__assert_fail") return by_lane<fail_assertion>;
  if (name == "malloc") return by_lane<allocate>;
  if (name == "free") return by_lane<deallocate>;
  return nullptr;
}

}  // namespace scanlab::vgpu
