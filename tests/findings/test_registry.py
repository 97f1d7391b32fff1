"""grader/findings.toml names every finding, once, and the pages and the sources name no other."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
GRADER = REPOSITORY / "grader"
RANKS = tomllib.loads((GRADER / "findings.toml").read_text(encoding="utf-8"))["rank"]
IDS = [name for rank in RANKS for name in rank]
FAMILIES = sorted({name.partition(".")[0] for name in IDS if "." in name})
IN_PAGES = re.compile(rf"`((?:{'|'.join(FAMILIES)})\.(?!cpp|hpp|cu|toml)[a-z_]+)`")
LITERAL = re.compile(rf'"((?:{"|".join(FAMILIES)})\.[a-z_]+)"')


def sources() -> dict[str, str]:
    return {
        str(path.relative_to(GRADER)): path.read_text(encoding="utf-8")
        for path in sorted(GRADER.rglob("*"))
        if path.suffix in (".cpp", ".hpp", ".py") and "__pycache__" not in path.parts
    }


def is_known(name: str) -> bool:
    return name in IDS or f"{name.partition('.')[0]}.*" in IDS


def test_each_id_stands_once() -> None:
    assert len(IDS) == len(set(IDS)) > 60
    assert all(rank and all(rank.values()) for rank in RANKS)


def test_the_sources_name_no_other_finding() -> None:
    named = {name: file for file, text in sources().items() for name in LITERAL.findall(text)}
    assert len(named) > 40
    assert not {name: file for name, file in named.items() if not is_known(name)}


def test_the_pages_name_no_other_finding() -> None:
    pages = [*GRADER.rglob("*.md"), *(REPOSITORY / "handouts").rglob("*.md"), *(REPOSITORY / "tests").rglob("*.md")]
    named = {name for page in pages for name in IN_PAGES.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert not [name for name in named if not is_known(name)]


def test_each_finding_is_made_somewhere() -> None:
    text = "\n".join(sources().values())
    made = [name for name in IDS if not name.endswith("*") and not name.startswith("cost.")]
    assert not [name for name in made if f'"{name}"' not in text]
