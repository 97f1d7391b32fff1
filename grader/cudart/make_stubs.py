#!/usr/bin/env python3
"""Writes the calls of CUDA's runtime that cudart does not implement, so that every program links.

    make_stubs.py STUBS OWN_STREAM PREPROCESSED PREPROCESSED_PER_THREAD SOURCE…

PREPROCESSED is cuda_runtime_api.h after the preprocessor, PREPROCESSED_PER_THREAD the same with
CUDA_API_PER_THREAD_DEFAULT_STREAM, where many names end in _ptsz or _ptds. SOURCEs are the files that implement calls.
A call that no source defines becomes a stub in STUBS that returns cudaErrorNotSupported and says so. A per-thread name
of an implemented call, unless a source (per_thread.cpp) defines it, becomes a function in OWN_STREAM that calls it with
the thread's own default stream in place of a null stream; where it has no stream, a jump to it.
"""

import re
import sys
from pathlib import Path

DECLARATION = re.compile(r"\b(?:cudaError_t|const char\s*\*|struct\s+\w+|\w+)\s+(_*cuda\w+)\s*\(")
DEFINITION = re.compile(r"\bCUDARTAPI\s+(_*cuda\w+)\s*\(")
PER_THREAD = re.compile(r"_pt[sd][sz]$")
VERSIONED = re.compile(r"_v\d+$")
OWN = "static cudaStream_t own(cudaStream_t stream) { return stream ? stream : cudaStreamPerThread; }"
STREAM = re.compile(r"cudaStream_t (\w+)$")

# Names of older CUDA, whose headers may or may not declare them.
ALIASES = {
    "cudaGetDeviceProperties_v2": "cudaGetDeviceProperties",
    "cudaThreadExit": "cudaDeviceReset",
    "cudaThreadGetCacheConfig": "cudaDeviceGetCacheConfig",
    "cudaThreadGetLimit": "cudaDeviceGetLimit",
    "cudaThreadSetCacheConfig": "cudaDeviceSetCacheConfig",
    "cudaThreadSetLimit": "cudaDeviceSetLimit",
    "cudaThreadSynchronize": "cudaDeviceSynchronize",
}


def declared(path: str) -> dict[str, list[str]]:
    """Functions of the runtime that a preprocessed header declares with external linkage and no body: parameters."""
    text = Path(path).read_text()
    functions = {}
    for statement in re.split(r"[;{}]", text):
        match = DECLARATION.search(statement)
        if match and "extern" in statement and "typedef" not in statement and "static" not in statement:
            parameters = statement[match.end() : statement.rindex(")")].split(",")
            functions[match.group(1)] = [" ".join(one.split("=")[0].split()) for one in parameters]
    return functions


def on_own_stream(name: str, base: str, parameters: list[str]) -> str:
    """Return the definition of `name`, which calls `base` on the thread's own default stream."""
    arguments = [
        STREAM.sub(r"own(\1)", one) if STREAM.match(one) else one.split()[-1].lstrip("*") for one in parameters
    ]
    return f"cudaError_t CUDARTAPI {name}({', '.join(parameters)}) {{ return {base}({', '.join(arguments)}); }}"


def main() -> int:
    """Writes STUBS and OWN_STREAM; 1 when the declarations cannot be read."""
    stubs, own_stream, plain, per_thread, *sources = sys.argv[1:]
    implemented = {name for source in sources for name in DEFINITION.findall(Path(source).read_text())}
    wanted = declared(plain) | declared(per_thread)
    if len(wanted) < 100:
        print("make_stubs.py: cannot read the declarations of cuda_runtime_api.h", file=sys.stderr)
        return 1
    lines = ["// Made by make_stubs.py.", 'extern "C" {', "int scanlab_cudart_unsupported(const char* name);"]
    own = ["// Made by make_stubs.py.", "#include <cuda_runtime_api.h>", OWN, 'extern "C" {']
    jumps = {}
    for name in sorted((wanted.keys() | ALIASES.keys()) - implemented):
        base = PER_THREAD.sub("", name)
        if name in wanted and VERSIONED.sub("", base) != base and VERSIONED.sub("", base) in implemented:
            continue  # the header's macro has renamed the source's definition to this
        base = ALIASES.get(base, base)
        if base != name and base in implemented and any(map(STREAM.match, wanted.get(name, []))):
            own.append(on_own_stream(name, base, wanted[name]))
        elif base != name and base in implemented:
            jumps[name] = base
        else:
            lines.append(f'int {name}() {{ return scanlab_cudart_unsupported("{base}"); }}')
    lines.append("}")
    # A jump keeps the arguments as they are, whatever they are.
    lines += ["#if defined(__x86_64__)", '#define JUMP "jmp "', "#else", '#define JUMP "b "', "#endif"]
    for name, base in sorted(jumps.items()):
        head = f".text\\n.globl {name}\\n.type {name}, %function\\n{name}:\\n"
        lines.append(f'__asm__("{head}" JUMP "{base}\\n.size {name}, .-{name}\\n");')
    Path(stubs).write_text("\n".join(lines) + "\n")
    Path(own_stream).write_text("\n".join([*own, "}"]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
