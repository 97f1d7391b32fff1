"""Hand every lab's solution in as every other lab, and show the points: none may get all of them.

    python swaps.py [--neighbours] [--device gpu]

With --neighbours, what the kit's own tests run: the solutions of the lab before and of the one behind only.
Exit 0 when no swapped solution gets full points, 1 when one does.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "grader/python"))

from scanlab.judging.judge import Submission, grade
from scanlab.judging.plan import Options
from scanlab.labs.folders import all_labs


def main() -> int:
    """Grade the swapped solutions and print the table of points."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--device", choices=["vgpu", "gpu"], default="vgpu")
    asked = parser.parse_args()
    labs = all_labs()
    pairs = [
        (i, j)
        for i in range(len(labs))
        for j in range(len(labs))
        if i != j and (abs(i - j) == 1 or not asked.neighbours)
    ]
    results = grade([Submission(labs[i], labs[j].solution) for i, j in pairs], Options(device=asked.device))
    points = {pair: f"{result.points:g}" for pair, result in zip(pairs, results, strict=True)}
    full = [pair for pair, result in zip(pairs, results, strict=True) if result.points >= result.max_points]
    print(f"{'as':22}" + "".join(f"{lab.name[:2]:>5}" for lab in labs) + "   solution of")
    for i, lab in enumerate(labs):
        print(f"{lab.name:22}" + "".join(f"{points.get((i, j), ''):>5}" for j in range(len(labs))))
    for i, j in full:
        print(f"the solution of {labs[j].name} gets full points as {labs[i].name}")
    print(f"{len(full)} of {len(pairs)} swapped solutions get full points")
    return 1 if full else 0


if __name__ == "__main__":
    sys.exit(main())
