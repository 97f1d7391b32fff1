// Each target on some inputs of its own making, without libFuzzer: a part of the kit's tests, so that targets stay
// what a campaign can be run with.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

namespace {

constexpr std::size_t most_bytes = 4096;
std::mt19937 generator(7);

}  // namespace

/// What libFuzzer has for all inputs: here a byte changes, comes or goes.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  const std::size_t at = size == 0 ? 0 : generator() % size;
  const std::uint32_t how = size == 0 ? 0 : generator() % 3;
  if (how == 0 && size < most) {
    std::memmove(data + at + 1, data + at, size - at);
    ++size;
  } else if (how == 1 && size > 1) {
    std::memmove(data + at, data + at + 1, size - at - 1);
    return size - 1;
  }
  data[at] = static_cast<std::uint8_t>(generator());
  return size;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100;
  LLVMFuzzerInitialize(&argc, &argv);
  std::string input(most_bytes, '\0');
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) {
    size = LLVMFuzzerCustomMutator(reinterpret_cast<std::uint8_t*>(input.data()), size, most_bytes,
                                   static_cast<unsigned>(i));
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), size);
  }
  std::printf("%d inputs\n", count);
}
