"""Labs by name, and what a broken lab.toml says."""

import shutil
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scanlab import cli
from scanlab.errors import KitError, ScanlabError, UsageError
from scanlab.judging import judge
from scanlab.judging import plan as plans
from scanlab.judging.result import LabResult
from scanlab.labs import folders
from scanlab.labs.folders import Lab, all_labs, find_lab
from scanlab.labs.rubric import CorrectnessCheck, Limits, Rubric
from scanlab.labs.rubric_file import read_rubric

RUBRIC = """\
title = "A lab"
summary = "one line"
# a comment
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
        "02", "2", "002", "kogge_stone", "kogge-stone", "02_kogge_stone", "02_KOGGE_STONE", " 02 ",
        "labs/02_kogge_stone", "labs/02_kogge_stone/", "labs/02_kogge_stone/scan.cu", "./02_kogge_stone",
        "elsewhere/02_kogge_stone/my.cu",
    ],
)  # fmt: skip
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
        assert len(plan.checks) == len(lab.rubric.check)


@pytest.mark.parametrize("seed", range(5))
def test_a_labs_scans_have_a_secret_size_in_each_octave(seed: int) -> None:
    for lab in all_labs():
        plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options(seed=seed))
        scans = [check for check in plan.checks if isinstance(check, plans.PlannedCorrectness)]
        if any(getattr(check, "beyond", []) for check in lab.rubric.check):  # not where one thread does all
            octaves = {call.n.bit_length() - 1 for check in scans for call in check.extra if call.n not in check.sizes}
            assert octaves.issuperset(range(plans.OCTAVES_FROM, plans.OCTAVES_TO)), lab.name


def test_without_a_section_the_whole_array_is_one_scan(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC.replace("section = 1024\n", ""))
    plan = plans.make_plan(Lab(tmp_path), "scan.cu", "again", {}, plans.Options())
    assert plan.section == 0


def test_a_check_may_name_another_virtual_gpu(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC.replace("sizes = [0, 1]", 'sizes = [0, 1]\nprofile = "h200"'))
    plan = plans.make_plan(Lab(tmp_path), "scan.cu", "again", {}, plans.Options())
    assert plan.profile == "small"
    assert [check.profile for check in plan.checks[:2]] == ["h200", None]


def test_a_gpu_is_asked_for_more_sizes(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC.replace("sizes = [0, 1]", "sizes = [0, 1]\ngpu_sizes = [67108864]"))
    for options, sizes in (
        (plans.Options(), [0, 1]),
        (plans.Options(device="gpu"), [0, 1, 67108864]),
        (plans.Options(device="gpu", n=5), [5]),
    ):
        check = plans.make_plan(Lab(tmp_path), "scan.cu", "again", {}, options).checks[0]
        assert check.sizes == sizes


def test_a_timing_check_is_planned_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(RUBRIC)
    lab = Lab(tmp_path)
    plan = plans.make_plan(
        lab, "scan.cu", "again", {}, plans.Options(device="gpu", n=5), {"float": Path("/solutions/float")}
    )
    assert plan.reference == {"float": "/solutions/float"}
    check = plan.checks[2]
    assert (check.n, check.full, check.none, check.seconds) == (65536, 1.25, 3, 60)
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
        ('title = "A lab"\n', "title = A lab\n", "lab.toml:1: not TOML: invalid value"),
        ("none = 3", "none = ", "lab.toml:44: not TOML: "),
        ("none = 3", 'none = "', "lab.toml:44: not TOML: "),
        ("section = 1024", f"section = {'1' * 5000}", "lab.toml:4: not TOML: a number is too long"),
        ("sizes = [0, 1]", f"sizes = {'[' * 9000}", "lab.toml:20: not TOML: brackets within brackets, too deep"),
        ("seconds = 10", "", "lab.toml:7: limits.seconds: Field required"),
        ("seconds = 10", "seconds = -1", "lab.toml:8: limits.seconds: Input should be greater than 0"),
        ("points = 20", 'points = "20"', "lab.toml:19: check[1].points: Input should be a valid integer"),
        ("points = 10", "pionts = 10", "check[2].pionts: Extra inputs are not permitted"),
        ('kind = "count"', 'kind = "cuont"', "lab.toml:23: check[2]: "),
        (
            "n * log2(n)",
            "m * log2(n)",
            "lab.toml:23: check[2]: at_most: unknown name 'm'; known are n, section, sections",
        ),
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


SHARED = """\
entries = ["shared_entry"]

