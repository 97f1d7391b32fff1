"""The launcher's decisions, from sample texts and fake tools."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY
from scanlab import on_demand, suite
from scanlab.bootstrap import apt, build, cuda, environment, steps
from scanlab.bootstrap.console import SetupError
from scanlab.errors import KitError
from scanlab.on_demand import Extra, Need, Packages
from stand_ins import write_program

DEB822 = """\
# A mirror near us
Types: deb
# a comment inside the stanza
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
Check-Valid-Until: no

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""

THIRD_PARTY = """\
Types: deb
URIs: https://vendor.example/linux
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/vendor.gpg
"""

ONE_LINE = """\
# deb cdrom:[Debian] bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/k.gpg] https://vendor.example/linux bookworm main
deb [trusted=yes] http://mirror.example/debian bookworm main contrib # near us
deb-src http://mirror.example/debian bookworm main
deb [trusted=yes]   http://mirror.example/debian bookworm-updates main
deb http://mirror.example/debian-security bookworm-security main
"""


def test_backports_keep_a_deb822_sources_mirror_key_and_options() -> None:
    assert apt.derive_backports({"vendor.sources": THIRD_PARTY, "debian.sources": DEB822}, "bookworm") == (
        "scanlab-backports.sources",
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\nCheck-Valid-Until: no\n",
    )


def test_backports_keep_a_one_line_sources_mirror_and_options() -> None:
    assert apt.derive_backports({"/etc/apt/sources.list": ONE_LINE}, "bookworm") == (
        "scanlab-backports.list",
        "deb [trusted=yes] http://mirror.example/debian bookworm-backports main\n",
    )


def test_an_embedded_key_stays_whole() -> None:
    key = "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEXXXX\n -----END PGP PUBLIC KEY BLOCK-----\n"
    text = f"Types: deb\nURIs: http://a.example/debian\nSuites: bookworm\nComponents: main\n{key}"
    derived = apt.derive_backports({"a.sources": text}, "bookworm")
    assert derived is not None
    assert derived[1].endswith(key.replace("Signed-By:\n", "Signed-By: \n"))


def test_a_list_of_mirrors_is_kept() -> None:
    text = "Types: deb deb-src\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: bookworm\nComponents: main\n"
    derived = apt.derive_backports({"a.sources": text}, "bookworm")
    assert derived is not None
    assert "URIs: mirror+file:///etc/apt/mirrors/debian.list\n" in derived[1]


@pytest.mark.parametrize(
    "there",
    [
        {"a.sources": DEB822.replace("bookworm-updates", "bookworm-updates bookworm-backports")},
        {"a.list": ONE_LINE + "deb http://mirror.example/debian bookworm-backports main\n"},
    ],
)
def test_backports_that_are_there_are_not_added(there: dict[str, str]) -> None:
    assert apt.derive_backports(there, "bookworm") is None


@pytest.mark.parametrize(
    "text", ["", "Enabled: no\n" + THIRD_PARTY, DEB822.replace("Types: deb", "Types: deb-src"), "Types deb\nnonsense"]
)
def test_no_source_to_derive_from_is_said(text: str) -> None:
    with pytest.raises(LookupError, match="bookworm main"):
        apt.derive_backports({"a.sources": text}, "bookworm")


def test_the_line_to_type_recreates_the_source(tmp_path: Path) -> None:
    text = "Types: deb\nURIs: http://a.example/100%/it's\nSuites: bookworm-backports\n"
    line = apt._line_to_type(["g++"], ("x.sources", text))
    assert "\n" not in line
    printed = subprocess.run(
        ["sh", "-c", line.split(" | ")[0]], capture_output=True, text=True, cwd=tmp_path, timeout=10
    )
    assert printed.stdout == text


def test_os_release_is_read_with_and_without_quotes() -> None:
    fields = apt.distribution('ID=debian\nVERSION_ID="12"\n# c\nVERSION_CODENAME=bookworm\n')
    assert fields == {"ID": "debian", "VERSION_ID": "12", "VERSION_CODENAME": "bookworm"}


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "grader/python").glob("requirements*.txt")), ids=lambda path: path.name
)
def test_every_requirement_is_pinned_by_hash_and_none_by_address(path: Path) -> None:
    text = path.read_text()
    entries = [
        entry for entry in text.replace("\\\n", " ").splitlines() if entry and not entry.lstrip().startswith("#")
    ]
    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    assert "://" not in text


# ---- nvcc ----------------------------------------------------------------------------------------------------------

NVCC = """
    import sys
    if "--version" in sys.argv:
        print("Cuda compilation tools, release {release}, V{release}.88")
    elif "--dryrun" in sys.argv:
        print('#$ INCLUDES="-I{folder}/include"  ', file=sys.stderr)
        print('#$ LIBRARIES=  "-L{folder}/lib/stubs" "-L{folder}/nowhere"', file=sys.stderr)
    else:
        print("nvcc fatal: unsupported host compiler", file=sys.stderr)
        sys.exit(1)
"""


