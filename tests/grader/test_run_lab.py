"""What `run` makes of a lab, a file and their symbols."""

import re
from pathlib import Path

import pytest

from conftest import REPOSITORY, Scanlab
from scanlab.errors import UsageError
from scanlab.labs.folders import find_lab
from scanlab.run.main_of_lab import PARAMETERS, SYMBOLS, Call, Subject, call_of, subject

LAB = "02_kogge_stone"
OWN = REPOSITORY / "labs" / LAB / "scan.cu"
SCANS = (SYMBOLS["inclusive_scan"], SYMBOLS["exclusive_scan"], "helper")
PARTITIONS = (SYMBOLS["split"], SYMBOLS["compact"])


@pytest.mark.parametrize(
    ("words", "lab", "files", "name"),
    [
        (["02"], LAB, [OWN], LAB),
        (["kogge_stone"], LAB, [OWN], LAB),
        ([f"labs/{LAB}"], LAB, [Path(f"labs/{LAB}/scan.cu")], LAB),
        ([f"solutions/{LAB}"], LAB, [Path(f"solutions/{LAB}/scan.cu")], LAB),
        (["02", "mine.cu"], LAB, [Path("mine.cu")], LAB),
        ([f"labs/{LAB}/scan.cu"], LAB, [Path(f"labs/{LAB}/scan.cu")], "scan"),
        (["mine.cu"], None, [Path("mine.cu")], "mine"),
        (["77_mine/hello.cu"], None, [Path("77_mine/hello.cu")], "hello"),
        (["a.cu", "b.cpp", "c.cu"], None, [Path("a.cu"), Path("b.cpp"), Path("c.cu")], "a"),
        (["tests"], None, [Path("tests")], "tests"),
    ],
)
def test_a_word_is_a_lab_or_a_file(
    words: list[str], lab: str | None, files: list[Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    found = subject(words)
    assert (found.lab and found.lab.name, list(found.files), found.name) == (lab, files, name)


def test_a_lab_has_one_file() -> None:
    with pytest.raises(UsageError, match="02 and 2 files: name a lab and one file, or files"):
        subject(["02", "a.cu", "b.cu"])


def named(lab: str = "02") -> Subject:
    return Subject((Path("mine.cu"),), find_lab(lab), is_named_as_lab=True)


FILE = Subject((Path("mine.cu"),))


@pytest.mark.parametrize(
    ("given", "symbols", "entry", "n", "call"),
    [
        (named(), SCANS, None, None, Call("inclusive_scan", 16)),
        (named(), SCANS, "exclusive_scan", 0, Call("exclusive_scan", 0)),
        (named("10"), PARTITIONS, None, 64, Call("compact", 64)),
        (FILE, PARTITIONS, None, None, Call("compact", 16)),
        (FILE, SCANS[1:], None, 3, Call("exclusive_scan", 3)),
        (FILE, ("main", *SCANS), None, None, None),
        (FILE, ("main",), None, None, None),
        (FILE, ("helper",), None, None, None),
    ],
)
def test_the_kits_main_runs_where_there_is_none_and_something_to_call(
    given: Subject, symbols: tuple[str, ...], entry: str | None, n: int | None, call: Call | None
) -> None:
    assert call_of(given, symbols, entry, n, []) == call


@pytest.mark.parametrize(
    ("given", "symbols", "entry", "n", "arguments", "message"),
    [
        (named(), ("main", *SCANS), None, None, [], "mine.cu has a main of its own; to run that, name the file"),
        (
            FILE,
            ("main", *SCANS),
            None,
            3,
            [],
            "--n and --entry are for a lab's file without a main; mine.cu has its own",
        ),
        (named(), SCANS, "split", None, [], "--entry split: 02_kogge_stone has inclusive_scan and exclusive_scan"),
        (named(), SCANS[1:], None, None, [], f"no function inclusive_scan({PARAMETERS['inclusive_scan']}) in mine.cu"),
        (FILE, SCANS, "compact", None, [], f"no function compact({PARAMETERS['compact']}) in mine.cu"),
        (FILE, ("helper",), None, 3, [], f"no function inclusive_scan({PARAMETERS['inclusive_scan']}) in mine.cu"),
        (named(), SCANS, None, None, ["x"], "what follows -- is for a program with a main; mine.cu has none"),
    ],
)
def test_what_cannot_be_called_is_one_clear_line(
    given: Subject, symbols: tuple[str, ...], entry: str | None, n: int | None, arguments: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        call_of(given, symbols, entry, n, arguments)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["02", "--entry", "compact"], "--entry compact: 02_kogge_stone has inclusive_scan and exclusive_scan"),
        (["99"], "no lab is called '99'"),
        (["02", "mine.cu"], "there is no function inclusive_scan(const Element* d_x, Element* d_y, int n) in mine.cu"),
        (
            ["mine.cu", "--n", "3"],
            "there is no function inclusive_scan(const Element* d_x, Element* d_y, int n) in mine",
        ),
    ],
)
def test_the_command_line_ends_with_2(scanlab: Scanlab, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "mine.cu").write_text("// any\n")
    done = scanlab("run", *words, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"scanlab: {message}")


def test_each_entry_has_the_parameters_of_the_header() -> None:
    header = (REPOSITORY / "labs/scanlab.cuh").read_text(encoding="utf-8")
    assert set(re.findall(r"^void (\w+)\(([^)]*)\);", header, re.MULTILINE)) == set(PARAMETERS.items())
