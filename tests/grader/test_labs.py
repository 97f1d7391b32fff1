"""Labs by name, and what a broken lab.toml says."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scanlab import plan as plans
from scanlab.errors import KitError, ScanlabError, UsageError
from scanlab.labs import Lab, all_labs, find_lab, read_rubric

RUBRIC = """\
title = "A lab"
summary = "one line"
handout = "handouts/02_a_lab.md"
section = 1024
entries = ["inclusive_scan"]

[limits]
seconds = 10
warp_instructions = 1000
output_bytes = 100

[[check]]
name = "inclusive"
title = "inclusive scan"
kind = "correctness"
entry = "inclusive_scan"
element = "float"
operation = "inclusive"
points = 20
sizes = [0, 1]
schedules = ["in_order"]

[[check]]
name = "additions"
title = "few additions"
kind = "count"
entry = "inclusive_scan"
element = "float"
points = 10
n = 1024
counter = "additions"
at_most = "n * log2(n)"
needs = "inclusive"

[[check]]
name = "speed"
title = "fast"
kind = "timing"
entry = "inclusive_scan"
element = "float"
points = 5
n = 65536
full = 1.25
none = 3
"""


@pytest.mark.parametrize(
    "name",
    [
        "02",
        "2",
        "002",
        "kogge_stone",
        "kogge-stone",
        "02_kogge_stone",
        "02_KOGGE_STONE",
        " 02 ",
        "labs/02_kogge_stone",
        "labs/02_kogge_stone/",
        "labs/02_kogge_stone/scan.cu",
        "./02_kogge_stone",
        "elsewhere/02_kogge_stone/my.cu",
    ],
)
def test_a_lab_has_many_names(name: str) -> None:
    assert find_lab(name).name == "02_kogge_stone"


def test_a_path_may_be_relative_to_the_labs_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(find_lab("02").folder)
    assert find_lab(".").name == "02_kogge_stone"


@pytest.mark.parametrize(
    ("name", "near"),
    [("koggestone", "02_kogge_stone"), ("doubel_buffer", "03_double_buffer"), ("zzzz", "01_sequential")],
)
def test_a_wrong_name_suggests_one(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=near):
        find_lab(name)


@given(st.text(max_size=20))
@example("/\0")
def test_any_name_is_found_or_refused(name: str) -> None:
    with suppress(ScanlabError):
        find_lab(name)


def test_the_kits_own_rubrics_are_whole() -> None:
    for lab in all_labs():
        plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options())
        assert lab.max_points("vgpu") == 100, lab.name
        assert len(lab.rubric.hint) >= 2, lab.name
        assert all(isinstance(check.get("at_most", 0), int | float | None) for check in plan["checks"])


def test_without_a_section_the_whole_array_is_one_scan(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC.replace("section = 1024\n", ""))
    plan = plans.make_plan(Lab(tmp_path), "scan.cu", "again", {}, plans.Options())
    assert plan["section"] == 0


def test_a_check_may_name_another_virtual_gpu(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC.replace("sizes = [0, 1]", 'sizes = [0, 1]\nprofile = "h200"'))
    plan = plans.make_plan(Lab(tmp_path), "scan.cu", "again", {}, plans.Options())
    assert plan["profile"] == "small"
    assert [check["profile"] for check in plan["checks"][:2]] == ["h200", None]


def test_a_gpu_is_asked_for_more_sizes(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC.replace("sizes = [0, 1]", "sizes = [0, 1]\ngpu_sizes = [67108864]"))
    for options, sizes in (
        (plans.Options(), [0, 1]),
        (plans.Options(device="gpu"), [0, 1, 67108864]),
        (plans.Options(device="gpu", n=5), [5]),
    ):
        check = plans.make_plan(Lab(tmp_path), "scan.cu", "again", {}, options)["checks"][0]
        assert check["sizes"] == sizes
        assert "gpu_sizes" not in check


def test_a_timing_check_is_planned_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC)
    lab = Lab(tmp_path)
    plan = plans.make_plan(
        lab, "scan.cu", "again", {}, plans.Options(device="gpu", n=5), {"float": Path("/solutions/float")}
    )
    assert plan["reference"] == {"float": "/solutions/float"}
    check = plan["checks"][2]
    assert (check["n"], check["full"], check["none"], check["seconds"]) == (65536, 1.25, 3, 60)
    assert plans.timed_elements(lab, "gpu") == ["float"]
    assert plans.timed_elements(lab, "vgpu") == []


def test_points_are_those_that_the_device_can_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC)
    lab = Lab(tmp_path)
    assert (lab.max_points("vgpu"), lab.not_run_points("vgpu")) == (30, 5)
    assert (lab.max_points("gpu"), lab.not_run_points("gpu")) == (20, 15)  # there is no solution of this lab
    monkeypatch.setattr(Lab, "solution", tmp_path / "lab.toml")
    assert (lab.max_points("gpu"), lab.not_run_points("gpu")) == (25, 10)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("none = 3", 'none = 3\nneeds = "additions"', "'speed' needs 'additions', which no GPU counts"),
        ("none = 3", "none = 1.25", "lab.toml:35: check[3]: none: a ratio above full is needed"),
        ("none = 3", "", "lab.toml:35: check[3].none: Field required"),
        ("full = 1.25", "full = 0.9", "lab.toml:43: check[3].full: Input should be greater than or equal to 1"),
        ("n = 65536", "n = 0", "check[3].n: Input should be greater than or equal to 1"),
        ("n = 65536", 'n = 65536\ncounter = "launches"', "check[3].counter: Extra inputs are not permitted"),
        ('title = "A lab"\n', "title = A lab\n", "lab.toml:1: not TOML"),
        ("seconds = 10", "", "lab.toml:7: limits.seconds: Field required"),
        ("seconds = 10", "seconds = -1", "lab.toml:8: limits.seconds: Input should be greater than 0"),
        ("points = 20", 'points = "20"', "lab.toml:19: check[1].points: Input should be a valid integer"),
        ("points = 10", "pionts = 10", "check[2].pionts: Extra inputs are not permitted"),
        ('kind = "count"', 'kind = "cuont"', "lab.toml:23: check[2]: "),
        ("n * log2(n)", "m * log2(n)", "lab.toml:23: check[2]: at_most: unknown name 'm'; known are n, sections"),
        ("n * log2(n)", "log2(0)", "at_most: 'log2(0)' has no value at n = 1024"),
        (
            'needs = "inclusive"',
            'needs = "exclusive"',
            "'additions' needs 'exclusive', which is no check before it",
        ),
        ('name = "additions"', 'name = "inclusive"', "two checks are named 'inclusive'"),
        (
            'counter = "additions"',
            'counter = "sums"',
            "lab.toml:31: check[2].counter: Input should be 'thread",
        ),
        ('schedules = ["in_order"]', "schedules = []", "lab.toml:21: check[1].schedules: "),
        ('entry = "inclusive_scan"', 'entry = "scan"', "entry 'scan' is not one of entries"),
        (
            "sizes = [0, 1]",
            "sizes = [0, -1]",
            "lab.toml:20: check[1].sizes[2]: Input should be greater",
        ),
    ],
)
def test_a_broken_rubric_names_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in RUBRIC
    file = tmp_path / "lab.toml"
    file.write_text(RUBRIC.replace(old, new))
    with pytest.raises(KitError) as caught:
        read_rubric(file)
    assert message in str(caught.value)


def test_a_rubric_that_is_no_text_or_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    with pytest.raises(KitError, match=r"lab\.toml: cannot read it"):
        read_rubric(file)
    file.write_bytes(b"title = '\xff'")
    with pytest.raises(KitError, match="not UTF-8"):
        read_rubric(file)


def test_n_and_schedule_narrow_the_correctness_checks_alone() -> None:
    lab = find_lab("02")
    plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options(n=0, schedule="random"))
    assert {
        (check["sizes"][0], check["schedules"][0]) for check in plan["checks"] if check["kind"] == "correctness"
    } == {(0, "random")}
    assert {check["n"] for check in plan["checks"] if check["kind"] == "count"} == {1024}
