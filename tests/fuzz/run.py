"""Fuzz for a while on several processes, and say what was reached and what was found.

    python3 run.py --seconds 3600 --jobs 16 [--folder .fuzz] [TARGET …]

Needs nothing but what build.py has made: see there. Each target goes on from the inputs of earlier runs in `corpus/`.
A process that ends at a finding is begun again; findings lie in `findings/`, each once for the place where it was
seen, with its log beside it. A finding is looked at again, with lines, by

    SCANLAB_FUZZ=TARGET .fuzz/build/tests/fuzz/targets .fuzz/findings/FILE

Exit 0 when nothing was found, 1 when something was, 2 for wrong usage.
"""

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock

HERE = Path(__file__).resolve().parent
WEIGHTS = {"ptx": 3, "kernels": 6, "session": 3, "runner": 2, "fatbin": 1, "plan": 1}
"""How the processes are shared out."""
OPTIONS = {
    "ptx": ["-max_len=49152", "-timeout=30"],
    "kernels": ["-max_len=49152", "-timeout=60"],
    "session": ["-max_len=3072", "-timeout=60"],
    "runner": ["-max_len=512", "-timeout=60"],
    "fatbin": ["-max_len=98304", "-timeout=30"],
    "plan": ["-max_len=8192", "-timeout=30"],
}
COMMON = ["-rss_limit_mb=2560", "-malloc_limit_mb=1536", "-print_final_stats=1", "-reload=5", "-detect_leaks=0"]
EXECUTIONS = re.compile(r"stat::number_of_executed_units: *(\d+)")
COVERAGE = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
PULSE = re.compile(r"^#(\d+)\t", re.MULTILINE)
FRAME = re.compile(r"^ *#\d+ 0x[0-9a-f]+ .*?(?:targets\+|in )([^\s)]+)", re.MULTILINE)
REPORT = re.compile(
    r"^(?:.*runtime error: .*|==\d+==\s*ERROR: .*|BROKEN: .*|terminate called.*|.*Assertion .*failed.*)$", re.MULTILINE
)
MOST_LOG = 8 << 20
"""Bytes of a process's log that are read, of its beginning and of its end."""


@dataclass
class Tally:
    """What the processes of one target did."""

    executions: int = 0
    edges: int = 0
    features: int = 0
    inputs: int = 0
    seconds: float = 0
    findings: dict[str, tuple[str, Path]] = field(default_factory=dict)
    """By where they were seen: what, and the input."""


