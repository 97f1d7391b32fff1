"""Causes of errors about where a function runs, and how a kernel is launched."""

import re

from scanlab.judging.compiler.asked import ARGUMENTS, Asked, At
from scanlab.judging.compiler.source import (
    code_of,
    definition_of,
    head_of,
)

NO_KERNEL = "only a kernel is launched with `<<<…>>>`: put `__global__` before the function's `void`"
DEVICE_NAMES = frozenset({"__syncthreads", "__syncwarp", "__threadfence", "__threadfence_block"})


def host_calls_device(asked: Asked, found: re.Match[str]) -> str | At:
    """Return the cause where a function of the host calls one of the device."""
    name, caller = ARGUMENTS.sub("", found[1]), ARGUMENTS.sub("", found[2])
    if "<<<" in asked.line:
        return not_launched(asked, found)
    caller = re.sub(r"<.*", "", caller)
    head = head_of(asked.source.lines, asked.number)
    if head and is_launched(asked, caller):
        return At(forgotten(caller), head)
    if head and is_called_on_device(asked, caller):
        return At(f"kernels call `{caller}`, which is a host function: put `__device__` before its return type", head)
    if name in DEVICE_NAMES:
        return f"`{name}` is for kernels, and `{caller}` runs on the host: move it into a kernel, or make this a kernel"
    return (
        f"`{caller}` runs on the host and cannot call `{name}`, which is __device__: call it in a kernel, or "
        f"declare it `__host__ __device__`"
    )


def is_launched(asked: Asked, name: str) -> bool:
    """Return whether the file launches a function of this name."""
    return any(re.search(rf"\b{re.escape(name)}\b[^;<]*(?:<\w[^<>]*>)? ?<<<", line) for line in asked.source.lines)


def is_called_on_device(asked: Asked, name: str) -> bool:
    """Return whether a kernel or a device function calls a function of this name."""
    lines = asked.source.lines
    called = [n for n, line in enumerate(lines, 1) if re.search(rf"\b{re.escape(name)} ?\(", code_of(line))]
    heads = [head for n in called if (head := head_of(lines, n)) and head != n]
    return any(re.search(r"__(?:global|device)__", lines[head - 1]) for head in heads)


def forgotten(name: str) -> str:
    """Return that a launched function is no kernel."""
    return f"`{name}` is launched with `<<<…>>>`, and only a kernel is: put `__global__` before its `void`"


def device_calls_host(asked: Asked, found: re.Match[str]) -> str | At:
    """Return the cause where the device calls a function of the host."""
    name = bare(ARGUMENTS.sub("", found[1]))
    if name.startswith(("std::operator", "std::basic_ostream")) or "cout" in asked.code:
        return "std::cout is for the host: use printf in a kernel"
    if name.startswith("std::"):
        short = "::".join(dict.fromkeys(name.split("::")))
        return f"`{short}` is a host function of std, and a kernel cannot call it: write it out, or call it on the host"
    if name.startswith("cuda"):
        return f"`{name}` is for the host: call it there, behind the launch, not in a kernel"
    if not definition_of(asked.source.lines, name):
        return f"`{name}` is a host function, and a kernel cannot call it"
    return f"`{name}` is a host function and is called on the device: put `__device__` before its return type"


def bare(name: str) -> str:
    """Return a function's name without what stands around it: `std::swap` of `… void> ::type ::std::swap<T>`."""
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    parts = name.split() or [""]
    last = parts[-1].removeprefix("::")
    return parts[0] if parts[0].startswith("std::") and not last.startswith("std::") else last


def shared_on_host(asked: Asked, _: re.Match[str]) -> str | At:
    """Return the cause of a `__shared__` array in a host function, which may be a kernel without `__global__`."""
    head = head_of(asked.source.lines, asked.number)
    name = re.search(r"\b(\w+) ?\(", asked.source.line(head)) if head else None
    if head and name and is_launched(asked, name[1]):
        return At(forgotten(name[1]), head)
    return "__shared__ is for kernels, and this function runs on the host: put `__global__` or `__device__` before it"


def not_launched(asked: Asked, _: re.Match[str]) -> str | At:
    """Return the cause of a launch of what is no kernel, at its definition."""
    name = re.search(r"\b(\w+) ?(?:<[^<>]{0,120}>)? ?<<<", asked.code)
    defined = definition_of(asked.source.lines, name[1]) if name else None
    if name is None or defined is None:
        return NO_KERNEL
    head = head_of(asked.source.lines, asked.number)
    if "__device__" in asked.source.line(defined):
        if head and re.search(r"__(?:global|device)__", asked.source.line(head)):
            return f"`{name[1]}` is no kernel but a function of the device: it is called without `<<<…>>>`"
        return At(f"`{name[1]}` is launched as a kernel: write `__global__` instead of `__device__`", defined)
    return At(forgotten(name[1]), defined)
