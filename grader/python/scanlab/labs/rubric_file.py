"""Read lab.toml, with what labs share; every mistake is reported with its file, line and key."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scanlab.errors import KitError
from scanlab.labs.rubric import Rubric
from scanlab.paths import shown
from scanlab.toml_text import Place, TomlError, line_of, places, read_toml

COMMON = "common.toml"
"""What labs share, in the folder that theirs lie in."""
EACH = "each"
"""The table of what holds for each check of a kind."""
KINDS = ("correctness", "count", "timing")


def read_rubric(path: Path) -> Rubric:
    """Read a lab.toml, with what it takes from the common.toml beside its folder.

    Keys that the file does not have come from common.toml. Those of a check come from the file's [each.KIND], else from
    common.toml's check of the same name, else from its [each.KIND].

    Raises KitError naming file, line and field for everything that is wrong with it.
    """
    own = _Source.of(path)
    common = path.parent.parent / COMMON
    shared = _Source.of(common) if common.is_file() else _Source(common, "", {})
    data, origins = _merged(own, shared)
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            location = tuple(part for part in problem["loc"] if part not in KINDS)
            message = problem["msg"].removeprefix("Value error, ")
            source, place = _origin(origins, location) or (own, location)
            line = line_of(places(source.text), place)
            lines.append(f"{shown(source.path)}{f':{line}' if line else ''}: {_field(list(location))}{message}")
        raise KitError("\n".join(dict.fromkeys(lines))) from error


@dataclass(frozen=True)
class _Source:
    """A file of TOML: lab.toml, or common.toml."""

    path: Path
    text: str
    data: dict[str, Any]

    @classmethod
    def of(cls, path: Path) -> "_Source":
        """Read a file. Raises KitError where there is none, or no TOML in it."""
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise KitError(f"{shown(path)}: not UTF-8 (byte {error.start})") from error
        except OSError as error:
            raise KitError(f"{shown(path)}: cannot read it: {error.strerror}") from error
        try:
            data = read_toml(text)
        except TomlError as error:
            raise KitError(f"{shown(path)}:{error.line}: not TOML: {error}") from error
        each = data.get(EACH, {})
        for kind in each if isinstance(each, dict) else [""]:
            if kind not in KINDS or not isinstance(each[kind], dict):
                line = line_of(places(text), (EACH, kind))
                known = ", ".join(f"[{EACH}.{one}]" for one in KINDS)
                raise KitError(f"{shown(path)}:{line}: {EACH}: known are {known}")
        return cls(path, text, data)


Origins = dict[Place, tuple[_Source, Place]]
"""Where a value of the merged rubric was written, for those that its check in lab.toml does not have itself."""


def _merged(own: _Source, shared: _Source) -> tuple[dict[str, Any], Origins]:
    """Return what a lab.toml says together with what labs share, and where that was written."""
    origins: Origins = {}
    data = {key: value for key, value in own.data.items() if key != EACH}
    for key, value in shared.data.items():
        if key in (EACH, "check"):
            continue
        if key not in data:
            data[key] = value
            origins[(key,)] = (shared, (key,))
        elif isinstance(value, dict) and isinstance(data[key], dict):
            data[key] = value | data[key]
            origins |= {(key, name): (shared, (key, name)) for name in value if name not in own.data[key]}
    if not isinstance(data.get("check"), list):
        return data, origins
    data["check"] = checks = list(data["check"])
    shared_checks = shared.data.get("check")
    named = {
        check.get("name"): _Layer(shared, ("check", i), check)
        for i, check in enumerate(shared_checks if isinstance(shared_checks, list) else [])
        if isinstance(check, dict) and isinstance(check.get("name"), str)
    }
    for i, check in enumerate(checks):
        if not isinstance(check, dict):
            continue
        name = check.get("name")
        same = named.get(name) if isinstance(name, str) else None
        kind = check.get("kind", same.keys.get("kind") if same else None)
        checks[i] = dict(check)
        for layer in (_each(own, kind), same, _each(shared, kind)):
            for key in layer.keys.keys() - checks[i].keys() if layer else ():
                checks[i][key] = layer.keys[key]
                origins[("check", i, key)] = (layer.source, (*layer.place, key))
    return data, origins


@dataclass(frozen=True)
class _Layer:
    """Keys that a check may take, and where they were written."""

    source: _Source
    place: Place
    keys: dict[str, Any]


def _each(source: _Source, kind: Any) -> _Layer | None:
    tables = source.data.get(EACH, {})
    return _Layer(source, (EACH, kind), tables[kind]) if isinstance(kind, str) and kind in tables else None


def _origin(origins: Origins, location: Place) -> tuple[_Source, Place] | None:
    """Return where the value at a place of the merged rubric was written; None: in lab.toml, at that place."""
    for length in range(len(location), 0, -1):
        if found := origins.get(location[:length]):
            return found[0], (*found[1], *location[length:])
    return None


def _field(location: list[str | int]) -> str:
    name = ""
    for part in location:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return f"{name}: " if name else ""
