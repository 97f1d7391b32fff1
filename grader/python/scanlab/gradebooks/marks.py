"""Put a class's points into a downloaded gradebook: who is which row, on which scale, and what is refused."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scanlab.classroom.records import Record
from scanlab.errors import UsageError
from scanlab.gradebooks.csv_cells import Row, Sheet
from scanlab.gradebooks.model import Export, is_absent
from scanlab.gradebooks.text import number, one_line
from scanlab.judging import report
from scanlab.people import folded, lost_number

VALUE = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
COUNTED = re.compile(r"\d+,\d+")
MOST_NAMED = 10
MOST_LINES = 50
"""At most this many reasons are listed; the others are counted."""

Identity = Mapping[str, Sequence[str]]
"""What a submission may be called in each column of a gradebook, by the column's name."""


@dataclass
class Refusals:
    """Why nothing is written: each reason, with those whom it concerns."""

    reasons: dict[str, list[str]] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    """Those on no roster who have no row: they are left out, and refuse nothing."""
    absent: list[str] = field(default_factory=list)
    """The same of those who have handed nothing in."""

    def add(self, who: str, reason: str) -> None:
        """Add a reason for one submission, or for one line of the file."""
        self.reasons.setdefault(reason, []).append(who)

    def stop(self) -> None:
        """Raise UsageError with all reasons, a line each, if there are any."""
        if not self.reasons:
            return
        reasons = [f"{some(who)}: {reason}" for reason, who in self.reasons.items()]
        if len(reasons) > MOST_LINES:
            reasons = [*reasons[:MOST_LINES], f"and {len(reasons) - MOST_LINES} more"]
        raise UsageError("\n  ".join(["nothing is written:", *reasons]))


def some(names: Sequence[str], most: int = 5) -> str:
    """Return the first of `names`, and how many there are."""
    return ", ".join(names[:most]) + (f" … ({len(names)} in all)" if len(names) > most else "")


def value(text: str) -> float | None:
    """Return the number in a cell, with a decimal point or comma; None where there is none."""
    return float(text.strip().replace(",", ".")) if VALUE.fullmatch(text.strip()) else None


def has_decimal_comma(texts: Iterable[str]) -> bool:
    """Return whether numbers are written with a decimal comma here."""
    return any(COUNTED.fullmatch(text.strip()) for text in texts)


def match(
    sheet: Sheet, rows: Sequence[Row], records: Sequence[tuple[Record, Identity]], name: str, only: str | None
) -> tuple[dict[str, Row], Refusals]:
    """Return the row of each submission by its key, and why there is none.

    A submission is a row when an identifier of it stands in that row, and in no other. With `only`, the name of a
    column, no other column counts. Names of people are never compared: two may have the same. Whoever is on no roster
    and has no row is left out.
    """
    refusals = Refusals()
    columns = {column for _, identity in records for column in identity}
    if only is not None:
        if not sheet.column(only):
            there = ", ".join(repr(column) for column in sorted(columns) if sheet.column(column))
            raise UsageError(f"{name}: no column {only!r}, which --match names; there are {there or 'none'}")
        if columns and only not in columns:
            raise UsageError(f"{name}: --match {only}: nobody is known by that; one of {', '.join(sorted(columns))}")
        columns = {only}
    index: dict[tuple[str, str], list[Row]] = {}
    lost = ""
    for column in sorted(columns):
        for at in sheet.column(column):
            for row in rows:
                if why := lost_number(row.text(at)):
                    lost = lost or f"{column!r} in line {row.line}: {why}"
                elif text := folded(row.text(at)):
                    index.setdefault((column, text), []).append(row)
    has_roster = any(record.student for record, _ in records)
    found: dict[str, Row] = {}
    owners: dict[int, str] = {}
    for record, identity in records:
        names = {(column, folded(text)) for column in columns for text in identity.get(column, ()) if folded(text)}
        at = {row.line: row for wanted in names for row in index.get(wanted, ())}
        if len(at) == 1:
            row = next(iter(at.values()))
            if row.line in owners:
                refusals.add(
                    record.key, f"so is {owners[row.line]}: line {row.line} of {name}; leave one out with --without"
                )
                continue
            owners[row.line] = record.key
            found[record.key] = row
        elif at:
            listed = " and ".join(str(line) for line in sorted(at))
            refusals.add(record.key, f"lines {listed} of {name} may be meant; name the identifying column with --match")
        elif has_roster and record.student is None and not record.claims:
            refusals.strangers.append(record.key)
        elif is_absent(record):
            refusals.absent.append(record.key)
        else:
            known = ", ".join(sorted({one_line(text) for _, text in names})) or "no identifier: not on the roster"
            advice = lost or f"--without {record.key} leaves it out"
            refusals.add(record.key, f"{name} has no row for it ({known}); {advice}")
    return found, refusals


