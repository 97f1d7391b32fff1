"""A made-up class: programs of the corpora under made-up names, as platforms export them, and all that goes wrong.

A class is a function of its seed. No student in it is real.
"""

import io
import os
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scanlab.labs.corpora import programs_in, read, whole

REPOSITORY = Path(__file__).resolve().parents[2]
MUTANTS = REPOSITORY / "tests/mutants"
GIB = 1 << 30
ZIP_TIME = (2026, 3, 1, 12, 0, 0)


@dataclass(frozen=True)
class Person:
    """A made-up student."""

    number: int

    @property
    def id(self) -> str:
        return f"s{self.number:04}"

    @property
    def first(self) -> str:
        return "Student"

    @property
    def last(self) -> str:
        return f"Number{self.number:04}"

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def login(self) -> str:
        return f"student-{self.number:04}"

    @property
    def email(self) -> str:
        return f"{self.id}@example.org"


@dataclass
class MadeUp:
    """What was made, and what has to be said of it."""

    pile: Path
    roster: Path
    people: list[Person] = field(default_factory=list)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The labs' texts that each student is graded on, by id and lab."""
    faults: dict[str, str] = field(default_factory=dict)
    """A part of what has to be reported about a student's submission, by id."""
    absent: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)


def corpus(labs: Sequence[str]) -> dict[str, list[Path]]:
    """Return programs for each lab: wrong ones, right ones, the skeleton and the solution."""
    right: dict[str, list[Path]] = {}
    for path in sorted((MUTANTS / "correct").glob("*.cu")):
        if program := read(path):  # which lab it is for its first line says, not its name
            right.setdefault(program.submission.lab.name, []).append(path)
    return {
        lab: [
            *map(whole, programs_in(MUTANTS / lab)),
            *right.get(lab, ()),
            REPOSITORY / "labs" / lab / "scan.cu",
            REPOSITORY / "solutions" / lab / "scan.cu",
        ]
        for lab in labs
    }


def zipped(members: dict[str, bytes], modes: dict[str, int] | None = None) -> bytes:
    """Return a zip archive; `modes` are st_mode numbers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, ZIP_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (modes or {}).get(name, 0o100644) << 16
            archive.writestr(info, data)
    return out.getvalue()


def tarred(members: dict[str, bytes | tuple[bytes, str]], packing: str = "gz") -> bytes:
    """Return a tar archive; a pair is a member's type and what it links to."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{packing}") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.mtime = 1_770_000_000
            if isinstance(data, tuple):
                info.type, info.linkname = data
                archive.addfile(info)
            else:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def encrypted(archive: bytes) -> bytes:
    """Return a zip archive whose members claim to be encrypted."""
    data = bytearray(archive)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 4)
    return bytes(data)


