#include "vgpu/ptx/body.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "vgpu/ptx/scope.hpp"

namespace scanlab::ptx {
namespace {

constexpr int deepest_operand = 4;

// Registers that every thread has, PTX ISA chapter 10; each family once, without the digits and the ".x" after it.
constexpr std::string_view special_registers[] = {"%aggr_smem_size",
                                                  "%clock",
                                                  "%clock64",
                                                  "%clock_hi",
                                                  "%cluster_ctaid",
                                                  "%cluster_ctarank",
                                                  "%cluster_nctaid",
                                                  "%cluster_nctarank",
                                                  "%clusterid",
                                                  "%ctaid",
                                                  "%current_graph_exec",
                                                  "%dynamic_smem_size",
                                                  "%envreg",
                                                  "%globaltimer",
                                                  "%globaltimer_hi",
                                                  "%globaltimer_lo",
                                                  "%gridid",
                                                  "%is_explicit_cluster",
                                                  "%laneid",
                                                  "%lanemask_eq",
                                                  "%lanemask_ge",
                                                  "%lanemask_gt",
                                                  "%lanemask_le",
                                                  "%lanemask_lt",
                                                  "%nclusterid",
                                                  "%nctaid",
                                                  "%nsmid",
                                                  "%ntid",
                                                  "%nwarpid",
                                                  "%pm",
                                                  "%reserved_smem_offset_",
                                                  "%reserved_smem_offset_begin",
                                                  "%reserved_smem_offset_cap",
                                                  "%reserved_smem_offset_end",
                                                  "%smid",
                                                  "%stack_size",
                                                  "%tid",
                                                  "%total_smem_size",
                                                  "%warpid"};

bool is_special_register(std::string_view name) {
  const auto known = [](std::string_view n) {
    return std::ranges::find(special_registers, n) != std::end(special_registers);
  };
  if (known(name)) return true;
  if (name.ends_with("_64")) name.remove_suffix(3);  // %pm3_64
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return known(name);
}

class BodyParser {
 public:
  BodyParser(Cursor& cursor, Module& module, ModuleNames& names, LineTable& lines, Function& function)
      : cursor_(cursor),
        module_(module),
        names_(names),
        lines_(lines),
        function_(function),
        scopes_(function),
        labels_(function) {}

  void parse() {
    lines_.begin_function();
    for (const std::vector<Variable>* group : {&function_.returns, &function_.parameters}) {
      for (const Variable& variable : *group) {
        if (variable.space == StateSpace::reg) {
          scopes_.declare_register(cursor_, variable.name, variable.type);
          scopes_.find(variable.name);
        } else {
          scopes_.declare_variable(cursor_, variable.name, unique_names_.make(variable.name));
        }
      }
    }
    cursor_.expect('{', "before the body of '" + function_.name + "'");
    for (;;) {
      if (cursor_.peek().kind == TokenKind::end)
        cursor_.fail_expected("'}' after the body of '" + function_.name + "'");
      if (cursor_.accept('}')) {
        labels_.close();
        if (!scopes_.close()) break;
      } else {
        statement();
      }
    }
    labels_.resolve();
    function_.line = lines_.first();
  }

 private:
  void statement() {
    switch (cursor_.peek().kind) {
      case TokenKind::directive:
        directive();
        return;
      case TokenKind::identifier:
        if (!label()) instruction();
        return;
      default:
        break;
    }
    if (cursor_.accept('{')) {
      scopes_.open(cursor_);
      labels_.open();
    } else if (cursor_.is('@')) {
      instruction();
    } else if (!cursor_.accept(';')) {
      cursor_.fail_expected("a statement in the body of '" + function_.name + "'");
    }
  }

