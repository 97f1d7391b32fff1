// Times the scans of one scan.cu for `grader/scanlab bench`: main() of the program that file is linked into.
//
// It answers one line of JSON to each line that it reads, so that several such programs can be measured in turn. It
// begins with a line about the device; then
//
//     measure ENTRY EXPECT SECTION N CALLS SECONDS
//
// calls ENTRY (inclusive_scan, exclusive_scan, copy, empty) on N elements, up to CALLS times or until SECONDS have
// passed, and at least once; EXPECT (inclusive, exclusive, copy, nothing) says what has to come out, for sections of
// SECTION elements (0: the whole array is one scan). Each answer is complete in itself: nothing is kept between two.
//
// Every timed call starts cold and behind other work: a kernel that reads twice as many bytes as the L2 cache holds
// comes first. It replaces what the last call left in the cache by data that need not be written back, and while it
// runs, the call's launches are queued behind it. So the time between the two events is the device's, unless the
// entry itself makes the host wait for the device, as cudaFree does: then the waiting counts, for that is what it
// costs.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "scanlab.cuh"

// Weak: a file that lacks one of them still links, and the answer says which is missing.
__attribute__((weak)) void inclusive_scan(const Element* d_x, Element* d_y, int n);
__attribute__((weak)) void exclusive_scan(const Element* d_x, Element* d_y, int n);

namespace {

constexpr int block_size = 256;
constexpr int most_blocks = 4096;  // the kernels below go on with the next elements when the grid is through

int blocks_for(long long count) {
  const long long blocks = (count + block_size - 1) / block_size;
  return static_cast<int>(blocks < most_blocks ? blocks : most_blocks);
}

// ---- the data ------------------------------------------------------------------------------------------------------
//
// The prefix sums are chosen, the elements follow: prefix(i) is a whole number from 0 to 2^10 - 1, and x[i] is
// prefix(i) - prefix(i - 1). So the sum of any neighbouring elements is a difference of two such numbers, which a float
// holds exactly: every order of additions gives the same sum, at any n, and right is right to the last bit. They are
// small so that this also holds for the sums of up to 2^14 sections, added in any order, as lab 09's atomics do; with
// more, only an order that takes nearly all positive ones first would round.

__device__ float prefix(long long i) {
  if (i < 0) return 0;
  auto bits = static_cast<std::uint64_t>(i) + 1;
  bits = (bits ^ (bits >> 32)) * 0x9e3779b97f4a7c15ull;
  bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9ull;
  return static_cast<float>(bits >> 54);
}

__device__ float element(long long i) {
  return prefix(i) - prefix(i - 1);
}

enum class Expect { inclusive, exclusive, copy, nothing };

__device__ float expected(Expect expect, int section, long long i) {
  if (expect == Expect::copy) return element(i);
  const long long first = section > 0 ? i / section * section : 0;
  return prefix(expect == Expect::inclusive ? i : i - 1) - prefix(first - 1);
}

__global__ void fill_kernel(float* d_x, int n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    d_x[i] = element(i);
  }
}

struct Differences {
  unsigned long long count;  // wrong elements
  unsigned long long first;  // the leftmost one
  float got, wanted;         // there; known after the second kernel
};

__global__ void compare_kernel(const float* d_y, int n, Expect expect, int section, Differences* d_found) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    if (!(d_y[i] == expected(expect, section, i))) {  // so that NaN is wrong
      atomicAdd(&d_found->count, 1ull);
      atomicMin(&d_found->first, static_cast<unsigned long long>(i));
    }
  }
}

__global__ void show_kernel(const float* d_y, Expect expect, int section, Differences* d_found) {
  const auto i = static_cast<long long>(d_found->first);
  d_found->got = d_y[i];
  d_found->wanted = expected(expect, section, i);
}

// ---- the calls -----------------------------------------------------------------------------------------------------

__global__ void read_kernel(const float4* d_data, long long count, float* d_sum) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  float sum = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const float4 data = d_data[i];
    sum += data.x + data.y + data.z + data.w;
  }
  if (sum != 0) *d_sum = sum;  // all are zeros, which the compiler cannot know: it has to keep the loads
}

__global__ void empty_kernel() {}

// The most that a scan could reach: every element read once and written once.
void copy(const Element* d_x, Element* d_y, int n) {
  SCANLAB_CUDA_CHECK(cudaMemcpyAsync(d_y, d_x, n * sizeof(Element), cudaMemcpyDeviceToDevice));
}

