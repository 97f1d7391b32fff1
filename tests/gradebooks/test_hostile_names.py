"""Names of files and people that would command a terminal, a page or a spreadsheet: in no output."""

import csv
import io
import json
import re
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import KOGGE_STONE, Deduction, Problem, Scanlab, check, grade, record, stand_ins, student, write_store
from conftest import fake_build as fake_build
from needs import skip_without
from scanlab.foreign_text import HARMFUL
from scanlab.gradebooks.formats import NAMES, format_called
from scanlab.on_demand import REPORTS
from scanlab.terminal import harmless_output

HOSTILE = (
    "\x1b]0;pwned\x07title",
    "\x1b[2J\x1b[31mred",
    "\x9b31mc1",
    "turned\u202etxt.exe",
    "bell\x07\x08\x08\x08",
    "two\nlines: graded 1000 submissions",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "+1+cmd",
    "@SUM(A1)",
    "-2+3",
    "{{ 7 * 7 }}",
    "a|b [x](javascript:alert(1))",
    "%s%n$(id)`id`",
    "\ufffe\ufdd0odd",
)


def text_of(name: str) -> str:
    """Return what JSON can hold of a name."""
    return name.encode("utf-8", "replace").decode()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A class of hostile names of every kind, as it was graded."""
    records = []
    for at, name in enumerate(map(text_of, HOSTILE)):
        why = {"headline": name, "rationale": name, "actual": name, "details": (name, f"a\n{name}")}
        failed = check("inclusive", 0, 60, f"the title {name}", **why)
        who = student(at, name=name, first_name=name, last_name=name, login=name, email=f"{name}@example.org")
        taken = grade(KOGGE_STONE, [failed, check("barriers", 40, 40)])
        taken = taken.model_copy(update={"deductions": (Deduction(reason=name, points=1),)})
        problem = Problem(name=name, reason=f"is {name}")
        records.append(record(f"s{at:04}", who, taken, origin=name, problems=(problem,)))
    return write_store(tmp_path / "results", records, missing=[student(99, name=HOSTILE[0], last_name=HOSTILE[8])])


def test_grading_prints_nothing_that_does_anything(fake_build: Path, tmp_path: Path) -> None:
    pile = tmp_path / "pile.zip"
    rows = []
    with zipfile.ZipFile(pile, "w") as archive:
        for at, name in enumerate(HOSTILE):
            person = name.replace("/", "_")
            archive.writestr(f"{person}/02_kogge_stone.cu", "")
            archive.writestr(f"{person}/02_{person}.cu", "// FAILS")
            rows.append([f"s{at:02}", person, person, f"s{at:02}@example.org"])
    roster = tmp_path / "roster.csv"
    with roster.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "name", "login", "email"], *rows])
    words = ["grade", pile, "--out", tmp_path / "out", "--roster", roster, "--lab", "02", "--no-sandbox"]
    for _ in range(2):
        done = subprocess.run(
            stand_ins.command_line(*words), cwd=tmp_path, env=stand_ins.environment(fake_build), capture_output=True,
            timeout=300, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        said = (done.stdout + done.stderr).decode()
        assert "Traceback" not in said, said
        assert not HARMFUL.search(said)
        assert not [line for line in said.splitlines() if line.startswith("lines: graded")]
        words.append("--resume")
    assert (tmp_path / "out/class.json").exists(), said


def test_nothing_that_is_exported_does_anything(results: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    out = results

    def run(*words: str | Path) -> str:
        done = scanlab(*words)
        assert done.returncode == 0, done.stderr
        return (done.stdout + done.stderr).decode()

    written: dict[str, str] = {}
    formats = {name: format_called(name) for name in NAMES}
    for name in (name for name, one in formats.items() if one.whole is not None and not one.needs_gradebook):
        file = tmp_path / f"exported.{name}"
        assert not HARMFUL.search(run("export", out, "--format", name, "--out", file))
        written[name] = file.read_bytes().decode()
    for name in (name for name, one in formats.items() if one.one is not None):
        folder = tmp_path / name
        assert not HARMFUL.search(run("export", out, "--format", name, "--out", folder))
        for file in sorted(folder.iterdir()):
            written[f"{name}/{file.name}"] = file.read_bytes().decode()
    assert len(written) > 4 * len(HOSTILE)
    for name, text in written.items():
        assert not HARMFUL.search(text.replace("\r\n", "\n")), name
        if name in formats and name != "junit":  # a table
            rows = list(csv.reader(io.StringIO(text)))
            assert len({len(row) for row in rows}) == 1
            cells = [cell for row in rows for cell in row if not re.fullmatch(r"[+-]?\d+(\.\d+)?", cell)]
            assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
            assert "\n" not in "".join(cells)
        elif name == "junit":
            ElementTree.fromstring(text)
        elif name.startswith("autolab"):
            assert "<script" not in text.splitlines()[-1]
            assert "<" not in text, "Autolab shows the feedback as a page"
            json.loads(text.splitlines()[-1])
        else:
            json.loads(text)
            assert "<" not in text


def test_pages_show_names_and_do_not_run_them(results: Path, scanlab: Scanlab) -> None:
    skip_without(REPORTS)
    out = results
    done = scanlab("report", out)
    assert done.returncode == 0, done.stderr
    assert not HARMFUL.search((done.stdout + done.stderr).decode())
    pages = sorted((out / "report").rglob("*.html")) or sorted(out.rglob("*.html"))
    assert len(pages) > len(HOSTILE)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not HARMFUL.search(text), page
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "49" not in re.findall(r"<h1><bdi>(.*?)</bdi>", text)


def test_what_is_printed_cannot_command_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with harmless_output():
        for name in HOSTILE:
            print(name)
    printed = capsys.readouterr().out
    assert not HARMFUL.search(printed)
    assert "title" in printed
    assert "alert(1)" in printed


def test_no_other_way_leads_to_a_terminal() -> None:
    package = Path(stand_ins.PACKAGE, "scanlab")
    others = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"(?<!_)\bConsole\(", path.read_text(encoding="utf-8")) and path.name != "terminal.py"
    ]
    assert others == []
