"""What five platforms export of a made-up class of 120, and what is right, for class_120.py.

24 people each in Canvas, Moodle, Gradescope, GitHub Classroom and a plain pile: groups, late work with all kinds of
times, extensions by every identifier, resubmissions, names in several scripts, and 30 oddities. What is right is
written beside each case, by hand, and none of it comes from the kit: lab 01 is worth 100 points, its solution gets 100,
`LOOKS_BACK` 95 (the rubric's 5 points for data that stays on the device), the skeleton 0, and a day late costs 10.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/classroom")]

from made_up import tarred, zipped  # noqa: E402

RIGHT = (ROOT / "solutions/01_sequential/scan.cu").read_bytes()
SKELETON = (ROOT / "labs/01_sequential/scan.cu").read_bytes()
RIGHT_02 = (ROOT / "solutions/02_kogge_stone/scan.cu").read_bytes()
LOOKS_BACK = b"""#include "scanlab.cuh"

__global__ void scan(const Element* d_x, Element* d_y, int n, int moved) {
  Element sum = moved ? identity() : d_x[0];
  d_y[0] = sum;
  for (int i = 1; i < n; ++i) d_y[i] = sum = sum + d_x[i - moved];
}

void run(const Element* d_x, Element* d_y, int n, int moved) {
  if (n == 0) return;
  scan<<<1, 1>>>(d_x, d_y, n, moved);
  Element last;
  cudaMemcpy(&last, d_y + n - 1, sizeof last, cudaMemcpyDeviceToHost);
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  run(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  run(d_x, d_y, n, 1);
}
"""
PENDING, NOTHING, EXCUSED = "pending", 0, "excused"
"""No grade until a person has decided; nothing handed in, or nothing that counts; left out."""

DUE = "2026-10-05T23:59:00+02:00"
IN_TIME, ONE_DAY, TWO_DAYS, FOUR_DAYS = (f"2026-10-{day:02} 14:00:00" for day in (5, 6, 7, 9))
COURSE = f"""\
title = "A class of 120"
timezone = "Europe/Berlin"
secret_seed = "a text that nobody of this class knows"

[late]
percent = 10
per = "day"
of = "maximum"
cut_off_hours = 72
MARKER
[[lab]]
name = "01"
due = {DUE}
"""
MARKER = 'late_marker = "one_unit"\n'
"""What a course decides of work that is marked as late, and nothing says by how much."""


def student_table(who: str, what: str) -> str:
    """Return a [[student]] table."""
    return f'\n[[student]]\nid = "{who}"\n{what}\n'


def extension(hours: int) -> str:
    """Return an extension of all labs."""
    return f"[[student.extension]]\nhours = {hours}"


@dataclass
class Pile:
    """One platform's export, and what is right."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    roster: list[list[str]] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    """Tables of course.toml."""
    times: list[list[str]] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    right: dict[str, tuple[object, str]] = field(default_factory=dict)
    """By the roster's id: what lab 01 is worth, and what was handed in."""
    extra: dict[str, bytes] = field(default_factory=dict)
    """What comes later, with --resume."""
    marked: list[str] = field(default_factory=list)
    """Who is late by an unknown time: nothing may be graded until the course has decided."""

    def put(self, path: str, data: bytes) -> None:
        """Add a file of the export."""
        self.files[path] = data

    def is_right(self, who: str, points: object, what: str) -> None:
        """Say what is right."""
        self.right[who] = (points, what)


# ---- Canvas ----------------------------------------------------------------------------------------------------------


def canvas() -> Pile:
    """Flat names; the roster is the gradebook that Canvas exports."""
    pile = Pile("canvas")
    pile.roster = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Scan 01 (5501)"],
        ["    Points Possible", "", "", "", "", "100"],
    ]
    names = {16: "Nguyễn, Ánh Tuyết", 17: "Kim, Min", 18: "Kim, Min", 20: "O'Neil-Ødegård, Zoë"}

    def user(number: int) -> str:
        return str(91000 + number)

    def stem(number: int) -> str:
        name = names.get(number, f"Canvas{chr(96 + number)}, Person")
        return "".join(letter for letter in name.casefold() if letter.isalnum())

    def put(number: int, name: str, data: bytes, late: str = "", at: int = 0) -> None:
        pile.put(f"{stem(number)}_{late}{user(number)}_{770000 + 10 * number + at}_{name}", data)

    for number in range(1, 25):
        name = names.get(number, f"Canvas{chr(96 + number)}, Person")
        pile.roster.append([name, user(number), f"S{1000 + number}", f"c{number:02}@uni.example", "A", ""])

    def right(number: int, points: object, what: str) -> None:
        pile.is_right(user(number), points, what)

    def case(number: int, points: object, what: str, name: str, data: bytes, late: str = "", at: int = 0) -> None:
        put(number, name, data, late, at)
        right(number, points, what)

    case(1, 100, "in time", "scan_01.cu", RIGHT)
    case(2, 95, "in time, looks at its last sum on the host", "scan_01.cu", LOOKS_BACK)
    put(3, "scan_01.cu", RIGHT, "LATE_")
    pile.marked = [user(3)]
    right(3, 90, "LATE, and nothing says by how much: one day, the course says")
    put(4, "scan_01.cu", RIGHT, "LATE_")
    pile.times.append([user(4), ONE_DAY])
    right(4, 90, "LATE, and a table says: one day")
    put(5, "scan_01.cu", RIGHT, "LATE_")
    pile.times.append(["s1005", TWO_DAYS])
    pile.more.append(student_table("s1005", extension(48)))
    right(5, 100, "two days late, 48 hours more by the SIS id in small letters")
    put(6, "scan_01.cu", RIGHT, "LATE_")
    pile.times.append(["C06@UNI.EXAMPLE", TWO_DAYS])
    pile.more.append(student_table("C06@uni.example", extension(24)))
    right(6, 90, "two days late, 24 hours more by the login in capitals")
    put(7, "scan_01.cu", LOOKS_BACK, "LATE_")
    pile.times.append([user(7), ONE_DAY])
    pile.more.append(student_table(user(7), extension(24)))
    right(7, 95, "one day late, 24 hours more by Canvas's number")
    put(8, "scan_01.cu", SKELETON)
    case(8, 100, "handed in twice, the second time right", "scan_01-1.cu", RIGHT, at=1)
    case(9, 100, "a zip with a lab's folder", "work.zip", zipped({"01_sequential/scan.cu": RIGHT}))
    case(10, 100, "scan_01.cu.txt", "scan_01.cu.txt", RIGHT)
    case(11, 100, "UTF-16 with a mark", "scan_01.cu", RIGHT.decode().encode("utf-16"))
    put(12, "scan_01.cu", RIGHT.replace(b"// Computes", b"// J\xfcrgen: computes", 1))
    right(12, 100, "one byte of Latin-1 in a comment")
    case(13, 100, "scan_01.cpp", "scan_01.cpp", RIGHT)
    case(14, 100, "a zip in a zip", "work.zip", zipped({"inner.zip": zipped({"scan_01.cu": RIGHT})}))
    put(15, "scan_01.cu", RIGHT)
    case(15, PENDING, "two files that may be lab 01's", "01_sequential.cu", LOOKS_BACK, at=1)
    case(16, 100, "a Vietnamese name", "scan_01.cu", RIGHT)
    case(17, 100, "one of two Kim Min", "scan_01.cu", RIGHT)
    case(18, 95, "the other Kim Min", "scan_01.cu", LOOKS_BACK)
    put(19, "x_100_assignsubmission_file_scan_01.cu", RIGHT)
    right(19, 100, "a file that is called as Moodle calls participant 100's")
    put(20, f"{stem(1)}_91001_770010_scan_01.cu", LOOKS_BACK)
    right(20, 95, "a file that is called as Canvas calls another student's")
    right(21, NOTHING, "nothing")
    put(22, "scan_01.cu", SKELETON)
    pile.more.append(student_table("S1022", 'excused = ["01"]'))
    right(22, EXCUSED, "excused by the SIS id")
    pile.put(f"{stem(23)}_{user(23)}_text.html", b"<p>my scan</p>")
    right(23, NOTHING, "a text typed into Canvas")
    put(24, "scan_01.cu", b"\x7fELF\x02\x01\x01\0\0\0 no text")
    right(24, NOTHING, "a program that was compiled, called scan_01.cu")
    return pile


