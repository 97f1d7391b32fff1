"""The commands of `grader/scanlab`. Human text goes to stdout, diagnostics to stderr."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from scanlab import __version__, errors, machine
from scanlab.arguments import (
    LARGEST_SEED,
    DeviceName,
    DeviceOption,
    JsonOption,
    SarifOption,
    ScheduleName,
    SeedOption,
    require_folder,
    write_json,
)
from scanlab.bench.commands import bench
from scanlab.bundle import refusal
from scanlab.completion.commands import completion
from scanlab.course.commands import course, pack
from scanlab.gradebooks.adapter_commands import adapter, inside, prepare
from scanlab.gradebooks.commands import export
from scanlab.learn.commands import learn, watch
from scanlab.paths import LABS, ROOT, build_folder, shown
from scanlab.process import Interrupted, stop_on_signals
from scanlab.reports.commands import report as reports_command
from scanlab.run.commands import program_arguments, run
from scanlab.terminal import harmless_output, print_styled
from scanlab.trace.commands import trace

if TYPE_CHECKING:
    from scanlab.judging.judge import Submission
    from scanlab.judging.plan import Options
    from scanlab.judging.result import Grade, LabResult
    from scanlab.judging.sanitize import ToolFinding
    from scanlab.labs.folders import Lab

LARGEST_N = 1 << 30
CLASS_ADVICE = "; for a class's submissions add --out DIR"


class ExecutorName(StrEnum):
    """Where a class is graded."""

    local = "local"
    slurm = "slurm"


LabArgument = Annotated[
    str, typer.Argument(metavar="LAB", help="02, kogge_stone, 02_kogge_stone or a path in its folder")
]
ScheduleOption = Annotated[ScheduleName | None, typer.Option(help="one order of blocks and warps only")]
ProveOption = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="where blocks talk to each other: run all that PTX's memory model allows, with up to 4 blocks (a minute)",
    ),
]

LEARNERS = ("learn", "list", "check", "watch", "trace", "hint", "reset", "run", "bench", "handouts")
INSTRUCTORS = ("grade", "report", "export", "course", "pack", "adapter")


class InOrder(TyperGroup):
    """Lists commands as they are needed: a learner's, an instructor's, and then the others as they were added."""

    def list_commands(self, ctx: typer.Context) -> list[str]:
        """Return the commands' names."""
        first = [*LEARNERS, *INSTRUCTORS]
        return [*first, *(name for name in super().list_commands(ctx) if name not in first)]


app = typer.Typer(
    name="scanlab",
    cls=InOrder,
    help="Grade parallel scans in CUDA C++, with or without a GPU.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")
app.add_typer(course, name="course")
app.command()(pack)
app.command()(trace)
for command in (learn, watch, run, export, adapter, inside, prepare, completion):
    app.command()(command)
app.command("report")(reports_command)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 pass, 1 the work failed, 2 usage, 3 the kit's own fault."""
    with harmless_output():
        return _main(list(arguments))


def _main(own: list[str]) -> int:
    if own[:1] == ["run"] and "--" in own:
        at = own.index("--")
        own, program_arguments[:] = own[:at], own[at + 1 :]
    stop_on_signals()
    if lacking := refusal(own):
        _complain(lacking)
        return errors.USAGE
    try:
        app(args=own, prog_name="grader/scanlab")
    except errors.ScanlabError as error:
        _complain(str(error))
        return error.code
    except Interrupted as stopped:
        _complain("stopped")
        return 128 + stopped.signal
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.PASSED
    except (OSError, MemoryError, RuntimeError) as error:
        if not (said := machine.said_of(error)):
            raise
        _complain(said)
        return errors.KIT_FAULT
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else errors.PASSED
    return errors.PASSED


def _complain(text: str) -> None:
    print(f"scanlab: {text}", file=sys.stderr, flush=True)


def _grade(submissions: list["Submission"], options: "Options") -> list["LabResult"]:
    """Grade with a line of progress on a terminal's stderr."""
    from scanlab.judging.judge import grade as run_grade

    if not sys.stderr.isatty():
        return run_grade(submissions, options)
    from scanlab.terminal import console as console_of

    with console_of(sys.stderr).status("compiling and checking …") as status:
        count = 0

        def done(result: "LabResult") -> None:
            nonlocal count
            count += 1
            status.update(f"{result.lab} done, {count} of {len(submissions)} …")

        return run_grade(submissions, options, done)


