"""How texts and numbers are written into gradebooks' files, so that none of them has an effect there."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from scanlab.errors import KitError
from scanlab.foreign_text import replaced

FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula, the wide signs included."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def one_line(text: str) -> str:
    """Return `text` harmless and on one line."""
    return " ".join(replaced(text).split())


def shorten(text: str, most: int) -> str:
    """Return at most `most` bytes of `text` as UTF-8, with a last line that says how much is missing."""
    encoded = text.encode()
    if len(encoded) <= most:
        return text
    note = f"\n… {len(encoded)} bytes in all; the rest is left out"
    kept = encoded[: max(0, most - len(note.encode()))].decode(errors="ignore")
    return kept + note if most >= len(note.encode()) else kept


def cell(text: str) -> str:
    """Return `text` for a cell of a spreadsheet: harmless, one line, and never a formula."""
    text = one_line(text)
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def number(value: float, places: int = 2) -> float | int:
    """Return `value` rounded, and as an integer where it is one. Raises KitError for NaN and infinities."""
    if not math.isfinite(value):
        raise KitError(f"a result has {value} for points")
    rounded = round(float(value), places) + 0.0  # no -0.0
    return int(rounded) if rounded.is_integer() else rounded


def dump_json(value: Any, indent: int | None = 2) -> str:
    """Return strict JSON (no NaN) in which no text can end a `<script>` or begin a tag of a page that holds it.

    No text in it has a character that a terminal obeys, or that turns others round.
    """
    text = json.dumps(_harmless(value), ensure_ascii=False, allow_nan=False, indent=indent)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _harmless(value: Any) -> Any:
    if isinstance(value, dict):
        return {_harmless(key): _harmless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_harmless(item) for item in value]
    return replaced(value) if isinstance(value, str) else value


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
