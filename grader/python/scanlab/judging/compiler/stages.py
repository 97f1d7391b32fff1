"""Run nvcc's stages side by side: of the host's code and the device's each is made while the other is.

nvcc runs them one after the other, on one processor: the preprocessor and cudafe++ for the host, the preprocessor and
cicc for the device, and then the host's compiler on what all of them have made. `nvcc --dryrun` prints these commands.
A small file takes two thirds of the time where two processors are free.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scanlab.process import Finished

COMMAND = "#$ "
"""How a line of the dry run begins."""
VARIABLE = re.compile(r"(\w+)=(.*)")
INSIDE = "--"
"""How a step begins that nvcc would take itself."""
MODULE_ID, MAKES_MODULE_ID = "--module_id_file_name", "--gen_module_id_file "
"""What tells the names of this file's static variables from those of others: both sides need it, one would make it."""
PREPROCESSES = re.compile(r"\S+ (?:.* )?-E ")
HEADERS = "-headers.d"

Run = Callable[[Sequence[str]], Finished]


@dataclass(frozen=True)
class Stages:
    """The commands of one compilation, in nvcc's order, what they have to find in their environment, and its folder."""

    commands: tuple[str, ...]
    variables: tuple[str, ...]
    folder: Path
    id_file: Path

    def needs(self, number: int) -> list[int]:
        """Return which earlier stages a stage needs: those with whose files it goes on, and the last one all."""
        if number == len(self.commands) - 1:
            return list(range(number))
        own = self._files(number)
        return [earlier for earlier in range(number) if own & self._files(earlier)]

    def _files(self, number: int) -> set[str]:
        named = re.findall(rf"{re.escape(str(self.folder))}/[^\s\"',]+", self.commands[number])
        return set(named) - {str(self.id_file)}


def stages_of(said: str, folder: Path) -> Stages | None:
    """Return the stages that a dry run has printed, whose files are kept in `folder`; None where it is not as known."""
    lines = [line.removeprefix(COMMAND) for line in said.splitlines()]
    variables = [line for line in lines if VARIABLE.match(line)]
    commands = [line.strip() for line in lines if not VARIABLE.match(line)]
    files = {name for line in commands for name in re.findall(rf"{MODULE_ID} \"([^\"]+)\"", line)}
    makers = [line for line in commands if MAKES_MODULE_ID in line]
    is_known = len(files) == len(makers) == 1 and not any(line.startswith(INSIDE) for line in commands)
    if not is_known or not all(line.startswith(COMMAND) for line in said.splitlines()):
        return None
    for number, line in enumerate(commands):
        commands[number] = line.replace(MAKES_MODULE_ID, "")
        if PREPROCESSES.match(line):
            commands[number] += f" -MD -MT made -MF {shlex.quote(str(folder / f'{number}{HEADERS}'))}"
    return Stages(tuple(commands), tuple(variables), folder, Path(files.pop()))


def compile_in_stages(command: Sequence[str], headers: Path, folder: Path, key: str, run: Run) -> Finished | None:
    """Compile as nvcc's `command` would, which ends with `-c FILE -o OBJECT`; None where its stages are not as known.

    What the stages make is kept in `folder`, and rules of what headers they read in `headers`; `key` tells this file
    from others. Its output is what nvcc's would be: of the stages up to the first that has failed.
    """
    dry = run([*command, "--dryrun", "--keep", "--keep-dir", str(folder)])
    stages = stages_of(dry.output, folder) if dry.code == 0 else None
    if stages is None:
        return None
    name = re.sub(r"\W", "_", Path(command[-3]).name)
    stages.id_file.write_text(f"_{key[:8]}_{len(name)}_{name}_{key[8:16]}")
    with ThreadPoolExecutor(len(stages.commands)) as pool:
        made: list[Future[Finished | None]] = []

        def make(number: int) -> Finished | None:
            needed = [made[earlier].result() for earlier in stages.needs(number)]
            is_ready = all(done and done.code == 0 for done in needed)
            return run(["env", *stages.variables, "/bin/sh", "-c", stages.commands[number]]) if is_ready else None

        for number in range(len(stages.commands)):
            made.append(pool.submit(make, number))
    said = ""
    for done in filter(None, (one.result() for one in made)):
        said += done.output
        if done.code != 0:
            return Finished(done.code, said)
    rules = (rule.read_text(errors="surrogateescape") for rule in sorted(folder.glob(f"*{HEADERS}")))
    headers.write_text("".join(rules), errors="surrogateescape")
    return Finished(0, said)
