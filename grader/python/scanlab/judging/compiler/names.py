"""Causes of errors about names: not declared here, misspelt, of a header that is not included."""

import difflib
import re

from scanlab.judging.compiler import elements
from scanlab.judging.compiler.asked import Asked, At
from scanlab.judging.compiler.source import (
    WORDS,
    code_of,
    declarations,
    definition_of,
    head_of,
    struct_without_semicolon,
)

HEADERS = {
    "vector": "vector",
    "string": "string",
    "min": "algorithm",
    "max": "algorithm",
    "sort": "algorithm",
    "swap": "utility",
    "pair": "utility",
    "array": "array",
    "cout": "iostream",
    "printf": "cstdio",
    "uint32_t": "cstdint",
    "uint64_t": "cstdint",
    "numeric_limits": "limits",
    "unique_ptr": "memory",
}
"""Where some of std's names are declared."""
GIVEN = frozenset({"Element", "Kind", "section_size", "identity", "SCANLAB_CUDA_CHECK"})
CUDA_NAMES = frozenset(
    """
    __syncthreads __syncwarp __threadfence __threadfence_block threadIdx blockIdx blockDim gridDim warpSize
    __shared__ __device__ __global__ __host__ __constant__ __shfl_up_sync __shfl_down_sync __shfl_sync
    __shfl_xor_sync __ballot_sync __popc atomicAdd atomicExch atomicCAS atomicMax atomicMin atomicSub cudaMalloc
    cudaFree cudaMemcpy cudaMemset cudaDeviceSynchronize cudaGetLastError cudaPeekAtLastError cudaError_t
    cudaSuccess cudaMemcpyHostToDevice cudaMemcpyDeviceToHost cudaMemcpyDeviceToDevice for while return else
    true false nullptr const float double int unsigned bool void struct template printf sizeof break continue
    memcpy
    """.split()  # noqa: SIM905
)
SPECIFIERS = ("__global__", "__device__", "__host__", "template", "void", "const", "constexpr", "struct", "inline")


def words(asked: Asked) -> set[str]:
    """Return the names that a misspelt one may stand for."""
    own = {word for line in asked.source.lines for word in WORDS.findall(line.partition("//")[0])}
    return own | asked.given | CUDA_NAMES


def nearest(name: str, known: set[str]) -> str | None:
    """Return the name that is meant: the same but for capitals or underscores, else the most alike."""
    names = sorted(known - {name})
    for same in (str.lower, lambda word: word.lower().strip("_")):
        if alike := [word for word in names if same(word) == same(name)]:
            return max(alike, key=lambda word: word in CUDA_NAMES)
    near = difflib.get_close_matches(name, names, 1, 0.75)
    return near[0] if near else None


def misspelt_word(asked: Asked) -> str | None:
    """Return which of the line's words is no name of the file's, if the first one is one letter from a specifier."""
    first = WORDS.match(asked.code.lstrip())
    if not first or first[0] in SPECIFIERS:
        return None
    near = difflib.get_close_matches(first[0], ("__global__", "__device__", "template", "struct", "void"), 1, 0.7)
    known = (line for number, line in enumerate(asked.source.lines, 1) if number != asked.number)
    if not near or any(first[0] in WORDS.findall(code_of(line)) for line in known):
        return None
    return f"`{first[0]}` is misspelt: write `{near[0]}`"


def no_type(asked: Asked, _: re.Match[str]) -> str:
    """Return the cause of a declaration that begins with no type."""
    return misspelt_word(asked) or (
        "a type is missing, or the first word is misspelt (a kernel begins with `__global__ void`)"
    )


def type_name(asked: Asked, _: re.Match[str]) -> str | None:
    """Return the cause of a type where a value is expected: a misspelt `for`, or a `.` for `::`."""
    word = WORDS.match(asked.code.lstrip())
    if word and re.match(r"\w+ ?\(", asked.code.lstrip()) and word[0] not in ("for", "while", "if", "switch"):
        near = difflib.get_close_matches(word[0], ("for", "while", "if", "switch"), 1, 0.6)
        return f"`{word[0]}` is misspelt: is `{near[0]}` meant?" if near else None
    if member := re.search(r"\b(Kind|Task)\.(\w+)", asked.code):
        return f"`{member[2]}` is a member of {member[1]}: write `{member[1]}::{member[2]}`"
    return None