@app.command("list")
def list_labs() -> None:
    """List the labs in their order, and how far you have come."""
    from scanlab.labs.folders import all_labs
    from scanlab.learn import progress

    labs = all_labs()
    known = progress.read()
    reached = known.next_lab(labs)
    width = max(len(lab.name) for lab in labs)
    for lab in labs:
        broken = lab.broken()
        description = "broken: it cannot be graded" if broken else lab.rubric.title
        if known.labs:
            state = known.of(lab).text() or ("next" if lab == reached else "")
            print(f"{lab.name:<{width}}  {state:<{progress.WIDTH}}  {description}", flush=True)
        else:
            print(f"{lab.name:<{width}}  {description}{'' if broken else f': {lab.rubric.summary}'}", flush=True)
        if broken:
            _complain(broken)
        elif not lab.source.exists():
            _complain(_lacks_source(lab))
    if known.labs:
        print(f"{known.bar(labs)}; go on with: grader/scanlab learn")


def _lacks_source(lab: "Lab") -> str:
    return f"{shown(lab.source)} does not exist; `grader/scanlab reset {lab.number}` brings the skeleton back"


@app.command()
def check(
    lab: LabArgument,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="instead of the lab's own scan.cu")] = None,
    device: DeviceOption = DeviceName.vgpu,
    n: Annotated[int | None, typer.Option("--n", min=0, max=LARGEST_N, help="this many elements only")] = None,
    seed: SeedOption = 7,
    schedule: ScheduleOption = None,
    prove: ProveOption = False,
    trail: Annotated[
        str | None, typer.Option(metavar="TEXT", help="show one execution again, as --prove has printed it; needs --n")
    ] = None,
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="with --device gpu: run NVIDIA's compute-sanitizer as well")
    ] = False,
    sandbox: Annotated[
        bool,
        typer.Option("--sandbox", help="compile and run it in the sandbox: for a file that another person has written"),
    ] = False,
    json_file: JsonOption = None,
    sarif_file: SarifOption = None,
    editor: Annotated[
        bool, typer.Option("--editor", help="first a line for each mistake, FILE:LINE:1: error: …, as editors read it")
    ] = False,
) -> None:
    """Check your work on one lab."""
    from scanlab.judging import editor_lines, report, sarif
    from scanlab.judging.compiler.recipe import read_source
    from scanlab.judging.judge import Submission
    from scanlab.judging.plan import Options, scans
    from scanlab.labs.subject import subject_of_lab
    from scanlab.learn import progress

    if sanitize and device is not DeviceName.gpu:
        raise errors.UsageError(
            "--sanitize is for a real GPU (--device gpu); the virtual one looks for the same mistakes in every check"
        )
    require_folder(sarif_file)
    found, path = subject_of_lab(lab, file)
    submission = Submission(found, path)
    text = read_source(submission.path)
    options = Options(
        device.value, n, seed, schedule.value if schedule else None, prove=prove, trail=trail, is_sandboxed=sandbox
    )
    options = replace(options, remarks=not options.is_narrow, side_by_side=True)
    result = _grade([submission], options)[0]
    for line in editor_lines.lines(result, submission.path) if editor else ():
        print_styled([(line, "")])
    print_styled(report.result_lines(result, checks=True))
    if options.is_narrow:
        what = " and ".join(
            filter(None, [f"n = {n}" if n is not None else "", f"schedule {schedule.value}" if schedule else ""])
        )
        whole = Submission(found, submission.path).again(replace(options, n=None, schedule=None, trail=None))
        print_styled([(f"the results are of {what} only, and so are the points; all: {whole}", "")])
    if prove and not scans(found):
        _complain(f"note: {found.name} asks for no scan, and only scans are explored")
    is_clean = True
    if sanitize:
        from scanlab.judging.sanitize import SanitizedResult

        findings, is_clean = _sanitize(submission, n, seed)
        result = SanitizedResult(**dict(result), sanitizer=tuple(findings))
    write_json(json_file, result.model_dump(mode="json"))
    if sarif_file is not None:
        write_json(sarif_file, sarif.of_results([result], {found.name: submission.path}))
    if submission.path.resolve() == found.source.resolve() and not options.is_narrow and not trail:
        progress.record(found, text, result)
    raise typer.Exit(errors.PASSED if result.verdict == "pass" and is_clean else errors.FAILED)