  void directive() {
    const Token word = cursor_.take();
    if (word.text == "loc") {
      lines_.loc(cursor_);
      place();
    } else if (word.text == "file") {
      lines_.file(cursor_);
    } else if (word.text == "reg") {
      declare_registers();
    } else if (word.text == "pragma") {
      do cursor_.expect_string("a pragma");
      while (cursor_.accept(','));
      cursor_.expect(';', "after '.pragma'");
    } else if (word.text == "extern") {
      const auto space = state_space_from_directive(cursor_.expect_directive("a state space"));
      if (!space || *space == StateSpace::reg) cursor_.fail("'.extern' needs a variable in a function");
      declare_variables(*space, true);
    } else if (const auto space = state_space_from_directive(word.text)) {
      declare_variables(*space, false);
    } else {
      fail_at(word.line, "the directive '." + std::string(word.text) + "' is not known in a function");
    }
  }

  void declare_registers() {
    const DeclarationHead head = parse_declaration_head(cursor_, StateSpace::reg);
    do {
      const std::string_view name = cursor_.expect_identifier("the name of a register");
      if (cursor_.accept('<')) {
        const std::uint64_t count = cursor_.expect_integer("the number of registers", 0xFFFFFFFF);
        cursor_.expect('>', "after the number of registers");
        scopes_.declare_registers(cursor_, name, count, head.type);
      } else {
        scopes_.declare_register(cursor_, name, head.type);
      }
    } while (cursor_.accept(','));
    cursor_.expect(';', "after the registers");
  }

  void declare_variables(StateSpace space, bool is_extern) {
    const DeclarationHead head = parse_declaration_head(cursor_, space);
    do {
      const std::string_view name = cursor_.peek().text;
      Variable variable = parse_declarator(cursor_, head, is_extern, names_.initialisers);
      // Statics of a function live as long as the module, and dynamic shared memory is one for all functions.
      if (is_extern || space == StateSpace::global || space == StateSpace::constant) {
        declare_in_module(std::move(variable), name);
        continue;
      }
      variable.name = unique_names_.make(name);
      if (names_.has(name) && variable.name == name) variable.name = unique_names_.make(name);
      scopes_.declare_variable(cursor_, name, variable.name);
      function_.variables.push_back(std::move(variable));
    } while (cursor_.accept(','));
    cursor_.expect(';', "after a variable");
  }

  void declare_in_module(Variable variable, std::string_view name) {
    if (const auto known = names_.variables.find(name); known != names_.variables.end()) {
      if (variable.is_extern) {
        scopes_.declare_variable(cursor_, name, std::string(name));
        return;
      }
      variable.name += '#';
      variable.name += std::to_string(module_.variables.size());
    } else {
      names_.variables.emplace(name, module_.variables.size());
    }
    scopes_.declare_variable(cursor_, name, variable.name);
    module_.variables.push_back(std::move(variable));
  }

  /// "name:", or a table after it. False when an instruction begins here.
  bool label() {
    if (!cursor_.ahead().is(':')) return false;
    const std::string_view name = cursor_.take().text;
    cursor_.take();
    if (cursor_.accept_directive("branchtargets")) {
      std::vector<std::string_view> labels;
      do labels.push_back(cursor_.expect_identifier("a label"));
      while (cursor_.accept(','));
      cursor_.expect(';', "after '.branchtargets'");
      labels_.define_branch_table(cursor_, name, std::move(labels));
    } else if (cursor_.at_directive("callprototype") || cursor_.at_directive("calltargets")) {
      cursor_.skip_to(';', "after a call prototype");
      cursor_.take();
      labels_.define_prototype(cursor_, name);
    } else {
      labels_.define_label(cursor_, name);
      begin_block();
    }
    return true;
  }

  std::int32_t register_index(std::string_view name) {
    const auto binding = scopes_.find(name);
    if (!binding || binding->reg < 0) cursor_.fail("the register '" + std::string(name) + "' is not declared");
    return binding->reg;
  }

