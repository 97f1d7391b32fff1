"""The sandbox: what it refuses to start without, what a program in it sees, and what of a file is not compiled."""

import dataclasses
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scanlab import process
from scanlab.errors import KitError
from scanlab.judging import compile as compiling
from scanlab.judging import driver, sandbox
from scanlab.judging.compiled import refusals
from scanlab.judging.compiler import cache, recipe, running
from scanlab.judging.compiler.errors import CompileError, CompileTimeoutError, ForbiddenHeaderError, TooLargeError
from scanlab.judging.compiler.recipe import Source
from scanlab.judging.compiler.running import message, run_sandboxed
from scanlab.judging.plan import Options, make_plan
from scanlab.judging.toolchain import Toolchain
from scanlab.labs.folders import all_labs, find_lab
from scanlab.labs.rubric import ONLY_CODE

ENTER = Path(os.environ.get("SCANLAB_BUILD", sandbox.ROOT / "build"), "grader/runner/enter")
"""Looked up before any test names another build folder."""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let no test find what another has found out about this machine."""
    enter = ENTER if ENTER.exists() else tmp_path / "enter"
    monkeypatch.setattr(sandbox, "product", lambda _: enter)
    monkeypatch.setattr(process, "_stopping", threading.Event())  # the kit's own fault stops a process for good
    sandbox._probe.cache_clear()
    yield
    sandbox._probe.cache_clear()


needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap")


def path_with(folder: Path, script: str) -> str:
    """Return a PATH whose bwrap is a shell script."""
    folder.mkdir()
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_without_bubblewrap_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    manager = tmp_path / "bin/apt-get"
    manager.parent.mkdir()
    manager.write_text("#!/bin/sh\n")
    manager.chmod(0o755)
    monkeypatch.setenv("PATH", str(manager.parent))
    monkeypatch.setenv("SCANLAB_NO_SETUP", "1")
    with pytest.raises(KitError, match=r"needs bubblewrap.*sudo apt-get install -y bubblewrap") as refused:
        sandbox.require()
    assert "--no-sandbox" in str(refused.value)
    assert refused.value.code == 3


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        ("bwrap: Creating new namespace failed: Operation not permitted", r"(as root|sysctl|--cap-add)"),
        ("bwrap: Unknown option --size", r"too old: version 0\.7"),
    ],
)
def test_where_it_cannot_start_it_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, cure: str
) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin", f"echo '{words}' >&2; exit 1"))
    with pytest.raises(KitError, match=re.escape(words)) as refused:
        sandbox.require()
    assert re.search(cure, str(refused.value))
    assert str(refused.value).count("\n") == 2


def test_a_program_that_claims_to_be_bubblewrap_and_starts_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin", "exit 0"))
    with pytest.raises(KitError, match="exit code 0"):
        sandbox.require()


@needs_bubblewrap
def test_a_plan_has_a_launcher_only_for_what_others_have_written() -> None:
    lab = find_lab("02")
    plain, boxed = (
        make_plan(lab, "scan.cu", "", {}, Options(is_sandboxed=is_sandboxed)) for is_sandboxed in (False, True)
    )
    assert plain.launcher == []
    words = boxed.launcher
    assert sandbox.PROGRAM in words
    assert sandbox.STATUS in words
    assert {"--unshare-net", "--unshare-pid", "--die-with-parent", "--new-session"} <= set(words)
    assert not any(str(sandbox.ROOT) in word for word in words if word != str(ENTER))


@pytest.mark.parametrize(("folder", "is_mounted"), [("/usr/local/nvidia/lib64", True), ("/usr/lib/some", False)])
def test_the_drivers_libraries_are_there_wherever_they_lie(
    monkeypatch: pytest.MonkeyPatch, folder: str, is_mounted: bool
) -> None:
    monkeypatch.setattr(driver, "library_folder", lambda: Path(folder))
    assert (f"--ro-bind {folder} {folder}" in " ".join(sandbox.gpu_access())) == is_mounted


# ---- in a real sandbox -----------------------------------------------------------------------------------------------


def use(tools: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a toolchain in the place of the one that was set up."""
    for module in (compiling, recipe, refusals, running):
        monkeypatch.setattr(module, "toolchain", lambda: tools)


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """Skip where there is no sandbox; a toolkit that is not looked at."""
    if not ENTER.exists() or shutil.which("bwrap") is None:
        pytest.skip("no bubblewrap, or the kit is not built")
    try:
        sandbox.require()
    except KitError as error:
        pytest.skip(str(error).splitlines()[0])
    fake = Toolchain(Path("/usr/bin/true"), (13, 0), (), "none")
    use(fake, monkeypatch)
    return fake


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a scratch folder; pytest's own is closed to other users, as those in which a kit may lie are."""
    made = sandbox.ROOT / ".scanlab" / f"sandbox-test-{os.getpid()}"
    made.mkdir(parents=True)
    yield made
    shutil.rmtree(made)


