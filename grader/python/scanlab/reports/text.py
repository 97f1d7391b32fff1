"""How pages write texts and numbers: tricks spelled out, no floods. Escaping for HTML is the templates' work."""

import re
from collections.abc import Sequence

from scanlab.foreign_text import spelled_out

LINE = 240
"""Characters of one line that are shown."""
FIELD = 400
"""Characters of a name or a message's line that are shown."""
LINES = 40
"""Lines of one message that are shown."""
WORD = re.compile(r"(?:a )?[a-z]{2,40}+(?=[\s,;:.’'-]|$)")
"""How a sentence of English begins; a name of the program's is followed by something else, or is one letter."""


def field(text: str, most: int = FIELD) -> str:
    """Return one line, its tricks spelled out, of at most `most` characters and a count of the others."""
    one = spelled_out(" ".join(text[: 8 * most].split()))
    total = max(len(text), len(one))
    return one if len(one) <= most and total <= 8 * most else f"{one[:most]}… ({total} characters)"


def paragraph(lines: Sequence[str], most: int = LINES) -> list[str]:
    """Return at most `most` lines, tricks spelled out and none too long, and one that counts those left out."""
    shown = [spelled_out(line)[:FIELD] + ("…" if len(line) > FIELD else "") for line in lines[:most]]
    return shown if len(lines) <= most else [*shown, f"… {len(lines) - most} more lines"]


def number(value: float) -> str:
    """Return a count with narrow gaps between thousands, or a ratio with three digits."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.1f}".replace(",", "\u202f")
    whole = f"{int(value):,}"
    return whole if abs(value) < 10_000 and "," not in whole else whole.replace(",", "\u202f")


def count(value: int, one: str, several: str = "") -> str:
    """Return `1 lab`, `2 labs`."""
    return f"{number(value)} {one if value == 1 else several or one + 's'}"


def sentence(text: str) -> str:
    """Return `text` ending with a full stop, and beginning with a capital letter where it begins with a word.

    `y[0] is …` begins with a name of the program's, and keeps it.
    """
    text = text.strip()
    if WORD.match(text):
        text = text[0].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?", "…")) else text + "."


def first_sentence(text: str) -> str:
    """Return the first sentence of `text`, which may stand for all of it where there is little room."""
    return sentence(re.split(r"(?<=[a-z)][.?!])\s+(?=[A-Z])", text, maxsplit=1)[0])
