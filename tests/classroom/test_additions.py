"""Late hand-ins and more attempts are added to a class that is graded, and nothing of it changes."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from killing import contents, finished
from scanlab.classroom.additions import add, differences
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.take_in import Wanted, take_in
from scanlab.classroom.records import Class
from scanlab.classroom.store import Store

Scanlab = Callable[..., subprocess.CompletedProcess[str]]
LAB = "01_sequential"


def put(pile: Path, key: str, text: str) -> None:
    (pile / key).mkdir(parents=True, exist_ok=True)
    (pile / key / "scan_01.cu").write_text(f"// {text}\n")


def taken(pile: Path, known: Class | None = None, **wanted: object) -> Class:
    return take_in(pile, Wanted(**wanted), known=known).taken_in


def test_a_graded_class_takes_in_what_is_new(scanlab: Scanlab, tmp_path: Path) -> None:
    pile, out, roster = tmp_path / "pile", tmp_path / "out", tmp_path / "roster.csv"
    roster.write_text("id,name\n" + "".join(f"s000{n},Student {n}\n" for n in range(1, 5)))
    put(pile, "s0001", "PASSES")
    put(pile, "s0002", "FAILS")
    words = ("--out", out, "--roster", roster)
    assert scanlab("grade", pile, *words, "--seed", "9").returncode == 0
    before, stamps = contents(out), finished(out)

    late = tmp_path / "late"  # an export of what came since: it need not have the rest
    put(late, "s0002", "PASSES, at last")
    put(late, "s0003", "FAILS")
    refused = scanlab("grade", late, *words, "--only", "s0001")
    assert refused.returncode == 2
    assert "new in" in refused.stderr
    assert "s0003, s0002; take it in with --resume" in refused.stderr
    assert contents(out) == before

    done = scanlab("grade", late, "--out", out, "--resume")  # the seed, the labs and the roster are class.json's
    assert done.returncode == 0, done.stderr
    assert "1 graded before, 1 new, 1 handed in again" in done.stdout
    after = contents(out)
    kept = {name for name, data in before.items() if after.get(name) == data}
    assert before.keys() - kept == {"class.json", "results/s0002.json"}
    assert all(finished(out)[name] == stamp for name, stamp in stamps.items()), "graded twice"
    store = Store(out)
    taken_in = store.read_class()
    assert (taken_in.seed, taken_in.labs) == (9, (LAB,))
    assert [one.id for one in taken_in.missing] == ["s0004"]
    record = store.read_record("s0002")
    assert (record.verdict, record.labs[0].which_attempt) == ("pass", "attempt 2 of 2")
    assert record.student is not None
    assert [one.verdict for one in store.records()] == ["pass", "pass", "fail"]

    again = scanlab("grade", late, "--out", out, "--resume")
    assert "3 graded before, 0 new\n" in again.stdout
    assert contents(out) == after


def test_a_file_that_cannot_be_taken_costs_nothing_that_was_graded(scanlab: Scanlab, tmp_path: Path) -> None:
    pile, out = tmp_path / "pile", tmp_path / "out"
    put(pile, "s0001", "PASSES")
    scanlab("grade", pile, "--out", out)
    (pile / "s0001/scan_01.cu").write_bytes(b"\0binary")
    done = scanlab("grade", pile, "--out", out, "--resume")
    assert done.returncode == 0, done.stderr
    record = json.loads((out / "results/s0001.json").read_text())
    assert record["verdict"] == "pass"
    assert "binary" in record["problems"][0]["reason"]


def test_what_is_graded_otherwise_is_no_addition(tmp_path: Path) -> None:
    put(tmp_path / "pile", "s0001", "one")
    known = taken(tmp_path / "pile")
    put(tmp_path / "pile", "s0001", "two")
    now = taken(tmp_path / "pile", seed=8, kit={"judge": "x"}, device="gpu")
    assert differences(known, now) == [
        "the device: vgpu then, gpu now", "the seed is another", "the kit: judge is another"
    ]  # fmt: skip


def test_a_class_that_is_proved_stays_so(scanlab: Scanlab, tmp_path: Path) -> None:
    pile, out = tmp_path / "pile", tmp_path / "out"
    put(pile, "s0001", "PASSES")
    refused = scanlab("grade", pile, "--out", out, "--prove", "--device", "gpu")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--prove and --trail are for the virtual GPU" in refused.stderr
    assert not (out / "class.json").exists()

    assert scanlab("grade", pile, "--out", out).returncode == 0
    plain = Store(out).read_class()
    refused = scanlab("grade", pile, "--out", out, "--resume", "--prove")  # some would be explored, others not
    assert refused.returncode == 2
    assert "--prove: false then, true now" in refused.stderr
    assert Store(out).read_class() == plain

    other = tmp_path / "other"
    assert scanlab("grade", pile, "--out", other, "--prove").returncode == 0
    put(pile, "s0002", "FAILS")
    assert scanlab("grade", pile, "--out", other, "--resume").returncode == 0
    assert Store(other).read_class().is_proved
    assert len(list(Store(other).records())) == 2


def with_roster(tmp_path: Path, rows: str, known: Class | None = None) -> Class:
    (tmp_path / "roster.csv").write_text(f"id,name,login\n{rows}")
    return take_in(tmp_path / "pile", Wanted(), read_roster(tmp_path / "roster.csv"), known).taken_in


def test_a_roster_that_gives_work_to_another_student_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "pile", "one", "text")
    known = with_roster(tmp_path, "s0001,Student 1,one\n")
    now = with_roster(tmp_path, "s0002,Student 2,one\n", known)
    assert differences(known, now)[-1] == "the roster: one is s0001 then, s0002 now"
    assert differences(known, with_roster(tmp_path, "s0002,Student 2,two\n", known)) == [
        "the roster: 1 of 1 students are on it no more"
    ]


def test_who_has_left_the_course_keeps_what_they_have_and_stops_nobody(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        put(tmp_path / "pile", name, name)
    everyone = "".join(f"s000{at},Student {at},{name}\n" for at, name in enumerate(("one", "two", "three"), 1))
    known = with_roster(tmp_path, everyone)
    put(tmp_path / "pile", "two", "more")
    now = with_roster(tmp_path, everyone.replace("s0002,Student 2,two\n", ""), known)
    assert differences(known, now) == []
    added = add(known, now)
    assert added.dropped == ("s0002",)
    left = next(one for one in added.taken_in.submissions if one.key == "s0002")
    assert left.student
    assert left.student.id == "s0002"
    assert not left.questions
    assert differences(known, with_roster(tmp_path, "s0009,Student 9,nine\n", known)) == [
        "the roster: 3 of 3 students are on it no more"
    ]


def test_work_that_was_nobodys_is_a_students_who_is_on_the_roster_now(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        put(tmp_path / "pile", name, name)
    known = with_roster(tmp_path, "s0001,Student 1,one\n")
    assert {one.key for one in known.submissions if not one.student} == {"two", "three"}
    now = with_roster(tmp_path, "s0001,Student 1,one\ns0002,Student 2,two\n", known)
    assert differences(known, now) == []
    added = add(known, now)
    assert (added.new, added.again, added.found) == ((), (), ("two",))
    assert added.taken_in.missing == ()
    before, after = ({one.key: one for one in got.submissions} for got in (known, added.taken_in))
    assert after["two"].student
    assert (after["two"].student.id, after["two"].questions) == ("s0002", ())
    assert after["two"].files == before["two"].files
    assert (after["s0001"], after["three"]) == (before["s0001"], before["three"])
    # A student who has a grade keeps it: other work that may be theirs is a claim, as it is in one run.
    again = with_roster(tmp_path, "s0001,two,one\n", known)
    assert differences(known, again) == []
    assert add(known, again).found == ()


def test_a_claim_stays_one_in_a_pile_without_the_other_claimant(tmp_path: Path) -> None:
    for name in ("one", "s0001", "s0002"):
        put(tmp_path / "pile", name, name)
    rows = "s0001,Student 1,one\ns0002,Student 2,two\n"
    known = with_roster(tmp_path, rows)
    assert [one.key for one in known.submissions if one.claims] == ["one", "s0001"]
    (tmp_path / "pile/one/scan_01.cu").unlink()
    (tmp_path / "pile/one").rmdir()
    now = with_roster(tmp_path, rows, known)
    assert differences(known, now) == ["the roster: s0001 is nobody then, s0001 now"]
    assert add(known, now).taken_in.submissions == known.submissions


COURSE = """title = "Scans"
timezone = "Europe/Berlin"
seed = 9
[late]
percent = 10
[[lab]]
name = "01"
due = 2026-03-01T23:59:00
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("percent = 10", "percent = 20", "late percent: 10 then, 20 now"),
        ("percent = 10", "points = 5", "late percent: 10 then, none now"),
        ("2026-03-01T23:59", "2026-03-02T12:00", "due: 2026-03-01T23:59:00+01:00 then, 2026-03-02T12:00:00+01:00 now"),
        ("", '[[student]]\nid = "s0001"\n[[student.extension]]\nhours = 24\n', "new extension for s0001"),
        ("", '[[student]]\nid = "s0001"\nexcused = ["01"]\n', "s0001, excused: none then, 01 now"),
        ("", '[attempts]\ncount = "best"\n', "attempts count: last then, best now"),
    ],
)
def test_a_course_that_changes_points_alone_is_taken_over(
    old: str, new: str, said: str, scanlab: Scanlab, tmp_path: Path
) -> None:
    pile, out, course, times = (tmp_path / name for name in ("pile", "out", "course.toml", "times.csv"))
    put(pile, "s0001", "PASSES")
    put(pile, "s0002", "PASSES, too")
    times.write_text("id,time\ns0001,2026-03-02T10:00+01:00\ns0002,2026-03-02T10:00+01:00\n")
    course.write_text(COURSE)
    words = ("grade", pile, "--out", out, "--course", course)
    assert scanlab(*words, "--times", times).returncode == 0
    before, stamps = contents(out), finished(out)
    assert Store(out).read_record("s0001").labs[0].deductions
    course.write_text(COURSE.replace(old, new) if old else COURSE + new)
    refused = scanlab(*words, "--only", "s0001")
    assert refused.returncode == 2
    assert f"the course file is another ({said}" in refused.stderr
    assert contents(out) == before
    done = scanlab(*words, "--resume")
    assert done.returncode == 0, done.stderr
    assert f"\n  {said}\n" in done.stdout
    assert finished(out) == stamps, "graded again"
    other = tmp_path / "other"  # the same as if it had been so from the beginning
    assert scanlab("grade", pile, "--out", other, "--course", course, "--times", times).returncode == 0
    for name in ("s0001", "s0002"):
        assert Store(out).read_record(name) == Store(other).read_record(name)
    after = contents(out)
    again = scanlab(*words, "--resume")
    assert "the course file has changed" not in again.stdout
    assert contents(out) == after


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"Scans"', '"Other scans"', "the course file: title: Scans then, Other scans now"),
        ("due = ", "seconds = 9\ndue = ", "the course file: 01: its checks or limits are others"),
        ("seed = 9", "seed = 10", "the course file: seed: 9 then, 10 now"),
        ("seed = 9", "", "the course file: a secret seed: false then, true now"),
        ('name = "01"', 'name = "02"', "the labs: 01_sequential then, 02_kogge_stone now"),
    ],
)
def test_a_course_that_changes_results_is_refused_with_the_way_on(
    old: str, new: str, said: str, scanlab: Scanlab, tmp_path: Path
) -> None:
    pile, out, course = (tmp_path / name for name in ("pile", "out", "course.toml"))
    put(pile, "s0001", "PASSES")
    course.write_text(COURSE)
    words = ("grade", pile, "--out", out, "--course", course, "--times", "archive")
    assert scanlab(*words).returncode == 0
    (out / "answers.toml").write_text("")
    before = contents(out)
    course.write_text(COURSE.replace(old, new))
    refused = scanlab(*words, "--resume")
    assert refused.returncode == 2
    assert said in refused.stderr
    for way in ("another --out", "all piles", "--answers", "answers.toml", "--seed", "class.json"):
        assert way in refused.stderr.splitlines()[-1]
    assert contents(out) == before