[limits]
seconds = 60
output_bytes = 65536

[each.correctness]
element = "float"
operation = "inclusive"
entry = "shared_entry"
sizes = [7]
schedules = ["random"]

[each.count]
entry = "shared_entry"
element = "float"
n = 64

[[check]]
name = "first"
kind = "correctness"
title = "the shared title"
schedules = ["reversed"]
repeats = 3

[[check]]
name = "missing_everywhere"
kind = "count"
"""
LEAN = """\
title = "A lab"
summary = "."
# a comment

[limits]
seconds = 5
warp_instructions = 1000

[each.correctness]
sizes = [1, 2]

[[check]]
name = "first"
points = 10

[[check]]
name = "second"
kind = "correctness"
title = "its own title"
points = 20
sizes = [3]
"""


def shared_rubric(folder: Path, lean: str = LEAN, shared: str = SHARED) -> Rubric:
    (folder / "02_lab").mkdir()
    (folder / "common.toml").write_text(shared)
    (folder / "02_lab/lab.toml").write_text(lean)
    return read_rubric(folder / "02_lab/lab.toml")


def test_a_rubric_takes_from_common_toml_what_it_does_not_say(tmp_path: Path) -> None:
    rubric = shared_rubric(tmp_path)
    assert rubric.entries == ["shared_entry"]
    assert rubric.limits == Limits(seconds=5, warp_instructions=1000, output_bytes=65536)
    first, second = rubric.check
    assert isinstance(first, CorrectnessCheck)
    assert isinstance(second, CorrectnessCheck)
    assert (first.title, first.points, first.repeats) == ("the shared title", 10, 3)
    assert first.schedules == ["reversed"]  # a check of its name before one of its kind
    assert first.sizes == [1, 2]  # the lab's before what labs share
    assert (second.sizes, second.schedules, second.repeats) == ([3], ["random"], 1)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("shared", 'element = "float"\nop', 'element = "flaot"\nop', "common.toml:8: check[1].element: Input should"),
        ("shared", "repeats = 3", "repeats = 0", "common.toml:24: check[1].repeats: Input should be greater"),
        ("shared", "output_bytes = 65536", "output_bytes = 0", "common.toml:5: limits.output_bytes: Input should"),
        ("shared", "output_bytes = 65536", "output_bits = 65536", "common.toml:5: limits.output_bits: Extra inputs"),
        ("shared", 'entries = ["shared_entry"]', "entries = []", "common.toml:1: entries: List should have at least"),
        ("shared", "[each.count]", "[each.counts]", "common.toml:14: each: known are [each.correctness], [each.count]"),
        ("shared", "[each.count]", "[count", "common.toml:14: not TOML: "),
        ("lean", "[each.correctness]", "[[each.correctness]]", "02_lab/lab.toml:9: each: known are"),
        ("lean", "[1, 2]", "[1, -2]", "02_lab/lab.toml:10: check[1].sizes[2]: Input should be greater"),
        ("lean", "sizes = [3]", "sizes = [-3]", "02_lab/lab.toml:21: check[2].sizes[1]: Input should be greater"),
        ("lean", "points = 10\n", "", "02_lab/lab.toml:12: check[1].points: Field required"),
        ("lean", 'name = "first"', "name = [1]", "02_lab/lab.toml:12: check[1]: "),
    ],
)
def test_what_is_wrong_is_named_where_it_was_written(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    texts = {"lean": LEAN, "shared": SHARED}
    assert texts[file].count(old) == 1
    texts[file] = texts[file].replace(old, new)
    with pytest.raises(KitError) as caught:
        shared_rubric(tmp_path, **texts)
    assert message in str(caught.value)


def test_labs_repeat_nothing_that_they_share() -> None:
    shared = tomllib.loads((folders.LABS / "common.toml").read_text())
    named = {check["name"]: check for check in shared["check"]}
    taken = set()
    for lab in all_labs():
        own = tomllib.loads((lab.folder / "lab.toml").read_text())
        for check in own["check"]:
            taken.add(check["name"])
            kind = check.get("kind", named.get(check["name"], {}).get("kind"))
            before = shared["each"][kind] | named.get(check["name"], {}) | own.get("each", {}).get(kind, {})
            again = {key for key in check.keys() & before.keys() if key != "name" and check[key] == before[key]}
            assert not again, (lab.name, check["name"])
    assert named.keys() <= taken


def test_a_rubric_that_is_no_text_or_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    with pytest.raises(KitError, match=r"lab\.toml: cannot read it"):
        read_rubric(file)
    file.write_bytes(b"title = '\xff'")
    with pytest.raises(KitError, match="not UTF-8"):
        read_rubric(file)


def of_kinds(plan: plans.Plan) -> tuple[list[plans.PlannedCorrectness], list[plans.PlannedCount]]:
    correctness = [check for check in plan.checks if isinstance(check, plans.PlannedCorrectness)]
    return correctness, [check for check in plan.checks if isinstance(check, plans.PlannedCount)]


def test_n_and_schedule_narrow_the_correctness_checks_alone() -> None:
    lab = find_lab("02")
    plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options(n=0, schedule="random"))
    correctness, counts = of_kinds(plan)
    assert {(check.sizes[0], check.schedules[0]) for check in correctness} == {(0, "random")}
    ranges = {check.name: check.range for check in lab.rubric.check if check.kind == "count"}
    # Where its limits mean nothing a count keeps a size of its own, and makes the call itself.
    for check in counts:
        low, high = ranges[check.name]
        assert all(low <= call.n <= high for call in check.calls)
    assert {check.among for check in counts} == {None}
    assert not any(check.extra for check in correctness)
    low = max(low for low, _ in ranges.values())
    plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options(n=low + 1))
    assert {call.n for check in of_kinds(plan)[1] for call in check.calls} == {low + 1}


def planned(number: str, seed: int) -> tuple[list[plans.PlannedCorrectness], list[plans.PlannedCount]]:
    """Return the correctness checks and the counts of a lab's plan."""
    return of_kinds(plans.make_plan(find_lab(number), "scan.cu", "again", {}, plans.Options(seed=seed)))


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.name)
def test_work_is_counted_among_the_correctness_runs_at_places_that_the_seed_decides(lab: Lab) -> None:
    announced = {check.name: set(check.sizes) for check in lab.rubric.check if check.kind == "correctness"}
    sizes: set[int] = set()
    for seed in range(20):
        assert planned(lab.number, seed) == planned(lab.number, seed)
        correctness, counts = planned(lab.number, seed)
        made = {check.name: check for check in correctness}
        for check in counts:
            host = made[check.among]  # each has one: none is made in a process of its own
            assert (host.entry, host.element, host.profile) == (check.entry, check.element, check.profile)
            extra = [(call.n, call.schedule) for call in host.extra]
            for call in check.calls:
                is_own = call.n in host.sizes and call.schedule in host.schedules
                assert is_own or (call.n, call.schedule) in extra
                assert call.repeat < host.repeats
                if is_own and call.n > host.repeated_up_to:  # a call that is made anyway
                    assert call.repeat == host.schedules.index(call.schedule) % host.repeats
            assert any(call.n not in announced[host.name] for call in check.calls)
            sizes |= {call.n for call in check.calls}
        # No check is known by its sizes: all have some that no rubric names.
        assert all({call.n for call in check.extra} - announced[check.name] for check in correctness)
    assert len(sizes) > 20


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.name)
def test_work_beyond_the_middle_of_a_range_is_counted_whatever_the_seed(lab: Lab) -> None:
    ranges = {check.name: check.range for check in lab.rubric.check if check.kind == "count"}
    section = lab.rubric.section or 1024
    for seed in range(40):
        for check in planned(lab.number, seed)[1]:
            low, high = ranges[check.name]
            if check.counter not in plans.COUNTED_SIDE_BY_SIDE and high <= plans.LARGE:
                assert max(call.n for call in check.calls) > (low + high) / 2 - section, (check.name, seed)


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.name)
def test_a_first_call_and_a_later_one_are_counted_whatever_the_seed(lab: Lab) -> None:
    for seed in range(20):
        correctness, counts = planned(lab.number, seed)
        hosts = {check.name: check for check in correctness}
        for check in counts:
            host = hosts[check.among]
            small = [call.repeat for call in check.calls if call.n <= host.repeated_up_to]
            if host.operation in ("inclusive", "exclusive"):
                assert len(set(small)) == min(len(small), host.repeats), (check.name, seed)


