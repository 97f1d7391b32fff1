"""Several versions of a program in one run of nvcc, which reads the headers once: a fifth of the time for each.

Each version stands in a namespace of its own, and its PTX is cut out again. The virtual GPU knows its kernels by their
names without that namespace (`grader/autograder/device/replacement.hpp`).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from scanlab.arguments import ENTRIES
from scanlab.errors import KitError, WorkError
from scanlab.judging.compile import make_device_code

NAMESPACE = "scanlab_version_"
WIDTH = 2
"""Digits of a version's number in its namespace."""
HEADER_LINE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)
FUNCTION = re.compile(r"^(?:\.(?:visible|weak|extern)\s+)*\.(?:entry|func)\b.*?^(?:\}|;)$", re.MULTILINE | re.DOTALL)
OF_A_VERSION = re.compile(rf"{NAMESPACE}([0-9]{{{WIDTH}}})")
ONLY_ONCE = re.compile(r'\bextern\s*"C"|\b__(?:device|constant|managed)__\s[^(){};]*[;={]|\bmain\s*\(')
"""What cannot be there twice, or is known to the host by its name."""


def with_one_entry(text: str, entry: str) -> str:
    """Return a program without the other functions that a lab asks for, and so without what they alone need."""
    others = "|".join(name for name in ENTRIES if name != entry)
    bodies = re.compile(rf"^void\s+(?:{others})\s*\([^(){{}};]*\)\s*\{{.*?^\}}", re.MULTILINE | re.DOTALL)
    return bodies.sub(lambda found: "\n" * found[0].count("\n"), text)


def can_be_joined(text: str) -> bool:
    """Return whether several versions of a program can be in one file."""
    return ONLY_ONCE.search(text) is None


def joined(versions: Mapping[int, str], name: str) -> str:
    """Return one program of several versions, by number: their headers in front, a namespace for each.

    `name` is what the file is called in which their lines count.
    """
    includes = dict.fromkeys(line.strip() for text in versions.values() for line in HEADER_LINE.findall(text))
    parts = [*includes]
    for number, text in versions.items():
        space = f"{NAMESPACE}{number:0{WIDTH}}"
        parts += [f"namespace {space} {{", f'#line 1 "{space}/{name}"', HEADER_LINE.sub("", text), "}"]
    return "\n".join(parts)


def version_of(code: str, number: int) -> str:
    """Return a program's PTX without the functions of other versions than that of a number."""

    def kept(found: re.Match[str]) -> str:
        version = OF_A_VERSION.search(found[0].partition("\n{")[0])
        return "" if version and int(version[1]) != number else found[0]

    return FUNCTION.sub(kept, code)


def device_codes(texts: Sequence[str], name: str, element: str, folder: Path) -> list[str]:
    """Return the PTX of each version of a learner's file for one element; nothing of one that does not compile.

    `name` is what their lines' file is called; files are written to `folder`. Not in the sandbox: it is for a
    learner's own file.
    """
    path, to = folder / "versions.cu", folder / "versions.ptx"
    left = dict(enumerate(texts))
    while left:
        path.write_text(joined(left, name), encoding="utf-8")
        try:
            make_device_code(path, element, to)
        except (WorkError, KitError) as error:
            refused = {int(number) for number in OF_A_VERSION.findall(str(error))}
            left = {number: text for number, text in left.items() if number not in refused} if refused else {}
            continue
        code = to.read_text(encoding="utf-8")
        return [version_of(code, number) if number in left else "" for number in range(len(texts))]
    return ["" for _ in texts]
