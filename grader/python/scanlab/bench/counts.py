"""Count what scans do, on the virtual GPU: the judge counts, and only the work of a right result."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from scanlab.bench.contenders import Contender
from scanlab.bench.result import ELEMENT_BYTES, SCHEMA, VERSION, DeviceFacts, Entry, Point, Result, Row
from scanlab.bench.times import SECTION, first_error
from scanlab.errors import KitError, ScanlabError
from scanlab.judging import plan as plans
from scanlab.judging.compile import build_runner
from scanlab.judging.compiler.cache import prune
from scanlab.judging.compiler.errors import CompileError
from scanlab.judging.judge import run_judge
from scanlab.judging.result import Cause, CheckResult, LabResult
from scanlab.labs.rubric import Limits
from scanlab.process import Interrupted, kill_all

TABLE_N = 1 << 20
"""Elements: as many as the virtual GPU counts in a second or so."""
LARGEST_N = 1 << 24
TRIAL_N = 5137
"""Several sections and a partial one."""
SECTOR_BYTES = 32
LIMITS = Limits(seconds=300.0, warp_instructions=4_000_000_000, output_bytes=1 << 16)
ENTRIES: tuple[Entry, ...] = ("inclusive", "exclusive")


def measure_counts(
    contenders: Sequence[Contender],
    sizes: Sequence[int],
    command: str,
    date: str,
    kit: str,
    notes: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Result, Interrupted | None]:
    """Count at every size (elements) and return the result, with what stopped it before its end, if anything did.

    Raises KitError when the judge reports the kit's own fault.
    """
    result = Result(
        schema=SCHEMA,
        version=VERSION,
        subject="counts",
        date=date,
        command=command,
        kit=kit,
        device=DeviceFacts(name="scanlab virtual GPU"),
        n=max(sizes),
        sizes=sorted(sizes),
        notes=list(notes),
    )
    say("compiling and counting …")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(_count, each, result.sizes) for each in contenders]
        try:
            for number, future in enumerate(futures, 1):
                result.rows.append(future.result())
                say(f"{result.rows[-1].name} done, {number} of {len(futures)} …")
        except Interrupted as stopped:
            pool.shutdown(wait=False, cancel_futures=True)
            result.interrupted = True
            return result, stopped
        except BaseException:
            kill_all()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    prune()
    return result, None


def _count(contender: Contender, sizes: Sequence[int]) -> Row:
    """Return one contender's row."""
    row = Row(name=contender.name, role=contender.role, source=contender.source, section=contender.section or 0)
    if contender.path is None:
        row.points = [Point(n=n, entry="inclusive", status="ok", counts=_least(n)) for n in sizes]
        return row
    try:
        program = str(build_runner(contender.path, "float", "vgpu", is_sandboxed=False))
    except KitError:
        raise
    except CompileError as error:
        return _not_built(row, sizes, f"{error.what}: {first_error(str(error))}")
    except ScanlabError as error:
        return _not_built(row, sizes, first_error(str(error)))
    if contender.section is None and _scans_sections(contender, program):
        row.section = SECTION
    row.points = _points(run_judge(_plan(contender, program, row.section, sizes, ENTRIES)), sizes)
    return row


def _scans_sections(contender: Contender, program: str) -> bool:
    """Return whether a file scans sections on their own: whether that is what comes out where it makes a difference."""
    result = run_judge(_plan(contender, program, SECTION, [TRIAL_N], ENTRIES[:1]))
    return result.verdict == "pass"


def _least(n: int) -> dict[str, float]:
    """Return what a copy has to move: each element read once and written once."""
    sectors = -(-n * ELEMENT_BYTES // SECTOR_BYTES)
    return {"global_bytes": 2 * n * ELEMENT_BYTES, "global_sectors": 2 * sectors}


def _not_built(row: Row, sizes: Sequence[int], text: str) -> Row:
    row.points = [Point(n=n, entry=entry, status="not_built", text=text) for n in sizes for entry in ENTRIES]
    return row


def _plan(
    contender: Contender, program: str, section: int, sizes: Sequence[int], entries: Sequence[Entry]
) -> plans.Plan:
    """Return a plan for the judge: a check that counts, and limits nothing, for each size and entry."""
    return plans.Plan(
        lab=contender.name,
        title=contender.name,
        device="vgpu",
        seed=plans.DEFAULT_SEED,
        section=section,
        source=contender.source,
        again="",
        limits=LIMITS,
        runners={"float": program},
        reference={},
        launcher=[],
        checks=[
            plans.PlannedCount(
                name=f"{entry}_{n}",
                title=f"{entry}, n = {n}",
                entry=f"{entry}_scan",
                element="float",
                points=0,
                counter="launches",
                among=None,
                calls=[plans.CountedCall(n=n, schedule="lockstep", repeat=0, at_least=0, at_most=None)],
            )
            for n in sizes
            for entry in entries
        ],
    )


def _points(result: LabResult, sizes: Sequence[int]) -> list[Point]:
    """Return what the judge has found, in the order of the plan's checks."""
    which = [(n, entry) for n in sizes for entry in ENTRIES]
    points = []
    for (n, entry), check in zip(which, result.checks, strict=True):
        if check.verdict == "pass":
            points.append(Point(n=n, entry=entry, status="ok", counts=check.counts))
        else:
            text = _text(check.cause) if check.cause else ""
            points.append(Point(n=n, entry=entry, status=_status(check), text=text))
    return points


def _status(check: CheckResult) -> Literal["no_end", "wrong", "error"]:
    if check.verdict == "timeout":
        return "no_end"
    return "wrong" if check.cause and check.cause.expected else "error"


def _text(cause: Cause) -> str:
    """Return a cause in one line: what was got, or else why."""
    if cause.actual and cause.expected:
        return f"{cause.actual}, expected {cause.expected}"
    return (cause.rationale or cause.actual or cause.headline).partition("\n")[0]
