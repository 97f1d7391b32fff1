"""Times as platforms show them: read in one way, or not at all."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import REPOSITORY  # noqa: F401 - makes the kit importable
from scanlab.classroom.dates import DateError, order_of, read_time

EVENING = datetime(2027, 3, 15, 22, 59, tzinfo=UTC)
"""Monday, 23:59 in Berlin."""


@pytest.mark.parametrize(
    "text",
    [
        "2027-03-15T22:59:00Z",
        "2027-03-15T23:59:00+01:00",
        "2027-03-15 22:59:00 UTC",
        "2027-03-15 23:59:00.000 +0100",
        "2027-03-15 23:59",
        "Monday, 15 March 2027, 11:59 PM",
        "Monday, 15 March 2027, 11:59\u202fPM",
        "Monday, March 15, 2027, 11:59 p.m.",
        "Mon, Mar 15th, 2027 23:59",
        "Montag, 15. März 2027, 23:59",
        "Montag, 15. Ma\u0308rz 2027, 23:59 Uhr",
        "15.03.2027 23:59",
        "15.3.27, 23:59",
        "lundi 15 mars 2027, 23:59",
        "lundi 15 mars 2027, 23h59",
        "lunes, 15 de marzo de 2027, 23:59",
        "lunedì, 15 marzo 2027, 23:59",
        "segunda-feira, 15 de março de 2027 às 23:59",
        "Thứ Hai, 15 tháng 3 2027, 11:59 CH",
        "15 tháng 3 năm 2027, 23:59",
        "15/03/2027 23:59",
        "03/15/2027 11:59 PM",
        "  Monday,  15 March  2027,\t11:59 PM ",
    ],
)
def test_a_time_is_read_in_any_of_these_forms(text: str) -> None:
    assert read_time(text, "Europe/Berlin") == EVENING


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("mar. 2 févr. 2027, 10:00", (2, 2)),  # a Tuesday in February, no March
        ("martes, 9 de febrero de 2027, 10:00", (2, 9)),
        ("martedì, 9 febbraio 2027, 10:00", (2, 9)),
        ("Dienstag, 9. Februar 2027, 10:00", (2, 9)),
        ("1 août 2027, 10:00", (8, 1)),
        ("31 Dec 2027 10:00", (12, 31)),
        ("1. Jänner 2027, 10:00", (1, 1)),
    ],
)
def test_a_weekday_is_no_month(text: str, day: tuple[int, int]) -> None:
    found = read_time(text, "UTC")
    assert (found.month, found.day, found.hour) == (*day, 10)


@pytest.mark.parametrize(
    ("text", "zone", "said"),
    [
        ("", "UTC", "has no time of day"),
        ("-", "UTC", "has no time of day"),
        ("15 March 2027", "UTC", "has no time of day"),
        ("11:59 PM", "UTC", "has no date"),
        ("03/04/2027 10:00", "UTC", "which is the day and which the month"),
        ("30 February 2027, 10:00", "UTC", "is no time"),
        ("15 March 2027, 25:00", "UTC", "is no time"),
        ("15 March 2027, 13:00 PM", "UTC", "no hour 13"),
        ("15 Smarch 2027, 10:00", "UTC", "no date that is known"),
        ("15 March 2027, 10:00 or 11:00", "UTC", "two times of day"),
        ("2027-03-15 10:00", "", "no offset, and the course no time zone"),
        ("2027-03-28 02:30", "Europe/Berlin", "does not exist in Europe/Berlin"),
        ("2027-03-15 10:00 +9900", "UTC", "an offset that no place has"),
        ("1 " * 4000, "UTC", "too long"),
    ],
)
def test_what_is_no_time_or_two_is_not_read(text: str, zone: str, said: str) -> None:
    with pytest.raises(DateError, match=said):
        read_time(text, zone)


def test_of_an_hour_that_comes_twice_it_is_the_first() -> None:
    found = read_time("2027-10-31 02:30", "Europe/Berlin")
    assert found.utcoffset() == timedelta(hours=2)
    assert read_time("2027-10-31 02:30 +0100", "Europe/Berlin") - found == timedelta(hours=1)


def test_a_column_says_which_comes_first() -> None:
    assert order_of(["03/04/2027 10:00", "15/03/2027 10:00", "-"]) == "day"
    assert order_of(["03/04/2027 10:00", "03/15/2027 10:00"]) == "month"
    assert order_of(["15/03/2027", "03/15/2027"]) == ""
    assert order_of(["03/04/2027"]) == ""
    assert read_time("03/04/2027 10:00", "UTC", "day").month == 4
    assert read_time("03/04/2027 10:00", "UTC", "month").month == 3


@given(st.text(max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(DateError):
        assert read_time(text, "Europe/Berlin").tzinfo is not None


@given(st.datetimes(min_value=datetime(2001, 1, 1), max_value=datetime(2199, 12, 31)))
def test_iso_is_what_python_says(moment: datetime) -> None:
    exact = moment.replace(microsecond=0, tzinfo=UTC)
    assert read_time(exact.isoformat(), "Europe/Berlin") == exact
