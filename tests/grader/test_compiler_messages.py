"""nvcc's messages in the learner's words: captured ones of CUDA 13.0, damaged ones, and live ones where nvcc is.

`compiler_messages.json` has for each mistake the edit of a solution that makes it, what nvcc says, and the line and
sentence that are expected; an empty sentence where nothing is certain.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scanlab.bootstrap.cuda import PTX_FLAGS, find
from scanlab.judging import judge
from scanlab.judging.compile import CompileError
from scanlab.judging.compiler_causes import explain, shown_lines
from scanlab.judging.compiler_messages import Message, Place, Source, learners_place, parse, warnings
from scanlab.judging.plan import Options
from scanlab.judging.report import result_lines
from scanlab.judging.result import LabResult
from scanlab.labs.folders import find_lab

ROOT = Path(__file__).resolve().parents[2]
GIVEN = (ROOT / "labs/scanlab.cuh").read_text(encoding="utf-8")
CASES = json.loads(Path(__file__).with_name("compiler_messages.json").read_text(encoding="utf-8"))
LIVE = ("semi", "pluseq", "float_var", "no_kind_call", "no_launch_nt", "brace_end", "undeclared", "shared_size")
AFFINE = ("-DSCANLAB_ELEMENT_AFFINE", "-DSCANLAB_PROVENANCE")


def text_of(case: dict[str, Any]) -> str:
    solution = ROOT / "solutions" / case["lab"] / "scan.cu"
    if not solution.exists():
        pytest.skip("no solutions here")
    text = solution.read_text(encoding="utf-8")
    edits = case["edits"]
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    return text


def source_of(text: str) -> Source:
    return Source(("scan.cu",), tuple(text.splitlines()))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_mistake_has_its_line_and_sentence(case: dict[str, Any]) -> None:
    found = explain(case["said"], case["passes"], source_of(text_of(case)), GIVEN)
    assert (found.sentence if found else "") == case["sentence"]
    assert (found.place.line if found and found.place else 0) == case["line"]


@pytest.mark.parametrize("case", [case for case in CASES if case["name"] in LIVE], ids=lambda case: case["name"])
def test_nvcc_still_says_so(case: dict[str, Any], tmp_path: Path) -> None:
    cuda, _ = find(ROOT / ".venv", trial=False)
    if cuda is None:
        pytest.skip("no nvcc here")
    text = text_of(case)
    (tmp_path / "scan.cu").write_text(text, encoding="utf-8")
    said = {}
    passed = []
    for element, flags in (("float", ()), ("provenance", AFFINE)):
        words = [cuda.nvcc, "-std=c++17", "-I", ROOT / "labs", *PTX_FLAGS, *flags, "-c", "scan.cu", "-o", "scan.o"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=200)
        if done.returncode:
            said[element] = done.stdout + done.stderr
        else:
            passed.append(element)
    found = explain(said, passed, source_of(text), GIVEN)
    assert found
    assert (found.sentence, found.place and found.place.line) == (case["sentence"], case["line"])


def test_only_the_affine_build_makes_plus_equals_a_mistake() -> None:
    (case,) = (case for case in CASES if case["name"] == "pluseq")
    assert case["passes"] == ["float"]
    assert explain(case["said"], [], source_of(text_of(case)), GIVEN) is None


@pytest.mark.parametrize("name", ["a b(3)/scan.cu", "/tmp/ünï/error: x/scan.cu", "C(1): error: /s.cu"])
def test_odd_names_of_files(name: str) -> None:
    source = Source((name,), ("int x", "int y;"))
    found = explain({"float": f'{name}(2): error: expected a ";"\n  int y;\n  ^\n\n'}, [], source)
    if found is None:  # the name itself looks like a message: nothing is certain
        assert name.startswith("C(1)")
    else:
        assert (found.place, found.column) == (Place(name, 1), 5)


def test_no_column_and_no_line_of_its_own_show_no_caret() -> None:
    source = Source(("s.cu",), ("  f(x);",))
    found = explain({"float": 's.cu(1): error: identifier "x" is undefined\n'}, [], source)
    assert found
    assert shown_lines(found, source) == ["1 |   f(x);"]


def test_crlf_and_other_alphabets() -> None:
    said = 's.cu(1): error: identifier "größe" is undefined\r\n  int a = größe;\r\n          ^\r\n'
    source = Source(("s.cu",), ("int a = größe;",))
    found = explain({"float": said}, [], source)
    assert found
    assert found.sentence.startswith("`größe` is not declared here")
    assert shown_lines(found, source)[1] == "  |         ^"


def test_a_thousand_errors_have_the_cause_of_the_first() -> None:
    said = "".join(f's.cu({n}): error: identifier "x{n}" is undefined\n  x{n};\n  ^\n' for n in range(1, 1001))
    source = Source(("s.cu",), tuple(f"x{n};" for n in range(1, 1001)))
    found = explain({"float": said}, [], source)
    assert found
    assert found.place == Place("s.cu", 1)
    assert len(parse(said)) == 1000


def test_what_a_file_has_in_a_text_is_no_message() -> None:
    said = 's.cu(2): error: an unknown thing\n  puts("s.cu(1): error: expected a \\";\\"");\n  ^\n'
    assert len(parse(said)) == 1
    assert explain({"float": said}, [], Source(("s.cu",), ("a", 'puts("s.cu(1): error: …");'))) is None


def test_a_message_of_given_code_names_the_learners_line() -> None:
    lines = ("template <int k> void given() {}", "// >>> your code", "given<-1>();", "// <<< your code")
    source = Source(("s.cu",), lines)
    for place in (Place("s.cu", 1), Place("labs/scanlab.cuh", 7), Place("/usr/include/vector", 7)):
        message = Message(place, "error", "oops", chain=(Place("labs/scanlab.cuh", 9), Place("s.cu", 3)))
        assert learners_place(message, source) == Place("s.cu", 3)
    assert learners_place(Message(Place("labs/scanlab.cuh", 7), "error", "oops"), source) is None


def test_warnings_are_the_learners_own_and_each_once() -> None:
    said = (
        's.cu(2): warning #177-D: variable "t" was declared but never referenced\n  int t;\n      ^\n\n'
        's.cu(2): warning #177-D: variable "t" was declared but never referenced\n'
        '          detected during instantiation of "void f<k>()" at line 9\n'
        "labs/scanlab.cuh(1): warning #1-D: not theirs\n"
        "s.cu(4): warning #2-D: given code\n"
    )
    source = Source(("s.cu",), ("// >>> your code", "int t;", "// <<< your code", "int given;"))
    expected = 'mine.cu:2: variable "t" was declared but never referenced'
    assert warnings([said, said], source, "mine.cu") == (expected,)


def test_a_report_has_place_line_cause_and_then_nvccs_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scan.cu"
    file.write_text("int x\nint y;\n")
    said = f'{file}(2): error: expected a ";"\n  int y;\n  ^\n'

    def refuse(*_: object, **__: object) -> Path:
        raise CompileError(said)

    monkeypatch.setattr(judge, "build_runner", refuse)
    monkeypatch.setattr(judge, "prune", lambda: None)
    (result,) = judge.grade([judge.Submission(find_lab("02"), file)], Options())
    text = [line for line, _ in result_lines(result, checks=False)]
    assert text[0].endswith("scan.cu does not compile")
    assert text[1].endswith("scan.cu:1")
    assert text[2:5] == ["  1 | int x", "    |      ^", "  a `;` is missing at the end of this statement"]
    assert text[5].endswith('scan.cu(2): error: expected a ";"')
    assert LabResult.model_validate_json(result.model_dump_json(by_alias=True)) == result
