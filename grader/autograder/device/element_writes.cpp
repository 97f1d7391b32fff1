#include "autograder/device/element_writes.hpp"

#include <algorithm>
#include <iterator>

#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::grade {

std::unique_ptr<ElementWrites> Device::watch(const Buffer&) {
  return nullptr;
}

ElementWrites::ElementWrites(vgpu::Device& device, const Buffer& element)
    : device_(device), element_(element), first_(now()) {
  device_.attach(this);
}

void ElementWrites::kernel_begin(const vgpu::KernelInfo& kernel) {
  kernel_ = kernel;
  ++launch_;
}

void ElementWrites::note(const vgpu::Access& access, By what) {
  if (access.space != ptx::StateSpace::global) return;
  for (const unsigned lane : vgpu::lanes_in(access.mask)) {
    const std::uint64_t begin = access.at(lane), end = element_.address + element_.bytes;
    if (begin < end && element_.address < begin + access.bytes) keep(access, lane, what);
  }
}

void ElementWrites::keep(const vgpu::Access& access, unsigned lane, By what) {
  const vgpu::Actor& by = access.actor;
  const auto triple = [](vgpu::Dim3 at) { return std::array<std::uint64_t, 3>{at.x, at.y, at.z}; };
  Seen next;
  next.write.block = triple(kernel_.grid.at(by.block));
  next.write.thread = triple(kernel_.block.at(by.warp * vgpu::warp_size + lane));
  next.launch = launch_;
  next.line = by.line;
  const bool goes_on = !seen_.empty() && seen_.back().launch == next.launch && seen_.back().line == next.line &&
                       seen_.back().write.block == next.write.block && seen_.back().write.thread == next.write.thread;
  if (!goes_on) {
    next.write.where = vgpu::own_place(*kernel_.module, by.line);
    next.write.kernel = kernel_.name;
    next.before = now();
    if (seen_.size() == most_kept) seen_.pop_back();
    seen_.push_back(next);
  }
  const auto value = what == By::store ? vgpu::value_stored(access, lane) : std::nullopt;
  for (std::size_t k = 0; k < access.bytes; ++k) {
    const std::uint64_t at = access.at(lane) + k - element_.address;  // wraps below the element
    if (at < element_.bytes) seen_.back().stored[at] = value ? std::optional((*value)[k]) : std::nullopt;
  }
}

std::vector<ElementWrites::Write> ElementWrites::writes() const {
  std::vector<Write> made;
  for (std::size_t k = 0; k < seen_.size(); ++k) {
    made.push_back(seen_[k].write);
    made.back().after = k + 1 < seen_.size() ? seen_[k + 1].before : now();
    if (k + 1 < seen_.size() || !has_host_written_last()) continue;
    for (std::size_t byte = 0; byte < element_.bytes; ++byte)
      if (seen_[k].stored[byte]) made.back().after[byte] = *seen_[k].stored[byte];
  }
  return made;
}

bool ElementWrites::has_host_written_last() const {
  if (seen_.empty()) return false;
  const Bytes last = now();
  for (std::size_t k = 0; k < element_.bytes; ++k)
    if (seen_.back().stored[k] && *seen_.back().stored[k] != last[k]) return true;
  return false;
}

ElementWrites::Bytes ElementWrites::now() const {
  Bytes bytes{};
  device_.memory().read(bytes.data(), element_.address, element_.bytes);
  return bytes;
}

std::optional<WrongWrite> wrong_write(const std::vector<ElementWrites::Write>& writes,
                                      const std::function<bool(const ElementWrites::Bytes&)>& is_right) {
  const auto right =
      std::find_if(writes.rbegin(), writes.rend(), [&](const auto& write) { return is_right(write.after); });
  if (right == writes.rbegin()) return std::nullopt;  // no write comes after it, or there is none at all
  if (right == writes.rend()) return WrongWrite{&writes.back()};
  return WrongWrite{&*std::prev(right), &*right};
}

}  // namespace scanlab::grade
