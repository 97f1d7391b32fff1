"""The command line: `course` and what a student's copy of the kit refuses."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY, uncommented_example
from scanlab.bundle import refusal


def scanlab(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    start = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr
    return done


def test_the_example_is_a_course_with_a_seed_of_its_own(tmp_path: Path) -> None:
    assert scanlab("course", "new", cwd=tmp_path).returncode == 0
    seed = tmp_path / "course.seed"
    assert stat.S_IMODE(seed.stat().st_mode) == 0o600
    done = scanlab("course", "check", "--json", "c.json", cwd=tmp_path)
    assert done.returncode == 0
    for words in ("01_sequential", "Thu 2027-04-15 23:59 +0200", "-10 % a day, at most 50 %, 15 min grace"):
        assert words in done.stdout
    assert "2 labs, 200 points, 30 more on a GPU, a secret seed" in done.stdout
    text = seed.read_text().strip()
    assert text not in done.stdout
    assert text not in (tmp_path / "c.json").read_text()


def test_all_that_the_example_says_in_comments_is_understood(tmp_path: Path) -> None:
    from scanlab.course.example import example
    from scanlab.course.read import read_course

    (tmp_path / "x.seed").write_text("correct horse battery staple")
    text, whole = example("x.seed"), uncommented_example("x.seed")
    (tmp_path / "course.toml").write_text(whole)
    found = read_course(tmp_path / "course.toml").course
    assert found.labs[1].visibility["odd_sizes"] == "hidden"
    assert found.students[0].attempts == 12
    assert found.attempts("01_sequential").count == "best"
    commented = [line for line in text.splitlines() if line.startswith("# ") and "= " in line]
    assert len(commented) > 20
    assert not [line for line in whole.splitlines() if line.startswith(("# [", "# name", "# hours", "# points ="))]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    scanlab("course", "new", cwd=tmp_path)
    before = [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir())]
    again = scanlab("course", "new", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (2, "scanlab: course.toml is there already; name another file\n")
    again = scanlab("course", "seed", cwd=tmp_path)
    assert again.returncode == 2
    assert "course.seed is there already" in again.stderr
    assert [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir())] == before


def test_a_missing_seed_is_made_by_the_command_that_the_message_names(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('title = "T"\nsecret_seed_file = "s.seed"\n')
    done = scanlab("course", "check", "c.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "`grader/scanlab course seed c.toml` makes it" in done.stderr
    assert scanlab("course", "seed", "c.toml", cwd=tmp_path).returncode == 0
    assert scanlab("course", "check", "c.toml", cwd=tmp_path).returncode == 0


def test_what_differs_from_the_kit_is_shown(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(
        'title = "T"\n[[lab]]\nname = "02"\ndue = 2027-05-01T00:00:00Z\n[[lab.check]]\nname = "additions"\npoints = 3\n'
        'visibility = "hidden"\n[[lab]]\nname = "03"\ndue = 2027-04-01T00:00:00Z\n'
    )
    output = scanlab("course", "check", cwd=tmp_path).stdout
    rows = [line.split() for line in output.splitlines()]
    assert ["02_kogge_stone", "additions", "points", "5", "3"] in rows
    assert "98 + 15 (kit: 100 + 15)" in output
    assert "additions (hidden)" in output
    assert "note: 03_double_buffer is due before 02_kogge_stone, on whose work it builds" in output
    assert "note: there is no [late]: late work counts in full" in output


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["verify"], "without the solutions: it cannot `verify`"),
        (["test", "python"], "without the kit's tests: it cannot `test`"),
        (["pack", "--out", "x.zip"], "cannot `pack`"),
        (["course", "check"], "cannot `course`"),
        (["grade", "solutions"], "without the solutions: it cannot `grade solutions`"),
        (["grade", "./solutions/"], "without the solutions"),
        (["bench", "vgpu"], "cannot `bench vgpu`"),
    ],
)
def test_a_students_copy_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(words, tmp_path) == ""  # a whole kit
    (tmp_path / "bundle.json").write_text("{}")
    message = refusal(words, tmp_path)
    assert part in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "words", [["check", "02"], ["grade", "labs"], ["bench", "06"], ["list"], [], ["test", "--help"]]
)
def test_a_students_copy_does_the_rest(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "bundle.json").write_text("{}")
    assert refusal(words, tmp_path) == ""