def zeros_zipped(name: str, count: int) -> bytes:
    """Return a zip archive of one member of `count` zeros: a bomb."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        info = zipfile.ZipInfo(name, ZIP_TIME)
        info.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(info, "w") as member:
            for _ in range(count >> 20):
                member.write(bytes(1 << 20))
    return out.getvalue()


def lying(archive: bytes, claimed: int) -> bytes:
    """Return a zip archive of one member whose size is another than it claims."""
    data = bytearray(archive)
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.find(mark) + offset, claimed)
    return bytes(data)


Put = Callable[[MadeUp, Person, dict[str, bytes], random.Random], None]


def _lab_names(files: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    forms = ("{lab}/scan.cu", "scan_{number}.cu", "{lab}.cu")
    return {rng.choice(forms).format(lab=lab, number=lab[:2]): text for lab, text in files.items()}


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _canvas(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    late = rng.choice(("", "LATE_"))
    for at, (lab, text) in enumerate(files.items()):
        again = rng.choice(("", "-1"))
        stem = f"{person.last}{person.first}".lower()
        name = f"{stem}_{late}{90000 + person.number}_{700000 + 10 * person.number + at}_scan_{lab[:2]}{again}.cu"
        _write(made.pile / name, text)


def _canvas_zip(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    name = f"{person.last}{person.first}".lower() + f"_{90000 + person.number}_{700000 + 10 * person.number}_work.zip"
    _write(made.pile / name, zipped(_lab_names(files, rng)))


def _moodle(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    for name, text in _lab_names(files, rng).items():
        _write(made.pile / f"{person.name}_{40000 + person.number}_assignsubmission_file" / name, text)


def _moodle_flat(made: MadeUp, person: Person, files: dict[str, bytes], _: random.Random) -> None:
    for lab, text in files.items():
        _write(made.pile / f"{person.name}_{40000 + person.number}_assignsubmission_file_{lab}.cu", text)


def _gradescope(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    folder = f"submission_{300000 + person.number}"
    for name, text in _lab_names(files, rng).items():
        _write(made.pile / folder / name, text)
    made.metadata.append(
        f"{folder}:\n  :submitters:\n  - :name: {person.name}\n    :sid: '{person.id}'\n    :email: {person.email}\n"
        "  :created_at: 2026-03-01 12:34:56.123456789 Z\n  :score: 0.0\n  :history: []\n"
    )


def _github(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    folder = made.pile / f"scan-{person.login}"
    for name, text in _lab_names(files, rng).items():
        _write(folder / "labs" / name, text)
    _write(folder / ".git/HEAD", b"ref: refs/heads/main\n")


def _folder(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    for name, text in _lab_names(files, rng).items():
        _write(made.pile / person.id / name, text)


def _zip(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    _write(made.pile / f"{person.id}.zip", zipped(_lab_names(files, rng)))


def _tar(made: MadeUp, person: Person, files: dict[str, bytes], rng: random.Random) -> None:
    packing = rng.choice(("gz", "bz2", "xz"))
    _write(made.pile / f"{person.id}.tar.{packing}", tarred(dict(_lab_names(files, rng)), packing))


def _files(made: MadeUp, person: Person, files: dict[str, bytes], _: random.Random) -> None:
    for lab, text in files.items():
        _write(made.pile / f"{person.id}_scan_{lab[:2]}.cu", text)


SCHEMES: dict[str, Put] = {
    "canvas": _canvas,
    "canvas zip": _canvas_zip,
    "moodle": _moodle,
    "moodle flat": _moodle_flat,
    "gradescope": _gradescope,
    "github": _github,
    "folder": _folder,
    "zip": _zip,
    "tar": _tar,
    "files": _files,
}


KINDS = {
    "canvas": ["canvas", "canvas zip"],
    "moodle": ["moodle", "moodle flat"],
    "gradescope": ["gradescope"],
    "github": ["github"],
    "folders": ["folder", "zip", "tar", "files"],
}
"""The schemes of one export: what kind it is, is the same for all of it."""


def _oddities(zeros: int) -> dict[str, Callable[[MadeUp, Person, bytes], str]]:
    """Return what goes wrong, by name: each puts a submission there and returns a part of what has to be reported.

    It returns an empty text where what it puts there is no submission.
    """

    def archive(name: str, data: bytes, report: str) -> Callable[[MadeUp, Person, bytes], str]:
        def put(made: MadeUp, person: Person, _: bytes) -> str:
            _write(made.pile / f"{person.id}{name}", data)
            return report

        return put

    def file(data: bytes, report: str) -> Callable[[MadeUp, Person, bytes], str]:
        def put(made: MadeUp, person: Person, _: bytes) -> str:
            _write(made.pile / person.id / "scan_01.cu", data)
            return report

        return put

    def sparse(made: MadeUp, person: Person, _: bytes) -> str:
        _write(made.pile / person.id / "scan_01.cu", b"")
        os.truncate(made.pile / person.id / "scan_01.cu", zeros)
        return "a lab's file has at most 1.0 MiB"

    def linked(made: MadeUp, person: Person, _: bytes) -> str:
        (made.pile / person.id).mkdir()
        (made.pile / person.id / "scan_01.cu").symlink_to(REPOSITORY / "solutions/01_sequential/scan.cu")
        return "is a link, which is not followed"

    def linked_folder(made: MadeUp, person: Person, _: bytes) -> str:
        (made.pile / person.id).symlink_to(REPOSITORY / "solutions")
        return "is a link, which is not followed"

    def pipe(made: MadeUp, person: Person, _: bytes) -> str:
        (made.pile / person.id).mkdir()
        os.mkfifo(made.pile / person.id / "scan_01.cu")
        return "is no plain file"

    def several(made: MadeUp, person: Person, text: bytes) -> str:
        _write(made.pile / person.id / "scan_01.cu", text)
        _write(made.pile / person.id / "01_sequential/scan.cu", text + b"// newer?\n")
        return "2 files may be this lab's"

    def empty(made: MadeUp, person: Person, _: bytes) -> str:
        (made.pile / person.id / "attachments").mkdir(parents=True)
        return ""

    def report_only(made: MadeUp, person: Person, _: bytes) -> str:
        _write(made.pile / person.id / "report.pdf", b"%PDF-1.4")
        return "there are: report.pdf"

    good = b"int main() {}\n"
    link = 0o120777
    whole = zipped({"scan_01.cu": good})
    return {
        "torn zip": archive(".zip", whole[:-30], "is no zip archive that can be read"),
        "text as zip": archive(".zip", b"this is no archive", "is no archive that can be read"),
        "torn tar": archive(".tar.gz", tarred({"scan_01.cu": os.urandom(9000)})[:4000], "that can be read"),
        "encrypted": archive(".zip", encrypted(whole), "is encrypted"),
        "zip slip": archive(".zip", zipped({"../../scan_01.cu": good}), "leaves the folder by `..`"),
        "zip slip, Windows": archive(".zip", zipped({"..\\scan_01.cu": good}), "leaves the folder by `..`"),
        "absolute": archive(".zip", zipped({"/tmp/scan_01.cu": good}), "is an absolute path"),
        "link in zip": archive(".zip", zipped({"scan_01.cu": b"/etc/passwd"}, {"scan_01.cu": link}), "is a link"),
        "tar slip": archive(".tar", tarred({"../scan_01.cu": good}, ""), "leaves the folder by `..`"),
        "link in tar": archive(".tar", tarred({"scan_01.cu": (tarfile.SYMTYPE, "/etc/passwd")}, ""), "is a link"),
        "hard link": archive(".tar", tarred({"scan_01.cu": (tarfile.LNKTYPE, "../x")}, ""), "is a link"),
        "device": archive(".tar", tarred({"scan_01.cu": (tarfile.CHRTYPE, "")}, ""), "is no plain file"),
        "zip bomb": archive(".zip", zeros_zipped("scan_01.cu", zeros), "a lab's file has at most 1.0 MiB"),
        "lying zip": archive(".zip", lying(zeros_zipped("scan_01.cu", 4 << 20), 1000), "scan_01.cu"),
        "control": archive(".zip", zipped({"scan\x1b[2J_01.cu": good}), "has control characters"),
        "archive in archive": archive(".zip", zipped({"in.zip": zipped({"in.zip": whole})}), "lies in 2 archives"),
        "rar": archive(".rar", b"Rar!\x1a\x07", "only zip and tar archives"),
        "empty file": file(b"", "is empty"),
        "white": file(b" \n\t\n", "is empty"),
        "binary": file(b"\x7fELF\x02\x01\x01\0\0\0", "is a binary file"),
        "UTF-16": file("// scan\n".encode("utf-16")[:-1], "is UTF-16 text, and damaged"),
        "Latin-1": file(b"// one\nint \xe4;\n", "is not UTF-8 text (line 2, byte 0xe4, in the program itself)"),
        "sparse": sparse,
        "linked file": linked,
        "linked folder": linked_folder,
        "pipe": pipe,
        "several": several,
        "empty folder": empty,
        "report only": report_only,
    }


def make(
    folder: Path,
    people: int,
    seed: int,
    labs: Sequence[str],
    zeros: int = 64 << 20,
    odd: int | None = None,
    kind: str = "folders",
) -> MadeUp:
    """Make a class of `people` submissions in `folder`, `odd` of them (None: one of each kind) with something wrong.

    The odd ones are plain folders and archives, as a teacher puts beside an export what came by mail.
    """
    rng = random.Random(seed)
    made = MadeUp(folder / "pile", folder / "roster.csv")
    made.pile.mkdir(parents=True)
    programs = corpus(labs)
    oddities = _oddities(zeros)
    wrong = [*oddities][: len(oddities) if odd is None else odd]
    persons = [Person(number) for number in range(1, people + 3)]
    handed, made.absent = persons[:people], [person.id for person in persons[people:]]
    rng.shuffle(handed)
    for person in handed:
        if wrong:
            report = oddities[wrong.pop()](made, person, programs[labs[0]][-1].read_bytes())
            if report:
                made.faults[person.id], made.files[person.id] = report, {}
            else:
                made.absent.append(person.id)
            continue
        chosen = sorted(rng.sample(labs, 2 if rng.random() < 0.1 and len(labs) > 1 else 1))
        files = {lab: rng.choice(programs[lab]).read_bytes() for lab in chosen}
        made.files[person.id] = files
        SCHEMES[rng.choice(KINDS[kind])](made, person, files, rng)
    made.people = persons
    made.absent.sort()
    rows = [f"{one.id},{one.first},{one.last},{one.email},{one.login}" for one in persons]
    made.roster.write_text("\n".join(["SID,First Name,Last Name,Email,Login", *rows]) + "\n")
    if made.metadata:
        (made.pile / "submission_metadata.yml").write_text("".join(["---\n", *made.metadata]))
    return made
