// The names of one function body: registers, variables and labels in nested { } scopes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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

  void open(const Cursor& cursor) {
    if (scopes_.size() == deepest) cursor.fail("scopes are nested too deeply");
    scopes_.emplace_back();
  }
  /// False when only the outermost scope is left.
  bool close() {
    if (scopes_.size() == 1) return false;
    scopes_.pop_back();
    return true;
  }

  void declare_register(const Cursor& cursor, std::string_view name, Type type) { declare(cursor, name, {type, {}}); }
  /// `.reg .b32 %r<22>`: %r0 … %r21.
  void declare_registers(const Cursor& cursor, std::string_view prefix, std::uint64_t count, Type type) {
    if (count > most_registers) cursor.fail("too many registers '" + std::string(prefix) + "'");
    if (!scopes_.back().ranges.emplace(prefix, Range{count, type}).second)
      cursor.fail("the registers '" + std::string(prefix) + "' are declared twice in one scope");
  }
  void declare_variable(const Cursor& cursor, std::string_view name, std::string unique_name) {
    declare(cursor, name, {Type::none, {-1, std::move(unique_name)}});
  }

  /// The innermost declaration of `name`. A register gets its index when it is first used.
  std::optional<Binding> find(std::string_view name) {
    for (std::size_t i = scopes_.size(); i-- > 0;) {
      Scope& scope = scopes_[i];
      if (const auto known = scope.names.find(name); known != scope.names.end()) {
        Declaration& declaration = known->second;
        if (declaration.type != Type::none && declaration.binding.reg < 0)
          declaration.binding.reg = new_register(name, declaration.type);
        return declaration.binding;
      }
      if (scope.ranges.empty()) continue;
      // %r12 may be number 12 of %r<…> or number 2 of %r1<…>. No number has a leading zero.
      std::uint64_t number = 0;
      std::uint64_t place_value = 1;
      for (std::size_t split = name.size(); split-- > 1 && is_digit(name[split]) && place_value <= most_registers;) {
        number += place_value * static_cast<std::uint64_t>(name[split] - '0');
        place_value *= 10;
        if (name[split] == '0' && split + 1 < name.size()) continue;
        const auto range = scope.ranges.find(name.substr(0, split));
        if (range == scope.ranges.end() || number >= range->second.count) continue;
        const Binding binding{new_register(name, range->second.type), {}};
        scope.names.emplace(name, Declaration{range->second.type, binding});
        return binding;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t deepest = 64;
  static constexpr std::uint64_t most_registers = std::uint64_t{1} << 24;  // a declaration; only those used take memory

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

  void declare(const Cursor& cursor, std::string_view name, Declaration declaration) {
    if (!scopes_.back().names.emplace(name, std::move(declaration)).second)
      cursor.fail("'" + std::string(name) + "' is declared twice in one scope");
  }

  std::int32_t new_register(std::string_view name, Type type) {
    function_.registers.push_back({std::string(name), type});
    return static_cast<std::int32_t>(function_.registers.size() - 1);
  }

  Function& function_;
  std::vector<Scope> scopes_;
};

/// Labels, branch tables and call prototypes: a name may be used before it is declared, and again in another scope.
class LabelTable {
 public:
  enum class Kind : std::uint8_t { label, branch_table, prototype };

  explicit LabelTable(Function& function) : function_(function) { scopes_.emplace_back(); }

  void open() {
    scopes_.push_back({current_, {}});
    current_ = static_cast<std::int32_t>(scopes_.size() - 1);
  }
  void close() { current_ = at(current_).parent; }

  void define_label(const Cursor& cursor, std::string_view name) {
    function_.labels[define(cursor, Kind::label, name)] = static_cast<std::int32_t>(function_.instructions.size());
  }
  void define_prototype(const Cursor& cursor, std::string_view name) { define(cursor, Kind::prototype, name); }
  void define_branch_table(const Cursor& cursor, std::string_view name, std::vector<std::string_view> labels) {
    tables_.push_back({define(cursor, Kind::branch_table, name), current_, std::move(labels), cursor.line()});
  }
  /// Operand `operand` of the instruction that is appended next is the label `name`.
  void use(Kind kind, std::string_view name, std::size_t operand, std::uint32_t ptx_line) {
    uses_.push_back({kind, name, current_, function_.instructions.size(), operand, ptx_line});
  }

  /// At the end of the body: every use gets its unique name and its target. Throws ParseError for a missing label.
  void resolve() {
    for (const Use& use : uses_) {
      Operand& operand = function_.instructions[use.instruction].operands[use.operand];
      operand.name = find(use.kind, use.name, use.scope, use.ptx_line);
      if (use.kind == Kind::label) operand.target = function_.labels.at(operand.name);
    }
    for (const Table& table : tables_) {
      std::vector<std::string>& labels = function_.branch_targets[table.unique_name];
      for (const std::string_view name : table.labels)
        labels.push_back(find(Kind::label, name, table.scope, table.ptx_line));
    }
  }

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

  const Scope& at(std::int32_t scope) const { return scopes_[static_cast<std::size_t>(scope)]; }

  const std::string& define(const Cursor& cursor, Kind kind, std::string_view name) {
    auto& names = scopes_[static_cast<std::size_t>(current_)].names;
    const auto [entry, is_new] = names.emplace(name, Definition{kind, {}});
    if (!is_new) cursor.fail("the label '" + std::string(name) + "' is defined twice in one scope");
    return entry->second.unique_name = unique_names_.make(name);
  }

  const std::string& find(Kind kind, std::string_view name, std::int32_t scope, std::uint32_t ptx_line) const {
    static constexpr std::string_view kinds[] = {"label", "branch table", "call prototype"};
    for (; scope >= 0; scope = at(scope).parent) {
      const auto known = at(scope).names.find(name);
      if (known != at(scope).names.end() && known->second.kind == kind) return known->second.unique_name;
    }
    fail_at(ptx_line, "the " + std::string(kinds[static_cast<std::size_t>(kind)]) + " '" + std::string(name) +
                          "' is not defined in this function");
  }

  Function& function_;
  std::vector<Scope> scopes_;  // all of the body, also closed ones
  std::int32_t current_ = 0;
  UniqueNames unique_names_;
  std::vector<Use> uses_;
  std::vector<Table> tables_;
};

}  // namespace scanlab::ptx
