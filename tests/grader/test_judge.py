"""What the judge is given: the programs, and on a GPU the reference solution's too."""

import os
import threading
import time
from pathlib import Path

import pytest

from made_results import cause, check, result
from scanlab import process
from scanlab.errors import KitError
from scanlab.judging import judge
from scanlab.judging.compiler.errors import CompileError, ForbiddenHeaderError, RefusedError, TooLargeError
from scanlab.judging.plan import Options, Plan, make_plan
from scanlab.judging.result import LabResult
from scanlab.labs.folders import Lab, find_lab

GPU = Options(device="gpu")


class Recorder:
    """Stands in for the compiler and the judge, and remembers what they were asked."""

    def __init__(self) -> None:
        self.built: list[tuple[str, str]] = []
        self.plans: list[Plan] = []
        self.at_once = self.most_at_once = 0
        self.builds_left = 0
        self.lock = threading.Lock()

    def build_runner(self, path: Path, element: str, _device: str, **_: object) -> Path:
        if "BROKEN" in path.read_text():
            raise CompileError(f"{path.name}(1): error: oops")
        with self.lock:
            self.built.append((path.parent.parent.name, element))
        return Path(f"/{path.parent.parent.name}/{element}")

    def run_judge(self, plan: Plan) -> LabResult:
        with self.lock:
            self.plans.append(plan)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(0.05)
        with self.lock:
            self.at_once -= 1
        return result(*(check(one.name) for one in plan.checks), lab=plan.lab)


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(judge, "build_runner", recorder.build_runner)
    monkeypatch.setattr(judge, "run_judge", recorder.run_judge)
    monkeypatch.setattr(judge, "said_of", lambda *_, **__: "")
    monkeypatch.setattr(judge, "prune", lambda: None)
    monkeypatch.setattr(process, "_stopping", threading.Event())  # the kit's own fault stops a process for good
    return recorder


@pytest.fixture
def handed_in(tmp_path: Path) -> judge.Submission:
    file = tmp_path / "mine/02_kogge_stone/scan.cu"
    file.parent.mkdir(parents=True)
    file.write_text("// mine\n")
    return judge.Submission(find_lab("02"), file)


def without_solution(lab: Lab, folder: Path) -> Lab:
    """Return a copy of the lab in a folder of another name, for which there is no solution."""
    copy = folder / "labs/77_copy"
    copy.mkdir(parents=True)
    for name in ("common.toml", f"{lab.name}/lab.toml"):
        (copy.parent / name.replace(lab.name, copy.name)).write_text((lab.folder.parent / name).read_text())
    return Lab(copy)


def test_on_a_gpu_the_reference_solution_comes_along(recorder: Recorder, handed_in: judge.Submission) -> None:
    judge.grade([handed_in], GPU)
    assert sorted(recorder.built) == [("mine", "affine"), ("mine", "float"), ("solutions", "float")]
    assert recorder.plans[0].runners == {"float": "/mine/float", "affine": "/mine/affine"}
    assert recorder.plans[0].reference == {"float": "/solutions/float"}


def test_on_the_virtual_gpu_it_is_not_even_compiled(recorder: Recorder, handed_in: judge.Submission) -> None:
    judge.grade([handed_in], Options())
    assert ("solutions", "float") not in recorder.built
    assert recorder.plans[0].reference == {}


def test_a_copy_of_the_kit_without_solutions_times_nothing(
    recorder: Recorder, handed_in: judge.Submission, tmp_path: Path
) -> None:
    lab = without_solution(handed_in.lab, tmp_path)
    judge.grade([judge.Submission(lab, handed_in.path)], GPU)
    assert recorder.plans[0].reference == {}
    correct = sum(check.points for check in lab.rubric.check if check.kind == "correctness")
    assert (lab.max_points("gpu"), lab.max_points("vgpu")) == (correct, 100)
    assert lab.not_run_points("gpu") == 115 - correct


