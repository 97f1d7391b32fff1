"""Made-up classes: results folders written by hand, so that what a page has to say is known without grading."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import made_results
from made_course import made_course, showing
from scanlab.classroom.grading import make_record
from scanlab.classroom.records import Class, HandedIn, Problem, Student, Submission
from scanlab.classroom.store import Store, Unit
from scanlab.judging.result import Cause, CheckResult, LabResult, SeenFinding

REPOSITORY = Path(__file__).resolve().parents[2]
KOGGE_STONE = "02_kogge_stone"
DOUBLE_BUFFER = "03_double_buffer"
PLAIN = '#include "scanlab.cuh"\n\n__global__ void kernel(float* s) {\n  float sum = s[1];\n  s[0] = sum;\n}\n'
"""Line 4 reads and line 5 writes."""


def file_of(lab: str) -> str:
    return f"labs/{lab}/scan.cu"


def finding(
    its_id: str,
    lines: Sequence[tuple[str, int]] = (),
    lab: str = KOGGE_STONE,
    *,
    facts: Sequence[str] = (),
    **more: Any,
) -> SeenFinding:
    """A finding as the judge reports it; thread n does what the n-th line says."""
    parts = [made_results.part(does, line, at, file_of(lab)) for at, (does, line) in enumerate(lines)]
    known = {
        "block": (0, 0, 0),
        "facts": tuple(facts)
        or tuple(f"{does} by thread {at}   {file_of(lab)}:{line}" for at, (does, line) in enumerate(lines)),
        "advice": "put a barrier between them",
    }
    return made_results.finding(its_id, parts, **(known | more))


def race(lab: str = KOGGE_STONE, **more: Any) -> SeenFinding:
    return finding("race.shared", [("read", 4), ("write", 5)], lab, **more)


def check(
    name: str,
    verdict: str = "pass",
    most: float = 10,
    *,
    cause: Cause | None = None,
    not_run: float = 0,
    **more: Any,
) -> CheckResult:
    known = {"not_run_points": not_run} | ({"cause": cause} if cause else {})
    return made_results.check(name, verdict, most, **(known | more))


def why(headline: str, its_id: str = "", again: str = "") -> Cause:
    return made_results.cause(headline, id=its_id, next=again)


def result(
    checks: Sequence[CheckResult], findings: Sequence[SeenFinding] = (), lab: str = KOGGE_STONE, **more: Any
) -> LabResult:
    return made_results.result(*checks, findings=tuple(findings), lab=lab, **more)


def hiding(check: str, word: str = "hidden", lab: str = KOGGE_STONE) -> dict[str, Any]:
    """A course, as class.json has it, that shows a check to some only."""
    return showing(lab, "2026-10-06T00:00:00+02:00", **{check: word})


class Classroom:
    """Gathers submissions, and writes the folder."""

    def __init__(self, folder: Path, labs: Sequence[str] = (KOGGE_STONE,), **more: Any) -> None:
        self.store = Store(folder)
        self.labs = tuple(labs)
        self.more = {"title": "A class", "device": "vgpu", "seed": 7, **more}
        self.submissions: list[Submission] = []

    def hand_in(
        self,
        key: str,
        graded: Mapping[str, tuple[str | bytes, LabResult]],
        *,
        name: str | None = None,
        is_known: bool = True,
        problems: Sequence[Problem] = (),
        **more: Any,
    ) -> None:
        """A student hands in (text, the judge's result) for some labs."""
        files = []
        for lab, (text, got) in graded.items():
            data = text.encode() if isinstance(text, str) else text
            sha256 = hashlib.sha256(data).hexdigest()
            self.store.source(sha256).parent.mkdir(parents=True, exist_ok=True)
            self.store.source(sha256).write_bytes(data)
            self.store.write_graded(
                Unit(lab, sha256), got.model_copy(update={"lab": lab}), {"seconds": 1.0, "cpu_seconds": 1.0}
            )
            files.append(HandedIn(lab=lab, name="scan.cu", sha256=sha256))
        student = Student(id=key, name=name or f"Student {key}") if is_known else None
        self.submissions.append(
            Submission(
                key=key,
                student=student,
                origin=more.pop("origin", f"folder-of-{key}"),
                files=tuple(files),
                problems=tuple(problems),
                **more,
            )
        )

    def write(self, missing: Sequence[Student] = (), ignored: Sequence[Problem] = ()) -> Store:
        taken_in = Class(
            labs=self.labs,
            submissions=tuple(self.submissions),
            missing=tuple(missing),
            ignored=tuple(ignored),
            **self.more,
        )
        self.store.write_class(taken_in)
        for submission in taken_in.submissions:
            self.store.write_record(make_record(self.store, taken_in, submission))
        return self.store


HOSTILE = (
    "</script><script>alert(1)</script></style><img src=x onerror=alert(2)>{{ 3100 * 37 }}{% raw %}"
    "\x1b[31m\u202ekcab\u2066\x00"
)
"""What a name, a line or a message may be."""


def hostile_class(folder: Path) -> Store:
    """A class in which every text that a student can choose is hostile, with every kind of submission in it."""
    labs = (KOGGE_STONE, DOUBLE_BUFFER)
    room = Classroom(folder, labs, title=f"Class {HOSTILE.replace(chr(0), '')}", course=hiding("sectors"))
    text = f"// {HOSTILE}\n// {'long ' * 12000}\n\n  float sum = s[1];\n  s[0] = sum;  // {HOSTILE}\n"
    checks = [
        check("inclusive", "fail", cause=why(HOSTILE, "race.shared", f"grader/scanlab {HOSTILE}")),
        check("sectors"),
    ]
    bad = race(headline=f"RACE: {HOSTILE}", facts=[HOSTILE] * 100, advice=HOSTILE * 100, kind="write-after-read")
    room.hand_in(
        "s0001",
        {
            KOGGE_STONE: (text, result(checks, [bad])),
            DOUBLE_BUFFER: (PLAIN, result([check("inclusive")], lab=DOUBLE_BUFFER)),
        },
        name=HOSTILE,
        origin=HOSTILE,
        attempt=2,
        submitted_at="2026-11-01T10:00:00+01:00",
    )
    lines = "".join(f"// line {at}\n" for at in range(1, 20_001)) + "oops;\n"
    broken = finding("compile", facts=[f"{file_of(KOGGE_STONE)}(20001): error: {HOSTILE}"], checks=("build",))
    room.hand_in(
        "s0002", {KOGGE_STONE: (lines, result([check("build", "fail", 100)], [broken]))}, name="Student \u05d0\u05d1"
    )
    room.hand_in("s0003", {KOGGE_STONE: (bytes(range(256)) * 9, result([check("build", "fail", 100)]))})
    room.hand_in("s0004", {}, problems=[Problem(name=HOSTILE, reason=HOSTILE)])
    fault = result([check("build", "error", 100, cause=why(HOSTILE, "kit"))])
    room.hand_in("s0005", {KOGGE_STONE: (PLAIN + "// 5\n", fault)})
    timed = check("speed", "pass", 15, times=made_results.times(1.04, 1.0, 1.1))
    room.hand_in("s0006", {DOUBLE_BUFFER: (PLAIN, result([check("inclusive"), timed], lab=DOUBLE_BUFFER))})
    room.hand_in("other-1", {KOGGE_STONE: (PLAIN, result([check("inclusive")]))}, is_known=False, origin=HOSTILE)
    hidden = finding("bounds.shared", [("read", 900)], checks=("sectors",))
    failed = result([check("inclusive"), check("sectors", "fail")], [hidden])
    room.hand_in("s0008", {KOGGE_STONE: ("int a;\n" * 1000, failed)})
    return room.write([Student(id="s0007", name=HOSTILE)], [Problem(name=HOSTILE, reason=HOSTILE)])


def excusing_class(folder: Path) -> Store:
    """Four students and two labs: `a` is excused from the second, `b` from both, and `d` handed in an excused one."""
    terms = made_course(
        f'[[lab]]\nname = "{KOGGE_STONE}"\n[[lab]]\nname = "{DOUBLE_BUFFER}"\n'
        f'[[student]]\nid = "a"\nexcused = ["{DOUBLE_BUFFER}"]\n'
        f'[[student]]\nid = "b"\nexcused = ["{KOGGE_STONE}", "{DOUBLE_BUFFER}"]\n'
        f'[[student]]\nid = "d"\nexcused = ["{DOUBLE_BUFFER}"]\n'
    )
    room = Classroom(folder, (KOGGE_STONE, DOUBLE_BUFFER), course=terms)
    full = result([check("one")])
    room.hand_in("a", {KOGGE_STONE: (PLAIN + "//a", full)})
    room.hand_in("b", {})
    room.hand_in("c", {KOGGE_STONE: (PLAIN + "//c", full)})
    failed = result([check("one", "fail", points=0)])
    room.hand_in("d", {KOGGE_STONE: (PLAIN + "//d", full), DOUBLE_BUFFER: (PLAIN + "//e", failed)})
    return room.write()
