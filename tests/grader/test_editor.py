"""What the set-up writes for editors, and the lines that `check --editor` begins with."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY, Scanlab
from scanlab.bootstrap import editor
from scanlab.judging import editor_lines
from scanlab.judging.result import LabResult

JUDGED = Path(__file__).with_name("judged.json")
LINE = re.compile(r"(?P<file>.+?):(?P<line>\d+):1: (?P<severity>error|warning|note): (?P<text>.+)")


# ---- clangd --------------------------------------------------------------------------------------------------------


def toolkit(folder: Path, *, with_cccl: bool = True) -> Path:
    """A folder as NVIDIA's wheels make it: no library, no version, nothing of other libraries."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/nvcc").write_text("")
    (folder / "include/cccl" if with_cccl else folder / "include").mkdir(parents=True)
    (folder / "include/cuda_runtime.h").write_text("")
    return folder


def first_arguments(tools: dict[str, object]) -> list[str]:
    entry: dict[str, Any] = json.loads(editor.database(tools))[0]
    return entry["arguments"]


def test_the_database_names_each_lab_and_solution_and_no_file_that_is_missing() -> None:
    entries = json.loads(editor.database({"nvcc": "/nowhere/bin/nvcc", "includes": []}))
    names = [entry["file"] for entry in entries]
    assert names == sorted(
        str(path.relative_to(REPOSITORY))
        for path in (*REPOSITORY.glob("labs/*/scan.cu"), *REPOSITORY.glob("solutions/*/scan.cu"))
    )
    assert {entry["directory"] for entry in entries} == {str(REPOSITORY)}
    assert all(entry["arguments"][-1] == entry["file"] for entry in entries)
    words = entries[0]["arguments"]
    shim = REPOSITORY / words[words.index("-idirafter") + 1]
    assert {path.name for path in shim.iterdir()} == {"texture_fetch_functions.h", "curand_mtgp32_kernel.h"}
    assert not any(word.startswith("--cuda-path") for word in words)


@pytest.mark.parametrize("with_cccl", [True, False])
def test_a_toolkit_is_the_folder_around_nvcc(tmp_path: Path, with_cccl: bool) -> None:
    top = toolkit(tmp_path / "cu13", with_cccl=with_cccl)
    words = first_arguments({"nvcc": str(top / "bin/nvcc"), "includes": [str(top / "include")]})
    assert f"--cuda-path={top}" in words
    assert (str(top / "include/cccl") in words) == with_cccl
    assert "-nocudalib" in words


def test_a_toolkit_is_found_by_its_headers_where_nvcc_is_a_script_elsewhere(tmp_path: Path) -> None:
    top = toolkit(tmp_path / "cuda")
    (top / "targets/x86_64-linux/include").mkdir(parents=True)
    (tmp_path / "scripts/bin").mkdir(parents=True)
    (tmp_path / "scripts/bin/nvcc").write_text("")
    tools = {"nvcc": str(tmp_path / "scripts/bin/nvcc"), "includes": [str(top / "targets/x86_64-linux/include")]}
    assert f"--cuda-path={top}" in first_arguments(tools)


def test_the_database_is_written_where_it_is_missing_or_stale_and_costs_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor, "STATE", tmp_path / "state")
    monkeypatch.setattr(editor, "DATABASE", tmp_path / "state/compile_commands.json")
    old, new = (toolkit(tmp_path / name) for name in ("old", "new"))
    for top in (old, old, new):
        editor.write({"nvcc": str(top / "bin/nvcc"), "includes": []})
        assert f"--cuda-path={top}" in editor.DATABASE.read_text()
    before = editor.DATABASE.stat().st_mtime_ns
    editor.write({"nvcc": str(new / "bin/nvcc"), "includes": []})
    assert editor.DATABASE.stat().st_mtime_ns == before
    editor.DATABASE.write_bytes(b"\xff")
    editor.write({"nvcc": str(new / "bin/nvcc"), "includes": []})
    assert json.loads(editor.DATABASE.read_text())
    monkeypatch.setattr(editor, "DATABASE", Path("/dev/null/compile_commands.json"))
    monkeypatch.setattr(editor, "STATE", Path("/dev/null"))
    editor.write({})


# ---- check --editor ------------------------------------------------------------------------------------------------


def listed(result: LabResult, file: Path) -> list[re.Match[str]]:
    found = [LINE.fullmatch(line) for line in editor_lines.lines(result, file)]
    assert all(found)
    return [one for one in found if one]


def test_a_judged_result_has_each_thing_once_a_place() -> None:
    result = LabResult.model_validate_json(JUDGED.read_text())
    lines = listed(result, REPOSITORY / "labs/02_kogge_stone/scan.cu")
    assert "error" in {one["severity"] for one in lines}
    assert len({one.group() for one in lines}) == len(lines)
    assert all(len(one["text"]) <= editor_lines.LONGEST + 2 for one in lines)


def test_a_warning_and_a_text_of_several_lines_are_one_line_each(tmp_path: Path) -> None:
    file = tmp_path / "my scan.cu"
    file.write_text("// one\n  // >>> your code\n")
    warning = f'{file}:13: variable "t"\n was declared: never\x1b[31m'
    result = LabResult.model_validate_json(JUDGED.read_text())
    result = result.model_copy(update={"checks": (), "findings": (), "warnings": (warning, "no place")})
    first, second = editor_lines.lines(result, file)
    assert first == f'{file}:13:1: warning: variable "t" was declared: never'
    assert second == f"{file}:2:1: warning: no place"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// PASSES\n", []),
        (
            "\n// FAILS\n",
            [
                "mine.cu:31:1: error: inclusive scan of each section, floats: y[1024] = 0, expected 523776; "
                "the last, partial section is never written"
            ],
        ),
        ("\nSYNTAX ERROR\n", ["mine.cu:2:1: error: `oops` is not declared here"]),
    ],
)
def test_check_begins_with_them(scanlab: Scanlab, tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "mine.cu").write_text(text)
    done = scanlab("check", "02", "mine.cu", "--editor", cwd=tmp_path)
    found = [line for line in done.stdout.splitlines() if LINE.fullmatch(line)]
    assert [line[: len(wanted)] for line, wanted in zip(found, expected, strict=True)] == expected
    assert done.stdout.splitlines()[: len(found)] == found
    assert not [
        line for line in scanlab("check", "02", "mine.cu", cwd=tmp_path).stdout.splitlines() if LINE.match(line)
    ]
