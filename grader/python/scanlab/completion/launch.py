"""`completion`, which sets nothing up and builds nothing. Standard library only, but for the answers.

completion SHELL                           the script for a shell
completion SHELL --answer NUMBER WORD …    what word NUMBER of a command line may be; the scripts ask this
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SHELLS = ("bash", "zsh", "fish")
ANSWER = "--answer"


def script(shell: str) -> str:
    """Return the script for a shell."""
    return Path(__file__).with_name(f"scanlab.{shell}").read_text(encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 2 for wrong usage."""
    shell, option, *words = [*arguments[1:], "", ""]
    if shell in SHELLS and not option:
        print(script(shell), end="")
        return 0
    if shell in SHELLS and option == ANSWER:
        # A kit that is not set up has no answer; neither has one that fails, for nobody would see why.
        with suppress(Exception):
            from scanlab.completion.answer import answer

            print("".join(f"{line}\n" for line in answer(shell, int(words[0]), words[1:-2])), end="")
        return 0
    try:
        from scanlab.cli import main as command_line
    except ImportError:
        print("usage: grader/scanlab completion bash|zsh|fish", file=sys.stderr)
        return 2
    return command_line(arguments)