def test_a_class_has_a_pile_for_each_lab(scanlab: Scanlab, tmp_path: Path) -> None:
    """A platform with an assignment for each lab: `scan.cu` is in both piles, and both are one class in the end."""
    first, second, out, roster = (tmp_path / name for name in ("first", "second", "out", "roster.csv"))
    roster.write_text("id,name\n" + "".join(f"s000{n},Student {n}\n" for n in range(1, 5)))
    for pile, words in (
        (first, {"s0001": "PASSES", "s0002": "FAILS"}),
        (second, {"s0002": "PASSES", "s0003": "FAILS"}),
    ):
        for who, text in words.items():
            (pile / who).mkdir(parents=True)
            (pile / who / "scan.cu").write_text(f"// {text}\n")
    words = ("--out", out, "--roster", roster)
    assert scanlab("grade", first, *words, "--lab", "01", "--seed", "9").returncode == 0
    stamps = finished(out)
    done = scanlab("grade", second, "--out", out, "--lab", "02", "--resume")
    assert done.returncode == 0, done.stderr
    assert "new in this class: 02_kogge_stone" in done.stdout
    assert all(finished(out)[name] == stamp for name, stamp in stamps.items()), "graded twice"
    store = Store(out)
    assert store.read_class().labs == ("01_sequential", "02_kogge_stone")
    got = {record.key: {lab.lab[:2]: lab.points for lab in record.labs if lab.sha256} for record in store.records()}
    assert {who: sorted(labs) for who, labs in got.items()} == {
        "s0001": ["01"],
        "s0002": ["01", "02"],
        "s0003": ["02"],
    }
    assert got["s0002"]["01"] < got["s0002"]["02"]
    assert [one.id for one in store.read_class().missing] == ["s0004"]
    after = contents(out)
    for pile, lab in ((first, "01"), (second, "02")):  # each of them again
        assert scanlab("grade", pile, "--out", out, "--lab", lab, "--resume").returncode == 0
        assert contents(out) == after
    both = tmp_path / "both"  # the other way around
    assert scanlab("grade", second, "--out", both, "--roster", roster, "--lab", "02", "--seed", "9").returncode == 0
    assert scanlab("grade", first, "--out", both, "--lab", "01", "--resume").returncode == 0
    assert [Store(both).read_record(key) for key in got] == [store.read_record(key) for key in got]


