"""What a course file says now and did not say when its class was graded: by key, for people.

Dates, late work, attempts, weights and what holds for one student change no result of the judge: points are made from
results that are kept. Another rubric or another kind of seed changes what is graded; another title is another course.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from scanlab.course.model import Course, CourseLab, Due, Terms, has_secret_seed


@dataclass(frozen=True)
class Changes:
    """The differences between two course files, a line each."""

    points: tuple[str, ...] = ()
    """Those that only change points, which are made anew from the same results."""
    results: tuple[str, ...] = ()
    """Those that would change results."""


def changes(before: Mapping[str, Any], now: Mapping[str, Any], labs: Iterable[str], seed: int) -> Changes:
    """Return what is different in two courses, as `Class.course` has them, for a class graded on `labs` with `seed`.

    Raises UsageError where this version cannot read one of them.
    """
    if not now:
        return Changes()
    old, new = Course.of(before), Course.of(now)
    secret = (has_secret_seed(before, seed), has_secret_seed(now, seed))
    results = [*_differing("a secret seed", *secret)]
    results += [
        f"{lab[:2]}: its checks or limits are others" for lab in labs if old.lab(lab).rubric != new.lab(lab).rubric
    ]
    if not before:
        return Changes((f"a course file: none then, {new.title!r} now",), tuple(results))
    results += [*_differing("title", old.title, new.title), *_differing("seed", old.seed, new.seed)]
    points = [*_differing("timezone", old.zone, new.zone), *_differing("handouts", old.handouts, new.handouts)]
    return Changes((*points, *_of_labs(old, new), *_of_students(old.students, new.students)), tuple(results))


def _differing(key: str, old: object, new: object) -> Iterator[str]:
    """Yield the keys below a key whose values differ, with both."""
    if isinstance(old, BaseModel | None) and isinstance(new, BaseModel | None) and not isinstance(old or new, Due):
        old, new = (dict(one or {}) for one in (old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*old, *new]):
            yield from _differing(f"{key} {name}".replace("_", " ").strip(), old.get(name), new.get(name))
    elif old != new:
        yield f"{key}: {_text(old)} then, {_text(new)} now"


def _text(value: object) -> str:
    if isinstance(value, Due):
        return value.at.isoformat()
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else "none" if value in (None, "") else str(value)


def _of_labs(old: Course, new: Course) -> list[str]:
    """Return what is different in labs, each once, with the labs' numbers where it is not in all."""
    both = [(one, other) for one in old.labs if (other := new.find(one.name))]
    found: dict[str, list[str]] = {}
    for one, other in both:
        for line in _differing("", _said(one), _said(other)):
            found.setdefault(line, []).append(one.name[:2])
    lines = [line if len(in_labs) == len(both) else f"{' '.join(in_labs)}: {line}" for line, in_labs in found.items()]
    names = [tuple(lab.name[:2] for lab in course.labs) for course in (old, new)]
    return [*_differing("labs", *names), *lines]


def _said(lab: CourseLab) -> dict[str, object]:
    """Return what is said of a lab beside its rubric."""
    return {name: value for name, value in lab if name not in ("name", "title", "rubric")}


def _of_students(old: Sequence[Terms], new: Sequence[Terms]) -> list[str]:
    before, now = ({terms.id: terms for terms in every} for every in (old, new))
    lines = []
    for who in dict.fromkeys([*before, *now]):
        then, after = before.get(who, Terms(id=who)), now.get(who, Terms(id=who))
        if then.extensions != after.extensions:
            what = "new" if not then.extensions else "another" if after.extensions else "no more"
            lines.append(f"{what} extension for {who}")
        excused = [tuple(lab[:2] for lab in terms.excused) for terms in (then, after)]
        lines += [
            *_differing(f"{who}, excused", *excused),
            *_differing(f"{who}, attempts", then.attempts, after.attempts),
        ]
    return lines
