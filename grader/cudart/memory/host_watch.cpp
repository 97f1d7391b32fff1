#include "cudart/memory/host_watch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "cudart/client.hpp"
#include "cudart/memory/instruction.hpp"

namespace scanlab::cudart {

thread_local bool in_call = false;

namespace {

/// Accesses to an area that are reported one by one from each closing on.
constexpr unsigned most_steps = 1000;
/// Bytes of shared memory that are searched for pointers at a launch.
constexpr std::size_t most_searched = 1 << 20;

int protection_of(HostWatch::How how) {
  return how == HostWatch::How::open ? PROT_READ | PROT_WRITE : how == HostWatch::How::readable ? PROT_READ : PROT_NONE;
}

/// Pages that this thread's next instruction may use.
struct Stepping {
  std::array<Address, 8> pages;
  std::size_t count = 0;
  Address stays_at = 0;  ///< on the device: behind this access it waits for host functions
};
thread_local Stepping stepping;

/// By which instruction, to what.
struct Access {
  Address at = 0, address = 0;
  bool writes = false;
  bool is_repeated = false;  ///< it has been reported a second time

  bool operator==(const Access& other) const {
    return at == other.at && address == other.address && writes == other.writes;
  }
};

/// Accesses that this thread has reported since `epoch`.
struct Reported {
  std::uint64_t epoch = 0;
  std::array<Access, 64> accesses;
  std::size_t count = 0;
};
thread_local Reported reported;

#if defined(__x86_64__)
constexpr bool can_step = true;
#else
constexpr bool can_step = false;
#endif

/// Of a vector that is loaded only the first byte counts: compilers also load what lies between a program's elements,
/// and the C library what lies behind the end of a string.
std::size_t compared_bytes(const Instruction& instruction, bool writes) {
  return writes || instruction.bytes <= 8 ? instruction.bytes : 1;
}

constexpr Address page_of(Address address) {
  return address / vgpu::page_bytes * vgpu::page_bytes;
}

}  // namespace

/// Keeps the table of areas at rest.
class HostWatch::Hold {
 public:
  explicit Hold(HostWatch& watch) : watch_(watch) {
    while (watch_.busy_.test_and_set(std::memory_order_acquire)) {
    }
    is_here = true;
  }
  ~Hold() {
    is_here = false;
    watch_.busy_.clear(std::memory_order_release);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  /// This thread holds it: what it allocates and frees is the table's own.
  static inline thread_local bool is_here = false;

 private:
  HostWatch& watch_;
};

HostWatch::Areas::iterator HostWatch::area_at(Address address) {
  const auto found = last_up_to(areas_, address);
  return found != areas_.end() && address - found->first < found->second.pages.size() * vgpu::page_bytes ? found
                                                                                                         : areas_.end();
}

void HostWatch::apply(Areas::iterator area, std::size_t first, std::size_t count, How how) {
  (void)mprotect(reinterpret_cast<void*>(area->first + first * vgpu::page_bytes), count * vgpu::page_bytes,
                 protection_of(how));
}

void HostWatch::set(Areas::iterator area, std::size_t first, std::size_t count, How how) {
  std::size_t from = first;
  if (how != How::open)
    for (auto kept = area->second.kept_open.lower_bound(first);
         kept != area->second.kept_open.end() && *kept < first + count; ++kept) {
      has_unseen = true;
      if (*kept > from) change(area, from, *kept - from, how);
      from = *kept + 1;
    }
  if (from < first + count) change(area, from, first + count - from, how);
}

void HostWatch::change(Areas::iterator area, std::size_t first, std::size_t count, How how) {
  Area& a = area->second;
  const bool was_closed = a.count > 0;
  for (std::size_t k = first; k < first + count; ++k) {
    a.count += (how != How::open) - (a.pages[k] != How::open);
    a.pages[k] = how;
  }
  apply(area, first, count, how);
  closed_ += (a.count > 0) - was_closed;
}

void HostWatch::add(Address begin, const Area& area) {
  remove(begin);
  const Hold hold(*this);
  areas_[begin] = area;
  in_use_ = this;
}

void HostWatch::remove(Address begin) {
  const Hold hold(*this);
  const auto area = areas_.find(begin);
  if (area == areas_.end()) return;
  if (area->second.count > 0) set(area, 0, area->second.pages.size(), How::open);
  areas_.erase(area);
}

void HostWatch::used(Address device, std::size_t bytes, How how) {
  if (bytes == 0 || areas_.empty() || !catches_faults()) return;
  const Hold hold(*this);
  for (auto area = areas_.begin(); area != areas_.end(); ++area) {
    Area& a = area->second;
    const Address end = a.device + a.pages.size() * vgpu::page_bytes;
    if (device + bytes <= a.device || device >= end) continue;
    const std::size_t first = (std::max(device, a.device) - a.device) / vgpu::page_bytes;
    const std::size_t last = (std::min(device + bytes, end) - 1 - a.device) / vgpu::page_bytes;
    a.steps = most_steps;
    for (std::size_t k = first; k <= last;) {
      // What is closed stays closed; neighbours change together.
      std::size_t next = k;
      while (next <= last && a.pages[next] < how) ++next;
      if (next > k) set(area, k, next - k, how);
      k = next + 1;
    }
    ++epoch_;
  }
}

void HostWatch::close_all() {
  if (areas_.empty() || !catches_faults()) return;
  const Hold hold(*this);
  for (auto area = areas_.begin(); area != areas_.end(); ++area) {
    area->second.steps = most_steps;
    set(area, 0, area->second.pages.size(), How::closed);
  }
  ++epoch_;
}

namespace {

/// Copies what lies there, as far as it can be read.
std::vector<Address> words_at(const void* data) {
  std::vector<Address> words(32);
  const auto begin = reinterpret_cast<Address>(data);
  const std::size_t bytes =
      std::min<std::size_t>(words.size() * sizeof(Address), vgpu::page_bytes - begin % vgpu::page_bytes);
  int ends[2];
  if (begin == 0 || begin % sizeof(Address) != 0 || pipe2(ends, O_CLOEXEC) != 0) return {};
  const ssize_t sent = write(ends[1], data, bytes);  // fails where nothing is
  const ssize_t got = sent > 0 ? read(ends[0], words.data(), static_cast<std::size_t>(sent)) : 0;
  close(ends[0]);
  close(ends[1]);
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)) / sizeof(Address));
  return words;
}

}  // namespace

