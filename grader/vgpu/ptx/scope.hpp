// The names of one function body: registers, variables and labels in nested { } scopes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/ptx/cursor.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {

/// Makes equal names distinct: "x", "x#2", "x#3" … PTX has no '#', so that no such name is taken already.
class UniqueNames {
 public:
  std::string make(std::string_view name) {
    const std::size_t copy = ++copies_[name];
    return copy == 1 ? std::string(name) : std::string(name) + "#" + std::to_string(copy);
  }

 private:
  std::unordered_map<std::string_view, std::size_t> copies_;
};

/// What a name in a body stands for.
struct Binding {
  std::int32_t reg = -1;  ///< index into Function::registers, or
  std::string variable;   ///< the unique name of a variable
};

/// Makes one flat set of names of nested scopes. Views must outlive it.
class ScopeStack {
 public:
  explicit ScopeStack(Function& function) : function_(function) { scopes_.emplace_back(); }

  void open(const Cursor& cursor);
  /// False when only the outermost scope is left.
  bool close();

  void declare_register(const Cursor& cursor, std::string_view name, Type type);
  /// `.reg .b32 %r<22>`: %r0 … %r21.
  void declare_registers(const Cursor& cursor, std::string_view prefix, std::uint64_t count, Type type);
  void declare_variable(const Cursor& cursor, std::string_view name, std::string unique_name);

  /// The innermost declaration of `name`. A register gets its index when it is first used.
  std::optional<Binding> find(std::string_view name);

 private:
  struct Declaration {
    Type type = Type::none;
    Binding binding;
  };
  struct Range {
    std::uint64_t count = 0;
    Type type = Type::none;
  };
  struct Scope {
    std::unordered_map<std::string_view, Declaration> names;
    std::unordered_map<std::string_view, Range> ranges;
  };

  void declare(const Cursor& cursor, std::string_view name, Declaration declaration);
  std::int32_t new_register(std::string_view name, Type type);

  Function& function_;
  std::vector<Scope> scopes_;
};

/// Labels, branch tables and call prototypes: a name may be used before it is declared, and again in another scope.
class LabelTable {
 public:
  enum class Kind : std::uint8_t { label, branch_table, prototype };

  explicit LabelTable(Function& function) : function_(function) { scopes_.emplace_back(); }

  void open();
  void close();

  void define_label(const Cursor& cursor, std::string_view name);
  void define_prototype(const Cursor& cursor, std::string_view name);
  void define_branch_table(const Cursor& cursor, std::string_view name, std::vector<std::string_view> labels);
  /// Operand `operand` of the instruction that is appended next is the label `name`.
  void use(Kind kind, std::string_view name, std::size_t operand, std::uint32_t ptx_line);

  /// At the end of the body: every use gets its unique name and its target. Throws ParseError for a missing label.
  void resolve();

 private:
  struct Definition {
    Kind kind = Kind::label;
    std::string unique_name;
  };
  struct Scope {
    std::int32_t parent = -1;
    std::unordered_map<std::string_view, Definition> names;
  };
  struct Use {
    Kind kind;
    std::string_view name;
    std::int32_t scope;
    std::size_t instruction;
    std::size_t operand;
    std::uint32_t ptx_line;
  };
  struct Table {
    std::string unique_name;
    std::int32_t scope;
    std::vector<std::string_view> labels;
    std::uint32_t ptx_line;
  };

  const std::string& define(const Cursor& cursor, Kind kind, std::string_view name);
  const std::string& find(Kind kind, std::string_view name, std::int32_t scope, std::uint32_t ptx_line) const;

  Function& function_;
  std::vector<Scope> scopes_;  // all of the body, also closed ones
  std::int32_t current_ = 0;
  UniqueNames unique_names_;
  std::vector<Use> uses_;
  std::vector<Table> tables_;
};

}  // namespace scanlab::ptx