// What a launch costs that does nothing.
void empty(const Element*, Element*, int) {
  empty_kernel<<<1, 1>>>();
}

using Entry = void (*)(const Element*, Element*, int);

struct Command {
  std::string entry, expect;
  int section = 0, n = 0, calls = 0;
  double seconds = 0;
};

// Device memory that is freed when it goes out of scope; null when there is too little of it.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) {
    if (cudaMalloc(&data_, bytes) != cudaSuccess) data_ = nullptr;
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
};

// ---- the answers ---------------------------------------------------------------------------------------------------

std::string format(const char* pattern, ...) {
  char text[512];
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + "\"";
}

std::string failed(cudaError_t error) {
  const char* status = error == cudaErrorMemoryAllocation ? "out_of_memory" : "error";
  return format("{\"status\": \"%s\", \"text\": %s}", status,
                quoted(std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")").c_str());
}

std::string wrong(const char* what, const Differences& found, int n) {
  // All ones, with which measure() fills d_y, are a NaN.
  const std::string got = std::isnan(found.got) ? "is NaN or was never written" : format("= %.9g", found.got);
  const std::string text = format("%s[%llu] %s, expected %.9g; %llu of %d %s wrong", what, found.first, got.c_str(),
                                  found.wanted, found.count, n, found.count == 1 ? "is" : "are");
  return format("{\"status\": \"wrong\", \"text\": %s}", quoted(text).c_str());
}

