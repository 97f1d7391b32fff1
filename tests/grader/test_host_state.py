"""What host code may need without ending a proof, and what a proof then says that it assumes."""

from pathlib import Path

import pytest

from scanlab.judging.compiled import host_state
from scanlab.judging.learners_file import LearnersFile


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


STEADY = words("""
    malloc free memcpy memset strlen strcmp strtol printf fprintf snprintf puts fwrite stderr abort exit sqrt
    ceilf __cxa_guard_acquire __gxx_personality_v0 _Unwind_Resume __cudaLaunchKernel __gmon_start__
    cudaMalloc cudaMallocAsync cudaFree cudaFreeAsync cudaMemcpy cudaMemcpy2DAsync cudaMemset cudaMemcpyToSymbol
    cudaLaunchKernel cudaLaunchCooperativeKernel cudaDeviceSynchronize cudaStreamCreateWithFlags cudaStreamSynchronize
    cudaStreamWaitEvent cudaEventRecord cudaEventSynchronize cudaGetLastError cudaGetErrorString
    cudaGraphLaunch cudaStreamBeginCapture
""")
UNSTEADY = words("""
    time clock clock_gettime getenv environ rand random drand48 getpid strerror strtok strftime memfd_create fopen fread
    fgets getchar open read stat syscall dlsym pthread_create fork raise signal gethostname sysconf __errno_location
    cudaMemGetInfo cudaStreamGetCaptureInfo_v2 cudaEventQuery cudaEventElapsedTime cudaStreamQuery cudaStreamGetId
    cudaHostAlloc cudaMallocHost cudaMallocManaged cudaHostRegister cudaLaunchHostFunc cudaStreamAddCallback
    cudaGraphAddHostNode cuLaunchKernel
""")
OF_THE_DEVICE = words("""
    cudaGetDevice cudaGetDeviceProperties cudaGetDeviceProperties_v2 cudaDeviceGetAttribute cudaDeviceGetLimit
    cudaOccupancyMaxPotentialBlockSize cudaFuncGetAttributes cudaRuntimeGetVersion cudaMallocPitch cudaMalloc3D
""")
OF_THE_LIBRARY = words("log2 powf sin exp qsort")
CPP_STEADY = [
    "operator new",
    "operator delete[]",
    "std::__throw_length_error",
    "std::ostream::operator<<",
    "std::cout",
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create",
    "std::runtime_error::runtime_error",
    "vtable for std::runtime_error",
]
CPP_UNSTEADY = [
    "std::chrono::_V2::steady_clock::now",
    "std::random_device::_M_getval",
    "std::thread::hardware_concurrency",
    "std::basic_ifstream<char, std::char_traits<char> >::basic_ifstream",
    "std::cin",
]


@pytest.mark.parametrize("name", [*STEADY, *CPP_STEADY])
def test_what_does_the_same_each_time_is_allowed(name: str) -> None:
    assert host_state.STEADY.fullmatch(name)


@pytest.mark.parametrize("name", OF_THE_LIBRARY)
def test_what_another_library_may_answer_otherwise_is_named(name: str) -> None:
    assert host_state.OF_THE_LIBRARY.fullmatch(name)
    assert not host_state.STEADY.fullmatch(name)


@pytest.mark.parametrize("name", [*UNSTEADY, *CPP_UNSTEADY])
def test_what_may_do_something_else_is_not(name: str) -> None:
    assert not host_state.STEADY.fullmatch(name)
    assert not host_state.OF_THE_DEVICE.fullmatch(name)


@pytest.mark.parametrize("name", OF_THE_DEVICE)
def test_what_a_device_says_of_itself_is_said(name: str) -> None:
    assert host_state.OF_THE_DEVICE.fullmatch(name)
    assert not host_state.STEADY.fullmatch(name)


LAUNCH = """
void inclusive_scan(const Element* d_x, Element* d_y, int n) { begin(); }
void exclusive_scan(const Element* d_x, Element* d_y, int n) { begin(); }
"""


@pytest.mark.parametrize(
    ("text", "breach", "state"),
    [
        ("void begin() {}", "", ""),
        (
            "#include <ctime>\nvoid begin() {\n  if (clock() == 7) cudaDeviceSynchronize();\n}",
            "scan.cu:4 uses clock, which is not known to do the same in each call",
            "",
        ),
        (
            'extern "C" long time(long*) __attribute__((weak));\nvoid begin() {\n  if (time) time(nullptr);\n}',
            "scan.cu:2 uses time, which is not known to do the same in each call",
            "",
        ),
        (
            'void begin() {\n  unsigned r;\n  asm volatile("rdrand %0" : "=r"(r));\n}',
            "scan.cu has the instruction rdrand, which is not known to do the same in each call",
            "",
        ),
        (
            '#include <xmmintrin.h>\nvoid begin() {\n  _mm_setcsr(_mm_getcsr() | 0x8000);\n}',
            "scan.cu has the instruction stmxcsr, which is not known to do the same in each call",
            "",
        ),
        (
            'void begin() {\n  unsigned short state;\n  asm volatile("fnstsw %0" : "=a"(state));\n}',
            "scan.cu has the instruction fnstsw, which is not known to do the same in each call",
            "",
        ),
        (
            'void begin() {\n  unsigned long flags;\n  asm volatile("pushf; pop %0" : "=r"(flags));\n}',
            "scan.cu has the instruction pushf, which is not known to do the same in each call",
            "",
        ),
        (
            "static int calls = 0;\n__device__ int d_y0[4];\nvoid begin() {\n  ++calls, cudaGetDeviceCount(&calls);\n}",
            "",
            "what calls (scan.cu:2) and 1 other keep and what cudaGetDeviceCount (scan.cu:5) says are as in these "
            "calls",
        ),
        (
            "void begin() {\n  cudaSetDevice(0);\n  cudaDeviceSetLimit(cudaLimitStackSize, 4096);\n}",
            "",
            "what cudaSetDevice (scan.cu:3) and 1 other set is as in these calls",
        ),
        (
            'int hidden __attribute__((section("mine"))) = 1;\nvoid begin() {\n  ++hidden;\n}',
            "",
            "what hidden (scan.cu:2) keeps is as in these calls",
        ),
        ("const int table[4] = {1, 2, 3, 4};\nvoid begin() {\n  printf(\"%d\", table[1]);\n}", "", ""),
    ],
)  # fmt: skip
def test_an_object_shows_what_its_host_code_needs_and_keeps(text: str, breach: str, state: str, tmp_path: Path) -> None:
    whole = f'#include "scanlab.cuh"\n{text}\n{LAUNCH}'
    path = tmp_path / "scan.cu"
    path.write_text(whole)
    seen = host_state.read(path, "float", LearnersFile(whole), "scan.cu", is_sandboxed=False)
    assert (seen.breach, seen.state) == (breach, state)
