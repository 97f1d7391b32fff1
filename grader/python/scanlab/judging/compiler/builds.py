"""What the builds of a submission say of its mistakes: why it does not compile or link, and what it is warned of."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scanlab.judging.compiler.causes import Explained, explain, shown_lines
from scanlab.judging.compiler.errors import CompileError, LinkError, RefusedError
from scanlab.judging.compiler.links import explain_link
from scanlab.judging.compiler.messages import Place, Source
from scanlab.judging.compiler.recipe import SANDBOXED_SOURCE
from scanlab.judging.compiler.source import HEAD, code_of, definition_of
from scanlab.judging.result import Cause, CheckResult, LabResult, Where
from scanlab.paths import LABS, shown

ENTRY = re.compile(r"there is no function (?P<name>\w+)\((?P<parameters>[^()]*)\) in the file")


def source_of(path: Path) -> Source:
    """Return a file as compilers' messages name it. Raises OSError."""
    names = (str(SANDBOXED_SOURCE), str(path), str(path.resolve()), shown(path))
    text = path.read_text(encoding="utf-8", errors="replace")
    return Source(names, tuple(line.rstrip("\r") for line in text.split("\n")))


def explained(
    paths: Sequence[Path], errors: Mapping[str, CompileError], passed: Iterable[str]
) -> tuple[Explained | None, list[str]]:
    """Return the cause of what a compiler or a linker reports, and the learner's line; None and nothing if not known.

    `errors` has what each element's build has reported, `passed` names the elements that were built.
    """
    try:
        sources = [source_of(path) for path in paths]
        given = "\n".join((LABS / name).read_text() for name in ("scanlab.cuh", "affine_sum.cuh"))
    except OSError:
        return None, []
    refused = next(iter(errors.values()), None)
    if isinstance(refused, RefusedError):
        place = Place(sources[0].names[0], refused.line) if refused.line else None
        known = Explained(place, None, refused.sentence.partition("\n")[0])
        return known, shown_lines(known, sources[0])
    if linker := next((str(error) for error in errors.values() if type(error) is LinkError), None):
        found = explain_link(linker, sources)
        source = next((one for one in sources if found and found.place and one.has(found.place)), None)
        return found, shown_lines(found, source) if found and source else []
    said = {element: str(error) for element, error in errors.items() if type(error) is CompileError}
    for source in sources:
        if said and (found := explain(said, list(passed), source, given)):
            return found, shown_lines(found, source)
    return None, []


def with_cause(result: LabResult, name: str, explained: Explained) -> LabResult:
    """Return the result of a file that does not compile, called `name`, with the mistake and its place."""
    where = _where(name, explained.place.line) if explained.place else None
    return _with_causes(
        result, lambda cause: cause.model_copy(update={"rationale": explained.sentence, "where": where})
    )


def with_warnings(result: LabResult, mistakes: Sequence[str]) -> LabResult:
    """Return a result whose failures say what a compiler has seen, as far as that cannot be meant."""
    facts = tuple(f"what may be the cause: {mistake}" for mistake in mistakes)
    return _with_causes(result, lambda cause: cause.model_copy(update={"details": (*facts, *cause.details)}))


def with_entries(result: LabResult, source: Source, name: str) -> LabResult:
    """Return a result in which a function that was not found has the place of the one that is nearly it."""

    def changed(cause: Cause) -> Cause:
        asked = next((found for text in _texts(cause) if (found := ENTRY.search(text))), None)
        if cause.id != "entry.missing" or asked is None:
            return cause
        near = _near(asked["name"], asked["parameters"], source)
        if near is None:
            return cause
        facts = tuple(text for text in cause.details if ENTRY.search(text))
        return cause.model_copy(update={"where": _where(name, near[0]), "rationale": near[1], "details": facts})

    return _with_causes(result, changed)


def _near(entry: str, parameters: str, source: Source) -> tuple[int, str] | None:
    """Return the line of the function that is meant to be an entry, and what is wrong with it."""
    if line := definition_of(source.lines, entry):
        given = " ".join(code_of(source.line(line)).split())
        missing = [part.strip() for part in parameters.split(",") if part.strip().rpartition(" ")[0] not in given]
        needs = f"write `{missing[0]}`" if missing else f"write `{parameters}`"
        return line, f"`{entry}` has other parameters here, which makes it another function: {needs}"
    heads = {
        found[1]: number
        for number, text in enumerate(source.lines, 1)
        if HEAD.match(text) and not code_of(text).rstrip().endswith(";") and (found := re.search(r"\b(\w+) ?\(", text))
    }
    near = difflib.get_close_matches(entry, heads, 1, 0.8)
    if not near or near[0] in ("inclusive_scan", "exclusive_scan", "compact", "split"):
        return None
    return heads[near[0]], f"`{near[0]}` is defined here: is `{entry}` meant?"


def _texts(cause: Cause) -> Iterable[str]:
    return (cause.headline, cause.rationale, cause.actual, *cause.details)


def _where(name: str, line: int) -> Where:
    return Where(file=name, line=line, kernel="", block=None, thread=None)


def _with_causes(result: LabResult, changed: Callable[[Cause], Cause]) -> LabResult:
    def check_of(check: CheckResult) -> CheckResult:
        return check.model_copy(update={"cause": changed(check.failure)}) if check.failure else check

    return result.model_copy(update={"checks": tuple(check_of(check) for check in result.checks)})