# ---- Moodle ----------------------------------------------------------------------------------------------------------


def moodle() -> Pile:
    """Folders of participants; the roster is the grading worksheet, which has the times, in German."""
    pile = Pile("moodle")
    head = "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed"
    pile.roster = [[*head.split(","), "Last modified (submission)", "Last modified (grade)", "Feedback comments"]]
    names = {9: "Ann B", 10: "Ann  B", 11: "Łukasz Żółć", 12: "李 小龙", 13: "Ann-Sophie Maier"}
    days = {2: (6, 14), 3: (7, 9), 4: (9, 23), 5: (7, 14), 6: (7, 14), 7: (6, 8)}

    def participant(number: int) -> int:
        return 40000 + number

    def name(number: int) -> str:
        return names.get(number, f"Moodle{chr(96 + number)} Person")

    def put(number: int, path: str, data: bytes) -> None:
        pile.put(f"{name(number)}_{participant(number)}_assignsubmission_file_/{path}", data)

    for number in range(1, 25):
        day, hour = days.get(number, (5, 21))
        time = f"Montag, {day}. Oktober 2026, {hour}:15" if number not in (21, 24) else "-"
        status = "Zur Bewertung abgegeben" if time != "-" else "Keine Abgabe"
        row = [f"Participant {participant(number)}", name(number), f"m{number:02}@uni.example", status]
        pile.roster.append([*row, "", "100,00", "Yes", time, "-", ""])

    def right(number: int, points: object, what: str) -> None:
        pile.is_right(str(participant(number)), points, what)

    def case(number: int, points: object, what: str, path: str, data: bytes) -> None:
        put(number, path, data)
        right(number, points, what)

    for number, points, what in (
        (1, 100, "in time"),
        (2, 90, "one day late by the worksheet"),
        (3, 80, "two days late by the worksheet"),
        (4, NOTHING, "four days late: beyond the cut-off"),
        (5, 100, "two days late, 48 hours more by the e-mail address in capitals"),
        (6, 100, "two days late, 48 hours more by the participant's number"),
        (7, 100, "one day late, 24 hours more by the whole `Participant 40007`"),
        (9, 100, "Ann B"),
        (11, 100, "a Polish name"),
        (12, 100, "a Chinese name"),
        (13, 100, "a name with a dash"),
    ):
        put(number, "scan_01.cu", RIGHT)
        right(number, points, what)
    pile.more += [
        student_table("M05@UNI.EXAMPLE", extension(48)),
        student_table("40006", extension(48)),
        student_table("participant 40007", extension(24)),
    ]
    case(8, 95, "a file that is called as participant 40001's", "x_40001_assignsubmission_file_scan_01.cu", LOOKS_BACK)
    case(10, 95, "Ann  B, with two blanks", "scan_01.cu", LOOKS_BACK)
    # Flat, as Moodle writes it where folders are not asked for.
    pile.put(f"{name(14)}_{participant(14)}_assignsubmission_file_scan_01.cu", RIGHT)
    right(14, 100, "flat")
    pile.put(f"{name(15)}_{participant(15)}_assignsubmission_file_x_100_assignsubmission_file_scan_01.cu", LOOKS_BACK)
    right(15, 95, "flat, and called as participant 100's")
    case(16, 100, "a tar with scan.cu", "work.tar.gz", tarred({"scan.cu": RIGHT}))
    case(17, 100, "scan (1).cu", "scan (1).cu", RIGHT)
    put(18, "scan_01.cu", b"\xef\xbb\xbf" + RIGHT.replace(b"\n", b"\r\n"))
    right(18, 100, "a mark at the beginning, and lines of Windows")
    put(19, "scan_01.cu", RIGHT)
    case(19, 100, "with macOS's twin", "__MACOSX/._scan_01.cu", b"\0\5\x16\7")
    case(20, NOTHING, "an empty file", "scan_01.cu", b"")
    right(21, NOTHING, "nothing")
    # A group: one hands in, all get it.
    put(22, "scan_01.cu", LOOKS_BACK)
    pile.groups += [[f"m{number}@uni.example", "Team Blue"] for number in (22, 23, 24)]
    for number in (22, 23, 24):
        right(number, 95, "of a group: one has handed in")
    return pile


