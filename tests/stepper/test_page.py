"""The page as text: nothing in it can be foreign code, it has no paths of this machine, and it is small."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pages import FAULT, MISTAKES, RACE, SOLUTIONS, html_of, traced
from scanlab.paths import ROOT
from scanlab.trace.html import MOST_ACCESSES, STEPPER, page, stepper_data
from scanlab.trace.model import Read

LEARN_PAGE = ROOT / "grader/learn_page"
LARGEST = 1_500_000
HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \u202e \x1b[31m"


def data_of(text: str) -> Any:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert not re.search("[<>&]", data)
    return json.loads(data)


@pytest.mark.parametrize("name", [*SOLUTIONS, *MISTAKES])
def test_a_page_is_whole_small_and_of_no_machine(name: str) -> None:
    text = html_of(name)
    assert len(text.encode()) < LARGEST
    data = data_of(text)
    assert data["trace"]["schema"] == "scanlab-trace"
    shown = json.dumps(data, ensure_ascii=False)
    assert str(ROOT) not in shown
    assert not re.search(r"(?<![\w.])/(tmp|home|root|work|usr|var)/", shown)


def test_hostile_text_stays_text() -> None:
    trace, _ = traced(FAULT)
    text = page(trace.model_copy(update={"printed": HOSTILE, "lab": HOSTILE, "notes": [HOSTILE]}), f"// {HOSTILE}\n")
    assert text.count("<script") == 3
    assert text.count("</script>") == 3
    assert "<!--" not in text
    assert "<img" not in text
    assert data_of(text)["trace"]["printed"].startswith("</script><script>alert(1)")
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_only_what_the_page_says_may_run() -> None:
    text = html_of(RACE)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for element in ("style", "script"):
        for content in re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert not re.search(r"""\s(?:src|href|style|on\w+)=["']""", text.split("<script")[0])


def test_a_loop_without_end_is_cut() -> None:
    trace, source = traced("01_sequential")
    (launch,) = trace.launches
    (interval,) = launch.intervals
    read = interval.reads[0]
    many = [Read(**{**read.model_dump(), "order": at}) for at in range(50_000)]
    endless = interval.model_copy(update={"reads": many, "writes": []})
    long = trace.model_copy(update={"launches": [launch.model_copy(update={"intervals": [endless, interval]})]})
    data = stepper_data(long, source)
    (shown,) = data["trace"]["launches"]
    assert [len(one["reads"]) for one in shown["intervals"]] == [MOST_ACCESSES]
    assert f"only the first {MOST_ACCESSES} accesses" in shown["notes"][-1]
    assert len(page(long, source).encode()) < LARGEST


def test_the_bundle_cannot_end_its_element() -> None:
    for name in ("stepper.js", "stepper.css"):
        assert not re.search(r"</(script|style)|<!--|https?://(?!www\.w3\.org/2000/svg)", (STEPPER / name).read_text())


def test_the_bundles_are_made_of_the_sources(tmp_path: Path) -> None:
    build = (STEPPER / "build").read_text()
    (version,) = re.findall(r"^version=(\S+)$", build, re.MULTILINE)
    for program, wanted in (("esbuild", version), ("tsc", "")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here; type: sudo apt-get install -y esbuild node-typescript")
        found = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
        if wanted and found != wanted:
            pytest.skip(f"the bundles are made by {program} {wanted}, here is {found}")
    done = subprocess.run([STEPPER / "build", str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    for committed in (STEPPER / "stepper.js", LEARN_PAGE / "learn_page.js"):
        assert (tmp_path / committed.name).read_text() == committed.read_text(), "grader/stepper/build makes it anew"


@pytest.mark.parametrize(("name", "n"), [*((name, 8) for name in SOLUTIONS), ("09_atomic_block_sums", 2100)])
def test_a_right_scan_has_no_odd_value(name: str, n: int) -> None:
    trace, _ = traced(name, n)
    intervals = [interval for launch in trace.launches for interval in launch.intervals]
    assert not [write for interval in intervals for write in interval.writes if write.odd]
