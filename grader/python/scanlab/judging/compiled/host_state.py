"""What host code has that a proof of its launches does not cover: state from call to call, and what the machine says.

A proof says what the launches of the calls that were made do, for every input. Host code makes the same launches
again where it calls nothing that may answer otherwise. What is known not to is listed here; any other function, or
variable of a library, ends the proof with its line: the list can be too short, and makes no proof false by that. What
is kept for the next call is often right (an array that is allocated once), and so is asking for the device's
properties: these are named in the sentence.

An object shows the functions and variables that it needs, its own variables that may be written, where those of the
device have their shadows, and its instructions. It does not show what host code makes of an address or of memory that
nobody wrote: that is why the sentence is about the launches that were made.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab.errors import KitError, WorkError
from scanlab.judging import sandbox
from scanlab.judging.compile import compile_object
from scanlab.judging.compiled.line_table import texts
from scanlab.judging.compiler.recipe import ELEMENT_FLAGS, Source
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.toolchain import toolchain
from scanlab.paths import ROOT
from scanlab.process import OUTPUT_LIMIT, run_group
from scanlab.scratch import scratch

SECONDS = 60.0
COLUMNS = ("Name", "Value", "Class", "Type", "Size", "Line", "Section")
"""Of what nm writes in System V's format."""
UNDEFINED = "*UND*"
OF_DATA, OF_ANY_DATA = frozenset("bBdDsSgGC"), frozenset("vVu")
"""nm's letters for variables that a program may write, in whatever section, and for those that it may or may not."""
CONSTANT = (".rodata", ".data.rel.ro")
"""How the sections begin whose variables no program writes, or the loader alone."""
UNKNOWN = "which is not known to do the same in each call"
OF_A_FUNCTION = re.compile(rb"^\.(?:visible \.|weak \.)?global [^\n;={]{1,100}? (_ZZ\w{1,4000})", re.MULTILINE)
"""A variable of the device that is static in a function, in PTX: the host has no shadow of it."""
LENGTH, NUMBER = re.compile(r"E([0-9]{1,3})(?![0-9])"), re.compile(r"_[0-9]{1,4}$")
"""Of a mangled name: before the last part, how long that is; and behind it, which of several with that name it is."""
OF_TOOLS = re.compile(
    r"^guard variable|^DW\.ref\.|_?_?(?:__nv_|__cuda|__fat|__device_stub__)|(?:^|::)__(?:ref|f|tmp|handle)$"
    r"|std::__ioinit$|^vtable "
)
"""Names of variables that nvcc, g++ and the C++ library put into each object."""


def _one_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


