"""Which file is which lab: by its folder's name or its own; never by a guess between several."""

import re
from collections.abc import Iterable, Sequence

from scanlab.classroom.intake.items import TEXTS, is_text, suffix_of

AGAIN = re.compile(r"(?:-\d{1,3}| ?\(\d{1,3}\))$")
"""What Canvas and browsers add to a name that is there already."""
CANVAS_AGAIN = re.compile(r"-(?P<count>\d{1,3})(?P<endings>(?:\.\w+)*)$")

SKELETONS = ("grader", "skeletons")
"""Where the students' copy of the kit keeps its skeletons a second time (`course/bundle/pack.py`)."""
LAB_WORDS = frozenset(("lab", "labs", "labo", "labor", "laboratory", "laboratorio", "scan"))
"""A number behind one of these is a lab's."""
WORDS = re.compile(r"[^\W\d_]+|\d+")
KIT_FOLDERS = frozenset(("grader", "handouts", "build", "solutions", "tests"))
"""What lies beside the kit's `labs` and is no learner's work."""


def is_skeleton(parts: Sequence[str]) -> bool:
    """Return whether a file is the kit's copy of a skeleton: who hands in the whole kit has not written it."""
    return any(tuple(parts[at : at + 2]) == SKELETONS for at in range(len(parts)))


def kit_roots(places: Iterable[Sequence[str]], names: "LabNames") -> set[tuple[str, ...]]:
    """Return where copies of the kit lie among what was handed in: the folders around `labs/NN_slug`."""
    return {
        tuple(parts[:at])
        for parts in places
        for at in range(len(parts) - 2)
        if parts[at] == "labs" and names.of_folder(parts[at + 1])
    }


def is_of_kit(parts: Sequence[str], roots: Iterable[Sequence[str]]) -> bool:
    """Return whether a file lies in a folder of the kit's own, such as `handouts`, beside one of its `labs`."""
    return any(tuple(parts[: len(root)]) == root and set(parts[len(root) : -1][:1]) & KIT_FOLDERS for root in roots)


def again(name: str) -> tuple[str, int]:
    """Return the name that Canvas was given, and how often it had it before: `scan_01.cu` and 1 for `scan_01-1.cu`."""
    found = CANVAS_AGAIN.search(name)
    return (name[: found.start()] + found["endings"], int(found["count"])) if found else (name, 0)


def as_source(name: str) -> str:
    """Return what a file would be called if its ending were that of a lab's file: `scan.cu` for `scan.cu.txt`."""
    stem = name
    while ending := next((one for one in TEXTS if stem.casefold().endswith(one) and len(stem) > len(one)), ""):
        stem = stem[: -len(ending)]
    return f"{stem}.cu"


def as_program(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the place that a file would have if it were called a program, whatever its ending is."""
    return *parts[:-1], f"{parts[-1].rpartition('.')[0] or parts[-1]}.cu"


class LabNames:
    """The kit's labs, found by what people call their files."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._folders = {name: name for name in names} | {name[3:]: name for name in names}
        self._numbers = {name[:2]: name for name in names}
        self._files = self._folders | {f"scan_{name[:2]}": name for name in names}

    def stems_of(self, lab: str) -> set[str]:
        """Return how a lab's file is called, as `stem_of` returns it: also `scan`, which each lab's own file is."""
        return {"scan", f"scan_{lab[:2]}", lab, lab[3:], lab[:2]}

    def of_folder(self, name: str) -> str | None:
        """Return the lab that a folder's name says: 02_kogge_stone or kogge_stone."""
        return self._folders.get(_plain(name))

    def of_file(self, parts: Sequence[str]) -> str | None:
        """Return the lab that a file's place says: NN_slug/scan.cu, scan_NN.cu, NN_slug.cu, slug.cu or NN.cu."""
        if not is_text(parts[-1]):
            return None
        stem = stem_of(parts[-1])
        if found := self._files.get(stem) or self._numbers.get(stem):
            return found
        if stem == "scan":
            return next((lab for part in reversed(parts[:-1]) if (lab := self.of_folder(part))), None)
        return None

    def of_other(self, parts: Sequence[str]) -> str | None:
        """Return the lab that the name says of a file which is called no program: `scan_02.pdf`, `Lab 2/a.docx`."""
        return self.of_file(as_program(parts)) or self.hinted(parts)

    def hinted(self, parts: Sequence[str]) -> str | None:
        """Return the only lab that a file's name and folders can mean by other words; whatever the file's ending is.

        `lab2.cu`, `Lab 2/mine.cu`, `scan2.cu`, `scan_02_final.cu`, `lab2.zip/scan.cu` and `my_koggestone.ipynb` mean
        lab 02; `scan_v2.cu` none, and `Lab 3/scan_02.h` two.
        """
        places = [part[: len(part) - len(suffix_of(part))] for part in parts[:-1]]
        meant = {lab for name in (*places, _own_stem(parts[-1])) for lab in self._meant(name)}
        return meant.pop() if len(meant) == 1 else None

    def _meant(self, name: str) -> set[str]:
        words = WORDS.findall(name.casefold())
        plain = "".join(words)
        labs = {lab for lab in self.names if lab[3:].replace("_", "") in plain}
        for at, word in enumerate(words):
            before, behind = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
            is_number = before in LAB_WORDS or (not before and (not behind or behind in LAB_WORDS))
            if len(word) < 3 and is_number and (lab := self._numbers.get(word.zfill(2))):
                labs.add(lab)
        return labs

    def without_lab(self, name: str) -> tuple[str, str]:
        """Return what stands before the lab's name in a file's, and that name: `s0001` and `scan_02.cu`.

        A file that is named after a lab alone has nothing before it; one that names no lab keeps its whole name.
        """
        stem = as_source(name)[:-3]
        base = AGAIN.sub("", stem)
        plain = _plain(base)
        for known in sorted(self._files, key=len, reverse=True):
            if plain == known:
                return "", name
            if plain.endswith(f"_{known}"):
                return base[: len(base) - len(known) - 1], f"{known}{name[len(stem) :]}"
        return base, name


def _stem(name: str) -> str:
    return _plain(AGAIN.sub("", name[:-3]))


def _own_stem(name: str) -> str:
    """Return a file's name without its endings, and without a second copy's number unless that is a lab's: `lab-2`."""
    stem = as_source(name)[:-3] if is_text(name) else name.rpartition(".")[0] or name
    base = AGAIN.sub("", stem)
    return stem if WORDS.findall(base.casefold())[-1:] in (["lab"], ["labor"], ["labo"]) else base


def stem_of(name: str) -> str:
    """Return a file's name for comparing: without its endings and without what a second copy's name has more."""
    return _stem(as_source(name))


def _plain(name: str) -> str:
    return re.sub(r"[\s-]", "_", name.casefold())
