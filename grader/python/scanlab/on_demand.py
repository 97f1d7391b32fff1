"""What only one command, or the kit's own tests, need: installed when it is first wanted, once."""

import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab.bootstrap import apt, environment
from scanlab.bootstrap.apt import BUBBLEWRAP, Need
from scanlab.bootstrap.console import SetupError, alone, say
from scanlab.errors import KitError
from scanlab.paths import ROOT, VENV, shown, toolchain_file


@dataclass(frozen=True)
class Packages:
    """Python packages, pinned in a file of `grader/python`; their modules, or CUDA headers, show that they are here."""

    name: str
    why: str
    pins: str
    modules: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    @property
    def requirements(self) -> Path:
        """Return the file that pins them."""
        return ROOT / "grader/python" / self.pins

    def is_here(self) -> bool:
        """Return whether this Python has the modules, and the kit's nvcc the headers."""
        known = environment.read_json(toolchain_file()).get("includes")
        folders = [Path(folder) for folder in known] if isinstance(known, list) else []
        return all(importlib.util.find_spec(module) for module in self.modules) and all(
            any((folder / header).is_file() for folder in folders) for header in self.headers
        )

    def can_be_installed(self) -> bool:
        """Return whether they would be found: headers only by an nvcc from NVIDIA's wheels."""
        return not self.headers or _nvcc_is_of_wheels()

    def by_hand(self) -> str:
        """Return the line that installs them."""
        if not self.can_be_installed():
            return f"add {' and '.join(self.headers)} to the CUDA toolkit that grader/scanlab version names"
        return f"{shlex.quote(sys.executable)} -m pip install -r {shown(self.requirements)}"


Extra = Need | Packages

REPORTS = Packages("Jinja2", "pages of results", "requirements-reports.txt", ("jinja2", "markupsafe"))
HANDOUTS = Packages(
    "Sphinx, MyST and furo", "the site of the handouts", "requirements-handouts.txt", ("sphinx", "myst_parser", "furo")
)
PLOTS = Packages("matplotlib", "pictures of speeds", "requirements-plot.txt", ("matplotlib",))
YAML = Packages("PyYAML", "Gradescope's metadata", "requirements-gradescope.txt", ("yaml",))
SUBMITIT = Packages("submitit", "jobs on Slurm", "requirements-slurm.txt", ("submitit",))
PLAYWRIGHT = Packages("Playwright", "pages in a browser", "requirements-tests.txt", ("playwright",))
AXE = Packages("axe-core", "accessible pages", "requirements-tests.txt", ("axe_playwright_python",))
CUDA_HEADERS = Packages(
    "cuRAND's and NVTX's headers",
    "CUDA programs that include them",
    "requirements-tests-cuda.txt",
    headers=("curand_kernel.h", "nvtx3/nvToolsExt.h"),
)
CHROMIUM = Need("Chromium", "pages in a browser", "chromium", "chromium", "chromium", ("chromium", "chromium-browser"))
MAKE = Need("make", "Autolab's makefile", "make", "make", "make", ("make",))
USER_MODE_LINUX = Need(
    "user-mode Linux",
    "limits by cgroups, in a machine that has them",
    "user-mode-linux",
    "user-mode-linux",
    "user-mode-linux",
    ("linux.uml",),
)

FOR_TESTS: tuple[Extra, ...] = (
    BUBBLEWRAP,
    CHROMIUM,
    MAKE,
    USER_MODE_LINUX,
    REPORTS,
    HANDOUTS,
    PLOTS,
    YAML,
    SUBMITIT,
    PLAYWRIGHT,
    AXE,
    CUDA_HEADERS,
)
"""What the kit's own tests need beyond what grading does. (Slurm itself: tests/slurm/packages.py unpacks it.)"""


def may_install() -> bool:
    """Return whether this process may install: it runs in the kit's own `.venv`, and it is not forbidden."""
    return not os.environ.get("SCANLAB_NO_SETUP") and environment.inside()


def provide(extra: Extra, wanted_by: str) -> None:
    """Make sure that `extra` is here; where it is missing, install it and say so. `wanted_by` is for messages.

    Raises KitError, with the line to type, where it may not be installed or cannot be.
    """
    if extra.is_here():
        return
    where = "this Python" if isinstance(extra, Packages) else "this machine"
    if not may_install():
        raise KitError(f"{wanted_by} needs {extra.name}, which {where} lacks; type: {extra.by_hand()}")
    with alone():
        if not extra.is_here():
            _install([extra], wanted_by)


def provide_for_tests() -> None:
    """Install what the kit's own tests need, and name what cannot be had: tests that need it are skipped."""
    lacking = [extra for extra in FOR_TESTS if not extra.is_here()]
    if lacking and may_install():
        with alone():
            _try([extra for extra in lacking if isinstance(extra, Need) and apt.may_install()])
            _try([extra for extra in lacking if isinstance(extra, Packages) and extra.can_be_installed()])
    for extra in lacking:
        if not extra.is_here():
            say(f"tests that need {extra.name} ({extra.why}) are skipped; type: {extra.by_hand()}")


def _try(extras: Sequence[Extra]) -> None:
    """Install what can be had of `extras`: together, and where that fails one by one."""
    try:
        _install(extras, "testing")
    except KitError as error:
        if len(extras) == 1:
            say(str(error))
            return
        for extra in extras:
            _try([extra])


def _install(extras: Sequence[Extra], wanted_by: str) -> None:
    """Install all of `extras`. Raises KitError when that fails."""
    needs = [extra for extra in extras if isinstance(extra, Need)]
    packages = [extra for extra in extras if isinstance(extra, Packages)]
    try:
        apt.install(needs)
        if packages:
            names = ", ".join(f"{extra.name} ({extra.why})" for extra in packages)
            say(f"{wanted_by} needs {names}: installing into .venv …")
            environment.pip_install([extra.requirements for extra in packages], names)
            importlib.invalidate_caches()
    except SetupError as error:
        raise KitError(str(error)) from error


def _nvcc_is_of_wheels() -> bool:
    nvcc = environment.read_json(toolchain_file()).get("nvcc")
    return isinstance(nvcc, str) and Path(nvcc).is_relative_to(VENV)
