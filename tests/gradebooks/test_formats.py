"""Each format against a file written from its documentation, and against its rules, with results of every kind."""

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any, Literal
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from conftest import (
    GOLDEN,
    KOGGE_STONE,
    NASTY,
    SEQUENTIAL,
    Scanlab,
    check,
    grade,
    kit_fault,
    nothing,
    record,
    skipped,
    strict_json,
    student,
    write_store,
)
from made_course import made_course, showing
from scanlab.foreign_text import replaced
from scanlab.gradebooks.model import Options
from scanlab.gradebooks.systems import autolab, classroom50, gradescope, prairielearn
from scanlab.gradebooks.text import cell, number, shorten, whole_numbers

Number = Annotated[float, Field(allow_inf_nan=False)]
Shown = Literal["visible", "hidden", "after_due_date", "after_published"]
Form = Literal["text", "html", "simple_format", "md", "ansi"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class GradescopeTest(Strict):
    score: Number
    max_score: Number
    status: Literal["passed", "failed"]
    name: str
    name_format: Form = "text"
    number: str
    output: str
    output_format: Form = "text"
    tags: list[str]
    visibility: Shown
    extra_data: dict[str, Any] = {}


class Gradescope(Strict):
    score: Number
    execution_time: Number = 0
    output: str
    output_format: Form
    test_output_format: Form
    test_name_format: Form
    visibility: Shown
    stdout_visibility: Shown
    extra_data: dict[str, Any]
    tests: list[GradescopeTest]


class Classroom50Test(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")
    name: str = Field(alias="test-name", min_length=1)
    passed: bool
    score: int = Field(ge=0)
    most: int = Field(alias="max-score", ge=0)


class Classroom50(Strict):
    schema_: Literal["classroom50/result/v1"] = Field(alias="schema")
    classroom: str
    assignment: str
    assignment_type: Literal["individual", "group"]
    owner: str = ""
    submission: str
    commit: str
    release: str
    review: str
    datetime: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    score: int
    most: int = Field(alias="max-score")
    tests: list[Classroom50Test]


class PrairieLearnTest(Strict):
    name: str
    description: str
    points: Number
    max_points: Number
    message: str
    output: str


class PrairieLearn(Strict):
    gradable: bool = True
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    format_errors: list[str] | str = []
    message: str = ""
    output: str = ""
    tests: list[PrairieLearnTest] = []


MODELS = {"gradescope": Gradescope, "classroom50": Classroom50, "prairielearn": PrairieLearn}


def nasty_labs() -> list[Any]:
    why = {"headline": NASTY, "details": (NASTY * 3,), "actual": NASTY, "rationale": NASTY}
    broken = check("inclusive", 0.005, 60, NASTY, **why)
    partial = check("barriers", 22.333333, 40)
    return [grade(SEQUENTIAL, [broken, partial], off=3.3333), nothing(KOGGE_STONE)]


# ---- golden files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gradescope", "prairielearn", "classroom50"])
def test_one_submission_is_written_as_the_format_has_it(name: str, small_class: Path, scanlab: Scanlab) -> None:
    more = ["--classroom", "scan-course", "--assignment", "kogge-stone"] if name == "classroom50" else []
    done = scanlab("export", small_class, "--format", name, "--key", "s0002", *more)
    assert done.returncode == 0, done.stderr.decode()
    assert strict_json(done.stdout) == strict_json((GOLDEN / f"{name}.json").read_text())
    MODELS[name].model_validate_json(done.stdout)
    assert done.stdout.endswith(b"}\n")


def test_autolab_ends_with_the_scores(small_class: Path, scanlab: Scanlab) -> None:
    done = scanlab("export", small_class, "--format", "autolab", "--key", "s0002", "--problem", "02=Scan")
    lines = done.stdout.decode().splitlines()
    expected = (GOLDEN / "autolab.txt").read_text().splitlines()
    assert [strict_json(line) for line in lines[-2:]] == [strict_json(line) for line in expected]
    assert done.stdout.endswith(b"}\n")
    assert not done.stdout.endswith(b"\n\n")
    assert "50 of 100 points" in lines[0]


@pytest.mark.parametrize(("name", "file", "code"), [("nbgrader", "nbgrader.csv", 3), ("csv", "csv.csv", 3)])
def test_a_class_is_written_as_the_format_has_it(
    name: str, file: str, code: int, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    done = scanlab("export", small_class, "--format", name, "--out", "grades.csv")
    assert done.returncode == code
    assert "s0004: 02_kogge_stone: the judge was killed by signal 9" in done.stderr.decode()
    assert (tmp_path / "grades.csv").read_bytes() == (GOLDEN / file).read_bytes()


def test_junit_has_a_suite_a_submission(small_class: Path, scanlab: Scanlab) -> None:
    done = scanlab("export", small_class, "--format", "junit")
    assert done.returncode == 3
    root = ElementTree.fromstring(done.stdout)
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == ("testsuites", "6", "2", "1")
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["s0001", "s0002", "s0003", "s0004"]
    for suite in suites.values():
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(count, "")) == sum(case.find(kind) is not None for case in cases)
        assert all(case.get("name") and case.get("classname") for case in cases)
    points = {
        name: [one.get("value") for one in suite.iter("property") if one.get("name") == "points"]
        for name, suite in suites.items()
    }
    assert points == {"s0001": ["100"], "s0002": ["50"], "s0003": ["0"], "s0004": []}


# ---- the kit's own fault ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gradescope", "classroom50", "prairielearn", "autolab"])
def test_the_kits_own_fault_is_no_score(name: str, small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    earlier = tmp_path / "out" / ("s0004.txt" if name == "autolab" else "s0004.json")
    earlier.parent.mkdir()
    earlier.write_text("an earlier score")
    done = scanlab("export", small_class, "--format", name, "--out", "out")
    assert done.returncode == 3
    assert "s0004: 02_kogge_stone: the judge was killed by signal 9" in done.stderr.decode()
    assert earlier.read_text() == "an earlier score"
    assert {path.stem for path in earlier.parent.iterdir()} == {"s0001", "s0002", "s0003", "s0004"}
    one = scanlab("export", small_class, "--format", name, "--key", "s0004", "--out", "one.json")
    assert one.returncode == 3
    assert not (tmp_path / "one.json").exists()


def test_a_lab_that_is_not_asked_for_does_not_matter(tmp_path: Path, scanlab: Scanlab) -> None:
    good = grade(SEQUENTIAL, [check("inclusive", 100, 100)])
    store = write_store(tmp_path / "results", [record("s0001", student(1), good, kit_fault(KOGGE_STONE))])
    assert scanlab("export", store, "--format", "nbgrader").returncode == 3
    done = scanlab("export", store, "--format", "nbgrader", "--lab", "01")
    assert done.returncode == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [(row["assignment"], row["score"]) for row in rows] == [(SEQUENTIAL, "100.0")]


# ---- any text, any number --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gradescope", "classroom50", "prairielearn", "autolab"])
def test_what_a_learner_prints_is_harmless(name: str) -> None:
    made = record("s0001", student(1, name=NASTY), *nasty_labs())
    one = {"gradescope": gradescope, "classroom50": classroom50, "prairielearn": prairielearn, "autolab": autolab}[name]
    text = one.FORMAT.one(made, Options())  # type: ignore[misc]
    assert not any(char in text for char in "\x1b\x00\x07\u202e\ufffe")
    text.encode("utf-8")
    shown = "\n".join(text.splitlines()[-2:]) if name == "autolab" else text
    assert "<" not in shown
    if name == "autolab":
        assert strict_json(text.splitlines()[-1]) == {"scores": {SEQUENTIAL: 19.01, KOGGE_STONE: 0}}
    else:
        MODELS[name].model_validate_json(text)


def test_integers_add_up() -> None:
    made = record("s0001", None, *nasty_labs())
    parsed = Classroom50.model_validate_json(classroom50.one(made, Options()))
    assert parsed.score == sum(test.score for test in parsed.tests) == 19  # 0.005 + 22.333333 - 3.3333, rounded down
    assert parsed.most == sum(test.most for test in parsed.tests) == 200
    assert all(test.score <= test.most for test in parsed.tests)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.floats(0, 1))
def test_shares_add_up_and_exceed_no_limit(values: list[float], part: float) -> None:
    total = int(sum(values) * part)
    shares = whole_numbers(values, total)
    assert sum(shares) == (total if sum(values) > 0 else 0)
    assert all(share <= value + 1 for share, value in zip(shares, values, strict=True))


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)))
def test_any_text_becomes_harmless(text: str) -> None:
    harmless = replaced(text)
    harmless.encode("utf-8")
    ElementTree.fromstring(f"<a>{harmless.replace('&', '').replace('<', '')}</a>")
    assert replaced(harmless) == harmless
    first = cell(text)[:1]
    assert first not in tuple("=@\t\r") or number(0) == 1
    assert "\n" not in cell(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1 234", "'+1 234"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        ("\u200b", "\u200b"),
        ("-5", "-5"),
        ("-5.25", "-5.25"),
        ("-5+1", "'-5+1"),
        ("s0001", "s0001"),
        ("\x1b[31m=1", "'=1"),
    ],
)
def test_no_cell_is_a_formula(text: str, expected: str) -> None:
    assert cell(text) == expected


