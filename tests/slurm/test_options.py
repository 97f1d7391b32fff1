"""What `--slurm` takes, how Slurm's answers are read, and what a job's script says. No Slurm is needed."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import make_class, unit
from needs import skip_without
from scanlab.errors import KitError, UsageError
from scanlab.executors import slurm_jobs, slurm_queue
from scanlab.executors.slurm import SlurmExecutor
from scanlab.executors.slurm_jobs import LimitError
from scanlab.executors.slurm_options import SlurmOptions, parse_minutes, read_options
from scanlab.executors.slurm_queue import Queue, QueueError, TaskState
from scanlab.on_demand import SUBMITIT
from stand_ins import write_program


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("1", 1),
        ("90", 90),
        ("0:30", 1),
        ("90:00", 90),
        ("90:01", 91),
        ("1:30:00", 90),
        ("0:30:01", 31),
        ("1-12", 36 * 60),
        ("1-12:30", 36 * 60 + 30),
        ("2-0:0:1", 48 * 60 + 1),
    ],
)
def test_time_limits_are_read_as_slurm_reads_them(text: str, minutes: int) -> None:
    assert parse_minutes(text) == minutes


@pytest.mark.parametrize("text", ["", "0", "0:00", "x", "-1", "1:2:3:4", "1.5", "1-", "infinite", "１"])
def test_a_time_that_slurm_does_not_know_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--slurm time="):
        parse_minutes(text)


def test_options_go_where_they_belong() -> None:
    options = read_options(
        [
            *("partition=teaching", "--mem=4G", "gres=gpu:a100:1", "mail_type=END", "cpus-per-task=2", "time=1:00:00"),
            *("units-per-task=8", "at_once=20", "retries=0", "reservation=exam", "exclusive=no", "partition=other"),
        ]
    )
    parameters = {
        "partition": "other",
        "gres": "gpu:a100:1",
        "mail_type": "END",
        "cpus_per_task": 2,
        "exclusive": False,
    }
    flags = {"mem": "4G", "reservation": "exam"}
    assert options == SlurmOptions(8, 20, 0, 60, parameters, flags)
    assert read_options([]) == SlurmOptions()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("partition", "write KEY=VALUE"),
        ("=x", "write KEY=VALUE"),
        ("partition=", "write KEY=VALUE"),
        ("a b=c", "write KEY=VALUE"),
        ("partition=x\n#SBATCH --uid=0", "cannot be printed"),
        ("array=0-9", "not for you to say"),
        ("job_name=mine", "finds its jobs by their name"),
        ("retries=-1", "a number from 0 to 20"),
        ("retries=two", "a number from 0 to 20"),
        ("units-per-task=0", "a number from 1 to 1000"),
        ("at-once=99999999999999999999", "a number from 1 to"),
        ("cpus-per-task=x", "a number from 1 to"),
    ],
)
def test_a_bad_option_is_one_line_that_names_it(text: str, expected: str) -> None:
    with pytest.raises(UsageError, match=f"^--slurm .*{expected}") as caught:
        read_options([text])
    assert caught.value.code == 2


def test_units_go_into_few_tasks_and_not_into_too_few() -> None:
    def sizes(count: int, **options: int) -> list[int]:
        every = [unit(str(number)) for number in range(count)]
        made = SlurmExecutor(SlurmOptions(**options))._chunks(every)
        assert Counter(one for chunk in made for one in chunk) == Counter(every)
        return [len(chunk) for chunk in made]

    assert sizes(9) == [3, 3, 3]
    assert sizes(2048) == [8] * 256
    assert sizes(10_000) == [32] * 297 + [31] * 16
    assert sizes(20, at_once=2) == [10, 10]
    assert sizes(5, units_per_task=3) == [3, 2]


# ---- Slurm's commands ------------------------------------------------------------------------------------------------


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a command of Slurm's in the first place of PATH: answers(name, its Python text)."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return lambda name, text: write_program(tmp_path / name, text)


def test_states_are_read_whatever_the_user_s_own_defaults_are(
    answers: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(
        "squeue",
        """
        import os, sys
        assert not [name for name in os.environ if name.startswith("SQUEUE_")]
        assert "--states=all" in sys.argv and "--name=scanlab-x" in sys.argv
        print("12_0|RUNNING|n1|None\\n12_1|PENDING||Resources\\n13|NODE_FAIL|n2|NodeDown|odd")
        """,
    )
    monkeypatch.setenv("SQUEUE_PARTITION", "elsewhere")
    states = Queue("scanlab-x").states()
    assert states == {
        "12_0": TaskState("RUNNING", "n1", "None"),
        "12_1": TaskState("PENDING", "", "Resources"),
        "13": TaskState("NODE_FAIL", "n2", "NodeDown|odd"),
    }
    assert [state.has_ended for state in states.values()] == [False, False, True]


def test_a_controller_that_is_away_is_not_an_empty_queue(answers: Callable[[str, str], None]) -> None:
    answers("squeue", 'import sys; sys.exit("slurm_load_jobs error: Unable to contact slurm controller")')
    with pytest.raises(QueueError, match="Unable to contact slurm controller"):
        Queue("scanlab-x").states()
    answers("scontrol", 'import sys; sys.exit("scontrol: error: Unable to contact slurm controller")')
    with pytest.raises(KitError, match=r"^Slurm does not answer: Unable to contact"):
        slurm_queue.max_array()


@pytest.mark.parametrize(
    ("text", "largest"), [("MaxArraySize            = 1001", 1001), ("", 1001), ("MaxArraySize = 0", 1)]
)
def test_the_largest_array_is_asked_for(text: str, largest: int, answers: Callable[[str, str], None]) -> None:
    answers("scontrol", f"print('Configuration data\\n{text}\\nMaxDBDMsgs = 20012')")
    assert slurm_queue.max_array() == largest


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", UsageError),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination", UsageError),
        (
            "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)",
            LimitError,
        ),
        ("sbatch: error: AssocMaxSubmitJobLimit", LimitError),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", KitError),
        ("", UsageError),
    ],
)
def test_a_refusal_is_distinguished_from_a_limit_and_from_silence(text: str, kind: type[Exception]) -> None:
    assert type(slurm_jobs._refusal(text)) is kind


# ---- jobs ------------------------------------------------------------------------------------------------------------


def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, *options: str) -> list[str]:
    """Return the #SBATCH lines of the script that would be submitted."""
    skip_without(SUBMITIT)
    import submitit

    store = make_class(tmp_path / "class", [("01_sequential", "// a\n"), ("01_sequential", "// b\n")])
    taken_in = store.read_class().model_copy(update={"device": device})
    write_program(tmp_path / "bin/srun", "")
    write_program(
        tmp_path / "bin/sbatch",
        "import pathlib, shutil, sys; shutil.copy(sys.argv[1], pathlib.Path(__file__).parent / 'seen')\n"
        "print('Submitted batch job 7')",
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SBATCH_JOB_NAME", "another")
    assert submitit
    jobs = slurm_jobs.Jobs("scanlab-x", store.folder, taken_in, read_options(options), 1, {})
    jobs.exclude.add("n7")
    made = jobs.submit([(unit("// a\n"),), (unit("// b\n"),)])
    assert [one.id for one in made] == ["7_0", "7_1"]
    text = (tmp_path / "bin/seen").read_text()
    assert subprocess.run(["bash", "-n", "-c", text], timeout=30).returncode == 0
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH")]


def test_a_job_says_what_the_kit_relies_on_and_what_the_user_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = script(tmp_path, monkeypatch, "vgpu", "partition=a b", "mem=4G", "exclude=n1", "time=2", "at-once=1")
    for line in (
        *("--partition='a b'", "--mem=4G", "--exclude=n1,n7", "--time=2", "--job-name=scanlab-x", "--no-requeue"),
        *("--array=0-1%1", "--signal=B:USR2@30", "--cpus-per-task=1"),
    ):
        assert line in said
    assert not [line for line in said if line.startswith(("--wckey", "--gres", "--exclusive"))]


def test_a_job_for_a_gpu_has_one_and_its_node_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = script(tmp_path, monkeypatch, "gpu")
    assert "--gres=gpu:1" in said
    assert "--exclusive" in said


def test_a_user_may_choose_the_gpu_and_share_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = script(tmp_path, monkeypatch, "gpu", "gres=gpu:h200:1", "exclusive=no")
    assert "--gres=gpu:h200:1" in said
    assert not [line for line in said if line.startswith("--exclusive")]
