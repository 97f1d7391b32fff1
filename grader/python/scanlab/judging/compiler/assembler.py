"""What ptxas says of a submission's PTX that the virtual GPU cannot run: a gap of the kit's, or no PTX at all?

nvcc copies the text of asm statements into the PTX unread, and for the virtual GPU nothing assembles that.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from scanlab.judging.compile import REFUSED, assemble, compile_object, without_names
from scanlab.judging.compiled.line_table import line_at
from scanlab.judging.compiled.line_table import texts as codes_in
from scanlab.judging.compiler.causes import Explained
from scanlab.judging.compiler.errors import CompileError, CompileTimeoutError
from scanlab.judging.compiler.messages import Place
from scanlab.judging.compiler.recipe import ASSEMBLED_FOR, ELEMENT_FLAGS, SANDBOXED_SOURCE, Source

SAID = re.compile(
    r"ptxas (?:[^\n]{0,500}, line (?P<line>[0-9]{1,9}); )?(?:error|fatal) {0,10}: (?P<text>[^\n]{1,400})", re.MULTILINE
)
END = "Ptx assembly aborted"
OF_ANOTHER_GPU = re.compile(r"requires \.target|not supported on \.target")
TOO_MUCH = "uses too much"
SHOWN = 6


def is_refused(program: Path) -> bool:
    """Return whether ptxas has refused device code of a program for the virtual GPU as that of no GPU."""
    said = program.with_name(REFUSED)
    texts = SAID.finditer(said.read_text(encoding="utf-8")) if said.is_file() else ()
    return any(not one["text"].startswith(END) and not OF_ANOTHER_GPU.search(one["text"]) for one in texts)


def refused(path: Path, elements: Iterable[str], *, is_sandboxed: bool) -> tuple[Explained, list[str]] | None:
    """Return why ptxas refuses a submission's PTX, and what it says; None where it takes it, or is not here."""
    for element in elements:
        made = compile_object(Source(path, ELEMENT_FLAGS[element]), "vgpu", is_sandboxed=is_sandboxed)
        for code in codes_in(made.read_bytes()):
            try:
                assemble(without_names(code), is_sandboxed=is_sandboxed)
            except CompileTimeoutError:
                continue
            except CompileError as error:
                if found := _explained(str(error), code, path):
                    return found
    return None


def _explained(said: str, code: bytes, path: Path) -> tuple[Explained, list[str]] | None:
    found = [one for one in SAID.finditer(said) if not one["text"].startswith(END)]
    if not found:
        return None  # ptxas itself has failed
    lines = code.split(b"\n")
    texts: dict[str, int] = {}
    for one in found:
        texts.setdefault(one["text"].strip(), int(one["line"] or 0))
    shown = [f"ptxas: {text}{_printed(lines, at)}" for text, at in [*texts.items()][:SHOWN]]
    if len(texts) > SHOWN:
        shown.append(f"… {len(texts) - SHOWN} more messages")
    names = (path.name, SANDBOXED_SOURCE.name)
    line = next((line for at in texts.values() if at and (line := line_at(code, at, names))), 0)
    if any(OF_ANOTHER_GPU.search(text) for text in texts):
        newer = f"#if __CUDA_ARCH__ > {ASSEMBLED_FOR.removeprefix('sm_')}0"
        sentence = f"labs are compiled for {ASSEMBLED_FOR}, which has no such instruction: leave it to `{newer}`"
    elif any(TOO_MUCH in text for text in texts):
        sentence = "a GPU has less: 64 KiB of constant memory, and 48 KiB for a block's own arrays in shared memory"
    else:
        sentence = "this becomes PTX that CUDA's assembler refuses: write asm as the manual of PTX has it"
    return Explained(Place(str(path), line) if line else None, None, sentence), shown


def _printed(lines: list[bytes], number: int) -> str:
    """Return a line of PTX behind what is said of it; nothing where its number is not known."""
    text = lines[number - 1].decode(errors="replace").strip() if 0 < number <= len(lines) else ""
    return f": {text[:100]}" if text else ""
