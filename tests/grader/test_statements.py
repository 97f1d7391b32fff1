"""Marks in a learner's file: where a statement can be put, and where none can."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_results
from scanlab.errors import KitError
from scanlab.judging.compile import compile_object
from scanlab.judging.compiler.recipe import ELEMENT_FLAGS, Source
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.plan import Options, make_plan
from scanlab.judging.result import Finding, LabResult
from scanlab.judging.tried import statements
from scanlab.judging.tried.graded import Graded
from scanlab.labs.folders import find_lab
from scanlab.labs.skeleton import CLOSE, OPEN

KERNEL = f"""\
__global__ void k(int* x, int n) {{
  const int t = threadIdx.x;
  {OPEN}
  // a comment; with a statement
  int a = 0;  // and another {{
  for (int i = 0; i < n;
       ++i) {{
    if (t < i)
      a += x[i];
    else
      a -= 1;
    x[t] = f(a,
             2);
  }}
  switch (a) {{
    case 1:
      a = 2;
      break;
    default: a = 3;
  }}
  const int table[] = {{
    1,
    2
  }};
  /* not
     here; */
  printf("}} {{ ; // %d\\n", a);
  do {{
    a++;
  }}
  while (a < 3);
  while (x[0] == 0);
  auto g = [&](int b) {{
    a += b;
  }};
#if 1
  g(3);
#endif
  {CLOSE}
  x[t] = a;
  x[t] += 1;
}}
"""


def marked_lines(text: str) -> list[str]:
    return [mark.code for mark in statements.marked(LearnersFile(text))[1]]


def test_marks_stand_before_statements_and_before_the_end_of_a_block_of_them() -> None:
    assert marked_lines(KERNEL) == [
        "int a = 0;",
        "for (int i = 0; i < n;",
        "if (t < i)",
        "x[t] = f(a,",
        "}",  # of the loop
        "switch (a) {",
        "break;",
        "}",
        "const int table[] = {",
        'printf("} { ; // %d\\n", a);',
        "do {",
        "a++;",
        "}",
        "while (x[0] == 0);",
        "auto g = [&](int b) {",
        "a += b;",
        "};",
        "g(3);",
        "x[t] = a;",  # the first behind the region
    ]


def test_lines_outside_of_the_regions_that_are_not_given_are_marked() -> None:
    text = f"__device__ void f() {{\n  g(0);\n  g(1);\n}}\n{OPEN}\n{CLOSE}"
    assert marked_lines(text) == []
    codes = [mark.code for mark in statements.marked(LearnersFile(text, frozenset({"g(1);", "}"})))[1]]
    assert codes == ["g(0);", "g(1);"]  # and the first line behind one of theirs
    constant = text.replace("void f", "constexpr int f")
    assert statements.marked(LearnersFile(constant, frozenset({"}"})))[1] == []  # no mark can stand there
    assert statements.marked(LearnersFile(text, frozenset({"g(0);", "g(1);", "}", "__device__ void f() {"})))[1] == []


def test_the_rest_of_a_program_stays_as_it_is() -> None:
    program, marks = statements.marked(LearnersFile(KERNEL))
    assert re.sub(r"scanlab_mark<\d+>\(\); ", "", program) == statements.DEFINITION + KERNEL
    lines, before = program.split("\n"), KERNEL.split("\n")
    for mark in marks:
        assert f"scanlab_mark<{mark.line}>(); " in lines[mark.at - 1]
        assert before[mark.line - 1].lstrip()[:1] == mark.code[:1]


def test_outside_of_functions_and_in_types_there_are_no_marks() -> None:
    declared = "int a = 0;\nstruct S {\n  int b;\n  int c;\n};\nenum E {\n  one,\n};\nnamespace n {\nint d;\n}"
    text = f"{OPEN}\n{declared}\n{CLOSE}\n"
    assert marked_lines(text) == []


@given(st.text(alphabet="{}();,=/*\"'\\\n a0#<>-", max_size=200))
def test_any_text_is_marked_and_keeps_its_lines(text: str) -> None:
    program, marks = statements.marked(LearnersFile(f"{OPEN}\n{text}\n{CLOSE}\n"))
    assert program.count("\n") == statements.DEFINITION.count("\n") + text.count("\n") + 3
    assert len(marks) == len(re.findall(r"scanlab_mark<\d+>\(\);", program))


@pytest.mark.parametrize("number", [f"{number:02}" for number in range(1, 12)])
def test_every_solution_can_be_marked(number: str, tmp_path: Path) -> None:
    """A mark where no statement can stand would not compile: g++ reads the host's part of it."""
    text = find_lab(number).solution.read_text()
    program, marks = statements.marked(LearnersFile(text))
    assert len(marks) >= 3
    made = tmp_path / "scan.cu"
    made.write_text(program)
    ptx = compile_object(Source(made, ELEMENT_FLAGS["float"]), "vgpu").read_bytes().decode(errors="replace")
    assert {int(found) for found in re.findall(r"pmevent (\d+);", ptx)} <= {mark.line for mark in marks}


