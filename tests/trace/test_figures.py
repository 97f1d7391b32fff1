"""The figures of the handouts are what the command that stands below each of them makes now."""

import re
import shlex
from pathlib import Path

import pytest

from scanlab.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]
FIGURES = REPOSITORY / "handouts/figures"
A_FIGURE = re.compile(
    r"!\[[^\]]+\]\(figures/(?P<name>[\w.]+)\)\n\n(?:[^\n]+\n)*?[^\n]*`grader/scanlab (?P<command>trace [^`]+)`"
)


def figures() -> dict[str, list[str]]:
    """The words of the command by the figure's name."""
    found = {}
    for handout in sorted((REPOSITORY / "handouts").glob("*.md")):
        text = handout.read_text(encoding="utf-8")
        for figure in A_FIGURE.finditer(text):
            found[figure["name"]] = shlex.split(figure["command"])
        assert len(re.findall(r"\(figures/", text)) == len(A_FIGURE.findall(text)), f"{handout.name}: no command below"
    return found


def test_every_figure_is_in_a_handout() -> None:
    assert set(figures()) == {path.name for path in FIGURES.iterdir()}
    assert {"02_kogge_stone.svg", "03_double_buffer.svg", "04_brent_kung.svg"} <= set(figures())


@pytest.mark.parametrize("name", sorted(figures()))
def test_the_figure_is_what_the_command_makes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REPOSITORY)
    words = figures()[name]
    at = words.index("--svg") + 1
    made = tmp_path / name
    code = main([*words[:at], str(made), *words[at + 1 :]])
    assert code in (0, 1), capsys.readouterr().err
    again = shlex.join(["grader/scanlab", *words[:at], f"handouts/figures/{name}", *words[at + 1 :]])
    assert made.read_text() == (FIGURES / name).read_text(), f"make it anew: {again}"
