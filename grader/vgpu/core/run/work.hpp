// In which order a program's work may run: its streams, events, and what the host has waited for. The session that
// serves the program reports it, checks listen. The device itself runs all work in the order in which it was submitted.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// A stream of the program.
struct Stream {
  std::uint32_t number = 0;  ///< 0: the legacy default stream; others by creation, per-thread ones by themselves
  bool is_per_thread = false;
  bool is_non_blocking = false;
  bool is_branch =
      false;  ///< of a graph, not made by the program: its number is the graph's times most_branches, + its own

  static constexpr std::uint32_t most_branches = 256;  ///< of a graph

  bool is_legacy() const { return number == 0 && !is_per_thread; }
  bool operator==(const Stream&) const = default;
};

/// Where a host thread stands: places in the program's file, the innermost of its functions first; empty: not known.
using HostPlace = std::vector<std::uint64_t>;

/// A launch, a copy or a set, an allocation in the order of a stream.
struct Work {
  Stream stream;
  const char* call = "";  ///< "cudaMemcpyAsync"; empty: a launch
  enum class Host : std::uint8_t {
    goes_on,
    has_waited,  ///< the call returns when all that was before it is done, but perhaps before it is done itself
    waits,       ///< the call returns when it is done
  } host = Host::goes_on;
  Address read_too = 0, written_too = 0;  ///< memory of the host that device code may use, at the copy's other end
  std::uint64_t bytes_too = 0;
  std::vector<Address> arguments;  ///< of a launch: the words of its parameters
  HostPlace place;                 ///< of the call
  HostPlace graph_place;           ///< of a graph's launch, where it is a node of one; empty: not known
};

/// The host reads or writes memory that device code may use.
struct HostAccess {
  Address address = 0;
  std::uint64_t bytes = 1;  ///< 0: it only wants to know what is in use
  bool writes = false;
  HostPlace place;
  std::uint64_t function = 0;  ///< the host function that does it; 0: a thread of the program's own
  bool stays = false;  ///< the thread stays there until all host functions have ended, or a later access is reported
  bool is_ordered = false;           ///< by an atomic instruction, or while the thread holds a lock
  std::string_view gives_back = {};  ///< "frees it" or the like; else empty
  bool follows_unseen = false;       ///< accesses before it could not be reported
};

/// A function that a stream calls on the host (cudaLaunchHostFunc). From its begin on it may notify other threads that
/// what was before it is done.
struct HostFunction {
  std::uint64_t id = 0;
  enum class Step : std::uint8_t { submitted, begins, ended } step = Step::submitted;
  Stream stream;    ///< when it is submitted
  HostPlace place;  ///< of the call that submits it
};

/// Which memory is used by work that the host does not know to be done: the array, the page.
struct InUse {
  bool array = false, page = false;
};

class WorkListener {
 public:
  virtual ~WorkListener() = default;
  /// What memory and kernels report between the two is this work's doing.
  virtual void work_begin(const Work&) {}
  virtual void work_end() {}
  virtual void recorded(std::uint64_t /*event*/, const Stream&) {}
  /// Later work of the stream comes after the event, as it was last recorded.
  virtual void waits(const Stream&, std::uint64_t /*event*/) {}
  /// Whatever is submitted from now on comes after the stream's work, after the event, after everything.
  virtual void host_waited(const Stream&) {}
  virtual void host_waited(std::uint64_t /*event*/) {}
  virtual void host_waited_for_all() {}
  /// `Work` that was submitted before may still run.
  virtual InUse host_accessed(const HostAccess&) { return {}; }
  virtual void host_function(const HostFunction&) {}
  /// The call that has allocated the memory; before `work_begin` and what the memory itself reports.
  virtual void allocation_comes(const HostPlace&) {}
  virtual void dropped(const Stream&) {}
  virtual void dropped(std::uint64_t /*event*/) {}
};

}  // namespace scanlab::vgpu
