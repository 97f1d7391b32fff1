// Fat binaries, made here byte by byte.
#include "vgpu/ptx/fatbin.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <cstring>

using namespace scanlab::ptx;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct Image {
  std::uint16_t kind = 1;
  std::uint32_t sm = 80;
  std::string content = ".version 9.0\n";
  std::uint64_t flags = 0x11;
  std::uint32_t header_size = 80;
};

std::string image_bytes(const Image& image) {
  std::string content = image.content;
  content.append(8 - content.size() % 8, '\0');
  std::string bytes(image.header_size, '\0');
  put<std::uint16_t>(bytes, 0, image.kind);
  put<std::uint16_t>(bytes, 2, 0x101);
  put<std::uint32_t>(bytes, 4, image.header_size);
  put<std::uint64_t>(bytes, 8, content.size());
  put<std::uint32_t>(bytes, 28, image.sm);
  put<std::uint64_t>(bytes, 40, image.flags);
  return bytes + content;
}

std::string fatbin_bytes(const std::string& payload) {
  std::string bytes(16, '\0');
  put<std::uint32_t>(bytes, 0, 0xBA55ED50);
  put<std::uint16_t>(bytes, 4, 1);
  put<std::uint16_t>(bytes, 6, 16);
  put<std::uint64_t>(bytes, 8, payload.size());
  return bytes + payload;
}

std::vector<PtxImage> read(const std::string& bytes) {
  return read_fatbin(std::as_bytes(std::span(bytes)));
}

std::string error_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const FatbinError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("every PTX image comes back in order, without padding, and machine code is passed over") {
  const auto images =
      read(fatbin_bytes(image_bytes({.kind = 2, .content = "\177ELF"}) + image_bytes({.content = "first"}) +
                        image_bytes({.sm = 90, .content = "second", .header_size = 104})));
  REQUIRE(images.size() == 2);
  CHECK(images[0].sm == 80);
  CHECK(images[0].text == "first");
  CHECK(images[1].sm == 90);
  CHECK(images[1].text == "second");
}

TEST_CASE("fat binaries of several object files lie one after the other with padding between") {
  const std::string one = fatbin_bytes(image_bytes({}));
  CHECK(read(one + std::string(24, '\0') + one + std::string(8, '\0')).size() == 2);
  CHECK_THAT(error_of(one + "rubbish that goes on"), ContainsSubstring("no fat binary"));
}

TEST_CASE("what holds no readable PTX says what to do") {
  CHECK_THAT(error_of(""), ContainsSubstring("no fat binary"));
  CHECK_THAT(error_of("\177ELF, as it happens, is something else"), ContainsSubstring("no fat binary"));
  CHECK_THAT(error_of(fatbin_bytes("")), ContainsSubstring("no PTX"));
  CHECK_THAT(error_of(fatbin_bytes(image_bytes({.kind = 2}))), ContainsSubstring("code=compute_80"));
  CHECK_THAT(error_of(fatbin_bytes(image_bytes({.flags = 0x8011}))), ContainsSubstring("--no-compress"));
  CHECK_THAT(error_of(fatbin_bytes(image_bytes({.flags = 0x2011}))), ContainsSubstring("--no-compress"));
}

TEST_CASE("a fat binary that is cut off anywhere is refused") {
  const std::string whole = fatbin_bytes(image_bytes({}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(error_of(whole.substr(0, size)).empty());
  }
}

TEST_CASE("lengths that point outside the bytes are refused") {
  for (const std::uint64_t size : {std::uint64_t{1} << 32, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    CAPTURE(size);
    std::string outer = fatbin_bytes(image_bytes({}));
    put<std::uint64_t>(outer, 8, size);
    CHECK_THAT(error_of(outer), ContainsSubstring("damaged"));
    std::string inner = fatbin_bytes(image_bytes({}));
    put<std::uint64_t>(inner, 16 + 8, size);
    CHECK_THAT(error_of(inner), ContainsSubstring("damaged"));
  }
  for (const std::uint32_t size : {0U, 47U, 0xFFFFFFFFU}) {
    CAPTURE(size);
    std::string inner = fatbin_bytes(image_bytes({}));
    put<std::uint32_t>(inner, 16 + 4, size);
    CHECK_THAT(error_of(inner), ContainsSubstring("damaged"));
  }
  std::string version = fatbin_bytes(image_bytes({}));
  put<std::uint16_t>(version, 4, 2);
  CHECK_THAT(error_of(version), ContainsSubstring("version 2"));
}
