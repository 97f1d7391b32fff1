"""Mistakes that others than the judge find, told as it tells them (`grader/vgpu/checks/finding.hpp` has the keys)."""

from collections.abc import Sequence
from typing import Any

Finding = dict[str, Any]


def new_finding(name: str, headline: str, kernel: str = "", details: Sequence[str] = ()) -> Finding:
    """Return a finding of which no more is known: who finds it adds the rest, and the `text` made of it."""
    return {
        "id": name,
        "weight": "mistake",
        "headline": headline,
        "kernel": kernel,
        "variable": "",
        "element": None,
        "kind": "",
        "block": None,
        "parts": [],
        "details": list(details),
        "advice": "",
        "count": 1,
    }