def test_a_reference_solution_that_does_not_compile_is_the_kits_fault(
    handed_in: judge.Submission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "solutions/02_kogge_stone/scan.cu"
    broken.parent.mkdir(parents=True)
    broken.write_text("// BROKEN\n")
    monkeypatch.setattr(Lab, "solution", broken)
    with pytest.raises(KitError, match=r"the reference solution of 02_kogge_stone does not compile:\nscan.cu\(1\)"):
        judge.grade([handed_in], GPU)


def test_a_gpu_has_one_judge_at_a_time(recorder: Recorder, handed_in: judge.Submission) -> None:
    judge.grade([handed_in] * 4, GPU)
    assert len(recorder.plans) == 4
    assert recorder.most_at_once == 1


def test_only_who_works_alone_has_several_judges(recorder: Recorder, handed_in: judge.Submission) -> None:
    judge.grade([handed_in], Options())
    judge.grade([handed_in], Options(device="gpu", side_by_side=True))
    assert [len(plan.checks) for plan in recorder.plans] == [len(handed_in.lab.rubric.check)] * 2
    recorder.plans.clear()
    judge.grade([handed_in], Options(side_by_side=True))
    assert sum(len(plan.checks) for plan in recorder.plans) == len(handed_in.lab.rubric.check)
    assert os.cpu_count() == 1 or len(recorder.plans) > 1


@pytest.mark.parametrize("seen", ["", "race.shared", "wrong.other"])
def test_the_first_part_is_judged_before_all_programs_are_built(
    recorder: Recorder, handed_in: judge.Submission, monkeypatch: pytest.MonkeyPatch, seen: str
) -> None:
    is_judged = threading.Event()
    said: list[LabResult] = []

    def build(path: Path, element: str, device: str, **options: object) -> Path:
        assert element == "float" or is_judged.wait(20)
        return recorder.build_runner(path, element, device, **options)

    def run(plan: Plan) -> LabResult:
        found = recorder.run_judge(plan)
        if seen and plan.checks[0].name == "inclusive":
            first = check("inclusive", "fail", cause=cause(id=seen))
            found = result(first, *found.checks[1:], lab=plan.lab)
        is_judged.set()
        return found

    monkeypatch.setattr(judge, "build_runner", build)
    monkeypatch.setattr(judge, "run_judge", run)
    monkeypatch.setattr(judge, "with_cure", lambda whole, *_, **__: whole)
    (whole,) = judge.grade([handed_in], Options(side_by_side=True), first=said.append)
    early, *others = recorder.plans
    assert set(early.runners) == {"float"}
    assert [len(one.checks) for one in said] == [len(early.checks) if seen else len(whole.checks)]
    # Why a sum is wrong is seen on elements that are names: then the part is judged once more.
    again = [plan for plan in others if plan.checks[0] == early.checks[0]]
    assert [set(plan.runners) for plan in again] == ([{"float", "provenance"}] if seen == "wrong.other" else [])
    assert [one.name for one in whole.checks] == [one.name for one in handed_in.lab.rubric.check]


def test_a_program_that_does_not_build_ends_what_was_begun_early(
    handed_in: judge.Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_judged = threading.Event()

    def build(path: Path, element: str, _device: str, **_: object) -> Path:
        if element == "float":
            return path
        assert is_judged.wait(20)
        raise CompileError(f"{path.name}(1): error: oops")

    def run(plan: Plan) -> LabResult:
        is_judged.set()
        return result(*(check(one.name) for one in plan.checks), lab=plan.lab)

    monkeypatch.setattr(judge, "build_runner", build)
    monkeypatch.setattr(judge, "run_judge", run)
    (whole,) = judge.grade([handed_in], Options(side_by_side=True), first=[].append)
    assert (whole.verdict, whole.points) == ("fail", 0)
    assert "oops" in whole.checks[0].findings[0].text


def test_a_file_that_does_not_compile_has_the_devices_points_to_lose(handed_in: judge.Submission) -> None:
    handed_in.path.write_text("// BROKEN\n")
    for options in (Options(), GPU):
        got = judge.grade([handed_in], options)[0]
        assert got.points == 0
        assert got.max_points == handed_in.lab.max_points(options.device)
        assert got.max_points + got.not_run_points == 115
        assert sum(check.max_points for check in got.checks) == got.max_points


def test_the_judge_gets_the_time_that_its_checks_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the real run_judge
    limits: list[float] = []

    def run_group(_command: object, limit: float, _folder: object) -> object:
        limits.append(limit)
        raise OSError(2, "not there")

    monkeypatch.setattr(judge, "run_group", run_group)
    monkeypatch.setattr(judge, "product", lambda name: Path(name))
    plan = make_plan(find_lab("02"), "scan.cu", "again", {}, GPU)
    with pytest.raises(KitError):
        judge.run_judge(plan)
    checks = len(plan.checks)  # one of them is timed
    assert limits == [judge.GRACE + judge.CLOCK_FACTOR * checks * plan.limits.seconds + 60]


@pytest.mark.parametrize(
    ("error", "title", "headline"),
    [
        (ForbiddenHeaderError, "the scan is not a library's", "uses a ready-made scan"),
        (RefusedError, "the file has nothing that the grader refuses", "is refused"),
        (TooLargeError, "the code fits into the virtual GPU", "becomes too much code"),
    ],
)
def test_what_compiles_and_is_refused_is_not_called_a_file_that_does_not_compile(
    handed_in: judge.Submission,
    monkeypatch: pytest.MonkeyPatch,
    error: type[RefusedError],
    title: str,
    headline: str,
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> Path:
        raise error(path, 1, "cub::BlockScan: write the scan yourself\nthe lab refuses it")

    monkeypatch.setattr(judge, "build_runner", refuse)
    (got,) = judge.grade([handed_in], Options())
    (only,) = got.checks
    assert (got.verdict, got.points, only.title) == ("fail", 0, title)
    assert only.cause
    assert only.cause.headline.endswith(f"scan.cu {headline}")
    assert only.cause.where
    assert only.cause.where.line == 1
    assert only.cause.rationale == "cub::BlockScan: write the scan yourself"
    assert only.cause.details == ("1 | // mine", "the lab refuses it")
    assert (only.cause.id == "header.forbidden") == (error is ForbiddenHeaderError)


@pytest.mark.parametrize(
    ("submission_ends", "control_ends", "verdict"),
    [
        (["killed", "killed"], False, "fail"),  # by itself, as far as can be known
        (["killed", "right"], False, "pass"),  # by someone else, once
        (["crashed"], False, "fail"),
        (["killed"], True, None),
        (["crashed"], True, None),
        (["right"], True, "pass"),  # then nobody asks the control
    ],
)
def test_a_program_that_ends_is_graded_where_the_kits_own_does_not_end(
    handed_in: judge.Submission,
    monkeypatch: pytest.MonkeyPatch,
    submission_ends: list[str],
    control_ends: bool,
    verdict: str | None,
) -> None:
    says = {"killed": "the program was killed; why is not known", "crashed": "the program crashed on the host"}
    left = list(submission_ends)

    def run(plan: Plan) -> LabResult:
        is_control = plan.runners == {"float": "/grader/float"}
        end = ("killed" if control_ends else "right") if is_control else left.pop(0)
        ends = {} if end == "right" else {"cause": cause("it ended", id="crash.host", rationale=says[end])}
        return result(*(check(one.name, "fail" if ends else "pass", **ends) for one in plan.checks), lab=plan.lab)

    monkeypatch.setattr(judge, "run_judge", run)
    monkeypatch.setattr(judge, "with_cure", lambda whole, *_, **__: whole)
    if verdict is None:
        with pytest.raises(KitError, match="this machine cannot run a program"):
            judge.grade([handed_in], Options())
    else:
        assert judge.grade([handed_in], Options())[0].verdict == verdict
