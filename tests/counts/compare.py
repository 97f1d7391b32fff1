"""Compare the virtual GPU's counts of all solutions with Nsight Compute's on this machine's GPU.

    python compare.py [--keep DIR]

Each solution is compiled to the same PTX for both, and called once. A row is the sum over all kernels of the call. Exit
0 when all counts agree or differ for a reason that EXPLAINED names, 1 when one does not, 77 when there is no GPU or no
ncu here.
"""

import argparse
import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "grader/python"))

from scanlab.bootstrap.cuda import PTX_FLAGS  # noqa: E402
from scanlab.judging.toolchain import product, toolchain  # noqa: E402

SKIPPED = 77
TIMEOUT = 120.0
PTX_TO_CODE = "arch=compute_80,code=sm_{}"
"""The PTX that the virtual GPU runs, made into the GPU's own code. Without optimisation: ptxas otherwise merges loads
of neighbouring words into wider ones, which meet in fewer banks."""

L1 = "l1tex__t"
SHARED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
COUNTS = {
    "sectors": (
        "global sectors",
        [f"{L1}_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "atom", "red")],
    ),
    "bank conflicts": ("bank-conflict replays", [f"{SHARED}_ld.sum", f"{SHARED}_st.sum", f"{SHARED}_atom.sum"]),
    "atomics": (
        "atomics",
        [f"smsp__sass_inst_executed_op_{name}.sum" for name in ("global_atom", "global_red", "shared_atom")],
    ),
}
"""Of each count: the line of `vgpu-run --counters`, and the metrics whose sum it is compared with."""


@dataclass(frozen=True)
class Case:
    """A solution, its entry, and how many elements it is given."""

    lab: str
    n: int
    entry: str = "inclusive_scan"


CASES = [
    Case("01_sequential", 1000),
    *(Case(lab, n) for lab in ("02_kogge_stone", "03_double_buffer") for n in (1024, 5137)),
    *(Case(lab, n) for lab in ("04_brent_kung", "05_coarsening") for n in (1024, 5137)),
    *(Case("06_hierarchical", n) for n in (5137, 262144)),
    *(Case(lab, n) for lab in ("07_domino", "08_warp_shuffle") for n in (1024, 5137)),
    Case("09_atomic_block_sums", 5137),
    *(Case("10_compaction", n, "split") for n in (1024, 5137)),
    *(Case("11_look_back", n) for n in (1024, 5137)),
]
EXPLAINED = {
    ("07_domino", 5137): {"sectors": "polls", "atomics": "polls"},
    ("08_warp_shuffle", 5137): {"sectors": "polls", "atomics": "polls"},
    ("09_atomic_block_sums", 5137): {"atomics": "warps"},
    ("10_compaction", 5137): {"sectors": "polls", "atomics": "polls"},
    ("11_look_back", 1024): {"bank conflicts": "copies"},
    ("11_look_back", 5137): {"bank conflicts": "copies", "sectors": "polls"},
}
"""Where counts differ, and why. Besides, "crowd" explains a few bank conflicts more anywhere."""
CROWD = 0.005
"""Share of the bank conflicts that a crowd may add; it may add two anyway."""
REASONS = {
    "crowd": "with several blocks at once the hardware counts a few collisions more, another number each time",
    "polls": "how often a block asks for the one before it depends on when it comes; ncu runs a kernel several times",
    "warps": "ncu counts instructions of warps, the virtual GPU those of threads",
    "copies": "asynchronous copies and stores meet at the banks at times that nobody plans",
}


def reason_for(case: Case, name: str, here: int, there: int) -> str:
    """Say why ncu counts something else, by a key of REASONS; empty when nothing is known."""
    if name == "bank conflicts" and 0 < there - here <= max(2, CROWD * here):
        return "crowd"
    return EXPLAINED.get((case.lab, case.n), {}).get(name, "")


def run(command: Iterable[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what it printed."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT, check=False)


def real_flags() -> tuple[str, ...]:
    """Return nvcc's flags for this machine's GPU."""
    asked = run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"])
    capability = asked.stdout.split()[0].replace(".", "")
    return ("-gencode", PTX_TO_CODE.format(capability), "-Xptxas", "-O0", "-cudart", "static")


def compile_case(case: Case, folder: Path) -> tuple[Path, Path]:
    """Return the program for the virtual GPU and the one for the real one."""
    tools = toolchain()
    name = f"{case.lab}_{case.entry}"
    define = ["-DSPLIT"] if case.entry == "split" else [f"-DENTRY={case.entry}"]
    source = [
        f'-DSOLUTION="{ROOT / "solutions" / case.lab / "scan.cu"}"',
        *define,
        "-I",
        ROOT / "labs",
        HERE / "main.cu",
    ]
    programs = folder / f"{name}_vgpu", folder / f"{name}_gpu"
    if not programs[1].exists():
        library = [product("grader/cudart/libcudart_vgpu.a"), "-lpthread", "-ldl", "-lrt"]
        for program, flags, libraries in zip(programs, (PTX_FLAGS, real_flags()), (library, []), strict=True):
            made = run([tools.nvcc, "-std=c++17", *flags, *source, "-o", program, *libraries])
            if made.returncode:
                raise RuntimeError(made.stderr)
    return programs


def virtual_counts(program: Path, n: int) -> dict[str, int]:
    """Return the counts by their names here."""
    done = run([product("grader/vgpu/server/vgpu-run"), "--profile", "h200", "--counters", program, n])
    if done.returncode:
        raise RuntimeError(done.stderr)
    lines = dict(re.findall(r"^  (\S.*?)  +([\d,]+)$", done.stderr, re.MULTILINE))
    return {name: int(lines[line].replace(",", "")) for name, (line, _) in COUNTS.items()}


def real_counts(ncu: str, program: Path, n: int) -> dict[str, dict[str, int]]:
    """Return the metrics of each count, summed over all kernels."""
    metrics = [metric for _, metrics in COUNTS.values() for metric in metrics]
    done = run([ncu, "--csv", "--print-units", "base", "--metrics", ",".join(metrics), program, n])
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or not table:
        raise RuntimeError(done.stdout + done.stderr)
    sums: dict[str, int] = {}
    for row in csv.DictReader(table):
        value = row["Metric Value"].replace(",", "")
        if value not in ("n/a", ""):
            sums[row["Metric Name"]] = sums.get(row["Metric Name"], 0) + round(float(value))
    return {name: {metric: sums.get(metric, 0) for metric in metrics} for name, (_, metrics) in COUNTS.items()}


def main() -> int:
    """Count, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, help="the folder for programs; default: a temporary one")
    asked = parser.parse_args()
    ncu = shutil.which("ncu")
    if not ncu or not shutil.which("nvidia-smi"):
        print("not run: no GPU, or no Nsight Compute (ncu)")
        return SKIPPED
    different = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{'solution':22}{'n':>8}  {'count':15}{'here':>10}{'ncu':>10}")
        for case in CASES:
            programs = compile_case(case, folder)
            here, there = virtual_counts(programs[0], case.n), real_counts(ncu, programs[1], case.n)
            for name, value in here.items():
                total = sum(there[name].values())
                reason = reason_for(case, name, value, total)
                different += value != total and not reason
                why = "" if value == total else f"  {reason or 'not explained'}"
                print(f"{case.lab:22}{case.n:>8}  {name:15}{value:>10}{total:>10}{why}")
    for reason, text in REASONS.items():
        print(f"{reason}: {text}")
    print(f"{different} counts differ for no reason that is known")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