void HostWatch::expect_use_of(const void* data, bool is_first) {
  std::vector<Address> pointers = words_at(data);
  pointers.push_back(reinterpret_cast<Address>(data));
  const Hold hold(*this);
  if (is_first)
    for (auto& [begin, area] : areas_) area.is_for_function = false;
  bool is_known = false;
  for (const Address pointer : pointers)
    if (const auto area = area_at(pointer); area != areas_.end()) is_known = area->second.is_for_function = true;
  if (is_known) return;
  for (auto& [begin, area] : areas_) area.is_for_function = true;
}

void HostWatch::close_reachable(std::span<const std::byte> bytes, std::size_t& to_read) {
  for (std::size_t k = 0; k + sizeof(Address) <= bytes.size(); k += sizeof(Address)) {
    Address value;
    std::memcpy(&value, bytes.data() + k, sizeof value);
    Address begin = 0, device = 0;
    std::size_t size = 0;
    bool is_open = false;
    {
      const Hold hold(*this);
      for (const auto& [at, a] : areas_)
        if (value >= a.device && value - a.device < a.pages.size() * vgpu::page_bytes) {
          begin = at;
          device = a.device;
          size = a.pages.size() * vgpu::page_bytes;
          is_open = a.count == 0;
        }
    }
    if (size == 0) continue;
    if (is_open && size <= to_read) {
      // Structures in shared memory have pointers to others. Closed first, it is found once.
      to_read -= size;
      // Pages that have not been used stay so: the check for unwritten memory asks the system for that.
      std::vector<unsigned char> is_there(size / vgpu::page_bytes);
      std::vector<std::byte> copy;
      if (mincore(reinterpret_cast<void*>(begin), size, is_there.data()) == 0)
        for (std::size_t page = 0; page < is_there.size(); ++page) {
          const auto* const from = reinterpret_cast<const std::byte*>(begin) + page * vgpu::page_bytes;
          if (is_there[page] & 1) copy.insert(copy.end(), from, from + vgpu::page_bytes);
        }
      used(device, size, How::closed);
      close_reachable(copy, to_read);
    } else {
      used(device, size, How::closed);
    }
  }
}

void HostWatch::launched(std::span<const std::byte> parameters) {
  if (areas_.empty() || !catches_faults()) return;
  std::size_t to_read = most_searched;
  close_reachable(parameters, to_read);
  std::vector<std::pair<Address, std::size_t>> variables;
  for (const auto& [begin, area] : areas_)
    if (area.is_for_all_kernels) variables.emplace_back(area.device, area.pages.size() * vgpu::page_bytes);
  for (const auto& [device, bytes] : variables) used(device, bytes, How::closed);
}