STEADY = _one_of(
    # What nvcc, g++ and the C++ library call by themselves.
    r"__cuda\w+|__cxa_\w+|__gxx_personality_v0|_Unwind_\w+|__stack_chk_fail|__dso_handle|_GLOBAL_OFFSET_TABLE_|atexit",
    r"__assert_fail|__libc_single_threaded|__tls_get_addr|__gmon_start__|_ITM_\w+|__pthread_key_create",
    r"(?:typeinfo|typeinfo name|vtable|VTT|construction vtable) for .+",
    # The CUDA runtime, where it does something; and the errors of what was done.
    r"cuda(?:Malloc(?:Async)?|Free\w*|Memcpy\w*|Memset\w*)",
    r"cudaLaunch(?:Kernel|KernelExC|CooperativeKernel)|cudaGraph(?:Create|Instantiate\w*|Launch|Destroy|ExecDestroy|Upload)",
    r"cuda(?:DeviceSynchronize|GetSymbol\w+|GetKernel|GetFuncBySymbol)",
    r"cudaStream(?:Create\w*|Destroy|Synchronize|WaitEvent|BeginCapture\w*|EndCapture|IsCapturing)",
    r"cudaEvent(?:Create\w*|Destroy|Record\w*|Synchronize)",
    r"cuda(?:GetLastError|PeekAtLastError|GetErrorName|GetErrorString)",
    # C: memory, text, output, mathematics, ends of a program.
    r"malloc|calloc|realloc|free|aligned_alloc|posix_memalign",
    r"(?:mem|str|stp)(?:n?cpy|move|set|n?cmp|n?cat|r?chr|n?len|pbrk|r?c?spn|str|dup|tod|tof|tou?ll?)\w*",
    r"(?:__)?v?(?:f|s|sn|as)?printf(?:_chk)?|puts|putchar|putc|fputs|fputc|fwrite|fflush|perror|stdout|stderr",
    r"abort|exit|_Exit|atoi|atol|atoll|atof|l?l?abs|l?l?div|(?:__isoc23_)?strtou?ll?",
    r"(?:ceil|floor|round|l?lround|l?lrint|rint|nearbyint|trunc|sqrt|fabs|fmod|fmin|fmax|fma|frexp|"
    r"ldexp|scalbn|ilogb|logb)[fl]?",
    # C++: memory, texts, output, containers, exceptions.
    r"operator (?:new|delete)(?:\[\])?",
    r"std::(?:__throw_\w+|terminate|uncaught_exceptions?|cout|cerr|clog|endl|ends|flush|operator<<)\b.*",
    r"std::(?:__cxx11::)?(?:basic_string|basic_ostream|ostream|basic_ios|ios_base|basic_iostream|basic_istream|istream|"
    r"basic_streambuf|basic_stringbuf|basic_stringstream|basic_ostringstream|basic_istringstream|ctype|locale)\b.*",
    r"std::(?:allocator|nothrow)\b.*",
    r"std::(?:__ostream_insert|__detail::|_Rb_tree_|_Hash_bytes|_List_node_base|__basic_file)\w*.*",
    r"std::(?:exception|bad_\w+|(?:runtime|logic|range|overflow|underflow|domain|length)_error|out_of_range|"
    r"invalid_argument)\b.*",
)
"""What says the same whenever it is called with the same arguments and does not fail, or says nothing. What makes
memory that host and device use at the same time is not in the list, nor what runs host code beside the device."""
ASKS = _one_of(
    r"std::ios_base::(?:xalloc|sync_with_stdio)\(.*",
    r"std::locale::(?:locale\(.*(?:char|string).*\)|global\(.*)",
)
"""What of that does not, by its whole name: it counts calls, says what was set before, or asks the environment which
locale there is."""
STREAMS = re.compile(r"std::(?:cout|cerr|clog)")
"""Variables of the C++ library that keep what is set in them, and where their output stands."""
OF_THE_DEVICE = _one_of(
    r"cuda(?:GetDevice|GetDeviceCount|GetDeviceProperties\w*|DeviceGet\w+|DeviceCanAccessPeer|ChooseDevice)",
    r"cuda(?:MallocPitch|Malloc3D|Occupancy\w+|FuncGetAttributes|DriverGetVersion|RuntimeGetVersion|PointerGetAttributes)",
)
"""What is different on another device, and the same on one."""
OF_THE_LIBRARY = _one_of(
    r"(?:log|log2|log10|log1p|exp|exp2|expm1|pow|cbrt|hypot|sin|cos|tan|tanh)[fl]?|qsort|bsearch",
)
"""What another version of the C library, or the same on another processor, may answer in another way: the last bits of
what no standard rounds, and which of several equal elements comes first."""
THAT_SETS = re.compile(r"cuda(?:FuncSet\w*|SetDevice\w*|DeviceSet\w*|CtxResetPersistingL2Cache|DeviceReset)")
"""What still holds in the next call."""
UNSTEADY_INSTRUCTION = re.compile(
    r"^ {0,16}[0-9a-f]{1,16}:[ \t]{1,16}"
    r"(?P<name>rdtscp?|rdpmc|rdrand|rdseed|rdpid|rdpkru|rdssp[dq]|(?:rd|wr)[fg]sbase|cpuid|xgetbv|s[gil]dt|str|smsw|lar|"
    r"lsl|ver[rw]|v?(?:st|ld)mxcsr|fn?st(?:sw|cw|env)|fld(?:cw|env)|fn?save|frstor|f?xrstors?(?:64)?|f?xsave(?:c|s|opt)?(?:64)?|"
    r"(?:push|pop)f[qw]?|lahf|sahf|syscall|sysenter|xbegin|xtest|tpause|umwait|int|in|out|mrs|msr|svc|v?rcp[ps]s|v?rsqrt[ps]s|vr(?:cp|sqrt)(?:14|28)[ps][sd]|"
    r"f(?:sin|cos|sincos|ptan|patan|2xm1|yl2x|yl2xp1)|frecpe|frsqrte|urecpe|ursqrte)\s",
    re.MULTILINE,
)
"""Instructions of x86-64 and AArch64 that ask the processor or the system, read or set what its registers keep from
call to call (flags, modes of rounding), or approximate as each processor does (1/x, 1/sqrt(x)), as objdump writes
them."""


