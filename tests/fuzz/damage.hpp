// Random damage to PTX texts and fat binaries.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace scanlab::fuzz {

using Random = std::mt19937_64;

/// One to six pieces of damage; `others` are texts that pieces are taken from.
std::string damaged_text(std::string text, const std::vector<std::string>& others, Random& random);

/// Bytes changed, removed, doubled or cut off, the headers' fields above all.
std::string damaged_binary(std::string bytes, Random& random);

}  // namespace scanlab::fuzz