def _sanitize(submission: "Submission", n: int | None, seed: int) -> tuple[list["ToolFinding"], bool]:
    """Print and return what compute-sanitizer finds, and whether none of it is a mistake."""
    from scanlab.judging.compiler.errors import CompileError
    from scanlab.judging.sanitize import TOOLS, sanitize

    try:
        findings = sanitize(submission.path, submission.lab, n, seed)
    except CompileError:
        return [], False  # which the check has said
    for finding in findings:
        print_styled([(finding.text, "")])
    mistakes = [finding for finding in findings if finding.weight == "mistake"]
    found = "nothing" if not findings else f"{len(mistakes)} mistakes" if len(mistakes) != 1 else "1 mistake"
    print_styled([(f"compute-sanitizer ({', '.join(TOOLS)}) found {found}", "")])
    return findings, not mistakes


@app.command()
def grade(
    submissions: Annotated[
        Path, typer.Argument(metavar="SUBMISSIONS", help="one person's folder, shaped like solutions/; or a class")
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="of a class: where the results go")] = None,
    device: Annotated[DeviceName | None, typer.Option(help="the virtual GPU, or this machine's own  [vgpu]")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=LARGEST_SEED, help="chooses inputs and random schedules  [7; of a class a secret one]"),
    ] = None,
    json_file: JsonOption = None,
    sarif_file: SarifOption = None,
    lab: Annotated[list[str] | None, typer.Option("--lab", help="of a class: grade these labs only")] = None,
    roster: Annotated[
        Path | None, typer.Option(metavar="CSV", help="of a class: who is in it; an export of Canvas, Moodle … will do")
    ] = None,
    course: Annotated[Path | None, typer.Option(metavar="TOML", help="of a class: the course's rules")] = None,
    times: Annotated[
        list[str] | None,
        typer.Option(metavar="CSV|archive", help="of a class: who handed in when (identifier,time,lab)"),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="KIND",
            help="of a class: moodle, canvas, brightspace, blackboard, ilias, sakai, gradescope, github[:PREFIX] "
            "or folders",
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="of a class: who hands in together; a column `group` in the roster"),
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(metavar="TOML", help="of a class: instead of the results' answers.toml")
    ] = None,
    prove: ProveOption = False,
    jobs: Annotated[int | None, typer.Option(min=1, max=1024, help="of a class: so many files at a time")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="of a class: go on, with what is new")] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="KEY", help="of a class: grade these again")] = None,
    executor: Annotated[
        ExecutorName, typer.Option(help="of a class: grade on this machine, or as jobs of a Slurm cluster")
    ] = ExecutorName.local,
    slurm: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="with --executor slurm: partition=, time=, mem= …")
    ] = None,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="of a class: run programs without protection from them")
    ] = False,
) -> None:
    """Grade one person's labs (NN_name/scan.cu), or a class.

    A class is a folder or an archive (zip, tar) of submissions, as Canvas, Moodle, Gradescope and GitHub Classroom
    export them, or a folder, an archive or a file for each student. It is graded into --out DIR; a run that was
    stopped, by whatever, goes on with --resume. So does a class that is graded, when SUBMISSIONS has more: late
    hand-ins and attempts are added, and what was graded stays.

    Exit codes of a class: 0 it was graded, whatever the grades are; 1 it holds no submissions, or cannot be unpacked;
    2 wrong usage; 3 the kit failed to grade a part, which --resume tries again.
    """
    from scanlab.classroom.commands import Request, grade_a_class
    from scanlab.judging.plan import Options

    class_options = {
        "--lab": lab, "--roster": roster, "--course": course, "--jobs": jobs, "--resume": resume, "--only": only,
        "--executor": executor is not ExecutorName.local, "--slurm": slurm, "--times": times, "--from": source,
        "--groups": groups, "--answers": answers,
    }  # fmt: skip
    if out is None:
        if given := [name for name, value in class_options.items() if value]:
            raise errors.UsageError(f"{given[0]} is for a class: say with --out DIR where its results go")
        options = Options((device or DeviceName.vgpu).value, None, 7 if seed is None else seed, prove=prove)
        require_folder(sarif_file)
        _grade_one_person(submissions, options, json_file, sarif_file)
        return
    for name, asked in (("--json", json_file), ("--sarif", sarif_file)):
        if asked is not None:
            raise errors.UsageError(f"{name} is for one person's folder; a class's results go to --out DIR")
    if slurm and executor is not ExecutorName.slurm:
        raise errors.UsageError("--slurm says how jobs are made: add --executor slurm")
    request = Request(
        submissions, out, lab or [], roster, course, device.value if device else None, seed, jobs, resume, only or [],
        not no_sandbox, (slurm or []) if executor is ExecutorName.slurm else None, times or [], source, groups, answers,
        prove,
    )  # fmt: skip
    raise typer.Exit(grade_a_class(request))