// An empty text when all is well.
std::string compare(const char* what, const float* d_data, int n, Expect expect, int section) {
  const Buffer found_buffer(sizeof(Differences));
  if (!found_buffer) return failed(cudaErrorMemoryAllocation);
  auto* d_found = found_buffer.as<Differences>();
  Differences found{0, ~0ull, 0, 0};
  cudaMemcpy(d_found, &found, sizeof found, cudaMemcpyHostToDevice);
  compare_kernel<<<blocks_for(n), block_size>>>(d_data, n, expect, section, d_found);
  cudaMemcpy(&found, d_found, sizeof found, cudaMemcpyDeviceToHost);
  if (found.count > 0) {
    show_kernel<<<1, 1>>>(d_data, expect, section, d_found);
    cudaMemcpy(&found, d_found, sizeof found, cudaMemcpyDeviceToHost);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return failed(error);
  return found.count > 0 ? wrong(what, found, n) : std::string();
}

// The output is what has to come out, and the input is what it was.
std::string examine(const float* d_x, const float* d_y, int n, Expect expect, int section) {
  if (expect == Expect::nothing) return {};
  const std::string output = compare("y", d_y, n, expect, section);
  return output.empty() ? compare("the input, changed: x", d_x, n, Expect::copy, 0) : output;
}

// Calls an entry and times it.
class Timer {
 public:
  explicit Timer(std::size_t flush_bytes) : flush_(flush_bytes), sum_(sizeof(float)) {
    float4s_ = flush_ ? static_cast<long long>(flush_bytes / sizeof(float4)) : 0;
    if (flush_) cudaMemset(flush_.as<void>(), 0, flush_bytes);
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
    (void)cudaGetLastError();
  }

  std::size_t flush_bytes() const { return static_cast<std::size_t>(float4s_) * sizeof(float4); }

  // Milliseconds between the events around one call; `error` is what the call left behind.
  float call(Entry entry, const float* d_x, float* d_y, int n, cudaError_t& error) {
    if (float4s_ > 0) {
      read_kernel<<<blocks_for(float4s_), block_size>>>(flush_.as<float4>(), float4s_, sum_.as<float>());
    }
    cudaEventRecord(begin_);
    entry(d_x, d_y, n);
    error = cudaGetLastError();
    cudaEventRecord(end_);
    const cudaError_t finished = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = finished;
    float ms = 0;
    if (error == cudaSuccess) error = cudaEventElapsedTime(&ms, begin_, end_);
    return ms;
  }

 private:
  Buffer flush_, sum_;
  long long float4s_ = 0;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

std::string measure(Timer& timer, const Command& command, Entry entry, Expect expect) {
  const int n = command.n;
  const std::size_t bytes = n * sizeof(float);
  const Buffer x(bytes), y(bytes);
  (void)cudaGetLastError();
  if (!x || !y) return "{\"status\": \"out_of_memory\", \"text\": \"no room for the two arrays\"}";
  float* const d_x = x.as<float>();
  float* const d_y = y.as<float>();
  fill_kernel<<<blocks_for(n), block_size>>>(d_x, n);
  cudaMemset(d_y, 0xff, bytes);  // NaNs: what is never written is wrong

  // The first call loads the code and fills what the entry may keep. It is not timed, and its result has to be right.
  cudaError_t error = cudaSuccess;
  const float first_ms = timer.call(entry, d_x, d_y, n, error);
  if (error != cudaSuccess) return failed(error);
  if (const std::string answer = examine(d_x, d_y, n, expect, command.section); !answer.empty()) return answer;

  std::vector<float> times;
  const auto start = std::chrono::steady_clock::now();
  do {
    times.push_back(timer.call(entry, d_x, d_y, n, error));
    if (error != cudaSuccess) return failed(error);
  } while (times.size() < static_cast<std::size_t>(command.calls) &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < command.seconds);
  if (const std::string answer = examine(d_x, d_y, n, expect, command.section); !answer.empty()) return answer;

  std::string list;
  for (const float ms : times) list += format("%s%.6g", list.empty() ? "" : ", ", ms);
  return format("{\"status\": \"ok\", \"first_ms\": %.6g, \"ms\": [", first_ms) + list + "]}";
}

std::string obey(Timer& timer, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  Command command;
  words >> verb >> command.entry >> command.expect >> command.section >> command.n >> command.calls >> command.seconds;
  const bool known = command.entry == "inclusive_scan" || command.entry == "exclusive_scan" ||
                     command.entry == "copy" || command.entry == "empty";
  const Expect expect = command.expect == "inclusive"   ? Expect::inclusive
                        : command.expect == "exclusive" ? Expect::exclusive
                        : command.expect == "copy"      ? Expect::copy
                                                        : Expect::nothing;
  if (!words || verb != "measure" || !known || (expect == Expect::nothing && command.expect != "nothing") ||
      command.section < 0 || command.n < 1 || command.calls < 1) {
    return format("{\"status\": \"bad_command\", \"text\": %s}", quoted(line.substr(0, 200)).c_str());
  }
  const Entry entry = command.entry == "inclusive_scan"   ? &inclusive_scan
                      : command.entry == "exclusive_scan" ? &exclusive_scan
                      : command.entry == "copy"           ? &copy
                                                          : &empty;
  if (entry == nullptr) {
    return format("{\"status\": \"missing\", \"text\": \"there is no %s(const Element*, Element*, int)\"}",
                  command.entry.c_str());
  }
  return measure(timer, command, entry, expect);
}

// ---- the conversation ----------------------------------------------------------------------------------------------

std::string about(const cudaDeviceProp& device, std::size_t flush_bytes) {
  int runtime = 0, driver = 0, clock_khz = 0, bus_bits = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, 0);
  cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, 0);
  (void)cudaGetLastError();  // a device may keep its clock to itself
  return format("{\"status\": \"ok\", \"name\": %s, \"multiprocessors\": %d, \"l2_bytes\": %d, \"memory_bytes\": %zu, ",
                quoted(device.name).c_str(), device.multiProcessorCount, device.l2CacheSize, device.totalGlobalMem) +
         format("\"peak_gb_s\": %.6g, \"runtime\": %d, \"driver\": %d, \"flush_bytes\": %zu}",
                2.0 * clock_khz * (bus_bits / 8) * 1e-6, runtime, driver, flush_bytes);
}

}  // namespace

// The one argument, if any: how many bytes to read before each call, in place of twice the L2 cache's; 0: none.
int main(int argc, char** argv) {
  // The conversation keeps its two ends to itself. What the scans print goes to stderr, and they have nothing to read.
  FILE* const from = fdopen(dup(STDIN_FILENO), "r");
  FILE* const to = fdopen(dup(STDOUT_FILENO), "w");
  const int nothing = open("/dev/null", O_RDONLY);
  if (from == nullptr || to == nullptr || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
      dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::perror("timer");
    return 3;
  }
  const auto say = [to](const std::string& line) {
    return std::fprintf(to, "%s\n", line.c_str()) > 0 && fflush(to) == 0;
  };

  cudaDeviceProp device{};
  const cudaError_t error = cudaGetDeviceProperties(&device, 0);
  if (error != cudaSuccess) {
    say(failed(error));
    return 3;
  }
  Timer timer(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2 * static_cast<std::size_t>(device.l2CacheSize));
  if (!say(about(device, timer.flush_bytes()))) return 3;

  char line[1024];
  while (std::fgets(line, sizeof line, from) != nullptr) {
    std::string text = line;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (!say(obey(timer, text))) break;
  }
  return 0;
}
