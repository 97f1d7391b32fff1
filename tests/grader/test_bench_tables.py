"""Tables, page and picture of comparisons whose figures are known."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Scanlab
from needs import skip_without
from scanlab.bench import page, plot, tables
from scanlab.bench.result import DeviceFacts, Point, Result, Row, gb_a_second, read_result
from scanlab.errors import KitError, UsageError
from scanlab.on_demand import PLOTS

N = 10_000_000


def timed(n: int, *ms: float, entry: str = "inclusive") -> Point:
    return Point(n=n, entry=entry, status="ok", ms=list(ms))


@pytest.fixture
def times() -> Result:
    """Three sizes; at the second, 80 MB are moved: in 0.02 ms by the copy, which is 4,000 GB/s."""
    rows = [
        Row(
            name="01_sequential",
            role="solution",
            points=[
                timed(1024, 0.5),
                timed(N, 5000.0),
                timed(N, 6000.0, entry="exclusive"),
                Point(n=1 << 30, entry="inclusive", status="skipped", text="a call would take about 5e+02 s"),
            ],
        ),
        Row(
            name="02_kogge_stone",
            role="solution",
            section=1024,
            points=[timed(1024, 0.003), timed(N, 0.9, 0.4, 0.3), timed(1 << 30, 40.0)],
        ),
        Row(
            name="mine|*.cu",
            role="file",
            points=[
                Point(n=1024, entry="inclusive", status="wrong", text="y[0] = 1, expected 2; 1 of 1024 is wrong"),
                Point(n=N, entry="inclusive", status="wrong", text="another text"),
                Point(n=N, entry="exclusive", status="missing", text="there is no exclusive_scan"),
                Point(n=1 << 30, entry="inclusive", status="out_of_memory", text="no room for the two arrays"),
            ],
        ),
        Row(name="copy", role="copy", points=[timed(1024, 0.002), timed(N, 0.02), timed(1 << 30, 2.0)]),
    ]
    device = DeviceFacts(name="NVIDIA X", multiprocessors=132, l2_bytes=60 << 20, runtime="13.0", flush_bytes=120 << 20)
    return Result(
        schema="scanlab-bench",
        version=1,
        subject="times",
        date="2026-01-02T03:04+00:00",
        command="grader/scanlab bench --device gpu",
        kit="0.1.0",
        device=device,
        n=N,
        sizes=[1024, N, 1 << 30],
        rounds=5,
        calls=20,
        empty_launch_ms=0.0021,
        rows=rows,
    )


def test_the_main_table_compares_with_the_copy(times: Result) -> None:
    rows = {row[0]: row[1:] for row in tables.main_table(times).rows}
    assert rows["copy"] == ("", "0.0200", "0.0200", "4,000", "100 %", "")
    assert rows["02_kogge_stone"] == ("sections of 1,024", "0.4000", "0.3000", "200", "5.0 %", "")
    assert rows["01_sequential"] == ("the whole array", "5,000.0", "5,000.0", "0.016", "0.0004 %", "6,000.0")
    assert rows["mine|*.cu"] == ("", "wrong", "", "", "", "missing")


def test_the_second_table_has_a_column_a_size(times: Result) -> None:
    table = tables.sizes_table(times)
    assert table.columns == ("scan", "2^10", "10^7", "2^30")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["01_sequential"] == ("500.0", "5,000,000", "–")
    assert rows["02_kogge_stone"] == ("3.0", "400.0", "40,000")
    assert rows["mine|*.cu"] == ("wrong", "wrong", "no memory")
    assert not tables.sizes_table(times.model_copy(update={"sizes": [N]})).rows


def test_what_is_not_measured_is_reported_once(times: Result) -> None:
    times.notes.append("10_compaction is not in the table: it is no scan")
    assert tables.troubles(times) == [
        "10_compaction is not in the table: it is no scan",
        "01_sequential at n = 1,073,741,824: left out, a call would take about 5e+02 s",
        "mine|*.cu at n = 1,024 and 1 larger: wrong: y[0] = 1, expected 2; 1 of 1024 is wrong",
        "mine|*.cu at n = 10,000,000, exclusive: there is no exclusive_scan",
        "mine|*.cu at n = 1,073,741,824: no room for the two arrays",
    ]
    times.interrupted = True
    assert "interrupted" in tables.troubles(times)[0]
    assert times.failed()


def test_the_lines_around_say_how_it_was_measured(times: Result) -> None:
    device, versions, command = tables.heading(times)
    assert device == "NVIDIA X, 132 multiprocessors, 60 MiB L2"
    assert versions == "CUDA 13.0, scanlab 0.1.0, 2026-01-02 03:04"
    assert command == "grader/scanlab bench --device gpu"
    text = "\n".join(tables.explanations(times))
    assert "5 rounds of at most 20 calls" in text
    assert "cold: 120 MiB" in text
    assert "2.1 µs" in text
    assert "sections" in text
    times.device.flush_bytes = 0
    assert "warm" in "\n".join(tables.explanations(times))


def counted(**counts: float) -> dict[str, float]:
    named = {"additions": 2048, "barriers": 20, "launches": 1, "global_bytes": 8192, "global_sectors": 256}
    return {**named, "bank_conflict_replays": 0, "warp_efficiency": 0.745, **counts}


def test_counts_have_a_table_and_exclusive_scans_only_where_they_differ(times: Result) -> None:
    def row(name: str, exclusive: dict[str, float]) -> Row:
        points = [
            Point(n=1024, entry="inclusive", status="ok", counts=counted()),
            Point(n=1024, entry="exclusive", status="ok", counts=exclusive),
        ]
        return Row(name=name, role="solution", section=1024, points=points)

    least = Point(n=1024, entry="inclusive", status="ok", counts={"global_bytes": 8192, "global_sectors": 256})
    rows = [row("same", counted()), row("other", counted(global_sectors=287)), Row(name="copy", role="copy")]
    rows[-1].points.append(least)
    result = times.model_copy(update={"subject": "counts", "sizes": [1024], "n": 1024, "rows": rows})
    inclusive, exclusive = tables.tables(result)
    figures = ("sections of 1,024", "2,048", "2.00", "20", "1", "8,192", "256", "0", "74.5 %")
    assert inclusive.rows[0] == ("same", *figures)
    assert inclusive.rows[2] == ("copy", "", "", "", "", "", "8,192", "256", "", "")
    assert [row[0] for row in exclusive.rows] == ["other"]
    assert exclusive.rows[0][7] == "287"


@pytest.mark.parametrize(
    ("n", "name"),
    [(1 << 20, "2^20"), (N, "10^7"), (1000, "10^3"), (1, "1"), (32, "32"), (64, "2^6"), (10, "10"), (5000, "5,000")],
)
def test_sizes_have_short_names(n: int, name: str) -> None:
    assert tables.size_name(n) == name


def test_a_float_is_moved_twice() -> None:
    assert gb_a_second(N, 0.02) == pytest.approx(4000)


def test_the_page_is_markdown_with_links_beside_it(times: Result, tmp_path: Path) -> None:
    text = page.markdown(times, tmp_path / "x.md", [tmp_path / "a.png", tmp_path / "a.svg"], tmp_path / "in/a.json")
    lines = text.splitlines()
    assert lines[0] == "# How fast the scans are: NVIDIA X"
    assert "| --- | --- | ---: | ---: | ---: | ---: | ---: |" in lines
    assert "| copy |  | 0.0200 | 0.0200 | 4,000 | 100 % |  |" in lines
    assert "| mine\\|\\*.cu | wrong | wrong | no memory |" in lines
    assert "(a.svg)" in text
    assert "a.png" not in text  # one picture is enough
    assert "[a.json](in/a.json)" in text
    assert all(len(line) <= 120 for line in lines if not line.startswith("|"))
    columns = {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}
    assert columns == {8, 5}  # every row of a table has its columns


@pytest.mark.parametrize("quantity", ["speed", "time"])
def test_the_picture_names_every_line(times: Result, tmp_path: Path, quantity: plot.Quantity) -> None:
    skip_without(PLOTS)
    import matplotlib as mpl

    mpl.rcParams["svg.fonttype"] = "none"  # words stay words
    svg, png = tmp_path / "a.svg", tmp_path / "a.PNG"
    plot.draw(times, [svg, png], quantity)
    words = svg.read_text()
    assert all(f">{name}<" in words for name in ("01_sequential", "02_kogge_stone", "copy"))
    assert "mine" not in words  # it has no time
    assert ("GB/s" if quantity == "speed" else "µs, median") in words
    assert png.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.PNG", "a.svg"]


def test_nothing_to_draw_is_reported(times: Result, tmp_path: Path) -> None:
    times.rows = times.rows[2:3]
    with pytest.raises(UsageError, match="no time to draw"):
        plot.draw(times, [tmp_path / "a.svg"])


def test_the_picture_shows_speed_from_medians(times: Result) -> None:
    assert plot._points(times.rows[3], "speed") == [
        (1024, pytest.approx(4.096)),
        (N, 4000),
        (1 << 30, pytest.approx(4295, rel=1e-3)),
    ]
    assert plot._points(times.rows[1], "time") == [(1024, 3), (N, 400), (1 << 30, 40000)]
    assert plot._points(times.rows[2], "time") == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_labels_stand_apart_and_in_order(wanted: list[float]) -> None:
    wanted.sort()
    places = plot.spread(wanted, 0.04)
    assert len(places) == len(wanted)
    assert all(b - a >= 0.04 - 1e-9 for a, b in pairwise(places))
    if all(b - a >= 0.04 for a, b in pairwise(wanted)):
        assert places == pytest.approx(wanted)
    # Moving labels aside does not move all of them to one side.
    assert sum(places) == pytest.approx(sum(wanted))


# ---- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def json_file(times: Result, tmp_path: Path) -> Path:
    path = tmp_path / "times.json"
    path.write_text(times.model_dump_json(by_alias=True))
    return path


def test_a_result_can_be_shown_again(scanlab: Scanlab, json_file: Path, tmp_path: Path) -> None:
    again, written = tmp_path / "again.json", tmp_path / "page.md"
    done = scanlab("bench", "--from", json_file, "--json", again, "--markdown", written)
    assert (done.returncode, done.stderr) == (1, "")  # for mine|*.cu is wrong
    assert "10,000,000 floats, inclusive scan, medians" in done.stdout
    shown = next(line for line in done.stdout.splitlines() if line.startswith("02_kogge_stone"))
    assert shown.split("  ")[-1].strip() == "5.0 %"
    assert json.loads(again.read_text()) == json.loads(json_file.read_text())
    assert read_result(again) == read_result(json_file)
    assert written.read_text().startswith("# How fast the scans are: NVIDIA X\n")


def refused(done: subprocess.CompletedProcess[str], code: int, message: str) -> None:
    assert done.returncode == code
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["99"], "no lab is called '99'"),
        (["scans", "99"], "no lab is called '99'"),
        (["nowhere.cu"], "nowhere.cu does not exist"),
        (["02", "--n", "0"], "--n 0: expected a whole number from 1 to 1073741824"),
        (["02", "--n", "2^31"], "--n 2^31: expected"),
        (["02", "--n", "9" * 30], "expected a whole number"),
        (["02", "--n", "many"], "--n many: expected"),
        (["02", "--n", "2^25"], "at most 16777216 elements on the virtual GPU"),
        (["02", "--json", "no/such/file.json"], "cannot write no/such/file.json: its folder does not exist"),
        (["02", "--markdown", "."], "it is a folder"),
        (["02", "--device", "gpu", "--plot", "a.pdf"], "a picture's name ends with .svg or .png"),
        (["02", "--plot", "a.svg"], "--plot draws times, which only a GPU has"),
        (["--from", "nowhere.json"], "nowhere.json: cannot read it: No such file"),
        (["--from", "broken.json"], "broken.json is not what `bench --json` writes: the whole"),
        (["--from", "other.json"], "other.json is not what `bench --json` writes: schema"),
        (["02", "--from", "nowhere.json"], "--from shows what was measured"),
    ],
)
def test_bad_arguments_are_one_line(scanlab: Scanlab, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text('{"schema": "scanlab-result"}')
    refused(scanlab("bench", *words, cwd=tmp_path), 2, message)


def test_both_commands_have_help(scanlab: Scanlab) -> None:
    assert "scans" in scanlab("bench", "--help").stdout
    assert "--markdown" in scanlab("bench", "02", "--help").stdout
    assert "--observers" in scanlab("bench", "vgpu", "--help").stdout


def test_matplotlib_is_installed_where_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[Path] = []
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("scanlab.bootstrap.environment.inside", lambda: True)
    monkeypatch.setattr("scanlab.bootstrap.environment.pip_install", lambda paths, _: installed.extend(paths))
    monkeypatch.setenv("SCANLAB_NO_SETUP", "1")
    plot.prepare([])  # nothing to draw, nothing needed
    with pytest.raises(KitError, match=r"needs matplotlib.*pip install -r .*requirements-plot\.txt"):
        plot.prepare([tmp_path / "a.svg"])
    assert installed == []
    monkeypatch.delenv("SCANLAB_NO_SETUP")
    plot.prepare([tmp_path / "a.svg"])
    assert installed == [PLOTS.requirements]
