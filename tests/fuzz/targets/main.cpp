// All targets in one program, which SCANLAB_FUZZ chooses from by name: they share most of what is compiled.
#include <algorithm>
#include <array>
#include <cstring>

#include "targets.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

namespace scanlab::fuzz {
namespace {

constexpr std::array all = {&ptx_target,     &kernels_target, &fatbin_target,
                            &session_target, &runner_target,  &plan_target};

const Target* chosen = nullptr;

/// Inputs that pieces are taken from, each at a place of its own by its hash.
std::vector<std::string> others;
constexpr std::size_t most_others = 256;

void remember(const std::string& input) {
  const std::size_t place = std::hash<std::string>{}(input) % most_others;
  if (place < others.size())
    others[place] = input;
  else
    others.push_back(input);
}

}  // namespace

std::size_t change_bytes(std::uint8_t* data, std::size_t size, std::size_t most) {
  return LLVMFuzzerMutate(data, size, most);
}

std::string change_records(std::string input, std::size_t bytes, const std::vector<std::string>& others,
                           Random& random) {
  const std::size_t count = input.size() / bytes;
  const auto at = [&] { return count == 0 ? 0 : random() % count * bytes; };
  const auto some_record = [&] {
    const std::string& other = random() % 2 == 0 || others.empty() ? input : others[random() % others.size()];
    if (other.size() < bytes) return std::string(bytes, '\0');
    return other.substr(random() % (other.size() / bytes) * bytes, bytes);
  };
  switch (count == 0 ? 0 : random() % 6) {
    case 0:
      input.insert(at(), some_record());
      break;
    case 1:
      input.erase(at(), bytes);
      break;
    case 2: {
      const std::string moved = input.substr(at(), bytes);
      input.insert(at(), moved);
      break;
    }
    case 3:  // one number of a record becomes another's
      input.replace(at() + random() % (bytes / 2) * 2, 2, some_record().substr(random() % (bytes / 2) * 2, 2));
      break;
    default: {
      const std::size_t begin = at();
      std::string record = input.substr(begin, bytes);
      const std::size_t size =
          change_bytes(reinterpret_cast<std::uint8_t*>(record.data()), record.size(), record.size());
      record.resize(size);
      record.resize(bytes);
      input.replace(begin, bytes, record);
    }
  }
  return input;
}

}  // namespace scanlab::fuzz

using namespace scanlab::fuzz;

int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("SCANLAB_FUZZ");
  for (const Target* target : all)
    if (name != nullptr && target->name == name) chosen = target;
  if (chosen == nullptr) {
    std::fputs("SCANLAB_FUZZ must be one of:", stderr);
    for (const Target* target : all) std::fprintf(stderr, " %.*s", int(target->name.size()), target->name.data());
    std::fputs("\n", stderr);
    std::exit(2);
  }
  setenv("SCANLAB_THREADS", "1", 1);
  if (chosen->begin != nullptr) chosen->begin();
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({data, size});
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  Random random(seed);
  std::string input(reinterpret_cast<const char*>(data), size);
  remember(input);
  const std::string changed = chosen->change(input, others, random);
  if (changed.empty() || changed.size() > most || changed == input) return change_bytes(data, size, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
