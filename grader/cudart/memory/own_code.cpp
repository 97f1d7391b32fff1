#include "cudart/memory/own_code.hpp"

#include <execinfo.h>
#include <link.h>

#include "vgpu/server/protocol.hpp"

namespace scanlab::cudart {
namespace {

int find_own_code(dl_phdr_info* info, std::size_t, void* result) {
  auto& code = *static_cast<OwnCode*>(result);
  code.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    code.begin = info->dlpi_addr + part.p_vaddr;
    code.end = code.begin + part.p_memsz;
  }
  return 1;  // the first object is the program
}

}  // namespace

const OwnCode& own_code() {
  static const OwnCode code = [] {
    OwnCode found;
    dl_iterate_phdr(find_own_code, &found);
    return found;
  }();
  return code;
}

Frames frames_here(Address interrupted, Address caller) {
  const OwnCode& code = own_code();
  Frames own;
  if (code.holds(interrupted)) own.push_back(interrupted - code.base);
  void* frames[64];
  const int count = backtrace(frames, 64);
  bool is_past_signal = interrupted == 0, is_past_call = caller == 0;
  for (int i = 0; i < count && own.size() < server::wire::most_places; ++i) {
    const auto at = reinterpret_cast<Address>(frames[i]);
    is_past_call |= at == caller;
    if (!is_past_call) continue;
    if (!code.holds(at)) {
      is_past_signal = true;  // the C library's return from the signal handler lies between it and the fault
      continue;
    }
    if (is_past_signal && at != interrupted) own.push_back(at - code.base - 1);  // where it returns to: after the call
  }
  return own;
}

}  // namespace scanlab::cudart
