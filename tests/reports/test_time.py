"""Pages and comparisons take about as long as a file is, whatever is in it."""

import multiprocessing
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

from scanlab.foreign_text import LONGEST_TEXT, replaced, spelled_out
from scanlab.judging.compiler.running import message
from scanlab.judging.sanitizer_report import findings
from scanlab.labs.skeleton import CLOSE, OPEN, outside, untouched
from scanlab.reports.likeness import shape
from scanlab.reports.source import LARGEST_COLOURED, coloured
from scanlab.reports.tokens import TOKEN

SECONDS = 5.0
"""Of processor time; each takes less than one."""
PARTS = (
    "\n", " ", "\t\n", "\\\n", "\"", "\\\"", "'", "\"\\", "/*", "//", "/*a", "*/", "/", "#", "#if 0\n", "# ", "x ",
    "x(", "(", "{", "<", "R\"(", "0x", "1e+", "'1", "a:", "::", "\x1b]", "\x1b[0;", "\x1b[", "\u202e", "\x00", "é",
    f"{OPEN}\n", f"{CLOSE}\n", f"  {OPEN}\n", "/tmp/tmpxft_0", "/cca/", "/a", "LLVM ERROR: ",
    "========= Error: Race reported between Read access at ", "========= \n=========     at a+0x1 in ", "static ",
    "void f(int", "template<", "unsigned ",
)  # fmt: skip


def _pages(text: str) -> None:
    shape(text[:200_000])
    coloured.__wrapped__(text)
    untouched(text)
    outside(text)


def _messages(text: str) -> None:
    message(text)
    findings(text)
    replaced(text)
    spelled_out(text)


def _limited(work: Callable[[str], None], text: str) -> None:
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    work(text)


@pytest.mark.parametrize(("work", "length"), [(_pages, LARGEST_COLOURED), (_messages, 1 << 20)])
@pytest.mark.parametrize("at", range(len(PARTS)))
def test_time_grows_with_the_length(work: Callable[[str], None], length: int, at: int) -> None:
    text = PARTS[at] * (length // len(PARTS[at]))
    process = multiprocessing.get_context("fork").Process(target=_limited, args=(work, text))
    process.start()
    process.join()
    assert process.exitcode == 0, f"{length} characters of {PARTS[at]!r}"


def test_a_message_is_cut() -> None:
    assert len(message("a" * 1_000_000)) < 600
    assert len(message("line\n" * 1_000_000)) <= LONGEST_TEXT + 2


def test_a_compilers_own_files_are_left_out_of_its_message() -> None:
    said = "ptxas /tmp/tmpxft_0000a1_00000000-6_scan.ptx, line 3; /tmp/deep/ccAb12Cd.o: x; in /a/b/scan.cu: kept"
    assert message(said) == "ptxas scan.ptx, line 3; .o: x; in /a/b/scan.cu: kept"


def test_every_letter_is_a_token() -> None:
    text = (Path(__file__).parents[2] / "solutions/06_hierarchical/scan.cu").read_text() + '/* open "'
    assert "".join(found.group() for found in TOKEN.finditer(text)) == text