def run(script: str, tools: Toolchain, folder: Path, reads: tuple[Path, ...] = ()) -> sandbox.Ended:
    return sandbox.run_compiler(["sh", "-c", script], folder, tools, reads, folder, "vgpu", 30)


def test_a_compiler_sees_its_files_and_nothing_else(tools: Toolchain, folder: Path) -> None:
    given, other = folder.parent / "given-to-the-sandbox", folder.parent / "not-given"
    for file in (given, other):
        file.write_text(file.name)
    try:
        script = f"cat {given}; cat {other}; echo x > {given}; ls /home /root {sandbox.ROOT}/solutions; echo x > made"
        ended = run(f"{script}; id -u; ls /sys; cat /proc/1/environ; env", tools, folder, (given,))
    finally:
        given_text = given.read_text()
        given.unlink()
        other.unlink()
    assert "given-to-the-sandbox" in ended.output
    assert given_text == "given-to-the-sandbox"
    assert f"{other}: No such file" in ended.output
    assert re.search(r"(Read-only|Permission denied)", ended.output)
    assert "02_kogge_stone" not in ended.output
    assert (folder / "made").read_text() == "x\n"
    assert "SCANLAB_BUILD" not in ended.output
    assert "\n0\n" not in ended.output  # its user


@pytest.mark.usefixtures("tools")
def test_a_tool_that_the_systems_alternatives_name_is_found(tools: Toolchain, folder: Path) -> None:
    """NVIDIA's packages make /usr/local/cuda such a link."""
    awk = Path(shutil.which("awk") or "/")
    if not awk.is_symlink() or not awk.readlink().is_relative_to("/etc/alternatives"):
        pytest.skip("awk is no alternative here")
    ended = run("awk 'BEGIN { print 6 * 7 }'", tools, folder)
    assert (ended.code, ended.output) == (0, "42\n")


@needs_bubblewrap
def test_a_compiler_has_limits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "COMPILER_CPU", 1)
    monkeypatch.setattr(sandbox, "COMPILER_FILE", 1 << 20)

    def said_of(script: str) -> str:
        with pytest.raises(CompileError) as stopped:
            run_sandboxed(["sh", "-c", script], folder, [], folder, "vgpu")
        return str(stopped.value)

    with pytest.raises(CompileTimeoutError, match="used up the 1 s of processor time"):
        run_sandboxed(["sh", "-c", "while :; do :; done"], folder, [], folder, "vgpu")
    assert "wrote more than the 1 MiB" in said_of("yes > large")
    assert "wrote more than the 1 MiB" in said_of("yes")
    assert said_of("exit 3") == "sh failed with exit code 3 and no message"
    assert said_of("echo oops; exit 1") == "oops"


@needs_bubblewrap
@pytest.mark.parametrize("script", ["kill -KILL $$", "kill -TERM $$", "exit 137", "echo 'out of memory'; exit 137"])
def test_a_compiler_that_is_killed_below_its_limits_is_the_machines_fault(script: str, folder: Path) -> None:
    with pytest.raises(KitError, match=r"sh, or a program that it runs, was killed by signal (9|15)"):
        run_sandboxed(["sh", "-c", script], folder, [], folder, "vgpu")


def test_a_compiler_that_is_killed_at_its_limit_of_memory_is_the_files_doing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "run_compiler", lambda *_: sandbox.Ended(-9, "", is_out_of_memory=True))
    with pytest.raises(CompileError, match="needs more than the 4 GiB of memory"):
        run_sandboxed(["sh"], folder, [], folder, "vgpu")


def test_its_end_is_its_processes_end(tools: Toolchain, folder: Path) -> None:
    assert run("(setsid sh -c 'sleep 0.4; echo late > late') & echo early > early", tools, folder).code == 0
    assert (folder / "early").exists()
    time.sleep(0.8)
    assert not (folder / "late").exists()


