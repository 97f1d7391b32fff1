// What the parser makes of a PTX text: symbols, functions and instructions, each with its source line.
//
// The tree keeps PTX's own vocabulary (PTX ISA, chapters 4 to 7) and resolves only what needs no knowledge of single
// instructions: registers become indices, labels become instruction indices. Whether an instruction exists is the
// decoder's business (core/decode).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scanlab::ptx {

enum class StateSpace : std::uint8_t { generic, reg, param, global, shared, local, constant };

/// Floats last, and signed integers side by side: is_float and is_signed rely on it.
enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
};

/// Bytes that one value of `type` takes in memory; 0 for `none` and `pred`.
std::uint32_t size_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);
/// `.u32` → Type::u32 …; `none` for a suffix that is not a type.
Type type_from_suffix(std::string_view suffix);
/// Type::u32 → "u32"; empty for `none`.
std::string_view name_of(Type type);

/// A place in the learner's source, from `.loc`. `line` 0 means unknown. Inlined code has the chain of calls behind it:
/// `inlined_at` is an index into Module::lines (or -1), `function` the demangled name of the inlined function (or
/// empty).
struct LineInfo {
  std::uint32_t file = 0;  ///< index into Module::files; files[0] is the empty name
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::int32_t inlined_at = -1;
  std::string function;
};

/// An address written into a variable's initialiser: `size` bytes at `offset` hold (address of `symbol`) + `addend`.
struct Relocation {
  std::uint64_t offset = 0;
  std::uint32_t size = 8;
  std::string symbol;
  std::int64_t addend = 0;
  bool generic = false;  ///< written as generic(symbol)
};

/// Which other files of a program see a symbol, and whether they may define it too (PTX ISA, "Linking Directives").
enum class Linkage : std::uint8_t {
  internal,  ///< this file only
  visible,   ///< one definition in the whole program
  weak,      ///< any of several definitions: templates, inline functions
  common,    ///< the largest of several definitions
};

/// A variable or a parameter. `size` 0 with `is_extern` is the unsized dynamic shared array.
struct Variable {
  std::string name;  ///< as in PTX, mangled
  StateSpace space = StateSpace::generic;
  Type type = Type::none;
  std::uint32_t align = 1;
  std::uint64_t size = 0;  ///< bytes, all elements together
  bool is_extern = false;
  bool is_managed = false;              ///< a __managed__ variable
  Linkage linkage = Linkage::internal;  ///< of a definition at module scope
  std::vector<std::byte> init;          ///< empty, or `size` bytes
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type = Type::none;
};

struct Operand {
  enum class Kind : std::uint8_t {
    reg,       ///< `reg`; `negated` for !%p and -%r, `part` for %r.h1 (video instructions)
    special,   ///< `name` with its suffix, "%tid.x"
    integer,   ///< `bits`, two's complement
    floating,  ///< `bits`: IEEE double when written 0d… or as decimal, IEEE single (low half) when written 0f…; see
               ///< `is_single`
    symbol,    ///< `name` (+ `offset`): variable or function whose address is meant, "foo+8"
    address,   ///< [base + offset]: base is `reg`, or `name`, or neither (absolute in `bits`)
    vector,    ///< {a, b, …} or (a, b, …) of a call, in `elements`
    label,     ///< branch target: `target` (instruction index); call prototypes and branch tables keep `name`
    sink,      ///< `_`
    pair,      ///< p|q: two destinations in `elements`
  };
  Kind kind = Kind::sink;
  bool negated = false;
  bool is_single = false;
  std::int32_t reg = -1;  ///< index into Function::registers
  std::int32_t target = -1;
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::string name;
  std::string part;  ///< what stands after a register, "h1"; empty for the whole
  std::vector<Operand> elements;
};

struct Instruction {
  std::string opcode;                  ///< "add", "ld", "bar"; without modifiers
  std::vector<std::string> modifiers;  ///< in order, without dots: {"rn", "f32"}, {"to", "global", "u64"}; "::" kept
  std::int32_t guard = -1;             ///< register index of @p, or -1
  bool guard_negated = false;
  std::vector<Operand> operands;
  std::uint32_t line = 0;      ///< index into Module::lines; 0 is the unknown place
  std::uint32_t ptx_line = 0;  ///< 1-based line in the PTX text

  bool has(std::string_view modifier) const;
  bool has_any(std::initializer_list<std::string_view> some) const;
  /// "add.rn.f32", for messages.
  std::string spelling() const;
};

struct Function {
  std::string name;       ///< as in PTX, mangled
  bool is_entry = false;  ///< a kernel
  bool is_defined = false;
  Linkage linkage = Linkage::internal;  ///< of a definition
  std::uint32_t line = 0;               ///< index into Module::lines: the first .loc of the body
  std::vector<Variable> parameters;     ///< space param
  std::vector<Variable> returns;        ///< space param (or reg in old PTX)
  std::vector<Register> registers;      ///< the registers that the body uses, also those declared in nested { } scopes
  std::vector<Variable> variables;      ///< .shared, .local and .param variables declared in the body (names unique: a
                                        ///< name declared again in another scope is renamed by the parser, "param0#2")
  std::vector<Instruction> instructions;
  std::unordered_map<std::string, std::int32_t> labels;                      ///< label → instruction index
  std::unordered_map<std::string, std::vector<std::string>> branch_targets;  ///< .branchtargets tables: labels
  std::uint32_t max_threads = 0;                                             ///< .maxntid x*y*z, 0 when absent
  std::uint32_t required_threads[3]{};                                       ///< .reqntid
};

struct Module {
  std::uint32_t version_major = 0, version_minor = 0;
  std::uint32_t target_sm = 0;      ///< 80 for sm_80
  std::vector<std::string> files;   ///< by the numbers of .file; unused numbers are empty
  std::vector<LineInfo> lines;      ///< lines[0] is the unknown place
  std::vector<Variable> variables;  ///< module scope: .global .const .shared (extern too)
  std::vector<Function> functions;  ///< definitions; a declaration is kept only when no definition follows

  const Function* find_function(std::string_view name) const;
};

/// The text is not PTX that this parser reads. `ptx_line` is 1-based.
struct ParseError : std::runtime_error {
  ParseError(const std::string& what, std::uint32_t line) : std::runtime_error(what), ptx_line(line) {}
  std::uint32_t ptx_line;
};

/// Parses one PTX module (PTX ISA 6 to 9, what nvcc 12 and 13 emit). Throws ParseError; never crashes on damaged text.
Module parse(std::string_view text);

/// `_ZZ2ksIfEvPKT_PS0_iE2xy` → "xy", `_Z2ksPf` → "ks": the name a learner wrote. Unmangled names come back as they are.
std::string source_name(const std::string& mangled);

/// `_ZZ1kPiE3sum_$_1` → "[1]": of a variable that is an element of an array, which nvcc has taken apart because all its
/// indices are constants, which element that is; of a struct, which member. Of any other name empty.
std::string source_piece(const std::string& mangled);
/// The whole demangled signature, "void ks<float>(float const*, int)".
std::string demangle(const std::string& mangled);

}  // namespace scanlab::ptx
