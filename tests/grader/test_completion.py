"""Completion, asked by real shells for the program as it is typed."""

import os
import pty
import resource
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import PACKAGE, REPOSITORY
from scanlab.completion.answer import LAB_PARAMETERS, MIXED_PARAMETERS, answer, labs
from scanlab.completion.launch import SHELLS, main, script
from scanlab.labs.folders import all_labs

NAMES = [lab.name for lab in all_labs()]
SECONDS = 0.3
ENVIRONMENT = {**os.environ, "SCANLAB_PYTHON": sys.executable}


def words_of(lines: list[str]) -> list[str]:
    return [line.split("\t")[1] if line.startswith("word\t") else line for line in lines]


def said(*words: str, shell: str = "bash") -> list[str]:
    return words_of(answer(shell, len(words), ["grader/scanlab", *words]))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["che"], ["check"]),
        (["bench", "0"], [*(name for name in NAMES if name.startswith("0")), "file"]),
        (["course", "n"], ["new"]),
        (["check", ""], NAMES),
        (["check", "02"], ["02_kogge_stone"]),
        (["check", "kog"], ["kogge_stone"]),
        (["check", "02", ""], ["file"]),
        (["check", "02", "--editor", "mi"], ["file"]),
        (["check", "02", "--sc"], ["--schedule"]),
        (["check", "02", "--device", ""], ["vgpu", "gpu"]),
        (["check", "--device", "=", "g"], ["gpu"]),
        (["check", "--device", "="], ["vgpu", "gpu"]),
        (["check", "02", "--n", ""], []),
        (["grade", "x", "--lab", "11"], ["11_look_back"]),
        (["trace", "02_"], ["02_kogge_stone", "file"]),
        (["run", "02", "--entry", "s"], ["split"]),
        (["run", "my.cu", "--", "--n"], ["file"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["chekc", ""], []),
    ],
)
def test_what_may_follow(words: list[str], expected: list[str]) -> None:
    assert said(*words) == expected


def test_every_command_is_said_with_its_help() -> None:
    lines = [line.split("\t") for line in answer("zsh", 1, ["grader/scanlab", ""])]
    assert [line[1] for line in lines][:2] == ["learn", "list"]
    assert all(kind == "word" and told for kind, _, told in lines)


def test_the_other_shells_keep_an_option_with_its_value() -> None:
    assert said("check", "--device=g", shell="zsh") == ["--device=gpu"]


def test_every_parameter_that_is_called_so_names_labs() -> None:
    assert labs("0") == [name for name in NAMES if name.startswith("0")]
    assert (LAB_PARAMETERS, MIXED_PARAMETERS) == (("lab", "labs"), ("what",))
    for command in ("check", "watch", "learn", "hint", "reset", "verify"):
        assert said(command, "02_k") == ["02_kogge_stone"]


# ---- the launcher --------------------------------------------------------------------------------------------------


def launched(kit: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [kit / "grader/scanlab", *words],
        env={**ENVIRONMENT, **changes},
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def test_it_answers_while_a_key_is_pressed() -> None:
    """Measured is processor time: what else this machine does is not the answer's fault."""
    words = ("completion", "bash", "--answer", "2", "grader/scanlab", "check", "02")
    took = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert words_of(launched(REPOSITORY, *words).stdout.splitlines()) == ["02_kogge_stone"]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < SECONDS


def test_a_kit_that_is_not_set_up_stays_so(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "grader/python", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "grader/scanlab", tmp_path / "grader")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SCANLAB", "PYTHON"))}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
    before = sorted(tmp_path.rglob("*"))
    for words, output in ((["bash"], script("bash")), (["bash", "--answer", "1", "x", "ch"], None)):
        done = subprocess.run(
            [tmp_path / "grader/scanlab", "completion", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert output is None or done.stdout == output
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("words", [[], ["bash", "--answer"], ["bash", "--answer", "x"], ["bash", "--answer", "9", "a"]])
def test_what_makes_no_sense_is_no_traceback(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", *words])
    assert "Traceback" not in "".join(capsys.readouterr())


# ---- shells --------------------------------------------------------------------------------------------------------


def bash(*words: str, cwd: Path = REPOSITORY) -> list[str]:
    """What bash has as completions of the last word, when its own function is called as it calls it."""
    before = words[-2] if len(words) > 1 else ""
    array = " ".join(map(shlex.quote, words))
    code = (
        f"source <({shlex.quote(str(REPOSITORY / 'grader/scanlab'))} completion bash)\n"
        f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; COMP_LINE={shlex.quote(' '.join(words))}\n"
        f"complete -p scanlab >&2\n"
        f"_scanlab {shlex.quote(words[0])} {shlex.quote(words[-1].removeprefix('='))} {shlex.quote(before)}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "complete -o nosort -F _scanlab scanlab\n"
    return [line for line in done.stdout.splitlines() if line]


def test_bash_completes_commands_options_labs_and_files(tmp_path: Path) -> None:
    typed = "grader/scanlab"
    assert bash(typed, "che") == ["check"]
    assert bash(typed, "check", "") == NAMES
    assert bash(typed, "check", "02") == ["02_kogge_stone"]
    assert bash(typed, "check", "02", "--device", "=", "v") == ["vgpu"]
    assert bash(typed, "run", "labs/scanl") == ["labs/scanlab.cuh"]
    (tmp_path / "my scan.cu").write_text("")
    assert bash(str(REPOSITORY / typed), "check", "02", "my", cwd=tmp_path) == ["my scan.cu"]
    assert bash("./scanlab", "hint", "11", cwd=REPOSITORY / "grader") == ["11_look_back"]


def test_bash_completes_a_line_that_is_typed(tmp_path: Path) -> None:
    """A whole interactive bash, with its own splitting of words."""
    (tmp_path / "rc").write_text(
        f"cd {shlex.quote(str(REPOSITORY))}\nPS1='ready '\nbind 'set enable-bracketed-paste off'\n"
        "source <(grader/scanlab completion bash)\n"
    )
    own, terminal = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "--rcfile", str(tmp_path / "rc"), "-i"],
        env=ENVIRONMENT, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    try:
        shown(own, "ready ")
        line = "grader/scanlab "
        for typed, becomes in (("che", "check "), ("02", "02_kogge_stone "), ("--dev", "--device "), ("v", "vgpu ")):
            os.write(own, (line + typed if typed == "che" else typed).encode() + b"\t")
            line += becomes
            shown(own, becomes.rstrip())
        assert shell.poll() is None
    finally:
        shell.kill()
        shell.wait()
        os.close(own)


def shown(terminal: int, text: str) -> None:
    """Read a terminal until a text is there."""
    seen = ""
    deadline = time.monotonic() + 20
    while text not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_scripts(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / f"script.{shell}"
    file.write_text(script(shell))
    subprocess.run([shell, "-n", file], check=True, timeout=30)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes() -> None:
    def fish(line: str) -> list[str]:
        code = f"grader/scanlab completion fish | source; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", code], cwd=REPOSITORY, env=ENVIRONMENT, capture_output=True, text=True,
            timeout=60, check=True,
        )  # fmt: skip
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert fish("grader/scanlab che") == ["check"]
    assert fish("grader/scanlab check 02") == ["02_kogge_stone"]
    assert fish("grader/scanlab check 02 --device=g") == ["--device=gpu"]
    assert fish("grader/scanlab run labs/scanl") == ["labs/scanlab.cuh"]


def test_each_shell_has_a_script() -> None:
    for shell in SHELLS:
        assert f"grader/scanlab completion {shell}" in script(shell)
