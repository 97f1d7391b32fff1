// The functions that a submission may define, for the programs that it is linked with.
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>

#include "runner/protocol.hpp"
#include "scanlab.cuh"

// Weak: a submission without one of them still links, and its caller can say which is missing.
__attribute__((weak)) void inclusive_scan(const Element* d_x, Element* d_y, int n);
__attribute__((weak)) void exclusive_scan(const Element* d_x, Element* d_y, int n);
__attribute__((weak)) void compact(const Element* d_x, Element* d_y, int* d_kept, int n);
__attribute__((weak)) void split(const Element* d_x, Element* d_y, int* d_kept, int n);

namespace scanlab::runner {

/// A submission's function, by its parameters; both are null when it does not define it.
struct EntryFunction {
  void (*scan)(const Element*, Element*, int) = nullptr;
  void (*partition)(const Element*, Element*, int*, int) = nullptr;

  bool is_missing() const { return scan == nullptr && partition == nullptr; }
  void operator()(const void* d_x, void* d_y, void* d_kept, int n) const {
    if (scan != nullptr) {
      scan(static_cast<const Element*>(d_x), static_cast<Element*>(d_y), n);
    } else {
      partition(static_cast<const Element*>(d_x), static_cast<Element*>(d_y), static_cast<int*>(d_kept), n);
    }
  }
};

inline EntryFunction function_of(Entry entry) {
  const EntryFunction functions[] = {
      {.scan = &inclusive_scan}, {.scan = &exclusive_scan}, {.partition = &compact}, {.partition = &split}};
  const auto number = static_cast<std::size_t>(entry);
  return number < std::size(functions) ? functions[number] : EntryFunction();
}

/// An entry as a command line names it.
struct Named {
  const char* name = nullptr;
  Entry entry = Entry::inclusive_scan;
};

inline constexpr Named entries[] = {{"inclusive_scan", Entry::inclusive_scan},
                                    {"exclusive_scan", Entry::exclusive_scan},
                                    {"compact", Entry::compact},
                                    {"split", Entry::split}};

/// The entry of this name that the submission defines; null when there is none.
inline const Named* find_entry(const char* name) {
  for (const Named& each : entries) {
    if (std::strcmp(each.name, name) == 0) return function_of(each.entry).is_missing() ? nullptr : &each;
  }
  return nullptr;
}

}  // namespace scanlab::runner
