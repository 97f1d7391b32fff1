"""What a linker reports, in a learner's words: something that is used and nowhere defined."""

import re
from collections.abc import Sequence

from scanlab.judging.compiler.causes import Explained
from scanlab.judging.compiler.messages import Place, Source
from scanlab.judging.compiler.source import HEAD, code_of, declarations, definition_of, head_of

UNDEFINED = re.compile(r"undefined reference to [`'‘](?P<name>[^\n]{1,300}?)['’]$", re.MULTILINE)
TWICE = re.compile(r"multiple definition of [`'‘](?P<name>[^\n]{1,300}?)['’]")
PLACE = re.compile(r"^\S{0,300}\(\.\w[^)\n]{0,300}\): ", re.MULTILINE)
"""Where in an object the linker has found it; the object's name is nvcc's own."""
NOISE = re.compile(
    r"collect2: |in function |.*(?:final link failed|relocation against|DT_TEXTREL|hidden symbol|more undefined)"
)
BUILT_IN = "__device_builtin_variable_"
LIBRARIES = {
    "cublas": "cuBLAS",
    "cufft": "cuFFT",
    "curand": "cuRAND",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "nvrtc": "NVRTC",
    "nvml": "NVML",
    "npp": "NPP",
}
NOT_HERE = "the virtual GPU has CUDA's runtime alone: write this part yourself, or use nvcc and a GPU"


def shown_text(text: str) -> str:
    """Return a linker's text without names of its own files, and with each line once."""
    lines = [PLACE.sub("", line.removeprefix("/usr/bin/ld: ")) for line in text.splitlines()]
    return "\n".join(dict.fromkeys(line for line in lines if line.strip() and not NOISE.match(line)))


def explain_link(text: str, sources: Sequence[Source]) -> Explained | None:
    """Return the cause of the first thing that a linker misses, or has twice; None where it is not certain."""
    if undefined := UNDEFINED.search(text):
        return _undefined(undefined["name"], sources)
    if twice := TWICE.search(text):
        name = re.sub(r"\(.*", "", twice["name"])
        places = [(source, line) for source in sources if (line := definition_of(source.lines, name))]
        others = f" ({', '.join(source.names[-1] for source, _ in places)})" if len(places) > 1 else ""
        return _explained(
            places, f"`{name}` is defined twice{others}: define it in one file, and declare it in the other"
        )
    return None


def _explained(places: Sequence[tuple[Source, int]], sentence: str) -> Explained:
    place = Place(places[0][0].names[-1], places[0][1]) if places else None
    return Explained(place, None, sentence)


def _undefined(symbol: str, sources: Sequence[Source]) -> Explained:
    if symbol.startswith(BUILT_IN):
        return _built_in(symbol.removeprefix(BUILT_IN), sources)
    name = re.sub(r"[(<].*", "", symbol)
    if name == "main":
        return _explained((), "the program has no `main`: add one; a lab's file is checked by `grader/scanlab check`")
    short = re.sub(r"_v\d$|_ptsz$", "", name)
    used = _used(short, sources)
    if library := next((library for prefix, library in LIBRARIES.items() if name.startswith(prefix)), None):
        return _explained(used, f"`{short}` belongs to {library}, and {NOT_HERE}")
    if re.match(r"cu[A-Z]", name):
        return _explained(used, f"`{short}` belongs to CUDA's driver API, and {NOT_HERE}")
    if re.match(r"cuda[A-Z]", name):
        return _explained(used, f"`{short}` is a call of CUDA's runtime that the virtual GPU does not have")
    return _own(name.split("::")[-1], used, sources)


def _own(name: str, used: Sequence[tuple[Source, int]], sources: Sequence[Source]) -> Explained:
    """Return the cause where it is a function or a variable of the learner's."""
    defined = [(source, line) for source in sources if (line := definition_of(source.lines, name))]
    if defined:
        return _explained(
            defined, f"`{name}` is defined here with other parameters than where it is declared: make them the same"
        )
    declared = [
        (source, number)
        for source in sources
        for number, line in enumerate(source.lines, 1)
        if (HEAD.match(line) and code_of(line).rstrip().endswith(";") and re.search(rf"\b{re.escape(name)}\(", line))
        or (line.startswith("extern") and declarations([line], name))
    ]
    sentence = f"`{name}` is declared, and defined nowhere: define it, or correct its name"
    return _explained(declared or used, sentence)


def _built_in(name: str, sources: Sequence[Source]) -> Explained:
    """Return where one of CUDA's variables is used on the host."""
    on_host = []
    for source, number in _used(name, sources):
        head = head_of(source.lines, number)
        if head and not re.search(r"__(?:global|device)__", source.line(head)):
            on_host.append((source, number))
    where = ", and this line runs on the host" if on_host else ", and it is used on the host"
    return _explained(on_host, f"`{name}` is known in kernels only{where}: give a kernel what it needs as an argument")


def _used(name: str, sources: Sequence[Source]) -> list[tuple[Source, int]]:
    """Return the lines that have a name."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return [
        (source, number)
        for source in sources
        for number, line in enumerate(source.lines, 1)
        if name in line and word.search(code_of(line))
    ]
