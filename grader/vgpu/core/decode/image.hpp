// A kernel made ready to run: its code and that of every function it reaches, decoded, and the layout of shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vgpu/core/decode/affine_accesses.hpp"
#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/fast_paths.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/core/run/profile.hpp"
#include "vgpu/core/warp/convergent.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

struct Image;

struct LaneBytesDeleter {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
/// Bytes aligned for lane vectors.
using LaneBytes = std::unique_ptr<std::byte[], LaneBytesDeleter>;
LaneBytes make_lane_bytes(std::size_t bytes);  ///< all 0

/// A decoded function.
struct Program {
  /// A .param variable of the function, kept in the frame: `size` bytes per lane, lane after lane.
  struct Slot {
    std::uint32_t offset = 0;  ///< of lane 0, from the frame's registers
    std::uint32_t size = 0;    ///< bytes a lane, a multiple of 8
    std::uint64_t bytes = 0;   ///< of the variable
  };
  /// A call in the code: what goes where.
  struct Call {
    const Program* callee = nullptr;  ///< null for an indirect call
    OperandRef target = 0;            ///< register with the function's address, indirect
    std::vector<Slot> arguments, results;
  };

  /// A place of the frame that holds the same bits in every lane from the beginning.
  struct Constant {
    OperandRef place = 0;
    std::uint32_t bytes = 0;  ///< of all lanes
    std::uint32_t lane_bytes = 0;
    std::uint64_t bits = 0;
  };

  /// A place of the frame that is 0 whenever a call begins: its value may be read before it is written.
  struct Blank {
    OperandRef place = 0;
    std::uint32_t bytes = 0;  ///< of all lanes
  };

  const ptx::Function* source = nullptr;
  const Image* image = nullptr;
  std::vector<Inst> code;     ///< for any warp
  ConvergentCode convergent;  ///< for warps with all lanes active; only of kernels, may be empty
  std::vector<Constant> constants;
  std::vector<Blank> blanks;
  std::vector<Slot> unwritten_slots;  ///< .param variables that may be read before anything has written them
  std::uint32_t frame_bytes = 0;
  std::optional<OperandRef> rounds;  ///< b32 lanes: how they have come here through the loops around barriers
  std::uint64_t local_bytes = 0;     ///< a lane
  std::vector<Slot> parameters, returns;
  std::vector<Call> calls;
  std::vector<std::vector<const Inst*>> jump_tables;
};

/// What an image is made for.
struct ImageOptions {
  Watched watched = Watched::nothing;
  bool fine_grain = false;    ///< a turn may end before every access to memory
  bool is_weak = false;       ///< strong accesses to global memory are those of Grid::views
  bool names_floats = false;  ///< floats are names, and add.f32 is their addition (float_names.hpp)
  /// A warp is a row of the block, 32 neighbours in x with the same y and z; or, at 16, 8, 4 or 2, it is several rows
  /// of that many, with consecutive y and the same z; at 1, nothing is known of it.
  std::uint8_t row_lanes = 1;
  bool names_elements = false;       ///< elements are names, and what computes with them is observed (element_uses.hpp)
  bool reports_dependences = false;  ///< Observer::depends
  FastPaths fast;                    ///< those that may be taken
  auto operator<=>(const ImageOptions&) const = default;
};

struct Image : ImageOptions {
  const ptx::Module* module = nullptr;
  const ptx::Function* kernel = nullptr;
  const SymbolTable* symbols = nullptr;  ///< addresses of the module's variables
  const Program* entry = nullptr;
  bool convergent = false;    ///< there is code for warps that stay together
  bool loops = false;         ///< a block may live long: there are loops or calls in the code
  bool separable = false;     ///< nothing in the code says that blocks work together, or must come in their order
  bool alike_blocks = false;  ///< nothing in the code asks which block it runs in
  std::optional<AffineAccesses> affine_accesses;  ///< of a separable kernel that calls nothing
  std::vector<std::unique_ptr<Program>> programs;
  std::unordered_map<const ptx::Function*, Program*> by_function;
  std::vector<SharedVariable> shared;  ///< by ascending offset; the dynamic array, when there is one, is the last
  std::uint64_t static_shared = 0;     ///< bytes as a GPU would count them
  std::uint64_t dynamic_offset = 0;    ///< address of the dynamic array
  std::uint32_t ranges = 0;            ///< memory instructions that remember what they hit (grid.hpp)
  std::vector<std::uint32_t> parameter_offsets;
  std::uint32_t parameter_bytes = 0;

  /// The decoded function that a function pointer points to, or null.
  const Program* function_at(Address address) const;
};

/// Decodes `kernel` and everything it can call. Throws FaultException (unsupported) naming the first instruction or
/// symbol that is not known, with its source line.
std::unique_ptr<Image> make_image(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols,
                                  const ImageOptions& options);

/// Whether it is a call through a register.
bool calls_indirectly(const ptx::Instruction& instruction);
/// What an indirect call may reach: every symbol whose address is taken anywhere in the module, since a function
/// pointer may also come from the host or from another kernel.
std::unordered_set<std::string> addresses_taken(const ptx::Module& module);

/// Offsets of kernel parameters in the parameter buffer; returns the buffer's size.
std::uint32_t layout_parameters(const ptx::Function& kernel, std::vector<std::uint32_t>& offsets);

/// Address of the k-th function of a module, as function pointers hold it.
inline Address function_address(std::size_t index) {
  return code_window + 64 + 16 * index;
}

}  // namespace scanlab::vgpu
