"""`learn` and `watch`: what is shown after each save and key, what is kept, and that nothing is left running."""

import json
import os
import pty
import re
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import REPOSITORY, command_line, environment
from scanlab import cli
from scanlab.judging.result import LabResult
from scanlab.labs.folders import Lab, all_labs
from scanlab.labs.skeleton import pristine
from scanlab.learn import pager, progress, screen, work
from scanlab.learn.progress import LabProgress, Progress

LADDER = all_labs()
PATIENCE = 30.0


def result(lab: str, verdict: str, points: float) -> LabResult:
    return LabResult.model_validate_json(
        json.dumps(
            {
                "schema": "scanlab-result", "version": 1, "lab": lab, "title": "a lab", "device": "vgpu", "seed": 7,
                "verdict": verdict, "points": points, "max_points": 100, "not_run_points": 0, "checks": [],
                "findings": [], "findings_total": 0,
            }
        )
    )  # fmt: skip


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
    return tmp_path / "progress.json"


def say_what_is_loaded(_lab: str, _path: Path, say: work.Say) -> None:
    say("whole", json.dumps([name for name in sys.modules if name.startswith("scanlab.judging")]))


def test_what_a_check_needs_is_loaded_before_the_first_save(tmp_path: Path) -> None:
    background = work.Background(say_what_is_loaded)
    background.start("02", tmp_path)
    (news,) = background.news(PATIENCE)
    assert news.kind == "whole"
    assert "scanlab.judging.judge" in json.loads(news.text)