def test_a_grade_does_not_depend_on_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the kit's while a cure is looked for leaves the result as it was."""

    tried = []

    def breaks(*_: object, **__: object) -> Path:
        tried.append("a build")
        raise KitError("it broke")

    race = made_results.finding("race.shared")
    failing = made_results.cause(next="grader/scanlab check 02 --n 33 --seed 7 --schedule in_order")
    lab = find_lab("02")
    plan, file = make_plan(lab, "scan.cu", "again", {}, Options()), LearnersFile(lab.solution.read_text())
    check = made_results.check(name=plan.checks[0].name, verdict="fail", cause=failing, findings=(race,))
    result = made_results.result(check, verdict="fail")
    monkeypatch.setattr("scanlab.judging.tried.graded.build_runner", breaks)
    assert statements.with_cure(result, Graded(plan, file, breaks, is_sandboxed=False)) == result
    assert tried


def test_only_a_moved_barrier_comes_before_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another finding of the marked program has that program's lines, and is left out."""
    race, exited = made_results.finding("race.shared"), made_results.finding("barrier.exited")
    failing = made_results.cause(next="grader/scanlab check 02 --n 33 --seed 7 --schedule in_order")
    lab = find_lab("02")
    plan, file = make_plan(lab, "scan.cu", "again", {}, Options()), LearnersFile(lab.solution.read_text())
    name = plan.checks[0].name
    check = made_results.check(name=name, verdict="fail", cause=failing, findings=(race, exited), findings_total=9)
    result = made_results.result(check, verdict="fail")
    monkeypatch.setattr("scanlab.judging.tried.graded.build_runner", lambda *_, **__: Path("runner"))

    def with_found(its_id: str) -> LabResult:
        known = dict(made_results.finding(its_id, cure="move it"))
        known.pop("checks")
        found = Finding(**known)
        tried = made_results.check(name=name, verdict="fail", cause=made_results.cause(id=its_id), findings=(found,))
        judge = made_results.result(tried, verdict="fail")
        return statements.with_cure(result, Graded(plan, file, lambda _: judge, is_sandboxed=False))

    assert with_found("fence.missing") == result
    (moved,) = with_found("barrier.divergent").checks
    assert [finding.id for finding in moved.findings] == ["barrier.divergent", "race.shared"]
    assert moved.findings_total == 9
    assert moved.cause is not None
    assert (moved.cause.id, moved.cause.next) == ("barrier.divergent", failing.next)


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("  d_offsets[s] += s_sums[warps - 1];  // add", "atomicAdd(&d_offsets[s], s_sums[warps - 1]);"),
        ("  *d_kept += c;", "atomicAdd(d_kept, c);"),
        ("  for (int s = t; s < m; s += 32) d_offsets[s] += total;", "atomicAdd(&d_offsets[s], total);"),
        ("  chain->taken += 1;", "atomicAdd(&chain->taken, 1);"),
        ("  d_offsets[s] = d_offsets[s] + 1;", ""),
    ],
)
def test_one_atomic_is_written_as_a_call(line: str, call: str) -> None:
    cure = "make line 2 one atomicAdd (tried: the results are right then)"
    race = made_results.finding("race.global", cure=cure)
    result = made_results.result(made_results.check(verdict="fail", findings=(race,)), verdict="fail")
    (said,) = statements.with_atomic_in_words(result, LearnersFile(f"\n{line}\n")).checks[0].findings
    assert said.cure == (cure.replace(" (", f", `{call}` (") if call else cure)


def test_an_atomic_of_another_file_is_left_as_it_is() -> None:
    race = made_results.finding("race.global", cure="make line 7 one atomicAdd (tried: it is gone then)")
    result = made_results.result(made_results.check(verdict="fail", findings=(race,)), verdict="fail")
    assert statements.with_atomic_in_words(result, LearnersFile("a += b;")) == result


@pytest.mark.parametrize(
    ("headline", "variable", "is_left"),
    [
        ("inclusive scan of floats, n = 1025, seed 7, schedule in_order, call 2", "cudaMalloc #2 (8 bytes)", True),
        ("inclusive scan of floats, n = 1025, seed 7, schedule in_order, call 2", "d_y, the output (8 bytes)", False),
        ("inclusive scan of floats, n = 1025, seed 7, schedule random, call 2", "cudaMalloc #2 (8 bytes)", False),
        ("inclusive scan of floats, n = 1025, seed 7, schedule in_order", "cudaMalloc #2 (8 bytes)", False),
    ],
)
def test_a_race_that_no_first_call_has_is_of_what_a_call_has_left(headline: str, variable: str, is_left: bool) -> None:
    cure = "make it volatile (tried: the results are right then)"
    race = made_results.finding("race.global", cure=cure, variable=variable)
    cause = made_results.cause(headline=headline)
    result = made_results.result(made_results.check(verdict="fail", cause=cause, findings=(race,)), verdict="fail")
    (said,) = statements.with_what_a_call_left(result).checks[0].findings
    assert said.cure == ("" if is_left else race.cure)
    assert (said.advice == statements.LEFT_BEHIND) is is_left
