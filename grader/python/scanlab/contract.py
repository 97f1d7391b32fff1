"""The words that the command line and the C++ programs have in common, each list only here.

Plans, results and rubrics use them. The build makes `contract.hpp` of this file, an enumeration of each list with its
names: `python contract.py contract.hpp`. So it imports nothing of the kit's.
"""

import sys
from pathlib import Path
from typing import Literal, get_args

Device = Literal["vgpu", "gpu"]
Profile = Literal["small", "h200"]
Schedule = Literal["lockstep", "in_order", "reversed", "random", "weak"]
Element = Literal["float", "affine"]
Operation = Literal["inclusive", "exclusive", "compact", "split"]
CheckKind = Literal["correctness", "count", "timing"]
CheckVerdict = Literal["pass", "fail", "timeout", "skipped", "inconclusive", "error"]
"""skipped: a check that it needs did not pass, or it cannot be run here; inconclusive: a measurement was too noisy;
error: the kit's own fault."""
Counter = Literal[
    "thread_instructions",
    "warp_instructions",
    "additions",
    "warp_additions",
    "barriers",
    "shared_loads",
    "shared_stores",
    "bank_conflict_replays",
    "global_requests",
    "global_sectors",
    "global_bytes",
    "atomics",
    "fences",
    "launches",
    "threads",
    "warp_efficiency",
    "addition_efficiency",
    "busiest_warp",
    "busiest_block",
    "chained_waits",
    "host_copies",
    "useful_additions",
    "wasted_additions",
    "span",
    "busiest_adder",
    "useful_efficiency",
    "shared_prefixes",
]

LISTS = {
    "Device": Device,
    "Profile": Profile,
    "Schedule": Schedule,
    "Element": Element,
    "Operation": Operation,
    "CheckKind": CheckKind,
    "CheckVerdict": CheckVerdict,
    "Counter": Counter,
}
HEAD = """// Made of grader/python/scanlab/contract.py, which says what the words mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace scanlab::contract {

/// The names of an enumeration's values, in their order.
template <class E>
inline constexpr std::span<const char* const> names{};

/// The value of that name, if there is one.
template <class E>
constexpr std::optional<E> value_of(std::string_view name) {
  for (std::size_t k = 0; k < names<E>.size(); ++k)
    if (name == names<E>[k]) return static_cast<E>(k);
  return {};
}

"""
TAIL = "}  // namespace scanlab::contract\n"


def header() -> str:
    """Return the C++ header; an enumerator that would be a word of C++ ends with `_`."""
    parts = []
    for name, words in LISTS.items():
        values = get_args(words)
        enumerators = ", ".join(value + "_" * (value == "float") for value in values)
        strings = ", ".join(f'"{value}"' for value in values)
        parts.append(
            f"enum class {name} : std::uint8_t {{ {enumerators} }};\n"
            f"inline constexpr const char* names_of_{name}[] = {{{strings}}};\n"
            f"template <>\ninline constexpr std::span<const char* const> names<{name}> = names_of_{name};\n"
            f"constexpr const char* name_of({name} value) {{\n"
            f"  return names_of_{name}[static_cast<std::size_t>(value)];\n}}\n"
        )
    return HEAD + "\n".join(parts) + "\n" + TAIL


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(header(), encoding="utf-8")
LARGEST_TRACED = 40_000
"""Elements of a call that is traced; of a large n no more than the first positions are drawn."""
