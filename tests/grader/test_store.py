"""What a task has written is taken for a judge's result only when it is one."""

import json
from pathlib import Path
from typing import Any

import pytest

from made_results import check, result
from scanlab.classroom.store import Store, Unit
from scanlab.judging.result import LabResult

UNIT = Unit("02_kogge_stone", "0" * 64)
RESULT = result(check("a", max_points=60), check("b", "fail", 40, points=0.5), lab=UNIT.lab)
SOUND = RESULT.model_dump(mode="json")
CHECKS = SOUND["checks"]


def read(folder: Path, text: str) -> LabResult | None:
    store = Store(folder)
    store.graded(UNIT).parent.mkdir(parents=True, exist_ok=True)
    store.graded(UNIT).write_text(text)
    return store.read_graded(UNIT)


def test_a_result_is_taken(tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(SOUND)) == RESULT


@pytest.mark.parametrize(
    "lie",
    [
        {"lab": "03_double_buffer"},
        {"verdict": "excellent"},
        {"points": 100},
        {"points": 1e9, "max_points": 1e9},
        {"points": float("nan")},
        {"max_points": 10**400},
        {"points": True},
        {"points": "100"},
        {"max_points": 60.5},
        {"checks": []},
        {"checks": None},
        {"checks": ["all right"]},
        {"checks": [CHECKS[0], {**CHECKS[1], "points": 41}], "points": 101},
        {"checks": [{**CHECKS[0], "points": -10}], "points": -10, "max_points": 60},
        {"schema": "scanlab-grade"},
    ],
)
def test_what_is_none_is_graded_again(tmp_path: Path, lie: dict[str, Any]) -> None:
    assert read(tmp_path, json.dumps({**SOUND, **lie})) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, json.dumps(SOUND)[:-20]])
def test_what_is_no_json_object_is_graded_again(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) is None