@pytest.mark.parametrize("lab", all_labs()[1:], ids=lambda lab: lab.name)
def test_points_for_the_algorithm_need_work_that_blocks_and_threads_share(lab: Lab) -> None:
    needs = {check.name: check.needs for check in lab.rubric.check}

    def needed(name: str | None) -> list[str]:
        return [name, *needed(needs[name])] if name else []

    for check in lab.rubric.check:
        # Where one block does all, it hands on no prefix.
        if check.kind == "count" and check.name not in ("busiest_block", "host_copies", "prefixes"):
            assert {"busiest_block", "busiest_warp"} <= set(needed(check.name)), check.name


@pytest.fixture
def labs_of_mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kit's labs, copied, to be broken."""
    folder = tmp_path / "labs"
    shutil.copytree(folders.LABS, folder)
    for module in (folders, cli):
        monkeypatch.setattr(module, "LABS", folder)
    monkeypatch.chdir(tmp_path)
    return folder


def _break_toml(lab: Path) -> str:
    text = (lab / "lab.toml").read_text().splitlines()
    (lab / "lab.toml").write_text("\n".join([*text[:2], "title = ", *text[3:]]))
    return "lab.toml:3: not TOML"


def _misspell(lab: Path) -> str:
    text = (lab / "lab.toml").read_text()
    (lab / "lab.toml").write_text(text.replace("\npoints = ", "\npionts = ", 1))
    return f"lab.toml:{text[: text.index('points = ')].count(chr(10)) + 1}: check[1].pionts: Extra inputs"


