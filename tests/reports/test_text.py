"""Untrusted text, and files as a page shows them."""

import html
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

from scanlab.foreign_text import replaced, spelled_out
from scanlab.reports.findings import Mark, MergedFinding
from scanlab.reports.source import AROUND, HEAD, WHOLE, coloured, listing
from scanlab.reports.text import count, field, first_sentence, number, paragraph, sentence

TAG = re.compile(r"<[^>]*>")


def finding(*lines: int, number: int = 1) -> MergedFinding:
    one = MergedFinding("race.shared", "mistake", "", [], "", tuple(Mark(at, "read", "read") for at in lines), [], 1)
    one.number = number
    return one


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@given(st.text())
def test_what_is_spelled_out_neither_hides_nor_turns_anything(text: str) -> None:
    kinds = {unicodedata.category(letter) for letter in spelled_out(text) if letter not in "\n\t"}
    assert not kinds & {"Cc", "Cs"}
    directions = {unicodedata.bidirectional(letter) for letter in spelled_out(text)}
    assert not directions & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(alphabet=st.characters()) | st.text(alphabet="\x1b[31m\r\u202e\ufffe\U0001ffff\ud800\x9b"))
def test_what_is_spelled_out_has_nothing_left_to_replace(text: str) -> None:
    harmless = spelled_out(text)
    assert replaced(harmless) == harmless


def test_tricks_are_shown_as_what_they_are() -> None:
    assert spelled_out("a\x1b[31m\x00b\u202ec\u200bd\x7f") == "a␛[31m␀b⟨U+202E⟩c⟨U+200B⟩d␡"
    assert spelled_out("häßlich … 日本 🙂\n\tx") == "häßlich … 日本 🙂\n\tx"


@given(st.text(max_size=2000), st.integers(1, 50))
def test_a_field_is_one_short_line(text: str, most: int) -> None:
    shown = field(text, most)
    assert "\n" not in shown
    assert len(shown) <= most + len("… (999999 characters)")


def test_what_is_cut_says_how_much_there_was() -> None:
    assert field("x" * 1000, 10) == "xxxxxxxxxx… (1000 characters)"
    assert paragraph(["a", "b", "c"], 2) == ["a", "b", "… 1 more lines"]


def test_numbers_and_words() -> None:
    assert [number(value) for value in (0, 9, 1000, 12345, 1234567, 0.8967, 2.0)] == [
        "0", "9", "1\u202f000", "12\u202f345", "1\u202f234\u202f567", "0.897", "2",
    ]  # fmt: skip
    assert count(1, "lab") == "1 lab"
    assert count(0, "lab") == "0 labs"
    assert sentence("store once.") == "Store once."
    assert sentence("fix it") == "Fix it."
    assert sentence("") == ""
    assert sentence("a barrier is missing") == "A barrier is missing."
    assert sentence("no thread waits") == "No thread waits."
    assert sentence("y[0] is the identity") == "y[0] is the identity."
    assert sentence("d_y, the output, is unwritten") == "d_y, the output, is unwritten."
    assert sentence("a < b in the place of a > b") == "a < b in the place of a > b."
    assert first_sentence("How often (e.g. n / 32). More: none") == "How often (e.g. n / 32)."


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_colours_change_no_letter_and_no_line(text: str) -> None:
    lines = spelled_out(text).split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    if max(map(len, lines), default=0) > 200:
        return
    assert [html.unescape(TAG.sub("", line)) for line in coloured(text)] == lines


def test_lines_are_those_of_the_compiler(tmp_path: Path) -> None:
    shown = listing(write(tmp_path / "a.cu", "one\r\ntwo\rstill two\u2028and here\x0c\nthree"), [finding(3)])
    assert [row.number for row in shown.rows] == [1, 2, 3]
    assert [bool(row.notes) for row in shown.rows] == [False, False, True]
    assert "three" in shown.rows[2].code
    assert shown.lines == 3


def test_a_long_line_is_cut_and_counted(tmp_path: Path) -> None:
    shown = listing(write(tmp_path / "a.cu", "// " + "x" * 59_997 + "\nint a;\n"), [])
    assert len(shown.rows[0].code) < 1000
    assert "… 59760 more characters" in shown.rows[0].code  # of 60,000, 240 are shown
    assert "int a;" in TAG.sub("", shown.rows[1].code)


def test_of_a_long_file_the_marked_lines_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "a.cu", "".join(f"int a{at};\n" for at in range(1, 20_001)))
    shown = listing(path, [finding(19_000)])
    numbers = [row.number for row in shown.rows if row.number]
    assert numbers[:HEAD] == list(range(1, HEAD + 1))
    assert numbers[HEAD:] == list(range(19_000 - AROUND, 19_000 + AROUND + 1))
    assert sum(row.left_out for row in shown.rows) + len(numbers) == 20_000 == shown.lines
    (marked,) = [row for row in shown.rows if row.notes]
    assert marked.number == 19_000
    assert "a19000" in marked.code


def test_a_file_that_is_marked_everywhere_stays_short(tmp_path: Path) -> None:
    path = write(tmp_path / "a.cu", "x;\n" * 5_000)
    assert len(listing(path, [finding(*range(1, 5_001))]).rows) < 2 * WHOLE


def test_a_file_of_an_ordinary_length_is_shown_whole(tmp_path: Path) -> None:
    shown = listing(write(tmp_path / "a.cu", "x;\n" * WHOLE), [])
    assert [row.number for row in shown.rows] == list(range(1, WHOLE + 1))


def test_findings_of_one_kind_share_a_note(tmp_path: Path) -> None:
    shown = listing(write(tmp_path / "a.cu", "x;\ny;\n"), [finding(2, number=1), finding(2, number=2)])
    (note,) = shown.rows[1].notes
    assert note.numbers == (1, 2)


def test_marks_beyond_the_file_are_no_error(tmp_path: Path) -> None:
    assert not listing(write(tmp_path / "a.cu", "x;\n"), [finding(0, 2, 10**9)]).is_marked


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (bytes(range(256)) * 20, "it is not text"),
        (b"a\0" * 99, "it is not text"),
    ],
)
def test_what_is_no_text_is_not_shown(data: bytes, trouble: str, tmp_path: Path) -> None:
    shown = listing(write(tmp_path / "a.cu", data), [finding(1)])
    assert (shown.trouble, shown.size, list(shown.rows)) == (trouble, len(data), [])


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    assert listing(tmp_path / "none.cu", []).trouble == "it cannot be read: No such file or directory"
