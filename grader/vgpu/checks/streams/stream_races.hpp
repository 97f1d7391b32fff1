// The check race.global between pieces of work: launches, copies and sets that touch the same memory, and that nothing
// orders, since they are in different streams. Here all work runs in the order in which it was submitted; a GPU may run
// what is not ordered in any order, or at the same time.
//
// Each piece of work leaves what it has touched, usually a few spans, and is compared with what came before and is not
// known to be done (stream_order.hpp). What the host has waited for is forgotten, so that a program of one stream
// compares nothing.
//
// Where the order cannot be known nothing is said. A kernel that talks to the host while it runs, or that waits for a
// flag of another one, is not compared with it; a graph counts as one stream.
//
// What the host does to memory that it shares with kernels is reported by the program's side where it looks (cudart's
// host_watch.hpp), and compared with the work that the host does not know to be done: the check race.host. What a host
// function does (cudaLaunchHostFunc) is compared with the work that it does not come after, and with what other threads
// do at the same time: with the access at which a thread stays until the function has ended.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/checks/finding.hpp"
#include "vgpu/checks/global/accessed_spans.hpp"
#include "vgpu/checks/global/global_races.hpp"
#include "vgpu/checks/race.hpp"
#include "vgpu/checks/streams/stream_order.hpp"
#include "vgpu/core/run/work.hpp"

namespace scanlab::vgpu {

/// "the default stream", "stream #3"
std::string name_of(const Stream& stream);

class StreamRaces : public WorkListener, private MemoryListener {
 public:
  /// `launches` observes the same launches, and knows what they touch.
  StreamRaces(Memory& memory, GlobalRaces& launches);
  ~StreamRaces() override;
  StreamRaces(const StreamRaces&) = delete;
  StreamRaces& operator=(const StreamRaces&) = delete;

  /// The learner's line where a host thread stands, or its function; null: not known.
  std::function<SourcePlace(const HostPlace&)> source_of;

  FindingList findings() const;
  /// Work that meets other work, or the host, in memory, and that nothing orders: also where that is no race. The first
  /// of each kind; who explores one launch by itself does not see them.
  std::vector<Breach> breaches() const;
  /// Forgets the findings; what has been submitted so far counts as done.
  void reset();
  /// Why some work of several streams was not compared, as one line; empty: all was.
  std::string left_out() const { return order_.streams() > 1 ? left_out_ : std::string(); }

  void work_begin(const Work& work) override;
  void work_end() override;
  void recorded(std::uint64_t event, const Stream& stream) override;
  void waits(const Stream& stream, std::uint64_t event) override;
  void host_waited(const Stream& stream) override;
  void host_waited(std::uint64_t event) override;
  void host_waited_for_all() override;
  InUse host_accessed(const HostAccess& access) override;
  void host_function(const HostFunction& function) override;
  void allocation_comes(const HostPlace& place) override { comes_ = place; }
  void dropped(const Stream& stream) override { order_.drop(stream); }
  void dropped(std::uint64_t event) override { order_.drop(event); }

 private:
  static constexpr std::string_view frees = "cudaFreeAsync", allocates = "cudaMallocAsync";

  /// A piece of work, and what it has touched.
  struct Done {
    Work work;
    StreamOrder::Place place;
    std::string kernel;  ///< mangled; empty: a call
    const ptx::Module* module = nullptr;
    std::vector<AccessedSpan> spans;  ///< by ascending first byte
    std::vector<Address> reach;       ///< for each span the last byte of it and of all before it, + 1
    bool has_fence = false;
    bool hears_host = false;  ///< it looks at strong words that the host may write meanwhile
    bool has_host_fence = false;
    bool may_be_heard = false;  ///< unnoticed: by what it has written the host may know that some of it is done
    bool is_looked_at = false;  ///< the host has used a word that it writes for it
    std::uint64_t moment = 0;   ///< when it was submitted
    /// Later work by its line, and the arrays: what comes after the first of it that races comes after this too.
    std::vector<std::pair<std::size_t, Address>> reported;

    bool is_call_of(std::string_view name) const;
    /// Host and kernel may have agreed on an order.
    bool may_be_ordered() const { return hears_host || may_be_heard || (is_looked_at && has_host_fence); }
    bool is_same_as(const Done& other) const;
  };

  /// A host function.
  struct Function {
    Stream stream;
    HostPlace place;
    StreamOrder::Place turn;
    std::uint64_t moment = 0;            ///< when it was submitted
    std::optional<std::uint64_t> begun;  ///< when it began
  };
  /// What a host function has done, while another one has not ended.
  struct FunctionUse {
    std::uint64_t function = 0;
    HostAccess access;
    Address array = 0;
  };
  /// What a thread of the program has done that stays there until host functions have ended.
  struct HostUse {
    HostAccess access;
    Address array = 0;
  };

