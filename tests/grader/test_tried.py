"""When an edit that does not make all right is worth a word: what was found is gone, or comes later."""

import pytest

from scanlab.judging.result import Cause, CheckResult, Finding, Part
from scanlab.judging.tried.edits import _is_better, _next_failure

SIZES = (0, 1, 2, 3, 31, 32, 33, 1023)


def failed(identity: str, n: int, lines: tuple[int, ...] = (), verdict: str = "fail") -> CheckResult:
    """Return a check that fails at `n` elements; a device's finding has parts in these lines."""
    cause = Cause(
        id=identity,
        headline=f"inclusive scan of floats, n = {n}, seed 7",
        rationale="",
        expected="",
        actual="",
        where=None,
        details=(),
        next=f"grader/scanlab check 02 --n {n} --seed 7 --schedule in_order",
    )
    parts = tuple(Part(does="read", who="", file="scan.cu", line=line, block=None, thread=None) for line in lines)
    finding = Finding.in_source(identity, "mistake", "", (), "", parts)
    return CheckResult(
        name="inclusive",
        title="",
        verdict=verdict,
        points=0,
        max_points=10,
        cause=cause,
        counts=None,
        findings=(finding,),
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (failed("wrong.other", 2), failed("wrong.other", 2), False),
        (failed("wrong.other", 2), failed("wrong.other", 33), True),
        (failed("wrong.other", 33), failed("wrong.other", 2), False),
        (failed("bounds.shared", 1, (20,)), failed("wrong.other", 1), True),
        (failed("bounds.shared", 1, (20,)), failed("bounds.shared", 1, (31,)), True),
        (failed("bounds.shared", 1, (20,)), failed("bounds.shared", 1, (20,)), False),
        (failed("wrong.other", 33), failed("bounds.shared", 33, (20,)), False),
        (failed("endless", 1, (20,), "timeout"), failed("race.shared", 1, (22,)), True),
        (failed("wrong.other", 2), failed("endless", 33, (), "timeout"), False),  # it was given up
    ],
)
def test_an_edit_is_better_if_what_was_found_is_gone_or_comes_later(
    before: CheckResult, after: CheckResult, *, expected: bool
) -> None:
    assert _is_better(after, before) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(2, 2, None), (2, 3, None), (2, 31, None), (2, 32, 32), (2, 1025, 1025), (33, 1025, None)],
)
def test_two_larger_sizes_have_to_be_right(old: int, new: int, expected: int | None) -> None:
    assert _next_failure(failed("wrong.other", new), failed("wrong.other", old), SIZES) == expected
    assert _next_failure(failed("wrong.other", new, (), "timeout"), failed("wrong.other", old), SIZES) is None
    assert _next_failure(failed("race.shared", new), failed("wrong.other", old), SIZES) is None
