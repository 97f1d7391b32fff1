"""The README.md at the top of a student's copy."""

from collections.abc import Mapping

from scanlab.course.meaning import late_text
from scanlab.course.model import Course
from scanlab.labs.folders import Lab

HEAD = """\
# {title}

Parallel scan (prefix sum) in CUDA C++: you write the kernels, and the kit checks them with or without a GPU and tells
you why they are wrong. Your file is compiled by NVIDIA's own compiler; without a GPU a virtual one runs it.

    grader/scanlab check {number}           check your work on a lab; each failure says how to see it again

The first use sets everything up: a Python environment in `.venv`, the system packages that are missing (Debian 12 and
13, Ubuntu 24.04; where it may not install, it prints the one line to type), nvcc if the machine has no CUDA 12 or 13,
and the build. That takes a few minutes, once.

## The labs

{table}

You edit `labs/NN_name/scan.cu`, between the two marks in it.
{more}
## Commands

    grader/scanlab list                     the labs in their order
    grader/scanlab check {number}                 check your work
    grader/scanlab trace {number}                 what your kernel does, step by step; --svg FILE draws it
    grader/scanlab hint {number}                  a question; --level 2 and 3 say more
    grader/scanlab reset {number}                 the skeleton again; your file is kept beside it
    grader/scanlab run {number}                   your scan of 0, 1, 2 …: what goes in and comes out
    grader/scanlab run my.cu -- arguments   any CUDA program of your own, on the virtual GPU
{handouts}
In VS Code, Ctrl+Shift+B checks the lab whose file is open and shows mistakes at their lines. Editors with clangd need
nothing else.

This copy of the kit has neither solutions nor the kit's own tests. Without a solution nothing is timed: such a check is
"not run: no reference solution here", and costs no points.

BSD 3-Clause; see `LICENSE`.
"""


def readme(
    title: str, course: Course | None, labs: list[Lab], concealed: Mapping[str, tuple[str, ...]], *, with_handouts: bool
) -> str:
    """Return the text. It says how many checks a student does not see, and not which."""
    header = ["lab", "what it is", "points"] + (["due", "late work"] if course else [])
    rows = [header, ["---"] * len(header)]
    for lab in labs:
        points = sum(check.points for check in lab.rubric.check if check.kind != "timing")
        row = [f"`{lab.name}`", lab.rubric.title.replace("|", "\\|"), str(points)]
        if course:
            found = course.find(lab.name)
            due = found.due if found else None
            row += [due.at.strftime("%Y-%m-%d %H:%M %z") if due else "never"]
            row += [late_text(found.late) if found and due else "-"]
        rows.append(row)
    more = sum(map(len, concealed.values()))
    hidden = (
        f"\nWhen your work is graded, {more} more check{' runs' if more == 1 else 's run'} than here.\n" if more else ""
    )
    line = (
        "    grader/scanlab handouts --open          the handouts as a site, in your browser\n" if with_handouts else ""
    )
    return HEAD.format(
        title=title,
        number=labs[0].number,
        table="\n".join(f"| {' | '.join(row)} |" for row in rows),
        more=hidden,
        handouts=line,
    )