void HostWatch::open(Address address, std::size_t bytes) {
  if (!has_closed() || bytes == 0) return;
  const Hold hold(*this);
  const auto area = area_at(address);
  if (area == areas_.end() || area->second.count == 0) return;
  const std::size_t first = (address - area->first) / vgpu::page_bytes;
  const std::size_t last =
      std::min((address + bytes - 1 - area->first) / vgpu::page_bytes, area->second.pages.size() - 1);
  set(area, first, last - first + 1, How::open);
}

void HostWatch::keep_open(Address address, std::size_t bytes) {
  const Hold hold(*this);
  const auto area = area_at(address);
  if (area == areas_.end()) return;
  Area& a = area->second;
  const std::size_t first = (address - area->first) / vgpu::page_bytes;
  const std::size_t last = std::min((address + bytes - 1 - area->first) / vgpu::page_bytes, a.pages.size() - 1);
  for (std::size_t k = first; k <= last; ++k)
    if (a.kept_open.insert(k).second && a.pages[k] != How::open) change(area, k, 1, How::open);
}

void HostWatch::open_area(Address begin) {
  const Hold hold(*this);
  const auto area = areas_.find(begin);
  if (area != areas_.end() && area->second.count > 0) set(area, 0, area->second.pages.size(), How::open);
}

void HostWatch::open_all() {
  if (!has_closed()) return;
  const Hold hold(*this);
  for (auto area = areas_.begin(); area != areas_.end(); ++area)
    if (area->second.count > 0) set(area, 0, area->second.pages.size(), How::open);
}

std::size_t HostWatch::bytes_from(Address address) {
  const Hold hold(*this);
  const auto area = area_at(address);
  return area == areas_.end() ? 0 : area->second.data_end - std::min(address, area->second.data_end);
}

std::vector<std::pair<Address, Address>> HostWatch::closed() {
  const Hold hold(*this);
  std::vector<std::pair<Address, Address>> found;
  for (const auto& [begin, area] : areas_)
    if (area.count > 0) found.emplace_back(begin, area.data);
  return found;
}

// --- system calls ----------------------------------------------------------------------------------------------------

template <class Visit>
void HostWatch::for_each_in(Address begin, std::size_t bytes, Visit visit) {
  if (bytes == 0) return;
  for (auto area = areas_.begin(); area != areas_.end(); ++area) {
    const Address end = area->first + area->second.pages.size() * vgpu::page_bytes;
    if (area->second.count == 0 || begin >= end || begin + bytes <= area->first) continue;
    const std::size_t first = (std::max(begin, area->first) - area->first) / vgpu::page_bytes;
    const std::size_t last = (std::min(begin + bytes, end) - 1 - area->first) / vgpu::page_bytes;
    visit(area, first, last - first + 1);
  }
}

bool HostWatch::lend(Address begin, std::size_t bytes) {
  const Hold hold(*this);
  bool is_lent = false;
  for_each_in(begin, bytes, [&](Areas::iterator area, std::size_t first, std::size_t count) {
    apply(area, first, count, How::open);
    is_lent = true;
  });
  return is_lent;
}

void HostWatch::give_back(Address begin, std::size_t bytes) {
  const Hold hold(*this);
  for_each_in(begin, bytes, [&](Areas::iterator area, std::size_t first, std::size_t count) {
    for (std::size_t k = first; k < first + count; ++k)
      if (area->second.pages[k] != How::open) apply(area, k, 1, area->second.pages[k]);
  });
}

void HostWatch::was_used_by_system(Address begin, std::size_t bytes, bool writes, Address caller) {
  report_use(begin, bytes, writes ? Use::writes : Use::reads, caller);
}

void HostWatch::is_given_back(Address begin, std::size_t bytes, Address caller) {
  if (!Hold::is_here && has_closed()) report_use(begin, bytes, Use::gives_back, caller);
}

void HostWatch::report_use(Address begin, std::size_t bytes, Use use, Address caller) {
  struct Used {
    Address area, device;
    std::size_t bytes;
    bool is_for_function;
  };
  std::vector<Used> used;
  {
    const Hold hold(*this);
    for_each_in(begin, bytes, [&](Areas::iterator area, std::size_t, std::size_t) {
      const Area& a = area->second;
      const Address from = std::max(begin, a.data_begin), to = std::min(begin + bytes, a.data_end);
      if (from < to) used.push_back({area->first, a.device + (from - area->first), to - from, a.is_for_function});
    });
  }
  for (const Used& one : used) {
    std::uint64_t in_use = 0;
    const Client::Access access{one.device,
                                one.bytes,
                                use != Use::reads,
                                one.is_for_function && client().should_stay(),
                                held_locks > 0 && use != Use::gives_back,
                                use == Use::gives_back};
    const bool is_reported = client().report_access(access, frames_here(0, caller), in_use);
    if (!is_reported) has_unseen = true;
    if (!is_reported || !(in_use & wire::in_use_array))
      open_area(one.area);
    else if (access.stays)
      client().stay(one.device);
  }
}

