"""compute-sanitizer's reports become findings. The texts are those of its version 2025.3 on programs of our own."""

from pathlib import Path

import pytest

from scanlab.errors import KitError
from scanlab.judging.result import Part
from scanlab.judging.sanitize import Call, calls, find_tool
from scanlab.judging.sanitizer_report import findings
from scanlab.labs.folders import find_lab

OUTSIDE = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at oob_global(int *, int)+0x80 in wrong.cu:4
=========     by thread (36,0,0) in block (1,0,0)
=========     Access to 0x7fca3c800190 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7fca3c800000 of size 400 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0x8d8a] in wrong
=========
========= Invalid __global__ write of size 4 bytes
=========     at oob_global(int *, int)+0x80 in wrong.cu:4
=========     by thread (37,0,0) in block (1,0,0)
=========     Access to 0x7fca3c800194 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x7fca3c800000 of size 400 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0x8d8a] in wrong
=========
unspecified launch failure
========= ERROR SUMMARY: 29 errors
========= ERROR SUMMARY: 27 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
RACES = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at nvcuda::pipeline::Chooser<(bool)1>::cp_async(void *)+0xf0 in \
cuda_pipeline_helpers.h:190
=========     and Read access at void copy_ahead<int>(const int *, int *)+0x130 in races.cu:65 [512 hazards]
=========
========= Warning: Race reported between Write access at warp_reduction(int *)+0xc0 in races.cu:47
=========     and Read access at warp_reduction(int *)+0xe0 in races.cu:48 [64 hazards]
=========
cudaSuccess
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
REFUSED = """\
========= COMPUTE-SANITIZER
========= Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API call to cudaLaunchKernel.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: oob_global(int*, int) [0x954d] in wrong
=========         Host Frame: main [0x91bd] in wrong
=========
no error
========= ERROR SUMMARY: 1 error
"""
TRAP = """\
========= Trace/breakpoint trap
=========     at trapped()+0x20 in wrong.cu:27
=========     by thread (0,2,0) in block (0,0,0)
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to \
cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========
========= ERROR SUMMARY: 2 errors
"""
OTHERS = """\
========= Invalid __shared__ write of size 4 bytes
=========     at oob_shared(int *)+0x90 in wrong.cu:8
=========     by thread (1,0,0) in block (0,0,0)
=========     Access to 0xd60 is out of bounds
=========
========= Invalid __global__ write of size 4 bytes
=========     at misaligned(char *)+0x40 in wrong.cu:11
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7f256c800001 is misaligned
=========     and is inside the nearest allocation at 0x7f256c800000 of size 400 bytes
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at uninit(const int *, int *)+0x60 in wrong.cu:13
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7fc664800000
=========
"""


def test_accesses_outside_an_allocation_are_one_finding_with_its_place() -> None:
    """Two reports of the same line are shown once."""
    (finding,) = findings(OUTSIDE)
    assert finding.id == "bounds.global"
    assert finding.weight == "mistake"
    assert finding.kernel == "oob_global"
    assert finding.count == 2
    assert finding.parts == (Part(does="write", who="", file="wrong.cu", line=4, block=(1, 0, 0), thread=(36, 0, 0)),)
    assert finding.text.splitlines()[:3] == [
        "WRITE of 4 bytes outside every allocation, kernel oob_global",
        "  write by thread 36 of block 1   wrong.cu:4",
        "  1 byte after an allocation of 400 bytes",
    ]
    assert "0x" not in finding.text


def test_races_name_both_lines_and_the_learners_kernel() -> None:
    """A header of the toolkit is not where the kernel is; a warning is a race within a warp."""
    copy, warp = findings(RACES)
    assert (copy.id, copy.kind, copy.kernel, copy.count) == (
        "race.shared",
        "async copy and read",
        "copy_ahead<int>",
        512,
    )
    assert [(part.file, part.line) for part in copy.parts] == [
        ("cuda_pipeline_helpers.h", 190),
        ("races.cu", 65),
    ]
    assert warp.kind == "warp-synchronous"
    assert "__syncwarp" in warp.advice


def test_a_launch_that_was_refused_names_the_kernel() -> None:
    """The kernel is the first frame of the host's stack."""
    (finding,) = findings(REFUSED)
    assert finding.id == "launch.failed"
    assert finding.headline == "LAUNCH of oob_global: cudaErrorInvalidValue (invalid argument)"


def test_what_follows_from_a_fault_is_not_reported_again() -> None:
    """cudaDeviceSynchronize fails because the kernel did."""
    (finding,) = findings(TRAP)
    assert finding.id == "trap"
    assert "by thread (0, 2, 0)" in finding.text


def test_each_kind_of_report_has_its_id() -> None:
    """Reading what was never written is advice, for the value may go nowhere."""
    found = findings(OTHERS)
    assert [finding.id for finding in found] == ["bounds.shared", "misaligned", "uninitialised.global"]
    assert [finding.weight for finding in found] == ["mistake", "mistake", "advice"]


@pytest.mark.parametrize("text", ["", "no error\n", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"])
def test_nothing_found_is_no_finding(text: str) -> None:
    """Lines of the program and of the tool itself are no reports."""
    assert findings(text) == []


def test_each_entry_is_called_with_sizes_of_its_own_checks() -> None:
    """With --n, that size alone."""
    lab = find_lab("10")
    made = calls(lab, None)
    assert {call.entry for call in made} == {"compact", "split"}
    assert all(0 < call.n <= 1 << 14 for call in made)
    assert calls(lab, 5) == [Call("compact", 5), Call("split", 5)]


def test_a_missing_tool_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It comes with the CUDA Toolkit, but not with the compiler alone."""

    class Tools:
        nvcc = tmp_path / "nvcc"

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("scanlab.judging.sanitize.toolchain", Tools)
    with pytest.raises(KitError, match="needs compute-sanitizer"):
        find_tool()
