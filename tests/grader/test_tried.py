"""When an edit that does not make all right is worth a word: what was found is gone, or comes later."""

import pytest

from scanlab.judging.result import Cause, CheckResult, Finding, Part
from scanlab.judging.tried.attempts import Edit, _groups
from scanlab.judging.tried.edits import _is_better, _next_failure
from scanlab.judging.tried.runs import Base, Call
from scanlab.judging.tried.slips.program import Slip

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
    def after(identity: str, *, fewer: bool, verdict: str = "fail") -> int | None:
        tried = failed(identity, new, (), verdict)
        return _next_failure(tried, failed("wrong.other", old), SIZES, lambda n: fewer and n == new)

    assert after("wrong.other", fewer=False) == expected
    assert after("wrong.other", fewer=True, verdict="timeout") is None
    assert after("race.shared", fewer=False) is None
    assert after("race.shared", fewer=True) == expected


def test_without_a_size_nothing_is_known_of_more_elements() -> None:
    before = failed("wrong.other", 2)
    assert before.cause
    nowhere = before.model_copy(update={"cause": before.cause.model_copy(update={"next": "grader/scanlab check 02"})})
    assert _next_failure(failed("wrong.other", 1025), nowhere, SIZES, lambda _: True) is None


def edit(change: str, *, is_of_device: bool = True, program: str = "") -> Edit:
    """Return an edit of a program that fails in_order."""
    call = Call(None, None, None, is_sandboxed=False)  # type: ignore[arg-type] - nothing is called
    return Base("", call, failed("wrong.other", 2)), Slip(1, "", change, program, is_of_device)


def test_edits_of_device_code_are_compiled_together_and_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    edits = [
        edit("a"),
        edit("h", is_of_device=False),
        edit("b"),
        edit("c"),
        edit("once", program='extern "C"'),
        edit("d"),
    ]
    groups = [[one.change for _, (_, one) in group] for group in _groups(edits)]
    assert groups == [["a", "b"], ["h"], ["c", "d"], ["once"]]
    many = [[place for place, _ in group] for group in _groups([edit(str(k)) for k in range(20)])]
    assert many == [[*range(8)], [*range(8, 16)], [*range(16, 20)]]


@pytest.mark.parametrize(
    ("headline", "fact", "expected"),
    [
        ("inclusive scan of floats, n = 2, seed 7, schedule in_order", "", False),
        ("inclusive scan of floats, n = 2, seed 7, schedule weak", "", True),
        ("inclusive scan of floats, n = 2, seed 7, schedule in_order", "the same data is right under random", True),
    ],
)
def test_what_some_schedules_show_only_is_rare(headline: str, fact: str, *, expected: bool) -> None:
    check = failed("wrong.other", 2)
    assert check.cause
    cause = check.cause.model_copy(update={"headline": headline, "details": (fact,)})
    base = Base("", edit("")[0].call, check.model_copy(update={"cause": cause}))
    assert base.is_rare is expected
