"""The measurement on a GPU, with stand-ins for the programs: scripts that talk as grader/bench/timer.cu does.

Their times are made up, so the figures are known. A line of `calls` is a turn, in the order of the turns.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import write_program
from scanlab.bench import times
from scanlab.bench.contenders import Contender
from scanlab.bench.result import Result, Row
from scanlab.errors import KitError
from scanlab.process import Interrupted

# `NS` nanoseconds an element. What it shall do at a size from `FROM` on is the last word of its name.
TIMER = """
    import json, os, pathlib, sys, time
    NAME, NS, FROM, FLAW = {name!r}, {ns!r}, {start!r}, {flaw!r}
    def say(**answer):
        print(json.dumps(answer), flush=True)
    if FLAW == "no_device":
        say(status="error", text="no CUDA-capable device is detected (cudaErrorNoDevice)")
        sys.exit(3)
    if FLAW == "mute":
        print("cannot open shared object file", file=sys.stderr)
        sys.exit(127)
    say(status="ok", name="a stand-in", multiprocessors=2, l2_bytes=1 << 20, memory_bytes=1 << 30, peak_gb_s=64.0,
        runtime=13000, driver=12080, flush_bytes=2 << 20)
    for line in sys.stdin:
        with open(pathlib.Path(__file__).parent / "calls", "a") as calls:
            print(NAME, line.strip(), file=calls)
        verb, entry, expect, section, n, repeat, seconds = line.split()
        n, ms = int(n), NS * int(n) * 1e-6
        if n >= FROM:
            if FLAW == "wrong":
                say(status="wrong", text="y[3] = 1, expected 2; 5 of 9 are wrong")
                continue
            if FLAW == "sections" and section == "0":
                say(status="wrong", text="y[1024] = 1, expected 2; 1 of 9 is wrong")
                continue
            if FLAW == "memory":
                say(status="out_of_memory", text="no room for the two arrays")
                continue
            if FLAW == "error":
                say(status="error", text="an illegal memory access was encountered (cudaErrorIllegalAddress)")
                continue
            if FLAW == "killed":
                print("oops", file=sys.stderr, flush=True)
                os.abort()
            if FLAW == "hangs":
                time.sleep(600)
            if FLAW == "chatters":
                print("hello", flush=True)
                continue
        say(status="ok", first_ms=2 * ms, ms=[ms, ms, 3 * ms][:int(repeat)])
"""

Measure = Callable[..., tuple[Result, Interrupted | None]]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Measure contenders given as name=(ns an element, from which size, flaw)."""
    monkeypatch.setattr(times, "compile_object", lambda source, _: source.path)
    monkeypatch.setattr(times, "link", lambda objects, _: objects[-1])
    monkeypatch.setattr(times, "GRACE", 1.0)
    monkeypatch.setattr(times, "TIMER", program(tmp_path, "timer", 0.0, 0, ""))

    def run(
        options: times.Options, say: Callable[[str], None] = lambda _: None, **contenders: tuple[float, int, str]
    ) -> tuple[Result, Interrupted | None]:
        chosen = [
            Contender(
                name,
                "copy" if name == "copy" else "solution",
                None if name == "copy" else program(tmp_path, name, *what),
                None if what[2] == "sections" else 0,
            )
            for name, what in contenders.items()
        ]
        return times.measure_times(chosen, options, "bench", "2026-01-02T03:04+00:00", "1", ["a note"], say)

    return run


def program(folder: Path, name: str, ns: float, start: int, flaw: str) -> Path:
    path = folder / f"{name}.py"
    write_program(path, TIMER.format(name=name, ns=ns, start=start, flaw=flaw))
    return path


def row(result: Result, name: str) -> Row:
    return next(row for row in result.rows if row.name == name)


SMALL = times.Options(sizes=(1000, 4000), n=4000, rounds=2, calls=3, seconds=10.0)


def test_every_program_is_measured_in_turn(measure: Measure, tmp_path: Path) -> None:
    result, stopped = measure(SMALL, one=(10.0, 0, ""), two=(20.0, 0, ""), copy=(0, 0, ""))
    assert stopped is None
    assert (result.device.name, result.device.runtime, result.device.driver) == ("a stand-in", "13.0", "12.8")
    assert (result.device.flush_bytes, result.n, result.sizes) == (2 << 20, 4000, [1000, 4000])
    assert (result.notes, result.command, result.empty_launch_ms) == (["a note"], "bench", 0)
    turns = [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines() if " 1000 " in line]
    assert turns == ["one", "two", "timer", "one", "two", "timer"]  # the copy is the timer's own
    # Two rounds of two calls of 10 µs and one of 30 µs.
    assert row(result, "one").points[0].ms == pytest.approx([0.01, 0.01, 0.03] * 2)
    assert row(result, "one").median_ms(1000) == pytest.approx(0.01)
    assert row(result, "two").at(4000, "exclusive") is not None
    assert row(result, "two").at(1000, "exclusive") is None  # only where the main table shows it
    assert row(result, "copy").at(4000, "exclusive") is None
    assert not result.failed()