def scaled(export: Export, record: Record, most: float, where: str, refusals: Refusals) -> float | None:
    """Return the points on the platform's scale, whose maximum is `most`; None, and a reason, where they differ."""
    if abs(record.max_points - most) < 0.005:
        return record.points
    if export.options.scale == "proportional" and record.max_points > 0:
        return record.points * most / record.max_points
    refusals.add(
        record.key,
        f"{where} is out of {report.points(most)}, and this is out of {report.points(record.max_points)};"
        " --scale proportional converts it, or change the platform's points",
    )
    return None


@dataclass
class Column:
    """The column that is filled in, and what has become of its cells."""

    sheet: Sheet
    at: int
    has_comma: bool
    """Its numbers have a decimal comma."""
    filled: int = 0
    raised: int = 0
    same: int = 0
    zeros: list[str] = field(default_factory=list)
    """Who has 0 now, and had nothing, or something else."""
    lowered: list[str] = field(default_factory=list)
    """Whose number is smaller now, with both."""
    replaced: list[str] = field(default_factory=list)
    """Who had a text that is no number, with both."""

    def put(self, row: Row, record: Record, points: float) -> None:
        """Put a submission's points into its row, unless they are there already."""
        rounded, old = number(points), row.text(self.at).strip()
        before, text = value(old), report.points(rounded)
        if before == rounded:
            self.same += 1
            return
        why = " (nothing could be graded)" if rounded == 0 and not any(lab.sha256 for lab in record.labs) else ""
        both = f"{record.key} {one_line(old)} to {text}{why}"
        if rounded == 0:
            self.zeros.append(f"{record.key}{why}")
        if not old:
            self.filled += 1
        elif before is None:
            self.replaced.append(both)
        elif before < rounded:
            self.raised += 1
        else:
            self.lowered.append(both)
        self.sheet.change(row, self.at, text.replace(".", ",") if self.has_comma else text)

    def notes(self, untouched: Sequence[str], refusals: Refusals) -> list[str]:
        """Return what a person should know of the column, of the rows that stay, and of whom no row is."""
        counted = [f"{self.filled} filled, {self.raised} raised, {len(self.lowered)} lowered"]
        counted += [f"{len(self.replaced)} in place of a text"] if self.replaced else []
        found = [
            f"{self.sheet.rows[0].text(self.at).strip()}: {', '.join(counted)}, {self.same} had these points already"
        ]
        found += [
            f"{what}: {some(names, MOST_NAMED)}"
            for what, names in (("0 now", self.zeros), ("lowered", self.lowered), ("in place of a text", self.replaced))
            if names
        ]
        if refusals.strangers:
            found.append(f"on no roster and in no row, and left out: {some(refusals.strangers, MOST_NAMED)}")
        if refusals.absent:
            found.append(f"handed nothing in, and in no row: {some(refusals.absent, MOST_NAMED)}")
        if untouched:
            found.append(f"without a result, and left as they were: {some(untouched, 20)}")
        return found
