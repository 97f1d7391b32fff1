#include "vgpu/bench/pocl.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "vgpu/bench/command.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

namespace scanlab::bench {
namespace {

void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw std::runtime_error(fmt::format("{}: OpenCL error {}", call, code));
}

/// Owns an OpenCL object.
template <auto release>
struct Release {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
template <typename Handle, auto release>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release<release>>;
using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using ClProgram = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Buffer = Owned<cl_mem, clReleaseMemObject>;

template <typename Object>
std::string text(cl_int (*ask)(Object, unsigned, std::size_t, void*, std::size_t*), Object object, unsigned what) {
  std::size_t size = 0;
  if (ask(object, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string answer(size, '\0');
  ask(object, what, size, answer.data(), nullptr);
  answer.resize(size - 1);  // the last byte is a zero
  return answer;
}

cl_platform_id pocl_platform() {
  cl_uint count = 0;
  // Without any platform the loader gives an error, which is not a fault here.
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) count = 0;
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_platform_id platform : platforms) {
    if (text(clGetPlatformInfo, platform, CL_PLATFORM_NAME) == "Portable Computing Language") return platform;
  }
  throw NoDevice("PoCL is not installed (Debian's package is pocl-opencl-icd)");
}

cl_device_id processor_of(cl_platform_id platform) {
  cl_device_id device = nullptr;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS)
    throw NoDevice("PoCL has no device for this processor");
  return device;
}

}  // namespace

struct Pocl::Implementation {
  cl_device_id device;
  Context context;
  Queue queue;
  ClProgram program;

  explicit Implementation(cl_device_id the_device) : device(the_device) {}
};

namespace {

/// A launch on PoCL's device.
class Launchable : public Pocl::Prepared {
 public:
  Launchable(cl_context context, cl_command_queue queue, cl_program program, const Case& made)
      : queue_(queue), output_words_(made.expected.size()) {
    cl_int code = CL_SUCCESS;
    kernel_.reset(clCreateKernel(program, made.kernel.c_str(), &code));
    check(code, "clCreateKernel");
    for (const Words& input : made.inputs) add_buffer(context, input);
    add_buffer(context, Words(output_words_, 0xffffffff));
    check(clSetKernelArg(kernel_.get(), static_cast<cl_uint>(buffers_.size()), sizeof made.size, &made.size),
          "clSetKernelArg");
    local_[0] = made.block.x;
    local_[1] = made.block.y;
    global_[0] = std::size_t{made.grid.x} * made.block.x;
    global_[1] = std::size_t{made.grid.y} * made.block.y;
  }

  Sample launch() override {
    const Stopwatch watch;
    check(clEnqueueNDRangeKernel(queue_, kernel_.get(), 2, nullptr, global_, local_, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(clFinish(queue_), "clFinish");
    return watch.elapsed();
  }

  Words output() override {
    Words got(output_words_);
    check(
        clEnqueueReadBuffer(queue_, buffers_.back().get(), CL_TRUE, 0, 4 * got.size(), got.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
    return got;
  }

 private:
  /// The next parameter: a buffer with these words.
  void add_buffer(cl_context context, Words words) {
    cl_int code = CL_SUCCESS;
    const cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4 * words.size(), words.data(), &code);
    check(code, "clCreateBuffer");
    buffers_.emplace_back(buffer);
    check(clSetKernelArg(kernel_.get(), static_cast<cl_uint>(buffers_.size() - 1), sizeof buffer, &buffer),
          "clSetKernelArg");
  }

  cl_command_queue queue_;
  Kernel kernel_;
  std::vector<Buffer> buffers_;
  std::size_t output_words_;
  std::size_t local_[2], global_[2];
};

}  // namespace

Pocl::Pocl(const std::string& source) {
  // Two names for the same: PoCL's older releases and its newer ones. It reads them when it is first asked for devices.
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
  setenv("POCL_CPU_MAX_CU_COUNT", "1", 1);
  const cl_platform_id platform = pocl_platform();
  version_ = text(clGetPlatformInfo, platform, CL_PLATFORM_VERSION);
  implementation_ = std::make_unique<Implementation>(processor_of(platform));
  Implementation& own = *implementation_;
  processor_ = text(clGetDeviceInfo, own.device, CL_DEVICE_NAME);

  cl_int code = CL_SUCCESS;
  own.context.reset(clCreateContext(nullptr, 1, &own.device, nullptr, nullptr, &code));
  check(code, "clCreateContext");
  own.queue.reset(clCreateCommandQueue(own.context.get(), own.device, 0, &code));
  check(code, "clCreateCommandQueue");
  const char* start = source.c_str();
  own.program.reset(clCreateProgramWithSource(own.context.get(), 1, &start, nullptr, &code));
  check(code, "clCreateProgramWithSource");
  if (clBuildProgram(own.program.get(), 1, &own.device, "", nullptr, nullptr) != CL_SUCCESS) {
    std::string log(1 << 16, '\0');
    clGetProgramBuildInfo(own.program.get(), own.device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
    throw std::runtime_error(fmt::format("PoCL does not compile the kernels: {}", log.c_str()));
  }
}

Pocl::~Pocl() = default;

bool Pocl::has_kernel(std::string_view name) const {
  cl_int code = CL_SUCCESS;
  const Kernel kernel(clCreateKernel(implementation_->program.get(), std::string(name).c_str(), &code));
  return code == CL_SUCCESS;
}

std::unique_ptr<Pocl::Prepared> Pocl::prepare(const Case& made) {
  const Implementation& own = *implementation_;
  return std::make_unique<Launchable>(own.context.get(), own.queue.get(), own.program.get(), made);
}

}  // namespace scanlab::bench
