"""The sandbox in which a class's files are compiled and run: bubblewrap, and `enter` inside it.

A program in it sees the system's libraries, its own file and a scratch folder of a limited size, read-only but for that
folder; no home, nothing of the kit or of other submissions, no network, no other process. It runs as a user of its own,
without rights, under limits on time, memory, processes, files and descriptors; and in a cgroup where one can be had
(`cgroup.py`), which bounds all of its memory. Elsewhere the judge looks at its processes' memory and page tables, and
what it cannot see (maps of memory, pipes, names of files) is at most about 1 GiB. When it ends, or whoever started it
does, all of its processes end.

Root starts bubblewrap as root and lets `enter` become a user of its own; any other user gets a user namespace.
`grader/runner/enter.cpp` has what happens last, before the program begins.
"""

import functools
import itertools
import os
import platform
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from scanlab.contract import Device
from scanlab.errors import KitError
from scanlab.judging import cgroup, driver
from scanlab.judging.cgroup import Limits
from scanlab.judging.toolchain import Toolchain, product
from scanlab.on_demand import BUBBLEWRAP, provide
from scanlab.paths import ROOT, shown
from scanlab.process import Finished, run_group
from scanlab.scratch import scratch

PROGRAM, STATUS = "{program}", "{status}"
"""What the judge replaces by a runner's path and by the number of its status descriptor."""

RUNNER_PROCESSES = 32
"""This bounds the maps of memory and open files that the kernel has to keep, which only a cgroup counts."""
GPU_PROCESSES = 64
"""NVIDIA's driver has threads of its own."""
RUNNER_OPEN_FILES = 256
RUNNER_SCRATCH = 64 << 20
"""Bytes of /tmp, in memory."""
RUNNER_ADDRESSES = 64 << 30
"""Bytes of address space of one process: what bounds its page tables. The virtual GPU's memory is mapped there, too."""
RUNNER_GROUP = Limits(memory=4 << 30, processes=RUNNER_PROCESSES + 4)
"""Of all of a runner's processes together, bubblewrap's own among them, with what the kernel keeps for them."""
GPU_GROUP = Limits(memory=32 << 30, processes=GPU_PROCESSES + 4)

COMPILER_CPU = 60
"""Seconds of processor time of one of a compiler's programs; a lab's file takes about one."""
COMPILER_MEMORY = 4 << 30
COMPILER_FILE = 256 << 20
COMPILER_SCRATCH = 1 << 30
COMPILER_PROCESSES = 64
COMPILER_ADDRESSES = 64 << 30
COMPILER_GROUP = Limits(memory=6 << 30, processes=COMPILER_PROCESSES + 4)
COMPILER_OPEN_FILES = 1024

LIBRARIES = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32")
LOCAL_LIBRARIES = ("/usr/local/lib", "/usr/local/lib64")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
NEEDED_OF_ETC = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
"""What finding a tool and a library takes."""

