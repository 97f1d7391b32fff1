"""The class's page: its numbers, worked out by hand here, and what it points at."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

import made_results
from classes import (
    DOUBLE_BUFFER,
    KOGGE_STONE,
    PLAIN,
    REPOSITORY,
    Classroom,
    check,
    excusing_class,
    finding,
    race,
    result,
    why,
)
from scanlab.classroom.store import Store
from scanlab.reports.class_model import ClassPage, SubmissionRow
from scanlab.reports.class_page import class_page, distribution_of
from scanlab.reports.likeness import shape
from scanlab.reports.render import class_html


def page_of(store: Store) -> ClassPage:
    return class_page(store.read_class(), store.records(), store.source)


def row(points: float, verdict: str = "pass", most: float = 100) -> SubmissionRow:
    return SubmissionRow("k", "n", "i", points, most, verdict, [], "", None, 0, True)


def test_the_distribution_is_that_of_the_final_points() -> None:
    rows = [row(0), row(9.99), row(10), row(55), row(99.9), row(100), row(30, "error"), row(0, most=0)]
    spread = distribution_of(rows)
    assert [one.count for one in spread.bins] == [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]
    assert (spread.count, spread.left_out) == (6, 2)
    assert spread.median == pytest.approx(32.5)  # between 10 and 55
    assert spread.mean == pytest.approx(274.89 / 6)
    assert (spread.lower, spread.upper) == (pytest.approx(9.9925), pytest.approx(88.675))


def test_no_student_and_one_alone_have_a_distribution() -> None:
    assert distribution_of([]).count == 0
    one = distribution_of([row(40)])
    assert (one.lower, one.median, one.mean, one.upper) == (40, 40, 40, 40)


@given(st.lists(st.tuples(st.floats(-50, 200), st.sampled_from([0.0, 1.0, 100.0, 1100.0]))))
def test_each_student_is_in_one_bin(points: list[tuple[float, float]]) -> None:
    spread = distribution_of([row(got, most=most) for got, most in points])
    assert sum(one.count for one in spread.bins) == spread.count == sum(most > 0 for _, most in points)


def test_checks_are_counted_over_those_who_handed_the_lab_in(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    room.hand_in("a", {KOGGE_STONE: (PLAIN + "//a", result([check("one"), check("two")]))})
    room.hand_in("b", {KOGGE_STONE: (PLAIN + "//b", result([check("one"), check("two", "fail", points=4)]))})
    room.hand_in("c", {KOGGE_STONE: (PLAIN + "//c", result([check("one", "timeout"), check("two", "skipped")]))})
    room.hand_in("d", {KOGGE_STONE: (PLAIN + "//d", result([check("build", "fail", 20)]))})
    room.hand_in("e", {KOGGE_STONE: (PLAIN + "//e", result([check("one", "inconclusive", points=5), check("two")]))})
    room.hand_in("f", {})
    (lab,) = page_of(room.write()).labs
    assert (lab.handed_in, lab.built, lab.full) == (5, 4, 1)
    assert lab.mean == pytest.approx((20 + 14 + 0 + 0 + 15) / 5)
    assert {name: dict(one.parts(lab.handed_in)) for name, one in lab.checks.items()} == {
        "one": {"passed": 2, "failed": 1, "not reached": 1, "unclear": 1},
        "two": {"passed": 2, "failed": 1, "not reached": 2, "unclear": 0},
    }
    assert lab.checks["two"].points == 24


def test_findings_count_people_and_name_their_lines(tmp_path: Path) -> None:
    other = PLAIN.replace("float sum = s[1]", "float total = s[2]")
    room = Classroom(tmp_path, (KOGGE_STONE, DOUBLE_BUFFER))
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive", "fail")], [race(), race(kind="x")]))})
    room.hand_in("b", {KOGGE_STONE: (PLAIN.replace("  ", "\t"), result([check("inclusive", "fail")], [race()]))})
    room.hand_in("c", {KOGGE_STONE: (other, result([check("inclusive", "fail")], [race()]))})
    missing = finding("wrong.other", lab=DOUBLE_BUFFER, headline="y[0] = 1, expected 2")
    room.hand_in("d", {DOUBLE_BUFFER: (PLAIN, result([check("inclusive", "fail")], [missing], DOUBLE_BUFFER))})
    hint = finding("cost.barrier", [("wait", 3)], weight="advice")
    room.hand_in("e", {KOGGE_STONE: (PLAIN + "//e", result([check("inclusive")], [hint]))})
    page = page_of(room.write())
    assert [(group.id, group.keys, group.labs) for group in page.mistakes] == [
        ("race.shared", ("a", "b", "c"), [KOGGE_STONE]),
        ("wrong.other", ("d",), [DOUBLE_BUFFER]),
    ]
    first, second = page.mistakes[0].examples
    assert first.steps == [("read", "float sum = s[1];", 4), ("write", "s[0] = sum;", 5)]
    assert first.keys == ("a", "b")  # the same lines, however they are indented
    assert (first.anchor, first.place) == ("lab-02-L4", "labs/02_kogge_stone/scan.cu:4")
    assert second.keys == ("c",)
    assert page.mistakes[1].examples == []
    assert [(group.id, group.keys) for group in page.advice] == [("cost.barrier", ("e",))]


def test_a_compilers_message_names_its_line(tmp_path: Path) -> None:
    facts = [
        "labs/02_kogge_stone/scan.cu(4): error: no s",
        "scanlab.cuh(9): error: elsewhere",
        "1 error detected in the compilation",
    ]
    room = Classroom(tmp_path)
    broken = finding("compile", facts=facts, checks=("build",))
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("build", "fail", 100)], [broken]))})
    (group,) = page_of(room.write()).mistakes
    assert [one.steps for one in group.examples] == [[("other", "float sum = s[1];", 4)]]


def test_who_needs_help_and_why(tmp_path: Path) -> None:
    labs = (KOGGE_STONE, DOUBLE_BUFFER)
    room = Classroom(tmp_path, labs)

    def both(text: str, one: dict, two: dict) -> dict:
        return {KOGGE_STONE: (text, one), DOUBLE_BUFFER: (text, two)}

    good = result([check("inclusive", most=100)])
    good3 = result([check("inclusive", most=100)], lab=DOUBLE_BUFFER)
    room.hand_in("fine", both(PLAIN + "//1", good, good3))
    low = result([check("inclusive", "fail", 100, points=98)], [race()])
    low3 = result([check("inclusive", "fail", 100, points=1)], [race(DOUBLE_BUFFER)], DOUBLE_BUFFER)
    room.hand_in("low", both(PLAIN + "//2", low, low3))
    broken = result([check("build", "fail", 100)], [finding("compile", checks=("build",))], DOUBLE_BUFFER)
    room.hand_in("broken", both(PLAIN + "//3", good, broken))
    room.hand_in("empty", {})
    fault = result([check("build", "error", 100, cause=why("no judge"))])
    room.hand_in("fault", both(PLAIN + "//4", fault, result([check("one", "fail", 100)], lab=DOUBLE_BUFFER)))
    page = page_of(room.write())
    assert [(need.row.key, list(need.reasons)) for need in page.needs] == [
        ("empty", ["nothing that can be graded"]),
        ("low", ["less than 50 % of the points", "in several labs: race on shared memory"]),
        ("broken", ["lab 03 cannot be compiled or read"]),
    ]
    assert page.faults == [("fault", KOGGE_STONE, "no judge")]


def test_same_files_are_found_and_the_skeleton_is_none_of_them(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    good = result([check("inclusive")])
    skeleton = (REPOSITORY / "labs/02_kogge_stone/scan.cu").read_text(encoding="utf-8")
    assert "// >>> your code" in skeleton
    renamed = "/* mine */ " + PLAIN.replace("sum", "total").replace("\n  ", "\n\n      ")
    different = PLAIN.replace("s[1]", "s[2]")
    for key, text in {
        "a": PLAIN, "b": PLAIN, "c": renamed, "d": different, "e": skeleton, "f": skeleton,
    }.items():  # fmt: skip
        room.hand_in(key, {KOGGE_STONE: (text, good)})
    page = page_of(room.write())
    assert [(group.keys, group.files) for group in page.identical] == [(("a", "b"), 1)]
    assert [(group.keys, group.files, group.is_reference) for group in page.alike] == [(("a", "b", "c"), 2, False)]
    assert page.untouched == [(KOGGE_STONE, ["e", "f"])]


def test_the_reference_solutions_shape_says_less(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    solution = (REPOSITORY / "solutions/02_kogge_stone/scan.cu").read_text(encoding="utf-8")
    room.hand_in("a", {KOGGE_STONE: (solution, result([check("inclusive")]))})
    room.hand_in("b", {KOGGE_STONE: (solution.replace("sum", "mine"), result([check("inclusive")]))})
    (group,) = page_of(room.write()).alike
    assert group.is_reference


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("int a = b + c; // x", "int  q=r+s;/* y */", True),
        ("int a = a + c;", "int q = r + s;", False),
        ("int a = b + c;", "int a = b - c;", False),
        ("f(1);", "f(2);", False),
        ('f("// a");', 'f("// b");', False),
        ("__syncthreads(); a();", "__syncwarp(); a();", False),
        ("a(); // \\\n b();", "a();", True),
        ("int a;", "float a;", False),
    ],
)
def test_the_shape_of_a_program_is_all_but_names_and_layout(one: str, other: str, same: bool) -> None:
    assert (shape(one) == shape(other)) is same


def test_times_are_ranked_and_equal_ones_share_a_rank(tmp_path: Path) -> None:
    room = Classroom(tmp_path, device="gpu")
    for key, ratio in {"a": 2.0, "b": 0.9, "c": 1.5, "d": 0.9, "e": None}.items():
        times = made_results.times(ratio) if ratio else None
        room.hand_in(key, {KOGGE_STONE: (PLAIN + f"//{key}", result([check("speed", times=times, title="speed")]))})
    (ranking,) = page_of(room.write()).rankings
    assert [(one.rank, one.key, one.ratio) for one in ranking.times] == [
        (1, "b", 0.9), (1, "d", 0.9), (3, "c", 1.5), (4, "a", 2.0),
    ]  # fmt: skip


def test_a_class_without_a_roster_has_no_one_unmatched(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive")]))}, is_known=False)
    assert page_of(room.write()).unmatched == []


def test_a_lab_that_the_kit_does_not_know_any_more_is_shown_all_the_same(tmp_path: Path) -> None:
    room = Classroom(tmp_path, ("12_gone",))
    room.hand_in("a", {"12_gone": (PLAIN, result([check("inclusive", "fail")], [race("12_gone")], "12_gone"))})
    page = page_of(room.write())
    assert [lab.title for lab in page.labs] == ["12_gone"]
    assert page.mistakes[0].examples[0].place == "labs/12_gone/scan.cu:4"


def test_labs_that_do_not_count_for_a_student_are_left_out_of_all_numbers(tmp_path: Path) -> None:
    page = page_of(excusing_class(tmp_path))
    rows = {row.key: row for row in page.rows}
    excused = {key: [cell.is_excused for cell in row.cells] for key, row in rows.items()}
    assert excused == {"a": [False, True], "b": [True, True], "c": [False, False], "d": [False, True]}
    points = {key: (row.points, row.max_points) for key, row in rows.items()}
    assert points == {"a": (10, 10), "b": (0, 0), "c": (10, 110), "d": (10, 10)}  # c has not handed in the second lab
    assert (rows["d"].verdict, rows["b"].is_excused, rows["a"].is_excused) == ("pass", True, False)
    assert (page.distribution.count, page.distribution.left_out) == (3, 0)
    first, second = page.labs
    assert [(lab.expected, lab.handed_in) for lab in (first, second)] == [(3, 3), (1, 0)]
    assert "b" not in [need.row.key for need in page.needs]


def test_the_class_page_marks_who_is_excused(tmp_path: Path) -> None:
    text = class_html(page_of(excusing_class(tmp_path)), set())
    assert text.count('<abbr title="excused">ex</abbr>') == 4
    assert "3 of 3 handed it in" in text
    assert "Nobody handed it in" in text