class Watching:
    """`grader/scanlab watch 02 FILE` with pipes for a terminal."""

    def __init__(self, build: Path, file: Path, **changes: str) -> None:
        self.process = subprocess.Popen(
            command_line("watch", "02", file),
            cwd=REPOSITORY,
            env=environment(build, **changes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._shown = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        while text := self.process.stdout.readline():
            self._shown += text

    def until(self, text: str) -> str:
        """Wait until a text is shown, and return and forget all that has been."""
        end = time.monotonic() + PATIENCE
        while text not in self._shown:
            assert time.monotonic() < end, f"{text!r} is not in:\n{self._shown}"
            assert self.process.poll() is None, self._shown
            time.sleep(0.02)
        time.sleep(0.2)  # the rest of the lines
        shown, self._shown = self._shown, ""
        return shown

    def press(self, key: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{key}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@pytest.fixture
def watching(fake_build: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[Watching, Path]]]:
    begun: list[Watching] = []

    def begin(text: str, **changes: str) -> tuple[Watching, Path]:
        file = tmp_path / "mine.cu"
        file.write_text(text)
        begun.append(Watching(fake_build, file, **changes))
        return begun[-1], file

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_each_save_is_checked_and_shown(watching: Callable[..., tuple[Watching, Path]]) -> None:
    watched, file = watching("// FAILS\n")
    shown = watched.until("checks fail")
    assert "FAIL 02_kogge_stone: inclusive scan of floats, n = 1025, seed 7\n" in shown
    assert "the last, partial section is never written" in shown
    assert "[h]int" in shown
    assert "[n]ext" not in shown
    file.write_text("SYNTAX ERROR\n")
    watched.until("mine.cu(1): error")  # what was there before may be shown once more, until it is checked
    file.write_text("// PASSES\n")
    shown = watched.until("next: lab")
    assert "PASS 02_kogge_stone" in shown
    assert "[d]iff with the solution" in shown
    watched.press("l")
    assert "inclusive scan of each section, floats" in watched.until("coalesced")
    watched.press("d")
    assert "-// PASSES" in watched.until("-// PASSES")
    assert watched.end() == 0


def test_keys_give_hints_one_after_the_other(watching: Callable[..., tuple[Watching, Path]]) -> None:
    watched, _ = watching("// FAILS\n")
    watched.until("checks fail")
    for number in (1, 2, 3):
        watched.press("h")
        assert f"hint {number}" in watched.until("[q]uit")
    watched.press("q")
    assert watched.process.wait(PATIENCE) == 0


def test_a_key_that_means_nothing_now_says_what_it_waits_for(watching: Callable[..., tuple[Watching, Path]]) -> None:
    watched, file = watching("// FAILS\n")
    watched.until("checks fail")
    for key, said in (("n", "pass first"), ("d", "pass first")):
        watched.press(key)
        assert said in watched.until("[b]ack")
        watched.press("b")
        watched.until("the last, partial section is never written")
    file.write_text("// >>> your code\n// <<< your code\n")
    watched.until("there are only comments")
    watched.press("l")
    watched.until("nothing is checked yet")
    assert watched.end() == 0


def test_a_check_that_takes_long_says_how_long(watching: Callable[..., tuple[Watching, Path]], tmp_path: Path) -> None:
    watched, file = watching("// FAILS\n", SCANLAB_TEST_PID=str(tmp_path / "pid"))
    watched.until("checks fail")
    file.write_text("// HANGS\n")
    shown = watched.until("checking … 5 s")
    assert "before this save:\nFAIL 02_kogge_stone" in shown
    assert watched.end() == 0


def test_a_save_ends_the_check_that_is_running(watching: Callable[..., tuple[Watching, Path]], tmp_path: Path) -> None:
    running = tmp_path / "pid"
    watched, file = watching("// HANGS\n", SCANLAB_TEST_PID=str(running))
    end = time.monotonic() + PATIENCE
    while not (running.exists() and running.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.02)
    file.write_text("// PASSES\n")
    watched.until("PASS 02_kogge_stone")
    state = Path(f"/proc/{int(running.read_text())}/stat")
    while state.exists() and "Z" not in state.read_text().split(")")[1][:3]:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert watched.end() == 0


def test_a_file_that_goes_and_a_kit_that_fails_are_one_line(watching: Callable[..., tuple[Watching, Path]]) -> None:
    watched, file = watching("// CRASHES\n")
    assert "the judge was killed by signal 6" in watched.until("judge was killed")
    file.unlink()
    watched.until("`grader/scanlab reset 02` brings the skeleton back")
    file.write_text("// FAILS\n")
    watched.until("checks fail")
    assert watched.end() == 0


def test_the_terminal_is_as_it_was(fake_build: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    file.write_text("// FAILS\n")
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        command_line("watch", "02", file),
        cwd=REPOSITORY, env=environment(fake_build, TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    shown = b""
    while b"checks fail" not in shown:
        shown += os.read(ours, 4096)
    assert termios.tcgetattr(theirs) != before
    assert "\ufffd".encode() not in shown  # what clears the screen reaches the terminal
    assert b"\x1b[2J" in shown
    os.write(ours, b"q")
    assert process.wait(PATIENCE) == 0
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_a_try_is_another_text(kept: Path) -> None:
    lab = LADDER[1]
    mine = [b"// >>> your code\nint a;\n// <<< your code\n", b"// >>> your code\nint b;\n// <<< your code\n"]
    progress.record(lab, mine[0], result(lab.name, "fail", 20))
    progress.record(lab, mine[0], result(lab.name, "fail", 20))
    assert progress.read().of(lab).text() == "20 points, 1 try"
    progress.record(lab, mine[1], result(lab.name, "pass", 100))
    passed = progress.read().of(lab)
    progress.record(lab, mine[0], result(lab.name, "fail", 0))
    assert passed.text() == progress.read().of(lab).text() == "passed, 2 tries"
    assert progress.read().of(lab).passed == passed.passed
    assert json.loads(kept.read_text())["labs"][lab.name]["tries"] == 3


@pytest.mark.usefixtures("kept")
def test_the_skeleton_is_no_try() -> None:
    for lab in LADDER:
        progress.record(lab, pristine(lab)[0].encode(), result(lab.name, "fail", 0))
    assert progress.read() == Progress()


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}', '{"labs": []}', "\x00"])
def test_what_cannot_be_read_is_no_progress(kept: Path, text: str) -> None:
    kept.write_text(text)
    assert progress.read() == Progress()


@pytest.mark.usefixtures("kept")
def test_processes_that_record_at_once_lose_nothing() -> None:
    threads = [
        threading.Thread(target=progress.record, args=(lab, b"mine", result(lab.name, "pass", 100))) for lab in LADDER
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress.read().passed(LADDER) == len(LADDER)


@pytest.mark.usefixtures("kept")
def test_list_shows_how_far_a_learner_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    assert "labs passed" not in capsys.readouterr().out
    progress.record(LADDER[0], b"mine", result(LADDER[0].name, "pass", 100))
    assert cli.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "passed, 1 try" in lines[0]
    assert "next" in lines[1]
    assert "next" not in lines[2]
    assert lines[-1].startswith(f"[##--------------------] 1 of {len(LADDER)} labs passed")
    assert all(len(line) <= 80 for line in lines)


def test_what_is_wider_than_the_screen_is_broken_between_words() -> None:
    wide = "  read  by thread 992 " + "of a block that waits " * 9
    lines = screen.fitted([("short", "dim"), (wide, "")], 80)
    assert lines[0] == ("short", "dim")
    assert all(len(text) <= 80 for text, _ in lines)
    assert [text[:4] for text, _ in lines[1:]] == ["  re"] + ["    "] * (len(lines) - 2)
    assert " ".join(text.strip() for text, _ in lines[1:]).split() == wide.split()


@pytest.mark.parametrize("lab", LADDER, ids=lambda lab: lab.name)
def test_a_handout_is_shown_as_text_without_its_answers(lab: Lab) -> None:
    source = (REPOSITORY / lab.handout).read_text(encoding="utf-8")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", pager.handout(REPOSITORY / lab.handout))
    assert source.splitlines()[0].strip("# ") in shown
    assert not [word for word in ("<!--", "```", "<details>", "</summary>") if word in shown]


def test_after_a_lab_comes_the_next_that_is_open() -> None:
    passed = Progress(labs={lab.name: LabProgress(tries=1, passed="2026-01-01T00:00:00Z") for lab in LADDER[1:]})
    view = screen.View(LADDER[4], LADDER[4].source, LADDER, passed)
    assert view.next_lab is not None
    assert view.next_lab.name == LADDER[0].name
    last = Progress(labs={lab.name: LabProgress(tries=1, passed="2026-01-01T00:00:00Z") for lab in LADDER})
    assert screen.View(LADDER[4], LADDER[4].source, LADDER, last).next_lab is None


@pytest.mark.parametrize("lab", LADDER, ids=lambda lab: lab.name)
def test_a_lab_that_was_not_begun_shows_its_task_in_80_columns(lab) -> None:
    view = screen.View(lab, lab.source, LADDER, Progress())
    lines = [*screen.head(view), *screen.body(view), screen.state(view), screen.keys(view)]
    assert all(len(text) <= 80 for text, _ in lines)
    text = " ".join(line.strip() for line, _ in lines)
    assert lab.handout in text
    assert "// >>> your code" in text
    assert all(len(line) <= 80 for hint in lab.rubric.hint for line, _ in screen.hint(hint.text) if line[:1] != " ")
