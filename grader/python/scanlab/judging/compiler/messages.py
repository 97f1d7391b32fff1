"""Read what nvcc, and the g++ that it starts, say of a file: place, severity, text, and the chain that led there.

All of it is untrusted text: a file may make a compiler print anything. So a line counts as a message only where it
begins with a place or with `At end of source`, and a place is the learner's only where the file is theirs.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from scanlab.judging.learners_file import lines_in_regions

Severity = Literal["error", "warning", "note"]

SEVERITY = (
    r"(?P<severity>(?:catastrophic |fatal |internal )?error|warning|note|remark)(?: #(?P<number>[0-9]{1,6})(?:-D)?)?: "
)
"""How a message goes on behind its place."""
SAID = re.compile(SEVERITY)
EDG_PLACE = re.compile(r"\((?P<line>[0-9]{1,7})\): ")
GNU_PLACE = re.compile(r":(?P<line>[0-9]{1,7}):(?:(?P<column>[0-9]{1,5}):)? ")
AT_END = "At end of source: "
STEP = re.compile(r"at line (?P<line>[0-9]{1,7})(?: of \"?(?P<file>[^\"\n]{1,500})\"?)?$")
"""How a line of a chain ends that says where a template was used."""
INSTANCE = re.compile(r"instantiation of \"(?P<which>[^\"\n]{1,400}\[with [^\"\n]{1,400}\])\"")
"""A template with its arguments, in a step of EDG's."""
GNU_STEP = re.compile(r":(?P<line>[0-9]{1,7}):(?:[0-9]{1,5}:)? +required from ")
TOKEN = re.compile(r"\w{1,200}|[^\w\s]{1,3}")
NO_PLACE_PRINTED = 2
"""Columns by which EDG indents the line that it prints."""


@dataclass(frozen=True)
class Place:
    """A line of a file; line 0 is not known."""

    file: str
    line: int


@dataclass(frozen=True)
class Message:
    """One message of a compiler."""

    place: Place
    severity: Severity
    text: str
    number: int = 0
    """EDG's number of it: 177."""
    column: int = 0
    """Where g++ gives it, from 1 on."""
    printed: str = ""
    """The source line as it was printed: macros in it may be expanded."""
    caret: int | None = None
    """Where in `printed` the caret points, from 0 on."""
    facts: tuple[str, ...] = ()
    """The message's other lines, such as `operand types are: Element += Element`, and those of its notes."""
    chain: tuple[Place, ...] = field(default=())
    """Where the templates were used in which it stands, innermost first."""
    instance: str = ""
    """The innermost of them with its arguments, where the message is about these."""


def parse(text: str) -> list[Message]:
    """Return the messages of a compiler's output, in its order; a note belongs to the message before it."""
    messages: list[Message] = []
    last = ""
    for line in text.splitlines():
        found = _begun(line)
        if found and found.severity == "note" and messages:
            messages[-1] = replace(messages[-1], facts=(*messages[-1].facts, f"note: {found.text}"))
            last = "note"
        elif found:
            messages.append(found)
            last = found.place.file
        elif messages and line.strip():
            messages[-1], last = _continued(messages[-1], line, last)
    return messages


def _begun(line: str) -> Message | None:
    """Return the message that begins with this line."""
    if line.startswith(AT_END):
        said = SAID.match(line, len(AT_END))
        return _message(Place("", 0), said, line) if said else None
    if not line[:1].strip():
        return None  # a printed line, or a fact
    for pattern in (EDG_PLACE, GNU_PLACE):
        for place in pattern.finditer(line):  # the file's own name may look like a place
            if said := SAID.match(line, place.end()):
                column = int(place.groupdict().get("column") or 0)
                return replace(_message(Place(line[: place.start()], int(place["line"])), said, line), column=column)
    return None


def _message(place: Place, said: re.Match[str], line: str) -> Message:
    word = said["severity"].rpartition(" ")[2]
    severity: Severity = "error" if word == "error" else "warning" if word == "warning" else "note"
    return Message(place, severity, line[said.end() :].strip(), int(said["number"] or 0))


def _continued(message: Message, line: str, last: str) -> tuple[Message, str]:
    """Return a message with one more of its lines, and the file that the next step of its chain is in."""
    step = STEP.search(line[-600:]) if "instantiation of" in line or "instantiating" in line else None
    if step:
        file = step["file"] or (last if last != "note" else message.place.file)
        instance = INSTANCE.search(line[:1000]) if not message.chain else None
        return replace(
            message,
            chain=(*message.chain, Place(file.strip('"'), int(step["line"]))),
            instance=instance["which"] if instance else message.instance,
        ), file
    if (required := GNU_STEP.search(line)) and line[:1].strip():
        step_place = Place(line[: required.start()], int(required["line"]))
        return replace(message, chain=(*message.chain, step_place)), last
    if last == "note":
        return message, last
    if line.strip() == "^":
        return (replace(message, caret=line.index("^")) if message.caret is None else message), last
    if line.startswith(" " * 10):
        return replace(message, facts=(*message.facts, line.strip())), last
    if message.caret is None and not message.printed:
        return replace(message, printed=line), last
    return message, last


# ---- the learner's lines ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A learner's file: its names in messages, and its lines."""

    names: tuple[str, ...]
    lines: tuple[str, ...]

    def has(self, place: Place) -> bool:
        """Return whether a place is in the file."""
        return place.file in self.names and 0 < place.line <= len(self.lines)

    def line(self, number: int) -> str:
        """Return one of its lines, which count from 1 on."""
        return self.lines[number - 1]


def learners_place(message: Message, source: Source) -> Place | None:
    """Return the line of the learner's that a message is about.

    That is the message's own place; where this is in given code, the first of its chain in a region of the learner's,
    and where it is in a header, the first in their file. None where there is none.
    """
    own = lines_in_regions(source.lines)
    chain = [place for place in message.chain if source.has(place)]
    inside = [place for place in chain if place.line in own]
    if source.has(message.place):
        return message.place if message.place.line in own or not inside else inside[0]
    return (inside or chain or [None])[0]


def column_of(message: Message, line: str) -> int | None:
    """Return where in the learner's line a message points, from 0 on; None where that is not certain."""
    if message.column:
        return message.column - 1 if message.column <= len(line) + 1 else None
    if message.caret is None or not message.printed:
        return None
    printed, at = message.printed[NO_PLACE_PRINTED:], message.caret - NO_PLACE_PRINTED
    if 0 <= at <= len(line) and line[:at] == printed[:at]:  # a macro there is printed as what it stands for
        return at
    token = TOKEN.match(printed, at) if 0 <= at < len(printed) else None
    if token and line.count(token.group()) == 1:  # a macro before it was expanded
        return line.index(token.group())
    return None
