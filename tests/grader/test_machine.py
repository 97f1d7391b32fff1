"""Whose fault a compiler's failure is: what it says, and what the kit's own file does in the same place."""

import errno
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scanlab import machine
from scanlab.errors import KitError
from scanlab.judging.compiler.doubt import by_whom
from scanlab.judging.compiler.errors import CompileError, CompileTimeoutError
from scanlab.judging.compiler.running import gcc, run_here

THE_FILES = (
    (2, 'scan.cu(5): error: identifier "oops" is undefined'),
    (1, "scan.cu:3:10: fatal error: nothing.h: No such file or directory"),
    (4, "/usr/include/cub/block.cuh(123): error: static assertion failed"),
    (1, "scan.cu(7): catastrophic error: could not open source file"),
    (1, "scan.o: in function `inclusive_scan': undefined reference to `helper(int)'"),
    (1, "a.o: multiple definition of `main'; b.o: first defined here"),
)
IN_DOUBT = (
    (-9, ""),
    (137, 'scan.cu(5): error: identifier "oops" is undefined'),
    (1, ""),
    (1, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"),
    (1, "g++: fatal error: Killed signal terminated program cc1plus"),
    (1, "scan.cu:44: fatal error: error writing to /tmp/ccAbCdEf.s: No space left on device"),
    (1, "/tmp/tmpxft_00000012_00000000-5_scan.cudafe1.cpp:30:1: error: expected '}' at end of input"),
    (1, "scan.cu(5): internal error: assertion failed at: il.c"),
    (127, "sh: 1: cicc: not found"),
    (1, 'scan.cu(1): error: #error "Cannot allocate memory"'),  # whatever a file makes it say, doubt is no verdict
)


@pytest.mark.parametrize(("code", "said"), THE_FILES)
def test_a_place_in_a_source_is_the_files_fault(code: int, said: str) -> None:
    assert not machine.is_doubtful(code, said)


@pytest.mark.parametrize(("code", "said"), IN_DOUBT)
def test_everything_else_is_in_doubt(code: int, said: str) -> None:
    assert machine.is_doubtful(code, said)


class Control:
    """Stands in for the compiler of the kit's own file, which ends in these ways, and then well."""

    def __init__(self) -> None:
        self.times = 0
        self.ends: list[Exception | None] = []

    def __call__(self) -> None:
        self.times += 1
        if self.ends and (end := self.ends.pop(0)):
            raise end


@pytest.fixture
def control() -> Control:
    return Control()


def making(*ends: str | Exception) -> Callable[[], str]:
    """Return a compiler that ends in these ways, one after the other."""
    left = list(ends)

    def make() -> str:
        end = left.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    return make


def test_what_is_clear_asks_nobody(control: Control) -> None:
    assert by_whom(making("made"), control) == "made"
    with pytest.raises(CompileError, match="oops"):
        by_whom(making(CompileError("oops")), control)
    assert control.times == 0


def test_where_the_control_fails_too_the_machine_is_at_fault(control: Control) -> None:
    control.ends = [CompileError("nvcc failed", "cc1plus: out of memory allocating 65536 bytes")]
    with pytest.raises(KitError, match=r"cannot compile.*out of memory"):
        by_whom(making(CompileError("killed", "killed")), control)


def test_where_the_control_compiles_the_second_time_decides(control: Control) -> None:
    assert by_whom(making(CompileError("killed", "Killed"), "made"), control) == "made"
    with pytest.raises(CompileError, match="again"):
        by_whom(making(CompileError("killed", "Killed"), CompileError("again", "Killed")), control)
    assert control.times == 3


def test_a_machine_that_lacks_something_now_and_then_is_seen_after_the_second_failure(control: Control) -> None:
    control.ends = [None, CompileError("nvcc failed", "Cannot allocate memory")]
    with pytest.raises(KitError, match=r"cannot compile.*Cannot allocate memory"):
        by_whom(making(CompileError("first", "Killed"), CompileError("second", "Killed")), control)


def test_a_second_failure_with_a_place_in_the_source_is_the_files(control: Control) -> None:
    with pytest.raises(CompileError, match="oops"):
        by_whom(making(CompileError("first", "Killed"), CompileError("oops")), control)
    assert control.times == 1


def test_processor_time_that_is_used_up_is_not_used_up_again(control: Control) -> None:
    with pytest.raises(CompileTimeoutError):
        by_whom(making(CompileTimeoutError("60 s", "CPU time limit exceeded")), control)
    assert control.times == 1


def test_a_call_of_the_system_that_fails_names_the_place(control: Control, tmp_path: Path) -> None:
    with pytest.raises(KitError, match=re.escape(f"{tmp_path / 'x'}: No space left on device")):
        by_whom(making(OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "x"))), control)
    assert control.times == 0


def test_a_stop_is_no_fault(control: Control) -> None:
    with pytest.raises(InterruptedError):
        by_whom(making(InterruptedError("scanlab is stopping")), control)
    assert control.times == 0


def test_only_what_says_that_there_is_no_room_looks_for_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "LEAST_ROOM", 1 << 60)
    assert machine.lacks_room("write error: No space left on device", [tmp_path])
    assert not machine.lacks_room("killed", [tmp_path])


def test_what_python_says_of_a_machine() -> None:
    assert machine.said_of(MemoryError()).startswith("this machine: it has no memory left")
    assert machine.said_of(RuntimeError("can't start new thread")).startswith("this machine: it can start no more")
    assert machine.said_of(RuntimeError("another")) == ""
    assert machine.said_of(ValueError("another")) == ""


@pytest.mark.parametrize(("code", "number"), [(-9, 9), (-15, 15), (137, 9), (143, 15)])
def test_who_is_killed_is_known_by_the_exit_status(code: int, number: int, tmp_path: Path) -> None:
    assert machine.killed_by(code) == number
    script = f"exit {code}" if code > 0 else f"kill -{number} $$"
    with pytest.raises(KitError, match=rf"sh, or a program that it runs, was killed by signal {number}"):
        run_here(["/bin/sh", "-c", script], tmp_path)


@pytest.mark.parametrize("code", [0, 1, 2, 4, 126, 127, 134, 139, 152, -6, -11, 9, 15])
def test_every_other_end_is_no_kill(code: int) -> None:
    assert machine.killed_by(code) == 0


def test_words_about_a_kill_are_no_kill(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="Killed signal terminated program cc1plus"):
        run_here(
            ["/bin/sh", "-c", "echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1"], tmp_path
        )


@pytest.mark.parametrize("number", [9, 15])
def test_a_killed_program_of_the_hosts_compiler_is_known_by_its_status(number: int, tmp_path: Path) -> None:
    """g++ itself says so in words alone."""
    killed = tmp_path / "as"
    killed.write_text(f"#!/bin/sh\nkill -{number} $$\n")
    killed.chmod(0o755)
    (tmp_path / "a.cpp").write_text("int a;\n")
    with pytest.raises(KitError, match=rf"g\+\+, or a program that it runs, was killed by signal {number}"):
        run_here([*gcc(), f"-B{tmp_path}", "-c", "a.cpp"], tmp_path)
    run_here([*gcc(), "-c", "a.cpp"], tmp_path)
