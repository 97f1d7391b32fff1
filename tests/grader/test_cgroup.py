"""Cgroups: on a machine that has none, and in a small machine of its own (user-mode Linux) whose kernel has them.

The small machine sees this one's files, has its own processes, and ends with the test. Debian and Ubuntu call the
package user-mode-linux; without it these tests are skipped, and say so. `whole_registers.c` lets it run on processors
with AMX.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from needs import skip_without
from scanlab.judging import cgroup
from scanlab.on_demand import USER_MODE_LINUX
from scanlab.paths import ROOT

MACHINE = shutil.which("linux.uml") or ""
SECONDS = 150
ENTER = Path(os.environ.get("SCANLAB_BUILD", ROOT / "build"), "grader/runner/enter")
WHOLE_REGISTERS = Path(__file__).with_name("whole_registers.c")

INIT = """
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t cgroup2 none /sys/fs/cgroup
    export PATH=/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
    export TMPDIR={folder} PYTHONPATH={package} PYTHONDONTWRITEBYTECODE=1 SCANLAB_BUILD={build} SCANLAB_NO_SETUP=1
    cd {root}
    {commands}
    echo o > /proc/sysrq-trigger
    sleep 10
"""


OPEN_ROOT = (
    "mount -t tmpfs -o mode=755 root /mnt && for one in /*; do "
    '[ -L "$one" ] && cp -a "$one" /mnt; '
    '[ "$one" != /mnt ] && [ -d "$one" ] && [ ! -L "$one" ] && mkdir "/mnt$one" && mount --rbind "$one" "/mnt$one"; '
    "done; "
)
"""Makes /mnt what / is, for whom / is closed: a folder with mode 0700 can be a bare machine's root."""


def boot(folder: Path, commands: str, package: Path = ROOT / "grader/python") -> None:
    """Run shell commands as root of a machine with cgroups, until it ends or its time is up."""
    init = folder / "init"
    text = INIT.format(folder=folder, package=package, build=ENTER.parents[2], root=ROOT, commands=commands)
    init.write_text(f"#!/bin/bash\n{textwrap.dedent(text)}")
    init.chmod(0o755)
    preload = folder / "whole_registers.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", preload, WHOLE_REGISTERS], check=True)
    words = ["mem=3G", "rootfstype=hostfs", "rootflags=/", "rw", f"init={init}", "con=null", "con0=fd:0,fd:1", "quiet"]
    with subprocess.Popen(
        [MACHINE, *words],
        env={**os.environ, "LD_PRELOAD": str(preload)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as machine:
        try:
            machine.wait(SECONDS)
        finally:
            machine.kill()


def run_in_a_machine(folder: Path, code: str, user: str = "") -> Any:
    """Run Python code as root of a machine with cgroups, and return what it has put into `result`."""
    skip_without(USER_MODE_LINUX)
    if os.geteuid() != 0 or not ENTER.exists():
        pytest.skip("not root, or the kit is not built")
    end = f"import json, pathlib\npathlib.Path({str(folder / 'result.json')!r}).write_text(json.dumps(result))\n"
    (folder / "code.py").write_text(f"{textwrap.dedent(code)}\n{end}")
    python = sys.executable if not user else "/usr/bin/python3"
    package = ROOT / "grader/python"
    if user:  # who need not be allowed to read the kit's own folder
        package = shutil.copytree(package, folder / "python", ignore=shutil.ignore_patterns("__pycache__"))
    boot(folder, f"{user} {python} {folder}/code.py > {folder}/said 2>&1", package)
    said = (folder / "said").read_text() if (folder / "said").exists() else "it did not start"
    assert (folder / "result.json").exists(), said
    return json.loads((folder / "result.json").read_text())


@pytest.fixture(autouse=True)
def forgotten() -> None:
    cgroup.parent.cache_clear()


def test_without_cgroups_there_is_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "parent", lambda: None)
    with cgroup.group(cgroup.Limits(1 << 30, 8)) as group:
        assert group is None


def test_a_folder_that_gives_no_memory_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "cgroup.subtree_control").write_text("hugetlb\n")
    (tmp_path / "cgroup.subtree_control").chmod(0o400)
    assert not cgroup._gives(tmp_path)
    assert cgroup._make(tmp_path / "none", cgroup.Limits(1 << 30, 8)) is None


