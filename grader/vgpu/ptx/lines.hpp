// Source places: .file, .loc and the strings of .debug_str that name inlined functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "vgpu/ptx/cursor.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {

/// Fills Module::files and Module::lines while the text is read.
class LineTable {
 public:
  explicit LineTable(Module& module) : module_(module) {
    module_.files.assign(1, {});
    module_.lines.assign(1, {});
  }

  /// A `.loc` holds until the next one of the same function.
  void begin_function() {
    current_ = 0;
    first_ = 0;
    is_placed_ = true;
    call_sites_.clear();
  }

  // Of the directives below the names have been read.

  /// .file number "name" [, timestamp, size]
  void file(Cursor& cursor) {
    const std::uint64_t number = cursor.expect_integer("the number of a file", most_files);
    const std::string_view name = cursor.expect_string("the name of a file");
    while (cursor.accept(',')) cursor.expect_integer("a timestamp or a size", ~std::uint64_t{0});
    if (number == 0) return;  // DWARF 5 calls the main file 0 also; files[0] is the unknown one
    if (number >= module_.files.size()) module_.files.resize(number + 1);
    module_.files[number] = unescaped(name);
  }

  /// .loc file line column [, function_name label[+offset]] [, inlined_at file line column]
  void loc(Cursor& cursor) {
    const Place here = place(cursor);
    std::string_view label;
    std::uint64_t offset = 0;
    std::int32_t inlined_at = -1;
    while (cursor.accept(',')) {
      const std::string_view word = cursor.expect_identifier("'function_name' or 'inlined_at'");
      if (word == "function_name") {
        const TokenKind kind = cursor.peek().kind;
        if (kind != TokenKind::identifier && kind != TokenKind::directive)
          cursor.fail_expected("a label of .debug_str");
        label = cursor.take().text;
        if (cursor.accept('+')) offset = cursor.expect_integer("an offset into .debug_str", last_line);
      } else if (word == "inlined_at") {
        // The call itself was placed by an earlier .loc, which may be inlined in its turn.
        const Place call = place(cursor);
        const auto known = call_sites_.find(call);
        inlined_at = known != call_sites_.end() ? known->second : static_cast<std::int32_t>(index_of(call, -1, {}, 0));
      } else {
        cursor.fail("'.loc' does not know '" + std::string(word) + "'");
      }
    }
    is_placed_ = std::get<1>(here) != 0;
    if (!is_placed_) {
      // Code of no line of its own: the previous place goes on. Calls "at line 0" count as made by what is around them.
      call_sites_[here] = inlined_at >= 0 ? inlined_at : static_cast<std::int32_t>(current_) - (current_ == 0 ? 1 : 0);
      return;
    }
    current_ = index_of(here, inlined_at, label, offset);
    call_sites_[here] = static_cast<std::int32_t>(current_);
    if (first_ == 0) first_ = current_;
  }

  /// .section .name { … }: DWARF data, of which only the strings matter here.
  void section(Cursor& cursor) {
    const TokenKind kind = cursor.peek().kind;
    if (kind != TokenKind::directive && kind != TokenKind::identifier && kind != TokenKind::string) {
      cursor.fail_expected("the name of a section");
    }
    const std::string_view name = cursor.take().text;
    // "label:" may come between the name and the brace, as may flags.
    cursor.skip_to('{', "after the name of a section");
    if (name == "debug_str" || name == ".debug_str") {
      debug_string_section(cursor);
      return;
    }
    for (int depth = 0;;) {
      if (cursor.peek().kind == TokenKind::end) cursor.fail_expected("'}' after a section");
      const Token token = cursor.take();
      if (token.is('{')) ++depth;
      if (token.is('}') && --depth == 0) return;
    }
  }

  /// Index into Module::lines of the latest `.loc`.
  std::uint32_t current() const { return current_; }
  /// False while code of no line of its own comes (line 0).
  bool is_placed() const { return is_placed_; }
  /// The first place of the function, 0 when it has none.
  std::uint32_t first() const { return first_; }