def test_a_signal_is_reported_as_one(tools: Toolchain, folder: Path) -> None:
    assert run("kill -SEGV $$", tools, folder).code == -11


# ---- what a compiler says, and which headers a lab allows ------------------------------------------------------------


def test_a_message_can_neither_repaint_a_terminal_nor_fill_it() -> None:
    said = message("\x1b[2Jscan.cu(1): \x07error\n" + "x" * 5000 + "\n")
    assert said.splitlines()[0] == "scan.cu(1): \N{REPLACEMENT CHARACTER}error"
    assert max(map(len, said.splitlines())) < 600


def test_a_message_is_the_same_each_time() -> None:
    first = message("/tmp/tmpxft_0000000a_00000000-6_scan.cudafe1.stub.c: error\n/tmp/ccXjyice.s: Error")
    assert first == "scan.cudafe1.stub.c: error\n.s: Error"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an object beside which its headers are written; CUDA lies in tmp_path/cuda."""
    libraries = (tmp_path / "cuda/lib",)
    fake = Toolchain(tmp_path / "cuda/bin/nvcc", (13, 0), libraries, "none")
    use(fake, monkeypatch)
    entry = tmp_path / "entry"
    entry.mkdir()
    (entry / "included.json").write_text("[]")
    (entry / "object.o").write_bytes(b"nothing")
    return entry / "object.o"


def refused(source: Path, made: Path, forbidden: tuple[str, ...] = ("cub/*", "thrust/*")) -> str:
    with pytest.raises(ForbiddenHeaderError) as error:
        refusals.refuse_ready_made(source, made, forbidden)
    return str(error.value)


def test_a_forbidden_header_is_reported_with_its_line(made: Path, tmp_path: Path) -> None:
    source = tmp_path / "scan.cu"
    source.write_text('#include "scanlab.cuh"\n\n  #  include <cub/block/block_scan.cuh>\n')
    cub = tmp_path / "cuda/include/cub/block/block_scan.cuh"
    (made.parent / "included.json").write_text(json.dumps(["/usr/include/stdio.h", str(cub)]))
    assert "scan.cu:3: <cub/block/block_scan.cuh>: write" in refused(source, made)
    refusals.refuse_ready_made(source, made, ())
    refusals.refuse_ready_made(source, made, ("thrust/*",))


def test_a_header_by_a_macro_or_in_the_devices_pass_only_is_found(made: Path, tmp_path: Path) -> None:
    source = tmp_path / "scan.cu"
    source.write_text("#include LIBRARY\n")
    cub = tmp_path / "cuda/include/cub/cub.cuh"
    (made.parent / "included.json").write_text(json.dumps([str(cub)]))
    assert "scan.cu: <cub/cub.cuh>: write" in refused(source, made)
    (made.parent / "included.json").write_text("[]")
    made.write_bytes(ptx(cub))
    assert "scan.cu:9: cub::BlockScan (<cub/cub.cuh>): write" in refused(source, made)


def ptx(header: Path, *, reduce: Path | None = None) -> bytes:
    """Return an object whose kernel calls cub::BlockScan::Sum of `header`, in line 9; by way of `reduce`, if given."""
    name = ",".join(str(code) for code in b"_ZN3cub9BlockScanIfE3SumEv\0")
    way = "inlined_at 1 9 5" if reduce is None else "inlined_at 3 7 1"
    between = "" if reduce is None else "\t.loc\t3 7 1, function_name $L__info_string0, inlined_at 1 9 5\n"
    text = (
        f"\0\0.version 9.0\n.visible .entry _Z1kPf(\n{{\n\t.loc\t1 9 5\n{between}"
        f"\t.loc\t2 30 5, function_name $L__info_string0, {way}\n}}\n"
        f'.file\t1 "/submission/scan.cu"\n.file\t2 "{header}"\n.file\t3 "{reduce or "/x"}"\n'
        f"$L__info_string0:\n.b8 {name}\n\0\0"
    )
    return text.encode()


def test_only_scans_of_cooperative_groups_are_forbidden(made: Path, tmp_path: Path) -> None:
    source = tmp_path / "scan.cu"
    source.write_text("#include <cooperative_groups.h>\n")
    details = tmp_path / "cuda/include/cooperative_groups/details"
    (made.parent / "included.json").write_text(json.dumps([str(details / "coalesced_scan.h")]))
    forbidden = ("cub/*", *ONLY_CODE)
    refusals.refuse_ready_made(source, made, forbidden)
    made.write_bytes(ptx(details / "coalesced_scan.h", reduce=details / "coalesced_reduce.h"))
    refusals.refuse_ready_made(source, made, forbidden)
    made.write_bytes(ptx(details / "coalesced_scan.h", reduce=details / "invoke.h"))
    assert "scan.cu:9: " in refused(source, made, forbidden)
    made.write_bytes(ptx(details / "../details/scan.h"))
    said = refused(source, made, forbidden)
    assert "<cooperative_groups/details/scan.h>" in said
    assert said.endswith('scans by its forbidden_headers, "cooperative_groups/details/*scan.h"')


def test_more_code_than_the_virtual_gpu_takes_is_refused_with_the_line_of_most_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, made = tmp_path / "scan.cu", tmp_path / "object.o"
    asm = "\t.loc\t1 {} 3\n\t// begin inline asm\n{}\t// end inline asm\n"
    code = asm.format(7, "\tadd.u32 %r1, %r1, 1;\n" * 9) + asm.format(8, "\tadd.u32 %r1, %r1, 1;\n" * 90)
    text = f'.version 9.0\n.visible .entry k(\n{{\n\t.loc\t1 6 3\n{code}}}\n.file\t1 "/submission/scan.cu"\n'
    made.write_bytes(b"\0" + text.encode() + b"\0more")
    monkeypatch.setattr(refusals, "MOST_CODE", len(text))
    refusals.refuse_too_much(source, made)
    monkeypatch.setattr(refusals, "MOST_CODE", len(text) - 1)
    with pytest.raises(TooLargeError, match=r"scan\.cu:8: most of 0\.0 MiB of PTX comes from here"):
        refusals.refuse_too_much(source, made)


@pytest.mark.parametrize(
    "text",
    [
        "#line 7",
        ' # line 7 "x"',
        "%:line 7",
        "??=line 7",
        "#li\\\nne 7",
        "#/**/line/**/7",
        "/* a\n b */ /**/ #line 7",
        '# 12 "other.cu" 3',
        "#12",
        'const char* s = R"(\n/*\n)";\n#line 7',
    ],
)
def test_lines_that_lie_are_refused(text: str, tmp_path: Path) -> None:
    source = tmp_path / "scan.cu"
    source.write_text(f"int a;\n{text}\n")
    with pytest.raises(CompileError, match=r"scan\.cu:[2-5]: a #line directive"):
        refusals.refuse_line_directives(source, source.read_bytes())


@pytest.mark.parametrize(
    "text", ["#define line 7", "// #line 7", "#pragma unroll 4", "/* # 1. load */", "int line = 7;", "#lines"]
)
def test_lines_that_do_not_lie_are_not(text: str, tmp_path: Path) -> None:
    refusals.refuse_line_directives(tmp_path / "scan.cu", text.encode())


def test_a_learners_own_folder_may_be_called_as_a_library_is(made: Path, tmp_path: Path) -> None:
    source = tmp_path / "scan.cu"
    source.write_text('#include "cub/mine.cuh"\n')
    (made.parent / "included.json").write_text(json.dumps([str(tmp_path / "cub/mine.cuh")]))
    refusals.refuse_ready_made(source, made, ("cub/*",))


def test_every_lab_asks_for_a_scan_of_ones_own() -> None:
    assert all({"cub/*", "thrust/*"} <= set(lab.rubric.forbidden_headers) for lab in all_labs())


NVCC = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in -MF) headers=$2; shift ;; -o) object=$2; shift ;; -c) source=$2; shift ;; esac
    shift
done
echo "object.o: $source" > $headers
if grep -q LINK $source; then ln -s /usr/bin/env $object; exit; fi
if grep -q SYNTAX $source; then echo "$source(1): error: what is this"; exit 1; fi
echo '["/mine"]' | tee $(dirname $object)/included.json > $(dirname $object)/headers.json
(pwd; cat $source) > $object
"""


