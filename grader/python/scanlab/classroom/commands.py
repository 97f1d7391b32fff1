"""`grader/scanlab grade`: one person's folder, or a whole class."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scanlab import errors
from scanlab.foreign_text import LONGEST_TEXT, plain
from scanlab.judging import sandbox
from scanlab.paths import shown
from scanlab.process import Interrupted

if TYPE_CHECKING:
    from scanlab.classroom.additions import Added
    from scanlab.classroom.batch import Outcome
    from scanlab.classroom.intake.take_in import TakenIn
    from scanlab.classroom.records import Class, Problem, Student
    from scanlab.classroom.store import Store
    from scanlab.contract import Device
    from scanlab.executors.interface import Executor

MOST_LISTED = 20


@dataclass(frozen=True)
class Request:
    """What the command line asks for; None: not said."""

    pile: Path
    out: Path
    labs: Sequence[str]
    roster: Path | None
    course: Path | None
    device: "Device | None"
    seed: int | None
    jobs: int | None
    resume: bool
    only: Sequence[str]
    is_sandboxed: bool
    slurm: Sequence[str] | None = None
    """What `--slurm` says of the jobs; None: graded on this machine."""
    times: Sequence[str] = ()
    """What `--times` says: CSV files, or `archive`."""
    source: str | None = None
    """What `--from` says: which platform's export it is."""
    groups: Path | None = None
    answers: Path | None = None
    prove: bool = False


def grade_a_class(request: Request) -> int:
    """Grade a class and return the exit code: 0 it was graded, 3 the kit failed to grade some of it.

    Raises UsageError for a results folder that cannot be used, WorkError for a pile without submissions.
    """
    from scanlab.classroom.additions import add
    from scanlab.classroom.batch import Settings, alone_in, cores, grade_class
    from scanlab.classroom.progress import Progress
    from scanlab.classroom.store import Store

    store = Store(request.out.absolute())
    is_begun = _check_folder(request, store)
    if request.is_sandboxed and request.slurm is None:
        sandbox.require()
    executor = _slurm(request) if request.slurm is not None else None
    with alone_in(store.folder):
        known = store.read_class() if is_begun else None
        taken = _take_in(request, known)
        if known is not None:
            _require_same(known, taken.taken_in, request, store)
            added = add(known, taken.taken_in)
            _require_nothing_new(added, request)
            taken = replace(taken, taken_in=added.taken_in)
        taken, gone = _answer(request, store, taken)
        taken, remarks = _apply_course(request, taken)
        _require_known(request.only, taken.taken_in)
        _report_intake(store, taken)
        if known is not None:
            _report_added(store, known, added)
        for remark in remarks:
            print(f"  {remark}", flush=True)
        if taken.taken_in != known:
            for sha256, data in taken.sources.items():
                store.write_source(sha256, data)
            for sha256, data in taken.kept.items():
                store.write_kept(sha256, data)
            store.write_class(taken.taken_in)
            for key in gone:
                store.remove_record(key)
        _ask(store, taken.taken_in)
        settings = Settings(request.jobs or cores(), request.is_sandboxed, frozenset(request.only), executor)
        try:
            with Progress() as progress:
                outcome = grade_class(store, taken.taken_in, settings, progress)
        except (Interrupted, errors.KitError):
            _report_stopped(request, store, taken.taken_in)
            raise
    _report_end(store, taken.taken_in, outcome)
    return errors.KIT_FAULT if outcome.errors else errors.PASSED


def _slurm(request: Request) -> "Executor":
    """Return what grades on Slurm. Raises UsageError for options that it does not take."""
    from scanlab.executors.slurm import SlurmExecutor
    from scanlab.executors.slurm_options import read_options

    if request.only:
        raise errors.UsageError("--only is graded on this machine: leave --executor out")
    if request.jobs:
        raise errors.UsageError("--jobs is for this machine; with Slurm say --slurm at-once=N")
    return SlurmExecutor(read_options(request.slurm or ()), how={"is_sandboxed": request.is_sandboxed})


# ---- before ----------------------------------------------------------------------------------------------------------


