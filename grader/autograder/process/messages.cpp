#include "autograder/process/messages.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::grade {

namespace {

constexpr std::array<std::pair<std::string_view, Meaning>, 14> cuda_errors = {{
    {"cudaErrorInvalidConfiguration",
     {"the kernel was refused: a grid or block with a zero in it, more than 1024 threads a block, or more blocks than "
      "a grid may have",
      "print the numbers between <<< and >>>; for n = 0 launch nothing, and round the number of blocks up, not down"}},
    {"cudaErrorInvalidValue",
     {"a CUDA call was given a value that makes no sense, or a launch was refused: a grid or block with a zero in it, "
      "more than 1024 threads a block, more shared memory than a block may have",
      "wrap the calls of the entry in SCANLAB_CUDA_CHECK to see which one it is; for n = 0 launch nothing"}},
    {"cudaErrorLaunchOutOfResources",
     {"one block of this kernel needs more registers or threads than the device has",
      "launch fewer threads a block, or use fewer variables in the kernel"}},
    {"cudaErrorMemoryAllocation",
     {"cudaMalloc found no memory",
      "free what the entry allocates before it returns; it is called many times in one process"}},
    {"cudaErrorIllegalAddress",
     {"a thread read or wrote memory outside every allocation",
      "compare each index with n before it is used; on the virtual GPU (without --device gpu) the report names the "
      "line"}},
    {"cudaErrorMisalignedAddress",
     {"a thread read or wrote an address that is no multiple of the access's size",
      "look for pointer casts; on the virtual GPU (without --device gpu) the report names the line"}},
    {"cudaErrorLaunchTimeout",
     {"the kernel did not end in time", "look for a loop whose condition never becomes false"}},
    {"cudaErrorLaunchFailure",
     {"the kernel was stopped by an exception on the device",
      "check indices into shared memory; on the virtual GPU (without --device gpu) the report names the line"}},
    {"cudaErrorAssert", {"an assert() in device code failed", "the assertion's text is among the printed lines"}},
    {"cudaErrorInvalidDeviceFunction",
     {"the kernel does not exist in the program for this device",
      "is it defined as a __global__ function in this file?"}},
    {"cudaErrorInvalidResourceHandle",
     {"a CUDA call was given a kernel, stream or event that does not exist",
      "launch __global__ functions of this file, and destroy streams and events after their last use"}},
    {"cudaErrorCooperativeLaunchTooLarge",
     {"a cooperative launch has more blocks than fit on the device at once", "launch fewer blocks"}},
    {"cudaErrorNotSupported",
     {"the entry called something that the virtual GPU does not offer", "the printed lines say which function it was"}},
    {"cudaErrorInvalidDevicePointer",
     {"a pointer that is no device pointer was used as one", "pass d_x and d_y, or what cudaMalloc returned"}},
}};

Failure simple(std::string id, std::string rationale, std::string next, Verdict verdict = Verdict::fail) {
  return {verdict, {.id = std::move(id), .rationale = std::move(rationale), .next = std::move(next)}};
}

std::string signal_text(int signal) {
  static constexpr std::pair<int, const char*> known[] = {
      {SIGSEGV,
       "crashed on the host (segmentation fault): host code used a pointer it must not use. Device memory, such "
       "as d_x[0], can be read in a kernel only. A function that calls itself without end crashes like this too"},
      {SIGBUS, "crashed on the host (bus error): host code used a bad pointer"},
      {SIGFPE, "crashed on the host: an integer was divided by zero"},
      {SIGABRT, "stopped itself on the host (abort): a failed assert, an uncaught exception or a broken heap"},
      {SIGILL, "crashed on the host: an illegal instruction (a function that ends without a return?)"},
      {SIGXCPU, "used up its processor time"},
      {SIGXFSZ, "wrote more to a file than a submission may"},
      {SIGKILL, "was killed; it may have used too much memory"}};
  for (const auto& [number, text] : known)
    if (number == signal) return text;
  return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
}

/// Host code has used a pointer that means nothing to it.
std::optional<Failure> failure_of_access(const Ending& ending, std::string_view when,
                                         const std::vector<NamedBuffer>& buffers) {
  if (ending.how != Ending::How::signalled || !ending.address) return std::nullopt;
  const std::uint64_t address = *ending.address;
  if (address < 4096) {
    return simple(
        "crash.host",
        fmt::format("the program crashed on the host (segmentation fault): it used a null pointer ({})", when),
        "look at the host code of the entry: every pointer must point to something before it is followed");
  }
  if (address < vgpu::code_window || address >= vgpu::global_window + vgpu::global_window_bytes) return std::nullopt;
  std::string what = "a device pointer";
  for (const NamedBuffer& named : buffers) {
    if (address - named.buffer.address < named.buffer.bytes) {
      what = fmt::format("byte {} of {}", address - named.buffer.address, named.name);
    }
  }
  return simple(
      "host_pointer",
      fmt::format("the program crashed on the host: host code used {}, which is device memory ({})", what, when),
      "only kernels can use device memory: copy it to the host with cudaMemcpy first");
}

}  // namespace

