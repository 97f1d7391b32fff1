// The frames between the judge and a runner process: plain data of fixed size over one stream socket, judge first.
//
// The runner sends one Done with the status `ready` when its main() begins. Then the judge sends a Call, the runner
// answers it with a Done, and so on until the judge closes the socket. Both sides are built from this header on one
// machine, so bytes are in the machine's own order. Nothing in a Done is evidence: the judge looks at its own memory.
#pragma once

#include <cstdint>
#include <type_traits>

namespace scanlab::runner {

inline constexpr std::uint32_t call_magic = 0x53434333;  ///< changes with every change of the frames
inline constexpr std::uint32_t done_magic = 0x53434432;

/// Names of the environment variables that hold the numbers of inherited descriptors.
inline constexpr char fd_variable[] = "SCANLAB_RUNNER_FD";  ///< this protocol
inline constexpr char vgpu_variable[] = "SCANLAB_VGPU_FD";  ///< the virtual GPU, read by its CUDA runtime

enum class Entry : std::uint32_t { inclusive_scan = 0, exclusive_scan = 1, compact = 2, split = 3 };

/// Device memory, as the runner's process can reach it.
struct DevicePointer {
  enum class How : std::uint32_t {
    address,  ///< `address` is good as it is (the virtual GPU)
    ipc,      ///< cudaIpcOpenMemHandle(`handle`) + `offset` (a GPU); `allocation` distinguishes handles
  };
  How how = How::address;
  std::uint32_t allocation = 0;  ///< equal numbers mean equal handles: opened once
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  ///< bytes
  unsigned char handle[64] = {};
};

/// "Call this entry on n elements."
struct Call {
  std::uint32_t magic = call_magic;
  std::uint32_t serial = 0;  ///< the answer repeats it
  Entry entry = Entry::inclusive_scan;
  std::int32_t n = 0;
  DevicePointer d_x, d_y;
  DevicePointer d_kept;  ///< of compact and split; otherwise the address 0
};

/// How the call ended, as far as the runner knows.
struct Done {
  enum class Status : std::uint32_t {
    ready,  ///< main() has begun; no call yet
    done,
    missing,        ///< the submission does not define the entry
    launch_error,   ///< `cuda_error` was pending when the entry returned
    run_error,      ///< `cuda_error` came from the synchronisation after it
    no_memory_map,  ///< the judge's memory could not be opened: `cuda_error`; not the submission's fault
    bad_call,       ///< a frame that this runner does not understand
    crashed,        ///< host code has used `address`, and the process is about to end
  };
  std::uint32_t magic = done_magic;
  std::uint32_t serial = 0;
  Status status = Status::done;
  std::int32_t cuda_error = 0;    ///< a cudaError_t
  char cuda_error_name[64] = {};  ///< as cudaGetErrorName gives it
  std::uint64_t address = 0;
};

static_assert(std::is_trivially_copyable_v<Call> && std::is_trivially_copyable_v<Done>);

}  // namespace scanlab::runner
