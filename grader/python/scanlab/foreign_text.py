"""Untrusted text, such as what a program printed, made harmless for whoever reads it.

It may command a terminal, turn the line round so that what is read is not what is there, or be no text at all. Where
people look for tricks they are spelled out; what goes into other people's files and terminals has them replaced.

It may also be very long, or made so that reading it takes long. So it is cut where it comes in, and no regular
expression that meets it goes back over what it has read: `tests/grader/test_patterns.py` looks at every one of the kit.
"""

import re

LONGEST_TEXT = 1 << 16
"""Characters of one message, such as a compiler's, that are read; people are shown far fewer."""
LONGEST_LINE = 500
"""Characters of one of its lines."""
LONGEST_NAME = 1024
"""Characters of a name of a file, a person or a title that are read."""

CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""All but tab and line feed. This and the following are parts of a regular expression's set."""
TURNING = "\u202a-\u202e\u2066-\u2069"
"""Marks that change the direction of what follows."""
NO_CHARACTERS = "\ud800-\udfff\ufdd0-\ufdef" + "".join(
    f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17)
)
"""Halves of pairs, and what no text may have: XML refuses them."""
UNSEEN = (
    "\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
"""Nothing that is seen. Some languages need a few of them, so that only those who look for tricks have them shown."""

TRICKS = re.compile(f"[{CONTROLS}{TURNING}{NO_CHARACTERS}{UNSEEN}]")
HARMFUL = re.compile(f"[{CONTROLS}{TURNING}{NO_CHARACTERS}]")
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x1b\\|\x07)?"  # OSC, DCS and the like, to their end or the line's
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
LOST = "\N{REPLACEMENT CHARACTER}"


def spelled_out(text: str) -> str:
    """Return `text` with a visible sign for every character that is invisible, turns others round, or is not valid."""
    return TRICKS.sub(_sign, text) if not (text.isascii() and text.isprintable()) else text


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def replaced(text: str) -> str:
    """Return `text` as plain lines: without terminal escapes, and `LOST` for every harmful character.

    What is left can be written as UTF-8, and stand in XML 1.0.
    """
    return HARMFUL.sub(LOST, ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def plain(text: str, most: int = LONGEST_NAME) -> str:
    """Return a name or another short text as one line that is harmless on a terminal, cut to `most` characters."""
    return " ".join(replaced(cut(text, most)).split())


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Return at most `most` characters of `text`, and a mark where there were more."""
    return text if len(text) <= most else f"{text[:most]} …"
