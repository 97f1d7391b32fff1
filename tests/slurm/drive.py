"""Grade the units of a results folder and make its results: drive.py DIR here, or on Slurm: drive.py DIR [KEY=VALUE …].

With `no-sandbox` among the words it does so without one. Prints each unit's verdict when its result is there.
"""

import sys
from pathlib import Path

from scanlab.classroom.grading import grade_unit, make_record, units
from scanlab.classroom.records import Verdict
from scanlab.classroom.store import Store, Unit
from scanlab.errors import ScanlabError
from scanlab.executors.slurm import Pace, SlurmExecutor
from scanlab.executors.slurm_options import read_options
from scanlab.process import Interrupted, stop_on_signals

PACE = Pace(results=0.1, queue=(0.3, 1.0), settle=0.3, completing=3.0, full=1.0)


def show(unit: Unit, verdict: Verdict) -> None:
    """Print what a unit got."""
    print(unit.lab, unit.sha256[:8], verdict, flush=True)


def main() -> int:
    """Do it, with the exit codes of the kit's own commands."""
    stop_on_signals()
    store, options = Store(Path(sys.argv[1])), sys.argv[2:]
    how = {"is_sandboxed": "no-sandbox" not in options}
    options = [option for option in options if option != "no-sandbox"]
    try:
        taken_in = store.read_class()
        if options == ["here"]:
            for unit in units(taken_in):
                show(unit, grade_unit(store, taken_in, unit, **how))
        else:
            SlurmExecutor(read_options(options), how=how, pace=PACE).run(store, taken_in, units(taken_in), show)
        for submission in taken_in.submissions:
            store.write_record(make_record(store, taken_in, submission))
    except ScanlabError as error:
        print(f"scanlab: {error}", file=sys.stderr)
        return error.code
    except Interrupted as stopped:
        return 128 + stopped.signal
    return 0


if __name__ == "__main__":
    sys.exit(main())
