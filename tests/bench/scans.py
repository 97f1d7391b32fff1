"""`bench` on real scans, from end to end: the counts of the virtual GPU, and the timer program run on it.

    python scans.py

The virtual GPU's times mean nothing; that the right programs are timed, and only they, does.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "grader/python"))

from scanlab.bench.contenders import choose  # noqa: E402
from scanlab.bench.result import Result, Row  # noqa: E402
from scanlab.bench.times import Options, measure_times  # noqa: E402
from scanlab.cli import main  # noqa: E402

failures: list[str] = []

NOTHING = """
#include "scanlab.cuh"
void inclusive_scan(const Element*, Element*, int) {}
"""
CRASHES = """
#include "scanlab.cuh"
void inclusive_scan(const Element*, Element*, int n) {
  if (n > 2000) __builtin_trap();
}
void exclusive_scan(const Element*, Element*, int) {}
"""
CHANGES_ITS_INPUT = """
#include "scanlab.cuh"
__global__ void kernel(const Element* d_x, Element* d_y, int n) {
  Element sum = identity();
  for (int i = 0; i < n; ++i) d_y[i] = sum = sum + d_x[i];
  const_cast<Element*>(d_x)[n - 1] = 7;
}
void inclusive_scan(const Element* d_x, Element* d_y, int n) { kernel<<<1, 1>>>(d_x, d_y, n); }
"""


def expect(what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        failures.append(f"{what}: {found!r}, expected {wanted!r}")


def test_counts(folder: Path) -> None:
    nothing, result_file, page = folder / "nothing.cu", folder / "counts.json", folder / "counts.md"
    nothing.write_text(NOTHING)
    sections = "solutions/03_double_buffer/scan.cu"
    words = ["01", "02", "04", "06", str(ROOT / sections), str(nothing), "--n", "2048", "--n", "2^9"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(["bench", *words, "--json", str(result_file), "--markdown", str(page)])
    expect("every scan has its line", all(f"\n{name}  " in said.getvalue() for name in ("01_sequential", "copy")), True)
    expect("exit code, one of the files being wrong", code, 1)
    result = json.loads(result_file.read_text())
    rows = {row["name"]: row for row in result["rows"]}
    expect("sizes", result["sizes"], [512, 2048])

    def counts(name: str, *names: str, n: int = 2048) -> list[float]:
        found = next(each for each in rows[name]["points"] if (each["n"], each["entry"]) == (n, "inclusive"))
        return [found["counts"][each] for each in names] if found["counts"] else []

    moved = ("global_bytes", "global_sectors")
    least = [2 * 2048 * 4, 2 * 2048 / 8]
    expect("01", counts("01_sequential", "additions", "global_bytes", "launches"), [2047, least[0], 1])
    # Two sections: n log2(n) - (n - 1) additions and 2 barriers for each of 10 steps.
    kogge_stone = [2 * (1024 * 10 - 1023), 2 * 2 * 10, 1, 0, *least]
    names = ("additions", "barriers", "launches", "bank_conflict_replays", *moved)
    expect("02", counts("02_kogge_stone", *names), kogge_stone)
    # 2n - 2 - log2(n) additions, and 19 levels and the store behind a barrier each, whatever the mapping.
    for name in ("04_brent_kung", "04_brent_kung_naive_mapping", "04_brent_kung_one_element"):
        expect(name, counts(name, "additions", "barriers", *moved), [2 * (2048 - 2 - 10), 2 * 20, *least])
    naive, good = (counts(f"04_brent_kung{end}", "warp_efficiency")[0] for end in ("_naive_mapping", ""))
    expect("the naive mapping leaves more lanes idle", naive < good, True)
    conflicts = counts("04_brent_kung_naive_mapping", "bank_conflict_replays")
    expect("and has no bank conflicts", conflicts, [0])
    expect("06 launches", counts("06_hierarchical", "launches"), [3])
    expect("CUB is measured", len(counts("CUB DeviceScan", "additions")), 1)
    expect("the copy", counts("copy", *moved), least)
    expect("sections are found out", [rows[name]["section"] for name in (sections, str(nothing))], [1024, 0])
    expect("statuses", {each["status"] for each in rows[str(nothing)]["points"]}, {"wrong", "error"})
    expect("the page", page.read_text().startswith("# What the scans do: scanlab virtual GPU\n"), True)


def row(result: Result, name: str) -> Row:
    return next(row for row in result.rows if row.name.endswith(name))


def test_times(folder: Path) -> None:
    for name, text in (("nothing", NOTHING), ("crashes", CRASHES), ("changes", CHANGES_ITS_INPUT)):
        (folder / f"{name}.cu").write_text(text)
    broken = folder / "broken.cu"
    broken.write_text("int x = y;\n")
    files = [folder / f"{name}.cu" for name in ("nothing", "crashes", "changes", "broken")]
    chosen, _ = choose(["04", "06", *map(str, files), str(ROOT / "solutions/05_coarsening/scan.cu")])
    options = Options(sizes=(1, 1024, 1025, 5000), n=5000, rounds=2, calls=2, seconds=1.0)
    result, _ = measure_times(chosen, options, "", "2026-01-01", "", device="vgpu")
    for name in (
        "04_brent_kung",
        "04_brent_kung_naive_mapping",
        "04_brent_kung_one_element",
        "06_hierarchical",
        "CUB DeviceScan",
        "05_coarsening/scan.cu",
    ):
        points = [(point.n, point.entry, point.status, len(point.ms)) for point in row(result, name).points]
        sizes = [(n, "inclusive", "ok", 4) for n in options.sizes] + [(5000, "exclusive", "ok", 4)]
        expect(name, points, sizes)
    expect("the copy", [point.status for point in row(result, "copy").points], ["ok"] * 4)
    expect("sections", [row(result, name).section for name in ("04_brent_kung", "05_coarsening/scan.cu")], [1024, 1024])
    statuses = {
        name: [point.status for point in row(result, f"{name}.cu").points]
        for name in ("nothing", "crashes", "changes", "broken")
    }
    expect("nothing.cu", statuses["nothing"], ["wrong"] * 4 + ["missing"])
    expect("crashes.cu", statuses["crashes"], ["wrong", "wrong", "wrong", "error", "wrong"])
    expect("changes.cu", statuses["changes"], ["wrong"] * 4 + ["missing"])
    expect("broken.cu", statuses["broken"], ["not_built"] * 5)
    expect(
        "the report of nothing.cu",
        row(result, "nothing.cu").points[1].text.split(",")[0],
        "y[0] is NaN or was never written",
    )
    expect(
        "the report of changes.cu", row(result, "changes.cu").points[1].text.startswith("the input, changed: x["), True
    )


with tempfile.TemporaryDirectory() as scratch:
    test_counts(Path(scratch))
    test_times(Path(scratch))
print("\n".join(failures) or "all as it should be")
sys.exit(1 if failures else 0)
