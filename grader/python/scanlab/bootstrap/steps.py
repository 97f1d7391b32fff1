"""What the launcher does before a command runs, in order; every step is skipped when it is done already.

1. `.venv` with the pinned packages   2. system packages   3. nvcc   4. the C++ build   5. what editors read
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from scanlab.bootstrap import build, cuda, editor, environment
from scanlab.bootstrap.console import LOG, SetupError, alone, say
from scanlab.bootstrap.environment import read_json, write_json
from scanlab.bundle import refusal
from scanlab.completion.launch import main as completion
from scanlab.paths import ROOT, VENV, toolchain_file

BUILDING_COMMANDS = frozenset(
    {"bench", "check", "grade", "inside", "learn", "prepare", "run", "test", "trace", "verify", "watch"}
)
"""The commands that need nvcc and the C++ parts; the others need the virtual environment alone."""
BUILDING_OPTIONS = {"course": "--prove", "report": "--traces"}
"""Commands that need them with an option."""


def _may_install() -> bool:
    return not os.environ.get("SCANLAB_NO_SETUP")


def _needs_build(arguments: Sequence[str]) -> bool:
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    builds = bool(own) and (own[0] in BUILDING_COMMANDS or BUILDING_OPTIONS.get(own[0]) in own)
    return builds and "--help" not in own and not refusal(own)


def _known_toolchain() -> dict[str, object]:
    """Return what was found and tried before, while it is there and CUDACXX asks for no other; else an empty object."""
    state = read_json(toolchain_file())
    if state.get("CUDACXX") == os.environ.get("CUDACXX"):
        try:
            if Path(str(state.get("nvcc"))).stat().st_mtime_ns == state.get("mtime"):
                return state
        except OSError:
            pass
    return {}


def _find_toolchain() -> dict[str, object]:
    """Return nvcc and its folders, as toolchain.json holds them; install NVIDIA's wheels where there is none."""
    known = _known_toolchain()
    if known:
        return known
    found, refused = cuda.find(VENV if _may_install() else None, trial=True)
    if found is None and _may_install():
        for reason in refused:
            say(reason)
        say("no nvcc 12.x or 13.x on this machine: installing NVIDIA's compiler (about 150 MB) into .venv …")
        environment.pip_install([environment.NVCC_REQUIREMENTS], "NVIDIA's compiler")
        in_venv = cuda.wheel_nvcc(VENV)
        complaint = cuda.try_compile(in_venv) if in_venv else "the wheels hold no nvcc"
        if in_venv is None or complaint:
            raise SetupError(f"NVIDIA's compiler does not work here: {complaint}")
        found = cuda.inspect(in_venv)
    if found is None:
        reasons = "; ".join(refused) or "none in CUDACXX, PATH or the usual places"
        raise SetupError(f"no nvcc 12.x or 13.x: {reasons}. Name one in CUDACXX, or unset SCANLAB_NO_SETUP")
    chosen = os.environ.get("CUDACXX")
    if chosen and Path(shutil.which(chosen) or chosen) != found.nvcc:
        say(f"CUDACXX names {chosen}, which is no nvcc 12.x or 13.x")
    say(f"CUDA {found.release[0]}.{found.release[1]} from {found.nvcc}")
    return {
        "nvcc": str(found.nvcc),
        "mtime": found.nvcc.stat().st_mtime_ns,
        "release": list(found.release),
        "includes": [str(folder) for folder in found.includes],
        "libraries": [str(folder) for folder in found.libraries],
        "CUDACXX": os.environ.get("CUDACXX"),
    }


def _set_up(arguments: Sequence[str], needs_build: bool) -> None:
    """Do what is missing. Replaces this process when it does not yet run the environment's interpreter."""
    from scanlab.bootstrap import apt

    with alone():
        fresh = not LOG.exists()
        if fresh:
            say("first use: setting up (once; a few minutes)")
        wanted_catch2 = False
        configured = (build.build_folder() / "build.ninja").exists()
        if _may_install():
            with_venv = not environment.ready()
            if with_venv or (needs_build and not configured):
                wanted_catch2 = apt.install(apt.missing(with_venv=with_venv, with_build=needs_build and not configured))
            environment.prepare()
            if not environment.inside():
                _hand_over(arguments)
        if needs_build:
            if wanted_catch2:
                build.fetch_catch2()
            tools = _find_toolchain()
            build.prepare(str(tools["nvcc"]))
            write_json(toolchain_file(), tools)
            editor.write(tools)
        if fresh:
            say("set up.")


def _hand_over(arguments: Sequence[str]) -> None:
    python = str(environment.venv_python())
    os.execv(python, [python, str(ROOT / "grader/python/launch.py"), *arguments])


def _is_ready(needs_build: bool) -> bool:
    if _may_install() and not (environment.inside() and environment.ready()):
        return False
    if not needs_build:
        return True
    tools = _known_toolchain()
    if not tools or not build.ready(str(tools["nvcc"])):
        return False
    editor.write(tools)  # a lab may be new, or the kit may have been moved
    return True


def launch(arguments: Sequence[str]) -> int:
    """Set up what the command needs, run it, and return its exit code."""
    if arguments[:1] == ["completion"]:
        return completion(arguments)  # a key that is pressed sets nothing up
    needs_build = _needs_build(arguments)
    try:
        if not _is_ready(needs_build):
            _set_up(arguments, needs_build)
    except SetupError as error:
        print(f"scanlab: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\nscanlab: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"scanlab: setting up failed: {error}", file=sys.stderr)
        return 3
    from scanlab.cli import main

    return main(arguments)