def fake_nvcc(folder: Path, release: str) -> Path:
    for name in ("bin", "include", "lib/stubs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_program(folder / "bin/nvcc", NVCC.replace("{release}", release).replace("{folder}", str(folder)))
    return folder / "bin/nvcc"


@pytest.mark.parametrize(("release", "parsed"), [("12.0", (12, 0)), ("12.9", (12, 9)), ("13.0", (13, 0))])
def test_nvcc_reports_its_release_and_folders(tmp_path: Path, release: str, parsed: tuple[int, int]) -> None:
    found = cuda.inspect(fake_nvcc(tmp_path, release))
    assert found.release == parsed
    assert found.includes == (tmp_path / "include",)
    assert found.libraries == (tmp_path / "lib/stubs", tmp_path / "lib")


def test_other_releases_and_broken_compilers_are_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"is CUDA 11\.8; the kit needs 12\.x or 13\.x"):
        cuda.inspect(fake_nvcc(tmp_path, "11.8"))
    with pytest.raises(LookupError, match="is not there"):
        cuda.inspect(tmp_path / "nowhere")
    (tmp_path / "text").write_text("no program")
    with pytest.raises(LookupError, match="does not answer"):
        cuda.inspect(tmp_path / "text")


def test_cudacxx_comes_first_and_a_compiler_that_fails_the_trial_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDACXX", str(fake_nvcc(tmp_path, "12.4")))
    found, refused = cuda.find(None, trial=False)
    assert found is not None
    assert found.release == (12, 4)
    monkeypatch.setattr(cuda, "candidates", lambda _: iter([(tmp_path / "bin/nvcc", "CUDACXX")]))
    found, refused = cuda.find(None, trial=True)
    assert found is None
    assert "unsupported host compiler" in refused[0]


# ---- the launcher itself -------------------------------------------------------------------------------------------


def test_json_files_appear_whole_and_broken_ones_read_as_empty(tmp_path: Path) -> None:
    file = tmp_path / "new/state.json"
    environment.write_json(file, {"a": 1})
    assert environment.read_json(file) == {"a": 1}
    assert [path.name for path in file.parent.iterdir()] == ["state.json"]
    for broken in ("", "{", "[1]", "\0"):
        file.write_text(broken)
        assert environment.read_json(file) == {}