def _check_folder(request: Request, store: "Store") -> bool:
    """Return whether the results folder has a class that is gone on with. Raises UsageError when it cannot be used."""
    folder = store.folder
    if folder.exists() and not folder.is_dir():
        raise errors.UsageError(f"--out {shown(folder)} is a file; name a folder for the results")
    pile, inside = request.pile.resolve(), folder.resolve()
    if pile == inside or pile in inside.parents:
        raise errors.UsageError(f"--out {shown(folder)} lies in the submissions; name a folder beside them")
    if store.class_file.exists():
        if not (request.resume or request.only):
            raise errors.UsageError(
                f"{shown(folder)} has results already: go on with --resume, which takes in what is new, grade some "
                "again with --only KEY, or name another --out"
            )
        return True
    left_by_intake = {".lock", "sources", "kept"}  # a run that was killed before it knew the class
    try:
        others = [path.name for path in folder.iterdir() if path.name not in left_by_intake] if folder.exists() else []
    except OSError as error:
        raise errors.UsageError(f"{shown(folder)}: cannot read it: {error.strerror}") from error
    if [name for name in others if not name.endswith(".new")]:
        raise errors.UsageError(f"{shown(folder)} is not empty and holds no results; name a new folder in --out")
    return False


def _take_in(request: Request, known: "Class | None") -> "TakenIn":
    from scanlab.classroom.intake.roster import Roster, read_groups, read_roster
    from scanlab.classroom.intake.schemes import Source
    from scanlab.classroom.intake.take_in import Wanted, take_in
    from scanlab.classroom.kit import kit_for
    from scanlab.course.read import read_course
    from scanlab.course.seeds import random_seed
    from scanlab.judging.plan import Options
    from scanlab.labs.folders import all_labs, find_lab

    roster = read_roster(request.roster) if request.roster else None
    if known is not None and known.has_roster and roster is None:
        groups = {name: tuple(_student(known, one) for one in ids) for name, ids in known.groups.items()}
        roster = Roster(known.students(), groups)
    if request.groups:
        if roster is None:
            raise errors.UsageError("--groups names students of the roster: give it with --roster")
        roster = read_groups(request.groups, roster)
    read = read_course(request.course) if request.course else None
    asked = {find_lab(lab).name for lab in request.labs} or {lab.name for lab in (read.course.labs if read else ())}
    labs = tuple(lab.name for lab in all_labs() if lab.name in asked)
    if known is not None and (not labs or (read is None and not request.labs)):
        labs = known.labs
    device = request.device or (known.device if known else "vgpu")
    named = read.seed if read and read.names_seed else None
    seeds = (request.seed, named, known.seed if known else None)
    seed = next((seed for seed in seeds if seed is not None), None)
    course = read.course.public_view() if read else known.course if known else {}
    source = Source.parse(request.source) if request.source else None
    title = read.course.title if read else ""
    is_proved = request.prove or (known is not None and known.is_proved)
    Options(device, prove=is_proved)  # before anything is taken in, what no unit could be graded with
    wanted = Wanted(labs, device, random_seed() if seed is None else seed, is_proved, title, course, source=source)
    taken = take_in(request.pile, wanted, roster, known)
    taken_in = taken.taken_in.model_copy(update={"kit": kit_for(taken.taken_in.labs, device)})
    return replace(taken, taken_in=taken_in)


def _student(known: "Class", student_id: str) -> "Student":
    return next(student for student in known.students() if student.id == student_id)


def _answer(request: Request, store: "Store", taken: "TakenIn") -> "tuple[TakenIn, tuple[str, ...]]":
    """Return the class with its questions answered, and the keys of what has become part of another submission."""
    from scanlab.classroom.answers import NAME, apply, read_answers

    path = request.answers or store.folder / NAME
    if request.answers is None and not path.exists():
        return taken, ()

    def kept(sha256: str) -> bytes:
        try:
            return taken.kept[sha256] if sha256 in taken.kept else store.kept(sha256).read_bytes()
        except OSError as error:
            raise errors.UsageError(f"{shown(store.kept(sha256))}: cannot read it: {error.strerror}") from error

    answered = apply(taken.taken_in, read_answers(path), kept)
    return replace(taken, taken_in=answered.taken_in, sources={**taken.sources, **answered.sources}), answered.gone