# ---- Gradescope ------------------------------------------------------------------------------------------------------


def gradescope() -> Pile:
    """Folders by number, and a file that says whose they are and when they came."""
    pile = Pile("gradescope")
    pile.roster = [["Name", "SID", "Email"]]
    about = ["---"]

    def put(number: int, at: str, people: Sequence[int], files: dict[str, bytes], sid: bool = True) -> None:
        folder = f"submission_{300000 + number}"
        for name, data in files.items():
            pile.put(f"{folder}/{name}", data)
        lines = [f"{folder}:", "  :submitters:"]
        for one in people:
            lines += [f"  - :name: Grade {one}", f"    :sid: '{one:05}'" if sid else "    :sid: ''"]
            lines += [f"    :email: g{one:02}@uni.example"]
        about.extend([*lines, f"  :created_at: {at}.123456789 +02:00", "  :score: 0.0", "  :history: []"])

    for number in range(1, 25):
        pile.roster.append([f"Grade {number}", f"{number:05}", f"g{number:02}@uni.example"])

    def right(number: int, points: object, what: str) -> None:
        pile.is_right(f"{number:05}", points, what)

    def case(
        number: int,
        points: object,
        what: str,
        at: str,
        people: Sequence[int],
        files: dict[str, bytes],
        sid: bool = True,
    ) -> None:
        put(number, at, people, files, sid)
        right(number, points, what)

    one = {"scan.cu": RIGHT}
    case(1, 100, "in time, a student id with zeros", IN_TIME, [1], one)
    case(2, 90, "one day late", ONE_DAY, [2], one)
    put(3, TWO_DAYS, [3], one)
    pile.more.append(student_table("00003", extension(48)))
    right(3, 100, "two days late, 48 hours more by the SID")
    put(4, TWO_DAYS, [4], one)
    pile.more.append(student_table("G04@UNI.example", extension(24)))
    right(4, 90, "two days late, 24 hours more by the e-mail address")
    case(5, NOTHING, "four days late: beyond the cut-off", FOUR_DAYS, [5], one)
    put(6, IN_TIME, [6, 7, 8], {"scan.cu": LOOKS_BACK})
    for number in (6, 7, 8):
        right(number, 95, "a group of three")
    put(9, ONE_DAY, [9, 10], one)
    pile.more.append(student_table("g10@uni.example", extension(24)))
    right(9, 90, "a group of two, one day late")
    right(10, 100, "a group of two, one day late, and 24 hours more for this one")
    put(11, ONE_DAY, [11, 12], one)
    pile.more.append(student_table("00012", 'excused = ["01"]'))
    right(11, 90, "a group of two, one day late")
    right(12, EXCUSED, "excused, though the group has handed in")
    put(13, IN_TIME, [13], {"scan.cu": SKELETON})
    put(113, "2026-10-05 20:00:00", [13], one)
    right(13, 100, "two submissions: the later one counts")
    case(14, 100, "handed in at the last moment", "2026-10-05 23:58:59", [14], one)
    case(15, 90, "a minute after it", "2026-10-06 00:00:00", [15], one)
    case(16, 100, "Scan.CU", IN_TIME, [16], {"Scan.CU": RIGHT})
    put(17, IN_TIME, [17], {"src/scan.cu": RIGHT, "README.md": b"# mine", "Makefile": b"all:\n"})
    right(17, 100, "beside a Makefile, in a folder")
    put(18, IN_TIME, [18], {"submission_300001/scan.cu": LOOKS_BACK})
    right(18, 95, "in a folder that is called as another's submission")
    case(19, 100, "scan.cu.cu", IN_TIME, [19], {"scan.cu.cu": RIGHT})
    case(20, NOTHING, "a report and no program", IN_TIME, [20], {"report.pdf": b"%PDF-1.4"})
    case(21, 100, "known by the e-mail address alone", IN_TIME, [21], one, sid=False)
    put(
        22,
        IN_TIME,
        [22],
        {"submission_metadata.yml": b"submission_300022:\n  :submitters:\n  - :sid: '00001'\n", **one},
    )
    right(22, 100, "with a metadata file of their own, which names another")
    case(23, PENDING, "two files that may be meant", IN_TIME, [23], {"a/scan.cu": RIGHT, "b/scan.cu": LOOKS_BACK})
    right(24, NOTHING, "nothing")
    pile.put("submission_metadata.yml", ("\n".join(about) + "\n").encode())
    return pile


