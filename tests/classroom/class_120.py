"""Grade a made-up class of 120 as five platforms export it (exports_120.py), and compare each grade with what is right.

    python class_120.py [--keep DIR] [PLATFORM …]

Prints a row for each person; exit code 0 when all are right.
"""

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "grader/python"), str(ROOT / "tests/classroom")]

from exports_120 import COURSE, EXCUSED, MARKER, NOTHING, PENDING, PILES, Pile  # noqa: E402


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return a CSV file's text."""
    sink = io.StringIO()
    csv.writer(sink).writerows(rows)
    return sink.getvalue()


def write(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files under a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def kit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, str(ROOT / "grader/python/launch.py"), *arguments]
    environment = {**os.environ, "SCANLAB_NO_SETUP": "1", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment, cwd=ROOT)


def grade(pile: Pile, folder: Path) -> list[str]:
    """Grade one pile, print its table, and return what is wrong."""
    from scanlab.classroom.store import Store

    (folder / "roster.csv").write_text(table(pile.roster), encoding="utf-8-sig")
    course = COURSE + "".join(pile.more)
    (folder / "course.toml").write_text(course.replace("MARKER", ""))
    out = folder / "results"
    options = ["--out", str(out), "--course", str(folder / "course.toml"), "--roster", str(folder / "roster.csv")]
    if pile.times:
        (folder / "times.csv").write_text(table([["id", "time"], *pile.times]))
        options += ["--times", str(folder / "times.csv")]
    if pile.groups:
        (folder / "groups.csv").write_text(table([["id", "group"], *pile.groups]))
        options += ["--groups", str(folder / "groups.csv")]
    wrong = []
    write(folder / "pile", pile.files)
    if pile.marked:
        run = kit("grade", str(folder / "pile"), *options)
        print(run.stderr, flush=True)
        if run.returncode != 2 or any(who not in run.stderr for who in pile.marked):
            wrong.append(f"{pile.name}: graded, though {pile.marked} are late by an unknown time")
        (folder / "course.toml").write_text(course.replace("MARKER", MARKER))
    runs = [kit("grade", str(folder / "pile"), *options)]
    if pile.extra:
        runs.append(kit("grade", str(write(folder / "later", pile.extra)), *options, "--resume"))
    for run in runs:
        print(run.stdout, run.stderr, sep="\n", flush=True)
        if run.returncode != 0 or "Traceback" in run.stderr:
            wrong.append(f"{pile.name}: grade ended with {run.returncode}")
    if not (out / "class.json").exists():
        return wrong
    store = Store(out)
    taken_in = store.read_class()
    records = {record.student.id: record for record in store.records() if record.student}
    missing = {student.id for student in taken_in.missing}
    exported = kit("export", str(out), "--format", "csv", "--out", str(folder / "grades.csv"))
    if exported.returncode:
        wrong.append(f"{pile.name}: export ended with {exported.returncode}: {exported.stderr.strip()[-300:]}")
    rows = list(csv.DictReader((folder / "grades.csv").open(newline=""))) if exported.returncode == 0 else []
    by_id = {row["student_id"]: row for row in rows}
    print(f"| {pile.name} | handed in | right | the record | the export |\n| --- | --- | --- | --- | --- |")
    for who, (right, what) in pile.right.items():
        record, row = records.get(who), by_id.get(who)
        got: object = NOTHING if who in missing else "no record"
        if record is not None:
            lab = record.labs[0]
            got = PENDING if lab.verdict == "pending" else lab.points
        sent: object = "no row"
        if row is not None:
            verdict = row.get("01_sequential verdict") or row["verdict"]
            points = row.get("01_sequential points") or row["points"]
            sent = {"excused": EXCUSED, "missing": NOTHING, "pending": PENDING}.get(verdict, points)
            sent = float(sent) if isinstance(sent, str) and sent not in (EXCUSED, PENDING) and sent else sent
        is_right = sent == right and (got == right or right == EXCUSED)
        if not is_right:
            wrong.append(f"{pile.name} {who} ({what}): right is {right}, the record has {got}, the export {sent}")
        print(f"| {who} | {what} | {right} | {got} | {sent} | {'' if is_right else 'WRONG'}")
    known = set(pile.right)
    strangers = [one.origin for one in taken_in.submissions if one.student is None]
    print(f"not on the roster: {strangers}; ignored: {[one.name for one in taken_in.ignored]}")
    wrong += [f"{pile.name}: {who} is on no roster and has a grade" for who in records if who not in known]
    return wrong


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("platforms", nargs="*", choices=[*PILES, []])
    parser.add_argument("--keep", type=Path, help="an empty folder for the piles and their results")
    asked = parser.parse_args()
    wrong: list[str] = []
    people = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in asked.platforms or PILES:
            folder = (asked.keep or Path(temporary)) / name
            folder.mkdir(parents=True)
            pile = PILES[name]()
            people += len(pile.right)
            wrong += grade(pile, folder)
    print("\n".join(wrong) or f"all {people} grades are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