def undeclared(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return what is meant by a name that is not declared."""
    name = found[1]
    if name in GIVEN and not any(
        line.replace(" ", "").startswith('#include"scanlab.cuh"') for line in asked.source.lines
    ):
        return f'`{name}` is declared in scanlab.cuh: begin the file with `#include "scanlab.cuh"`'
    signs = [chr(int(code, 16)) for code in re.findall(r"\\[uU]([0-9a-f]{4,6})", name)]
    if any(not sign.isalnum() for sign in [*signs, *(one for one in name if not one.isascii())]):
        return "this line has a character that only looks like one of C++'s (a `；`, a quote, a space): type it again"
    if name in ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__ballot", "__any", "__all"):
        return f"`{name}` is no more: write `{name}_sync(0xffffffff, …)`, first the mask of the lanes that take part"
    if name in ("inclusive", "exclusive"):
        return f"`{name}` is a member of Kind: write `Kind::{name}`"
    if name == "kind":
        head = head_of(asked.source.lines, asked.number)
        sentence = "`kind` is known only in a template: put `template <Kind kind>` above the function"
        return At(sentence, head, 0) if head else sentence
    if elsewhere := declared_elsewhere(asked, name):
        return elsewhere
    if near := nearest(name, words(asked)):
        return f"`{name}` is not declared here: is `{near}` meant?"
    if name in HEADERS:
        return f"`{name}` is in std: write `std::{name}`, and add `#include <{HEADERS[name]}>` at the top"
    return f"`{name}` is not declared here: declare it first, in this block or one around it, or correct its name"


def declared_elsewhere(asked: Asked, name: str) -> str | None:
    """Return that a name is declared, and not where it is used: further down, in a block, or in another function."""
    lines = asked.source.lines
    if (defined := definition_of(lines, name)) and defined > asked.number:
        return f"`{name}` is defined further down: move it above the function that uses it first"
    all_of_it = [one for one in declarations(lines, name) if not one.is_function and one.line != asked.number]
    if not all_of_it:
        return None
    here = head_of(lines, asked.number)
    if any(head_of(lines, one.line) == here for one in all_of_it if one.line < asked.number):
        return f"`{name}` is declared in a block that has ended: declare it before that block, and use it in both"
    if any(head_of(lines, one.line) == here for one in all_of_it):
        return f"`{name}` is declared further down: declare it before it is used"
    return f"`{name}` is declared in another function: give it to this one as an argument, or declare it here too"


def no_member(_: Asked, found: re.Match[str]) -> str:
    """Return the header that a name of a namespace needs."""
    header = HEADERS.get(found[2]) if found[1] == "std" else None
    if header:
        return f"`std::{found[2]}` needs its header: add `#include <{header}>` at the top"
    return f"`{found[1]}::{found[2]}` is not declared: correct the name, or include its header"


def of_class(asked: Asked, found: re.Match[str]) -> str | None:
    """Return which member of a struct is meant."""
    if found[1] == "Element":
        return elements.of_class(asked, found)
    own = {word for line in asked.source.lines for word in WORDS.findall(code_of(line))}
    ends = [word for word in own if word.endswith("_" + found[2])]  # `d_status` for `status`
    near = ends[0] if len(ends) == 1 else nearest(found[2], own)
    meant = f": is `{near}` meant?" if near else ": correct the name"
    return f"`{found[1]}` has no member `{found[2]}`{meant}"


def enumerator(asked: Asked, found: re.Match[str]) -> str:
    """Return which member of an enumeration is meant."""
    near = nearest(found[2], words(asked))
    return f"`{found[1]}` has no member `{found[2]}`" + (f": is `{near}` meant?" if near else ": correct the name")


def twice(asked: Asked, found: re.Match[str]) -> str | At:
    """Return the cause of a name that is declared already: the line before may end a struct."""
    if ended := struct_without_semicolon(asked.source.lines, asked.number):
        column = len(code_of(asked.source.line(ended)).rstrip())
        return At("a `;` is missing behind this `}`: it ends a struct", ended, column)
    return f"`{found[1]}` is declared twice: rename one, or drop it"


def qualified(asked: Asked, _: re.Match[str]) -> str | None:
    """Return the header of a namespace that is not known."""
    name = WORDS.match(asked.at)
    if name and name[0] == "cuda":
        return "`cuda::` needs a header: add `#include <cuda/atomic>` at the top"
    return f"`{name[0]}` is not declared: correct the name, or include its header" if name else None
