"""Times as platforms write them for people, in the language of their pages: `Montag, 14. März 2027, 23:59`.

A time that can be read in two ways is not read: a grade may depend on it.
"""

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

Order = Literal["day", "month", ""]
"""Which of 03/04/2027 comes first; empty: nothing says."""

MONTHS = {
    word: number
    for number, words in enumerate(
        (
            "january januar janner janvier enero gennaio janeiro jan janv ene gen",
            "february februar feber fevrier febrero febbraio fevereiro feb fevr fev",
            "march marz mars marzo marco mar mrz",
            "april avril abril aprile apr avr abr",
            "may mai mayo maggio maio mag",
            "june juni juin junio giugno junho jun giu",
            "july juli juillet julio luglio julho jul juil lug",
            "august aout agosto aug ago",
            "september septembre septiembre settembre setembro sep sept set",
            "october oktober octobre octubre ottobre outubro oct okt ott out",
            "november novembre noviembre novembro nov",
            "december dezember decembre diciembre dicembre dezembro dec dez dic",
        ),
        1,
    )
    for word in words.split()
}
"""English, German, French, Spanish, Italian and Portuguese, without accents. Vietnamese numbers its months."""
LONGEST = 100
CLOCK = re.compile(r"(?<!\d)(\d{1,2})[:h](\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)? ?(am|pm|sa|ch|uhr)?(?![\w:])")
OFFSET = re.compile(r" ?(z|utc|gmt|[+-]\d{2}:?\d{2})$")
ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
DOTTED = re.compile(r"(?<!\d)(\d{1,2})\. ?(\d{1,2})\. ?(\d{4}|\d{2})(?!\d)")
SLASHED = re.compile(r"(?<!\d)(\d{1,2})([/-])(\d{1,2})\2(\d{4})(?!\d)")
DAY_MONTH = re.compile(r"(?<!\d)(\d{1,2})[.o]?(?: de)? ([a-z]{3,})[.,]?(?: de)? (\d{4})(?!\d)")
MONTH_DAY = re.compile(r"(?<![a-z])([a-z]{3,})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?!\d)")
NUMBERED = re.compile(r"(?<!\d)(\d{1,2}) thang (\d{1,2}),? (?:nam )?(\d{4})(?!\d)")


class DateError(ValueError):
    """A text is no time that can be read; the message says why."""


def order_of(texts: Iterable[str]) -> Order:
    """Return which comes first in a column's dates such as 03/14/2027; empty where none shows it, or they differ."""
    found: set[Order] = set()
    for text in texts:
        for first, _, second, _ in SLASHED.findall(_plain(text)[:LONGEST]):
            found |= {"day"} if int(first) > 12 else {"month"} if int(second) > 12 else set()
    return found.pop() if len(found) == 1 else ""


def read_time(text: str, zone: str, order: Order = "") -> datetime:
    """Return a moment, from a text in ISO 8601 or as a platform shows it; `zone` is that of one without an offset.

    Of an hour that comes twice, since clocks are put back, it is the first.

    Raises DateError for what cannot be read, or in two ways.
    """
    plain = _plain(text)
    if len(plain) > LONGEST:
        raise DateError("is too long for a time")
    offset = OFFSET.search(plain)
    rest = plain[: offset.start()] if offset else plain
    rest = re.sub(r"(?<=\d)t(?=\d)", " ", rest)
    clocks = CLOCK.findall(rest)
    if len(clocks) != 1:
        raise DateError("has no time of day" if not clocks else "has two times of day")
    days = CLOCK.sub(" ", rest)
    year, month, day = _day(re.sub(r"\s+", " ", days).strip(), order)
    hour, minute, second = _clock(*clocks[0])
    try:
        naive = datetime(year, month, day, hour, minute, second)
    except ValueError as error:
        raise DateError(f"is no time: {error}") from error
    if offset:
        return naive.replace(tzinfo=_offset(offset[1]))
    if not zone:
        raise DateError('has no offset, and the course no time zone: give course.toml timezone = "Europe/Berlin"')
    moment = naive.replace(tzinfo=ZoneInfo(zone))
    if moment.astimezone(UTC).astimezone(moment.tzinfo).replace(tzinfo=None) != naive:
        raise DateError(f"does not exist in {zone}, where the clocks are put forward then")
    return moment


def _plain(text: str) -> str:
    """Return a text small, without accents, and with plain blanks."""
    letters = unicodedata.normalize("NFKD", text.casefold()).replace("đ", "d")
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return re.sub(r"\b([ap])\. ?m\.", r"\1m", " ".join(kept.split()))


def _clock(hour: str, minute: str, second: str, half: str) -> tuple[int, int, int]:
    hours = int(hour)
    if half in ("am", "pm", "sa", "ch"):
        if not 1 <= hours <= 12:
            raise DateError(f"has no hour {hours} before or after noon")
        hours = hours % 12 + (12 if half in ("pm", "ch") else 0)
    return hours, int(minute), int(second or 0)


def _day(text: str, order: Order) -> tuple[int, int, int]:
    if found := ISO.search(text):
        return int(found[1]), int(found[2]), int(found[3])
    if found := DOTTED.search(text):
        return int(found[3]) + (2000 if len(found[3]) == 2 else 0), int(found[2]), int(found[1])
    if found := NUMBERED.search(text):
        return int(found[3]), int(found[2]), int(found[1])
    if (found := DAY_MONTH.search(text)) and found[2] in MONTHS:
        return int(found[3]), MONTHS[found[2]], int(found[1])
    if (found := MONTH_DAY.search(text)) and found[1] in MONTHS:
        return int(found[3]), MONTHS[found[1]], int(found[2])
    if found := SLASHED.search(text):
        first, second = int(found[1]), int(found[3])
        order = "day" if first > 12 else "month" if second > 12 else order
        if first == second or order:
            month, day = (second, first) if order == "day" else (first, second)
            return int(found[4]), month, day
        raise DateError("does not say which is the day and which the month: write 2027-03-14 23:59")
    raise DateError("has no date that is known here: write 2027-03-14 23:59")


def _offset(text: str) -> tzinfo:
    if text in ("z", "utc", "gmt"):
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 15 or minutes > 59:
        raise DateError(f"has an offset that no place has, {text}")
    return timezone((1 if text[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