@pytest.fixture
def nvcc(tools: Toolchain, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a script in nvcc's place; return the folder of a cache that is its own."""
    script = folder / "toolkit/bin/nvcc"
    script.parent.mkdir(parents=True)
    script.write_text(NVCC)
    script.chmod(0o755)
    use(dataclasses.replace(tools, nvcc=script), monkeypatch)
    monkeypatch.setattr(cache, "CACHE", folder / "cache")
    return folder / "cache"


def handed_in(folder: Path, who: str, text: str) -> Source:
    path = folder / who / "02_kogge_stone/scan.cu"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return Source(path)


def test_the_same_text_is_compiled_once_wherever_it_lies(nvcc: Path, folder: Path) -> None:
    def compiled(who: str, text: str) -> tuple[Path, int]:
        made = compiling.compile_object(handed_in(folder, who, text), "vgpu", is_sandboxed=True)
        return made, made.stat().st_ino

    one = compiled("s0001", "// the same")
    assert compiled("s0002", "// the same") == one
    assert compiled("s0003", "// another")[0] != one[0]
    assert one[0].read_text() == "/submission\n// the same"
    assert len([path for path in nvcc.iterdir() if path.is_dir()]) == 2


def test_an_entry_in_part_is_made_again(nvcc: Path, folder: Path) -> None:
    source = handed_in(folder, "s0001", "// x")
    made = compiling.compile_object(source, "vgpu", is_sandboxed=True)
    assert made.is_relative_to(nvcc)
    whole = made.read_bytes()
    for damage in (b"", whole[:5], whole + b"planted"):
        made.chmod(0o644)
        made.write_bytes(damage)
        assert compiling.compile_object(source, "vgpu", is_sandboxed=True).read_bytes() == whole
    made.unlink()
    assert compiling.compile_object(source, "vgpu", is_sandboxed=True).read_bytes() == whole


def test_judges_that_race_get_the_same_entry(nvcc: Path, folder: Path) -> None:
    source = handed_in(folder, "s0001", "// x")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: compiling.compile_object(source, "vgpu", is_sandboxed=True), range(8)))
    assert len(set(made)) == 1
    assert made[0].read_text() == "/submission\n// x"
    assert not list(nvcc.glob("making-*"))


