"""The picture of a comparison: speed or time over the number of elements, on logarithmic axes."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from scanlab.bench.result import Result, Row, gb_a_second
from scanlab.bench.tables import size_name
from scanlab.errors import UsageError
from scanlab.on_demand import PLOTS, provide
from scanlab.paths import shown

KINDS = (".svg", ".png")
Quantity = Literal["speed", "time"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195")
"""Distinguishable without red or green too (after Okabe and Ito); the marker changes with the colour."""
MARKERS = "osD^vPX"
BLACK, GREY, INK = "#000000", "#707070", "#222222"
LABEL_GAP = 0.043
"""Least distance of two labels, in heights of the axes."""


def prepare(paths: Sequence[Path]) -> None:
    """Make sure that `draw` can write `paths`; matplotlib is installed into .venv where it is missing.

    Raises UsageError for a file that is no picture, KitError when matplotlib is not there and cannot be installed.
    """
    for path in paths:
        if path.suffix.lower() not in KINDS:
            raise UsageError(f"--plot {shown(path)}: a picture's name ends with .svg or .png")
    if paths:
        provide(PLOTS, "--plot")


def draw(result: Result, paths: Sequence[Path], quantity: Quantity = "speed") -> None:
    """Draw every row that has at least one time, and write the picture to each of `paths`.

    Raises UsageError when there is nothing to draw, or a file cannot be written.
    """
    lines = [(row, points) for row in result.rows if (points := _points(row, quantity))]
    if not lines:
        raise UsageError("--plot: there is no time to draw")
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"font.size": 11, "svg.hashsalt": "scanlab", "axes.spines.top": False})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(11.5, 6.8), layout="constrained")
    styles = _styles([row for row, _ in lines])
    for row, points in lines:
        axes.plot(*zip(*points, strict=True), **styles[row.name])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _decorate(axes, result, quantity)
    _label(axes, [(row.name, points[-1], styles[row.name]) for row, points in lines])
    try:
        for path in paths:
            metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
            figure.savefig(path, dpi=150, metadata=metadata)
    except OSError as error:
        raise UsageError(f"cannot write {shown(Path(error.filename or paths[0]))}: {error.strerror}") from error
    finally:
        plt.close(figure)


def _points(row: Row, quantity: Quantity) -> list[tuple[int, float]]:
    """Return (n, GB/s) or (n, µs) for each size with a time, the smallest first."""
    timed = [(point.n, point.median_ms) for point in row.points if point.entry == "inclusive" and point.median_ms]
    return sorted((n, gb_a_second(n, ms) if quantity == "speed" else ms * 1e3) for n, ms in timed)


def _styles(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return how each row's line looks: dashed for sections, thick for the learner's own, black for CUB."""
    styles: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.role == "copy":
            styles[row.name] = {"color": GREY, "linewidth": 2.5, "linestyle": (0, (1, 1)), "zorder": 1}
            continue
        if row.role == "cub":
            styles[row.name] = {"color": BLACK, "linewidth": 2.5, "marker": "o", "markersize": 4, "zorder": 3}
            continue
        same = [each for each in rows if each.role not in ("copy", "cub") and bool(each.section) == bool(row.section)]
        # The two families start with different colours, so that neighbours in the picture seldom share one.
        at = (same.index(row) + (3 if row.section else 0)) % len(COLOURS)
        own = row.role in ("yours", "file")
        styles[row.name] = {
            "color": COLOURS[at],
            "marker": MARKERS[at],
            "markersize": 6 if own else 4.5,
            "linewidth": 3.0 if own else 1.6,
            "linestyle": "--" if row.section else "-",
            "zorder": 4 if own else 2,
        }
    return styles


def _decorate(axes: Any, result: Result, quantity: Quantity) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    # 10,000,000 would stand too close to 2^22 and 2^24.
    ticks = [n for n in result.sizes if n & (n - 1) == 0] or result.sizes
    axes.set_xticks(ticks, [_superscript(size_name(n)) for n in ticks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.set_xlabel("n, elements (floats)")
    what = "GB/s (each element read once and written once)" if quantity == "speed" else "µs, median"
    axes.set_ylabel(what)
    sections = any(row.section for row in result.rows)
    note = "; dashed: sections of 1,024 only" if sections else ""
    title = "Speed" if quantity == "speed" else "Time"
    axes.set_title(f"{title} of inclusive scans on {result.device.name}{note}", loc="left", fontsize=12)
    axes.grid(which="major", color="#d8d8d8", linewidth=0.7)
    axes.spines["right"].set_visible(False)
    axes.set_axisbelow(True)


def _superscript(text: str) -> str:
    return rf"$2^{{{text[2:]}}}$" if text.startswith("2^") else rf"$10^{{{text[3:]}}}$" if "^" in text else text


def _label(axes: Any, ends: Sequence[tuple[str, tuple[int, float], dict[str, Any]]]) -> None:
    """Write each line's name to the right of the axes, beside its end as far as the others leave room."""
    low, high = (math.log(limit) for limit in axes.get_ylim())
    left, right = (math.log(limit) for limit in axes.get_xlim())
    order = sorted(ends, key=lambda end: end[1][1])
    wanted = [(math.log(end[1][1]) - low) / (high - low) for end in order]
    for (name, (n, _), style), at, place in zip(order, wanted, spread(wanted, LABEL_GAP), strict=True):
        end = ((math.log(n) - left) / (right - left), at)
        axes.annotate(
            name,
            xy=end,
            xytext=(1.03, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=INK,
            va="center",
            fontsize=10,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": style["color"],
                "linewidth": 0.8,
                "linestyle": (0, (1, 4)),  # faint, or it would look like more of the curve
                "relpos": (0, 0.5),  # from the middle of the name's left side
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return places for `wanted`, which rise, that lie at least `gap` apart and otherwise as near as can be.

    Labels that would overlap become a group, which stands around the middle of what its members want.
    """
    groups: list[list[float]] = []
    for place in wanted:
        groups.append([place])
        while len(groups) > 1 and _bottom(groups[-1], gap) - _top(groups[-2], gap) < gap:
            last = groups.pop()
            groups[-1] += last
    return [_bottom(group, gap) + at * gap for group in groups for at in range(len(group))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - (len(group) - 1) * gap / 2


def _top(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) + (len(group) - 1) * gap / 2
