"""When an edit that does not make all right is worth a word: what was found is gone, or comes later."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.result import Cause, CheckResult, Finding, Part
from scanlab.judging.tried.attempts import Attempt, Edit, _groups
from scanlab.judging.tried.edits import _best, _former, _furthest, _is_better
from scanlab.judging.tried.graded import Graded
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


def test_lines_that_an_edit_has_moved_are_the_same_places() -> None:
    before, after = "a\nleave\nb\nrace\nc", "a\nb\nif (x) race\nc"
    former = _former(before, after)
    assert former == {2: 3, 3: 4, 4: 5}
    assert _former("\n".join("x" * 2000), "\n".join("x" * 2001)) == {}
    assert _former("\n".join("abc" * 2000), "\n".join("abc" * 1000 + "d" * 999 + "abc" * 1000 + "c"))
    assert _former(before, before.replace("race", "other")) == {}
    was = failed("race.global", 2, (4, 5))
    assert not _is_better(failed("race.global", 2, (3, 4)), was, former)
    assert _is_better(failed("race.global", 2, (2, 4)), was, former)


@dataclass(frozen=True)
class Sizes:
    """Stands for the call of a program that fails at a size, and for the sizes of its check."""

    old: int
    breaks: str = "another"
    """The program that another function fails with."""
    sizes: Sequence[int] = SIZES

    @property
    def case(self) -> "Sizes":
        return self

    def with_code(self, code: str, *, is_brief: bool) -> CheckResult:
        assert is_brief
        assert not code
        return failed("wrong.other", self.old)

    def breaks_another(self, text: str, *, is_of_device: bool) -> bool:
        return text == self.breaks and is_of_device


def tried(call: Sizes, program: str, new: int, verdict: str = "fail", *, is_common: bool = True) -> Attempt:
    """Return an edit after which a check fails at a size."""
    first = failed("wrong.other", new, (), verdict)
    headline = f"inclusive scan of floats, n = {call.old}, seed 7, schedule in_order"
    base = failed("wrong.other", call.old)
    assert base.cause
    base = base.model_copy(update={"cause": base.cause.model_copy(update={"headline": headline})})
    whole = Base("", call, base)  # type: ignore[arg-type] - it stands for a call
    return Attempt(whole, Slip(1, "", "", program, is_of_device=True, is_common=is_common), first, first)


@pytest.mark.parametrize(
    ("old", "new", "is_common", "expected"),
    [
        (2, 2, True, None),
        (2, 3, True, None),
        (2, 31, True, None),
        (2, 32, True, 31),
        (2, 32, False, None),
        (2, 1025, True, 1023),
        (2, 1025, False, 1023),
        (33, 1025, True, None),
    ],
)
def test_some_larger_sizes_have_to_be_right(old: int, new: int, *, is_common: bool, expected: int | None) -> None:
    for verdict in ("fail", "timeout"):
        found = _furthest([tried(Sizes(old), "", new, verdict, is_common=is_common)])
        assert (found[1] if found else None) == expected
    assert _furthest([tried(Sizes(old), "", new, "error", is_common=is_common)]) is None


def test_the_edit_that_helps_furthest_is_said_unless_another_function_fails_with_it() -> None:
    edits = [("a", 32), ("b", 1025), ("c", 64)]
    for breaks, expected in (("another", "b"), ("b", "c")):
        call = Sizes(2, breaks)
        found = _furthest([tried(call, program, new) for program, new in edits])
        assert found
        assert found[0].slip.program == expected


def test_an_edit_with_which_another_function_fails_is_never_said_to_help() -> None:
    edits = [tried(Sizes(2, breaks), program, 32) for breaks, program in (("a", "a"), ("a", "b"), ("a", "c"))]
    found = _best(edits)
    assert found
    assert found.slip.program == "b"
    assert _best(edits[:1]) is None
    assert _best([tried(Sizes(2), "b", 2)]) is None  # it changes nothing


def edit(change: str, *, is_of_device: bool = True, program: str = "") -> Edit:
    """Return an edit of a program that fails in_order."""
    graded = Graded(None, LearnersFile(""), None, is_sandboxed=False)  # type: ignore[arg-type] - nothing is called
    call = Call(None, None, (), graded, None)  # type: ignore[arg-type]
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
    many = [[place for place, _ in group] for group in _groups([edit(str(k)) for k in range(50)])]
    assert many == [[*range(8)], [*range(8, 16)], [*range(16, 40)], [*range(40, 50)]]


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


@pytest.mark.parametrize(
    ("breaks", "sizes", "expected"),
    [("", (True, True), (True, True)), ("", (True, False), (True, False)), ("", (False, True), (False, True)),
     ("text", (True, True), (False, False))],
)  # fmt: skip
def test_what_is_right_has_to_be_right_in_all_else(
    breaks: str, sizes: tuple[bool, bool], expected: tuple[bool, bool]
) -> None:
    class All(Sizes):
        def with_all_sizes(self, code: str) -> tuple[bool, bool]:
            assert code == "ptx"
            return sizes

    call = All(2, breaks)
    base = tried(call, "text", 32).base
    assert base.is_fixed_by("text", call, "ptx", is_of_device=True) == expected  # type: ignore[arg-type] - a call's