def test_a_cache_that_others_can_write_is_emptied(nvcc: Path, folder: Path) -> None:
    made = compiling.compile_object(handed_in(folder, "s0001", "// x"), "vgpu", is_sandboxed=True)
    nvcc.chmod(0o777)
    (nvcc / "planted").symlink_to("/etc")
    cache.folder()
    assert list(nvcc.iterdir()) == []
    assert nvcc.stat().st_mode & 0o777 == 0o700
    assert Path("/etc/passwd").exists()
    assert not made.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_users_cache_is_not_used(nvcc: Path, folder: Path) -> None:
    nvcc.mkdir()
    os.chown(nvcc, 54321, 54321)
    with pytest.raises(KitError, match="belongs to another user"):
        compiling.compile_object(handed_in(folder, "s0001", "// x"), "vgpu", is_sandboxed=True)


def test_what_a_compiler_leaves_beside_the_object_is_not_taken(nvcc: Path, folder: Path) -> None:
    made = compiling.compile_object(handed_in(folder, "s0001", "// x"), "vgpu", is_sandboxed=True)
    assert made.is_relative_to(nvcc)
    assert sorted(path.name for path in made.parent.iterdir()) == [
        "headers.d", "included.json", "object.o", "registers.txt", "said.txt", "sums.json"
    ]  # fmt: skip
    assert (made.parent / "included.json").read_text() == "[]"
    assert made.stat().st_uid == os.getuid()


def test_a_link_in_the_objects_place_is_not_followed(nvcc: Path, folder: Path) -> None:
    with pytest.raises(CompileError, match=r"made no object\.o"):
        compiling.compile_object(handed_in(folder, "s0001", "// LINK"), "vgpu", is_sandboxed=True)
    assert list(nvcc.iterdir()) == []


def test_messages_name_the_file_as_people_do(nvcc: Path, folder: Path) -> None:
    source = handed_in(folder, "s0001", "// SYNTAX")
    with pytest.raises(CompileError) as stopped:
        compiling.compile_object(source, "vgpu", is_sandboxed=True)
    assert str(stopped.value) == f"{sandbox.shown(source.path)}(1): error: what is this"
    assert list(nvcc.iterdir()) == []
