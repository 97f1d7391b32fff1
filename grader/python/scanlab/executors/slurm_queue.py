"""Ask Slurm, with its own commands and without its accounting, what waits and runs and what it allows; and end jobs.

submitit asks `sacct`, which a cluster without slurmdbd cannot answer: a task that was killed would never end. `squeue`
always answers, and knows a task for some minutes after its end.
"""

import getpass
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from scanlab.errors import KitError, UsageError

SECONDS = 60.0
"""How long one command may take."""
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REVOKED", "TIMEOUT"),
}
DEFAULT_MAX_ARRAY = 1001


class QueueError(Exception):
    """Slurm does not answer; the text is its own."""


@dataclass(frozen=True)
class TaskState:
    """What Slurm says of a task: RUNNING, PENDING, NODE_FAIL …, on which node, and why it waits."""

    state: str
    node: str
    reason: str

    @property
    def has_ended(self) -> bool:
        """Return whether it will never run again."""
        return self.state in ENDED


class Queue:
    """This user's jobs of one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.user = getpass.getuser()

    def states(self) -> dict[str, TaskState]:
        """Return the state of each task, by its id: `12_3`, or `12` where a job is no array.

        Raises QueueError when Slurm does not answer.
        """
        text = _ask(
            [
                *("squeue", "--noheader", "--array", "--states=all", f"--name={self.name}", f"--user={self.user}"),
                "--format=%i|%T|%N|%r",
            ]
        )
        found = {}
        for line in text.splitlines():
            task, state, node, reason = (*line.strip().split("|", 3), "", "", "")[:4]
            found[task] = TaskState(state, node, reason)
        return found

    def cancel(self) -> None:
        """End them all, those that wait and those that run. Raises QueueError when Slurm does not answer."""
        _ask(["scancel", f"--name={self.name}", f"--user={self.user}"], 20)


def max_array() -> int:
    """Return how many tasks one array may have.

    Raises UsageError when Slurm's commands are not here, and KitError when it does not answer.
    """
    try:
        text = _ask(["scontrol", "show", "config"])
    except FileNotFoundError as error:
        raise UsageError("--executor slurm needs Slurm's commands (sbatch, squeue, scontrol); none are here") from error
    except QueueError as error:
        raise KitError(f"Slurm does not answer: {error}") from error
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", text, re.MULTILINE)
    return max(1, int(found.group(1)) if found else DEFAULT_MAX_ARRAY)


def _ask(command: Sequence[str], seconds: float = SECONDS) -> str:
    # The user's own defaults, SQUEUE_PARTITION and the like, would hide tasks.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SQUEUE_", "SCANCEL_"))}
    environment["LC_ALL"] = "C"
    try:
        # Not run_group: jobs are cancelled when this program is stopping, and it lets no more programs start then.
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise QueueError(f"{command[0]} did not end within {seconds:.0f} s") from error
    if done.returncode != 0:
        raise QueueError(words(done.stderr) or f"{command[0]} failed with exit code {done.returncode}")
    return done.stdout


def words(text: str) -> str:
    """Return what one of Slurm's commands has said in one line, without the command's name."""
    lines = [re.sub(r"^s[a-z]+: (?:(?:error|fatal): )?", "", line.strip()) for line in text.splitlines()]
    return "; ".join(dict.fromkeys(line for line in lines if line))
