"""What the real judge says of a right and of wrong programs, in every format. Skipped where the kit is not built."""

import shutil
from pathlib import Path

import pytest

from conftest import KOGGE_STONE, REPOSITORY, SEQUENTIAL, record, strict_json, student
from scanlab.classroom.records import Record
from scanlab.gradebooks.feedback import lines
from scanlab.gradebooks.formats import NAMES, format_called
from scanlab.gradebooks.hand_in import HandIn, Settings, grade
from scanlab.gradebooks.model import Export, Options
from scanlab.labs.corpora import text_of
from scanlab.paths import build_folder
from test_formats import MODELS

PARTS = ("grader/autograder/judge", ".scanlab-toolchain.json")
HANDED_IN = {
    SEQUENTIAL: REPOSITORY / "solutions/01_sequential/scan.cu",
    KOGGE_STONE: REPOSITORY / "tests/mutants/02_kogge_stone/no_barriers.diff",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, Options]:
    if missing := [part for part in PARTS if not (build_folder() / part).exists()]:
        pytest.skip(f"the kit is not built: no {missing[0]} in {build_folder()}")
    if shutil.which("bwrap") is None:
        pytest.skip("no bubblewrap")
    folder: Path = tmp_path_factory.mktemp("handed_in")
    for lab, path in HANDED_IN.items():
        (folder / f"{lab}.cu").write_text(text_of(path))
    return grade(Settings(platform="autolab", labs=tuple(HANDED_IN)), HandIn(folder, students=[student(1)]))


def test_the_record_is_the_judges(graded: tuple[Record, Options]) -> None:
    made, _ = graded
    right, wrong = made.labs
    assert (right.verdict, right.points, right.max_points) == ("pass", 100, 100)
    assert (wrong.verdict, wrong.points, wrong.max_points) == ("fail", 0, 100)
    assert (made.verdict, made.points, made.max_points) == ("fail", 100, 200)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_json_has_the_formats_shape(name: str, graded: tuple[Record, Options]) -> None:
    made, options = graded
    one = format_called(name).one
    assert one is not None
    text = one(made, options)
    parsed = strict_json(text)
    MODELS[name].model_validate_json(text)
    assert parsed["score"] == (0.5 if name == "prairielearn" else 100)
    assert len(parsed["tests"]) == len(list(lines(made, options))) > 10
    assert "RACE 02_kogge_stone" in text


def test_autolab_and_the_class_formats(graded: tuple[Record, Options]) -> None:
    made, options = graded
    autolab = format_called("autolab").one
    assert autolab is not None
    last = autolab(made, options).splitlines()[-1]
    assert strict_json(last) == {"scores": {SEQUENTIAL: 100, KOGGE_STONE: 0}}
    twin = record("s0002", student(2), *made.labs)
    export = Export("Scan", tuple(HANDED_IN), (made, twin), options=options)
    for name in NAMES:
        one = format_called(name)
        if one.whole is not None and not one.needs_gradebook:
            assert b"s0002" in one.whole(export, None).content
