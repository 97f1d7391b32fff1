"""Text and numbers that are safe in other people's files: whatever a learner's program has printed into them."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from scanlab.errors import KitError

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_].*?(?:\x1b\\|\x07|\Z)"  # OSC, DCS and the like, to their end
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
NO_CHARACTERS = "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\ud800-\udfff"  # halves of characters
    "\u202a-\u202e\u2066-\u2069"  # marks that turn the line around: what is read is not what is there
    f"\ufdd0-\ufdef{NO_CHARACTERS}]"
)
LOST = "\N{REPLACEMENT CHARACTER}"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula, the wide signs included."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def clean(text: str) -> str:
    """Return `text` as plain lines: no terminal escapes, no control characters but tab and newline, valid everywhere.

    What is left can be written as UTF-8, and stand in XML 1.0.
    """
    return HARMFUL.sub(LOST, ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Return `text` cleaned and on one line."""
    return " ".join(clean(text).split())


def shorten(text: str, most: int) -> str:
    """Return at most `most` bytes of `text` as UTF-8, with a last line that says how much is missing."""
    encoded = text.encode()
    if len(encoded) <= most:
        return text
    note = f"\n… {len(encoded)} bytes in all; the rest is left out"
    kept = encoded[: max(0, most - len(note.encode()))].decode(errors="ignore")
    return kept + note if most >= len(note.encode()) else kept


def cell(text: str) -> str:
    """Return `text` for a cell of a spreadsheet: cleaned, one line, and never a formula."""
    text = one_line(text)
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def number(value: float, places: int = 2) -> float | int:
    """Return `value` rounded, and as an integer where it is one. Raises KitError for NaN and infinities."""
    if not math.isfinite(value):
        raise KitError(f"a result has {value} for points")
    rounded = round(float(value), places) + 0.0  # no -0.0
    return int(rounded) if rounded.is_integer() else rounded


def dump_json(value: Any, indent: int | None = 2) -> str:
    """Return strict JSON (no NaN) in which no text can end a `<script>` or begin a tag of a page that holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def whole_numbers(values: Iterable[float], total: int) -> list[int]:
    """Return integers in proportion to `values` that add up to `total`: the largest remainders are rounded up.

    None is above its value rounded up, as long as `total` is at most the sum of the values rounded up.
    """
    parts = [max(0.0, value) for value in values]
    together = sum(parts)
    if together <= 0 or total <= 0:
        return [0] * len(parts)
    shares = [part * total / together for part in parts]
    whole = [math.floor(share + 1e-9) for share in shares]
    by_remainder = sorted(range(len(parts)), key=lambda at: (whole[at] - shares[at], at))
    for at in by_remainder[: total - sum(whole)]:
        whole[at] += 1
    return whole