@pytest.mark.parametrize(
    ("then", "now", "attempts"),
    [
        ("A", "A", "A"),
        ("A", "B", "AB"),  # the export has the newest only
        ("A", "AB", "AB"),
        ("AB", "B", "AB"),
        ("AB", "ABA", "ABA"),
        ("AB", "C", "ABC"),
        ("", "A", "A"),
    ],
)
def test_attempts_are_added_behind_those_that_are_known(tmp_path: Path, then: str, now: str, attempts: str) -> None:
    def pile(texts: str, known: Class | None = None) -> Class:
        folder = tmp_path / f"pile-{texts}"
        folder.mkdir(exist_ok=True)
        (folder / "other_12_800_scan_01.cu").write_text("text")
        for number, text in enumerate(texts):
            (folder / f"one_11_{900 + number}_scan_01.cu").write_text(text)
        return taken(folder, known)

    known = pile(then)
    added = add(known, pile(now, known))
    (one,) = (one for one in added.taken_in.submissions if one.key != "other-12")
    names = {hashlib.sha256(text.encode()).hexdigest(): text for text in "ABC"}
    assert "".join(names[file.sha256] for file in one.files) == attempts
    assert bool(added.new) == (not then)
    assert bool(added.again) == (bool(then) and then != attempts)
    assert (added.taken_in.submissions == known.submissions) == (then == attempts)