  void instruction() {
    Instruction instruction;
    instruction.ptx_line = cursor_.line();
    instruction.line = lines_.current();
    if (cursor_.accept('@')) {
      instruction.guard_negated = cursor_.accept('!');
      instruction.guard = register_index(cursor_.expect_identifier("a predicate after '@'"));
    }
    instruction.opcode = cursor_.expect_identifier("an instruction");
    while (cursor_.peek().kind == TokenKind::directive) instruction.modifiers.emplace_back(cursor_.take().text);
    if (instruction.opcode == "call") {
      call(instruction);
    } else if (!cursor_.is(';')) {
      operands(instruction);
    }
    if (!cursor_.accept(';')) cursor_.fail_expected("',' or ';' after an operand of '" + instruction.spelling() + "'");
    static constexpr std::string_view ends_block[] = {"bra", "brx", "ret", "exit"};
    const bool is_last = std::ranges::find(ends_block, instruction.opcode) != std::end(ends_block);
    function_.instructions.push_back(std::move(instruction));
    if (is_last) begin_block();
  }

  void begin_block() {
    block_ = function_.instructions.size();
    is_unplaced_ = !lines_.is_placed();
  }

  /// A place has been read. A compiler that moves code to an earlier block gives it no line: what begins a block
  /// without one belongs to the first place in it, and not to the block before.
  void place() {
    if (!lines_.is_placed()) {
      is_unplaced_ |= block_ == function_.instructions.size();
      return;
    }
    for (std::size_t k = block_; k < function_.instructions.size() && is_unplaced_; ++k)
      function_.instructions[k].line = lines_.current();
    is_unplaced_ = false;
  }

  void operands(Instruction& instruction) {
    const bool is_branch = instruction.opcode == "bra";
    const bool is_table_branch = instruction.opcode == "brx";
    do {
      const std::size_t position = instruction.operands.size();
      if (is_branch && position == 0) {
        instruction.operands.push_back(label_operand(LabelTable::Kind::label, position));
      } else if (is_table_branch && position == 1) {
        instruction.operands.push_back(label_operand(LabelTable::Kind::branch_table, position));
      } else {
        instruction.operands.push_back(operand(0));
      }
    } while (cursor_.accept(','));
  }

  // call (returns), callee, (arguments), prototype: always made into the first three operands, and the fourth if
  // written.
  void call(Instruction& instruction) {
    Operand nothing;
    nothing.kind = Operand::Kind::vector;
    instruction.operands.assign(3, nothing);
    if (cursor_.is('(')) {
      instruction.operands[0] = vector('(', ')', 0);
      cursor_.expect(',', "after the return parameters of a call");
    }
    if (cursor_.peek().kind != TokenKind::identifier) cursor_.fail_expected("the function that is called");
    instruction.operands[1] = named_operand();
    if (!cursor_.accept(',')) return;
    if (cursor_.is('(')) {
      instruction.operands[2] = vector('(', ')', 0);
      if (!cursor_.accept(',')) return;
    }
    instruction.operands.push_back(label_operand(LabelTable::Kind::prototype, 3));
  }

  Operand label_operand(LabelTable::Kind kind, std::size_t position) {
    Operand result;
    result.kind = Operand::Kind::label;
    const std::uint32_t line = cursor_.line();
    labels_.use(kind, cursor_.expect_identifier("a label"), position, line);
    return result;
  }

  Operand operand(int depth) {
    if (depth > deepest_operand) cursor_.fail("an operand is nested too deeply");
    const Token& token = cursor_.peek();
    if (cursor_.is('[')) return address(depth);
    if (cursor_.is('{')) return vector('{', '}', depth);
    if (cursor_.is('!') && cursor_.ahead().kind == TokenKind::identifier) {
      cursor_.take();
      Operand result;
      result.kind = Operand::Kind::reg;
      result.negated = true;
      result.reg = register_index(cursor_.expect_identifier("a predicate after '!'"));
      return result;
    }
    if (cursor_.is('-') && cursor_.ahead().kind == TokenKind::identifier && scopes_.find(cursor_.ahead().text)) {
      cursor_.take();
      Operand result = named_operand();
      if (result.kind != Operand::Kind::reg) cursor_.fail("only a register can be negated");
      result.negated = true;
      return result;
    }
    if (begins_constant(token)) {
      const Constant constant = parse_constant(cursor_);
      Operand result;
      result.kind = constant.kind == Constant::Kind::integer ? Operand::Kind::integer : Operand::Kind::floating;
      result.is_single = constant.kind == Constant::Kind::single;
      result.bits = constant.bits;
      return result;
    }
    if (token.kind != TokenKind::identifier) cursor_.fail_expected("an operand");

    Operand first = named_operand();
    if (!cursor_.accept('|')) return first;
    if (cursor_.peek().kind != TokenKind::identifier) cursor_.fail_expected("a second destination after '|'");
    Operand result;
    result.kind = Operand::Kind::pair;
    result.elements.push_back(std::move(first));
    result.elements.push_back(named_operand());
    for (const Operand& element : result.elements) {
      if (element.kind != Operand::Kind::reg && element.kind != Operand::Kind::sink) {
        cursor_.fail("the destinations of 'a|b' must be registers");
      }
    }
    return result;
  }

