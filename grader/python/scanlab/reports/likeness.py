"""Which files are the same, and which would be but for names, comments and layout: a hint to look, and no verdict."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from scanlab.reports.tokens import KEYWORDS, tokens

WORDS = """
include define ifdef ifndef endif pragma __syncthreads __syncwarp __threadfence __threadfence_block
__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __popc threadIdx blockIdx blockDim gridDim
warpSize x y z min max atomicAdd cudaMalloc cudaFree cudaMemcpy cudaMemset Element identity
"""
KEPT = KEYWORDS.union(WORDS.split())
"""Names that say what a program does; the others may be called anything."""


def shape(text: str) -> str:
    """Return a digest of a CUDA program that comments, layout and the choice of names do not change."""
    names: dict[str, str] = {}
    parts = []
    for kind, word in tokens(text):
        if kind in ("comment", "space"):
            continue
        if kind == "name" and word not in KEPT:
            word = names.setdefault(word, f"#{len(names)}")
        parts.append(word)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class HandIn:
    """Who handed in which file for which lab."""

    key: str
    lab: str
    sha256: str
    group: str = ""
    """Those who hand in together are expected to have the same file."""


@dataclass(frozen=True)
class Group:
    """Submissions with the same file, or the same shape, for one lab."""

    lab: str
    keys: tuple[str, ...]
    files: int
    """How many different files they are: 1 where all are identical."""
    is_reference: bool = False
    """Of the reference solution's own shape, which says less: it is what the handouts lead to."""


def identical(handed_in: Iterable[HandIn], shapes: Mapping[str, str], references: Mapping[str, str]) -> list[Group]:
    """Return those who handed in the same bytes for a lab, the largest groups first; the rest is as for `alike`."""
    return _groups(handed_in, lambda one: one.sha256, shapes, references, least_files=1)


def alike(handed_in: Iterable[HandIn], shapes: Mapping[str, str], references: Mapping[str, str]) -> list[Group]:
    """Return those whose different files for a lab have the same shape, the largest groups first.

    `shapes` maps a file's SHA-256 to its shape, and `references` a lab to its reference solution's.
    """
    known = [one for one in handed_in if one.sha256 in shapes]
    return _groups(known, lambda one: shapes[one.sha256], shapes, references, least_files=2)


def _groups(
    handed_in: Iterable[HandIn],
    of: Callable[[HandIn], str],
    shapes: Mapping[str, str],
    references: Mapping[str, str],
    least_files: int,
) -> list[Group]:
    together: dict[tuple[str, str], list[HandIn]] = {}
    for one in handed_in:
        together.setdefault((one.lab, of(one)), []).append(one)
    groups = []
    for (lab, _), members in together.items():
        keys = tuple(dict.fromkeys(one.key for one in members))
        files = len({one.sha256 for one in members})
        owners = {one.group or f"\0{one.key}" for one in members}
        if len(owners) > 1 and files >= least_files:
            groups.append(Group(lab, keys, files, references.get(lab, "") == shapes.get(members[0].sha256)))
    return sorted(groups, key=lambda group: (group.is_reference, -len(group.keys), group.lab, group.keys))