@pytest.mark.parametrize(
    ("flaw", "status", "text"),
    [
        ("wrong", "wrong", "y[3] = 1, expected 2; 5 of 9 are wrong"),
        ("error", "error", "an illegal memory access was encountered (cudaErrorIllegalAddress)"),
        ("killed", "error", "its process was killed by SIGABRT: oops"),
        ("chatters", "error", "its process answered 'hello'"),
        ("memory", "out_of_memory", "no room for the two arrays"),
        ("hangs", "no_end", "no end within 1 s at n = 100,003"),
    ],
)
def test_a_program_that_fails_leaves_the_others_alone(measure: Measure, flaw: str, status: str, text: str) -> None:
    options = times.Options(sizes=(1000, 4000), n=1000, rounds=2, calls=1, seconds=1.0)
    result, _ = measure(options, bad=(10.0, 4000, flaw), good=(20.0, 0, ""))
    bad = row(result, "bad").at(4000)
    assert bad is not None
    assert bad.status == status
    assert bad.ms == []
    assert bad.text == text
    # Its trial is at 100,003 elements, where it fails as well; only a program that hung is not asked again.
    assert (row(result, "bad").median_ms(1000) is None) == (flaw == "hangs")
    assert row(result, "good").median_ms(4000) is not None
    assert result.failed() == (flaw != "memory")


def test_a_trial_finds_out_what_is_scanned(measure: Measure) -> None:
    result, _ = measure(SMALL, mine=(10.0, 0, "sections"))
    assert row(result, "mine").section == 1024
    assert row(result, "mine").median_ms(4000) is not None


def test_what_would_take_too_long_is_left_out(measure: Measure, tmp_path: Path) -> None:
    # 1 µs an element: 0.1 s in the trial, so 1 s at a million and 10 s at ten millions.
    options = times.Options(sizes=(100_003, 1_000_000, 10_000_000), n=1_000_000, rounds=5, calls=3, seconds=3.0)
    result, _ = measure(options, slow=(1000.0, 0, ""), fast=(1.0, 0, ""))
    last = row(result, "slow").at(10_000_000)
    assert last is not None
    assert (last.status, last.text) == ("skipped", "a call would take about 10 s")
    calls = (tmp_path / "calls").read_text().splitlines()
    # A second a call leaves time for one turn only, and for a second of timed calls in it.
    assert [
        line.split()[-1] for line in calls if line.startswith("slow measure inclusive_scan inclusive 0 1000000")
    ] == ["1"]
    assert len([line for line in calls if line.startswith("fast measure inclusive_scan inclusive 0 1000000 ")]) == 5
    assert not result.failed()


def test_what_grows_faster_than_n_is_expected_to_go_on() -> None:
    runner = times._Runner(Contender("x", "solution"), Row(name="x", role="solution"))
    assert runner.estimate("inclusive", 1000) == 0
    runner.remember("inclusive", 1000, [1.0])
    assert runner.estimate("inclusive", 500) == pytest.approx(1e-3)  # no less than the least that is known
    assert runner.estimate("exclusive", 4000) == pytest.approx(4e-3)
    runner.remember("inclusive", 2000, [4.0])
    assert runner.estimate("inclusive", 4000) == pytest.approx(16e-3)
    runner.remember("inclusive", 4000, [400.0])
    assert runner.estimate("inclusive", 8000) == pytest.approx(0.4 * 2**times.STEEPEST)


def test_an_interrupted_measurement_has_what_was_measured(measure: Measure) -> None:
    def say(text: str) -> None:
        if text.startswith("n = 4,000, round 2"):
            raise Interrupted(2)

    result, stopped = measure(SMALL, say, one=(10.0, 0, ""), two=(20.0, 0, ""))
    assert stopped is not None
    assert stopped.signal == 2
    assert result.interrupted
    assert len(row(result, "one").points[0].ms) == 6
    assert len(row(result, "two").points[1].ms) == 3


@pytest.mark.parametrize(
    ("flaw", "message"),
    [
        ("no_device", "no GPU to measure: no CUDA-capable device is detected"),
        ("mute", "the timer program ended with exit code 127: cannot open shared object file"),
    ],
)
def test_without_a_gpu_one_line_says_so(
    measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flaw: str, message: str
) -> None:
    monkeypatch.setattr(times, "TIMER", program(tmp_path, "none", 0.0, 0, flaw))
    with pytest.raises(KitError, match=message):
        measure(SMALL, one=(10.0, 0, ""))
