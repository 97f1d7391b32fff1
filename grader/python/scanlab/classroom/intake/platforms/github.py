"""GitHub Classroom: `ASSIGNMENT-login/`, as `gh classroom clone student-repos` makes them.

Whoever deletes a repository and begins anew gets `ASSIGNMENT-login-1`. A login neither begins nor ends with `-`, and is
compared whole: nothing shows whether `x-ann` is ann's in the assignment `x`, until others' repositories are there.
"""

from collections.abc import Iterable, Mapping

from scanlab.classroom.intake.handing import Handing, Placed, Who, in_json
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read, is_file
from scanlab.classroom.intake.roster import Roster
from scanlab.errors import UsageError

MOST_LISTED = 5


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export: those that begin with its prefix."""
    prefix = pile.prefix

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        if not prefix or not top.startswith(prefix) or is_file(item):
            return None
        login = top[len(prefix) :]
        owner, metadata = f"github {in_json(login.casefold())}", {"github_login": printable(login)}
        handing = Handing("github", owner, printable(top), (Who("", (login,)),), top, metadata=metadata)
        return handing, Placed(tuple(inner) or (top,), item)

    return read


def prefix_of(tops: Iterable[str], roster: Roster) -> str:
    """Return what stands before the logins in the repositories' names; empty: they are no repositories of a class.

    It stands before most names, and before the logins of at least two students. Whoever can choose their account's
    name could make others believe in another prefix: whoever may be meant by any has to be meant by this one.

    Raises UsageError where two prefixes may be meant.
    """
    names = list(tops)
    whose: dict[str, dict[str, None]] = {}
    for top in names:
        for at in (at for at, letter in enumerate(top) if letter == "-"):
            if student := roster.by_login(top[at + 1 :]):
                whose.setdefault(top[: at + 1], {})[student[0].id] = None
    if 2 * sum(bool(roster.by_stem(top)) for top in names) > len(names):
        return ""
    likely = [
        prefix
        for prefix, students in whose.items()
        if len(students) > 1 and 2 * sum(top.startswith(prefix) for top in names) > len(names)
    ]
    if not likely:
        return ""
    best = max(likely, key=lambda prefix: (len(whose[prefix]), -len(prefix)))
    others = [prefix for prefix in whose if not whose[prefix].keys() <= whose[best].keys()]
    if others:
        raise UsageError(_which(whose, best, others))
    return best


def _which(whose: Mapping[str, Iterable[str]], best: str, others: Iterable[str]) -> str:
    lines = [
        f"\n  --from github:{prefix}  {', '.join([*whose[prefix]][:MOST_LISTED])}"
        f"{' …' if len([*whose[prefix]]) > MOST_LISTED else ''}"
        for prefix in dict.fromkeys([best, *others])
    ]
    return f"the repositories' names may begin with the assignment in {len(lines)} ways; say which:{''.join(lines)}"


GITHUB = Platform("github", _reader)
