"""Pages of kernels with few elements: the solutions', and those of five mistakes of the corpus."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scanlab.labs import edits
from scanlab.labs.folders import all_labs, find_lab
from scanlab.paths import ROOT
from scanlab.trace.html import page
from scanlab.trace.model import Trace
from scanlab.trace.record import Options, record

N = 8
SOLUTIONS = tuple(lab.name for lab in all_labs())
RACE = "02_kogge_stone/no_second_barrier"
FAULT = "02_kogge_stone/step_unguarded"
UNINITIALISED = "03_double_buffer/idle_threads_do_not_copy"
DIVERGENT = "04_brent_kung/barrier_in_the_branch"
WRONG = "04_brent_kung/index_off_by_one"
MISTAKES = (RACE, FAULT, UNINITIALISED, DIVERGENT, WRONG)


@cache
def traced(name: str, n: int = N) -> tuple[Trace, str]:
    """The trace of a solution or a mistake, and its text."""
    lab = find_lab(name.split("/")[0])
    if "/" not in name:
        options = Options(lab.rubric.entries[0], n, with_neighbours=True)
        return record(lab, lab.solution, options), lab.solution.read_text(encoding="utf-8")
    text = edits.expand(ROOT / f"tests/mutants/{name}.diff", ROOT)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scan.cu"
        path.write_text(text, encoding="utf-8")
        return record(lab, path, Options(n=n)), text


@cache
def html_of(name: str, n: int = N) -> str:
    return page(*traced(name, n))
