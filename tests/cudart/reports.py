"""What vgpu-run says of a program that goes wrong: each thing once, in its place, and with the program's own name.

reports.py --nvcc NVCC --library libcudart_vgpu.a --vgpu-run VGPU_RUN reports.cu
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

COMPILE_SECONDS, RUN_SECONDS = 120, 60


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("--nvcc", "--library", "--vgpu-run", "program"):
        parser.add_argument(name, type=str)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        binary, findings = folder / "binary", folder / "findings.json"
        nvcc = [asked.nvcc, "-std=c++17", "-lineinfo", "-gencode", "arch=compute_80,code=compute_80", "--no-compress"]
        command = [*nvcc, str(Path(asked.program).absolute()), asked.library, "-cudart", "none", "-o", str(binary)]
        subprocess.run(command, check=True, timeout=COMPILE_SECONDS, cwd=folder)
        served = [asked.vgpu_run, "--name", "mine", "--findings", str(findings), "--check", "--", str(binary)]

        def run(how: str) -> tuple[int, str]:
            """Run it with both of its outputs in one file, as in a terminal."""
            both = folder / "both"
            with both.open("w") as file:
                done = subprocess.run([*served, how], stdout=file, stderr=file, timeout=RUN_SECONDS)
            text = both.read_text()
            assert name not in text.replace(asked.program, ""), text  # the binary's own path is nowhere
            return done.returncode, text

        code, text = run("memory")
        assert code == 1, text
        assert text.count("OUT OF MEMORY: 68,719,476,736 bytes are asked for") == 1, text
        assert "next: --profile h200 has" in text, text
        assert "mine begins" in text, text

        code, text = run("refused")
        assert text.count("LAUNCH REFUSED") == 2, text
        assert "and 4 more like this: LAUNCH REFUSED: spin launched with 5000 threads a block" in text, text
        assert json.loads(findings.read_text())[0]["count"] == 5

        code, text = run("fault")
        assert code == 4, text  # whatever the program has returned
        order = ["mine begins", "launched", "FAULT in kernel outside", "cudaErrorIllegalAddress"]
        places = [text.index(words) for words in order]
        assert places == sorted(places), text
        assert text.count("FAULT") == 1, text
        (fault,) = json.loads(findings.read_text())
        assert (fault["id"], fault["parts"][0]["line"]) == ("bounds.global", 14), fault

        with (folder / "stopped").open("w") as file:
            process = subprocess.Popen([*served, "spin"], stdout=file, stderr=file)
            deadline = time.monotonic() + RUN_SECONDS
            while "begins" not in (folder / "stopped").read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(1)
            process.terminate()
            assert process.wait(RUN_SECONDS) == 128 + 15
        text = (folder / "stopped").read_text()
        assert "STOPPED: kernel spin was running" in text, text
        assert "blocks 0 to 2: threads 0 to 63 run at " in text, text
        assert "vgpu-run: mine was killed by signal 15" in text, text
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
