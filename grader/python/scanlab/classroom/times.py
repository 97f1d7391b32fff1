"""When each file was handed in, where the export itself does not say: from tables, the roster, git, or an archive.

Of several sources the first one counts that knows: `--times FILE.csv`, the export's own metadata, the roster's columns,
git's commits, and archives where that is asked for. A commit's time is what its author's clock said: it can be forged.
"""

import hashlib
import os
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from scanlab.classroom.dates import DateError, order_of, read_time
from scanlab.classroom.intake.items import composed, printable
from scanlab.classroom.intake.roster import read_csv
from scanlab.classroom.intake.whose import SHARED
from scanlab.classroom.records import Class, HandedIn, Submission
from scanlab.course.matching import Found, Match
from scanlab.course.model import Course
from scanlab.errors import UsageError
from scanlab.labs.folders import find_lab
from scanlab.paths import shown
from scanlab.people import IDENTIFYING, letters, lost_number
from scanlab.scratch import scratch

TIME_COLUMNS = frozenset(
    (
        "time",
        "timestamp",
        "submittedat",
        "submissiontime",
        "submissiontimestamp",
        "submissiondate",
        "handedinat",
        "abgabezeit",
        "abgabezeitpunkt",
        "lastmodifiedsubmission",
        "zuletztgeandertabgabe",
        "dernieremodificationtravailremis",
        "dernieremodificationremise",
        "ultimamodificacionentrega",
        "ultimamodificaconsegna",
        "ultimamodificacaoenvio",
        "ultimamodificacaosubmissao",
        "sualancuoibainop",
        "chinhsualancuoibainop",
    )
)
"""Columns with the time of submission, by their `letters`: Moodle's worksheet in several languages, GitHub Classroom's
and Gradescope's tables, and plain ones."""
WHO_COLUMNS = frozenset((*IDENTIFYING, "who", "student", "name", "fullname"))
LAB_COLUMNS = frozenset(("lab", "assignment"))
NOTHING = ("", "-", "–", "—", "never", "nie")
EXAMPLE = "identifier,time,lab"
GIT_TIMEOUT = 20.0
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MOST_LISTED = 10
ARCHIVE = "archive"
"""What `--times` says for the times that archives and folders have of their files."""

Sure = Callable[[Submission, HandedIn], datetime | None]


