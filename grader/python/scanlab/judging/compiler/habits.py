"""Lines that are another language's, or nearly a launch: what is meant is certain from the learner's line alone.

Asked only where a compiler's first error is on the line.
"""

import re
from collections.abc import Sequence

LAUNCH = "a kernel is launched with `<<<blocks, threads>>>` between its name and its arguments"
ANGLES = "a kernel is launched with three signs on each side: write `<<<blocks, threads>>>`"

HABITS: Sequence[tuple[str, str]] = (
    (r"\s*for \(? ?\w+ in\b", "C++ counts with `for (int i = 1; i < n; ++i) { … }`; `in range` is Python's"),
    (r"\s*(?:if|while|for)\b.*\) ?: *[^:]*$", "the statements of an `if` or a loop stand in `{ … }`, not behind a `:`"),
    (r"\s*else ?:", "the statements of an `else` stand in `{ … }`, not behind a `:`"),
    (r"\s*(?:\} ?)?elif\b", "C++ writes `else if (…)`: `elif` is Python's"),
    (r"\s*def \w+ ?\(", "a function begins with its return type, as in `int helper(int n) { … }`: `def` is Python's"),
    (r".*[=(,] ?[^?]+ if .+ else ", "C++ writes `condition ? a : b`: `a if condition else b` is Python's"),
    (r".*[\w)] ?\*\* ?[\w(]", "C++ has no `**`: multiply, or shift as in `1 << k`"),
    (r".*\bNone\b", "`None` is Python's: a pointer to nothing is `nullptr`"),
    (r".*\bprint ?\(", 'C++ prints with `printf("%d\\n", i);`: `print` is Python\'s'),
    (r".*\blen ?\(", "an array in C++ does not know its length: use `n`, or the constant that it was declared with"),
    (
        r"(?!.* : )\s*for ?\((?=[^;]*,)[^;]*$",
        "the parts of a `for` are separated by `;`, as in `for (int i = 1; i < n; ++i)`",
    ),
    (r".*[\w>] ?<<(?!<)[^<>;]*>>>? ?\(", ANGLES),
    (r".*[\w>] ?<<<[^<>;]*>>(?!>) ?\(", ANGLES),
    (
        r".*>>> ?< ?[\w:]+ ?> ?\(",
        "the kind stands before `<<<…>>>`, behind the kernel's name: write `kernel<kind><<<blocks, threads>>>(…)`",
    ),
    (r".*[\w>] ?\([^()]*\) ?<<<.*>>>", LAUNCH),
    (r".*>>> ?;", "the kernel's arguments are missing: they follow `>>>` in `(…)`"),
    (r".*<<< ?[^<>,]+>>> ?\(", "a launch needs two numbers: write `<<<blocks, threads>>>`"),
)
"""A pattern that begins a line's code, and the sentence."""
_COMPILED = [(re.compile(pattern), sentence) for pattern, sentence in HABITS]
DIRECTIVE = re.compile(
    r"[ \t]{0,80}#[ \t]{0,80}(?!(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error|warning|line)\b)\w"
)


def habit(code: str, line: str) -> str | None:
    """Return what a line's habit is, if it has one: of its code, and of the whole of it."""
    if DIRECTIVE.match(line):
        return "a comment begins with `//` in C++: `#` is Python's"
    return next((sentence for pattern, sentence in _COMPILED if pattern.match(code)), None)
