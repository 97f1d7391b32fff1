"""Put files into a pile, and take it in: helpers of the tests of intake."""

from pathlib import Path

from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.take_in import TakenIn, Wanted, take_in
from scanlab.classroom.records import Submission

LABS = ("01_sequential", "02_kogge_stone")
TEXT, NEWER = b"// one\n", b"// two\n"


def put(path: Path, data: bytes = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def taken(pile: Path, *labs: str, roster: str = "") -> TakenIn:
    known = None
    if roster:
        known = read_roster(put(pile.parent / "roster.csv", roster.encode()))
    return take_in(pile, Wanted(labs=labs), known)


def by_key(pile: Path, *labs: str, roster: str = "") -> dict[str, Submission]:
    return {one.key: one for one in taken(pile, *labs, roster=roster).taken_in.submissions}


def reasons(one: Submission) -> str:
    return "\n".join(f"{problem.name}: {problem.reason}" for problem in one.problems)
