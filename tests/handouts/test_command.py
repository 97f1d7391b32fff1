"""`handouts`: where it writes, what it leaves alone, and what it says when it cannot. Sphinx is not needed."""

import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from scanlab.cli import main
from scanlab.handouts import site
from texts import REPOSITORY


@pytest.fixture
def sphinx(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for Sphinx, which writes the pages that are in this list."""
    pages = ["index.html", "_static/page.css"]

    def write(_source: Path, out: Path, _doctrees: Path) -> None:
        for page in pages:
            (out / page).parent.mkdir(parents=True, exist_ok=True)
            (out / page).write_text(page)

    monkeypatch.setattr(site, "_run_sphinx", write)
    monkeypatch.setattr(site, "provide", lambda *_: None)
    return pages


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {site.MARK}


def test_the_site_lies_where_it_is_wanted(
    sphinx: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["handouts", "--out", "new/site"]) == 0
    assert capsys.readouterr().out == "new/site/index.html\n"
    assert files(tmp_path / "new/site") == set(sphinx)
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new/site"]


def test_a_new_site_replaces_the_earlier_one_and_nothing_else(sphinx: list[str], tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    site.build(tmp_path / "site")
    (tmp_path / "site/.git").mkdir()
    (tmp_path / "site/.git/HEAD").write_text("ref")
    sphinx[:] = ["index.html", "12_new.html"]
    site.build(tmp_path / "site")
    assert files(tmp_path / "site") == {"index.html", "12_new.html", ".git/HEAD"}


def test_what_stands_in_the_way_is_named(sphinx: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.build(tmp_path / "site")
    (tmp_path / "site/programs").mkdir()
    (tmp_path / "site/programs/mine").write_text("mine")
    sphinx[:] = ["programs/scan.html"]
    assert main(["handouts", "--out", str(tmp_path / "site")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("programs is in the way, and no part of the site; move it elsewhere")
    assert files(tmp_path / "site") == {"index.html", "_static/page.css", "programs/mine"}


def test_a_mark_cannot_name_what_lies_elsewhere(sphinx: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / site.MARK).write_text("../mine.txt\n..\n.\n\n")
    site.build(tmp_path / "site")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert files(tmp_path / "site") == set(sphinx)


@pytest.mark.usefixtures("sphinx")
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("mine", "mine is a folder with other files in it; name a new folder, or one that holds an earlier site"),
        ("mine/file", "mine/file is a file; name a new folder"),
        ("mine/file/site", "cannot write mine/file/site: "),
        (str(REPOSITORY / "handouts/site"), "handouts/site lies in handouts, which holds the texts"),
    ],
)
def test_folders_that_cannot_be_used_are_reported(
    out: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("mine")
    assert main(["handouts", "--out", out]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("scanlab: ")
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert files(tmp_path) == {"mine/file"}


@pytest.mark.usefixtures("sphinx")
def test_open_shows_the_index_or_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: bool(opened.append(uri)) or len(opened) == 1)
    words = ["handouts", "--open", "--out", str(tmp_path / "site")]
    assert main(words) == 0
    assert opened == [(tmp_path / "site/index.html").as_uri()]
    assert main(words) == 3
    assert "there is no browser here; open " in capsys.readouterr().err


def test_without_sphinx_it_says_what_to_type(tmp_path: Path) -> None:
    start = "import sys; sys.modules['furo'] = None; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, "handouts", "--out", tmp_path / "site"],
        cwd=REPOSITORY,
        env={"SCANLAB_NO_SETUP": "1", "PYTHONPATH": str(REPOSITORY / "grader/python")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("scanlab: handouts needs Sphinx, MyST and furo, which this Python lacks; type: ")
    assert line.endswith("-m pip install -r grader/python/requirements-handouts.txt")
    assert list(tmp_path.iterdir()) == []


def test_what_is_pinned_fits_what_the_kit_pins() -> None:
    def pins(name: str) -> dict[str, str]:
        lines = (REPOSITORY / f"grader/python/{name}.txt").read_text().splitlines()
        return dict(line.removesuffix(" \\").split("==") for line in lines if "==" in line)

    kit, own = pins("requirements"), pins("requirements-handouts")
    assert {"sphinx", "myst-parser", "furo"} <= own.keys()
    assert {package: own[package] for package in own.keys() & kit.keys()} == {
        package: kit[package] for package in own.keys() & kit.keys()
    }
