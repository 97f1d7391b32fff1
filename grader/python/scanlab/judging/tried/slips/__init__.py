"""Slips that are easily made in a line of CUDA, and what was probably meant: edits to be tried (`edits.py`).

A rule finds a slip in the text alone, so what it finds may be meant as it stands. Nothing is said of it unless an edit
was tried that helps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.tried.slips import algorithm, blocks, changes, cuda, indices, language, memory, order, threads
from scanlab.judging.tried.slips.program import Edit, Mistake, Program, Rule, Slip

PLAIN = (*memory.RULES, *language.RULES, *cuda.RULES, *threads.PLAIN)
"""What is hardly ever meant as it stands."""
OTHERS = (*algorithm.FIRST, *order.RULES, *cuda.OTHERS, *threads.RULES, *blocks.RULES, *indices.RULES, *algorithm.RULES)
LAST = changes.RULES
"""What no rule knows: any small change of the learner's own lines."""
TURN = 3
"""Edits of a rule, before those of the others."""


def slips(file: LearnersFile, mistake: Mistake, most: int, *, is_plain: bool | None = None) -> Sequence[Slip]:
    """Return edits of the learner's lines that may make a program right, each once, the likeliest first.

    They are at most so many.
    `is_plain`: only those that are hardly ever meant as they stand, or only the others.
    """
    program = Program(file, mistake)
    found: dict[str, Slip] = {}
    for rules in (PLAIN, OTHERS, LAST):
        for rule, edit in _in_turn(rules, program) if is_plain is not (rules is not PLAIN) else ():
            is_sure = edit.is_sure or rule.is_sure or rule in language.RULES
            slip = replace(program.slip(edit), is_sure=is_sure, is_common=rule.is_common)
            if edit.line in program.numbers and slip.program != file.text:
                found.setdefault(slip.program, slip)
            if len(found) == most:
                return list(found.values())
    return list(found.values())


def _in_turn(rules: Sequence[Rule], program: Program) -> Iterator[tuple[Rule, Edit]]:
    """Yield what each rule finds, a few edits of each in turn: a rule that finds many keeps no other one waiting."""
    left = [(rule, iter(rule.edits(program))) for rule in rules]
    while left:
        for rule, edits in left.copy():
            turn = list(islice(edits, TURN))
            yield from ((rule, edit) for edit in turn)
            if len(turn) < TURN:
                left.remove((rule, edits))
