// Types' names and sizes, and the names that a learner wrote out of the mangled ones.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {
namespace {

struct TypeInfo {
  std::string_view name;
  Type type;
  std::uint32_t size;
};

constexpr TypeInfo types[] = {
    {"pred", Type::pred, 0}, {"b8", Type::b8, 1},         {"b16", Type::b16, 2},   {"b32", Type::b32, 4},
    {"b64", Type::b64, 8},   {"b128", Type::b128, 16},    {"u8", Type::u8, 1},     {"u16", Type::u16, 2},
    {"u32", Type::u32, 4},   {"u64", Type::u64, 8},       {"s8", Type::s8, 1},     {"s16", Type::s16, 2},
    {"s32", Type::s32, 4},   {"s64", Type::s64, 8},       {"f16", Type::f16, 2},   {"f16x2", Type::f16x2, 4},
    {"bf16", Type::bf16, 2}, {"bf16x2", Type::bf16x2, 4}, {"tf32", Type::tf32, 4}, {"f32", Type::f32, 4},
    {"f64", Type::f64, 8},
};

// Longer names are shown as they are: the demangler's time grows faster than the name.
constexpr std::size_t longest_demangled = 16384;
constexpr double most_expanded = 4 << 20;  // characters

/// Index of the bracket that `text[end - 1]` closes, or npos. Within parentheses '<' and '>' may be operators.
std::size_t matching_open(std::string_view text, std::size_t end) {
  const bool angle = text[end - 1] == '>';
  int depth = 0;
  int angles = 0;
  for (std::size_t i = end; i-- > 0;) {
    const char c = text[i];
    if (c == ')' || c == ']' || c == '}') {
      ++depth;
    } else if (c == '(' || c == '[' || c == '{') {
      --depth;
    } else if (c == '<' || c == '>') {
      if (depth == 0) angles += c == '>' ? 1 : -1;
    } else {
      continue;
    }
    if (depth < 0) break;
    if (depth == 0 && (!angle || angles == 0)) return i;
  }
  return std::string_view::npos;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// "operator+<float>(…)" → "operator+", when the last component is an operator; empty otherwise.
std::string_view operator_name(std::string_view text) {
  constexpr std::string_view keyword = "operator";
  constexpr std::string_view symbols[] = {
      "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&",
      "||", "++", "--",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "->", "+",
      "-",  "*",  "/",   "%",   "&",   "|",   "^",  "~",  "!",  "=",  "<",  ">",  ","};
  const std::size_t at = text.rfind(keyword);
  if (at == std::string_view::npos || (at > 0 && continues_name(text[at - 1]))) return {};
  const std::string_view rest = text.substr(at + keyword.size());
  if (rest.empty() || continues_name(rest.front())) return {};
  for (const std::string_view symbol : symbols) {
    if (!rest.starts_with(symbol)) continue;
    // An operator's own local: "A::operator()(int)::xy" is named xy.
    if (rest.substr(symbol.size()).find("::") != std::string_view::npos && rest.back() != ')') return {};
    return text.substr(at, keyword.size() + symbol.size());
  }
  if (rest.front() != ' ') return {};
  return text.substr(at, keyword.size() + std::min(rest.find('('), rest.size()));
}

/// The last component of a demangled name.
std::string last_component(std::string_view text) {
  const std::string_view whole = text;
  if (const std::size_t clone = text.find(" [clone"); clone != std::string_view::npos) text = text.substr(0, clone);
  while (remove_suffix(text, " const") || remove_suffix(text, " volatile") || remove_suffix(text, " &") ||
         remove_suffix(text, "&&") || remove_suffix(text, " noexcept")) {
  }
  // A lambda's body is the lambda; what it declares has a name of its own.
  if (const std::string_view op = operator_name(text); !op.empty()) {
    const std::string_view before = text.substr(0, static_cast<std::size_t>(op.data() - text.data()));
    if (op == "operator()" && before.ends_with("}::")) return "lambda";
    return std::string(op);
  }
  while (!text.empty()) {
    const char last = text.back();
    if (last == ')' || last == '>' || last == ']') {
      const std::size_t open = matching_open(text, text.size());
      if (open == std::string_view::npos || open == 0) break;
      text = text.substr(0, open);
    } else if (last == '}') {
      return "lambda";
    } else if (last == ' ') {
      text.remove_suffix(1);
    } else {
      break;
    }
  }
  std::size_t begin = text.size();
  while (begin > 0 && (continues_name(text[begin - 1]) || text[begin - 1] == '~')) --begin;
  return std::string(begin < text.size() ? text.substr(begin) : whole);
}

void replace_components(std::string& text, std::string_view prefix, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) {
    if (at > 0 && continues_name(text[at - 1])) {
      at += prefix.size();
      continue;
    }
    std::size_t end = at + prefix.size();
    while (end < text.size() && continues_name(text[end])) ++end;
    if (text.compare(end, 2, "::") != 0) {
      at = end;
      continue;
    }
    text.replace(at, end + 2 - at, by);
    at += by.size();
  }
}

/// Whether the demangled text is sure to be short. Substitutions (S_, S1_, T_ …) stand for text before them, so each
/// link of a chain of them can double the text, and a name of 200 characters can grow to gigabytes. Of all ways to
/// distribute r of them, links of three grow most: by the cube root of 3 for each.
bool expands_little(std::string_view mangled) {
  auto most = static_cast<double>(mangled.size());
  for (std::size_t at = 0; at < mangled.size(); ++at) {
    if (mangled[at] != 'S' && mangled[at] != 'T') continue;
    std::size_t end = at + 1;
    while (end < mangled.size() && (is_digit(mangled[end]) || (mangled[end] >= 'A' && mangled[end] <= 'Z'))) ++end;
    if (end < mangled.size() && mangled[end] == '_') most *= 1.4423;
    if (most > most_expanded) return false;
  }
  return true;
}

/// "12abc…" → the identifier of that length after the number; empty when there is none.
std::string_view identifier_at(std::string_view text, std::size_t at) {
  std::size_t length = 0;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at]) && length <= text.size())
    length = length * 10 + static_cast<std::size_t>(text[at++] - '0');
  if (at == first || length == 0 || length > text.size() - at) return {};
  return text.substr(at, length);
}