def _take_toml_away(lab: Path) -> str:
    (lab / "lab.toml").unlink()
    return "lab.toml: cannot read it: No such file"


def _make_toml_a_folder(lab: Path) -> str:
    (lab / "lab.toml").unlink()
    (lab / "lab.toml").mkdir()
    return "lab.toml: cannot read it: Is a directory"


def _make_toml_binary(lab: Path) -> str:
    (lab / "lab.toml").write_bytes(b"\x00\xff")
    return "lab.toml: not UTF-8 (byte 1)"


@pytest.mark.parametrize("spoil", [_break_toml, _misspell, _take_toml_away, _make_toml_a_folder, _make_toml_binary])
def test_a_broken_lab_is_reported_and_the_others_work(
    labs_of_mine: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], str]
) -> None:
    whole = [lab.name for lab in all_labs()]
    fault = spoil(labs_of_mine / "02_kogge_stone")
    assert cli.main(["list"]) == 0
    said = capsys.readouterr()
    rows = dict(line.split(maxsplit=1) for line in said.out.splitlines())
    assert [*rows] == whole
    assert rows["02_kogge_stone"] == "broken: it cannot be graded"
    assert rows["03_double_buffer"].startswith("Kogge-Stone")
    assert fault in said.err
    assert cli.main(["hint", "03"]) == 0
    assert cli.main(["hint", "02"]) == 3
    said = capsys.readouterr()
    assert fault in said.err
    assert "Traceback" not in said.err


