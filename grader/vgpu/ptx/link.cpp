#include "vgpu/ptx/link.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace scanlab::ptx {
namespace {

using Renames = std::unordered_map<std::string, std::string>;

bool is_internal(const Variable& v) {
  return !v.is_extern && v.linkage == Linkage::internal;
}
bool is_internal(const Function& f) {
  return f.is_defined && f.linkage == Linkage::internal;
}

/// Calls `visit(symbol)` for every variable and function of the module.
template <class Visit>
void for_each_symbol(Module& module, Visit&& visit) {
  for (Variable& v : module.variables) visit(v);
  for (Function& f : module.functions) visit(f);
}

/// The names that a body declares for itself hide those of the module.
bool hides(const Function& f, const std::string& name) {
  const auto is_it = [&](const Variable& v) { return v.name == name; };
  return std::any_of(f.variables.begin(), f.variables.end(), is_it) ||
         std::any_of(f.parameters.begin(), f.parameters.end(), is_it) ||
         std::any_of(f.returns.begin(), f.returns.end(), is_it);
}

void rename_in(Operand& o, const Renames& renames) {
  if (o.kind == Operand::Kind::symbol || o.kind == Operand::Kind::address)
    if (const auto it = renames.find(o.name); it != renames.end()) o.name = it->second;
  for (Operand& e : o.elements) rename_in(e, renames);
}

void rename(Module& module, const Renames& renames) {
  if (renames.empty()) return;
  for_each_symbol(module, [&](auto& symbol) {
    if (const auto it = renames.find(symbol.name); it != renames.end()) symbol.name = it->second;
  });
  for (Variable& v : module.variables)
    for (Relocation& r : v.relocations)
      if (const auto it = renames.find(r.symbol); it != renames.end()) r.symbol = it->second;
  for (Function& f : module.functions) {
    Renames seen = renames;
    std::erase_if(seen, [&](const auto& entry) { return hides(f, entry.first); });
    for (Instruction& i : f.instructions)
      for (Operand& o : i.operands) rename_in(o, seen);
  }
}

/// Gives internal symbols names that no other module uses.
void part_internal_names(std::vector<Module>& modules) {
  std::unordered_set<std::string> taken;
  for (Module& module : modules)
    for_each_symbol(module, [&](const auto& symbol) {
      if (!is_internal(symbol)) taken.insert(symbol.name);
    });
  for (Module& module : modules) {
    Renames renames;
    for_each_symbol(module, [&](const auto& symbol) {
      if (!is_internal(symbol) || taken.insert(symbol.name).second) return;
      // The counter looks like the compiler's own, so that messages leave it out.
      for (std::size_t copy = 2;; ++copy) {
        std::string name = symbol.name + "$$" + std::to_string(copy);
        if (!taken.insert(name).second) continue;
        renames.emplace(symbol.name, std::move(name));
        break;
      }
    });
    rename(module, renames);
  }
}

class Joined {
 public:
  void add(Module module) {
    const auto first_file = static_cast<std::uint32_t>(result_.files.size());
    const auto first_line = static_cast<std::uint32_t>(result_.lines.size());
    if (std::pair(module.version_major, module.version_minor) >
        std::pair(result_.version_major, result_.version_minor)) {
      result_.version_major = module.version_major;
      result_.version_minor = module.version_minor;
    }
    result_.target_sm = std::max(result_.target_sm, module.target_sm);
    for (LineInfo& line : module.lines) {
      line.file += first_file;
      if (line.inlined_at >= 0) line.inlined_at += static_cast<std::int32_t>(first_line);
    }
    std::move(module.files.begin(), module.files.end(), std::back_inserter(result_.files));
    std::move(module.lines.begin(), module.lines.end(), std::back_inserter(result_.lines));
    for (Variable& v : module.variables) add(std::move(v));
    for (Function& f : module.functions) {
      f.line += first_line;
      for (Instruction& i : f.instructions) i.line += first_line;
      add(std::move(f));
    }
  }

  Module take() { return std::move(result_); }

 private:
  [[noreturn]] static void defined_twice(const std::string& name) {
    throw LinkError(source_name(name) + " is defined in two files of the program");
  }

  void add(Variable v) {
    if (functions_.contains(v.name)) throw LinkError(source_name(v.name) + " is a function in another file");
    Variable* other = earlier(v, result_.variables, variables_);
    if (other == nullptr) return;
    if (other->space != v.space)
      throw LinkError(source_name(v.name) + " lies in another memory space in another file of the program");
    // An open array, x[], fits every size; the arrays of dynamic shared memory are all the same one.
    if (other->size != v.size && other->size != 0 && v.size != 0 && (other->is_extern || v.is_extern))
      throw LinkError(source_name(v.name) + " has " + std::to_string(other->size) +
                      " bytes in one file of the program, " + std::to_string(v.size) + " in another");
    if (choose(*other, v, other->is_extern, v.is_extern)) *other = std::move(v);
  }

  void add(Function f) {
    if (variables_.contains(f.name)) throw LinkError(source_name(f.name) + " is a variable in another file");
    Function* other = earlier(f, result_.functions, functions_);
    if (other == nullptr) return;
    if (!same_sizes(other->parameters, f.parameters) || !same_sizes(other->returns, f.returns))
      throw LinkError(source_name(f.name) + " has other parameters or another result in another file of the program");
    if (choose(*other, f, !other->is_defined, !f.is_defined)) *other = std::move(f);
  }

  using Indices = std::unordered_map<std::string, std::size_t>;

  /// The symbol of this name; null where there was none, and this one has been added.
  template <class Symbol>
  static Symbol* earlier(Symbol& symbol, std::vector<Symbol>& all, Indices& indices) {
    const auto [known, is_new] = indices.emplace(symbol.name, all.size());
    if (!is_new) return &all[known->second];
    all.push_back(std::move(symbol));
    return nullptr;
  }

  /// Does `later` take the place of `earlier`, a symbol of the same name?
  template <class Symbol>
  static bool choose(const Symbol& earlier, const Symbol& later, bool earlier_is_declared, bool later_is_declared) {
    if (later_is_declared) return false;
    if (earlier_is_declared) return true;
    if (earlier.linkage == Linkage::visible && later.linkage == Linkage::visible) defined_twice(later.name);
    if (later.linkage == Linkage::visible) return true;
    if constexpr (std::is_same_v<Symbol, Variable>)
      return earlier.linkage == Linkage::common && later.linkage == Linkage::common && later.size > earlier.size;
    return false;
  }

  static bool same_sizes(const std::vector<Variable>& a, const std::vector<Variable>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Variable& x, const Variable& y) { return x.size == y.size; });
  }

  Module result_;
  Indices variables_, functions_;  ///< to indices in result_
};

}  // namespace

Module link(std::vector<Module> modules) {
  if (modules.size() == 1) return std::move(modules.front());
  part_internal_names(modules);
  Joined joined;
  for (Module& module : modules) joined.add(std::move(module));
  return joined.take();
}

}  // namespace scanlab::ptx
