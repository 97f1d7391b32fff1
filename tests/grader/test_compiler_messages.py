"""nvcc's and the linker's messages in the learner's words: odd ones, damaged ones, and ones made to confuse.

What nvcc says of beginners' mistakes, and what is made of it, is in `tests/mistakes/compile.toml`.
"""

import time
from pathlib import Path

import pytest

from scanlab.judging import judge
from scanlab.judging.compiler.causes import explain, shown_lines
from scanlab.judging.compiler.errors import CompileError
from scanlab.judging.compiler.links import explain_link, shown_text
from scanlab.judging.compiler.messages import Message, Place, Source, learners_place, parse
from scanlab.judging.compiler.source import code_of, odd_brace
from scanlab.judging.compiler.warnings import mistakes, warnings
from scanlab.judging.plan import Options
from scanlab.judging.report import result_lines
from scanlab.judging.result import LabResult
from scanlab.labs.folders import find_lab

ROOT = Path(__file__).resolve().parents[2]
GIVEN = (ROOT / "labs/scanlab.cuh").read_text(encoding="utf-8")


def source_of(text: str) -> Source:
    return Source(("scan.cu",), tuple(text.splitlines()))


PLUS_EQUALS = (
    'scan.cu(2): error: no operator "+=" matches these operands\n'
    "            operand types are: Element += Element\n"
    "    s_xy[t] += sum;\n            ^\n"
)


def test_only_the_affine_build_makes_plus_equals_a_mistake() -> None:
    source = source_of("Element sum = s_xy[t];\n  s_xy[t] += sum;\n")
    assert explain({"provenance": PLUS_EQUALS}, [], source, GIVEN) is None
    found = explain({"provenance": PLUS_EQUALS}, ["float"], source, GIVEN)
    assert found
    assert found.sentence.startswith("an Element has `+` only: write `x = a + b`")


def test_a_brace_is_found_by_the_indentation_alone() -> None:
    """Each brace of a solution is left out in turn; the one that has lost its counterpart is named, or none."""
    for path in sorted(ROOT.glob("solutions/*/scan.cu")):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert odd_brace(lines) is None
        for number, line in enumerate(lines):
            code = code_of(line)
            for column, sign in enumerate(code):
                if sign in "{}":
                    found = odd_brace([*lines[:number], line[:column] + line[column + 1 :], *lines[number + 1 :]])
                    assert found is None or found.is_open == (sign == "}")


@pytest.mark.parametrize(
    "line", ["{" * 100_000, "/*" * 50_000, "a " * 50_000, "f(" * 50_000, "x<" * 50_000, '"' * 99_999, "* " * 50_000]
)
def test_a_line_that_was_made_to_take_time_takes_none(line: str) -> None:
    source = Source(("s.cu",), (line, "int y = a;"))
    begun = time.process_time()
    for error in ('identifier "a" is undefined', 'expected a ";"', "expression must have class type"):
        explain({"float": f"s.cu(1): error: {error}\n  {line}\n  ^\n"}, [], source)
    assert time.process_time() - begun < 2


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
    assert warnings([said, said], source, "mine.cu", {2}) == (expected,)
    assert warnings([said], source, "mine.cu", {2, 4}) == (expected, "mine.cu:4: given code")


def of_instance(arguments: str, name: str = "scan") -> str:
    """Return what nvcc warns of in one instance of a template."""
    return (
        "s.cu(2): warning #186-D: pointless comparison of unsigned integer with zero\n  t >= move;\n    ^\n"
        "          detected during:\n"
        f'            instantiation of "void {name}<{arguments.partition("=")[0]}>(int) [with {arguments}]" at line 9\n'
        '            instantiation of "void launch<kind>(int) [with kind=Kind::inclusive]" at line 33\n'
    )


@pytest.mark.parametrize(
    ("said", "launches", "count"),
    [
        (of_instance("kind=Kind::inclusive"), "scan<kind>(n);", 0),
        (of_instance("task=Task::split"), "scan<task>(n);", 0),
        (of_instance("kind=Kind::inclusive") + of_instance("kind=Kind::exclusive"), "scan<kind>(n);", 1),
        (of_instance("kind=Kind::inclusive").replace("#186", "#177"), "scan<kind>(n);", 1),  # said once for all
        (of_instance("size=32"), "scan<32><<<1, 1>>>(n);", 1),  # the only one
        (of_instance("size=32"), "scan<32><<<1, 1>>>(n); scan<64><<<1, 1>>>(n);", 0),
        (of_instance("size=32") + of_instance("size=64"), "scan<32><<<1, 1>>>(n); scan<64><<<1, 1>>>(n);", 1),
    ],
)
def test_what_is_true_of_one_instance_of_several_is_not_shown(said: str, launches: str, count: int) -> None:
    source = Source(("s.cu",), ("template <Kind kind> __global__ void scan(int n) {", "t >= move;", launches))
    assert len(warnings([said, said], source, "mine.cu", {2})) == count


NO_LDG = """\
s.cu(1): error: no instance of overloaded function "{called}" matches the argument list
            argument types are: (const Element *)
  Element x = {called}(d_x + i);
              ^
sm_32_intrinsics.h(123): note #3326-D: function "{called}(const double2 *)" does not match because argument #1 does \
not match parameter
"""


