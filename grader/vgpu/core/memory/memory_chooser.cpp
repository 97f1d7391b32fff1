#include "vgpu/core/memory/memory_chooser.hpp"

namespace scanlab::vgpu {

std::uint64_t RandomChooser::next() {
  // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

unsigned RandomChooser::choose(const Question& question) {
  const std::uint64_t r = next();
  const auto count = static_cast<unsigned>(question.writes.size());
  const auto any_but_newest = static_cast<unsigned>(1 + (r >> 32) % (count - 1));
  if (question.kind != Kind::read) return r & 7 ? 0 : any_but_newest;
  return r & 1 ? 0 : r & 2 ? count - 1 : any_but_newest;
}

}  // namespace scanlab::vgpu
