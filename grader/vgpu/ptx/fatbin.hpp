// Takes the PTX texts out of the fat binary that nvcc embeds in a host object (`.nv_fatbin`).
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace scanlab::ptx {

/// One PTX image of a fat binary.
struct PtxImage {
  unsigned sm = 0;   ///< architecture it was made for, 80 for compute_80
  std::string text;  ///< without the trailing zero
};

/// The bytes are not a fat binary, are damaged, or hold no PTX that can be read (the message says which, and what to
/// do).
struct FatbinError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All PTX images in `bytes`, in their order. The layout (not documented by NVIDIA; read off nvcc 12 and 13 output):
/// a 16-byte header {magic 0xBA55ED50, version, header size, payload size}, then per image a header with kind (1 = PTX,
/// 2 = ELF), header size, padded payload size, architecture and flags, then the payload. Every length is checked.
/// Throws FatbinError; compressed images are refused with the nvcc flag that avoids them (--no-compress).
std::vector<PtxImage> read_fatbin(std::span<const std::byte> bytes);

/// The fat binaries that lie one after the other in `bytes`: the files of a program with relocatable device code.
/// Throws FatbinError.
std::vector<std::span<const std::byte>> split_fatbins(std::span<const std::byte> bytes);

}  // namespace scanlab::ptx
