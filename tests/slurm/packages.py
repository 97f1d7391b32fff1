"""Get a Slurm to test with: this machine's own, else Debian's or Ubuntu's packages, unpacked into a folder.

Nothing is installed: apt reads the machine's own sources into a scratch folder, needs no rights there, and starts no
service.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
PROGRAMS = (
    "munged",
    "mungekey",
    "slurmctld",
    "slurmd",
    "slurmstepd",
    "sbatch",
    "srun",
    "squeue",
    "scancel",
    "scontrol",
)
SECONDS = 120
"""How long apt may take for each of its two steps."""


class NoSlurmError(Exception):
    """There is no Slurm here, and none can be had; the text says why in one line."""


@dataclass(frozen=True)
class Slurm:
    """Where Slurm's and munge's programs are, and what their processes need in the environment."""

    programs: Mapping[str, Path]
    environment: Mapping[str, str]
    plugins: Path | None
    """The folder of Slurm's plugins, where it is not the one that Slurm was built for."""

    def __getitem__(self, name: str) -> str:
        return str(self.programs[name])


def find(folder: Path) -> Slurm:
    """Return this machine's Slurm, else the one that is unpacked in `folder`, which is filled when it is empty.

    Raises NoSlurmError when there is none and none can be had.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    found = {name: shutil.which(name, path=path) for name in PROGRAMS}
    if all(found.values()):
        return Slurm({name: Path(str(program)) for name, program in found.items()}, {}, None)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "root").is_dir():
            _unpack(folder)
    return _unpacked(folder / "root")


def _unpack(folder: Path) -> None:
    """Fetch Debian's packages and unpack them into `folder`/root."""
    if os.environ.get("SCANLAB_NO_SETUP"):
        raise NoSlurmError(
            "slurmctld, slurmd and munge are not installed, and SCANLAB_NO_SETUP forbids fetching them; "
            f"type: sudo apt-get install -y {' '.join(PACKAGES)}"
        )
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise NoSlurmError("slurmctld, slurmd and munge are not installed, and this machine has no apt-get")
    print(f"scanlab: fetching Debian's {', '.join(PACKAGES)} into {folder} (nothing is installed) …", flush=True)
    with tempfile.TemporaryDirectory(prefix="apt-", dir=folder) as scratch:
        for name in ("state/lists/partial", "cache/archives/partial"):
            (Path(scratch) / name).mkdir(parents=True)
        apt = [
            "apt-get",
            *("-o", f"Dir::State={scratch}/state"),
            *("-o", f"Dir::Cache={scratch}/cache"),
            *("-o", "Dir::State::status=/var/lib/dpkg/status"),
            *("-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=2"),
        ]
        _run([*apt, "update"], "apt-get update")
        _run([*apt, "install", "-y", "--download-only", "--no-install-recommends", *PACKAGES], "apt-get download")
        making = Path(scratch) / "root"
        for package in sorted(Path(scratch).glob("cache/archives/*.deb")):
            _run(["dpkg", "--extract", str(package), str(making)], f"unpacking {package.name}")
        if not making.is_dir():
            raise NoSlurmError("apt-get fetched no package, although Slurm's programs are not on this machine's PATH")
        for program in making.glob("usr/*bin/*-wlm"):  # update-alternatives would; slurmctld looks at its own name
            program.with_name(program.name.removesuffix("-wlm")).symlink_to(program.name)
        making.rename(folder / "root")


def _run(command: Sequence[str], what: str) -> None:
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise NoSlurmError(f"{what} did not end within {SECONDS} s") from error
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise NoSlurmError(f"{what} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")


def _unpacked(root: Path) -> Slurm:
    libraries = sorted({str(path.parent) for path in root.glob("usr/lib/*/libmunge.so*")})
    plugins = next(iter(sorted(root.glob("usr/lib/*/slurm-wlm"))), None)
    programs = {}
    for name in PROGRAMS:
        places = [root / place / name for place in ("usr/sbin", "usr/bin")]
        programs[name] = next((place for place in places if place.is_file()), Path())
    lacking = [name for name, place in programs.items() if place == Path()]
    if lacking or plugins is None:
        raise NoSlurmError(f"the packages in {root} hold no {', '.join(lacking) or 'plugins'}")
    searched = os.pathsep.join([*libraries, str(plugins)])
    return Slurm(programs, {"LD_LIBRARY_PATH": searched}, plugins)
