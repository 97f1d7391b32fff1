"""Grade a made-up class, kill another run of it ten times, and compare the results byte for byte.

    python grade_300.py [--people 300] [--kills 10] [--jobs N] [--seed 1] [--labs 01 02 …] [--keep DIR]

No test of the default suite: 300 submissions of all labs take about a quarter of an hour on two processors. Needs the
kit's build ($SCANLAB_BUILD) and the packages of requirements-gradescope.txt. Prints wall time, processor seconds and
their ratio; exit code 0 when all agree.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "grader/python")]

from killing import differences, killed_run, run  # noqa: E402
from made_up import GIB, REPOSITORY, make  # noqa: E402

os.environ.setdefault("SCANLAB_NO_SETUP", "1")


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labs", nargs="*", default=[])
    parser.add_argument("--keep", type=Path, help="an empty folder for the class and both results")
    asked = parser.parse_args()
    names = sorted(path.name for path in (REPOSITORY / "labs").glob("[0-9][0-9]_*"))
    labs = [name for name in names if not asked.labs or name[:2] in asked.labs]
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        made = make(folder, asked.people, asked.seed, labs, zeros=GIB)
        print(f"{asked.people} submissions, {len(made.faults)} of them odd; labs {' '.join(labs)}", flush=True)
        jobs = ("--jobs", str(asked.jobs))
        quiet = run(made, folder / "quiet", *jobs)
        print(quiet.out, quiet.err, sep="\n", flush=True)
        if quiet.code:
            print(f"the quiet run ended with exit code {quiet.code}")
            return 1
        usages = [json.loads(path.read_text()) for path in (folder / "quiet/usage").glob("*/*.json")]
        cpu = sum(usage["cpu_seconds"] for usage in usages)
        ratio = quiet.seconds / (cpu / asked.jobs)
        print(f"quiet run: {len(usages)} files, {quiet.seconds:.0f} s, {cpu:.0f} s of processor")
        print(f"wall time / (processor seconds / {asked.jobs}) = {ratio:.3f} (at most 1.15)", flush=True)
        busy = sum(usage["seconds"] for usage in usages) / (quiet.seconds * asked.jobs)
        print(
            f"{busy:.1%} of the time all {asked.jobs} places were at work; where it is near 100 %, what the ratio has"
        )
        print("above 1 was spent waiting for processors that others used", flush=True)
        wrong = killed_run(made, folder / "killed", asked.kills, len(usages), asked.seed, *jobs)
        wrong += differences(folder / "quiet", folder / "killed")
        wrong += [f"ratio {ratio:.3f} is above 1.15"] if ratio > 1.15 else []
    print("\n".join(wrong) or "both runs wrote the same, byte for byte")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
