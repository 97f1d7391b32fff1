"""The words of a CUDA program, for colours and for comparing programs: in one pass, whatever the text is.

No part of the pattern can fail once it has begun, so that nothing is read twice: a comment or a text without an end
goes to the file's or the line's.
"""

import re
from collections.abc import Iterator

TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.)*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"""
    r"""|(?P<space>\s+|\\\n)"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)"""
    r"""|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d(?:[\w.']|(?<=[eEpP])[+-])*)"""
    r"""|(?P<other>.)""",
    re.DOTALL,
)
WORDS = """
alignas auto bool break case char class const constexpr continue default delete do double else enum extern false
float for goto if inline int long namespace new nullptr operator private public reinterpret_cast return short signed
sizeof static static_assert static_cast struct switch template this true typedef typename union unsigned using void
volatile while __global__ __device__ __host__ __shared__ __constant__ __restrict__ __launch_bounds__ __forceinline__
"""
KEYWORDS = frozenset(WORDS.split())


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, word), the words together being the whole text; the kinds are TOKEN's groups."""
    for found in TOKEN.finditer(text):
        yield found.lastgroup or "other", found.group()


def coloured(text: str) -> Iterator[tuple[str, str]]:
    """Yield (class, word): c comment, k keyword, m number, p preprocessor, s text; empty for all else."""
    begins_line, is_directive = True, False
    for kind, word in tokens(text):
        if kind == "other" and word == "#" and begins_line:
            is_directive = True
        elif kind == "space" and "\n" in word and not word.startswith("\\"):
            is_directive = False
        if kind != "comment":
            begins_line = word.rfind("\n") >= 0 if kind == "space" else False
        if kind == "comment":
            yield "c", word
        elif is_directive:
            yield "p", word
        else:
            yield {"text": "s", "number": "m"}.get(kind, "k" if word in KEYWORDS else ""), word