  /// After the whole text: names the inlined functions. Their strings stand at its end.
  void finish() {
    std::map<std::pair<std::string_view, std::uint64_t>, std::string> names;
    std::uint32_t last_file = 0;
    for (const LineInfo& line : module_.lines) last_file = std::max(last_file, line.file);
    if (last_file >= module_.files.size()) module_.files.resize(last_file + 1);
    for (const InlinedFunction& inlined : inlined_) {
      const auto [entry, is_new] = names.try_emplace({inlined.label, inlined.offset});
      if (is_new) entry->second = demangle(debug_string(inlined.label, inlined.offset));
      module_.lines[inlined.line].function = entry->second;
    }
  }

 private:
  static constexpr std::uint64_t most_files = 65535;
  static constexpr std::uint64_t last_line = 0xFFFFFFFF;

  static std::string unescaped(std::string_view written) {
    std::string result;
    for (std::size_t i = 0; i < written.size(); ++i) {
      const bool escape =
          written[i] == '\\' && i + 1 < written.size() && (written[i + 1] == '\\' || written[i + 1] == '"');
      if (escape) ++i;
      result += written[i];
    }
    return result;
  }

  using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // file, line, column
  using Key = std::tuple<Place, std::int32_t, std::string_view, std::uint64_t>;

  Place place(Cursor& cursor) {
    const std::uint64_t file = cursor.expect_integer("the number of a file", most_files);
    const std::uint64_t line = cursor.expect_integer("a source line", last_line);
    const std::uint64_t column = cursor.expect_integer("a source column", last_line);
    return {file, line, column};
  }

  std::uint32_t index_of(const Place& place, std::int32_t inlined_at, std::string_view label, std::uint64_t offset) {
    const auto next = static_cast<std::uint32_t>(module_.lines.size());
    const auto [entry, is_new] = indices_.try_emplace(Key{place, inlined_at, label, offset}, next);
    if (is_new) {
      const auto [file, line, column] = place;
      module_.lines.push_back({static_cast<std::uint32_t>(file),
                               static_cast<std::uint32_t>(line),
                               static_cast<std::uint32_t>(column),
                               inlined_at,
                               {}});
      if (!label.empty()) inlined_.push_back({next, label, offset});
    }
    return entry->second;
  }

  void debug_string_section(Cursor& cursor) {
    cursor.expect('{', "before the strings");
    while (!cursor.accept('}')) {
      if (cursor.peek().kind == TokenKind::identifier) {
        string_labels_[cursor.take().text] = strings_.size();
        cursor.expect(':', "after a label");
        continue;
      }
      const std::string_view type = cursor.expect_directive("'.b8' in .debug_str");
      if (type != "b8") cursor.fail("expected '.b8' in .debug_str, found '." + std::string(type) + "'");
      do strings_ += static_cast<char>(parse_integer_constant(cursor));
      while (cursor.accept(','));
    }
  }

  std::string debug_string(std::string_view label, std::uint64_t offset) const {
    const auto known = string_labels_.find(label);
    const std::size_t begin = (known != string_labels_.end() ? known->second : 0) + offset;
    if ((known == string_labels_.end() && label != "debug_str") || begin >= strings_.size()) return {};
    return strings_.substr(begin, strings_.find('\0', begin) - begin);
  }

  struct InlinedFunction {
    std::uint32_t line;  // index into Module::lines
    std::string_view label;
    std::uint64_t offset;
  };

  Module& module_;
  std::uint32_t current_ = 0;
  std::uint32_t first_ = 0;
  bool is_placed_ = true;
  std::map<Key, std::uint32_t> indices_;
  std::map<Place, std::int32_t> call_sites_;  // of this function: where a .loc was, to its place
  std::vector<InlinedFunction> inlined_;
  std::string strings_;  // the bytes of .debug_str
  std::unordered_map<std::string_view, std::size_t> string_labels_;
};

}  // namespace scanlab::ptx