def test_all_memory_of_a_group_is_limited_and_nothing_of_it_stays(tmp_path: Path) -> None:
    result = run_in_a_machine(
        tmp_path,
        """
        import fcntl, os, pathlib, subprocess, sys, time
        from scanlab.judging import cgroup
        result = {}
        above = cgroup.parent()
        result["above"] = str(above)
        HUNGRY = {
            "pages": "x = bytearray(200 << 20); print('GOT')",
            "sockets": '''
        import socket
        kept = []
        for _ in range(400):
            one, other = socket.socketpair()
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            try:
                while True:
                    one.send(bytes(1 << 16))
            except BlockingIOError:
                kept.append((one, other))
        print("GOT")
        ''',
            "children": '''
        import os, time
        for _ in range(8):
            if os.fork() == 0:
                x = bytearray(30 << 20)
                time.sleep(20)
        print("GOT")
        time.sleep(20)
        ''',
            "processes": '''
        import os, time
        for _ in range(100):
            if os.fork() == 0:
                time.sleep(20)
        print("GOT")
        ''',
        }
        for name, code in HUNGRY.items():
            with cgroup.group(cgroup.Limits(100 << 20, 20)) as group:
                command = [os.environ["SCANLAB_BUILD"] + "/grader/runner/enter", "--join", str(group.procs), "--"]
                import textwrap
                done = subprocess.Popen([*command, sys.executable, "-c", textwrap.dedent(code)],
                                        stdout=open(os.environ["TMPDIR"] + "/out", "wb"), stderr=subprocess.STDOUT)
                done.wait()
                out = pathlib.Path(os.environ["TMPDIR"], "out").read_text()
                print(name, done.returncode, out, flush=True)
                result[name] = [done.returncode, out, group.is_out_of_memory(), group.folder.exists()]
            result[name].append(group.folder.exists())
        holder = subprocess.Popen([sys.executable, "-c", '''
        import subprocess, sys, time
        from scanlab.judging import cgroup
        with cgroup.group(cgroup.Limits(100 << 20, 20)) as group:
            child = subprocess.Popen(["sleep", "100"])
            group.procs.write_text(str(child.pid))
            print(group.folder, child.pid, flush=True)
            time.sleep(100)
        '''.replace("\\n        ", "\\n")], stdout=subprocess.PIPE, text=True)
        folder, child = holder.stdout.readline().split()
        time.sleep(1.5)
        cgroup._sweep(above)
        result["living"] = [os.path.exists(folder), os.path.exists(f"/proc/{child}")]
        holder.kill()
        holder.wait()
        result["killed"] = [os.path.exists(folder), os.path.exists(f"/proc/{child}")]
        cgroup._sweep(above)
        result["swept"] = [os.path.exists(folder)]
        """,
    )
    assert result["above"] == "/sys/fs/cgroup"
    for name in ("pages", "sockets", "children"):
        code, said, is_out_of_memory, existed, exists = result[name]
        assert (code, is_out_of_memory, existed, exists) == (-9, True, True, False), name
        assert "GOT" not in said or name == "children"
    assert "GOT" not in result["processes"][1]
    assert "BlockingIOError" in result["processes"][1]
    assert result["living"] == [True, True]
    assert result["killed"] == [True, True]
    assert result["swept"] == [False]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that any user may read and write; pytest's own are closed again whenever another pytest begins."""
    with tempfile.TemporaryDirectory(prefix="scanlab-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_a_user_to_whom_a_folder_was_given_has_groups(open_folder: Path) -> None:
    given = "/sys/fs/cgroup/given"
    user = (
        f"sh -c 'mkdir -p {given}/own && echo +memory +pids > /sys/fs/cgroup/cgroup.subtree_control && "
        f"echo +memory +pids > {given}/cgroup.subtree_control && chown -R 1000 {given} && "
        f"echo 0 > {given}/own/cgroup.procs && {OPEN_ROOT}"
        'exec chroot --userspec=1000:1000 --groups= /mnt "$@"\' --'
    )
    result = run_in_a_machine(
        open_folder,
        """
        from scanlab.judging import cgroup
        result = [str(cgroup.parent())]
        with cgroup.group(cgroup.Limits(1 << 28, 20)) as group:
            result.append((group.folder / "memory.max").read_text().strip())
        result.append(group.folder.exists())
        """,
        user,
    )
    assert result == ["/sys/fs/cgroup/given", str(1 << 28), False]


def test_a_submission_is_compiled_and_run_in_a_group(tmp_path: Path) -> None:
    result = run_in_a_machine(
        tmp_path,
        """
        from pathlib import Path
        from scanlab.judging import cgroup
        from scanlab.judging import sandbox
        from scanlab.process import run_group
        from scanlab.judging.toolchain import Toolchain

        out = Path.cwd() / ".scanlab" / "cgroup-test"
        seen = []
        made = cgroup._make

        def make(above, limits):
            found = made(above, limits)
            seen.append(str(found[0]) if found else None)
            return found

        cgroup._make = make
        sandbox.require()
        with sandbox.in_a_group(["/bin/cat", "/proc/self/cgroup"], "vgpu") as command:
            ran = run_group(command, 20).output
        tools = Toolchain(Path("/usr/bin/true"), (13, 0), (), "none")
        out.mkdir(parents=True, exist_ok=True)
        compiled = sandbox.run_compiler(["/bin/sh", "-c", "cat /proc/self/cgroup || echo no proc"], Path("/tmp"), tools,
                                        [], out, "vgpu", 60.0)
        sandbox.COMPILER_GROUP = cgroup.Limits(64 << 20, 20)
        big = sandbox.run_compiler(["/usr/bin/python3", "-c", "x = bytearray(200 << 20); print('GOT')"], Path("/tmp"),
                                   tools, [], out, "vgpu", 60.0)
        result = [seen, ran, compiled.code, compiled.output, big.is_out_of_memory, big.output,
                  [str(path) for path in cgroup.parent().glob("scanlab-*")]]
        out.rmdir()
        """,
    )
    seen, ran, code, said, is_out_of_memory, output, left = result
    assert None not in seen
    assert ran.strip().endswith(Path(seen[1]).name), result
    assert (code, said.strip().splitlines()[-1]) == (0, "no proc"), result
    assert is_out_of_memory, result
    assert "GOT" not in output
    assert left == []


@pytest.mark.parametrize(("oom", "oom_kill", "is_its_own"), [(0, 0, False), (0, 1, False), (1, 0, False), (1, 1, True)])
def test_a_kill_for_want_of_the_machines_memory_is_none_of_the_groups_limit(
    oom: int, oom_kill: int, is_its_own: bool, tmp_path: Path
) -> None:
    (tmp_path / "memory.events").write_text(f"low 0\nhigh 0\nmax 3\noom {oom}\noom_kill {oom_kill}\n")
    assert cgroup.Group(tmp_path).is_out_of_memory() == is_its_own
