"""PTX that the virtual GPU cannot run: the learner's mistake where CUDA's assembler refuses it, else the kit's gap."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from scanlab import process
from scanlab.errors import KitError
from scanlab.judging import judge
from scanlab.judging.compile import build_runner
from scanlab.judging.compiler import assembler
from scanlab.judging.compiler.errors import CompileError
from scanlab.judging.plan import Options, Plan
from scanlab.judging.result import Cause, CheckResult, Judged, LabResult, Where
from scanlab.judging.toolchain import Toolchain, toolchain
from scanlab.labs.folders import all_labs, find_lab


@pytest.fixture(autouse=True)
def needs_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_stopping", threading.Event())  # the kit's own fault stops a process for good
    try:
        found = toolchain().ptxas
    except KitError as error:
        pytest.skip(str(error))
    if found is None:
        pytest.skip("no ptxas in the toolkit")


def with_line(folder: Path, line: str) -> Path:
    """Return a file of lab 02 with one more line in its kernel, the 27th."""
    lab = find_lab("02")
    if not lab.solution.is_file():
        pytest.skip("no solutions in this copy")
    lines = lab.solution.read_text().splitlines()
    path = folder / "mine.cu"
    path.write_text("\n".join([*lines[:26], line, *lines[26:]]))
    return path


KNOWN = [
    ('asm volatile("foo.bar.u32 %0, %0;" ::"r"(t));', "Not a name of any known instruction: 'foo'", "refuses"),
    ('if (n < 0) asm volatile("griddepcontrol.wait;");', "requires .target sm_90", "compiled for sm_80"),
    ('if (n < 0) asm("tcgen05.fence::before_thread_sync;");', "'tcgen05.fence' not supported", "compiled for sm_80"),
    ('asm volatile(".loc 4000000000 77 1");', "", "refuses"),
    (r'asm volatile("// end\n\t.file 7 \"/usr/include/cub/x\"");', "near '.file': syntax error", "refuses"),
    ('asm volatile("scanlab.mul %0, %0;" ::"r"(t));', "known instruction: 'scanlab'", "refuses"),
]


FOR_NEWER = '__global__ void waits() { asm volatile("griddepcontrol.wait;"); }'


@pytest.mark.parametrize(("line", "says", "sentence"), KNOWN, ids=[line for line, _, _ in KNOWN])
def test_what_ptxas_refuses_has_its_message_and_the_learners_line(
    tmp_path: Path, line: str, says: str, sentence: str
) -> None:
    path = with_line(tmp_path, line)
    found = assembler.refused(path, ["float"], is_sandboxed=False)
    if not says:  # of that ptxas takes any
        assert found is None
        return
    assert found
    cause, said = found
    assert cause.place
    assert cause.place.line == 27
    assert sentence in cause.sentence
    assert any(one.startswith("ptxas: ") and says in one for one in said)
    assert len(said) == len(set(said))
    assert str(tmp_path) not in "".join(said)


def test_names_of_maps_are_assembled_as_maps(tmp_path: Path) -> None:
    path = with_line(tmp_path, "s_xy[t] = s_xy[t] + identity();")
    assert assembler.refused(path, ["float", "provenance"], is_sandboxed=False) is None
    with_line(tmp_path, 'if (sizeof(Element) == 8) asm volatile("foo;");')
    assert assembler.refused(path, ["float"], is_sandboxed=False) is None
    assert assembler.refused(path, ["float", "provenance"], is_sandboxed=False)


def test_what_cuda_has_and_the_virtual_gpu_lacks_is_not_refused(tmp_path: Path) -> None:
    path = with_line(
        tmp_path,
        'if (n < 0) asm("{ .reg .b32 a<4>; tex.1d.v4.s32.s32 {a0,a1,a2,a3}, [%0, {%1}]; }" ::"l"(d_y), "r"(t));',
    )
    assert assembler.refused(path, ["float"], is_sandboxed=False) is None


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap")
def test_ptxas_runs_in_the_sandbox_where_the_file_is_compiled_there(tmp_path: Path) -> None:
    path = with_line(tmp_path, KNOWN[0][0])
    found = assembler.refused(path, ["float"], is_sandboxed=True)
    assert found
    assert found[0].place
    assert found[0].place.line == 27


def test_a_toolkit_without_ptxas_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toolchain, "ptxas", None)
    assert assembler.refused(with_line(tmp_path, KNOWN[0][0]), ["float"], is_sandboxed=False) is None


@pytest.mark.parametrize(
    ("code", "is_so"),
    [
        ("__constant__ int d_many[17000];\n__global__ void sums(int* d_y) { *d_y = d_many[*d_y]; }", True),
        ("__constant__ int d_some[16000];\n__global__ void sums(int* d_y) { *d_y = d_some[*d_y]; }", False),
        (
            "__global__ void never_launched(int* d_y) {\n"
            "  __shared__ int s_many[13000];\n  s_many[*d_y] = 1;\n  *d_y = s_many[1];\n}",
            True,
        ),
        ("// what only a newer GPU has is not for ptxas to refuse\n" + FOR_NEWER, False),
    ],
)
def test_what_no_gpu_has_room_for_is_known_once_it_is_compiled(tmp_path: Path, code: str, *, is_so: bool) -> None:
    path = with_line(tmp_path, "")
    path.write_text(f"{path.read_text()}\n{code}\n")
    program = build_runner(path, "float", "vgpu", is_sandboxed=False)
    assert assembler.is_refused(program) == is_so
    if is_so:
        found = assembler.refused(path, ["float"], is_sandboxed=False)
        assert found
        assert "48 KiB" in found[0].sentence


def test_every_solution_is_assembled() -> None:
    for lab in all_labs():
        if lab.solution.is_file():
            assert assembler.refused(lab.solution, ["float"], is_sandboxed=False) is None


def test_a_ptxas_that_fails_itself_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise CompileError("ptxas needs more than the 4 GiB of memory that a file may take")

    monkeypatch.setattr(assembler, "assemble", fails)
    assert assembler.refused(with_line(tmp_path, KNOWN[0][0]), ["float"], is_sandboxed=False) is None


# ---- the verdict ----------------------------------------------------------------------------------------------------

GAP = Cause(
    id="unsupported",
    headline="inclusive scan of floats, n = 1",
    rationale="the virtual GPU cannot run this",
    expected="",
    actual="FAULT: the virtual GPU does not know the instruction foo.bar, kernel k",
    where=Where(file="scan.cu", line=27, kernel="k", block=None, thread=None),
    details=(),
    next="",
)


def graded(path: Path, monkeypatch: pytest.MonkeyPatch) -> LabResult:
    """Return the result of a file that the virtual GPU does not run."""

    def unsupported(plan: Plan) -> LabResult:
        raise judge.UnsupportedError(f"{plan.lab}: the judge ended with exit code 3")

    monkeypatch.setattr(judge, "run_judge", unsupported)
    monkeypatch.setattr(judge, "build_runner", lambda *_, **__: Path("/runner"))
    return judge.grade([judge.Submission(find_lab("02"), path)], Options())[0]


def test_it_fails_as_a_file_that_does_not_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_line(tmp_path, KNOWN[0][0])
    given = graded(path, monkeypatch)
    (check,) = given.checks
    assert (given.verdict, given.points, check.name) == ("fail", 0, "build")
    assert check.cause
    assert check.cause.where
    assert (check.cause.id, check.cause.where.line) == ("compile", 27)
    assert (
        check.cause.headline == f"{os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path} does not compile"
    )
    assert check.cause.details[0] == f"27 | {KNOWN[0][0]}"


def test_it_stays_the_kits_error_where_ptxas_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(judge.UnsupportedError):
        graded(with_line(tmp_path, ""), monkeypatch)


def test_each_of_the_kits_faults_is_reported_once_with_its_reason() -> None:
    checks = [
        CheckResult(
            name=name,
            title="",
            verdict="error",
            points=0,
            max_points=0,
            cause=GAP.model_copy(update={"headline": name}),
            counts=None,
        )
        for name in ("floats", "maps")
    ]
    assert judge._faults(Judged(device="", checks=tuple(checks))) == (
        "\n  floats — the virtual GPU does not know the instruction foo.bar, kernel k — scan.cu:27"
        " — the virtual GPU cannot run this"
    )
    bare = checks[0].model_copy(update={"cause": GAP.model_copy(update={"actual": "", "where": None, "rationale": ""})})
    assert judge._faults(Judged(device="", checks=(bare,))) == "\n  inclusive scan of floats, n = 1"