COMPILER_VARIABLES = ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""Of the environment of whoever runs the kit; everything else stays outside."""

MANY_USERS, MANY = 0x7000_0000, 1 << 20
FEW_USERS, FEW = 64_000, 1_000
"""Numbers for users of one sandbox each: used by nothing else where a machine has 2^32 of them; elsewhere from those at
the end of the 65536 that a container has."""

_users = itertools.count()


@dataclass(frozen=True)
class Ended:
    """How a program ended in the sandbox: as `process.Finished`; a signal as a negative number here, too."""

    code: int | None
    output: str
    is_out_of_memory: bool = False
    """All of its processes together took more than they may; known where there are cgroups."""


def require() -> None:
    """Make sure that programs can be run in the sandbox here: bubblewrap is installed where it may be.

    Raises KitError, one clear line with the next step, when they cannot.
    """
    try:
        provide(BUBBLEWRAP, "the sandbox")
    except KitError as error:
        raise KitError(f"{error}\n{_WITHOUT}") from error
    _probe()


def runner_command(device: Device) -> list[str]:
    """Return the command with which the judge starts a runner; PROGRAM and STATUS stand in it."""
    gpu = gpu_access() if device == "gpu" else []
    mounts = _open_folders([Path("/usr/local"), Path("/etc")])
    mounts += [*_folders((*LIBRARIES, *LOCAL_LIBRARIES)), "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    mounts += [*_devices(), *gpu, *_scratch(RUNNER_SCRATCH), "--ro-bind", PROGRAM, "/program"]
    # The driver makes files in memory, opens many, and takes far more addresses than memory.
    memory = ["--gpu"] if device == "gpu" else ["--address", str(RUNNER_ADDRESSES)]
    files = 4096 if device == "gpu" else RUNNER_OPEN_FILES
    limits = ["--processes", str(GPU_PROCESSES if device == "gpu" else RUNNER_PROCESSES), "--open", str(files)]
    limits += ["--scratch", str(RUNNER_SCRATCH), "--keep", "5", *memory]
    return _command(mounts, "/tmp", limits, STATUS, ["/program"])


@contextmanager
def in_a_group(launcher: Sequence[str], device: Device) -> Iterator[list[str]]:
    """Give a launcher that runs in a cgroup of its own, where that can be had, until the block ends."""
    if not launcher:
        yield []
        return
    with cgroup.group(GPU_GROUP if device == "gpu" else RUNNER_GROUP) as group:
        yield [*_join(group), *launcher]


def run_compiler(
    command: Sequence[str],
    cwd: Path,
    tools: Toolchain,
    reads: Iterable[Path],
    writes: Path,
    device: Device,
    timeout: float,
    placed: Mapping[Path, Path] = MappingProxyType({}),
) -> Ended:
    """Run a compiler or linker for at most `timeout` seconds.

    It sees the toolkit, the files and folders `reads`, and the folder `writes`, each at the path that it has outside,
    and the files `placed` at the paths that they are found by; its own working folder is empty but for those.

    Raises KitError when the sandbox, not the compiler, fails; OSError when bubblewrap is gone.
    """
    reads = [path.absolute() for path in reads]
    for path in [*reads, *placed.values(), tools.nvcc]:
        _check_readable(path)
    mounts = _folders(("/usr", "/bin", "/sbin", *LIBRARIES))
    if ROOT.is_relative_to("/usr"):
        mounts += ["--tmpfs", str(ROOT)]
    toolkit = _toolkit(tools)
    folders = [Path("/etc"), *(path.parent for path in (*toolkit, *reads, *placed, writes)), cwd]
    # Before anything is put into them: what is there by then keeps who may enter it.
    mounts += _scratch(COMPILER_SCRATCH)
    mounts += _open_folders([folder for folder in folders if not folder.is_relative_to("/usr")])
    for path in NEEDED_OF_ETC:
        mounts += ["--ro-bind-try", path, path]
    mounts += [*_devices(), *(gpu_access() if device == "gpu" else [])]
    for path in (*toolkit, *reads):
        mounts += ["--ro-bind", str(path), str(path)]
    for inside, path in placed.items():
        mounts += ["--ro-bind", str(path.absolute()), str(inside)]
    mounts += ["--bind", str(writes), str(writes)]
    environment = {
        "PATH": ":".join(dict.fromkeys([*_tool_folders(), "/usr/local/bin", "/usr/bin", "/bin"])),
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in COMPILER_VARIABLES if name in os.environ},
    }
    mounts += ["--clearenv", *(word for name, value in environment.items() for word in ("--setenv", name, value))]
    limits = ["--processes", str(COMPILER_PROCESSES), "--open", str(COMPILER_OPEN_FILES)]
    limits += ["--cpu", str(COMPILER_CPU + 1), "--memory", str(COMPILER_MEMORY), "--file", str(COMPILER_FILE)]
    limits += ["--address", str(COMPILER_ADDRESSES), "--scratch", str(COMPILER_SCRATCH)]
    absolute = shutil.which(command[0]) or command[0]
    with cgroup.group(COMPILER_GROUP) as group:
        ended = _run(
            lambda status: [
                *_join(group),
                *_command(mounts, str(cwd), limits, status, [absolute, *command[1:]], writes),
            ],
            timeout,
        )
        return replace(ended, is_out_of_memory=group is not None and group.is_out_of_memory())


def gpu_access() -> list[str]:
    """Return the mounts with which a program reaches NVIDIA's GPUs: their device files, and what the driver reads.

    That is /proc of the sandbox's own processes and /sys, which describe the machine (not of other users' files), and
    the driver's device files. Whoever has those can use the whole driver: the sandbox then protects files, processes
    and the network, and trusts the driver with the rest.
    """
    found = [path for pattern in ("nvidia*", "nvidia-caps/*", "dxg") for path in Path("/dev").glob(pattern)]
    devices = sorted(str(path) for path in found if not path.is_dir())
    mounts = ["--proc", "/proc", "--ro-bind-try", "/sys", "/sys"]
    libraries = driver.library_folder()
    if libraries and not any(libraries.is_relative_to(folder) for folder in (*LIBRARIES, *LOCAL_LIBRARIES)):
        mounts += [*_open_folders([libraries.parent]), "--ro-bind", str(libraries), str(libraries)]
    for folder in ("/usr/share/nvidia", "/etc/nvidia", "/run/nvidia-persistenced"):
        mounts += ["--ro-bind-try", folder, folder]
    for device in devices:
        mounts += ["--dev-bind-try", device, device]
    return mounts


# ---- the command -----------------------------------------------------------------------------------------------------


def _command(
    mounts: list[str], cwd: str, limits: list[str], status: str, program: list[str], writes: Path | None = None
) -> list[str]:
    """Return bubblewrap's command line. The owner of the folder `writes` becomes the sandbox's user."""
    command = [_bubblewrap(), "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    command += ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    user: list[str] = []
    if os.geteuid() == 0:
        number = _new_user()
        user = ["--user", str(number)]
        command += ["--cap-drop", "ALL"]
        needed = ("SETUID", "SETGID", "SETPCAP", "SYS_ADMIN")  # by `enter`, which gives them up
        if writes is not None:
            os.chown(writes, number, number)
    else:
        needed = ("SETPCAP", "SYS_ADMIN")
        command += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    command += [word for capability in needed for word in ("--cap-add", f"CAP_{capability}")]
    command += [*mounts, "--ro-bind", str(product("grader/runner/enter")), "/enter"]
    # Last of all: the root is a file system in memory, which could be filled.
    command += ["--remount-ro", "/", "--chdir", cwd, "--"]
    return [*command, "/enter", *user, *limits, "--status", status, "--", *program]


def _join(group: cgroup.Group | None) -> list[str]:
    """Return what begins a command that is to run in a cgroup."""
    return [] if group is None else [str(product("grader/runner/enter")), "--join", str(group.procs), "--"]


def _scratch(size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", "/tmp"]


def _open_folders(folders: Sequence[Path]) -> list[str]:
    """Return what makes empty folders, and all above them, that any user may enter: bubblewrap's are for root only."""
    mine = [Path("/"), Path("/tmp")]
    wanted = {above for folder in folders for above in (folder, *folder.parents) if above not in mine}
    return [word for folder in sorted(wanted) for word in ("--perms", "0755", "--dir", str(folder))]


