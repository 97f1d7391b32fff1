"""`report`: what it writes, what it leaves alone, and what it says when it cannot."""

from pathlib import Path
from typing import Any

import pytest

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

from classes import KOGGE_STONE, PLAIN, Classroom, check, hiding, race, result
from made_course import showing
from scanlab.classroom.store import Store
from scanlab.cli import main
from scanlab.errors import KitError
from scanlab.reports import make as making
from scanlab.reports import pictures
from scanlab.reports.make import Wanted, make


def class_of(folder: Path, count: int = 3) -> Store:
    room = Classroom(folder)
    for at in range(count):
        got = result([check("inclusive", "fail")], [race()])
        room.hand_in(f"s{at:04d}", {KOGGE_STONE: (f"{PLAIN}// {at}\n", got)})
    return room.write()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    class_of(tmp_path / "results")
    return tmp_path / "results"


ALL = {"index.html", "students/s0000.html", "students/s0001.html", "students/s0002.html"}


def test_pages_lie_with_the_results(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(results)
    assert main(["report", "results"]) == 0
    assert files(results) - before == {f"reports/{name}" for name in ALL}
    assert capsys.readouterr().out.splitlines() == [
        "results/reports/index.html: the class; it names students, so keep it to yourself",
        "results/reports/students: 3 pages, one to hand back to each student",
    ]


def test_pages_lie_where_they_are_wanted_and_two_runs_write_the_same(results: Path, tmp_path: Path) -> None:
    assert main(["report", str(results), "--out", "one"]) == 0
    assert main(["report", str(results), "--out", "two"]) == 0
    assert main(["report", str(results), "--out", "two"]) == 0
    assert files(tmp_path / "one") == files(tmp_path / "two") == ALL
    for name in ALL:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_many_pages_are_made_side_by_side_and_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = class_of(tmp_path / "results", 3 * making.ALONE)
    monkeypatch.setattr(making.os, "cpu_count", lambda: 3)
    seen: list[tuple[int, int]] = []
    make(store, tmp_path / "many", Wanted(), lambda done, total: seen.append((done, total)))
    assert seen == [(at, 24) for at in range(1, 25)]
    monkeypatch.setattr(making.os, "cpu_count", lambda: 1)
    make(store, tmp_path / "one", Wanted())
    assert files(tmp_path / "many") == files(tmp_path / "one")
    for name in files(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()


def test_the_class_alone_links_only_to_pages_that_are_there(results: Path, tmp_path: Path) -> None:
    assert main(["report", str(results), "--out", "out", "--class-only"]) == 0
    assert files(tmp_path / "out") == {"index.html"}
    assert 'href="students/' not in (tmp_path / "out/index.html").read_text()
    assert main(["report", str(results), "--out", "out", "--key", "s0001"]) == 0
    assert files(tmp_path / "out") == {"index.html", "students/s0001.html"}
    assert main(["report", str(results), "--out", "out", "--class-only"]) == 0
    html = (tmp_path / "out/index.html").read_text()
    assert 'href="students/s0001.html' in html
    assert 'href="students/s0002.html' not in html


def test_named_submissions_are_made_and_no_others(results: Path, tmp_path: Path) -> None:
    words = ["report", str(results), "--out", "out", "--key", "s0002", "--key", "s0000", "--key", "s0002"]
    assert main(words) == 0
    assert files(tmp_path / "out") == {"students/s0000.html", "students/s0002.html"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["none"], 2, "none/class.json does not exist: grader/scanlab grade SUBMISSIONS --out makes one"),
        (["results", "--key", "s9"], 2, "--key s9: results/class.json has no such submission"),
        (["results", "--class-only", "--key", "s0001"], 2, "--class-only makes no student's page"),
        (["results", "--out", "mine"], 2, "mine/index.html is there, and no report; name another folder with --out"),
        (["results", "--out", "file"], 2, "file is a file; name a folder with --out"),
        (["results", "--out", "file/sub"], 3, "cannot write file/sub/"),
    ],
)
@pytest.mark.usefixtures("results")
def test_what_cannot_be_done_is_reported_in_a_line(
    words: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/index.html").write_text("<title>mine</title>")
    (tmp_path / "file").write_text("mine")
    assert main(["report", *words]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert (tmp_path / "mine/index.html").read_text() == "<title>mine</title>"
    assert files(tmp_path / "mine") == {"index.html"}
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("damage", ["", "{", '{"schema": "other"}', None])
def test_results_that_are_damaged_or_incomplete_are_reported(
    damage: str | None, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = results / "results/s0001.json"
    record.unlink()
    if damage is not None:
        record.write_text(damage)
    assert main(["report", "results", "--out", "out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "results/results/s0001.json" in line
    assert "index.html" not in files(tmp_path / "out")


def test_a_source_that_is_gone_spoils_no_report(results: Path, tmp_path: Path) -> None:
    for path in (results / "sources").iterdir():
        path.unlink()
    assert main(["report", "results", "--out", "out"]) == 0
    assert files(tmp_path / "out") == ALL


# ---- pictures --------------------------------------------------------------------------------------------------------


def test_no_program_is_started_unless_it_is_asked_for(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> str:
        raise AssertionError("a program was started")

    monkeypatch.setattr(pictures, "run_untrusted", never)
    assert main(["report", str(results)]) == 0


def test_a_picture_that_fails_is_a_sentence(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def draw(_lab: object, path: Path) -> str:
        asked.append(path)
        if len(asked) == 1:
            raise KitError(f"{path}: the tracer ended\nwith much to say")
        return "<svg><title>drawn</title></svg>" if len(asked) == 2 else "x" * (pictures.LARGEST + 1)

    monkeypatch.setattr(pictures, "run_untrusted", draw)
    assert main(["report", str(results), "--out", "out", "--traces"]) == 0
    first, second, third = ((tmp_path / f"out/students/s000{at}.html").read_text() for at in range(3))
    assert "There is no picture of it: scan.cu: the tracer ended." in first
    assert "<svg><title>drawn</title></svg>" in second
    assert "There is no picture of it: it is too large." in third
    assert not any(path.exists() for path in asked)


def test_pictures_end_when_their_time_is_over_and_a_file_is_drawn_once(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(pictures, "run_untrusted", lambda _lab, path: str(asked.append(path) or "<svg></svg>"))
    store = Store(results)
    sha256 = next(iter(store.records())).labs[0].sha256
    assert pictures.Pictures(store.source, seconds=-1).draw(KOGGE_STONE, sha256).trouble == (
        "there was no time left for it"
    )
    assert asked == []
    drawn = pictures.Pictures(store.source)
    assert drawn.draw(KOGGE_STONE, sha256) is drawn.draw(KOGGE_STONE, sha256)
    assert len(asked) == 1
    assert drawn.draw("12_gone", sha256).trouble == "this kit has no such lab"


def graded_by(folder: Path, course: dict[str, Any]) -> Store:
    room = Classroom(folder, course=course)
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive"), check("barriers", title="WAITS")]))})
    return room.write()


def test_a_course_that_cannot_be_read_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = graded_by(tmp_path / "results", hiding("barriers"))
    store.class_file.write_text(store.class_file.read_text().replace('"hidden"', '"hiden"'))
    assert main(["report", str(store.folder), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "course.labs.0.visibility.barriers: Input should be 'visible', 'hidden' or 'after_due_date'" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("year", "notes"), [(2020, 0), (2199, 1)])
def test_what_waits_for_the_due_date_is_shown_when_asked_for_and_open_labs_are_reported(
    year: int, notes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = showing(KOGGE_STONE, f"{year}-10-06T00:00:00Z", barriers="after_due_date")
    store = graded_by(tmp_path / "results", course)
    page = store.folder / "reports/students/a.html"
    assert main(["report", str(store.folder)]) == 0
    assert "WAITS" not in page.read_text()
    assert capsys.readouterr().err == ""
    assert main(["report", str(store.folder), "--after-due-date"]) == 0
    assert "WAITS" in page.read_text()
    printed = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in printed] == [
        f"scanlab: note: {KOGGE_STONE} is due until {year}-10-06 00:00 +0000"
    ] * notes
