"""Gradescope: `submission_12345/`, and beside them `submission_metadata.yml`: who is behind each, and when it came."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scanlab.classroom.intake.handing import Handing, Placed, Who, in_json, owner_of_name
from scanlab.classroom.intake.items import METADATA, Item, composed, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read
from scanlab.classroom.records import Problem
from scanlab.errors import UsageError
from scanlab.on_demand import YAML, provide
from scanlab.people import folded

NAME = re.compile(r"submission_\d+")
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ?(Z|UTC|[+-]\d\d:?\d\d)?")


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export. Raises UsageError for a broken submission_metadata.yml."""
    metadata = next((item for item in pile.items if item.parts == (METADATA,)), None)
    if metadata and metadata.data is None:
        raise UsageError(f"{METADATA} cannot be read: {metadata.refused or 'it is no file'}")
    about = read_metadata(metadata.data) if metadata and metadata.data is not None else {}

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        if top not in about and not NAME.fullmatch(top):
            return None
        return _handing(top, about.get(top)), Placed(tuple(inner) or (top,), item)

    return read


def _handing(folder: str, about: "About | None") -> Handing:
    if about is None or not about.people:
        missing = Problem(name=folder, reason=f"{METADATA} does not name {'it' if about is None else 'its people'}")
        return Handing("gradescope", owner_of_name(folder), printable(folder), attempt=folder, problems=[missing])
    metadata = {"gradescope_submission": folder.removeprefix("submission_")}
    who = tuple(Who(one.name, one.ids) for one in about.people)
    ids = sorted(folded("/".join(one.exact or (one.name,))) for one in who)
    if len(who) > 1:
        metadata["group"] = printable(", ".join(one.name or one.exact[0] for one in who if one.name or one.exact))
    elif who[0].exact:
        metadata["gradescope_sid"] = printable(who[0].exact[0])
    owner = f"gradescope {in_json(' '.join(ids).strip() or folder)}"
    at = about.submitted_at
    return Handing("gradescope", owner, printable(folder), who, folder, submitted_at=at, metadata=metadata)


@dataclass(frozen=True)
class Submitter:
    """One person, as Gradescope knows them."""

    name: str
    ids: tuple[str, ...]
    """The student id and the address, as far as there are any."""


@dataclass(frozen=True)
class About:
    """What the metadata says of one submission; a group has several people."""

    people: tuple[Submitter, ...]
    submitted_at: str | None


def read_metadata(data: bytes) -> dict[str, About]:
    """Return what the file says of each submission's folder.

    Raises UsageError when it is no such file.
    """
    provide(YAML, f"reading Gradescope's {METADATA}")
    import yaml

    # Every value is a text: a student id 00123 keeps its zeros, and no tag makes an object.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        tree = yaml.load(data, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        at = getattr(error, "problem_mark", None)
        line = f":{at.line + 1}" if at else ""
        raise UsageError(f"{METADATA}{line}: no YAML: {printable(str(error).splitlines()[0])}") from error
    if not isinstance(tree, dict):
        raise UsageError(f"{METADATA} names no submissions")
    return {composed(str(name)): _about(entry) for name, entry in tree.items() if isinstance(entry, dict)}


def _about(entry: Mapping[str, Any]) -> About:
    submitters = entry.get(":submitters")
    people = [person for person in submitters if isinstance(person, dict)] if isinstance(submitters, list) else []
    return About(tuple(map(_submitter, people)), iso_time(str(entry.get(":created_at") or "")))


def _submitter(person: Mapping[str, Any]) -> Submitter:
    ids = [str(person.get(key) or "").strip() for key in (":sid", ":email")]
    return Submitter(str(person.get(":name") or "").strip(), tuple(text for text in ids if text))


def iso_time(text: str) -> str | None:
    """Return a time as YAML has it in ISO 8601 with an offset, in UTC where it has none; None for anything else."""
    found = TIME.fullmatch(text.strip())
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    offset = "+00:00" if zone in (None, "Z", "UTC") else zone
    try:
        when = datetime.fromisoformat(f"{day}T{clock}{'.' + (fraction + '000000')[:6] if fraction else ''}{offset}")
    except ValueError:
        return None
    return when.astimezone(UTC).isoformat()


GRADESCOPE = Platform("gradescope", _reader, NAME.fullmatch)
