"""Submit arrays of tasks through submitit."""

import io
import math
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanlab.classroom.records import Class
from scanlab.classroom.store import Unit
from scanlab.course.model import lab_of
from scanlab.errors import KitError, UsageError
from scanlab.executors import slurm_task
from scanlab.executors.slurm_options import SlurmOptions
from scanlab.executors.slurm_queue import words
from scanlab.judging import judge
from scanlab.judging.compiler.running import COMPILE_TIMEOUT
from scanlab.judging.plan import MOST_PROVED
from scanlab.on_demand import SUBMITIT, provide
from scanlab.paths import ROOT, build_folder

NOTICE_SECONDS = 120
"""How long before its time limit a task is warned, so that it begins no further unit."""
LIMIT_WORDS = ("job submit limit", "MaxSubmitJob", "too many", "Job count", "unable to accept job")
"""What sbatch says when there are too many jobs already, rather than something wrong with these."""


class LimitError(Exception):
    """Slurm takes no more jobs now; the text is its own."""


@dataclass(frozen=True)
class Submitted:
    """One task that Slurm has taken."""

    id: str
    log: Path
    units: tuple[Unit, ...]


class Jobs:
    """Makes the jobs of one results folder."""

    def __init__(
        self,
        name: str,
        results: Path,
        taken_in: Class,
        options: SlurmOptions,
        units_per_task: int,
        how: Mapping[str, Any],
    ) -> None:
        """Prepare them; `how` are the keyword arguments for grade_unit.

        Raises KitError when submitit is missing and cannot be installed.
        """
        provide(SUBMITIT, "--executor slurm")
        self.results, self.how = results, dict(how)
        self.folder = results / "slurm/jobs"
        self.exclude: set[str] = set()
        """Nodes that cannot grade."""
        minutes = options.minutes or default_minutes(taken_in, units_per_task)
        notice = min(NOTICE_SECONDS, minutes * 15)
        self._excluded_by_user = options.parameters.get("exclude")
        on_gpu = {"gres": "gpu:1", "exclusive": True} if taken_in.device == "gpu" else {}
        if "gpus_per_node" in options.parameters or any("gpus" in flag for flag in options.flags):
            on_gpu.pop("gres", None)
        self._parameters: dict[str, Any] = {
            "cpus_per_task": options.cpus,
            "wckey": None,
            **on_gpu,
            **{key: None if value is False else value for key, value in options.parameters.items()},
            "job_name": name,
            "time": minutes,
            "array_parallelism": options.at_once,
            "stderr_to_stdout": True,
            # A step of its own would bring nothing but another chance to fail; so Slurm's signals go to the batch
            # script, which is replaced by Python.
            "use_srun": False,
            "setup": _setup(options.cpus),
            "additional_parameters": {
                **options.flags,
                "signal": f"B:{slurm_task.CLOSING.name.removeprefix('SIG')}@{notice}",
                "no-requeue": True,  # every further try is this program's, which counts them
                "chdir": str(ROOT),
                "open-mode": "append",
            },
        }

    def submit(self, chunks: Sequence[tuple[Unit, ...]]) -> list[Submitted]:
        """Submit one array with a task for each chunk of units.

        Raises LimitError when Slurm takes no more now, UsageError when it refuses the options, KitError when it does
        not answer.
        """
        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        exclude = ",".join(filter(None, [self._excluded_by_user, *sorted(self.exclude)])) or None
        said = io.StringIO()
        try:
            with redirect_stderr(said), _without_other_jobs_settings():
                executor = submitit.SlurmExecutor(self.folder, python=f"exec {shlex.quote(sys.executable)}")
                executor.update_parameters(**{**self._parameters, "exclude": exclude})
                work = [(str(self.results), list(chunk), self.how) for chunk in chunks]
                jobs = executor.map_array(slurm_task.grade_chunk, *zip(*work, strict=True))
        except (FailedJobError, FailedSubmissionError) as error:
            raise _refusal(str(error)) from error
        except RuntimeError as error:  # submitit finds no srun
            raise UsageError(f"--executor slurm: {words(str(error))}") from error
        except OSError as error:
            raise KitError(f"cannot submit to Slurm: {error.filename or 'sbatch'}: {error.strerror}") from error
        return [
            Submitted(job.job_id, Path(job.paths.stdout), tuple(chunk)) for job, chunk in zip(jobs, chunks, strict=True)
        ]


def _refusal(text: str) -> Exception:
    said = words(text) or "sbatch failed and said nothing"
    if any(limit in text for limit in LIMIT_WORDS):
        return LimitError(said)
    if "ontact slurm controller" in text or "onnection" in text or "imed out" in text:
        return KitError(f"Slurm does not answer: {said}")
    return UsageError(f"Slurm refuses the jobs: {said}; change --slurm KEY=VALUE")


def default_minutes(taken_in: Class, units_per_task: int) -> int:
    """Return a time limit in which the slowest unit that there can be still ends, and the others usually do."""
    worst = 0.0
    for name in taken_in.labs:
        rubric = lab_of(taken_in.course, name).rubric
        rounds = [getattr(check, "seconds", 0) for check in rubric.check]
        seconds = judge.longest(rubric.limits.seconds, rounds)
        seconds += MOST_PROVED * judge.longest_proof(rubric.limits.seconds) if taken_in.is_proved else 0
        worst = max(worst, seconds + COMPILE_TIMEOUT)
    return math.ceil((worst + NOTICE_SECONDS) / 60) + units_per_task


def _setup(cpus: int) -> list[str]:
    """Return shell lines that begin a task: what the kit needs in the environment, however Slurm passes it on."""
    environment = {
        "PYTHONPATH": str(ROOT / "grader/python"),
        "SCANLAB_BUILD": str(build_folder()),
        "SCANLAB_NO_SETUP": "1",
        "SCANLAB_THREADS": str(cpus),
    }
    python = shlex.quote(sys.executable)
    advice = "the kit has to lie where all nodes see it"
    return [
        *(f"export {name}={shlex.quote(value)}" for name, value in environment.items()),
        f'[ -x {python} ] || {{ echo "scanlab: node $SLURMD_NODENAME cannot see "{python}": {advice}"; exit 3; }}',
    ]


@contextmanager
def _without_other_jobs_settings() -> Iterator[None]:
    """Keep sbatch's settings from the environment from replacing what the kit relies on."""
    names = ("ARRAY_INX", "JOB_NAME", "NO_REQUEUE", "OPEN_MODE", "OUTPUT", "REQUEUE", "SIGNAL", "WAIT")
    kept = {key: os.environ.pop(key) for name in names if (key := f"SBATCH_{name}") in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