@given(st.text(), st.integers(0, 200))
def test_shortened_text_keeps_its_limit(text: str, most: int) -> None:
    assert len(shorten(replaced(text), most).encode()) <= most


@pytest.mark.parametrize(("value", "written"), [(7.0, 7), (7.126, 7.13), (-0.0, 0), (1 / 3, 0.33)])
def test_numbers_are_short(value: float, written: float) -> None:
    assert repr(number(value)) == repr(written)


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("name", ["gradescope", "csv", "junit"])
def test_points_that_are_no_numbers_are_refused(
    bad: str, name: str, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    path = small_class / "results/s0001.json"
    path.write_text(path.read_text().replace('"points": 100.0', f'"points": {bad}'))
    done = scanlab("export", small_class, "--format", name, "--out", "out")
    assert done.returncode == 2
    assert "s0001.json" in done.stderr.decode()
    assert not (tmp_path / "out").exists()


# ---- limits and visibility -------------------------------------------------------------------------------------------


def test_prairielearn_keeps_its_megabyte() -> None:
    checks = [check(f"c{at}", 0, 1, details=("x" * 15_000,)) for at in range(120)]
    text = prairielearn.one(record("s0001", None, grade(KOGGE_STONE, checks)), Options())
    assert len(text.encode()) <= 1_000_000
    assert len(PrairieLearn.model_validate_json(text).tests) == 120
    assert "the rest is left out" in text


def test_what_cannot_be_read_costs_no_attempt() -> None:
    parsed = PrairieLearn.model_validate_json(prairielearn.one(record("s0001", None, nothing(KOGGE_STONE)), Options()))
    assert (parsed.gradable, parsed.score, parsed.format_errors) == (False, None, ["nothing was handed in"])
    broken = check("build", 0, 100, headline="scan.cu is empty", id="file")
    parsed = PrairieLearn.model_validate_json(
        prairielearn.one(record("s0001", None, grade(KOGGE_STONE, [broken])), Options())
    )
    assert not parsed.gradable
    broken = check("build", 0, 100, headline="scan.cu is empty", id="compile")
    parsed = PrairieLearn.model_validate_json(
        prairielearn.one(record("s0001", None, grade(KOGGE_STONE, [broken])), Options())
    )
    assert (parsed.gradable, parsed.score) == (True, 0)


def test_hidden_checks_stay_hidden(tmp_path: Path, scanlab: Scanlab) -> None:
    secret = check("barriers", 0, 40, "the secret check")
    labs = grade(KOGGE_STONE, [check("inclusive", 60, 60), secret, skipped("sectors", 10)])
    store = write_store(
        tmp_path / "results",
        [record("s0001", student(1), labs)],
        course=showing(KOGGE_STONE, "2026-10-06T00:00:00+02:00", barriers="hidden", sectors="after_due_date"),
    )
    parsed = Gradescope.model_validate_json(scanlab("export", store, "--format", "gradescope", "--key", "s0001").stdout)
    assert [test.visibility for test in parsed.tests] == ["visible", "hidden", "after_due_date"]
    for name in ("autolab", "prairielearn", "classroom50"):
        text = scanlab("export", store, "--format", name, "--key", "s0001").stdout.decode()
        assert "check inclusive" in text
        assert "secret check" not in text
        assert "check sectors" not in text
        assert "barriers" not in text
        assert "hidden" not in text
    text = scanlab("export", store, "--format", "junit").stdout.decode()
    suite = ElementTree.fromstring(text)[0]
    assert [case.get("name") for case in suite.iter("testcase")] == ["check inclusive"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")
    assert "secret" not in text
    classroom = json.loads(scanlab("export", store, "--format", "classroom50", "--key", "s0001").stdout)
    assert [(test["test-name"], test["score"]) for test in classroom["tests"]] == [
        ("02_kogge_stone: check inclusive", 60),
        ("02_kogge_stone: checks that are not shown", 0),
    ]
    rows = csv.DictReader(io.StringIO(scanlab("export", store, "--format", "nbgrader").stdout.decode()))
    assert [row["duedate"] for row in rows] == ["2026-10-05 22:00:00"]


def test_an_unknown_visibility_is_refused(tmp_path: Path, scanlab: Scanlab) -> None:
    labs = grade(KOGGE_STONE, [check("inclusive", 60, 60)])
    course = showing(KOGGE_STONE, inclusive="hidden")
    course["labs"][0]["visibility"]["inclusive"] = "sometimes"
    store = write_store(tmp_path / "results", [record("s0001", None, labs)], course=course)
    done = scanlab("export", store, "--format", "gradescope", "--key", "s0001")
    assert done.returncode == 2
    said = "course.labs.0.visibility.inclusive: Input should be 'visible', 'hidden' or 'after_due_date'"
    assert said in done.stderr.decode()
    assert done.stdout == b""


def test_a_check_that_waits_does_not_name_a_hidden_one(tmp_path: Path, scanlab: Scanlab) -> None:
    waits = skipped("sectors", 40, 'not run: it needs "the secret check", which did not pass')
    labs = grade(KOGGE_STONE, [check("barriers", 0, 60, "the secret check"), waits])
    made = [record("s0001", None, labs)]
    store = write_store(tmp_path / "results", made, course=showing(KOGGE_STONE, barriers="hidden"))
    parsed = Gradescope.model_validate_json(scanlab("export", store, "--format", "gradescope", "--key", "s0001").stdout)
    assert [(test.visibility, test.output) for test in parsed.tests][1:] == [
        ("visible", "not run: it needs a check that did not pass")
    ]
    parsed = Gradescope.model_validate_json(
        scanlab("export", write_store(tmp_path / "open", made), "--format", "gradescope", "--key", "s0001").stdout
    )
    assert parsed.tests[1].output == 'not run: it needs "the secret check", which did not pass'


@pytest.mark.parametrize("name", ["gradescope", "autolab", "prairielearn", "classroom50"])
def test_a_secret_seed_is_not_shown(name: str, tmp_path: Path, scanlab: Scanlab) -> None:
    again = "grader/scanlab check 02 --n 5 --seed 987654321"
    broken = check("inclusive", 0, 100, headline="n = 5, seed 987654321", next=again)
    made = record("s0001", None, grade(KOGGE_STONE, [broken]))
    store = write_store(tmp_path / "results", [made], seed=987654321)
    output = scanlab("export", store, "--format", name, "--key", "s0001").stdout.decode()
    assert "n = 5, a secret seed" in output
    assert "987654321" not in output


def test_an_excused_student_has_no_score(tmp_path: Path, scanlab: Scanlab) -> None:
    good = grade(KOGGE_STONE, [check("inclusive", 100, 100)])
    terms = made_course('[[student]]\nid = "s0001"\nexcused = ["02"]')
    records = [record("s0001", student(1), good), record("s0002", student(2), good)]
    store = write_store(tmp_path / "results", records, course=terms)
    rows = list(csv.DictReader(io.StringIO(scanlab("export", store, "--format", "csv").stdout.decode())))
    assert {row["key"]: (row["verdict"], row["points"]) for row in rows} == {
        "s0001": ("excused", ""),
        "s0002": ("pass", "100"),
    }
    done = scanlab("export", store, "--format", "gradescope", "--out", "out")
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["s0002.json"]
    done = scanlab("export", store, "--format", "gradescope", "--key", "s0001")
    assert (done.returncode, done.stdout) == (2, b"")
    assert "excuses this student" in done.stderr.decode()


def test_the_table_has_a_total_by_the_courses_weights(tmp_path: Path, scanlab: Scanlab) -> None:
    labs = (grade(SEQUENTIAL, [check("inclusive", 50, 100)]), grade(KOGGE_STONE, [check("inclusive", 30, 40)]))
    terms = made_course(
        '[[lab]]\nname = "01"\n[[lab]]\nname = "02"\nweight = 3\n[[student]]\nid = "s0002"\nexcused = ["01"]'
    )
    records = [record("s0001", student(1), *labs), record("s0002", student(2), *labs)]
    store = write_store(tmp_path / "results", records, course=terms)
    rows = list(csv.DictReader(io.StringIO(scanlab("export", store, "--format", "csv").stdout.decode())))
    assert [row["percent"] for row in rows] == ["68.75", "75.00"]  # (1 * 50 + 3 * 75) / 4
    only = list(csv.DictReader(io.StringIO(scanlab("export", store, "--format", "csv", "--lab", "02").stdout.decode())))
    assert "percent" not in only[0]


# ---- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "gradescope"], "name a folder with --out, or --key"),
        (["--format", "csv", "--key", "s0001"], "one file for the whole class"),
        (["--format", "csv", "--gradebook", "x.csv"], "needs none"),
        (["--format", "canvas"], "name it with --gradebook FILE"),
        (["--format", "csv", "--column", "x"], "--column is for canvas and moodle"),
        (["--format", "canvas", "--gradebook", "none.csv"], "No such file"),
        (["--format", "csv", "--lab", "03"], "graded on 02_kogge_stone"),
        (["--format", "csv", "--lab", "97"], "no lab is called '97'"),
        (["--format", "csv", "--without", "s9999"], "no such submission"),
        (["--format", "gradescope", "--key", "s9999"], "no such submission"),
        (["--format", "csv", "--problem", "02"], "write LAB=NAME"),
        (["--format", "csv", "--out", "none/x.csv"], "No such file or directory"),
        (["--format", "csv", "--out", "."], "it is a folder"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], said: str, small_class: Path, scanlab: Scanlab) -> None:
    done = scanlab("export", small_class, *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stdout == b""


def test_a_folder_that_is_none(tmp_path: Path, scanlab: Scanlab) -> None:
    done = scanlab("export", tmp_path, "--format", "csv")
    assert done.returncode == 2
    assert "class.json does not exist" in done.stderr.decode()


def test_a_class_that_is_not_graded_to_its_end(small_class: Path, scanlab: Scanlab) -> None:
    (small_class / "results/s0002.json").unlink()
    done = scanlab("export", small_class, "--format", "csv")
    assert done.returncode == 2
    assert "--resume" in done.stderr.decode()
    assert done.stdout == b""
