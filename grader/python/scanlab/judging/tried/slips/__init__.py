"""Slips that are easily made in a line of CUDA, and what was probably meant: edits to be tried (`edits.py`).

A rule finds a slip in the text alone, so what it finds may be meant as it stands. Nothing is said of it unless an edit
was tried that helps.
"""

from collections.abc import Sequence
from dataclasses import replace

from scanlab.judging.tried.slips import algorithm, blocks, cuda, indices, language, memory, order, threads
from scanlab.judging.tried.slips.program import Mistake, Program, Slip

PLAIN = (*memory.RULES, *language.RULES, *cuda.RULES, *threads.PLAIN)
"""What is hardly ever meant as it stands, and so is looked for in given code as well, before the rest."""
OTHERS = (*order.RULES, *threads.RULES, *blocks.RULES, *indices.RULES, *algorithm.RULES)


def slips(
    text: str, mistake: Mistake, most: int, *, given: frozenset[str] = frozenset(), is_plain: bool | None = None
) -> Sequence[Slip]:
    """Return edits that may make a program right, each once, the likeliest first, at most so many.

    Nothing is looked for in lines that are `given`, without their indents, and stand outside of the learner's regions.
    `is_plain`: only those that are hardly ever meant as they stand, or only the others.
    """
    own, others = Program(text, mistake), Program(text, mistake, is_own=False, given=given)
    found: dict[str, Slip] = {}
    for rules, program in ((PLAIN, own), (PLAIN, others), (OTHERS, own), (OTHERS, others)):
        if is_plain is (rules is not PLAIN):
            continue
        for rule, edit in ((one, edit) for one in rules for edit in one.edits(program)):
            is_sure = edit.is_sure or rule.is_sure or rule in language.RULES
            slip = replace(program.slip(edit), is_sure=is_sure, is_common=rule.is_common)
            if edit.line in program.numbers and slip.program != text:
                found.setdefault(slip.program, slip)
            if len(found) == most:
                return list(found.values())
    return list(found.values())
