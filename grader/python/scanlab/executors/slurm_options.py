"""`--slurm KEY=VALUE`: what a user may say about the jobs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scanlab.errors import UsageError

KEY = re.compile(r"[a-z][a-z0-9-]*")
OWN = {"units-per-task": (1, 1000), "at-once": (1, 100_000), "retries": (0, 20)}
"""Keys of the kit's own: the smallest and the largest number that each takes."""
NUMBERS = ("cpus-per-task", "gpus-per-node")
SUBMITITS = (
    *("partition", "account", "qos", "constraint", "gres", "nodelist", "exclude", "comment", "mail-type", "mail-user"),
    *("mem-per-cpu", "mem-per-gpu", "dependency", "wckey", "exclusive", *NUMBERS),
)
"""sbatch's options that submitit has a parameter for and takes as they are."""
TAKEN = {
    **dict.fromkeys(("array", "wrap", "wait", "parsable", "test-only", "input", "output", "error"), "says it itself"),
    **dict.fromkeys(("open-mode", "signal", "requeue", "no-requeue", "export", "chdir"), "says it itself"),
    "job-name": "finds its jobs by their name",
    "clusters": "asks one cluster; set SLURM_CONF to use another",
    **dict.fromkeys(("nodes", "ntasks", "ntasks-per-node"), "grades one unit at a time in a task"),
}
"""sbatch's options that the kit cannot leave to others, and why."""
TIME = re.compile(
    r"(?:(?P<days>\d+)-(?P<day_hours>\d+)(?::(?P<day_minutes>\d+))?(?::(?P<day_seconds>\d+))?"
    r"|(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)|(?P<only_minutes>\d+)(?::(?P<only_seconds>\d+))?)",
    re.ASCII,
)
YES, NO = ("yes", "true", "1"), ("no", "false", "0")


@dataclass(frozen=True)
class SlurmOptions:
    """How jobs are made. None: chosen by the number of units and the labs' own limits."""

    units_per_task: int | None = None
    at_once: int = 256
    """At most this many tasks of an array run at the same time."""
    retries: int = 2
    """How often a unit is tried again after a task has ended with it in hand."""
    minutes: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    """For submitit."""
    flags: dict[str, Any] = field(default_factory=dict)
    """For sbatch, past submitit."""

    @property
    def cpus(self) -> int:
        """Return on how many CPUs a task runs."""
        return int(self.parameters.get("cpus_per_task", 1))


def read_options(texts: Iterable[str]) -> SlurmOptions:
    """Return what the options `KEY=VALUE` say together; where a key comes twice the last one counts.

    Raises UsageError, one line that names the option, for what is no such text or not for a user to say.
    """
    own: dict[str, int] = {}
    minutes = None
    parameters: dict[str, Any] = {}
    flags: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key, value = key.strip().lstrip("-").replace("_", "-"), value.strip()
        if not equals or not KEY.fullmatch(key) or not value:
            raise UsageError(f"--slurm {text}: write KEY=VALUE, such as partition=teaching or time=0:30:00")
        if not value.isprintable():
            raise UsageError(f"--slurm {key}: its value has a character that cannot be printed")
        if key in TAKEN:
            raise UsageError(f"--slurm {key}: not for you to say, because the kit {TAKEN[key]}")
        if key in OWN:
            own[key.replace("-", "_")] = _number(key, value, *OWN[key])
        elif key == "time":
            minutes = parse_minutes(value)
        elif key in NUMBERS:
            parameters[key.replace("-", "_")] = _number(key, value, 0 if key.startswith("gpus") else 1, 4096)
        elif key in SUBMITITS:
            parameters[key.replace("-", "_")] = True if value in YES else False if value in NO else value
        else:
            flags[key.replace("-", "_")] = True if value in YES else value
    return SlurmOptions(**own, minutes=minutes, parameters=parameters, flags=flags)


def parse_minutes(text: str) -> int:
    """Return a time limit as Slurm writes it (90, 90:00, 1:30:00, 1-12, 1-12:30:00) in minutes, rounded up.

    Raises UsageError for anything else, and for no time at all.
    """
    found = TIME.fullmatch(text)
    if not found:
        raise UsageError(f"--slurm time={text}: write minutes, HOURS:MINUTES:SECONDS or DAYS-HOURS, such as 0:30:00")
    part = {name: int(value) for name, value in found.groupdict(default="0").items()}
    hours = part["days"] * 24 + part["day_hours"] + part["hours"]
    minutes = hours * 60 + part["day_minutes"] + part["minutes"] + part["only_minutes"]
    seconds = part["day_seconds"] + part["seconds"] + part["only_seconds"]
    total = minutes + -(-seconds // 60)
    if not total:
        raise UsageError(f"--slurm time={text}: a task needs at least a minute")
    return total


def _number(key: str, value: str, least: int, most: int) -> int:
    if not value.isascii() or not value.isdecimal() or not least <= int(value[:9]) <= most or len(value) > 9:
        raise UsageError(f"--slurm {key}={value}: write a number from {least} to {most}")
    return int(value)