@dataclass(frozen=True)
class HostState:
    """What is seen of the host code of a submission."""

    breach: str = ""
    """What ends a proof: "scan.cu:12 uses clock, which is not known to do …"; empty for nothing."""
    state: str = ""
    """What a proof assumes: "what d_sums (scan.cu:12) keeps is as in these calls"; empty for nothing."""


def read(path: Path, element: str, file: LearnersFile, name: str, *, is_sandboxed: bool) -> HostState:
    """Return what the host code of a file, which has been compiled for `element`, asks for and keeps.

    `name` is how messages call the file. Where its object cannot be read, that is a breach, too: then nothing is known.
    """
    try:
        made = compile_object(Source(path, ELEMENT_FLAGS[element]), "vgpu", is_sandboxed=is_sandboxed)
        symbols = list(_symbols(made, is_sandboxed=is_sandboxed))
        code = _listed(["objdump", "-d", "--no-show-raw-insn"], made, is_sandboxed=is_sandboxed)
    except (WorkError, KitError, OSError):
        return HostState(f"what {name} keeps from call to call is not known")
    needed = [symbol.short for symbol in symbols if symbol.section == UNDEFINED]
    asked = [symbol for symbol in needed if OF_THE_DEVICE.fullmatch(symbol)]
    sets = [symbol for symbol in needed if THAT_SETS.fullmatch(symbol)]
    given = [symbol for symbol in needed if OF_THE_LIBRARY.fullmatch(symbol)]
    known = {*asked, *sets, *given, *filter(STEADY.fullmatch, needed)}
    unsteady = [symbol for symbol in needed if symbol not in known]
    unsteady += [symbol.short for symbol in symbols if symbol.section == UNDEFINED and ASKS.fullmatch(symbol.name)]
    kept = [symbol.name for symbol in symbols if symbol.is_written and not OF_TOOLS.search(symbol.name)]
    kept += [symbol for symbol in needed if STREAMS.fullmatch(symbol)]
    kept += [name for name in _of_functions(made.read_bytes()) if not _is_constant(name, file)]
    named = ((kept, "keep"), (sets, "set"), (asked, "say"), (given, "give"))
    state = [_clause(some, does, file, name) for some, does in named if some]
    verb = "is" if len(state) == 1 else "are"
    breach = _unsteady(unsteady, file, name) if unsteady else ""
    if not breach and (found := UNSTEADY_INSTRUCTION.search(code)):
        breach = f"{name} has the instruction {found['name']}, {UNKNOWN}"
    return HostState(breach, f"{_listed_words(state)} {verb} as in these calls" if state else "")


def _of_functions(object_text: bytes) -> Iterator[str]:
    """Yield the names of variables of the device that are static in functions: "calls" of "_ZZ4scanPiE5calls_0"."""
    for code in texts(object_text):
        for found in OF_A_FUNCTION.finditer(code):
            symbol = NUMBER.sub("", found[1].decode())
            names = (
                symbol[length.end() :]
                for length in LENGTH.finditer(symbol)
                if length.end() + int(length[1]) == len(symbol)
            )
            yield next(names, symbol)


def _is_constant(name: str, file: LearnersFile) -> bool:
    """Return whether the line that declares a variable says so."""
    line = _line(name, file)
    return line > 0 and re.search(rf"\bconst(?:expr)?\b.*\b{re.escape(name)}\b", file.codes[line - 1]) is not None


def _listed_words(clauses: Sequence[str]) -> str:
    """Return "one, another and a third"."""
    return " and ".join(filter(None, (", ".join(clauses[:-1]), clauses[-1])))


