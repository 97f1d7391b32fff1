// The module level: versions, variables, functions and their directives.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>

#include "vgpu/ptx/body.hpp"
#include "vgpu/ptx/cursor.hpp"
#include "vgpu/ptx/declaration.hpp"
#include "vgpu/ptx/lines.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::ptx {
namespace {

constexpr std::size_t largest_text = std::size_t{1} << 26;  // bytes; the tree takes some fifty times as much
constexpr std::uint64_t most_threads = std::uint64_t{1} << 31;

/// Of a few digits; 0 where the text begins with none.
std::uint32_t leading_number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : cursor_(text), lines_(module_) {}

  Module parse() {
    while (cursor_.peek().kind != TokenKind::end) {
      if (!cursor_.accept(';')) item();
    }
    if (module_.version_major == 0) cursor_.fail("the text has no '.version': it is no PTX");
    lines_.finish();
    make_aliases();
    check_symbols();
    return std::move(module_);
  }

 private:
  struct Directives {
    bool is_extern = false;
    Linkage linkage = Linkage::internal;
    bool may_repeat() const { return linkage == Linkage::weak || linkage == Linkage::common; }
  };

  struct Alias {
    std::string_view name;
    std::string_view target;
    std::uint32_t ptx_line;
  };

  void item() {
    if (cursor_.peek().kind != TokenKind::directive) cursor_.fail_expected("a directive");
    const Token word = cursor_.take();
    if (word.text == "version") {
      version();
    } else if (word.text == "target") {
      target();
    } else if (word.text == "address_size") {
      if (cursor_.expect_integer("the size of addresses", 64) != 64) cursor_.fail("addresses must have 64 bits");
    } else if (word.text == "file") {
      lines_.file(cursor_);
    } else if (word.text == "loc") {
      lines_.loc(cursor_);
    } else if (word.text == "section") {
      lines_.section(cursor_);
    } else if (word.text == "pragma") {
      strings();
      cursor_.expect(';', "after '.pragma'");
    } else if (word.text == "alias") {
      alias();
    } else {
      declaration(word);
    }
  }