def _grade_one_person(folder: Path, options: "Options", json_file: Path | None, sarif_file: Path | None) -> None:
    """Grade a folder shaped like solutions/, print a table and end the command."""
    from scanlab.judging import report, sarif
    from scanlab.judging.judge import failed

    handed_in, absent = _submissions(folder)
    broken = [fault for one in (*handed_in, *absent) if (fault := one.lab.broken())]
    submissions, missing = ([one for one in some if not one.lab.broken()] for some in (handed_in, absent))
    graded = _grade(submissions, options)
    lacking = [failed(submission, options, f"{shown(submission.path)} is not there", []) for submission in missing]
    results = sorted([*graded, *lacking], key=lambda result: result.lab)
    for result in results:
        if result.verdict != "pass":
            print_styled(report.result_lines(result, checks=False))
            print()
    total = report.summary(results, options.device, options.seed)
    _print_table(results, total)
    write_json(json_file, total.model_dump(mode="json"))
    if sarif_file is not None:
        write_json(sarif_file, sarif.of_results(results, {one.lab.name: one.path for one in (*handed_in, *absent)}))
    if broken:
        raise errors.KitError("\n".join(["not graded, for the kit's own fault:", *broken]))
    raise typer.Exit(errors.PASSED if total.verdict == "pass" else errors.FAILED)


def _submissions(folder: Path) -> tuple[list["Submission"], list["Submission"]]:
    """Return what `folder` hands in, and what it lacks. Raises UsageError when it is no such folder."""
    from scanlab.judging.judge import Submission
    from scanlab.labs.folders import FOLDER, all_labs

    if not folder.exists():
        raise errors.UsageError(f"{shown(folder)} does not exist")
    if not folder.is_dir():
        raise errors.UsageError(
            f"{shown(folder)} is a file; name a folder shaped like solutions/, or use: check LAB FILE; "
            "for a class's archive add --out DIR"
        )
    labs = {lab.name: lab for lab in all_labs()}
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise errors.UsageError(f"{shown(folder)}: cannot read it: {error.strerror}") from error
    if not any(name in labs for name in names):
        own = folder.resolve().name
        advice = (
            f"; for this one lab type: grader/scanlab check {own[:2]} {shown(folder)}/scan.cu" if own in labs else ""
        )
        raise errors.UsageError(
            f"{shown(folder)} has no lab's folder, such as {next(iter(labs))}{advice or CLASS_ADVICE}"
        )
    for name in names:
        if name not in labs and FOLDER.fullmatch(name):
            _complain(f"note: {shown(folder / name)} is no lab of this kit; not graded")
    all_submissions = [Submission(lab, folder / name / "scan.cu") for name, lab in labs.items()]
    return (
        [submission for submission in all_submissions if submission.lab.name in names],
        [submission for submission in all_submissions if submission.lab.name not in names],
    )


