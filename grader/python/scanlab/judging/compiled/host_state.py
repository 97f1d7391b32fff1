"""What host code has that a proof of its scan does not cover: state from call to call, clocks, the environment.

A proof says what one call does, as a function of n and of where its arrays are. Host code that asks for the time can do
something else in another call: that ends the proof. What is kept for the next call is often right (an array that is
allocated once, the device's properties), so it is named in the sentence. The object shows both: the functions that it
needs, and variables in writable sections, where those of the device have their shadows.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scanlab.errors import KitError, WorkError
from scanlab.judging import sandbox
from scanlab.judging.compile import compile_object
from scanlab.judging.compiler.recipe import ELEMENT_FLAGS, Source
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.toolchain import toolchain
from scanlab.paths import ROOT
from scanlab.process import run_group
from scanlab.scratch import scratch

SECONDS = 60.0
WRITABLE = frozenset("bBdDuVvC")
"""nm's letters for variables that a program may write."""
OF_CUDA = re.compile(
    r"^DW\.ref\.|_?_?(?:__nv_|__cuda|__fat|__device_stub__)|(?:^|::)__(?:ref|f|tmp|handle)$|std::__ioinit$|^vtable "
)
"""Names of variables that nvcc, g++ and the C++ library put into each object."""
ASKS = {
    "the time": "time clock clock_gettime gettimeofday times timespec_get getrusage ftime "
    "std::chrono::_V2::system_clock::now std::chrono::_V2::steady_clock::now cudaEventElapsedTime "
    "cudaEventElapsedTime_v2",
    "how far the device is": "cudaEventQuery cudaStreamQuery",
    "how much memory is left": "cudaMemGetInfo sysinfo",
    "its environment": "getenv secure_getenv getpid getppid gettid gethostname uname sched_getcpu syscall dlsym",
    "chance": "rand random rand_r drand48 lrand48 mrand48 getrandom getentropy std::random_device::_M_getval "
    "std::random_device::_M_init",
    "files or other programs": "fopen fopen64 open open64 openat read fread fgets getline scanf __isoc99_scanf "
    "__isoc99_fscanf __isoc23_scanf __isoc23_fscanf popen system socket pipe mmap std::basic_ifstream",
    "another thread": "pthread_create std::thread::_M_start_thread fork vfork",
}
"""What host code can ask for, and the functions that it does so by, without their parameters."""
FUNCTIONS = {function: what for what, functions in ASKS.items() for function in functions.split()}


@dataclass(frozen=True)
class HostState:
    """What is seen of the host code of a submission."""

    breach: str = ""
    """What ends a proof: "scan.cu:12 asks for the time, by clock()"; empty where nothing does."""
    state: str = ""
    """What a proof has to assume of variables: "d_sums (scan.cu:12)"; empty where there are none."""


def read(path: Path, element: str, file: LearnersFile, name: str, *, is_sandboxed: bool) -> HostState:
    """Return what the host code of a file, which has been compiled for `element`, asks for and keeps.

    `name` is how messages call the file. Where its object cannot be read, that is a breach, too: then nothing is known.
    """
    try:
        made = compile_object(Source(path, ELEMENT_FLAGS[element]), "vgpu", is_sandboxed=is_sandboxed)
        symbols = list(_symbols(made, is_sandboxed=is_sandboxed))
    except (WorkError, KitError, OSError):
        return HostState(f"what {name} keeps from call to call is not known")
    breach = state = ""
    for symbol, kind in symbols:
        short = symbol.partition("(")[0].removesuffix("[abi:cxx11]")
        if kind == "U" and not breach and (what := FUNCTIONS.get(short)):
            breach = f"{_place(short, file, name)} asks for {what}, by {short.rpartition('::')[2]}()"
        is_own = not OF_CUDA.search(symbol) and not symbol.startswith("guard variable")
        if kind in WRITABLE and is_own and not state:
            short = symbol.rpartition("::")[2]
            state = f"{short} ({_place(short, file, name)})"
    return HostState(breach, state)


def _symbols(made: Path, *, is_sandboxed: bool) -> Iterator[tuple[str, str]]:
    """Yield each symbol of an object, which another may have made, with nm's letter for it."""
    command = ["nm", "-C", "-P", str(made)]
    if is_sandboxed:
        with scratch() as folder:
            listed = sandbox.run_compiler(command, ROOT, toolchain(), [made], folder, "vgpu", SECONDS).output
    else:
        listed = run_group(command, SECONDS).output
    for line in listed.splitlines():
        if found := re.fullmatch(r"(.+?) ([A-Za-z?]) [0-9a-f ]*", line):
            yield found[1], found[2]


def _place(symbol: str, file: LearnersFile, name: str) -> str:
    """Return "scan.cu:12", the first line of the file that has a symbol's name, or the file's name for none."""
    word = re.compile(rf"\b{re.escape(symbol.rpartition('::')[2])}\b")
    lines: Iterable[int] = (at for at, code in enumerate(file.codes, 1) if word.search(code))
    line = next(iter(lines), 0)
    return f"{name}:{line}" if line else name