  void released(const Allocation& a) override;
  void written(Address address, std::uint64_t bytes) override { touch(address, bytes, How::Kind::write); }
  void copied(Address to, Address from, std::uint64_t bytes) override;
  void read(Address address, std::uint64_t bytes) override { touch(address, bytes, How::Kind::read); }
  void allocated(const Allocation& a) override;

  void launched(const KernelInfo& kernel);
  void touch(Address address, std::uint64_t bytes, How::Kind kind);
  /// `reported`: the arrays of which a race with the same stream has been reported; what comes after the latest work of
  /// a stream comes after all of it.
  void compare_with(Done& earlier, std::vector<Address>& reported);
  bool may_race(const Done& earlier, const AccessedSpan& first, const AccessedSpan& second) const;
  bool is_by_flags(const Done& earlier) const;
  /// What of the work, which has ended, host and kernel may tell each other by.
  void note_signals();
  /// Notes that the host uses what the work may have told it by.
  void hear(Done& work, const HostAccess& access);
  /// Is it by this that the work tells the host how far it is? A store before any look is lost, or loses what is told.
  static bool tells(const Done& work, const AccessedSpan& touched, const HostAccess& access);
  SourcePlace place_of(const Done& work, const AccessedSpan& touched) const;
  /// What the later work's stream has waited for, though not for the earlier work in `needed`: "an event of stream #3
  /// only"; empty: nothing that explains it.
  std::string vain_wait(const Stream& needed) const;
  Finding describe(const Done& earlier, const AccessedSpan& first, const AccessedSpan& second, const Allocation& array,
                   Address byte) const;
  /// Each work that `is_open(work)` is compared with what the host, or its function, does.
  template <class IsOpen>
  InUse compare_with_work(const HostAccess& access, const Allocation& array, IsOpen is_open);
  /// May the work be done later than the function begins?
  bool is_open_to(std::uint64_t id, const Function& function, const Done& work) const;
  InUse function_accessed(const HostAccess& access, const Allocation& array);
  /// A thread goes on: with `access`, where that is known.
  void settle(const HostAccess* access);
  void report_host_race(const Done& work, const AccessedSpan& touched, const HostAccess& access,
                        const Allocation& array, Address byte);
  void compare_with_functions(const HostAccess& access, const Allocation& array);
  void report_race_of_functions(const FunctionUse& earlier, const HostAccess& access, const Allocation& array,
                                Address byte);
  void report_function_race(const Function& function, const HostAccess& its, const HostAccess& host,
                            const Allocation& array, Address byte);
  /// "kernel scan", "cudaMemcpyAsync"
  static std::string name_of(const Done& done);
  /// Where a call of the host stands, as far as that is known.
  Finding::Part part_of_host(const HostPlace& place) const;
  /// The parts of work: what it does, and where it was launched.
  std::vector<Finding::Part> parts_of_work(const Done& work, const AccessedSpan& touched) const;
  std::vector<Finding::Part> parts_of_function(const Function& function, const HostAccess& access) const;
  /// The label of an allocation, with the line of the call that made it.
  std::string label_of(const Allocation& array) const;
  Finding race_at(const Allocation& array, std::uint64_t element, std::string_view unit, Hazard hazard,
                  std::string_view between) const;
  void keep();
  void forget_known();
  void give_up(const char* why);

  Memory& memory_;
  GlobalRaces& launches_;
  FindingList findings_;
  StreamOrder order_;
  std::optional<Done> now_;  ///< the work that is being done
  AccessedSpans spans_;      ///< its
  std::optional<Allocation> released_;
  std::vector<std::deque<Done>> done_;  ///< by line of the order; what the host may not know of yet
  std::size_t kept_ = 0, kept_spans_ = 0;
  /// Lines of plain reads after which an atomic decides, in any launch.
  std::set<std::pair<const ptx::Module*, std::uint32_t>> guesses_;
  /// Of host races that have been reported: the call of the work, the access, the array.
  std::set<std::tuple<HostPlace, HostPlace, Address>> reported_;
  std::map<std::uint64_t, Function> functions_;  ///< that have not ended
  std::map<std::uint64_t, Function> ended_;      ///< while others have not
  std::vector<FunctionUse> function_uses_;       ///< of all of them
  std::vector<HostUse> host_uses_;
  /// Races of a host function with an access of another thread. If that is repeated at once it waits for the value to
  /// change: then it is none.
  std::vector<std::pair<HostAccess, Finding>> suspected_;
  std::uint64_t moment_ = 0;  ///< grows with all that is submitted
  HostPlace comes_;           ///< of the allocation that comes next
  std::unordered_map<Address, HostPlace> allocated_at_;
  std::string left_out_;
  std::optional<Breach> meeting_, exchange_, function_;  ///< see breaches()
  bool is_lost_ = false;                                 ///< the order is not known any more
};

}  // namespace scanlab::vgpu