def _unsteady(symbols: Sequence[str], file: LearnersFile, name: str) -> str:
    """Return a sentence about the one of some symbols that the file names first."""
    last = len(file.codes) + 1
    symbol = min(symbols, key=lambda symbol: _line(symbol, file) or last)
    line = _line(symbol, file)
    place = f"{name}:{line}" if line else name
    return f"{place} uses {_word(symbol)}, {UNKNOWN}"


def _listed(command: list[str], made: Path, *, is_sandboxed: bool) -> str:
    """Return what one of the binutils says of an object, which another may have made.

    Raises KitError where it fails, or says more than is kept.
    """
    command = [*command, str(made)]
    if is_sandboxed:
        with scratch() as folder:
            ended = sandbox.run_compiler(command, ROOT, toolchain(), [made], folder, "vgpu", SECONDS)
            code, output = ended.code, ended.output
    else:
        done = run_group(command, SECONDS)
        code, output = done.code, done.output
    if code != 0 or len(output.encode()) >= OUTPUT_LIMIT:
        raise KitError(f"{command[0]} cannot read {made.name}")
    return output


@dataclass(frozen=True)
class _Symbol:
    """One of an object: its name, nm's letter for it, and the section that it is in."""

    name: str
    letter: str
    section: str

    @property
    def short(self) -> str:
        """Return "std::chrono::_V2::steady_clock::now" of "std::chrono::_V2::steady_clock::now()"."""
        return _without_parameters(self.name)

    @property
    def is_written(self) -> bool:
        """Return whether it is a variable that a program may write."""
        return self.letter in OF_DATA | OF_ANY_DATA and not self.section.startswith((UNDEFINED, *CONSTANT))


def _symbols(made: Path, *, is_sandboxed: bool) -> Iterator[_Symbol]:
    """Yield each symbol of an object, those included that it can do without (weak ones)."""
    for line in _listed(["nm", "-C", "-f", "sysv"], made, is_sandboxed=is_sandboxed).splitlines():
        columns = [column.strip() for column in line.rsplit("|", 6)]
        if len(columns) == len(COLUMNS) and columns[6] != COLUMNS[6]:
            yield _Symbol(columns[0], columns[2], columns[6])


def _without_parameters(symbol: str) -> str:
    """Return "std::chrono::_V2::steady_clock::now" of "std::chrono::_V2::steady_clock::now()"."""
    return symbol.partition("(")[0] or symbol


TEMPLATE = re.compile(r"<[^<>]*>")
MEMBER = re.compile(r"(?<=\w)(?:::_\w+)(?=\(|$)")
"""A member that no program names, of a class that it does."""


def _word(symbol: str) -> str:
    """Return the word of a program by which it calls a function or names a variable."""
    while (plain := TEMPLATE.sub("", symbol)) != symbol:
        symbol = plain
    symbol = MEMBER.sub("", symbol)
    return re.sub(r"\(.*|\[abi:\w+\]", "", symbol.rpartition("::")[2]).rpartition(" ")[2]


def _line(symbol: str, file: LearnersFile) -> int:
    """Return the first line of the file that has a symbol's name; 0 for none."""
    word = re.compile(rf"\b{re.escape(_word(symbol))}\b")
    return next((at for at, code in enumerate(file.codes, 1) if word.search(code) and "#include" not in code), 0)


def _placed(symbol: str, file: LearnersFile, name: str) -> str:
    """Return "d_sums (scan.cu:12)"."""
    line = _line(symbol, file)
    return f"{_word(symbol)} ({name}:{line})" if line else _word(symbol)


def _clause(symbols: Sequence[str], does: str, file: LearnersFile, name: str) -> str:
    """Return "what d_sums (scan.cu:12) and 2 others keep"."""
    in_order = sorted(symbols, key=lambda symbol: _line(symbol, file) or len(file.codes) + 1)
    placed = list(dict.fromkeys(_placed(symbol, file, name) for symbol in in_order))  # a template's are there for each
    others = len(placed) - 1
    if not others:
        return f"what {placed[0]} {does}s"
    return f"what {placed[0]} and {others} other{'s' if others > 1 else ''} {does}"
