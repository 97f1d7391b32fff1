#include "vgpu/ptx/scope.hpp"

#include <utility>

#include "vgpu/ptx/characters.hpp"

namespace scanlab::ptx {
namespace {

constexpr std::size_t deepest_scope = 64;
constexpr std::uint64_t most_registers = std::uint64_t{1} << 24;  // of one declaration; only those used take memory

}  // namespace

void ScopeStack::open(const Cursor& cursor) {
  if (scopes_.size() == deepest_scope) cursor.fail("scopes are nested too deeply");
  scopes_.emplace_back();
}

bool ScopeStack::close() {
  if (scopes_.size() == 1) return false;
  scopes_.pop_back();
  return true;
}

void ScopeStack::declare(const Cursor& cursor, std::string_view name, Declaration declaration) {
  if (!scopes_.back().names.emplace(name, std::move(declaration)).second) {
    cursor.fail("'" + std::string(name) + "' is declared twice in one scope");
  }
}

void ScopeStack::declare_register(const Cursor& cursor, std::string_view name, Type type) {
  declare(cursor, name, {type, {}});
}

void ScopeStack::declare_registers(const Cursor& cursor, std::string_view prefix, std::uint64_t count, Type type) {
  if (count > most_registers) cursor.fail("too many registers '" + std::string(prefix) + "'");
  if (!scopes_.back().ranges.emplace(prefix, Range{count, type}).second) {
    cursor.fail("the registers '" + std::string(prefix) + "' are declared twice in one scope");
  }
}

void ScopeStack::declare_variable(const Cursor& cursor, std::string_view name, std::string unique_name) {
  declare(cursor, name, {Type::none, {-1, std::move(unique_name)}});
}

std::int32_t ScopeStack::new_register(std::string_view name, Type type) {
  function_.registers.push_back({std::string(name), type});
  return static_cast<std::int32_t>(function_.registers.size() - 1);
}

std::optional<Binding> ScopeStack::find(std::string_view name) {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    if (const auto known = scope.names.find(name); known != scope.names.end()) {
      Declaration& declaration = known->second;
      if (declaration.type != Type::none && declaration.binding.reg < 0) {
        declaration.binding.reg = new_register(name, declaration.type);
      }
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

void LabelTable::open() {
  scopes_.push_back({current_, {}});
  current_ = static_cast<std::int32_t>(scopes_.size() - 1);
}

void LabelTable::close() {
  current_ = scopes_[static_cast<std::size_t>(current_)].parent;
}

const std::string& LabelTable::define(const Cursor& cursor, Kind kind, std::string_view name) {
  auto& names = scopes_[static_cast<std::size_t>(current_)].names;
  const auto [entry, is_new] = names.emplace(name, Definition{kind, {}});
  if (!is_new) cursor.fail("the label '" + std::string(name) + "' is defined twice in one scope");
  entry->second.unique_name = unique_names_.make(name);
  return entry->second.unique_name;
}

void LabelTable::define_label(const Cursor& cursor, std::string_view name) {
  function_.labels[define(cursor, Kind::label, name)] = static_cast<std::int32_t>(function_.instructions.size());
}

void LabelTable::define_prototype(const Cursor& cursor, std::string_view name) {
  define(cursor, Kind::prototype, name);
}

void LabelTable::define_branch_table(const Cursor& cursor, std::string_view name,
                                     std::vector<std::string_view> labels) {
  tables_.push_back({define(cursor, Kind::branch_table, name), current_, std::move(labels), cursor.line()});
}

void LabelTable::use(Kind kind, std::string_view name, std::size_t operand, std::uint32_t ptx_line) {
  uses_.push_back({kind, name, current_, function_.instructions.size(), operand, ptx_line});
}

const std::string& LabelTable::find(Kind kind, std::string_view name, std::int32_t scope,
                                    std::uint32_t ptx_line) const {
  static constexpr std::string_view kinds[] = {"label", "branch table", "call prototype"};
  for (; scope >= 0; scope = scopes_[static_cast<std::size_t>(scope)].parent) {
    const auto& names = scopes_[static_cast<std::size_t>(scope)].names;
    const auto known = names.find(name);
    if (known != names.end() && known->second.kind == kind) return known->second.unique_name;
  }
  fail_at(ptx_line, "the " + std::string(kinds[static_cast<std::size_t>(kind)]) + " '" + std::string(name) +
                        "' is not defined in this function");
}

void LabelTable::resolve() {
  for (const Use& use : uses_) {
    Operand& operand = function_.instructions[use.instruction].operands[use.operand];
    operand.name = find(use.kind, use.name, use.scope, use.ptx_line);
    if (use.kind == Kind::label) operand.target = function_.labels.at(operand.name);
  }
  for (const Table& table : tables_) {
    std::vector<std::string>& labels = function_.branch_targets[table.unique_name];
    for (const std::string_view name : table.labels) {
      labels.push_back(find(Kind::label, name, table.scope, table.ptx_line));
    }
  }
}

}  // namespace scanlab::ptx
