"""A Slurm cluster of two nodes on this machine: munged, slurmctld and two slurmd, all on loopback.

Everything that it writes is in one scratch folder, its ports are its own, and `stop` ends exactly what it started.
"""

import ctypes
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from packages import NoSlurmError, Slurm

NODES = ("n1", "n2")
READY_SECONDS = 30.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None)


class Cluster:
    """A running cluster. `environment` is what Slurm's commands need to find it."""

    def __init__(self, slurm: Slurm, folder: Path, settings: Sequence[str] = ()) -> None:
        """Start it in `folder`, with further lines for slurm.conf.

        Raises NoSlurmError with the end of the daemon's log when it does not come up.
        """
        self.slurm, self.folder = slurm, folder
        self.services: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "bin").mkdir(parents=True)
        (folder / "state").mkdir()
        (folder / "munge").mkdir(mode=0o700)
        for name, program in slurm.programs.items():
            (folder / "bin" / name).symlink_to(program)
        self._configure(settings)
        self.environment = {
            **os.environ,
            **slurm.environment,
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        # A step's daemon outlives the slurmd that started it, and then is this process's child, and no stranger's.
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def _configure(self, settings: Sequence[str]) -> None:
        folder, host, user = self.folder, socket.gethostname().split(".")[0], pwd.getpwuid(os.getuid()).pw_name
        control, *ports = _free_ports(1 + len(NODES))
        lines = [
            "ClusterName=scanlab",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmUser={user}",
            f"SlurmdUser={user}",
            f"SlurmctldPort={control}",
            "AuthType=auth/munge",
            "CredType=cred/munge",
            f"AuthInfo=socket={folder}/munge/socket",
            *([f"PluginDir={self.slurm.plugins}"] if self.slurm.plugins else []),
            "PlugStackConfig=/dev/null",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={folder}/%n.spool",
            f"SlurmctldPidFile={folder}/slurmctld.pid",
            f"SlurmdPidFile={folder}/%n.pid",
            f"SlurmctldLogFile={folder}/slurmctld.log",
            f"SlurmdLogFile={folder}/%n.log",
            "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",  # loopback only
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU",
            "SwitchType=switch/none",
            "MpiDefault=none",
            "ReturnToService=2",
            "SlurmdTimeout=4",
            "MessageTimeout=4",
            "KillWait=2",
            "UnkillableStepTimeout=20",
            "SchedulerParameters=batch_sched_delay=0,sched_min_interval=50000,sched_interval=1,bf_interval=1",
            "SlurmdParameters=config_overrides",
            *settings,
            *(
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=4000"
                for node, port in zip(NODES, ports, strict=True)
            ),
            f"PartitionName=main Nodes={','.join(NODES)} Default=YES MaxTime=60 State=UP",
        ]
        (folder / "slurm.conf").write_text("\n".join(lines) + "\n")

    def _start_all(self) -> None:
        munge = self.folder / "munge"
        key = ["--create", f"--keyfile={munge}/key"]
        subprocess.run([self.slurm["mungekey"], *key], check=True, timeout=30, env=self.environment)
        places = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={munge}/{name}" for option, name in places.items()]
        # Its folder lies below /tmp, whose parents others may write to: munged wants this confirmed.
        self._start("munged", [self.slurm["munged"], "--foreground", "--force", *options])
        self._wait_for("munged", (munge / "socket").exists)
        self._start("slurmctld", [self.slurm["slurmctld"], "-D"])
        for node in NODES:
            self.start_node(node)
        self._wait_for("slurmctld", lambda: len(self.nodes("idle")) == len(NODES))

    def start_node(self, node: str, prefix: Sequence[str] = ()) -> None:
        """Start a node's slurmd, behind another command if one is given."""
        command = [self.slurm["slurmd"], "-D", "-N", node, "-d", self.slurm["slurmstepd"]]
        self._start(node, [*prefix, *command])

    def _start(self, name: str, command: Sequence[str]) -> None:
        with (self.folder / f"{name}.out").open("ab") as out:
            self.services[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def _wait_for(self, what: str, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + READY_SECONDS
        while not is_so():
            ended = [name for name, service in self.services.items() if service.poll() is not None]
            if ended or time.monotonic() > end:
                name = ended[0] if ended else what
                said = (self.folder / f"{name}.out").read_text(errors="replace").strip().splitlines()[-3:]
                raise NoSlurmError(f"{name} {'ended' if ended else 'is not ready'}: {' / '.join(said)}")
            time.sleep(0.1)

    def ask(self, program: str, *arguments: str) -> str:
        """Run one of Slurm's commands and return what it prints; what fails is empty."""
        command = [self.slurm[program], *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=self.environment)
        return done.stdout if done.returncode == 0 else ""

    def nodes(self, state: str) -> list[str]:
        """Return the nodes that are in a state: idle, down, drained …"""
        shown = self.ask("scontrol", "show", "nodes", "--oneliner").splitlines()
        fields = [dict(field.split("=", 1) for field in line.split() if "=" in field) for line in shown]
        return [node["NodeName"] for node in fields if state.upper() in node["State"].split("+")]

    def jobs(self) -> list[list[str]]:
        """Return (id, state, node) of each task that waits or runs."""
        rows = self.ask("squeue", "--noheader", "--array", "--format=%i|%T|%N").splitlines()
        return [row.split("|") for row in rows]

    def restore(self) -> None:
        """Cancel all jobs, and have both nodes up and idle again."""
        self.ask("scancel", f"--user={os.getuid()}")
        for node in NODES:
            if node not in self.services:
                self.start_node(node)
        for node in self.nodes("drain") + self.nodes("down"):
            self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
        self._wait_for("the cluster", lambda: len(self.nodes("idle")) == len(NODES) and not self.jobs())

    def end_node(self, node: str) -> None:
        """Kill a node's daemon and all that it runs, as if its power had failed."""
        ids = self.ask("squeue", "--noheader", "--states=running", f"--nodelist={node}", "--format=%A").split()
        # A running job's own daemon is no child of the node's, and names the job: "slurmstepd: [12.batch]".
        steps = [
            number for number in descendants(os.getpid()) if any(f": [{job}.batch]" in _command(number) for job in ids)
        ]
        left = [*steps, *(number for step in steps for number in descendants(step))]
        self.end(node)
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def end(self, name: str) -> None:
        """Kill one daemon: "n1" is the first node's."""
        service = self.services.pop(name)
        service.kill()
        service.wait(10)

    def stop(self) -> None:
        """End the jobs, the daemons and what they left; whatever this process has started is gone then."""
        if "slurmctld" in self.services:
            with suppress(subprocess.TimeoutExpired):
                self.ask("scancel", "--signal=KILL", "--full", f"--user={os.getuid()}")
                self.ask("scancel", f"--user={os.getuid()}")
        for name in reversed(list(self.services)):
            self.services[name].terminate()
            with suppress(subprocess.TimeoutExpired):
                self.services[name].wait(10)
            self.end(name)
        for _ in range(100):
            left = descendants(os.getpid())
            if not left:
                return
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.05)
        raise AssertionError(f"processes {descendants(os.getpid())} cannot be ended")


def _command(number: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_text(errors="replace")
    return ""


def _die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def descendants(root: int) -> list[int]:
    """Return the ids of all processes that `root` has started, and that those have."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            number = int(entry.name)
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(number)
    found = []
    waiting = [root]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