def _ask(store: "Store", taken_in: "Class") -> None:
    """Write the open questions into the results folder, beside those that are there."""
    from scanlab.classroom.answers import NAME, template
    from scanlab.classroom.store import write_atomically

    path = store.folder / NAME
    try:
        before = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise errors.UsageError(f"{shown(path)}: cannot read it as UTF-8 text; save it so, or remove it") from error
    text = template(taken_in, before, lambda sha256: store.kept(sha256).stat().st_size)
    if text != before:
        write_atomically(path, text)


def _apply_course(request: Request, taken: "TakenIn") -> "tuple[TakenIn, list[str]]":
    """Return the class with the students its course means, and with times; and remarks on both, a line each.

    Raises UsageError where a table of the course means no student, or several, where a table of times cannot be read,
    and where a grade depends on what is not decided yet.
    """
    from scanlab.classroom.times import time_lines, with_times
    from scanlab.course.matching import in_class
    from scanlab.course.model import Course
    from scanlab.course.read import read_course

    read = read_course(request.course) if request.course else None
    taken_in, unknown = in_class(taken.taken_in, read, has_roster=bool(taken.taken_in.students()))
    remarks = []
    if unknown:
        them = f"{len(unknown)} table{'' if len(unknown) == 1 else 's'} of the course"
        remarks.append(f"nobody in this export is called so, of {them}: {_listed(unknown)}; --roster CSV checks them")
    found = Course.of(taken_in.course)
    if request.times or found.last_due_of_all():
        taken_in, times = with_times(taken_in, found, request.pile, request.times)
        remarks += [*times.lines(), *time_lines(taken_in, found)]
    return replace(taken, taken_in=taken_in), remarks


def _require_same(known: "Class", now: "Class", request: Request, store: "Store") -> None:
    from scanlab.classroom.additions import differences
    from scanlab.classroom.answers import NAME

    lines = differences(known, now, has_all_labs=not request.labs)
    if lines:
        path = store.folder / NAME
        answers = f"with --answers {shown(path)}, " if path.exists() else ""
        listed = "".join(f"\n  {line}" for line in lines[:MOST_LISTED])
        more = f"\n  and {len(lines) - MOST_LISTED} more" if len(lines) > MOST_LISTED else ""
        raise errors.UsageError(
            f"this is not the class that was begun in {shown(request.out)}:{listed}{more}\n"
            "  give the same as then; or begin anew in another --out, with all piles of this class: the first one, then"
            f" each other one with --resume; {answers}and for the same data --seed with the seed of"
            f" {shown(store.class_file)}"
        )


def _require_nothing_new(added: "Added", request: Request) -> None:
    """Raise UsageError where some are graded again, and the pile has what the class has not."""
    if not request.resume and added.course:
        raise errors.UsageError(f"the course file is another ({_listed(added.course)}); --resume takes it over")
    if not request.resume and added.labs:
        raise errors.UsageError(f"this class has no {_listed(added.labs)}; add it with --resume")
    if not request.resume and (keys := [*added.new, *added.again, *added.found]):
        raise errors.UsageError(f"new in {shown(request.pile)}: {_listed(keys)}; take it in with --resume")


def _require_known(only: Sequence[str], taken_in: "Class") -> None:
    import difflib

    keys = [submission.key for submission in taken_in.submissions]
    for key in only:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            advice = f"; did you mean {near[0]}?" if near else ""
            raise errors.UsageError(f"--only {key}: no submission has that key{advice}")


# ---- what is printed -------------------------------------------------------------------------------------------------


def _complain(text: str) -> None:
    print(f"scanlab: {text}", file=sys.stderr, flush=True)


