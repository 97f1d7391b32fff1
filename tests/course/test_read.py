"""What is wrong with a course.toml is reported with its line and key; what is right is understood."""

from pathlib import Path

import pytest

from conftest import Write
from scanlab.course.read import read_course
from scanlab.errors import UsageError
from scanlab.labs.folders import Lab, all_labs, find_lab

BROKEN = Path(__file__).parent / "broken"


@pytest.mark.parametrize("name", sorted(path.stem for path in BROKEN.glob("*.toml")))
def test_broken_files_are_reported_line_by_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("course.toml").write_text((BROKEN / f"{name}.toml").read_text())
    with pytest.raises(UsageError) as raised:
        read_course(Path("course.toml"))
    expected = (BROKEN / f"{name}.expected").read_text().replace("{labs}", ", ".join(lab.name for lab in all_labs()))
    assert str(raised.value).splitlines() == expected.splitlines()


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.toml").write_bytes(b'title = "x"\n# caf\xe9\n')
    Path("folder").mkdir()
    for name, said in {
        "nowhere.toml": "nowhere.toml does not exist; `grader/scanlab course new` writes an example",
        "latin.toml": "latin.toml:2: not UTF-8; save the file as UTF-8",
        "folder": "folder: cannot read it: Is a directory",
    }.items():
        with pytest.raises(UsageError) as raised:
            read_course(Path(name))
        assert str(raised.value) == said


def test_a_course_without_labs_has_all_of_the_kits(course: Write) -> None:
    found = course('title = "T"').course
    assert [lab.name for lab in found.labs] == [lab.name for lab in all_labs()]
    assert all(lab.rubric is None and lab.due is None for lab in found.labs)
    assert (found.secret_seed, found.seed) == (True, 7)
    assert not course('title = "T"').names_seed


def test_labs_stand_in_the_kits_order(course: Write) -> None:
    found = course('title = "T"\n[[lab]]\nname = "04"\n[[lab]]\nname = "kogge_stone"\n[[lab]]\nname = "1"').course
    assert [lab.name for lab in found.labs] == ["01_sequential", "02_kogge_stone", "04_brent_kung"]


CHANGED = """
title = "T"
[[lab]]
name = "02"
title = "Our lab"
seconds = 12.5
visibility = "after_due_date"
due = 2027-03-14T23:59:00Z
[[lab.check]]
name = "additions"
points = 3
at_most = 93000
[[lab.check]]
name = "inclusive"
sizes = [1025, 7, 1025, 0]
visibility = "visible"
[[lab.check]]
name = "speed"
full = 1.1
none = 9
[[lab.check]]
name = "mine"
kind = "count"
title = "no atomics"
entry = "inclusive_scan"
element = "float"
points = 5
n = 1024
counter = "atomics"
at_most = 0
needs = "inclusive"
visibility = "hidden"
"""


def test_what_a_course_changes_is_in_the_judges_plan(course: Write) -> None:
    from scanlab.judging import plan
    from scanlab.labs.folders import find_lab

    read = course(CHANGED)
    lab = read.course.lab("02_kogge_stone")
    made = plan.make_plan(lab, "scan.cu", "again", {}, plan.Options())
    checks = {check.name: check for check in made.checks}
    assert made.title == "Our lab"
    assert made.limits.seconds == 12.5
    calls = checks["additions"].calls
    assert (checks["additions"].points, {call.at_most for call in calls}) == (3, {93000})
    assert all(0 < call.at_least < 93000 for call in calls)  # the kit's
    assert checks["inclusive"].sizes == [0, 7, 1025]  # rising, as the judge needs them
    assert (checks["speed"].full, checks["speed"].none) == (1.1, 9)
    assert {call.at_most for call in checks["mine"].calls} == {0}
    (kits,) = (check.points for check in find_lab("02").rubric.check if check.name == "additions")
    assert lab.max_points("vgpu") == 100 - kits + 3 + 5
    assert kits != 3  # the kit's own stays as it is
    assert read.own_checks == {"02_kogge_stone": ("mine",)}
    seen = dict(read.course.labs[0].visibility)
    assert (seen["inclusive"], seen["mine"], seen["additions"]) == ("visible", "hidden", "after_due_date")


