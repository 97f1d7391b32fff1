#include "vgpu/ptx/fatbin.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace scanlab::ptx {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t fatbin_magic = 0xBA55ED50;
constexpr std::uint16_t fatbin_version = 1;
constexpr std::size_t fatbin_header = 16;
constexpr std::size_t image_header = 48;  // as far as it is read here; nvcc's have 64 bytes and more
constexpr std::uint16_t ptx_kind = 1;
constexpr std::uint64_t compressed_lz4 = 0x2000;
constexpr std::uint64_t compressed_zstd = 0x8000;

template <class T>
T read(Bytes bytes, std::size_t offset) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Splits `bytes` at `size`; fails when there are fewer.
Bytes take(Bytes& bytes, std::uint64_t size, const char* what) {
  if (size > bytes.size()) {
    throw FatbinError(std::string("damaged fat binary: ") + what + " needs " + std::to_string(size) +
                      " bytes, and there are " + std::to_string(bytes.size()));
  }
  const Bytes taken = bytes.first(size);
  bytes = bytes.subspan(size);
  return taken;
}

/// Images of one fat binary; counts those that are not PTX in `others`.
void read_images(Bytes payload, std::vector<PtxImage>& images, std::size_t& others) {
  while (!payload.empty()) {
    if (payload.size() < image_header) throw FatbinError("damaged fat binary: an image's header is cut off");
    const auto kind = read<std::uint16_t>(payload, 0);
    const auto header_size = read<std::uint32_t>(payload, 4);
    const auto payload_size = read<std::uint64_t>(payload, 8);
    const auto compressed_size = read<std::uint32_t>(payload, 16);
    const auto sm = read<std::uint32_t>(payload, 28);
    const auto flags = read<std::uint64_t>(payload, 40);
    if (header_size < image_header) throw FatbinError("damaged fat binary: an image's header is too short");
    take(payload, header_size, "an image's header");
    const Bytes content = take(payload, payload_size, "an image");
    if (kind != ptx_kind) {
      ++others;
      continue;
    }
    if (compressed_size != 0 || (flags & (compressed_lz4 | compressed_zstd)) != 0) {
      throw FatbinError("the PTX in the fat binary is compressed: compile with nvcc --no-compress");
    }
    PtxImage image{sm, std::string(reinterpret_cast<const char*>(content.data()), content.size())};
    image.text.erase(image.text.find_last_not_of('\0') + 1);
    images.push_back(std::move(image));
  }
}

}  // namespace

std::vector<Bytes> split_fatbins(Bytes bytes) {
  std::vector<Bytes> binaries;
  do {
    if (bytes.size() < fatbin_header || read<std::uint32_t>(bytes, 0) != fatbin_magic) {
      throw FatbinError("no fat binary: it does not begin with 0xBA55ED50");
    }
    const auto version = read<std::uint16_t>(bytes, 4);
    const auto header_size = read<std::uint16_t>(bytes, 6);
    const auto payload_size = read<std::uint64_t>(bytes, 8);
    if (version != fatbin_version) {
      throw FatbinError("a fat binary of version " + std::to_string(version) + " cannot be read, only version 1");
    }
    if (header_size < fatbin_header) throw FatbinError("damaged fat binary: its header is too short");
    const Bytes whole = bytes;
    take(bytes, header_size, "its header");
    take(bytes, payload_size, "its content");
    binaries.push_back(whole.first(whole.size() - bytes.size()));
    // Padding lies between the fat binaries of a linked section.
    const auto end = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    bytes = bytes.subspan(static_cast<std::size_t>(end - bytes.begin()));
  } while (!bytes.empty());
  return binaries;
}

std::vector<PtxImage> read_fatbin(Bytes bytes) {
  std::vector<PtxImage> images;
  std::size_t others = 0;
  // A linked section holds the fat binaries of several object files.
  for (const Bytes binary : split_fatbins(bytes)) {
    read_images(binary.subspan(read<std::uint16_t>(binary, 6)), images, others);
  }
  if (images.empty()) {
    throw FatbinError("the fat binary has no PTX (" + std::to_string(others) +
                      " other images): compile with nvcc -gencode arch=compute_80,code=compute_80");
  }
  return images;
}

}  // namespace scanlab::ptx