def _report_intake(store: "Store", taken: "TakenIn") -> None:
    """Print, before anything is graded, what was taken in, and what a person has to decide."""
    from scanlab.classroom.answers import NAME
    from scanlab.classroom.grading import units, units_of

    taken_in = taken.taken_in
    files = sum(len(units_of(taken_in, one)) for one in taken_in.submissions)
    numbers = " ".join(name[:2] for name in taken_in.labs)
    different = len(units(taken_in))
    same = f", {different} different" if different != files else ""
    count = _count(len(taken_in.submissions), "submission")
    print(f"{plain(taken_in.title)}: {count}, labs {numbers}, {files} files{same}")
    if taken.other_labs:
        print(f"  {_count(taken.other_labs, 'file')} of other labs: not graded")
    if taken.wrapper:
        print(
            f"  all lies in the folder {_shown(taken.wrapper)}, which is taken for the export's own;"
            " if it is a student's: --from folders"
        )
    if names := taken.other_names:
        advice = "" if taken_in.groups else "; a group's submission? --groups CSV"
        have = "have another name" if len(names) > 1 else "has another name"
        print(f"  {len(names)} {have} than the roster, and the number counts: {_listed(names)}{advice}")
    answers = shown(store.folder / NAME)
    if pending := taken_in.pending():
        print(f"  {len(pending)} pending: no grade until {answers} says what they are: {_listed([*pending])}")
    asked = {
        one.key
        for one in taken_in.submissions
        for question in one.questions
        if question.kind != "who" and not question.answer
    }
    if later := sorted(asked - pending.keys()):
        head = f"{_count(len(later), 'later hand-in')} beside a grade, which stands until {answers} says more"
        print(f"  {head}: {_listed(later)}")
    if claims := [one for one in taken_in.submissions if one.claims]:
        claimed = [f"{one.key} ({_shown(one.origin)}) may be {_listed([*one.claims])}" for one in claims]
        print(f"  {len(claims)} claimed: graded, and nobody's until {answers} says whose:")
        _lines([f"  {line}" for line in claimed])
    sys.stdout.flush()


def _report_added(store: "Store", known: "Class", added: "Added") -> None:
    """Print what a class that was begun before has got."""
    graded = sum(store.result(one.key).exists() for one in known.submissions if one.key not in added.again)
    more = f", {len(added.again)} handed in again" if added.again else ""
    print(f"  {graded} graded before, {len(added.new)} new{more}", flush=True)
    if added.found:
        print(f"  {len(added.found)} on the roster now, whose work was nobody's: {_listed(added.found)}", flush=True)
    if added.labs:
        print(f"  new in this class: {', '.join(added.labs)}", flush=True)
    if added.dropped:
        print(
            f"  {len(added.dropped)} on the roster no more, who keep what they have: {_listed(added.dropped)}",
            flush=True,
        )
    if added.course:
        print("  the course file has changed, and points are made anew from the same results:")
        _lines(added.course)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _command(request: Request) -> str:
    import shlex

    words = ["grader/scanlab", "grade", shown(request.pile), "--out", shown(request.out)]
    for lab in request.labs:
        words += ["--lab", lab]
    words += ["--roster", shown(request.roster)] if request.roster else []
    words += ["--course", shown(request.course)] if request.course else []
    for times in request.times:
        words += ["--times", times]
    words += ["--from", request.source] if request.source else []
    words += ["--groups", shown(request.groups)] if request.groups else []
    words += ["--answers", shown(request.answers)] if request.answers else []
    words += ["--executor", "slurm"] if request.slurm is not None else []
    for option in request.slurm or ():
        words += ["--slurm", option]
    return shlex.join([*words, "--resume"])


def _report_stopped(request: Request, store: "Store", taken_in: "Class") -> None:
    from scanlab.classroom.grading import units

    every = units(taken_in)
    done = sum(store.graded(unit).exists() for unit in every)
    _complain(f"{done} of {len(every)} files are graded and kept; to go on, type:\n  {_command(request)}")


