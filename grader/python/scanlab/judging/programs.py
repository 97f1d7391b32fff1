"""`run`: a program of one's own, why it could not be built, and what was found in it."""

import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scanlab.arguments import write_json
from scanlab.judging import sarif
from scanlab.judging.compiler.builds import explained, source_of
from scanlab.judging.compiler.errors import CompileError, LinkError
from scanlab.judging.compiler.links import shown_text
from scanlab.judging.compiler.recipe import said_with
from scanlab.judging.compiler.warnings import warnings
from scanlab.judging.result import Finding
from scanlab.paths import shown
from scanlab.scratch import scratch


def report_unbuilt(files: Sequence[Path], error: CompileError, sarif_file: Path | None) -> str:
    """Return why files do not compile or link: the place, the cause, and then the tool's own text."""
    text = shown_text(str(error)) if isinstance(error, LinkError) else str(error)
    found, code = explained(files, {"float": error}, ())
    place = found.place if found else None
    if sarif_file is not None:
        file = Path(place.file) if place else files[0]
        write_json(sarif_file, sarif.of_error(found.sentence if found else "", place.line if place else 0, file, text))
    lines = [f"{', '.join(map(shown, files))} {error.what}"]
    if found:
        lines += [f"  {shown(Path(place.file))}:{place.line}"] if place else []
        lines += [*(f"  {line}" for line in code), f"  {found.sentence}"]
    return "\n".join([*lines, *(f"  {line}" for line in text.splitlines())])


def warned(files: Sequence[Path], objects: Sequence[Path]) -> list[str]:
    """Return nvcc's warnings about the lines of a program's own files, `FILE:13: variable "t" was declared …`."""
    found: list[str] = []
    for path, made in zip(files, objects, strict=True):
        source = source_of(path)
        found += warnings([said_with(made)], source, shown(path), range(1, len(source.lines) + 1))
    return found


def run_and_log(command: Sequence[str], source: Path, sarif_file: Path) -> int:
    """Run vgpu-run with what follows its name, write what it has found as SARIF, and return its exit code."""
    with scratch() as folder:
        found = folder / "findings.json"
        with subprocess.Popen([command[0], "--findings", str(found), *command[1:]]) as process:
            for number in (
                signal.SIGINT,
                signal.SIGTERM,
                signal.SIGHUP,
            ):  # they are for the program: it ends, then this
                signal.signal(number, lambda number, _: process.send_signal(number))
            code = process.wait()
        findings = json.loads(found.read_text(encoding="utf-8")) if found.exists() else []
    log = sarif.of_findings([Finding.model_validate_json(json.dumps(one)) for one in findings], source)
    write_json(sarif_file, log)
    return code if code >= 0 else 128 - code