def _print_table(results: list["LabResult"], total: "Grade") -> None:
    from rich.table import Table

    from scanlab.judging import report
    from scanlab.terminal import console as console_of

    table = Table(box=None, pad_edge=False)
    table.add_column("lab", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("not run" if total.not_run_points else "", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for result, row in zip(results, report.table_rows(results), strict=True):
        name, verdict, *numbers = row
        style = report.STYLES.get(result.verdict, "")
        table.add_row(name, f"[{style}]{verdict}[/]" if style else verdict, *numbers)
    table.add_row("together", total.verdict, *report.points_columns(total), "")
    console_of(highlight=False, width=None if sys.stdout.isatty() else 100).print(table)


@app.command()
def hint(
    lab: LabArgument,
    level: Annotated[int, typer.Option(min=1, help="1 asks a question; the last shows the shape of the code")] = 1,
) -> None:
    """Show a hint; each level says more."""
    from scanlab.labs.folders import find_lab

    found = find_lab(lab)
    hints = found.rubric.hint
    if not hints:
        raise errors.UsageError(f"{found.name} has no hints; its handout is {found.handout or 'not written yet'}")
    if level > len(hints):
        raise errors.UsageError(f"{found.name} has {len(hints)} hints; there is no --level {level}")
    print(hints[level - 1].text.strip())
    if level < len(hints):
        print(f"\nmore: grader/scanlab hint {found.number} --level {level + 1} (of {len(hints)})")
    elif found.handout:
        print(f"\nthe full explanation: {found.handout}")


@app.command()
def reset(lab: LabArgument) -> None:
    """Put a lab's skeleton back; your file is kept beside it."""
    from scanlab.labs import skeleton
    from scanlab.labs.folders import find_lab

    found = find_lab(lab)
    kept, origin = skeleton.reset(found)
    if kept is not None:
        print(f"kept your file as {shown(kept)}")
    print(f"{shown(found.source)} is the skeleton again, from {origin}")


@app.command()
def verify(
    labs: Annotated[list[str] | None, typer.Argument(metavar="[LAB …]", help="these only")] = None,
    device: DeviceOption = DeviceName.vgpu,
    seed: SeedOption = 7,
    corpora: Annotated[
        bool, typer.Option("--corpora", help="grade the programs whose verdicts are known, instead (virtual GPU)")
    ] = False,
) -> None:
    """Prove that skeletons and solutions keep what the labs promise (for those who write labs)."""
    from scanlab.judging.plan import Options
    from scanlab.labs.folders import all_labs, find_lab
    from scanlab.labs.verify import verify as verify_labs

    ladder = all_labs()
    chosen = {find_lab(lab).name for lab in labs or ()}
    wanted = [lab for lab in ladder if lab.name in chosen] if chosen else ladder
    if corpora:
        if device is not DeviceName.vgpu:
            raise errors.UsageError("--corpora: what these programs have to get is known for the virtual GPU")
        raise typer.Exit(_verify_corpora(wanted, Options("vgpu", None, seed)))
    verified = verify_labs(wanted, ladder, Options(device.value, None, seed))
    for lab in verified:
        print(f"{lab.lab}: {'; '.join(lab.facts) or 'nothing holds'}")
        for fault in lab.faults:
            print(f"  FAIL {fault}")
    faults = sum(len(lab.faults) for lab in verified)
    print(f"{len(verified)} labs, {faults} fault{'' if faults == 1 else 's'}")
    raise typer.Exit(errors.FAILED if faults else errors.PASSED)


def _verify_corpora(labs: "Sequence[Lab]", options: "Options") -> int:
    """Grade the programs of `labs` whose verdicts are known, print what became of them, and return the exit code."""
    from rich.table import Table

    from scanlab.labs.corpora import Row, run_corpora
    from scanlab.terminal import console as console_of

    rows, faults = run_corpora(labs, options)
    for fault in faults:
        print(f"  FAIL {fault}")
    table = Table(box=None, pad_edge=False)
    for title in ("lab", "wrong", "rejected", "own reason first", "right", "accepted", "without finding"):
        table.add_column(title, justify="left" if title == "lab" else "right", no_wrap=True)
    total = Row("together")
    for row in rows:
        table.add_row(*row.texts())
        total += row
    table.add_row(*total.texts())
    console_of(highlight=False, width=None if sys.stdout.isatty() else 100).print(table)
    return errors.FAILED if faults else errors.PASSED


@app.command()
def handouts(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="write the site there, not into .scanlab/handouts")
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="show it in the browser")] = False,
) -> None:
    """Make a site of the handouts, for a browser; it needs no network."""
    import webbrowser

    from scanlab.handouts import site

    index = site.build(out or site.DEFAULT)
    print(shown(index), flush=True)
    if open_it and not webbrowser.open(index.as_uri()):
        raise errors.KitError(f"there is no browser here; open {index} in one")


@app.command("test")
def run_suite(
    suites: Annotated[list[str] | None, typer.Argument(metavar="[SUITE]…", help="of Meson; none: all")] = None,
) -> None:
    """Run the kit's own tests."""
    from scanlab.suite import run_tests

    raise typer.Exit(run_tests(suites or []))


@app.command()
def version() -> None:
    """Print the versions of the kit and of what it uses."""
    from scanlab.judging.toolchain import toolchain

    print(f"scanlab {__version__}")
    print(f"python  {sys.version.split()[0]} ({sys.executable})")
    try:
        tools = toolchain()
        print(f"CUDA    {tools.release[0]}.{tools.release[1]} ({tools.nvcc})")
    except errors.KitError:
        print("CUDA    not set up yet")
    built = (build_folder() / "grader/autograder/judge").exists()
    print(f"build   {build_folder()} ({'built' if built else 'not built yet'})")
    print(f"labs    {len([path for path in LABS.iterdir() if path.is_dir()])} in {ROOT}")
