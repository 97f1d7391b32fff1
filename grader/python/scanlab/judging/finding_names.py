"""What findings are called in words, and what the handout says of them."""

import re
import tomllib
from functools import cache

from scanlab.paths import ROOT

TABLE = ROOT / "grader/findings.toml"
HANDOUT = ROOT / "handouts/reading_findings.md"
DIRECTIVE = re.compile(r"```\{\w+\}.*?```\n?", re.DOTALL)
"""A program or its output, which the handouts' site shows."""


@cache
def _ranks() -> list[dict[str, str]]:
    ranks: list[dict[str, str]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["rank"]
    return ranks


@cache
def names() -> dict[str, str]:
    """Return the names of all findings, by their ids or families."""
    return {name: words for rank in _ranks() for name, words in rank.items()}


@cache
def rank_of(finding_id: str) -> int:
    """Return how basic a finding is: 0 is the most basic. One that is not known here is the least."""
    family = f"{finding_id.partition('.')[0]}.*"
    ranks = (k for k, rank in enumerate(_ranks()) if finding_id in rank or family in rank)
    return next(ranks, len(_ranks()))


def name_of(finding_id: str) -> str:
    """Return an id in words; one that is not known here as it is."""
    return names().get(finding_id, finding_id.replace("_", " ").replace(".", ": "))


@cache
def _sections() -> dict[str, str]:
    """Return the handout's sections, without programs, by the ids in their headings."""
    if not HANDOUT.exists():
        return {}
    parts = re.split(r"^#{2,3} (.*)\n", HANDOUT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: dict[str, str] = {}
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        prose = re.sub(r"\n{3,}", "\n\n", DIRECTIVE.sub("", text)).strip()
        for name in re.findall(r"[a-z_]+(?:\.[a-z_]+)?", heading):
            found.setdefault(name, prose)
    return found


def help_of(finding_id: str) -> str:
    """Return what the handout says of a finding, as Markdown; its name where it says nothing."""
    return (_sections().get(finding_id) if finding_id in names() else None) or f"{name_of(finding_id)}."
