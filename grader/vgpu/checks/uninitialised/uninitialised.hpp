// The checks uninitialised.shared and uninitialised.global: a value that was never written is read, and matters. It
// decides a branch, becomes part of an address, or gets into a result that the host looks at.
//
// While kernels run, only reads of bytes that were never written are noticed: one bit per byte of memory. Most of them
// are harmless (the padding of a tile, an element whose sum is never stored), so that a launch with such reads is tried
// again with something else there (trial.hpp): only what then differs depends on them. Bytes of global memory that
// differ count as undefined from then on, so that values are followed through kernels and copies.
//
// Managed memory counts as unwritten as long as neither the host nor the device has used the page: the system knows
// that. So of a page that the host has used nothing is unwritten.
//
// Registers and local memory are not looked at, nor memory of the host (pinned and registered), nor what a kernel with
// malloc() reads. Host threads do not share a launch with this check attached.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/checks/check.hpp"
#include "vgpu/checks/repeated_blocks.hpp"
#include "vgpu/checks/uninitialised/launch_footprint.hpp"
#include "vgpu/checks/uninitialised/origins.hpp"
#include "vgpu/checks/uninitialised/rerun.hpp"
#include "vgpu/checks/uninitialised/shared_bytes.hpp"
#include "vgpu/checks/uninitialised/trial.hpp"

namespace scanlab::vgpu {

class Uninitialised : public Check, private MemoryListener {
 public:
  static constexpr const char* shared_id = "uninitialised.shared";
  static constexpr const char* global_id = "uninitialised.global";

  /// Memory that is allocated from now on is unwritten at first.
  explicit Uninitialised(Memory& memory);
  ~Uninitialised() override;

  /// From now on these bytes count as never written, whatever the host has put there.
  void forget(Address address, std::uint64_t bytes);
  /// The first value in these bytes that a kernel has computed from what was never written; nothing when there is none.
  /// What the host copies (Memory::read) becomes one of the findings by itself, but for what may be the padding of
  /// structs: here it counts.
  std::optional<Finding> undefined_value(Address address, std::uint64_t bytes);

  /// The label of the first allocation of which something was copied that nobody has written; empty: none.
  const std::string& unwritten_copied() const { return unwritten_copied_; }
  /// The first line of a kernel that has read something which nobody has written, whatever became of it; none: none.
  const std::optional<SourcePlace>& unwritten_read() const { return unwritten_read_; }
  /// Global memory, before the launch that comes next. Of managed memory, what the host had used when the device was
  /// last given work.
  bool has_written(Address address, std::uint64_t bytes) const { return defined_.has_all(address, bytes); }

  std::uint32_t interests() const override { return plain_shared; }
  void kernel_begin(const KernelInfo& kernel) override;
  void may_replay(Replay& replay) override;
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void block_end(std::uint64_t, std::uint32_t slot) override { blocks_[slot].repetition.end(repeated_); }
  void load(const Access& access) override { loads({access, 1, 0}); }
  void store(const Access& access) override { stores({access, 1, 0}); }
  void loads(const AccessRun& run) override;
  void stores(const AccessRun& run) override;
  void atomic(const Access& access) override;

 private:
  struct ResidentBlock {
    SharedBytes shared;  ///< not up to date while the block repeats another one
    RepeatedBlocks::Block repetition;
    bool is_suspect = false;
  };
  /// Trials of a kernel that have shown nothing: the next launches need none.
  struct Patience {
    unsigned in_vain = 0;
    std::uint64_t pass = 0;
  };

  void allocated(const Allocation& a) override;
  void released(const Allocation& a) override;
  void shared(const Allocation& a) override;
  void written(Address address, std::uint64_t bytes) override { defined_.add(address, bytes); }
  void copied(Address to, Address from, std::uint64_t bytes) override;
  void read(Address address, std::uint64_t bytes) override;

  /// Pages of managed memory that have been used count as written.
  void take_used_pages();
  void note_copied(Address address, std::uint64_t bytes);
  /// The host copies what no kernel, and no copy, has written.
  void report_unwritten(Address address, std::uint64_t bytes);
  void suspect(const Actor& actor);
  bool is_repeated(ResidentBlock& block, const AccessRun& run, BlockStep::Kind kind);
  Finding finding_of(const Trial::Arrival& arrival);
  /// The host looks at padding when it copies structs, and thinks nothing of it.
  enum class Padding : std::uint8_t { counts, is_ignored };
  std::optional<Address> first_undefined(Address address, std::uint64_t bytes, Padding padding) const;

  /// What is known of an allocation that the host may copy before it is written.
  struct Fresh {
    std::uint64_t launches = 0;  ///< before it
    bool is_done = false;        ///< was reported, or is none of the host's business
  };

  Memory& memory_;
  std::string unwritten_copied_;
  std::optional<SourcePlace> unwritten_read_;
  std::uint64_t launches_ = 0;
  std::map<Address, Fresh> fresh_;  ///< by base
  /// Managed memory of which some pages had not been used, the last time that the system was asked.
  struct Managed {
    Address end = 0;
    bool is_untouched = true;  ///< no page has been used
  };
  std::map<Address, Managed> managed_;  ///< by base
  ByteSet defined_;
  ByteSet computed_;  ///< of what is not defined: what kernels have stored
  ByteSet padding_;   ///< of this: what looks like the padding of structs
  ByteSet* const sets_[3] = {&defined_, &computed_, &padding_};
  LaunchFootprint footprint_;
  Origins origins_;
  KernelInfo kernel_;
  std::uint64_t generation_ = 0;  ///< of memory, when the launch began
  RepeatedBlocks repeated_;
  std::vector<ResidentBlock> blocks_;
  std::vector<std::uint64_t> suspects_;
  std::map<std::string, Patience> patience_;
};

}  // namespace scanlab::vgpu