  /// Sets `reg`, or `name` to the unique name of a variable or the name of a symbol.
  void named(Operand& operand, std::string_view name) {
    if (auto binding = scopes_.find(name)) {
      operand.reg = binding->reg;
      operand.name = std::move(binding->variable);
      return;
    }
    if (name.starts_with('%')) cursor_.fail("the register '" + std::string(name) + "' is not declared");
    if (!names_.has(name)) names_.initialisers.uses.push_back({name, cursor_.line()});
    operand.name = name;
  }

  Operand named_operand() {
    Operand result;
    const std::string_view name = cursor_.take().text;
    if (name == "_") return result;
    const bool has_suffix = cursor_.peek().kind == TokenKind::directive;
    if (is_special_register(name) && !scopes_.find(name)) {
      result.kind = Operand::Kind::special;
      result.name = name;
      if (has_suffix) result.name += "." + std::string(cursor_.take().text);
      return result;
    }
    named(result, name);
    if (has_suffix) {
      if (result.reg < 0) cursor_.fail("'" + std::string(name) + "' is no register, so it has no parts");
      result.part = cursor_.take().text;
    }
    result.kind = result.reg >= 0 ? Operand::Kind::reg : Operand::Kind::symbol;
    if (result.reg < 0 && (cursor_.is('+') || cursor_.is('-'))) result.offset = parse_integer_constant(cursor_);
    return result;
  }

  // [register+offset], [symbol+offset], [absolute]; further parts of a texture's or a tensor's address go to
  // `elements`.
  Operand address(int depth) {
    Operand result;
    result.kind = Operand::Kind::address;
    cursor_.take();
    if (cursor_.peek().kind == TokenKind::identifier && cursor_.peek().text != "WARP_SZ") {
      named(result, cursor_.take().text);
      if (cursor_.is('+') || cursor_.is('-')) result.offset = parse_integer_constant(cursor_);
    } else {
      result.bits = static_cast<std::uint64_t>(parse_integer_constant(cursor_));
    }
    while (cursor_.accept(',')) result.elements.push_back(operand(depth + 1));
    cursor_.expect(']', "after an address");
    return result;
  }

  Operand vector(char open, char close, int depth) {
    Operand result;
    result.kind = Operand::Kind::vector;
    cursor_.expect(open, "before a list of operands");
    if (open == '(' && cursor_.accept(close)) return result;
    do result.elements.push_back(operand(depth + 1));
    while (cursor_.accept(','));
    cursor_.expect(close, "after a list of operands");
    return result;
  }

  Cursor& cursor_;
  Module& module_;
  ModuleNames& names_;
  LineTable& lines_;
  std::size_t block_ = 0;     ///< its first instruction
  bool is_unplaced_ = false;  ///< what it began with had no line, nor what has come since
  Function& function_;
  ScopeStack scopes_;
  LabelTable labels_;
  UniqueNames unique_names_;
};

}  // namespace

void parse_body(Cursor& cursor, Module& module, ModuleNames& names, LineTable& lines, Function& function) {
  BodyParser(cursor, module, names, lines, function).parse();
}

}  // namespace scanlab::ptx