def _report_end(store: "Store", taken_in: "Class", outcome: "Outcome") -> None:
    from scanlab.classroom.progress import duration
    from scanlab.course.attempts import not_accepted

    counts: Counter[str] = Counter()
    ungraded, beyond = [], []
    for submission in taken_in.submissions:
        if store.result(submission.key).exists():
            record = store.read_record(submission.key)
            counts[record.verdict] += 1
            attempts = [f"{lab.lab} {attempt}" for lab in record.labs for attempt in not_accepted(lab)]
            beyond += [f"{record.key} ({', '.join(attempts)})"] if attempts else []
        else:
            ungraded.append(submission.key)
    verdicts = ", ".join(
        f"{counts[name]} {name}"
        for name in ("pass", "fail", "timeout", "inconclusive", "pending", "error")
        if counts[name]
    )
    print(f"graded {_count(sum(counts.values()), 'submission')}: {verdicts or 'none'}")
    share = outcome.cpu_seconds / outcome.seconds if outcome.seconds else 0
    print(
        f"  {_count(outcome.graded, 'file')} in {duration(outcome.seconds)}, {duration(outcome.cpu_seconds)} of "
        f"processor time ({share:.1f} at a time); {outcome.kept} were graded before"
    )
    if ungraded:
        print(f"  not graded yet: {_listed(ungraded)}")
    _report_people(taken_in)
    if beyond:
        print(f"attempts that do not count, by the course's at_most ({len(beyond)}): {_listed(beyond)}")
    if outcome.errors:
        print(f"the kit failed to grade {_count(len(outcome.errors), 'file')}; --resume tries again:")
        _lines(
            [
                f"{unit.lab} {_first_of(taken_in, unit.sha256)}: {fault.splitlines()[0]}"
                for unit, fault in outcome.errors
            ]
        )
    where = shown(store.folder)
    print(f"results: {where}/results")
    print(f"  next: grader/scanlab report {where}\n        grader/scanlab export {where} --format csv")


def _first_of(taken_in: "Class", sha256: str) -> str:
    return next(one.key for one in taken_in.submissions if any(file.sha256 == sha256 for file in one.files))


def _report_people(taken_in: "Class") -> None:
    """Print what a person has to look at: what could not be taken, who is not known, who is missing."""
    from scanlab.classroom.not_taken import beside_work, without_work

    if without := without_work(taken_in):
        print(f"0 points, since nothing of it could be graded ({len(without)}):")
        _lines([line for lines in without.values() for line in lines])
    if beside := beside_work(taken_in):
        print(f"not taken as it was handed in ({len(beside)}):")
        _lines(beside)
    several = [
        f"{one.key} {lab} ({count} attempts)"
        for one in taken_in.submissions
        for lab, count in Counter(file.lab for file in one.files).items()
        if count > 1
    ]
    changed = [f"{one.key} {file.name}: {file.taken_as}" for one in taken_in.submissions for file in one.files]
    changed = [line for line in changed if not line.endswith(": ")]
    if changed:
        print(f"taken, though not as it should be ({len(changed)}):")
        _lines(changed)
    if several:
        print(f"handed in several times ({len(several)}; `attempts` in the results says which counts):")
        _lines(several)
    if taken_in.has_roster:
        unmatched = [
            f"{one.key} ({one.origin})" for one in taken_in.submissions if one.student is None and not one.claims
        ]
        if unmatched:
            print(f"not on the roster ({len(unmatched)}): {_listed(unmatched)}")
        if taken_in.missing:
            print(f"handed nothing in ({len(taken_in.missing)}): {_listed([one.id for one in taken_in.missing])}")
        if taken_in.claimed:
            waiting = _listed([one.id for one in taken_in.claimed])
            print(f"no grade until it is said which submission is theirs ({len(taken_in.claimed)}): {waiting}")
    if taken_in.ignored:
        print(f"belongs to nobody ({len(taken_in.ignored)}):")
        _lines([_problem(problem) for problem in taken_in.ignored])


def _shown(name: str) -> str:
    from scanlab.classroom.intake.items import printable

    return printable(name)


def _problem(problem: "Problem") -> str:
    return f"{problem.name}: {problem.reason}"


def _lines(lines: Sequence[str]) -> None:
    for line in lines[:MOST_LISTED]:
        print(f"  {plain(line, LONGEST_TEXT)}")
    if len(lines) > MOST_LISTED:
        print(f"  and {len(lines) - MOST_LISTED} more: see class.json")


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - MOST_LISTED} more" if len(words) > MOST_LISTED else ""
    return ", ".join(map(plain, words[:MOST_LISTED])) + more