def test_the_launcher_works_through_a_link_and_refuses_an_old_python(tmp_path: Path) -> None:
    link = tmp_path / "scanlab"
    link.symlink_to(REPOSITORY / "grader/scanlab")
    assert stat.S_IMODE((REPOSITORY / "grader/scanlab").stat().st_mode) & 0o111
    write_program(tmp_path / "old", "import sys; sys.exit(1)")
    done = subprocess.run(
        [link, "version"],
        env={**os.environ, "SCANLAB_PYTHON": str(tmp_path / "old")},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 3
    assert "is no Python 3.11 or newer" in done.stderr


def test_no_setup_uses_the_interpreter_as_it_is(tmp_path: Path) -> None:
    write_program(tmp_path / "python", "import sys; print('ran', *sys.argv[1:]) if 'version' in sys.argv else None")
    done = subprocess.run(
        [REPOSITORY / "grader/scanlab", "version"],
        env={**os.environ, "SCANLAB_PYTHON": str(tmp_path / "python")},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout.split()[0] == "ran"
    assert done.stdout.split()[1].endswith("grader/python/launch.py")


def test_a_build_folder_of_another_kit_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, folder = tmp_path / "other", tmp_path / "build"
    other.mkdir()
    folder.mkdir()
    kept = folder / "kept"
    kept.touch()
    environment.write_json(folder / ".scanlab-built", {"root": str(other)})
    monkeypatch.setenv("SCANLAB_BUILD", str(folder))
    monkeypatch.delenv("NINJA", raising=False)
    with pytest.raises(SetupError, match=r"SCANLAB_BUILD: .*/build was built for the kit in .*/other; name another"):
        build.prepare("nvcc")
    assert kept.exists()


# ---- what only one command, or the tests, need -----------------------------------------------------------------------

HERE = Packages("json", "nothing", "requirements.txt", ("json",))
ABSENT = Packages("a snake", "charming", "requirements-plot.txt", ("no_such_snake",))
OTHER = Packages("a frog", "kissing", "requirements-slurm.txt", ("no_such_frog",))
HEADERS = Packages("headers", "programs", "requirements-tests-cuda.txt", headers=("no_such.h",))
TOOL = Need("a tool", "digging", "no-such-tool", "no-such-tool", "no-such-tool", ("no-such-tool",))
SPADE = Need("a spade", "digging", "no-such-spade", "no-such-spade", "no-such-spade", ("no-such-spade",))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Return what apt and pip are asked for, by stand-ins that can install no spade and no frog."""
    made: list[list[str]] = []
    there: set[str] = set()

    def install(names: list[str]) -> None:
        made.append(names)
        if {"no-such-spade", "requirements-slurm.txt"} & set(names):
            raise SetupError("it is sold out")
        there.update(names)

    monkeypatch.setattr(apt, "install", lambda needs: install([need.apt for need in needs]) if needs else None)
    monkeypatch.setattr(apt, "may_install", lambda: True)
    monkeypatch.setattr(environment, "pip_install", lambda paths, _: install([path.name for path in paths]))
    monkeypatch.setattr(environment, "inside", lambda: True)
    monkeypatch.setattr(Need, "is_here", lambda need: need.apt in there)
    monkeypatch.setattr(Packages, "is_here", lambda extra: extra is HERE or extra.pins in there)
    monkeypatch.setattr("scanlab.bootstrap.console.STATE", tmp_path)
    monkeypatch.delenv("SCANLAB_NO_SETUP", raising=False)
    return made


@pytest.mark.parametrize(
    ("extra", "files"), [(HERE, []), (ABSENT, [["requirements-plot.txt"]]), (TOOL, [["no-such-tool"]])]
)
def test_what_a_command_needs_is_installed_once(asked: list[list[str]], extra: Extra, files: list[list[str]]) -> None:
    on_demand.provide(extra, "this test")
    on_demand.provide(extra, "this test")
    assert asked == files


@pytest.mark.parametrize(("extra", "line"), [(ABSENT, "pip install -r "), (TOOL, "no-such-tool")])
@pytest.mark.parametrize("is_own", [True, False])
def test_where_nothing_may_be_installed_the_line_to_type_is_said(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, extra: Extra, line: str, is_own: bool
) -> None:
    if is_own:
        monkeypatch.setenv("SCANLAB_NO_SETUP", "1")
    else:
        monkeypatch.setattr(environment, "inside", lambda: False)
    with pytest.raises(KitError, match=rf"this test needs {extra.name}, which .* lacks; type: .*{line}"):
        on_demand.provide(extra, "this test")
    assert asked == []


def test_what_fails_to_install_is_a_kit_fault(asked: list[list[str]]) -> None:
    with pytest.raises(KitError, match="sold out"):
        on_demand.provide(SPADE, "this test")
    assert asked == [["no-such-spade"]]


def test_what_cannot_be_had_for_the_tests_costs_nothing_else(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(on_demand, "FOR_TESTS", (TOOL, HERE, SPADE, OTHER, ABSENT, HEADERS))
    monkeypatch.setattr(on_demand, "_nvcc_is_of_wheels", lambda: False)
    on_demand.provide_for_tests()
    assert asked == [
        ["no-such-tool", "no-such-spade"],
        ["no-such-tool"],
        ["no-such-spade"],
        ["requirements-slurm.txt", "requirements-plot.txt"],
        ["requirements-slurm.txt"],
        ["requirements-plot.txt"],
    ]
    skipped = [line for line in capsys.readouterr().err.splitlines() if "are skipped; type: " in line]
    assert [line.partition(" need ")[2].partition(" (")[0] for line in skipped] == ["a spade", "a frog", "headers"]
    assert "CUDA toolkit" in skipped[-1]


def test_where_nothing_may_be_installed_the_tests_say_what_is_skipped(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(on_demand, "FOR_TESTS", (TOOL, HERE, ABSENT))
    monkeypatch.setenv("SCANLAB_NO_SETUP", "1")
    on_demand.provide_for_tests()
    tool, snake = capsys.readouterr().err.splitlines()
    assert asked == []
    assert "a tool (digging)" in tool
    assert snake.endswith("-m pip install -r grader/python/requirements-plot.txt")


def test_every_skip_is_reported_with_its_reason() -> None:
    results = [
        {"name": "python - scanlab:a", "result": "OK", "stdout": "3 passed\n"},
        {"name": "b", "result": "OK", "stdout": "..s\nSKIPPED [2] tests/x.py:12: no snake; type: get one\n1 passed"},
        {"name": "gpu - scanlab:d", "result": "SKIP", "stdout": "not run: no GPU\n"},
        {"name": "e", "result": "SKIP"},
    ]
    assert suite.skips(results) == ["b: no snake; type: get one", "d: no GPU", "e: it does not say why"]


@pytest.mark.parametrize(
    ("words", "builds"),
    [
        (["trace", "02"], True),
        (["report", "results"], False),
        (["report", "results", "--traces"], True),
        (["course", "check", "--prove"], True),
        (["course", "check"], False),
        (["check", "--help"], False),
        (["list"], False),
        ([], False),
    ],
)
def test_what_runs_kernels_is_built_first(words: list[str], builds: bool) -> None:
    assert steps._needs_build(words) == builds
