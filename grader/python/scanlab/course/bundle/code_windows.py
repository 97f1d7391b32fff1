"""Find a piece of code in another text, however it is indented, broken into lines, quoted or commented there."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TOKEN = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\w+")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
QUOTED = re.compile(r"^[ \t]*[>|+*#-]+(?=[ \t])|^[+>|]", re.MULTILINE)
"""What a diff, a quotation or a table puts in front of a line."""
CODE_TOKENS = 24
"""This many tokens in a row are a piece of code, about two statements: fewer are idioms that every kernel has."""
SHORTEST_WHOLE = 12
"""A text with fewer tokens is no secret."""
COMMENT_WORDS = 14
"""This many words in a row are an author's own sentence."""

Window = tuple[str, ...]


@dataclass(frozen=True)
class Hit:
    """Where a piece was found: the line, and which piece."""

    line: int
    origin: str


def plain(text: str) -> str:
    """Return a text without what quoting, HTML and JSON add to it; its lines stay where they are."""
    text = html.unescape(text) if "&" in text else text
    text = text.replace("\\n", "  ").replace("\\t", "  ").replace('\\"', ' "')
    return QUOTED.sub(lambda found: " " * len(found[0]), text)


def without_comments(text: str) -> str:
    """Return C++ code with its comments blanked; its lines stay where they are."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def comments(text: str) -> str:
    """Return the words of a C++ text's comments."""
    return "\n".join(found[0].strip("/* ") for found in COMMENT.finditer(text))


def windows(words: list[str], size: int) -> Iterator[Window]:
    """Return each run of `size` words; none where there are fewer."""
    return zip(*(words[i:] for i in range(size)), strict=False)


class Pieces:
    """Pieces of code and sentences, each with the origin that a message names."""

    def __init__(self) -> None:
        self.code: dict[Window, str] = {}
        self.sentences: dict[Window, str] = {}
        self.whole: dict[str, str] = {}
        """Whole texts, their tokens with a blank between."""

    def add_code(self, text: str, origin: str) -> None:
        """Add the code of a text, as a whole and in pieces, and the sentences of its comments."""
        tokens = TOKEN.findall(without_comments(plain(text)))
        if len(tokens) >= CODE_TOKENS:
            for window in windows(tokens, CODE_TOKENS):
                self.code.setdefault(window, origin)
        if len(tokens) >= SHORTEST_WHOLE:
            self.whole.setdefault(" ".join(tokens), origin)
        self.add_sentences(comments(text), origin)

    def add_sentences(self, text: str, origin: str) -> None:
        """Add the sentences of a text."""
        words = [word.lower() for word in WORD.findall(plain(text))]
        if len(words) >= COMMENT_WORDS:
            for window in windows(words, COMMENT_WORDS):
                self.sentences.setdefault(window, origin)

    def without(self, texts: Iterable[str], *, whole: bool = False) -> "Pieces":
        """Return what stands in none of `texts`; whole texts are kept all the same, unless `whole` says otherwise."""
        left = Pieces()
        left.code, left.sentences, left.whole = dict(self.code), dict(self.sentences), dict(self.whole)
        for text in texts:
            for piece, _, _ in self._hits(text):
                if isinstance(piece, str):
                    if whole:
                        left.whole.pop(piece, None)
                else:
                    left.code.pop(piece, None)
                    left.sentences.pop(piece, None)
        return left

    def _hits(self, text: str) -> Iterator[tuple[Window | str, str, int]]:
        """Yield each piece in a text with its origin and its place."""
        text = plain(text)
        for view in {text, without_comments(text)}:
            tokens = TOKEN.findall(view)
            yield from _runs(self.code, CODE_TOKENS, tokens, TOKEN, view)
            joined = f" {' '.join(tokens)} "
            for piece, origin in self.whole.items():
                at = joined.find(f" {piece} ")
                if at >= 0:
                    yield piece, origin, _places(TOKEN, view)[joined.count(" ", 0, at + 1) - 1]
        words = [word.lower() for word in WORD.findall(text)]
        yield from _runs(self.sentences, COMMENT_WORDS, words, WORD, text)

    def find(self, text: str) -> list[Hit]:
        """Return where pieces stand in a text, the first of each origin."""
        first: dict[str, int] = {}
        for _, origin, at in self._hits(text):
            first[origin] = min(at, first.get(origin, at))
        return [
            Hit(text.count("\n", 0, at) + 1, origin) for origin, at in sorted(first.items(), key=lambda one: one[1])
        ]


def _runs(
    wanted: dict[Window, str], size: int, words: list[str], pattern: re.Pattern[str], text: str
) -> Iterator[tuple[Window, str, int]]:
    if wanted.keys().isdisjoint(windows(words, size)):  # mostly: most files have nothing
        return
    places = _places(pattern, text)
    for i, window in enumerate(windows(words, size)):
        if window in wanted:
            yield window, wanted[window], places[i]


def _places(pattern: re.Pattern[str], text: str) -> list[int]:
    return [found.start() for found in pattern.finditer(text)]