def _devices() -> list[str]:
    return _open_folders([Path("/dev")]) + [word for path in DEVICES for word in ("--dev-bind-try", path, path)]


def _folders(paths: Sequence[str]) -> list[str]:
    """Return the mounts of the system's folders: links (/lib → usr/lib) as links."""
    mounts = []
    for path in map(Path, paths):
        if path.is_symlink():
            mounts += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir() and not any(str(above) in paths for above in path.parents):
            mounts += ["--ro-bind", str(path), str(path)]
    return mounts


def _toolkit(tools: Toolchain) -> list[Path]:
    """Return the toolkit's folders, and the host compiler's, that are not the system's."""
    folders = [tools.nvcc.absolute().parent.parent, tools.nvcc.resolve().parent.parent, *tools.libraries]
    folders += [Path(folder).parent for folder in _tool_folders()]
    outside = [folder for folder in dict.fromkeys(folders) if not folder.is_relative_to("/usr")]
    return [folder for folder in outside if folder != Path("/")]


def _tool_folders() -> list[str]:
    found = shutil.which("g++")
    return [str(folder) for path in [found] if path for folder in (Path(path).parent, Path(path).resolve().parent)]


def _new_user() -> int:
    first, count = (MANY_USERS, MANY) if _largest_user() >= MANY_USERS + MANY else (FEW_USERS, FEW)
    return first + (os.getpid() * 37 + next(_users)) % count


