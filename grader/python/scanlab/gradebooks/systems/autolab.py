"""Autolab: what the driver prints on stdout. The last line is the scores, the one before it the table of tests.

Facts: https://docs.autolabproject.com/lab/ and /features/formatted-feedback/. Each lab is one problem, whose name has
to be that of the problem on Autolab's site. Nothing may follow the last line; older versions choke on an empty one.
Autolab puts the text into a page as it is, so that nothing in it may look like a tag: ‹ and › stand for < and >.
"""

from typing import Any

from scanlab.classroom.records import Record
from scanlab.gradebooks.feedback import causes, lines, overview
from scanlab.gradebooks.model import Format, Options
from scanlab.gradebooks.text import dump_json, number, shorten

MOST_HINT = 4_000
MOST_TEXT = 50_000
NO_TAGS = str.maketrans("<>", "‹›")


def scores(record: Record, options: Options) -> dict[str, Any]:
    """Return the object of the last line."""
    by_problem: dict[str, float] = {}
    for lab in record.labs:
        problem = options.problem(lab.lab)
        by_problem[problem] = by_problem.get(problem, 0) + lab.points
    return {"scores": {problem: number(points) for problem, points in by_problem.items()}}


def presentation(record: Record, options: Options) -> dict[str, Any]:
    """Return the object of the line before: a stage per lab, a test per check; hidden checks are not in it."""
    stages: dict[str, dict[str, Any]] = {lab.lab: {} for lab in record.labs}
    for line in lines(record, options):
        if line.shown == "visible":
            name = line.title if line.title not in stages[line.lab] else f"{line.title} ({line.name})"
            hint = {"hint": shorten(line.text, MOST_HINT)} if line.text else {}
            stages[line.lab][name] = {"passed": line.passed, **hint}
    return {"_presentation": "semantic", "stages": list(stages), **stages}


def one(record: Record, options: Options) -> str:
    """Return all of stdout: a text for people, then the two lines of JSON."""
    feedback = "\n".join([*overview(record, options), *causes(record, options)])
    text = shorten(feedback.translate(NO_TAGS), MOST_TEXT)
    return (
        "\n".join([text, dump_json(presentation(record, options), None), dump_json(scores(record, options), None)])
        + "\n"
    )


FORMAT = Format("autolab", one=one, suffix=".txt")