# ---- GitHub Classroom ------------------------------------------------------------------------------------------------


def github() -> Pile:
    """One repository per student; the roster is the classroom's, and the times are in a table."""
    pile = Pile("github")
    pile.roster = [["identifier", "github_username", "github_id", "name"]]
    logins = {3: "Octo-Ann", 4: "ann", 5: "x-bob", 6: "bob", 7: "l-o-n-g", 10: "UPPER"}

    def login(number: int) -> str:
        return logins.get(number, f"hub{number:02}")

    def put(number: int, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            pile.put(f"scan-lab-{login(number).lower()}/{name}", data)

    for number in range(1, 25):
        pile.roster.append([f"h{number:02}@uni.example", login(number), str(5500 + number), f"Hub Person {number}"])

    def right(number: int, points: object, what: str) -> None:
        pile.is_right(f"h{number:02}@uni.example", points, what)

    def case(number: int, points: object, what: str, files: dict[str, bytes]) -> None:
        put(number, files)
        right(number, points, what)

    one = {"labs/01_sequential/scan.cu": RIGHT}
    for number in range(1, 15):
        put(number, {"labs/01_sequential/scan.cu": LOOKS_BACK} if number in (4, 6) else one)
        pile.times.append([login(number), IN_TIME])
    for number, points, what in (
        (1, 100, "in time"),
        (2, 100, "in time"),
        (3, 100, "a login with a dash and capitals"),
        (4, 95, "ann, beside octo-ann"),
        (5, 100, "x-bob, who is not bob"),
        (6, 95, "bob, who is not x-bob"),
        (7, 100, "a login with dashes"),
        (8, 90, "one day late by the table"),
        (9, 100, "one day late, 24 hours more by the login in capitals"),
        (10, 100, "a login in capitals"),
        (11, 100, "one day late, 24 hours more by the roster's identifier"),
        (12, 100, "one day late, 24 hours more by GitHub's number"),
        (13, NOTHING, "four days late"),
        (14, 80, "two days late"),
    ):
        right(number, points, what)
    for number, time in ((8, ONE_DAY), (9, ONE_DAY), (11, ONE_DAY), (12, ONE_DAY), (13, FOUR_DAYS), (14, TWO_DAYS)):
        pile.times[number - 1][1] = time
    pile.more += [
        student_table("HUB09", extension(24)),
        student_table("H11@uni.example", extension(24)),
        student_table("5512", extension(24)),
    ]
    # Not on the roster: no student's, whatever the name ends with.
    pile.put("scan-lab-y-ann/labs/01_sequential/scan.cu", SKELETON)
    case(15, NOTHING, "the skeleton as it was", {"labs/01_sequential/scan.cu": SKELETON})
    put(16, {"labs/01_sequential/scan.cu": RIGHT, "labs/02_kogge_stone/scan.cu": RIGHT_02})
    right(16, 100, "two labs, of which one is graded")
    put(17, {"solution/scan_01.cu": RIGHT, "labs/01_sequential/scan.cu": SKELETON})
    right(17, 100, "the skeleton as it was, and another file")
    case(18, NOTHING, "a text with a zero byte", {"labs/01_sequential/scan.cu": b"// \xff\xfe broken \x00\n" + RIGHT})
    case(19, 100, "lines of an old Macintosh", {"labs/01_sequential/scan.cu": RIGHT.replace(b"\n", b"\r")})
    case(20, 100, "thousands of blank lines", {"labs/01_sequential/scan.cu": b"\n" * 5 + RIGHT + b"\n" * 3000})
    put(21, {"labs/01_sequential/scan.cu": RIGHT, "labs/01_sequential/scan.cu.orig": SKELETON})
    right(21, 100, "beside an editor's copy")
    put(22, {"labs/01_sequential/scan.cu": b"#include <cub/cub.cuh>\n" + RIGHT})
    right(22, NOTHING, "includes what the lab forbids, and does not use it")
    case(23, 100, "a file's name with escapes", {"labs/01_sequential/\x1b[31mred\x1b[0m.txt": b"x", **one})
    for number in range(15, 24):
        pile.times.append([login(number), IN_TIME])
    right(24, NOTHING, "nothing")
    return pile


# ---- a plain pile ----------------------------------------------------------------------------------------------------


def plain() -> Pile:
    """Folders, archives and files by people's ids, and no times at all; a late pile comes with --resume."""
    pile = Pile("plain")
    pile.roster = [["Matrikelnummer", "Nachname", "Vorname", "E-Mail-Adresse", "Benutzername"]]
    for number in range(1, 25):
        row = [f"p{number:02}", f"Person{number}", "Plain", f"p.{number}@uni.example", f"user-{number}"]
        pile.roster.append(row)

    def right(number: int, points: object, what: str) -> None:
        pile.is_right(f"p{number:02}", points, what)

    def case(number: int, points: object, what: str, path: str, data: bytes) -> None:
        pile.put(path, data)
        right(number, points, what)

    for number, place, what in (
        (1, "p01/scan_01.cu", "a folder by the id"),
        (2, "USER-2/scan_01.cu", "a folder by the login in capitals"),
        (3, "p.3@uni.example/scan_01.cu", "a folder by the e-mail address"),
        (4, "Plain Person4/scan_01.cu", "a folder by the name"),
        (5, "Person5, Plain/scan_01.cu", "a folder by the surname first"),
        (6, "p06_scan_01.cu", "a file by the id"),
    ):
        pile.put(place, RIGHT)
        right(number, 100, what)
    case(7, 100, "a zip by the id", "p07.zip", zipped({"scan_01.cu": RIGHT}))
    pile.put("p08.tar.xz", tarred({"p01/scan_01.cu": LOOKS_BACK}, "xz"))
    right(8, 95, "an archive with a folder that is called as another student")
    pile.put("p09.zip", zipped({"../p01/scan_01.cu": SKELETON, "scan_01.cu": RIGHT}))
    right(9, 100, "an archive with a file that leaves its folder, and one that does not")
    case(10, PENDING, "an archive that was cut off", "p10.zip", zipped({"scan_01.cu": RIGHT})[:-30])
    case(11, PENDING, "an archive of another kind", "p11.rar", b"Rar!\x1a\x07\0 its contents are unknown")
    case(12, 100, "scan.cu", "p12/scan.cu", RIGHT)
    case(13, 100, "one file with a name of its own", "p13/my work.cu", RIGHT)
    case(14, 100, "scan_1.cu", "p14/scan_1.cu", RIGHT)
    pile.put("p15/scan_01.cu", RIGHT)
    case(15, 100, "the same twice", "p15/backup/scan_01.cu", RIGHT)
    case(16, 100, "an escape in a comment", "p16/scan_01.cu", RIGHT + b"// \x1b[2J red\n")
    case(17, 100, "comments in three scripts", "p17/scan_01.cu", "// 扫描 quét скан\n".encode() + RIGHT)
    pile.put("p18/scan_01.cu", RIGHT)
    pile.more.append(student_table("USER-18", 'excused = ["01"]'))
    right(18, EXCUSED, "excused by the login in capitals")
    pile.put("p1/scan_01.cu", SKELETON)
    case(19, 100, "a folder with a blank behind its name", "p19 /scan_01.cu", RIGHT)
    # The late pile: one student's folder only, whose folders are called as labs, and as other students.
    pile.extra = {
        "p20/01_sequential/scan.cu": RIGHT,
        "p20/p21/scan_01.cu": LOOKS_BACK,
    }
    right(20, PENDING, "later, alone: two files that may be meant")
    for number in (21, 22, 23, 24):
        right(number, NOTHING, "nothing")
    return pile


PILES: dict[str, Callable[[], Pile]] = {
    "canvas": canvas, "moodle": moodle, "gradescope": gradescope, "github": github, "plain": plain,
}  # fmt: skip
