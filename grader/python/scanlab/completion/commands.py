"""`completion`, as the command line lists it."""

from enum import StrEnum
from typing import Annotated

import typer

from scanlab.completion.launch import SHELLS, script

ShellName = StrEnum("ShellName", SHELLS)  # type: ignore[misc]


def completion(
    shell: Annotated[ShellName, typer.Argument(help="bash: source <(grader/scanlab completion bash)")],
) -> None:
    """Print a script that completes commands, options and labs in a shell."""
    print(script(shell.value), end="")
