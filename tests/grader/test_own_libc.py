"""A file that defines a function of the C library: what comes of it names that function."""

from pathlib import Path

import pytest

from made_results import cause, check, result
from scanlab.errors import KitError
from scanlab.judging.compiled import own_libc
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.result import LabResult
from scanlab.judging.toolchain import toolchain

TEXT = """\
#include <sys/types.h>
#include "scanlab.cuh"
// recv is mine
extern "C" ssize_t send(int, const void*, size_t n, int) { return n; }
extern "C" ssize_t recv(int, void*, size_t, int) { return 0; }
extern "C" int mine(int) { return 0; }
void inclusive_scan(const Element*, Element*, int) {}
void recv(float) {}
"""


@pytest.fixture(autouse=True)
def needs_nvcc() -> None:
    try:
        toolchain()
    except KitError as error:
        pytest.skip(str(error))


def seen(folder: Path, text: str, its_id: str) -> LabResult:
    path = folder / "scan.cu"
    path.write_text(text)
    before = result(check("inclusive", "fail", cause=cause(id=its_id, details=("look for a main()", "it printed"))))
    return own_libc.with_own_libc(before, LearnersFile(text), path, "mine.cu", ["float"], "vgpu", is_sandboxed=False)


def test_the_functions_are_named_with_the_line_of_the_first(tmp_path: Path) -> None:
    (only,) = seen(tmp_path, TEXT, "crash.exit").checks
    assert only.cause
    assert only.cause.where
    assert (only.cause.where.file, only.cause.where.line) == ("mine.cu", 4)
    assert only.cause.details[0].startswith("the C library has `send`, `recv` too, and the grader's code")
    assert only.cause.details[1:] == ("it printed",)


@pytest.mark.parametrize(
    ("text", "its_id"),
    [(TEXT, "wrong.other"), (TEXT.replace('extern "C" ', "static "), "crash.exit"), ("int recv;\nint x[2];", "race")],
)
def test_others_are_left_as_they_are(tmp_path: Path, text: str, its_id: str) -> None:
    (only,) = seen(tmp_path, text, its_id).checks
    assert only.cause
    assert only.cause.details == ("look for a main()", "it printed")


def test_a_program_that_is_right_is_not_even_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_libc, "compile_object", None)
    right = result(check("inclusive"))
    given = own_libc.with_own_libc(right, LearnersFile(TEXT), tmp_path, "", ["float"], "vgpu", is_sandboxed=False)
    assert given is right
