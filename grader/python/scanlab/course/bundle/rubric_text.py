"""Write a rubric as the lab.toml that a student gets."""

import json
import math
import tomllib
from typing import Any

from scanlab.labs.rubric import Rubric

WIDTH = 100


def student_rubric(rubric: Rubric, visible: set[str], labs: set[str]) -> Rubric:
    """Return what a student may see of a rubric: the `visible` checks, and of `builds_on` nothing but `labs`.

    A check that needs one that is not visible needs what that one needs.
    """
    needs = {check.name: check.needs for check in rubric.check}

    def seen(name: str | None) -> str | None:
        while name is not None and name not in visible:
            name = needs[name]
        return name

    checks = [check.model_copy(update={"needs": seen(check.needs)}) for check in rubric.check if check.name in visible]
    base = rubric.builds_on if rubric.builds_on in labs else None
    return rubric.model_copy(update={"check": checks, "builds_on": base})


def rubric_text(rubric: Rubric) -> str:
    """Return a rubric as TOML, from which `read_rubric` reads the same again."""
    data = rubric.model_dump(exclude_defaults=True)
    arrays = {"check": data.pop("check"), "hint": data.pop("hint", [])}
    tables = {name: data.pop(name) for name in ("limits", "trace") if name in data}
    lines = _pairs(data)
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_pairs(table)]
    for name, several in arrays.items():
        for table in several:
            causes = table.pop("cause", [])
            lines += ["", f"[[{name}]]", *_pairs(table)]
            for cause in causes:
                lines += ["", f"[[{name}.cause]]", *_pairs(cause)]
    text = "\n".join(lines) + "\n"
    if Rubric.model_validate(tomllib.loads(text)) != rubric:
        raise AssertionError(f"{rubric.title}: written as TOML it is another rubric")
    return text


def _pairs(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in table.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        flat = f"[{', '.join(map(_value, value))}]"
        return flat if len(flat) <= WIDTH else "\n".join(["[", *(f"  {_value(item)}," for item in value), "]"])
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else "inf"


def _string(text: str) -> str:
    """Return a string of TOML: long ones over several lines."""
    if "\n" not in text:
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    lines = [json.dumps(line, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f") for line in text.split("\n")]
    return '"""\n' + "\n".join(lines) + '"""'