Meaning meaning_of_cuda_error(std::string_view name) {
  for (const auto& [known, meaning] : cuda_errors) {
    if (known == name) return meaning;
  }
  return {"CUDA reported an error", "wrap the calls of the entry in SCANLAB_CUDA_CHECK to see where it comes from"};
}

Failure failure_of(const runner::Done& done, Operation entry) {
  using Status = runner::Done::Status;
  switch (done.status) {
    case Status::missing:
      return simple("entry.missing",
                    fmt::format("there is no function {}({}) in the file", entry_name(entry), parameters_of(entry)),
                    fmt::format("define it on the host with exactly these parameters, not static, not in a namespace "
                                "(scanlab.cuh declares it)"));
    case Status::launch_error:
    case Status::run_error: {
      const std::string_view name = done.cuda_error_name;
      const Meaning meaning = meaning_of_cuda_error(name);
      Failure failure = simple("cuda.error", fmt::format("{}: {}", name, meaning.meaning), std::string(meaning.advice));
      failure.cause.expected = "cudaSuccess";
      failure.cause.actual = done.status == Status::launch_error
                                 ? fmt::format("{} when {} returned", name, entry_name(entry))
                                 : fmt::format("{} from cudaDeviceSynchronize() after {}", name, entry_name(entry));
      return failure;
    }
    case Status::no_memory_map:
      // The submission's own mistakes show up here too, when an earlier call has left its context broken; a fresh
      // process is asked first in that case, and then one of the kit's own, so that this is the kit's.
      return simple("kit", fmt::format("the runner cannot open the judge's device memory: {}", done.cuda_error_name),
                    "CUDA IPC must work between processes here; containers need a shared IPC namespace",
                    Verdict::error);
    default:
      return simple("runner.changed", "the program answered the judge in a way that only a changed runner does",
                    "leave the runner's descriptors alone");
  }
}

Failure failure_of(const Ending& ending, Operation entry, const TimeLimit& limit, std::size_t output_limit,
                   const std::vector<NamedBuffer>& buffers) {
  const char* name = entry_name(entry);
  const std::string when =
      ending.was_ready ? fmt::format("in {}", name) : std::string("before it was asked to do anything");
  if (std::optional<Failure> access = failure_of_access(ending, when, buffers)) return *access;
  switch (ending.how) {
    case Ending::How::exited:
      return simple("crash.exit",
                    fmt::format("the program ended with exit code {} {}: {} must return", ending.code, when, name),
                    ending.was_ready ? "remove calls of exit(), also where an error is handled"
                                     : "look for a main() in the file, and for constructors of global variables, which "
                                       "run before everything else");
    case Ending::How::signalled:
      return simple("crash.host", fmt::format("the program {} ({})", signal_text(ending.code), when),
                    "look at the host code of the entry: pointers, sizes, what it does before and after the launch");
    case Ending::How::timeout:
      return simple("endless", fmt::format("no answer within {} ({})", text_of(limit), when),
                    limit.has_waited() ? "look for what the host code waits for: a sleep, a lock, another process"
                                       : "look for a loop that never ends, in the kernel or on the host",
                    Verdict::timeout);
    case Ending::How::flooded:
      return simple("output.flood", fmt::format("it printed more than {} bytes in one call ({})", output_limit, when),
                    "remove printf, or print from one thread for small n only");
    case Ending::How::memory:
      return simple("crash.host", fmt::format("it used more memory on the host than a submission may ({})", when),
                    "look for host memory that is allocated again and again, and for processes that are started");
    case Ending::How::device_memory:
      return simple(
          "crash.host", fmt::format("it needs more memory on the device than a submission may ({})", when),
          "look for memory that is allocated again and again, by a loop or by a function that calls itself without "
          "end; else for what each thread has of its own: large local arrays, and many blocks");
    case Ending::How::garbled:
      return simple("runner.changed", "the program wrote into the judge's connection",
                    "leave the runner's descriptors alone");
  }
  return simple("crash.host", "the program ended", "");
}

std::vector<std::string> first_lines(std::string_view output, std::size_t count) {
  constexpr std::size_t longest = 200;
  std::vector<std::string> lines;
  while (!output.empty() && lines.size() < count) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    std::string line(output.substr(0, std::min(end, longest)));
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = c == '\t' ? ' ' : '?';
    }
    if (end > longest) line += " …";
    lines.push_back(std::move(line));
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return lines;
}

void add_printed(Cause& cause, std::string_view output) {
  const std::vector<std::string> lines = first_lines(output, shown_lines);
  if (!lines.empty()) cause.details.push_back("the program printed:");
  for (const std::string& line : lines) cause.details.push_back("  " + line);
}

}  // namespace scanlab::grade