@dataclass
class TimeNotes:
    """What a person should know of the times."""

    sources: Counter[str] = field(default_factory=Counter)
    """How many files have their time from where."""
    remarks: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return what to print, a line each."""
        counted = [f"{count} from {source}" for source, count in self.sources.most_common()]
        return ([f"times of submission: {', '.join(counted)}"] if counted else []) + self.remarks


def with_times(taken_in: Class, course: Course, pile: Path, wanted: Sequence[str]) -> tuple[Class, TimeNotes]:
    """Return a class with the times that can be known, and what to say of them.

    `wanted` is what `--times` says: CSV files, `archive`, or both. Of several attempts at a lab only the newest gets a
    time that its export does not give: nothing says when the others came.

    Raises UsageError, with file and line, for a table that cannot be read, or names several people at once.
    """
    notes = TimeNotes()
    tables = [Path(one) for one in wanted if one != ARCHIVE]
    ways: list[tuple[str, bool, Sure]] = [
        (shown(path), True, _from_table(path, taken_in, course.zone, notes)) for path in tables
    ]
    ways.append(("the roster's columns", False, _from_roster(taken_in, course.zone, notes)))
    ways.append(("the member who handed in", False, _from_members(taken_in, tuple(ways))))
    if pile.is_dir():
        ways.append(("commits, whose time is their author's clock's", False, _from_git(pile)))
    if ARCHIVE in wanted:
        ways.append(("the files' own times", False, _from_files(pile, course.zone)))
    submissions = tuple(_timed(one, ways, notes) for one in taken_in.submissions)
    return taken_in.model_copy(update={"submissions": submissions}), notes


def _timed(submission: Submission, ways: Iterable[tuple[str, bool, Sure]], notes: TimeNotes) -> Submission:
    newest = {file.lab: at for at, file in enumerate(submission.files)}
    files = list(submission.files)
    used: list[str] = []
    for at in newest.values():
        file = files[at]
        of_export = file.submitted_at or submission.submitted_at
        for source, is_first, when in ways:
            if (of_export is None or is_first) and (moment := when(submission, file)):
                files[at] = file.model_copy(update={"submitted_at": moment.isoformat()})
                used.append(source)
                break
        else:
            before = submission.metadata.get("time_from")
            notes.sources["an earlier run" if before else "the export"] += of_export is not None
    notes.sources += Counter(used)
    notes.sources += Counter()  # drops the sources whose count is 0
    if not used:
        return submission
    times = [file.submitted_at for file in files if file.submitted_at]
    latest = max(times, key=datetime.fromisoformat)
    has_attempts = len(newest) < len(files)  # then an older one must not get the newest one's time
    metadata = {**submission.metadata, "time_from": ", ".join(dict.fromkeys(used))}
    at = submission.submitted_at if has_attempts else latest
    return submission.model_copy(update={"files": tuple(files), "submitted_at": at, "metadata": metadata})


# ---- tables ----------------------------------------------------------------------------------------------------------


def _from_table(path: Path, taken_in: Class, zone: str, notes: TimeNotes) -> Sure:
    rows = read_csv(path)
    at, header = next(((line, row) for line, row in rows if any(row)), (1, []))
    places = {letters(name): i for i, name in reversed([*enumerate(header)])}
    who, time, lab = (
        next((places[name] for name in places if name in known), None)
        for known in (WHO_COLUMNS, TIME_COLUMNS, LAB_COLUMNS)
    )
    if who is None or time is None:
        listed = printable(", ".join(header))
        raise UsageError(f"{shown(path)}:{at}: no column says who, or when (there are: {listed}); such as {EXAMPLE}")
    match = Match(taken_in.students(), taken_in.submissions)
    body = [(line, [*row, *[""] * len(header)]) for line, row in rows if line > at and any(map(str.strip, row))]
    order = order_of(row[time] for _, row in body)
    known: dict[tuple[Found, str], datetime] = {}
    strangers: list[str] = []
    for line, row in body:
        if row[time].strip() in NOTHING:
            continue
        try:
            moment = read_time(row[time], zone, order)
        except DateError as error:
            raise UsageError(f"{shown(path)}:{line}: {printable(row[time])!r} {error}") from error
        found, why = (None, lost) if (lost := lost_number(row[who])) else match.whom(row[who])
        if why:
            raise UsageError(f"{shown(path)}:{line}: {why}")
        if not found:
            strangers.append(f"{printable(row[who])} (line {line})")
            continue
        name = row[lab].strip() if lab is not None else ""
        key = (found, _lab(name, path, line) if name else "")
        known[key] = max(moment, known.get(key, moment))
    if strangers:
        notes.remarks.append(f"{shown(path)} names {len(strangers)} who are not in this class: {_listed(strangers)}")

    def when(submission: Submission, file: HandedIn) -> datetime | None:
        student = submission.student
        found: Found = ("student", student.id) if student else ("submission", submission.key)
        return known.get((found, file.lab), known.get((found, "")))

    return when


def _lab(name: str, path: Path, line: int) -> str:
    try:
        return find_lab(name).name
    except UsageError as error:
        raise UsageError(f"{shown(path)}:{line}: {error}") from error


def _from_roster(taken_in: Class, zone: str, notes: TimeNotes) -> Sure:
    columns: dict[str, list[str]] = {}
    for student in taken_in.students():
        for name, cell in student.columns.items():
            if letters(name) in TIME_COLUMNS:
                columns.setdefault(name, []).append(cell)
    orders = {name: order_of(cells) for name, cells in columns.items()}
    times: dict[str, datetime] = {}
    unreadable: list[str] = []
    for one in taken_in.submissions:
        for name, order in orders.items():
            cell = one.student.columns.get(name, "").strip() if one.student else ""
            if one.student and cell not in NOTHING:
                try:
                    times.setdefault(one.student.id, read_time(cell, zone, order))
                except DateError as error:
                    unreadable.append(f"{one.key}: {printable(cell)!r} {error}")
    if unreadable:
        notes.remarks.append(f"of the roster's times {len(unreadable)} cannot be read: {_listed(unreadable)}")
    return lambda submission, _: times.get(submission.student.id) if submission.student else None


def _from_members(taken_in: Class, ways: Sequence[tuple[str, bool, Sure]]) -> Sure:
    """Return a way to the time of a group's file: that of who handed it in, else the latest of any other member."""
    of_owner: dict[str, list[Submission]] = {}
    for one in taken_in.submissions if any(one.group for one in taken_in.submissions) else ():
        for owner in one.owners:
            of_owner.setdefault(owner.removeprefix(SHARED), []).append(one)

    def when(submission: Submission, file: HandedIn) -> datetime | None:
        theirs: list[datetime] = []
        for owner in (owner.removeprefix(SHARED) for owner in submission.owners if submission.group):
            for other, same in ((one, same) for one in of_owner[owner] for same in one.files if _is_same(same, file)):
                earlier = datetime.fromisoformat(same.submitted_at) if same.submitted_at else None
                moment_of_other = next((moment for _, _, way in ways if (moment := way(other, same))), earlier)
                if moment_of_other and owner in other.owners:
                    return moment_of_other
                theirs += [moment_of_other] if moment_of_other else []
        return max(theirs, default=None)

    return when


