#include "damage.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

namespace scanlab::fuzz {
namespace {

template <class Container>
const auto& one_of(const Container& from, Random& random) {
  return from[random() % std::size(from)];
}

/// Where a line begins, at or before `at`, and where it ends, its '\n' included.
std::pair<std::size_t, std::size_t> line_at(const std::string& text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::size_t end = text.find('\n', at);
  return {begin, end == std::string::npos ? text.size() : end + 1};
}

std::string some_lines(const std::string& text, Random& random) {
  const std::size_t begin = line_at(text, random() % text.size()).first;
  std::size_t end = begin;
  for (auto lines = 1 + random() % 8; lines > 0 && end < text.size(); --lines) end = line_at(text, end).second;
  return text.substr(begin, end - begin);
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

/// A whole word (a name, a number, an opcode with its modifiers) at or after a random place: where it begins and ends.
std::pair<std::size_t, std::size_t> some_word(const std::string& text, Random& random) {
  std::size_t begin = random() % text.size();
  while (begin < text.size() && !is_word(text[begin])) ++begin;
  while (begin > 0 && begin < text.size() && is_word(text[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return {begin, end};
}

constexpr std::string_view numbers[] = {"0",
                                        "-1",
                                        "1",
                                        "3",
                                        "255",
                                        "256",
                                        "65536",
                                        "2147483647",
                                        "-2147483648",
                                        "4294967295",
                                        "4294967296",
                                        "9223372036854775807",
                                        "1e999",
                                        "0x7fffffff",
                                        "-9223372036854775808",
                                        "0f7FC00000",
                                        "18446744073709551615",
                                        "0d7FF0000000000000",
                                        "99999999999999999999999"};

constexpr std::string_view types[] = {"pred", "b8",   "b16", "b32",   "b64",  "b128",   "u8",
                                      "u16",  "u32",  "u64", "s8",    "s16",  "s32",    "s64",
                                      "f16",  "bf16", "f32", "f16x2", "tf32", "bf16x2", "f64"};

constexpr std::string_view modifiers[] = {
    ".sat", ".ftz",  ".rn",      ".rzi",   ".volatile",      ".acquire", ".v2",  ".v4", ".shared",
    ".cta", ".wide", ".hi",      ".cc",    ".sync",          ".global",  ".uni", ".ca", ".and",
    ".to",  ".lo",   ".aligned", ".param", ".nosuchmodifier"};

/// Statements that ask for too much, or for something that is not there.
constexpr std::string_view hostile[] = {
    ".reg .b32 %r<4000000000>;",
    ".reg .b64 %huge<65535>;",
    ".local .align 8 .b8 __local_depot9[99999999999];",
    ".local .align 3 .b8 odd[5];",
    ".local .align 1073741824 .b8 far[1073741824];",
    ".shared .align 0 .b8 none[4];",
    ".shared .align 4 .b8 wide[4294967295];",
    ".shared .align 2147483648 .b64 wider[536870912][536870912];",
    ".param .align 8 .b8 param9[4294967280];",
    ".param .b64 param9[536870911];",
    ".global .align 8 .b8 d_huge[18446744073709551615];",
    ".global .u32 d_many[1000000000] = {1, 2, 3};",
    ".const .align 64 .b8 c_huge[-5];",
    ".loc 1 4294967295 4294967295, function_name $L__info_string0, inlined_at 1 4294967295 4294967295",
    ".loc 1 7 0, function_name $L__info_string0, inlined_at 1 7 0",
    ".loc 4294967295 1 1",
    ".file 4294967295 \"x\"",
    "bra nowhere;",
    "brx.idx %r1, nowhere;",
    "here: bra here;",
    "call (%r1), 4294967296, (%r2), nothing;",
    "call.uni _Z3addii, (%r1);",
    "call.uni _Z9fibonaccii, ();",
    "ld.param.b64 %rd1, [%rd1+9223372036854775807];",
    "st.local.v4.b32 [-8], {%r1, %r2, %r3, %r4};",
    "ld.v8.b64 {%rd1, %rd1}, [%rd2];",
    "bar.sync 4294967295, 4294967295;",
    "bar.sync %r1, %r2;",
    "shfl.sync.idx.b32 %r1|%p1, %r2, 99, -1, 0;",
    "vote.sync.ballot.b32 %r1, %p1, 0;",
    "cp.async.bulk.shared.global [%r1], [%rd1], 1000000;",
    "cp.async.ca.shared.global [%r1], [%rd1], 16, 99;",
    "cp.async.wait_group 4294967295;",
    "atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;",
    "mbarrier.init.shared.b64 [%r1], 4294967295;",
    "redux.sync.add.s32 %r1, %r2, 0;",
    "elect.sync %r1|%p1, 0;",
    "mov.b64 {%r1, %r2, %r3, %r4}, %rd1;",
    "mov.u64 %rd1, _Z3addii;",
    "setp.lt.u32 %p1|%p1, %r1, %p1;",
    "add.cc.u32 %p1, %f1, %fd1;",
    "ret.uni;",
    "exit;",
    "trap;",
    "{",
    "}",
    "_ZNSt3mapIS_S0_S1_S2_S3_S4_S5_S6_S7_S8_S9_SA_SB_SC_SD_SE_SF_SG_SH_SI_SJ_SK_SL_SM_EvT_T0_DpT1_",
    "_ZN1AI1BI1CI1DI1EI1FI1GI1HI1II1JS0_S1_S2_S3_EEEEEEEEEE",
};

using Damage = void (*)(std::string&, const std::vector<std::string>&, Random&);

void change_byte(std::string& text, const std::vector<std::string>&, Random& random) {
  constexpr std::string_view likely = "{}[]()<>,;:@!|&^?+-.%_$0xfd\"/* \n\x01\xFF";
  text[random() % text.size()] = random() % 4 == 0 ? static_cast<char>(random()) : one_of(likely, random);
}
void remove_bytes(std::string& text, const std::vector<std::string>&, Random& random) {
  text.erase(random() % text.size(), 1 + random() % 30);
}
void double_bytes(std::string& text, const std::vector<std::string>&, Random& random) {
  const std::string piece = text.substr(random() % text.size(), 1 + random() % 100);
  text.insert(random() % text.size(), piece);
}
void remove_line(std::string& text, const std::vector<std::string>&, Random& random) {
  const auto [begin, end] = line_at(text, random() % text.size());
  text.erase(begin, end - begin);
}
void swap_lines(std::string& text, const std::vector<std::string>&, Random& random) {
  const std::string line = some_lines(text, random);
  const std::size_t at = text.find(line);
  text.erase(at, line.size());
  text.insert(text.empty() ? 0 : line_at(text, random() % text.size()).first, line);
}
void insert_foreign_lines(std::string& text, const std::vector<std::string>& others, Random& random) {
  text.insert(line_at(text, random() % text.size()).first, some_lines(one_of(others, random), random));
}
void splice(std::string& text, const std::vector<std::string>& others, Random& random) {
  const std::string& other = one_of(others, random);
  text = text.substr(0, random() % text.size()) + other.substr(random() % other.size());
}
void cut_off(std::string& text, const std::vector<std::string>&, Random& random) {
  text.resize(random() % text.size());
}
void change_number(std::string& text, const std::vector<std::string>&, Random& random) {
  std::size_t begin = text.find_first_of("0123456789", random() % text.size());
  if (begin == std::string::npos) return;
  std::size_t end = begin;
  while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
  text.replace(begin, end - begin, one_of(numbers, random));
}
void exchange_words(std::string& text, const std::vector<std::string>&, Random& random) {
  const auto [from, to] = some_word(text, random);
  const std::string word = text.substr(from, to - from);
  const auto [begin, end] = some_word(text, random);
  text.replace(begin, end - begin, word);
}
/// A place near `at`, so usually in the same function.
std::size_t near(const std::string& text, std::size_t at, Random& random) {
  const std::size_t begin = at < 600 ? 0 : at - 600;
  return begin + random() % std::min<std::size_t>(1200, text.size() - begin);
}

/// Registers take the place of others, of whatever type.
void exchange_registers(std::string& text, const std::vector<std::string>&, Random& random) {
  const auto register_at = [&](std::size_t at) {
    const std::size_t begin = text.find('%', at);
    if (begin == std::string::npos) return std::string_view();
    std::size_t end = begin + 1;
    while (end < text.size() && is_word(text[end]) && text[end] != '%') ++end;
    return std::string_view(text).substr(begin, end - begin);
  };
  const std::size_t at = random() % text.size();
  const std::string_view from = register_at(at), to = register_at(near(text, at, random));
  if (from.empty() || to.empty()) return;
  text.replace(static_cast<std::size_t>(to.data() - text.data()), to.size(), std::string(from));
}
/// The line of an instruction at or after `at`; empty when there is none nearby.
std::pair<std::size_t, std::size_t> instruction_at(const std::string& text, std::size_t at) {
  for (int lines = 0; lines < 20 && at < text.size(); ++lines) {
    const auto [begin, end] = line_at(text, at);
    if (end - begin > 2 && text[begin] == '\t' && text[begin + 1] != '.' && text[end - 2] == ';') return {begin, end};
    at = end;
  }
  return {0, 0};
}
/// Whole instructions change places.
void swap_instructions(std::string& text, const std::vector<std::string>&, Random& random) {
  const std::size_t at = random() % text.size();
  auto [begin, end] = instruction_at(text, at);
  auto [other, other_end] = instruction_at(text, near(text, at, random));
  if (begin == other) return;
  if (begin > other) std::swap(begin, other), std::swap(end, other_end);
  const std::string first = text.substr(begin, end - begin), second = text.substr(other, other_end - other);
  text.replace(other, second.size(), first);
  text.replace(begin, first.size(), second);
}
/// A modifier more, or one instead of another.
void change_modifier(std::string& text, const std::vector<std::string>&, Random& random) {
  const auto [begin, end] = instruction_at(text, random() % text.size());
  const std::size_t dot = text.find('.', begin);
  if (dot >= end) return;
  std::size_t last = dot;
  if (random() % 2 == 0)
    for (++last; last < end && std::isalnum(static_cast<unsigned char>(text[last]));) ++last;
  text.replace(dot, last - dot, one_of(modifiers, random));
}
void change_operand_number(std::string& text, const std::vector<std::string>&, Random& random) {
  auto [at, end] = instruction_at(text, random() % text.size());
  for (; at < end; ++at) {
    if (!std::isdigit(static_cast<unsigned char>(text[at])) || is_word(text[at - 1])) continue;
    std::size_t behind = at;
    while (behind < end && std::isalnum(static_cast<unsigned char>(text[behind]))) ++behind;
    text.replace(at, behind - at, one_of(numbers, random));
    return;
  }
}
void double_line(std::string& text, const std::vector<std::string>&, Random& random) {
  const auto [begin, end] = line_at(text, random() % text.size());
  const std::string line = text.substr(begin, end - begin);
  // Not far away, so that it stays in its function.
  const std::size_t at = std::min(text.size(), begin + random() % 400);
  text.insert(line_at(text, at == text.size() ? at - 1 : at).first, line);
}
void change_type(std::string& text, const std::vector<std::string>&, Random& random) {
  const std::string_view type = one_of(types, random);
  const std::size_t at = text.find("." + std::string(type), random() % text.size());
  if (at != std::string::npos) text.replace(at + 1, type.size(), one_of(types, random));
}
void add_modifier(std::string& text, const std::vector<std::string>&, Random& random) {
  const auto [begin, end] = some_word(text, random);
  const std::size_t dot = text.find('.', begin);
  text.insert(dot < end ? dot : end, one_of(modifiers, random));
}
void insert_hostile(std::string& text, const std::vector<std::string>&, Random& random) {
  text.insert(line_at(text, random() % text.size()).first, std::string(one_of(hostile, random)) + "\n");
}

/// Most of these ruin the module's syntax, the parser's part.
constexpr Damage rough[] = {change_byte,   remove_bytes,   double_bytes,  remove_line,
                            swap_lines,    splice,         cut_off,       insert_foreign_lines,
                            change_number, exchange_words, add_modifier,  insert_hostile,
                            change_number, insert_hostile, change_number, insert_hostile};
/// These often leave something that can be decoded and run.
constexpr Damage fine[] = {change_operand_number, change_type,          change_type,     change_modifier,
                           remove_line,           exchange_registers,   change_modifier, swap_instructions,
                           double_line,           change_operand_number};

}  // namespace

std::string damaged_text(std::string text, const std::vector<std::string>& others, Random& random) {
  const bool is_rough = random() % 3 == 0;
  for (auto count = 1 + random() % (is_rough ? 4 : 6); count > 0 && !text.empty(); --count)
    (is_rough ? one_of(rough, random) : one_of(fine, random))(text, others, random);
  return text;
}

std::string damaged_binary(std::string bytes, Random& random) {
  for (auto count = 1 + random() % 4; count > 0 && !bytes.empty(); --count) {
    // Usually among the headers, which are at the beginning.
    const std::size_t at =
        random() % 2 == 0 ? random() % std::min<std::size_t>(bytes.size(), 128) : random() % bytes.size();
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.replace(at, 4, std::string(4, random() % 2 == 0 ? '\xFF' : '\0'));
        break;
      case 3:
        bytes.erase(at, 1 + random() % 16);
        break;
      case 4:
        bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 64));
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

}  // namespace scanlab::fuzz
