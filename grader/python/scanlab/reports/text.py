"""Text that somebody else wrote, made fit to be shown: no control characters, no tricks with direction, no floods.

Escaping for HTML is the templates' work; what is here goes through it as well.
"""

import re
from collections.abc import Sequence

LINE = 240
"""Characters of one line that are shown."""
FIELD = 400
"""Characters of a name or a message's line that are shown."""
LINES = 40
"""Lines of one message that are shown."""

TRICKS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, without tab and line feed
    "\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb"  # unseen, or turning
    "\U000e0000-\U000e007f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"  # tags, halves of pairs, no characters
)


def clean(text: str) -> str:
    """Return `text` with every character that is not seen, or that turns others round, put as a visible one."""
    return TRICKS.sub(_visible, text) if not (text.isascii() and text.isprintable()) else text


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def field(text: str, most: int = FIELD) -> str:
    """Return one line, cleaned, of at most `most` characters and a count of the others."""
    one = clean(" ".join(text[: 8 * most].split()))
    total = max(len(text), len(one))
    return one if len(one) <= most and total <= 8 * most else f"{one[:most]}… ({total} characters)"


def paragraph(lines: Sequence[str], most: int = LINES) -> list[str]:
    """Return at most `most` lines, each cleaned and not too long, and one that counts those left out."""
    shown = [clean(line)[:FIELD] + ("…" if len(line) > FIELD else "") for line in lines[:most]]
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
    """Return `text` beginning with a capital letter and ending with a full stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".") if text else ""


def first_sentence(text: str) -> str:
    """Return the first sentence of `text`, which may stand for all of it where there is little room."""
    return sentence(re.split(r"(?<=[a-z)][.?!])\s+(?=[A-Z])", text, maxsplit=1)[0])
