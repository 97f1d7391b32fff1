// Source places: .file, .loc and the strings of .debug_str that name inlined functions.
#pragma once

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
  explicit LineTable(Module& module);

  /// A `.loc` holds until the next one of the same function.
  void begin_function();
  /// The directives' names have been read.
  void file(Cursor& cursor);
  void loc(Cursor& cursor);
  void section(Cursor& cursor);

  /// Index into Module::lines of the latest `.loc`.
  std::uint32_t current() const { return current_; }
  /// The first place of the function, 0 when it has none.
  std::uint32_t first() const { return first_; }

  /// After the whole text: names the inlined functions. Their strings stand at its end.
  void finish();

 private:
  using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // file, line, column
  using Key = std::tuple<Place, std::int32_t, std::string_view, std::uint64_t>;

  Place place(Cursor& cursor);
  std::uint32_t index_of(const Place& place, std::int32_t inlined_at, std::string_view label, std::uint64_t offset);
  void debug_string_section(Cursor& cursor);
  std::string debug_string(std::string_view label, std::uint64_t offset) const;

  struct InlinedFunction {
    std::uint32_t line;  // index into Module::lines
    std::string_view label;
    std::uint64_t offset;
  };

  Module& module_;
  std::uint32_t current_ = 0;
  std::uint32_t first_ = 0;
  std::map<Key, std::uint32_t> indices_;
  std::map<Place, std::int32_t> call_sites_;  // of this function: where a .loc was, to its place
  std::vector<InlinedFunction> inlined_;
  std::string strings_;  // the bytes of .debug_str
  std::unordered_map<std::string_view, std::size_t> string_labels_;
};

}  // namespace scanlab::ptx