def _largest_user() -> int:
    try:
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
        return max(int(first) + int(count) - 1 for first, _, count in ranges)
    except (OSError, ValueError):
        return 65535


def _check_readable(path: Path) -> None:
    """Raise KitError when the sandbox's own user could not read a file that it is given."""
    if os.geteuid() == 0 and path.is_file() and not path.stat().st_mode & stat.S_IROTH:
        raise KitError(
            f"{shown(path)} cannot be read by the sandbox's user: chmod -R go+rX {shown(path.parent)}, then try again"
        )


# ---- running it ------------------------------------------------------------------------------------------------------


def _run(command_with: Callable[[str], list[str]], timeout: float) -> Ended:
    """Run a command that gets the number of its status descriptor."""
    status, writer = os.pipe()
    try:
        command = command_with(str(writer))
        finished = run_group(command, timeout, pass_fds=(writer,))
        os.close(writer)
        writer = -1
        said = os.read(status, 2)
    finally:
        os.close(status)
        if writer >= 0:
            os.close(writer)
    if said != b"r":
        first = next(iter(finished.output.strip().splitlines()), f"bubblewrap ended with exit code {finished.code}")
        raise KitError(f"the sandbox did not start {Path(command[-1]).name if said else 'a program'}: {first}")
    return Ended(_with_signal(finished), finished.output)


def _with_signal(finished: Finished) -> int | None:
    """Return the exit code, a signal as a negative number: bubblewrap reports it as a shell does."""
    code = finished.code
    return 128 - code if code is not None and 128 < code <= 128 + 64 else code


def _bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise KitError(f"the sandbox needs bubblewrap, which is not here: {BUBBLEWRAP.by_hand()}\n{_WITHOUT}")
    return found


_WITHOUT = "  (--no-sandbox does without: for files that you trust, on a machine of your own)"


@functools.cache
def _probe() -> None:
    if platform.system() != "Linux":
        raise KitError(f"the sandbox works on Linux only, and this is {platform.system()}\n{_WITHOUT}")
    program = shutil.which("true") or "/bin/true"
    with scratch() as folder:
        mounts = [*_folders(("/usr", "/bin", *LIBRARIES)), *_devices(), *_scratch(1 << 20)]
        mounts += ["--bind", str(folder), str(folder)]
        limits = ["--processes", "64", "--open", "64", "--scratch", str(1 << 20)]
        try:
            ended = _run(lambda status: _command(mounts, "/tmp", limits, status, [program], folder), 30)
        except InterruptedError:  # the kit is stopping
            raise
        except (KitError, OSError) as error:
            if "is not here" in str(error) or "is not built" in str(error):
                raise
            text = str(error).removeprefix("the sandbox did not start a program: ")
            raise KitError(f"the sandbox cannot start: {text}\n  {_cure(text)}\n{_WITHOUT}") from error
        if ended.code != 0:
            raise KitError(f"the sandbox cannot start: a program in it ended with {ended.code}\n{_WITHOUT}")


def _cure(text: str) -> str:
    """Return what lets the sandbox start, as far as this machine's settings show."""

    def setting(name: str) -> str:
        with suppress(OSError):
            return Path("/proc/sys", name).read_text().strip()
        return ""

    if re.search(r"[Uu]nknown option", text):
        return "bubblewrap here is too old: version 0.7 or newer is needed"
    if setting("user/max_user_namespaces") == "0":
        return "user namespaces are switched off here: sudo sysctl -w user.max_user_namespaces=10000"
    if os.geteuid() != 0 and setting("kernel/unprivileged_userns_clone") == "0":
        return "user namespaces are for root only here: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if os.geteuid() != 0 and setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor forbids it: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        options = "--cap-add SYS_ADMIN --security-opt seccomp=unconfined"
        return f"this container may not make namespaces: start it with {options}"
    return "this machine does not let programs make namespaces: run the kit outside of containers, or as root"
