#include "vgpu/checks/race.hpp"

namespace scanlab::vgpu {

const char* name_of(Hazard hazard) {
  switch (hazard) {
    case Hazard::write_after_read:
      return "write-after-read";
    case Hazard::read_after_write:
      return "read-after-write";
    case Hazard::write_after_write:
      return "write-after-write";
    case Hazard::warp_synchronous:
      return "warp-synchronous";
  }
  return "?";
}

const char* name_of(How::Kind kind) {
  switch (kind) {
    case How::Kind::read:
      return "read";
    case How::Kind::write:
      return "write";
    case How::Kind::atomic:
    case How::Kind::idle:
      return "atomic";
    case How::Kind::copy:
      return "async copy";
  }
  return "?";
}

const char* may_happen(Hazard hazard) {
  switch (hazard) {
    case Hazard::read_after_write:
      return "the read may come first, and find what was there before";
    case Hazard::write_after_read:
      return "the write may come first, and the read find the new value";
    case Hazard::write_after_write:
    case Hazard::warp_synchronous:
      break;
  }
  return "either value may remain";
}

std::string advice_in_block(Hazard hazard) {
  if (hazard == Hazard::warp_synchronous)
    return "both threads are of one warp, whose lanes need not go in step: only __syncwarp() or __syncthreads() orders "
           "them";
  return std::string("no barrier separates them: ") + may_happen(hazard);
}

std::string advice_on_read(ReadUse use, bool is_in_block, Hazard hazard) {
  switch (use) {
    case ReadUse::look:
      return "what is read plainly may have changed when the thread's own atomic comes: use what the atomic returns, "
             "or "
             "make the read volatile or atomic (cuda::atomic_ref)";
    case ReadUse::poll:
      return "one of them is atomic, the other is a plain read, which the compiler may move in front of a loop: make "
             "it "
             "volatile or atomic (cuda::atomic_ref)";
    case ReadUse::unknown:
      break;
  }
  if (is_in_block) return advice_in_block(hazard) + "; put __syncthreads() between them";
  return "one of them is atomic, the other is a plain read, and nothing makes it wait: read the value in a later "
         "kernel, "
         "or in the last block to finish; a flag for which a loop waits has to be volatile or atomic "
         "(cuda::atomic_ref)";
}

}  // namespace scanlab::vgpu
