"""Temporary folders: gone with the process that made them, also when they were killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from made_up import REPOSITORY
from scanlab import scratch as scratch_module
from scanlab.errors import KitError
from scanlab.scratch import scratch

STAYS = """
import sys, time
from scanlab.scratch import scratch
with scratch() as folder:
    (folder / "deep").mkdir()
    (folder / "deep/file").write_text("left")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(scratch_module, "_swept", set())
    return tmp_path


def begin() -> tuple[subprocess.Popen[str], Path]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python")}
    process = subprocess.Popen(
        [sys.executable, "-c", STAYS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_leaves_is_removed_and_what_a_living_one_uses_is_not(temporary: Path) -> None:
    killed, left = begin()
    living, used = begin()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (left / "deep/file").exists()
    with scratch() as mine:
        assert mine.parent == used.parent == temporary / f"scanlab-{os.getuid()}"
        assert sorted(mine.parent.iterdir()) == sorted([mine, used])
        assert (used / "deep/file").exists()
        assert mine.stat().st_mode & 0o077 == 0
        with scratch() as second:
            assert second != mine
    living.communicate("")
    assert living.returncode == 0
    assert list((temporary / f"scanlab-{os.getuid()}").iterdir()) == []


def test_it_vanishes_when_something_goes_wrong() -> None:
    with pytest.raises(ValueError, match="mine"), scratch() as folder:
        raise ValueError("mine")
    assert not folder.exists()


def test_a_link_that_another_user_made_is_not_followed(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere/precious").mkdir()
    (temporary / f"scanlab-{os.getuid()}").symlink_to(temporary / "elsewhere")
    with pytest.raises(KitError, match="belongs to another user: set TMPDIR"), scratch():
        pass
    assert (temporary / "elsewhere/precious").exists()