@pytest.mark.parametrize("called", ["__ldg", "__ldcg"])
def test_a_function_of_cudas_that_takes_no_maps_is_not_given_the_wrong_argument(called: str) -> None:
    source = source_of(f"Element x = {called}(d_x + i);").lines
    said = NO_LDG.format(called=called)
    found = explain({"provenance": said}, ["float"], Source(("s.cu",), source), GIVEN)
    assert found
    assert found.sentence == (
        f"the kit compiles the file for floats and for affine maps, and `{called}` takes no structs: read and write "
        "Elements as they are, with `=`"
    )
    both = explain({"float": said, "provenance": said}, [], Source(("s.cu",), source), GIVEN)
    assert both
    assert both.sentence.startswith(f"argument 1 of `{called}` has another type")
    own = Source(("s.cu",), (*source, "", f"__device__ float {called}(const float* x) {{"))
    mine = explain({"provenance": said}, ["float"], own, GIVEN)
    assert mine is None or "structs" not in mine.sentence


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


@pytest.mark.parametrize(
    ("code", "text", "wrong"),
    [
        ("__syncthreads;", "expression has no effect", "`__syncthreads` without `()` is not called"),
        ("for (int s = 1; s < n; s * 2) {", "expression has no effect", "`s * 2` changes nothing: write `s *= 2`"),
        ("sum == s_xy[t];", "expression has no effect", "`==` compares: write `sum = s_xy[t];` to assign"),
        ("t;", "expression has no effect", ""),
        ("}", 'missing return statement at end of non-void function "f<T>"', "`f` ends without a `return`"),
        (
            "unsigned left = t - stride; if (left >= 0) f();",
            "pointless comparison of unsigned integer with zero",
            "always true, for `left` is unsigned and never below 0: compare before the subtraction",
        ),
        ("if (i >= 0 && i < n) f();", "pointless comparison of unsigned integer with zero", ""),
        ("d_y[0] = sum;", 'variable "sum" is used before its value is set', "`sum` has no value here"),
    ],
)
def test_a_warning_that_cannot_be_meant_is_a_mistake_wherever_it_stands(code: str, text: str, wrong: str) -> None:
    source = Source(("s.cu",), ("// >>> your code", "// <<< your code", code))
    found = mistakes([f"s.cu(3): warning #9-D: {text}\n  {code}\n  ^\n"], source, "mine.cu")
    assert [one.startswith(f"mine.cu:3: {wrong}") for one in found] == ([True] if wrong else [])
    assert len(warnings([f"s.cu(3): warning #9-D: {text}\n"], source, "mine.cu", ())) == bool(wrong)


LINKED = """/usr/bin/ld: in function `main':
tmpxft_00005a0a_00000000-6_ext.cudafe1.cpp:(.text+0x105): undefined reference to `{symbol}'
/usr/bin/ld: tmpxft_00005a0a_00000000-6_ext.cudafe1.cpp:(.text+0x10b): undefined reference to `{symbol}'
/usr/bin/ld: final link failed: bad value
collect2: error: ld returned 1 exit status
"""


@pytest.mark.parametrize(
    ("symbol", "line", "sentence"),
    [
        ("other(float*)", 1, "`other` is declared, and defined nowhere"),
        ("cublasCreate_v2", 4, "`cublasCreate` belongs to cuBLAS"),
        ("cuInit", 5, "`cuInit` belongs to CUDA's driver API"),
        ("cudaGraphLaunch_ptsz", 0, "`cudaGraphLaunch` is a call of CUDA's runtime that the virtual GPU does not have"),
        (
            "__device_builtin_variable_threadIdx",
            6,
            "`threadIdx` is known in kernels only, and this line runs on the host",
        ),
        ("helper(float)", 8, "`helper` is defined here with other parameters"),
        ("table", 7, "`table` is declared, and defined nowhere"),
        ("main", 0, "the program has no `main`"),
    ],
)
def test_what_a_linker_misses_has_a_cause(symbol: str, line: int, sentence: str) -> None:
    lines = (
        "__global__ void other(float* p);",
        "__global__ void k(float* p) { p[threadIdx.x] = 1; }",
        "int run() {",
        "  cublasCreate(&h);",
        "  cuInit(0);",
        "  return threadIdx.x;",
        "extern __device__ float table[4];",
        "int helper(int x) {",
    )
    text = LINKED.replace("{symbol}", symbol)
    found = explain_link(text, [Source(("s.cu",), lines)])
    assert found
    assert found.sentence.startswith(sentence)
    assert (found.place.line if found.place else 0) == line
    assert shown_text(text) == f"undefined reference to `{symbol}'"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a = b;", "b = a;"], [2]),
        (["x; a = b;", "b = a;"], []),
        (["a = b; b = a;"], [2]),
        (["a = b;", "b = c;"], []),
        (["Element* const kept = a;", "a = b;", "b = kept;"], []),
    ],
)
def test_what_a_swap_loses_is_found(lines: list[str], expected: list[int]) -> None:
    source = Source("scan.cu", ["// >>> your code", *lines, "// <<< your code"])
    assert mistakes([], source, "scan.cu") == tuple(
        f"scan.cu:{line}: `a` is lost before it is copied: keep it in a third variable first" for line in expected
    )


def test_where_a_variable_has_kept_it_that_is_named() -> None:
    for swap, line in ((["a = b;", "b = a;"], 4), (["a = b; b = a;"], 3)):
        source = Source("scan.cu", ["// >>> your code", "int tmp = a;", *swap, "// <<< your code"])
        said = f"scan.cu:{line}: `a` is lost before it is copied: write `b = tmp;`"
        assert mistakes([], source, "scan.cu") == (said,)
