"""A class that is graded on Slurm: the same results as here, whatever happens to its tasks."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from cluster import NODES, Cluster
from conftest import (
    MAX_ARRAY,
    REPOSITORY,
    Start,
    finish,
    graded,
    job_name,
    make_class,
    stamp,
    standins,
    unit,
    wait_until,
)
from scanlab.classroom.store import Store
from scanlab.judging.result import Cause
from scanlab.labs.corpora import text_of
from stand_ins import write_program

RIGHT = ("01_sequential", "02_kogge_stone", "03_double_buffer")
WRONG = (
    "01_sequential/one_too_few.diff",
    "01_sequential/swapped_operands.diff",
    "02_kogge_stone/no_second_barrier.diff",
    "02_kogge_stone/last_section_missing.diff",
)


def verdicts(lines: list[str]) -> Counter[str]:
    """Return how many units got which verdict, as the run printed it."""
    return Counter(line.split()[-1] for line in lines)


def tasks(cluster: Cluster, store: Store) -> list[tuple[str, str, str]]:
    """Return (task, state, node) of all tasks of a results folder that Slurm still knows, first submitted first."""
    rows = cluster.ask(
        *("squeue", "--noheader", "--array", "--states=all", f"--name={job_name(store)}", "--format=%i|%T|%N")
    )
    found = [(task, state, node) for task, state, node in (row.split("|") for row in rows.splitlines())]
    return sorted(found, key=lambda row: [int(part) for part in row[0].split("_")])


def wait_for_running(cluster: Cluster, store: Store, count: int) -> None:
    wait_until(lambda: sum(state == "RUNNING" for _, state, _ in tasks(cluster, store)) == count)


def files_in(folder: Path, *parts: str) -> dict[str, bytes]:
    """Return the bytes of each file below the named parts of a folder."""
    found = [path for part in parts for path in (folder / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_results_are_the_same_bytes_as_those_made_here(
    cluster: Cluster, start: Start, real_build: Path, tmp_path: Path
) -> None:
    right = [(lab, (REPOSITORY / "solutions" / lab / "scan.cu").read_text()) for lab in RIGHT]
    wrong = [(name.split("/")[0], text_of(REPOSITORY / "tests/mutants" / name)) for name in WRONG]
    handed_in = [*right, *wrong, ("01_sequential", "this is no CUDA;\n")]
    here, there = make_class(tmp_path / "here", handed_in), make_class(tmp_path / "there", handed_in)
    first, _ = finish(start(here, real_build, "here"))
    second, said = finish(start(there, real_build, "units-per-task=2"))
    assert second == first
    assert verdicts(first) == Counter({"pass": len(RIGHT), "fail": len(WRONG) + 1})
    expected = files_in(here.folder, "results", "graded", "sources")
    assert len(expected) == 3 * len(handed_in)
    assert files_in(there.folder, "results", "graded", "sources") == expected
    assert said == ""
    assert {node for _, _, node in tasks(cluster, there)} == set(NODES)
    arrays = Counter(task.split("_")[0] for task, _, _ in tasks(cluster, there))
    assert list(arrays.values()) == [MAX_ARRAY, len(handed_in) // 2 - MAX_ARRAY]
    assert not (there.folder / "slurm").exists()


def test_a_task_that_is_killed_loses_the_unit_in_hand_and_that_one_is_tried_again(
    start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "PASSES 1", "PASSES 2", "KILLS ONCE", "PASSES 4")
    lines, _ = finish(start(store, standin_build, "units-per-task=4"))
    assert verdicts(lines) == Counter({"pass": 4})
    assert graded(standin_build) == Counter({"PASSES 1": 1, "PASSES 2": 1, "KILLS ONCE": 2, "PASSES 4": 1})


def fault_of(store: Store, key: str) -> Cause:
    result = store.read_record(key).labs[0].result
    assert result
    return result.kit_faults[0]


def test_a_unit_that_always_ends_its_task_is_an_error_of_the_kit_and_costs_no_other(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "KILLS", "PASSES 2", "FAULTS", "PASSES 4", "CRASHES", "PASSES 6")
    lines, said = finish(start(store, standin_build, "units-per-task=6", "retries=1"))
    assert verdicts(lines) == Counter({"pass": 3, "error": 3}), said
    counts = {"KILLS": 2, "PASSES 2": 1, "FAULTS": 2, "PASSES 4": 1, "CRASHES": 2, "PASSES 6": 1}
    assert graded(standin_build) == Counter(counts)
    record = store.read_record("s0001")
    assert (record.verdict, record.points) == ("error", 0)
    cause = fault_of(store, "s0001")
    assert cause.headline.startswith("not graded after 2 tries: Slurm task ")
    ids = {task.split("_")[0] for task, _, _ in tasks(cluster, store)}
    assert cause.headline.split("Slurm task ")[1].split()[0].split("_")[0] in ids
    log = next(word for word in cause.details[0].split() if word.startswith("slurm/jobs/"))
    assert (store.folder / log.rstrip(":,")).is_file()
    assert any(line.startswith("submitit INFO") for line in cause.details[1:])
    assert "the judge ended with exit code 3" in fault_of(store, "s0003").headline
    assert "the process that graded the file was killed by SIGKILL" in fault_of(store, "s0005").details[0]


def test_when_a_node_dies_the_other_one_finishes(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "SLEEPS 4.1", "SLEEPS 4.2", "PASSES 1", "PASSES 2")
    run = start(store, standin_build, "units-per-task=2")
    wait_for_running(cluster, store, 2)
    wait_until(lambda: len(graded(standin_build)) >= 2)
    cluster.end_node("n1")
    lines, _ = finish(run)
    assert verdicts(lines) == Counter({"pass": 4})
    assert "NODE_FAIL" in {state for _, state, _ in tasks(cluster, store)}
    assert {node for _, state, node in tasks(cluster, store) if state == "COMPLETED"} == {"n2"}
    assert sum(graded(standin_build).values()) == 5


def test_ctrl_c_cancels_the_jobs_and_the_next_run_repeats_nothing(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "PASSES 1", "PASSES 3", "SLEEPS 1.5", "SLEEPS 1.6")
    run = start(store, standin_build, "units-per-task=2")
    wait_until(lambda: graded(standin_build)["SLEEPS 1.5"] and graded(standin_build)["SLEEPS 1.6"])
    run.send_signal(signal.SIGINT)
    _, said = finish(run, 128 + signal.SIGINT)
    assert "cancelled the jobs on Slurm" in said
    assert "--resume" in said
    wait_until(lambda: not cluster.jobs(), 8)
    assert not [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if str(standin_build) in _text(entry)]
    lines, _ = finish(start(store, standin_build))
    assert verdicts(lines) == Counter({"pass": 4})
    counts = graded(standin_build)
    assert (counts["PASSES 1"], counts["PASSES 3"]) == (1, 1)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def test_after_sigkill_the_next_run_ends_the_jobs_that_are_left_and_finishes(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "SLEEPS 20", "PASSES 2", "PASSES 3")
    run = start(store, standin_build, "units-per-task=1")
    wait_until(lambda: len(list(store.folder.glob("graded/*/*.json"))) == 2)
    wait_until(lambda: len(cluster.jobs()) == 1)  # the tasks of the other two have ended as well
    run.kill()
    run.wait(10)
    assert cluster.jobs()
    again = start(store, standin_build)
    wait_until(lambda: graded(standin_build)["SLEEPS 20"] == 2)
    wait_until(lambda: [state for _, state, _ in cluster.jobs()] == ["RUNNING"])  # a cancelled one may yet be ending
    again.send_signal(signal.SIGTERM)
    lines, said = finish(again, 128 + signal.SIGTERM)
    assert "cancelled 1 task that an earlier run has left on Slurm" in said
    assert verdicts(lines) == Counter({"pass": 2})
    assert graded(standin_build) == Counter({"SLEEPS 20": 2, "PASSES 2": 1, "PASSES 3": 1})


def test_a_task_near_its_limit_ends_its_unit_and_leaves_the_others_to_another_task(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "SLEEPS 2", "PASSES 2", "PASSES 3")
    run = start(store, standin_build, "units-per-task=3", "retries=0")
    wait_until(lambda: graded(standin_build)["SLEEPS 2"])
    cluster.ask("scancel", "--batch", "--signal=USR2", f"--name={job_name(store)}")
    lines, _ = finish(run)
    assert verdicts(lines) == Counter({"pass": 3})
    assert graded(standin_build) == Counter({"SLEEPS 2": 1, "PASSES 2": 1, "PASSES 3": 1})
    assert len(tasks(cluster, store)) == 2


def test_jobs_that_a_user_cancels_are_not_started_again_and_get_no_result(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "PASSES 1", "SLEEPS 20", "PASSES 3")
    run = start(store, standin_build, "units-per-task=3")
    wait_until(lambda: graded(standin_build)["SLEEPS 20"])
    cluster.ask("scancel", f"--name={job_name(store)}")
    lines, said = finish(run, 3)
    assert verdicts(lines) == Counter({"pass": 1})
    assert "2 files not graded; the same with --resume goes on" in said
    assert len(files_in(store.folder, "graded")) == 1


def test_tasks_build_nothing_and_say_that_the_build_is_old(
    cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", "PASSES 1", "PASSES 2")
    for node in NODES:
        cluster.ask("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    run = start(store, standin_build, "retries=0")
    wait_until(lambda: tasks(cluster, store))
    stamp(standin_build, sources="older")
    for node in NODES:
        cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
    lines, said = finish(run)
    assert verdicts(lines) == Counter({"error": 2})
    expected = f"{standin_build} is not made from the sources in {REPOSITORY}"
    assert expected in said
    assert expected in fault_of(store, "s0002").details[0]
    assert graded(standin_build) == Counter()
    _, said = finish(start(store, standin_build), 3)
    assert "the build is not made from the sources as they are" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide a folder from one node")
@pytest.mark.parametrize("what", ["results", "kit"])
def test_a_node_that_does_not_see_the_files_is_named_and_passed_over(
    what: str, cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path
) -> None:
    store = standins(tmp_path / "class", *(f"SLEEPS 0.{number}" for number in range(1, 5)))
    hidden = store.folder if what == "results" else REPOSITORY / ".venv/bin"
    cluster.end("n1")
    script = f'mount -t tmpfs none {hidden} && exec "$@"'
    cluster.start_node("n1", ["unshare", "--mount", "sh", "-c", script, "sh"])
    try:
        cluster.restore()
        lines, said = finish(start(store, standin_build, "units-per-task=1"))
    finally:
        cluster.end("n1")
    assert verdicts(lines) == Counter({"pass": 4})
    assert "node n1" in said
    assert ("left no log" if what == "results" else "cannot see") in said
    assert "where all nodes see it" in said
    assert said.count("\n") == 1


def test_a_limit_on_submitted_jobs_is_kept(cluster: Cluster, start: Start, standin_build: Path, tmp_path: Path) -> None:
    # Only slurmdbd can set MaxSubmitJobs: a command in sbatch's place refuses what would be the third task, as it does.
    words = "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time"
    write_program(
        tmp_path / "bin/sbatch",
        f"""
        import os, pathlib, re, subprocess, sys
        found = re.search(r"--array=0-([0-9]+)", pathlib.Path(sys.argv[1]).read_text())
        wanted = int(found.group(1)) + 1 if found else 1
        queue = subprocess.run([{cluster.slurm["squeue"]!r}, "-h", "--array"], capture_output=True, text=True)
        if wanted + len(queue.stdout.splitlines()) > 2:
            print(wanted, file=open({str(tmp_path / "refused")!r}, "a"))
            sys.exit("sbatch: error: QOSMaxSubmitJobPerUserLimit\\nsbatch: error: {words} limits)")
        os.execv({cluster.slurm["sbatch"]!r}, ["sbatch", *sys.argv[1:]])
        """,
    )
    path = f"{tmp_path / 'bin'}:{cluster.environment['PATH']}"
    store = standins(tmp_path / "class", *(f"PASSES {number}" for number in range(4)))
    lines, _ = finish(start(store, standin_build, "units-per-task=1", PATH=path))
    assert verdicts(lines) == Counter({"pass": 4})
    assert (tmp_path / "refused").read_text().startswith(f"{MAX_ARRAY}\n")


def test_what_slurm_refuses_is_one_line(start: Start, standin_build: Path, tmp_path: Path) -> None:
    store = standins(tmp_path / "class", "PASSES 1", "PASSES 2")
    for option, expected in (
        ("partition=nowhere", "invalid partition specified: nowhere"),
        ("gres=gpu:1", "Invalid generic resource"),
        ("frobnicate=3", "frobnicate"),
    ):
        lines, said = finish(start(store, standin_build, option, "units-per-task=1"), 2)
        assert not lines
        assert expected in said
        assert said.startswith("scanlab: Slurm refuses the jobs: ")
        assert said.count("\n") == 1


def test_without_slurm_it_says_so(start: Start, standin_build: Path, tmp_path: Path) -> None:
    store = standins(tmp_path / "class", "PASSES 1")
    lines, said = finish(start(store, standin_build, PATH="/usr/bin:/bin"), 2)
    assert not lines
    assert "needs Slurm's commands" in said


def test_an_error_is_graded_again_and_a_score_is_not(start: Start, standin_build: Path, tmp_path: Path) -> None:
    store = standins(tmp_path / "class", "FAULTS", "PASSES 2")
    lines, _ = finish(start(store, standin_build, "retries=0"))
    assert verdicts(lines) == Counter({"error": 1, "pass": 1})
    score = store.graded(unit("// PASSES 2\n")).read_bytes()
    lines, _ = finish(start(store, standin_build, "retries=0"))
    assert verdicts(lines) == Counter({"error": 1, "pass": 1})
    assert graded(standin_build) == Counter({"FAULTS": 2, "PASSES 2": 1})
    assert store.graded(unit("// PASSES 2\n")).read_bytes() == score