def test_a_lab_without_its_file_is_listed_with_what_brings_it_back(
    labs_of_mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (labs_of_mine / "02_kogge_stone/scan.cu").unlink()
    assert cli.main(["list"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == len(all_labs())
    assert "02_kogge_stone/scan.cu does not exist; `grader/scanlab reset 02` brings the skeleton back" in said.err
    assert said.err.count("\n") == 1


def test_of_one_persons_folder_a_broken_lab_is_not_graded_and_the_others_are(
    labs_of_mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = _break_toml(labs_of_mine / "02_kogge_stone")
    graded: list[str] = []

    def grade(submissions: list[judge.Submission], options: plans.Options, *_: object) -> list[LabResult]:
        graded.extend(one.lab.name for one in submissions)
        return [judge.failed(one, options, "stand-in", []) for one in submissions]

    monkeypatch.setattr(judge, "grade", grade)
    for name in ("01_sequential", "02_kogge_stone"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "scan.cu").write_text("// mine\n")
    assert cli.main(["grade", "mine"]) == 3
    assert graded == ["01_sequential"]
    assert fault in capsys.readouterr().err


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.name)
@pytest.mark.parametrize("seed", [7, 1234567])
def test_sizes_of_each_rest_and_larger_ones_are_called_as_well(lab: Lab, seed: int) -> None:
    plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options(seed=seed))
    checks = [check for check in plan.checks if isinstance(check, plans.PlannedCorrectness) and check.profile is None]
    small = [check for check in checks if min(check.sizes) < 1025 < max(check.sizes)]
    rests = {call.n % 32 for check in small for call in check.extra if 1024 < call.n < 1025 + 64}
    assert len(rests) >= min(32, 8 * len(small))
    large = [max([*check.sizes, *(call.n for call in check.extra)]) > 65536 for check in small]
    assert all(large) or lab.number == "01"


def test_another_seed_calls_other_sizes() -> None:
    sizes = [
        {call.n for call in plans.make_plan(find_lab("02"), "", "", {}, plans.Options(seed=seed)).checks[0].extra}
        for seed in (7, 8)
    ]
    assert len(sizes[0] - sizes[1]) > 5


@pytest.mark.parametrize("lab", [lab for lab in all_labs() if lab.number != "01"], ids=lambda lab: lab.name)
def test_in_each_scan_it_is_counted_how_threads_share_the_work(lab: Lab) -> None:
    plan = plans.make_plan(lab, "scan.cu", "again", {}, plans.Options())
    correctness, counts = of_kinds(plan)
    counted = {check.among for check in counts if check.counter == "busiest_warp"}
    for check in correctness:
        if check.profile is None and min(check.sizes) < 1025:
            assert (check.work is None) is (check.name in counted)
            for call in check.work.calls if check.work else ():
                assert plans.PlannedCall(n=call.n, schedule=call.schedule) in check.extra
                assert call.at_most


def test_where_one_size_is_asked_for_the_work_is_counted_there() -> None:
    for n, schedule, expected in ((4000, None, [4000]), (4000, "random", []), (5, None, [])):
        plan = plans.make_plan(find_lab("02"), "", "", {}, plans.Options(n=n, schedule=schedule))
        (affine,) = (check for check in of_kinds(plan)[0] if check.name == "inclusive_affine")
        assert [call.n for call in (affine.work.calls if affine.work else ())] == expected
