"""System packages: which are missing, and how this machine's distribution installs them.

Debian 12 has only Catch2 2, and its backports have Catch2 3. The line that adds the backports is derived from the
machine's own sources, so a mirror, a proxy or a signing key that the machine uses stays in use.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scanlab.bootstrap.console import SetupError, run_step, say, succeeds
from scanlab.paths import ROOT

SOURCES = Path("/etc/apt/sources.list")
SOURCES_FOLDER = Path("/etc/apt/sources.list.d")
BACKPORTS_FILE = "scanlab-backports"


@dataclass(frozen=True)
class Need:
    """Something of the system's: a name, why, what the package is called for apt, dnf and pacman, and its programs.

    Any of `programs` on PATH shows that it is here.
    """

    name: str
    why: str
    apt: str
    dnf: str
    pacman: str
    programs: tuple[str, ...] = ()

    def is_here(self) -> bool:
        """Return whether one of its programs is on PATH."""
        return any(shutil.which(program) for program in self.programs)

    def by_hand(self) -> str:
        """Return the line that installs it."""
        for manager, line in (
            ("apt-get", f"sudo apt-get install -y {self.apt}"),
            ("dnf", f"sudo dnf install -y {self.dnf}"),
            ("pacman", f"sudo pacman -S --needed {self.pacman}"),
        ):
            if shutil.which(manager):
                return line
        return f"install the package {self.apt}"


GXX = Need("g++", "compiles the virtual GPU, and nvcc needs it", "g++", "gcc-c++", "gcc")
PKG_CONFIG = Need("pkg-config", "finds libraries", "pkg-config", "pkgconf-pkg-config", "pkgconf")
FMT = Need("fmt", "formats messages", "libfmt-dev", "fmt-devel", "fmt")
JSON = Need("nlohmann_json", "reads and writes results", "nlohmann-json3-dev", "json-devel", "nlohmann-json")
BUBBLEWRAP = Need(
    "bubblewrap", "the sandbox for other people's files", "bubblewrap", "bubblewrap", "bubblewrap", ("bwrap",)
)
CATCH2 = Need("Catch2 3", "the judge and the tests", "libcatch2-dev", "catch-devel", "catch2")


def distribution(text: str) -> dict[str, str]:
    """Return the fields of an os-release file."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def _subproject(name: str) -> bool:
    return (ROOT / "subprojects" / name).is_dir() or (ROOT / "subprojects" / f"{name}.wrap").is_file()


def missing(*, with_venv: bool, with_build: bool) -> list[Need]:
    """Return what this machine lacks: for a virtual environment, and for building the C++ parts."""
    lacking = []
    if with_venv and not succeeds([sys.executable, "-c", "import ensurepip, venv"]):
        major, minor = sys.version_info[:2]
        same = succeeds(["/usr/bin/python3", "-c", f"import sys; sys.exit(sys.version_info[:2] != ({major}, {minor}))"])
        package = "python3-venv" if same else f"python{major}.{minor}-venv"
        lacking.append(Need("venv", "makes the kit's own Python environment", package, "python3", "python"))
    if with_build:
        has_pkg_config = shutil.which("pkg-config") is not None
        if shutil.which("g++") is None:
            lacking.append(GXX)
        if not has_pkg_config:
            lacking.append(PKG_CONFIG)
        for need, module, folder in (
            (FMT, ["--exists", "fmt"], "fmt"),
            (JSON, ["--exists", "nlohmann_json"], "nlohmann_json"),
            (CATCH2, ["--atleast-version=3", "catch2-with-main"], "catch2"),
        ):
            if not _subproject(folder) and not (has_pkg_config and succeeds(["pkg-config", *module])):
                lacking.append(need)
    return lacking


# ---- the machine's apt sources -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """One `deb` source: `kept` is what stays as it is in a derived source (a line's options, a stanza's fields)."""

    uris: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    kept: str
    deb822: bool

    def derived(self, suite: str) -> str:
        """Return the text of the same source for `suite`, component main."""
        if self.deb822:
            return f"Types: deb\nURIs: {self.uris}\nSuites: {suite}\nComponents: main\n{self.kept}"
        return " ".join(part for part in ("deb", self.kept, self.uris, suite, "main") if part) + "\n"


def parse_deb822(text: str) -> list[Source]:
    """Return the enabled `deb` stanzas of a `.sources` file."""
    sources = []
    # A comment line, also inside a stanza, is not a stanza's end: drop comments first.
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t") and name:
                fields[name] += "\n" + line
            elif ":" in line:
                name, value = line.split(":", 1)
                fields[name] = value.strip()
        known = {key.lower(): value for key, value in fields.items()}
        if known.get("enabled", "yes").lower() in ("no", "false", "0") or "deb" not in known.get("types", "").split():
            continue
        own = {"types", "uris", "suites", "components", "enabled"}
        kept = "".join(f"{key}: {value}\n" for key, value in fields.items() if key.lower() not in own)
        sources.append(
            Source(
                known.get("uris", ""),
                tuple(known.get("suites", "").split()),
                tuple(known.get("components", "").split()),
                kept,
                deb822=True,
            )
        )
    return sources