@pytest.mark.parametrize("secret", ["an-instructors-own-words", "0b8d617a7c6f19b2d009915085ad644c", str((1 << 62) + 5)])
def test_a_secret_seed_is_read_from_its_file(secret: str, course: Write, tmp_path: Path) -> None:
    (tmp_path / "s.seed").write_text(f"{secret}\n")
    read = course('title = "T"\nsecret_seed_file = "s.seed"')
    assert read.course.secret_seed
    assert read.secret == secret
    assert 0 <= read.seed < 1 << 64
    assert secret not in str(read.course.public_view())
    assert str(read.seed) not in str(read.course.public_view())


@pytest.mark.parametrize("secret", ["", "short", "a" * 40, "abababababababababab"])
def test_a_secret_that_can_be_guessed_is_refused(secret: str, course: Write, tmp_path: Path) -> None:
    (tmp_path / "s.seed").write_text(f"{secret}\n")
    with pytest.raises(UsageError, match=r"course\.toml:2: secret_seed_file: .*(too easy to guess|too short)"):
        course('title = "T"\nsecret_seed_file = "s.seed"')


# ---- checks that are switched off ------------------------------------------------------------------------------------

LAB_02 = 'title = "T"\n[[lab]]\nname = "02"\n'


def changed(name: str, *said: str) -> str:
    return "\n".join(["[[lab.check]]", f'name = "{name}"', *said, ""])


def test_a_check_that_is_switched_off_is_nowhere(course: Write) -> None:
    from scanlab.course.meaning import changes
    from scanlab.judging import plan

    read = course(LAB_02 + changed("bank_conflicts", "enabled = false") + changed("barriers", "enabled = true"))
    lab = read.course.lab("02_kogge_stone")
    planned = [check.name for check in plan.make_plan(lab, "s", "a", {}, plan.Options()).checks]
    assert "bank_conflicts" not in planned
    assert planned == [check.name for check in Lab(lab.folder).rubric.check if check.name != "bank_conflicts"]
    assert lab.max_points("vgpu") == 95
    assert "bank_conflicts" not in read.course.labs[0].visibility
    assert [(one.check, one.key, one.kit, one.course) for one in changes(read.course)] == [
        ("bank_conflicts", "enabled", "true", "false")
    ]


def test_a_check_of_the_courses_own_can_be_switched_off(course: Write) -> None:
    own = CHANGED[CHANGED.index('[[lab.check]]\nname = "mine"') :].removesuffix("\n") + "\nenabled = false\n"
    read = course(LAB_02 + own)
    assert read.own_checks == {"02_kogge_stone": ()}
    assert read.course.labs[0].rubric is None
    assert "mine" not in read.course.labs[0].visibility


def test_what_others_need_is_not_switched_off_behind_their_backs(course: Write) -> None:
    every = find_lab("02").rubric.check
    waiting = ", ".join(check.name for check in every if check.needs == "inclusive")
    assert waiting.count(",") > 1
    with pytest.raises(UsageError) as raised:
        course(LAB_02 + changed("inclusive", "points = 1", "enabled = false"))
    assert str(raised.value).endswith(
        f"course.toml:7: enabled: {waiting} need inclusive to pass; write points = 0, and it runs for no points, "
        "or switch them off as well"
    )
    correct = ("inclusive_affine", "exclusive", "exclusive_affine")
    off = "".join(changed(check.name, "enabled = false") for check in every if check.name not in correct)
    left = course(LAB_02 + off).course.lab("02_kogge_stone").rubric.check
    assert tuple(check.name for check in left) == correct
    runs = course(LAB_02 + changed("inclusive", "points = 0")).course.lab("02_kogge_stone").rubric
    assert runs.max_points() == 100 - every[0].points


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("enabled = 0", "course.toml:6: enabled: "),
        ('enabled = "no"', "course.toml:6: enabled: "),
        ("enable = false", "course.toml:6: enable: there is no such key in [[lab.check]]; did you mean enabled?"),
    ],
)
def test_switches_are_true_or_false(course: Write, said: str, message: str) -> None:
    for table in (changed("barriers", said), changed("mine", said, *CHANGED.split('name = "mine"')[1].splitlines())):
        with pytest.raises(UsageError) as caught:
            course(LAB_02 + table)
        assert message in str(caught.value)


def test_a_lab_without_any_check_is_left_out_of_a_course(course: Write) -> None:
    every = [check.name for check in find_lab("02").rubric.check]
    with pytest.raises(UsageError, match=r"course\.toml:2: all checks are switched off: leave this lab out"):
        course(LAB_02 + "".join(changed(name, "enabled = false") for name in every))