def _is_same(one: HandedIn, other: HandedIn) -> bool:
    return (one.lab, one.sha256, one.origin) == (other.lab, other.sha256, other.origin)


# ---- git -------------------------------------------------------------------------------------------------------------


def _from_git(pile: Path) -> Sure:
    repositories: dict[str, Path] = {}
    for folder in (folder for place in (pile, *_folders(pile)) for folder in _inside(place)):
        with suppress(OSError):
            if _is_folder(folder) and _is_folder(folder / ".git"):
                repositories.setdefault(printable(composed(folder.name)), folder / ".git")

    def when(submission: Submission, file: HandedIn) -> datetime | None:
        repository = repositories.get(submission.origin)
        return commit_time(repository, file.name) if repository else None

    return when


def _inside(place: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(place.iterdir())
    return []


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _folders(pile: Path) -> Iterator[Path]:
    """Yield the folder in which all submissions lie, where there is one around them."""
    inside = [Path(entry) for entry in os.scandir(pile) if entry.is_dir(follow_symlinks=False)]
    if len(inside) == 1:
        yield inside[0]


def commit_time(repository: Path, name: str) -> datetime | None:
    """Return when the last commit of HEAD that changed a file was made; None where git does not say.

    Whoever made the repository decides nothing but its objects: its settings and hooks are not read.
    """
    commit = _head(repository)
    if commit is None:
        return None
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1"}
    objects = str((repository / "objects").absolute()).replace("\\", "\\\\").replace('"', '\\"')
    environment |= {"GIT_LITERAL_PATHSPECS": "1", "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}
    with scratch() as folder:
        git = ["git", "--no-pager", f"--git-dir={folder}/own"]
        ask = ["log", "-1", "--format=%cI", "--no-ext-diff", "--no-textconv", "--no-show-signature", commit, "--", name]
        try:
            for command in (["init", "--quiet", "--bare", "--template="], ask):
                done = subprocess.run(
                    [*git, *command],
                    env=environment,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=GIT_TIMEOUT,
                )
                if done.returncode != 0:
                    return None
            return datetime.fromisoformat(done.stdout.decode().strip())
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return None


def _head(repository: Path) -> str | None:
    """Return HEAD's commit, read without git."""
    text = _line(repository / "HEAD")
    if text.startswith("ref: refs/") and ".." not in text:
        name = text.removeprefix("ref: ")
        text = _line(repository / name) or _packed(repository / "packed-refs", name)
    return text if COMMIT.fullmatch(text) else None


def _line(path: Path) -> str:
    return _text(path, 4096).strip()


def _packed(path: Path, name: str) -> str:
    lines = (line.partition(" ") for line in _text(path, 1 << 22).splitlines())
    return next((commit for commit, _, ref in lines if ref == name), "")


def _text(path: Path, most: int) -> str:
    """Return the beginning of a plain file; empty for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(most).decode("utf-8", errors="replace")
    except OSError:
        return ""


# ---- archives --------------------------------------------------------------------------------------------------------


def _from_files(pile: Path, zone: str) -> Sure:
    """Return a way to the times that the pile has of files and students' archives; those inside never count."""
    from scanlab.classroom.intake.take_in import pile_items

    is_zip = pile.is_file() and zipfile.is_zipfile(pile)
    known: dict[str, list[tuple[str, float]]] = {}
    for item in pile_items(pile):
        if item.data is not None and item.packed is not None:
            path = printable("/".join(item.parts))
            known.setdefault(hashlib.sha256(item.data).hexdigest(), []).append((path, item.packed))

    def when(submission: Submission, file: HandedIn) -> datetime | None:
        same = [one for one in known.get(file.sha256, ()) if one[0].endswith(file.name)]
        theirs = [one for one in same if submission.origin in one[0]] or same
        if len({packed for _, packed in theirs}) != 1:
            return None
        moment = datetime.fromtimestamp(theirs[0][1], UTC)
        # A zip archive has the time of the clock on the wall where it was made.
        return moment.replace(tzinfo=ZoneInfo(zone)) if is_zip and zone else moment

    return when


# ---- what is missing -------------------------------------------------------------------------------------------------


def without_time(taken_in: Class, course: Course) -> list[str]:
    """Return the keys of those who have handed in a lab with a due date, and nothing says when."""
    return [one.key for one in taken_in.submissions if any(_is_open(course, one, file) for file in _newest(one))]


def _newest(submission: Submission) -> Iterable[HandedIn]:
    return {file.lab: file for file in submission.files}.values()


def _is_open(course: Course, submission: Submission, file: HandedIn) -> bool:
    return (
        course.due(file.lab, submission) is not None
        and not course.excused(file.lab, submission)
        and not (file.submitted_at or submission.submitted_at)
    )


def is_marked_late(submission: Submission | Mapping[str, str]) -> bool:
    """Return whether the platform has marked a submission as late, and does not say by how much."""
    metadata = submission.metadata if isinstance(submission, Submission) else submission
    return metadata.get("late") == "yes"


def time_lines(taken_in: Class, course: Course) -> list[str]:
    """Return what to say of submissions without a time, a line each; none where no lab is ever due.

    Raises UsageError where some are marked late, so that their grade depends on what is not decided yet.
    """
    lines = []
    open_keys = without_time(taken_in, course)
    marked = [one.key for one in taken_in.submissions if is_marked_late(one)]
    undecided = [
        one.key
        for one in taken_in.submissions
        if is_marked_late(one)
        for file in _newest(one)
        if _is_open(course, one, file)
        and (lab := course.find(file.lab))
        and lab.late
        and not lab.late.late_marker
        and not course.is_extended(file.lab, one)
    ]
    if undecided:
        raise UsageError(
            f"marked LATE, and nothing says by how much ({len({*undecided})}): {_listed([*dict.fromkeys(undecided)])}\n"
            '  decide: in course.toml [late] late_marker = "one_unit", "in_time" or "no_points"; '
            "or give their times with --times FILE.csv"
        )
    if marked:
        lines.append(f"marked LATE by the platform ({len(marked)}): {_listed(marked)}")
    if open_keys:
        lines.append(
            f"no time of submission, so that nobody knows whether it is late ({len(open_keys)} of "
            f"{len(taken_in.submissions)}): {_listed(open_keys)}; --times FILE.csv gives them ({EXAMPLE})"
        )
    return lines


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - MOST_LISTED} more" if len(words) > MOST_LISTED else ""
    return ", ".join(words[:MOST_LISTED]) + more