def parse_one_line(text: str) -> list[Source]:
    """Return the `deb` lines of a `sources.list` file."""
    sources = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(\[[^]]*\])?\s*(\S+)\s+(\S+)((?:\s+[^#\s]\S*)*)", line.strip())
        if match:
            options, uri, suite, components = match.groups()
            sources.append(Source(uri, (suite,), tuple(components.split()), options or "", deb822=False))
    return sources


def derive_backports(files: Mapping[str, str], codename: str) -> tuple[str, str] | None:
    """Return (file name, text) of the source that adds `codename`-backports, derived from the machine's own.

    `files` maps each source file's name to its text. Returns None when they name the backports already. A third
    party may also have a suite of the distribution's name, so the archive is the source that carries the updates too,
    or is signed by the distribution's keyring.

    Raises LookupError when no source has the distribution's main archive.
    """
    sources = [
        s for name, text in files.items() for s in (parse_deb822 if name.endswith(".sources") else parse_one_line)(text)
    ]
    backports, updates = f"{codename}-backports", f"{codename}-updates"
    if any(backports in source.suites for source in sources):
        return None
    with_updates = {source.uris for source in sources if updates in source.suites}

    def likelihood(source: Source) -> int:
        return 2 * (source.uris in with_updates) + ("debian-archive" in source.kept)

    archives = [source for source in sources if codename in source.suites and "main" in source.components]
    if not archives:
        raise LookupError(f"no apt source of this machine has {codename} main")
    best = max(archives, key=likelihood)
    return BACKPORTS_FILE + (".sources" if best.deb822 else ".list"), best.derived(backports)


def read_sources() -> dict[str, str]:
    """Return the machine's apt source files: name → text."""
    paths = [SOURCES, *sorted(SOURCES_FOLDER.glob("*.list")), *sorted(SOURCES_FOLDER.glob("*.sources"))]
    return {str(path): path.read_text(errors="replace") for path in paths if path.is_file()}


# ---- installing ----------------------------------------------------------------------------------------------------


def _candidate(package: str) -> str:
    """Return the version of `package` that apt would install, or an empty text."""
    policy = subprocess.run(
        ["apt-cache", "policy", package], capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"}
    )
    found = re.search(r"Candidate: (?:\d+:)?(\d\S*)", policy.stdout)
    return found.group(1) if found else ""


def _catch2_packages() -> list[str]:
    """Return the package that holds Catch2 3 here (Ubuntu 24.04 calls it catch2), or an empty list."""
    return [name for name in (CATCH2.apt, "catch2") if _candidate(name).startswith("3")][:1]


def _as_root() -> list[str] | None:
    """Return the prefix that gives root's rights without a question, or None."""
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if succeeds(["sudo", "-n", "true"]) else None


def may_install() -> bool:
    """Return whether `install` can do so here without a question."""
    return shutil.which("apt-get") is not None and _as_root() is not None


def _line_to_type(packages: Iterable[str], backports: tuple[str, str] | None) -> str:
    """Return one shell line that a person with sudo can type."""
    add = ""
    if backports:
        name, text = backports
        quoted = text.replace("\\", "\\\\").replace("\n", "\\n").replace("'", "'\\''").replace("%", "%%")
        add = f"printf '{quoted}' | sudo tee {SOURCES_FOLDER / name} >/dev/null && "
    return f"{add}sudo apt-get update && sudo apt-get install -y {' '.join(packages)}"


def install(needs: list[Need]) -> bool:
    """Install `needs`, or raise SetupError with the one line to type.

    Returns whether Catch2 3 is still wanted because this distribution has none.
    """
    if not needs:
        return False
    try:
        release = distribution(Path("/etc/os-release").read_text())
    except OSError:
        release = {}
    why = "; ".join(f"{need.name} ({need.why})" for need in needs)
    if shutil.which("apt-get") is None:
        for manager, line in (
            ("dnf", "sudo dnf install -y " + " ".join(need.dnf for need in needs)),
            ("pacman", "sudo pacman -S --needed " + " ".join(need.pacman for need in needs)),
        ):
            if shutil.which(manager):
                raise SetupError(f"this machine lacks {why}. Type:\n  {line}")
        raise SetupError(f"this machine lacks {why}; install them with its package manager, then try again")

    prefix = _as_root()
    codename = release.get("VERSION_CODENAME", "")
    on_bookworm = CATCH2 in needs and codename == "bookworm"
    backports = None
    if on_bookworm:
        try:
            backports = derive_backports(read_sources(), codename)
        except LookupError as error:
            raise SetupError(
                f"{error}, and Catch2 3 is in {codename}-backports: add that source, then try again"
            ) from error
    packages = [need.apt for need in needs if need is not CATCH2]
    if on_bookworm:
        packages.append(f"{CATCH2.apt}/{codename}-backports")
    if prefix is None:
        if CATCH2 in needs and not on_bookworm:
            packages += _catch2_packages()
        raise SetupError(f"this machine lacks {why}. Type:\n  {_line_to_type(packages, backports)}")

    say(f"this machine lacks {why}")
    apt_get = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    if backports:
        name, text = backports
        say(f"adding {codename}-backports to the apt sources ({SOURCES_FOLDER / name}): Debian 12 itself has Catch2 2")
        _write_as_root(prefix, SOURCES_FOLDER / name, text)
    say("reading the package lists (apt-get update) …")
    try:
        run_step([*apt_get, "update"], "apt-get update", timeout=600)
    except SetupError as error:
        say(f"{str(error).splitlines()[-1]}; going on with the lists that are there")
    without_catch2 = False
    if CATCH2 in needs and not on_bookworm:
        named = _catch2_packages()
        packages += named
        without_catch2 = not named
    if packages:
        say(f"installing {' '.join(packages)} …")
        run_step([*apt_get, "install", "-y", "--no-install-recommends", *packages], "apt-get install")
    return without_catch2


def _write_as_root(prefix: list[str], path: Path, text: str) -> None:
    done = subprocess.run(
        [*prefix, "tee", str(path)], input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=30
    )
    if done.returncode != 0:
        raise SetupError(f"cannot write {path}: {done.stderr.decode(errors='replace').strip()}")