/// What can be read off a name without expanding it: "_ZN3cub4scanIfEEvT_" → "cub::scan<...>", and of a variable within
/// a function its own name. Any other name comes back as it is.
std::string written_part(const std::string& mangled) {
  const std::string_view text = mangled;
  if (text.starts_with("_ZZ")) {
    for (std::size_t at = text.rfind('E'); at != std::string_view::npos && at > 2; at = text.rfind('E', at - 1)) {
      const std::string_view name = identifier_at(text, at + 1);
      if (!name.empty() && name.data() + name.size() == text.data() + text.size()) return std::string(name);
    }
    return mangled;
  }
  std::string result;
  const bool is_nested = text.starts_with("_ZN");
  std::size_t at = 2;
  while (at < text.size() && (text[at] == 'N' || text[at] == 'L' || text[at] == 'K')) ++at;
  for (std::string_view name; !(name = identifier_at(text, at)).empty();) {
    result += (result.empty() ? "" : "::") + std::string(name);
    at = static_cast<std::size_t>(name.data() + name.size() - text.data());
    if (!is_nested) break;
  }
  if (result.empty()) return mangled;
  return at < text.size() && text[at] == 'I' ? result + "<...>" : result;
}

/// nvcc gives local variables of C functions such a name: "__cuda_local_var_35_30_non_const_xy".
std::string_view strip_local_prefix(std::string_view name) {
  std::string_view rest = name;
  constexpr std::string_view prefix = "__cuda_local_var_";
  if (!rest.starts_with(prefix)) return name;
  rest.remove_prefix(prefix.size());
  while (!rest.empty() && (is_digit(rest.front()) || rest.front() == '_')) rest.remove_prefix(1);
  for (const std::string_view word : {"non_const_", "const_"}) {
    if (rest.starts_with(word)) return rest.size() > word.size() ? rest.substr(word.size()) : name;
  }
  return name;
}

/// Without the counter that the compiler appends to distinguish copies: "xy$1", "xy$$2".
std::string_view strip_copy_number(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  if (end == name.size() || end == 0 || name[end - 1] != '$') return name;
  while (end > 0 && name[end - 1] == '$') --end;
  return end > 0 ? name.substr(0, end) : name;
}

/// Where the piece's numbers begin, "_$_0" of "xy_$_0": the optimiser has made a variable of each element.
std::size_t piece_begin(std::string_view name) {
  std::size_t end = name.size();
  for (;;) {
    std::size_t at = end;
    while (at > 0 && is_digit(name[at - 1])) --at;
    constexpr std::string_view mark = "_$_";
    if (at == end || !name.substr(0, at).ends_with(mark) || at == mark.size()) return end;
    end = at - mark.size();
  }
}

}  // namespace

std::uint32_t size_of(Type type) {
  const auto info = std::ranges::find(types, type, &TypeInfo::type);
  return info == std::end(types) ? 0 : info->size;
}

bool is_float(Type type) {
  return type >= Type::f16;
}

bool is_signed(Type type) {
  return type >= Type::s8 && type <= Type::s64;
}

std::string_view name_of(Type type) {
  const TypeInfo* const info = std::ranges::find(types, type, &TypeInfo::type);
  return info == std::end(types) ? std::string_view() : info->name;
}

Type type_from_suffix(std::string_view suffix) {
  if (suffix.starts_with('.')) suffix.remove_prefix(1);
  const auto info = std::ranges::find(types, suffix, &TypeInfo::name);
  return info == std::end(types) ? Type::none : info->type;
}

std::string demangle(const std::string& mangled) {
  if (!mangled.starts_with("_Z") || mangled.size() > longest_demangled) return mangled;
  if (!expands_little(mangled)) return written_part(mangled);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0 || !text) return mangled;
  std::string result(text.get());
  // nvcc's stand-ins for "this translation unit" carry a hash of the file's name.
  replace_components(result, "_INTERNAL_", "");
  replace_components(result, "_GLOBAL__N_", "(anonymous namespace)::");
  return result;
}

std::string source_name(const std::string& mangled) {
  const std::string_view whole = strip_copy_number(strip_local_prefix(mangled));
  const std::string plain(whole.substr(0, piece_begin(whole)));
  const std::string demangled = demangle(plain);
  if (demangled == plain) return plain;
  return std::string(strip_local_prefix(last_component(demangled)));
}

std::string source_piece(const std::string& mangled) {
  const std::string_view whole = strip_copy_number(mangled);
  std::string piece;
  for (const char c : whole.substr(piece_begin(whole))) {
    if (c == '$') piece += piece.empty() ? "[" : "][";
    if (is_digit(c)) piece += c;
  }
  return piece.empty() ? piece : piece + "]";
}

}  // namespace scanlab::ptx
