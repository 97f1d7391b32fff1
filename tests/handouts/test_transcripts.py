"""The transcripts in the pages are what the kit prints. `transcripts.py --write` brings them up to date."""

from pathlib import Path

import pytest

import transcripts
from texts import LABS, REPOSITORY, TEXTS, name
from transcripts import Recipe, TranscriptError, blocks, shown

COMMAND = "`python tests/handouts/transcripts.py --write` brings the pages up to date"
PRINTED = """\
  pass           20/20  right
  fail            0/10  two barriers a step
RACE 02_kogge_stone: shared s_xy[5], kernel k
  write by thread 5   labs/02_kogge_stone/scan.cu:31
  why it is wrong
FAIL 02_kogge_stone: barriers of inclusive_scan
  barriers = 30, expected 18 to 22
  How often. About 30: a third one. Thousands: a loop.
  again: grader/scanlab check 02 --n 1024
FAIL 02_kogge_stone: Kogge-Stone scan, 20 of 100 points
"""


def a_page(*parts: str) -> str:
    return "# A page\n\n" + "\n\n".join(parts) + "\n"


def test_every_transcript_is_what_is_printed() -> None:
    said = transcripts.compare()
    assert not said, "".join(said) + COMMAND


@pytest.mark.parametrize("page", TEXTS, ids=name)
def test_what_looks_like_a_transcript_is_marked(page: Path) -> None:
    blocks(page, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "block",
    [
        "```text\n$ grader/scanlab list\n01_sequential\n```",
        "    RACE 02_kogge_stone: shared s_xy[5], kernel k",
        "```\n  again: grader/scanlab check 02 --n 1\n```",
        "    lab             verdict     points",
        "- An item:\n\n      fail            0/10  two barriers a step",
        "<!-- transcript: a -->\n\n```text\n$ grader/scanlab list\n```",
        "<!-- transcript: a -->\n\nNo block.",
    ],
)
def test_one_without_a_mark_or_a_mark_without_one_is_found(block: str) -> None:
    with pytest.raises(TranscriptError, match=r"02_kogge_stone\.md"):
        blocks(LABS[1], a_page(block))


def test_what_is_no_transcript_needs_no_mark() -> None:
    commands = "    grader/scanlab check 02     # compile, run\n    grader/scanlab list"
    assert blocks(LABS[1], a_page(commands, "```cuda\n__syncthreads();\n```")) == []


def test_a_marked_block_is_found_where_it_stands() -> None:
    text = a_page("<!-- transcript: a.b-1 -->\n```text\n$ grader/scanlab list\nx\n```", "Text.")
    (block,) = blocks(LABS[1], text)
    assert (block.name, block.text, block.line) == ("a.b-1", "$ grader/scanlab list\nx\n", 4)
    assert text[block.start : block.end] == block.text


def test_lines_are_chosen_and_those_left_out_are_marked() -> None:
    recipe = Recipe(command="check 02", causes=("barriers of",), shows=("expected", {"part": r"About 30: .*? one\."}))
    assert shown(recipe, PRINTED.splitlines()) == (
        "$ grader/scanlab check 02\n  …\n  barriers = 30, expected 18 to 22\n  … About 30: a third one. …\n  …\n"
    )
    assert shown(Recipe(command="check 02"), PRINTED.splitlines()) == "$ grader/scanlab check 02\n" + PRINTED


@pytest.mark.parametrize("wrong", [{"causes": ("DEADLOCK",)}, {"shows": ("no such line",)}])
def test_a_pattern_that_finds_nothing_is_an_error(wrong: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(TranscriptError, match="nothing that is printed has"):
        shown(Recipe(command="check 02", **wrong), PRINTED.splitlines())


def test_an_edit_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(TranscriptError, match="2 times"):
        transcripts.source(Recipe(command="check 02", edits=(("__syncthreads();", ""),)), "02_kogge_stone")


def test_only_seconds_may_differ() -> None:
    row = "02_kogge_stone        pass       100/100       15      0.2\n"
    later = "02_kogge_stone        pass       100/100       15    112.5\n"
    assert transcripts.differences(row, later, "a page") == ""
    assert transcripts.kept(row, later + "x 0.3\n") == row + "x 0.3\n"
    other = row.replace("100/100", " 90/100")
    assert "+02_kogge_stone        pass        90/100" in transcripts.differences(row, other, "a page")
    assert transcripts.kept(row, other) == other


def test_what_is_written_is_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        a_page(
            "<!-- transcript: one -->\n```text\nold\n```",
            "<!-- transcript: two -->\n```text\nolder\nstill\n```",
            "<!-- transcript: bad -->\n```text\nstays\n```",
            "The end.",
        )
    )
    wanted = {
        "one": Recipe(command="check 02", causes=("^RACE",)),
        "two": Recipe(command="check 02", shows=("points",)),
        "bad": Recipe(command="check 02", shows=("nowhere",)),
    }
    monkeypatch.setattr(transcripts, "recipes", lambda: wanted)
    monkeypatch.setattr(transcripts, "printed", lambda asked: dict.fromkeys(asked, PRINTED.splitlines()))
    assert len(transcripts.compare(pages=[page])) == 3
    assert len(transcripts.compare(pages=[page], write=True)) == 3
    (left,) = transcripts.compare(pages=[page], write=True)
    assert "(bad)" in left
    assert page.read_text() == a_page(
        "<!-- transcript: one -->\n```text\n$ grader/scanlab check 02\n  …\n"
        "RACE 02_kogge_stone: shared s_xy[5], kernel k\n  write by thread 5   labs/02_kogge_stone/scan.cu:31\n"
        "  why it is wrong\n  …\n```",
        "<!-- transcript: two -->\n```text\n$ grader/scanlab check 02\n  …\n"
        "FAIL 02_kogge_stone: Kogge-Stone scan, 20 of 100 points\n```",
        "<!-- transcript: bad -->\n```text\nstays\n```",
        "The end.",
    )


def test_a_recipe_without_a_page_and_a_page_without_a_recipe_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(a_page("<!-- transcript: here -->\n```text\nx\n```"))
    monkeypatch.setattr(transcripts, "recipes", lambda: {"there": Recipe(command="list")})
    said = "".join(transcripts.compare(pages=[page]))
    assert "no recipe 'here'" in said
    assert "no page shows 'there'" in said


def test_the_files_that_commands_make_are_known() -> None:
    made = {name(path) for path, _, _ in transcripts.made_files()}
    there = {name(path) for path in (REPOSITORY / "handouts/figures").iterdir()}
    assert made == there | {name(path) for path in (REPOSITORY / "handouts/findings").glob("*.txt")}