class Campaign:
    """One run of all targets."""

    def __init__(self, folder: Path, targets: list[str]) -> None:
        self.folder = folder
        self.tallies = {name: Tally() for name in targets}
        self.lock = Lock()
        self.stopped = Event()
        for name in ("findings", "logs"):
            (folder / name).mkdir(exist_ok=True)

    def work(self, target: str, number: int, seconds: float) -> None:
        """Run one process of a target, again and again, for `seconds`."""
        end = time.monotonic() + seconds
        again = 0
        while not self.stopped.is_set() and (left := end - time.monotonic()) > 2:
            self._run(target, number, again, left)
            again += 1

    def _run(self, target: str, number: int, again: int, seconds: float) -> None:
        corpus = self.folder / "corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        artifacts = self.folder / "work" / f"{target}-{number}"
        shutil.rmtree(artifacts, ignore_errors=True)
        artifacts.mkdir(parents=True)
        log = self.folder / "logs" / f"{target}-{number}-{again}.log"
        seed = (os.getpid() * 131 + number * 17 + again * 7919 + int(time.time())) % 2**31 + 1
        command = [str(self.folder / "targets"), *COMMON, *OPTIONS[target], f"-max_total_time={int(seconds)}"]
        command += [f"-artifact_prefix={artifacts}/", f"-seed={seed}"]
        if target in ("ptx", "kernels"):
            command.append(f"-dict={self.folder / 'ptx.dict'}")
        command += [str(corpus), str(self.folder / "seeds" / target)]
        variables = {
            **os.environ,
            "SCANLAB_FUZZ": target,
            "ASAN_OPTIONS": "abort_on_error=0:allocator_may_return_null=0:detect_stack_use_after_return=1:symbolize=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        began = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, start_new_session=True
            )
            # Beyond its time: as long as one input may take.
            deadline = began + seconds + 120
            while process.poll() is None and time.monotonic() < deadline and not self.stopped.is_set():
                time.sleep(0.2)
            if process.poll() is None:
                with_group = os.getpgid(process.pid)
                os.killpg(with_group, signal.SIGINT)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(with_group, signal.SIGKILL)
                    process.wait()
        self._count(target, log, artifacts, time.monotonic() - began, process.returncode)

    def _count(self, target: str, log: Path, artifacts: Path, seconds: float, code: int) -> None:
        data = log.read_bytes()
        text = (data[:MOST_LOG] + data[-MOST_LOG:] if len(data) > 2 * MOST_LOG else data).decode(errors="replace")
        executions = EXECUTIONS.findall(text) or PULSE.findall(text)
        covered = COVERAGE.findall(text)
        with self.lock:
            tally = self.tallies[target]
            tally.executions += int(executions[-1]) if executions else 0
            tally.seconds += seconds
            if covered:
                tally.edges = max(tally.edges, *(int(edges) for edges, _, _ in covered))
                tally.features = max(tally.features, *(int(features) for _, features, _ in covered))
                tally.inputs = max(tally.inputs, *(int(inputs) for _, _, inputs in covered))
            kept = sorted(artifacts.iterdir())
            for path in kept:
                self._keep(target, path, text, log)
            if not kept and code not in (0, -signal.SIGINT, 72):
                self._keep(target, None, text, log)

    def _keep(self, target: str, path: Path | None, text: str, log: Path) -> None:
        kind = path.name.split("-")[0] if path else "ended"
        report = REPORT.search(text)
        what = re.sub(r"==\d+==\s*|0x[0-9a-f]+", "", report.group(0))[:160] if report else kind
        frames = FRAME.findall(text[report.start() :] if report else text)[:8]
        # Where time or memory ran out is not the place that is to blame.
        place = what if "runtime error" in what or "BROKEN" in what else " ".join([kind, *frames])
        if kind in ("timeout", "oom", "slow"):
            place = kind
        known = self.tallies[target].findings
        name = f"{target}-{kind}-{hashlib.sha256(place.encode()).hexdigest()[:10]}"
        if kind == "slow" or place in known:  # libFuzzer keeps what took long without calling it a fault
            return
        kept = self.folder / "findings" / name
        if path:
            shutil.copy(path, kept)
        shutil.copy(log, kept.with_suffix(".log"))
        known[place] = (what, kept)
        print(f"FOUND {target}: {what}\n      {kept}", flush=True)

    def table(self) -> str:
        """Return a line for each target."""
        lines = [f"{'target':9} {'executions':>12} {'a second':>9} {'edges':>7} {'features':>9} {'inputs':>7} findings"]
        for name, tally in self.tallies.items():
            rate = tally.executions / tally.seconds if tally.seconds else 0
            lines.append(
                f"{name:9} {tally.executions:12} {rate:9.1f} {tally.edges:7} {tally.features:9} {tally.inputs:7} "
                f"{len(tally.findings)}"
            )
        return "\n".join(lines)


def shares(targets: list[str], jobs: int, seconds: float) -> list[tuple[str, float]]:
    """Return which process works on which target, and for how long: all of `seconds`, or turns of it."""
    if jobs < len(targets):
        whole = sum(WEIGHTS[name] for name in targets)
        return [(name, max(5.0, seconds * jobs * WEIGHTS[name] / whole)) for name in targets]
    counts = dict.fromkeys(targets, 1)
    for _ in range(jobs - len(targets)):
        counts[min(targets, key=lambda name: counts[name] / WEIGHTS[name])] += 1
    return [(name, seconds) for name in targets for _ in range(counts[name])]


def main() -> int:
    """Run a campaign."""
    default = HERE if (HERE / "targets").is_file() else HERE.parents[1] / ".fuzz"
    parser = argparse.ArgumentParser(description="fuzz the PTX parser, the engine, the server and the judge")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=default)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(WEIGHTS))
    asked = parser.parse_args()
    targets = asked.targets or list(WEIGHTS)
    if unknown := [name for name in targets if name not in WEIGHTS]:
        parser.error(f"no target is called {unknown[0]}; there are {', '.join(WEIGHTS)}")
    folder = asked.folder.resolve()
    if not (folder / "targets").is_file():
        parser.error(f"{folder} has no fuzzers: build them with tests/fuzz/build.py")
    campaign = Campaign(folder, targets)
    for number in (signal.SIGINT, signal.SIGTERM):  # then the fuzzers end, and the table shows what there was
        signal.signal(number, lambda *_: campaign.stopped.set())
    slots = shares(targets, asked.jobs, asked.seconds)
    print(f"{asked.seconds:.0f} s on {asked.jobs} processes: {', '.join(name for name, _ in slots)}", flush=True)
    began = time.monotonic()
    with ThreadPoolExecutor(asked.jobs) as pool:
        futures = [pool.submit(campaign.work, name, k, seconds) for k, (name, seconds) in enumerate(slots)]
        for future in futures:
            future.result()
    print(f"{time.monotonic() - began:.0f} s")
    print(campaign.table())
    found = [entry for tally in campaign.tallies.values() for entry in tally.findings.values()]
    for what, path in found:
        print(f"{path.name}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