  void version() {
    const Token number = cursor_.take();
    const std::size_t dot = number.text.find('.');
    const bool is_version = number.kind == TokenKind::real && dot != std::string_view::npos && dot <= 3 &&
                            number.text.size() - dot <= 3 &&
                            number.text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!is_version) fail_at(number.line, "expected a version such as 9.0, found " + spelling(number));
    module_.version_major = leading_number(number.text.substr(0, dot));
    module_.version_minor = leading_number(number.text.substr(dot + 1));
  }

  // .target sm_80, debug
  void target() {
    do {
      const std::string_view name = cursor_.expect_identifier("a target such as sm_80");
      if (name.starts_with("sm_")) module_.target_sm = leading_number(name.substr(3, 4));
    } while (cursor_.accept(','));
  }

  void strings() {
    do cursor_.expect_string("a string");
    while (cursor_.accept(','));
  }

  void alias() {
    const std::uint32_t line = cursor_.line();
    const std::string_view name = cursor_.expect_identifier("the name of a function");
    cursor_.expect(',', "in '.alias'");
    aliases_.push_back({name, cursor_.expect_identifier("the name of a function"), line});
    cursor_.expect(';', "after '.alias'");
  }

  void declaration(Token word) {
    static constexpr std::pair<std::string_view, Linkage> linkages[] = {
        {"weak", Linkage::weak}, {"common", Linkage::common}, {"visible", Linkage::visible}};
    Directives directives;
    for (;;) {
      const auto linkage = std::ranges::find(linkages, word.text, &std::pair<std::string_view, Linkage>::first);
      if (linkage != std::end(linkages))
        directives.linkage = linkage->second;
      else if (word.text == "extern")
        directives.is_extern = true;
      else
        break;
      if (cursor_.peek().kind != TokenKind::directive) cursor_.fail_expected("a declaration");
      word = cursor_.take();
    }
    if (word.text == "entry" || word.text == "func") {
      function(word.text == "entry", directives);
    } else if (const auto space = state_space_from_directive(word.text);
               space && *space != StateSpace::reg && *space != StateSpace::param) {
      variables(*space, directives);
    } else {
      fail_at(word.line, "the directive '." + std::string(word.text) + "' is not known at module level");
    }
  }

  void variables(StateSpace space, Directives directives) {
    const DeclarationHead head = parse_declaration_head(cursor_, space);
    do {
      const Token name = cursor_.peek();
      add_variable(name, parse_declarator(cursor_, head, directives.is_extern, names_.initialisers), directives);
    } while (cursor_.accept(','));
    cursor_.expect(';', "after a variable");
  }

  void add_variable(const Token& name, Variable variable, Directives directives) {
    variable.linkage = directives.linkage;
    if (names_.functions.contains(name.text)) fail_at(name.line, spelling(name) + " is a function already");
    const auto [known, is_new] = names_.variables.emplace(name.text, module_.variables.size());
    if (is_new) {
      module_.variables.push_back(std::move(variable));
      return;
    }
    Variable& earlier = module_.variables[known->second];
    if (earlier.is_extern && !variable.is_extern) {
      earlier = std::move(variable);
    } else if (!variable.is_extern && !directives.may_repeat()) {
      fail_at(name.line, "the variable " + spelling(name) + " is defined twice");
    }
  }

  std::vector<Variable> parameters() {
    std::vector<Variable> result;
    cursor_.expect('(', "before parameters");
    if (cursor_.accept(')')) return result;
    do result.push_back(parse_parameter(cursor_));
    while (cursor_.accept(','));
    cursor_.expect(')', "after parameters");
    return result;
  }

  void function(bool is_entry, Directives directives) {
    Function function;
    function.is_entry = is_entry;
    function.linkage = directives.linkage;
    while (cursor_.peek().kind == TokenKind::directive) function_directive(function);  // .attribute(…)
    if (cursor_.is('(')) function.returns = parameters();
    const Token name = cursor_.peek();
    function.name = cursor_.expect_identifier("the name of a function");
    if (cursor_.is('(')) function.parameters = parameters();
    while (cursor_.peek().kind == TokenKind::directive) function_directive(function);

    if (names_.variables.contains(name.text)) fail_at(name.line, spelling(name) + " is a variable already");
    const auto [known, is_new] = names_.functions.emplace(name.text, module_.functions.size());
    const std::size_t index = known->second;
    if (is_new) module_.functions.push_back(function);
    if (cursor_.accept(';')) return;
    if (directives.is_extern) cursor_.fail_expected("';' after an external function");
    if (module_.functions[index].is_defined) {
      fail_at(name.line, "the function " + spelling(name) + " is defined twice");
    }
    function.is_defined = true;
    parse_body(cursor_, module_, names_, lines_, function);
    module_.functions[index] = std::move(function);
  }

  void function_directive(Function& function) {
    static constexpr std::string_view with_numbers[] = {
        "minnctapersm",      "maxnctapersm",   "maxnreg",      "minnreg",
        "reqnctapercluster", "maxclusterrank", "abi_preserve", "abi_preserve_control",
    };
    static constexpr std::string_view alone[] = {"noreturn", "explicitcluster", "blocksareclusters", "unique"};
    const Token word = cursor_.take();
    const auto is_in = [&](const auto& list) { return std::ranges::find(list, word.text) != std::end(list); };
    std::uint32_t shape[3] = {1, 1, 1};
    if (word.text == "maxntid") {
      function.max_threads = numbers(shape);
    } else if (word.text == "reqntid") {
      numbers(shape);
      std::copy(std::begin(shape), std::end(shape), std::begin(function.required_threads));
    } else if (is_in(with_numbers)) {
      numbers(shape);
    } else if (word.text == "pragma") {
      strings();
      cursor_.accept(';');
    } else if (word.text == "attribute") {
      cursor_.skip_to(')', "after the attributes");
      cursor_.take();
    } else if (!is_in(alone)) {
      fail_at(word.line, "the directive '." + std::string(word.text) + "' is not known for a function");
    }
  }

  /// One to three numbers and their product.
  std::uint32_t numbers(std::uint32_t (&shape)[3]) {
    std::uint64_t product = 1;
    std::size_t count = 0;
    do {
      if (count == 3) cursor_.fail("a directive has more than three numbers");
      shape[count] = static_cast<std::uint32_t>(cursor_.expect_integer("a number of threads or blocks", most_threads));
      if (__builtin_mul_overflow(product, std::uint64_t{shape[count]}, &product) || product > most_threads) {
        cursor_.fail("a directive's numbers are too large");
      }
      ++count;
    } while (cursor_.accept(','));
    return static_cast<std::uint32_t>(product);
  }

  void make_aliases() {
    for (const Alias& alias : aliases_) {
      const auto target = names_.functions.find(alias.target);
      const auto declared = names_.functions.find(alias.name);
      if (target == names_.functions.end() || declared == names_.functions.end()) {
        fail_at(alias.ptx_line, "'.alias' needs two functions declared before it");
      }
      Function copy = module_.functions[target->second];
      copy.name = alias.name;
      module_.functions[declared->second] = std::move(copy);
    }
  }

  void check_symbols() const {
    for (const SymbolUse& use : names_.initialisers.uses) {
      if (!names_.has(use.name)) fail_at(use.ptx_line, "'" + std::string(use.name) + "' is not declared");
    }
  }

  Cursor cursor_;
  Module module_;
  ModuleNames names_;
  LineTable lines_;
  std::vector<Alias> aliases_;
};

}  // namespace

Module parse(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  if (text.size() > largest_text) fail_at(1, "the text is too large");
  return ModuleParser(text).parse();
}

bool Instruction::has(std::string_view modifier) const {
  return std::ranges::find(modifiers, modifier) != modifiers.end();
}

bool Instruction::has_any(std::initializer_list<std::string_view> some) const {
  return std::ranges::any_of(some, [&](std::string_view modifier) { return has(modifier); });
}

std::string Instruction::spelling() const {
  std::string result = opcode;
  for (const std::string& modifier : modifiers) result += "." + modifier;
  return result;
}

const Function* Module::find_function(std::string_view name) const {
  const auto found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace scanlab::ptx