// --- in signal handlers ----------------------------------------------------------------------------------------------

bool HostWatch::on_fault(Address address, bool writes, void* context) {
  Address begin = 0, device = 0;
  std::size_t data_left = 0;  // behind the address, as far as the array and its page go
  How how = How::open;
  unsigned steps = 0;
  bool is_neighbour = false;  // other data in the same page
  bool is_for_function = false;
  {
    const Hold hold(*this);
    const auto area = area_at(address);
    if (area == areas_.end()) return false;
    begin = area->first;
    device = area->second.device + (address - begin);
    how = area->second.pages[(address - begin) / vgpu::page_bytes];
    is_for_function = area->second.is_for_function;
    is_neighbour = address < area->second.data_begin || address >= area->second.data_end;
    data_left = std::min(area->second.data_end, page_of(address) + vgpu::page_bytes) - address;
    if (how != How::open && area->second.steps > 0 && steps_left_ > 0) {
      steps = area->second.steps;
      --steps_left_;
    }
  }
  static thread_local unsigned tries = 0;
  if (how == How::open || (how == How::readable && !writes)) return ++tries < 100;  // another thread has opened it
  tries = 0;
  const bool is_unknown_function = in_host_function && running_host_function == 0;
  if (in_call || is_unknown_function || steps == 0) {
    has_unseen = true;
    open_area(begin);
    return true;
  }
  if (is_neighbour) return step(address, context);
#if defined(__x86_64__)
  const auto at = static_cast<Address>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
  const Address at = 0;
#endif
  const std::uint64_t epoch = epoch_;
  if (reported.epoch != epoch) reported = {epoch, {}, 0};
  const Access access{at, address, writes};
  const std::size_t count = std::min(reported.count, reported.accesses.size());
  const auto end = reported.accesses.begin() + static_cast<std::ptrdiff_t>(count);
  const auto known = std::find(reported.accesses.begin(), end, access);
  if (known == end || !known->is_repeated) {
    count_report(begin);
    Client& state = client();
    std::uint64_t in_use = 0;
    const bool stays = can_step && is_for_function && stepping.count == 0 && state.should_stay();
    const Instruction instruction = instruction_at(at);
    const bool is_ordered = held_locks > 0 || instruction.is_atomic;
    const std::size_t bytes = std::min(compared_bytes(instruction, writes), data_left);
    if (!state.report_access({device, bytes, writes, stays, is_ordered}, frames_here(at), in_use)) {
      has_unseen = true;  // another thread has the connection: nothing is known
      open_area(begin);
      return true;
    }
    if (!(in_use & wire::in_use_array)) {
      open_area(begin);
      return true;
    }
    if (!(in_use & wire::in_use_page)) {
      open(page_of(address), 1);
      return true;
    }
    if (stays) stepping.stays_at = device;
    if (known != end)
      known->is_repeated = true;
    else
      reported.accesses[reported.count++ % reported.accesses.size()] = access;
  }
  return step(address, context);
}

void HostWatch::count_report(Address begin) {
  const Hold hold(*this);
  if (const auto area = areas_.find(begin); area != areas_.end() && area->second.steps > 0) --area->second.steps;
}

/// Lets one instruction use the page, and closes it again behind it.
bool HostWatch::step(Address address, void* context) {
#if defined(__x86_64__)
  if (stepping.count < stepping.pages.size()) {
    stepping.pages[stepping.count++] = page_of(address);
    (void)mprotect(reinterpret_cast<void*>(page_of(address)), vgpu::page_bytes, PROT_READ | PROT_WRITE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= 0x100;  // TF: a trap after the next instruction
    return true;
  }
#endif
  (void)context;
  open(page_of(address), 1);
  return true;
}

bool HostWatch::on_step(void* context) {
  if (stepping.count == 0) return false;
#if defined(__x86_64__)
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
#endif
  (void)context;
  {
    const Hold hold(*this);
    for (std::size_t k = 0; k < stepping.count; ++k) {
      const auto area = area_at(stepping.pages[k]);
      if (area == areas_.end()) continue;
      const std::size_t page = (stepping.pages[k] - area->first) / vgpu::page_bytes;
      if (area->second.pages[page] != How::open) apply(area, page, 1, area->second.pages[page]);
    }
    stepping.count = 0;
  }
  if (const Address device = std::exchange(stepping.stays_at, 0); device != 0) client().stay(device);
  return true;
}

}  // namespace scanlab::cudart
