"""Every key of a TOML text is found in the line where it stands."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanlab.toml_text import line_of, places

TEXT = '''\
# a comment with [[lab]] and key = "value"
title = "a # no comment, [[lab]] no table"
numbers = [1, 2,
  3, # [ four
  4]
"quoted key" = 'C:\\'
long = """
name = "nothing"
[[lab]] \\"""
"""
literal = \'\'\'
key = 1
\'\'\'
empty = ""
dotted.a . b = 1
when = 2027-03-14 23:59:00
after = 1.5
point = { x = 1, y = [ { z = 2 } ] }

[late] # policy
percent = 10
[[lab]]
name = "01"
[[lab.check]]
points = 1
[[lab.check]]
points = 2
[lab.late]
percent = 3
[[ lab ]]
  name = "02"
  [[ "lab" . 'check' ]]
  points = 3
five_quotes = """a"""""
last = true'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("numbers",), 3),
        (("numbers", 0), 3),
        (("numbers", 2), 4),
        (("numbers", 3), 5),
        (("quoted key",), 6),
        (("long",), 7),
        (("literal",), 11),
        (("empty",), 14),
        (("dotted",), 15),
        (("dotted", "a", "b"), 15),
        (("when",), 16),
        (("after",), 17),
        (("point", "y", 0, "z"), 18),
        (("late",), 20),
        (("late", "percent"), 21),
        (("lab", 0), 22),
        (("lab", 0, "name"), 23),
        (("lab", 0, "check", 0), 24),
        (("lab", 0, "check", 1, "points"), 27),
        (("lab", 0, "late", "percent"), 29),
        (("lab", 1), 30),
        (("lab", 1, "name"), 31),
        (("lab", 1, "check", 0, "points"), 33),
        (("lab", 1, "check", 0, "five_quotes"), 34),
        (("lab", 1, "check", 0, "last"), 35),
    ],
)
def test_the_line_of_a_key(path: tuple[str | int, ...], line: int) -> None:
    tomllib.loads(TEXT)
    assert places(TEXT)[path] == line


def test_what_is_missing_is_reported_at_the_table_around_it() -> None:
    assert line_of(places(TEXT), ("lab", 1, "check", 0, "name")) == 32
    assert line_of(places(TEXT), ("nowhere",)) is None


def test_windows_line_ends_and_no_end_of_the_last_line() -> None:
    assert places("a = 1\r\n[b]\r\nc = 2")[("b", "c")] == 3


WORDS = st.text(alphabet="ab\"'#[]{}=.,\\\n é", max_size=8)
KEYS = st.text(alphabet="abc-_ .#", min_size=1, max_size=4)
VALUES = st.recursive(
    st.one_of(st.integers(-9, 10**9), st.booleans(), WORDS, st.floats(-5, 5)), lambda inner: st.lists(inner, max_size=3)
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=3)


def written(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",\n".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@settings(deadline=None, database=None)
@given(TABLES, st.lists(TABLES, max_size=3))
def test_of_any_text_the_keys_and_their_lines(table: dict[str, Any], tables: list[dict[str, Any]]) -> None:
    lines, expected = [], {}
    for place, entries, header in [
        ((), table, None),
        *((("t", i), one, "[[t]]") for i, one in enumerate(tables)),
    ]:
        lines += [header] if header else []
        for key, value in entries.items():
            if place == () and key == "t":
                continue
            expected[(*place, key)] = "\n".join(lines).count("\n") + 2 if lines else 1
            lines.append(f"{json.dumps(key)} = {written(value)}")
    text = "\n".join(lines)
    tomllib.loads(text)
    found = places(text)
    assert {path: found.get(path) for path in expected} == expected
