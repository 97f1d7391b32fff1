"""Makes one CUDA program of several: each in a namespace of its own, behind the headers that all of them include.

The joined program's first argument names the program to run; the others are that program's own. Line numbers and file
names, as compilers and debug information give them, stay those of the programs' own files.
"""

import re
from collections.abc import Sequence
from pathlib import Path

INCLUDE = re.compile(r"^#include [<\"].*$", re.MULTILINE)
MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
MAIN = re.compile(r"^int main\((?P<parameters>[^)]*)\) \{.*?^\}$", re.MULTILINE | re.DOTALL)


def namespace(source: Path) -> str:
    """Return the name of the namespace in which a program stands."""
    return f"{source.stem}_program"


def without_namespace(text: str, source: Path) -> str:
    """Return what a program says with the names that its functions have in a program of its own."""
    return text.replace(f"{namespace(source)}::", "")


def join(sources: Sequence[Path]) -> str:
    """Return the text of the joined program.

    Raises ValueError for a file in which it does not find `main`.
    """
    headers: dict[str, None] = {}
    parts, calls = [], []
    for source in sources:
        text = source.read_text()
        headers |= dict.fromkeys(line.split("  //")[0] for line in INCLUDE.findall(text))
        text = INCLUDE.sub("", text)
        main = MAIN.search(text)
        if main is None:
            raise ValueError(f"{source}: no main of the form `int main(…) {{ … }}`")
        # In a namespace it is a function like any other: its end returns nothing by itself.
        text = f"{text[: main.end() - 1]}return 0; }}{text[main.end() :]}"
        parts += [f"namespace {namespace(source)} {{", f'#line 1 "{source}"', text, "}"]
        parts += [f"#undef {name}" for name in dict.fromkeys(MACRO.findall(text))]
        arguments = "argc - 1, argv + 1" if main["parameters"] not in ("", "void") else ""
        calls.append(f'  if (name == "{source.stem}") return {namespace(source)}::main({arguments});')
    begin = [*headers, "#include <string_view>"]
    end = ["int main(int argc, char** argv) {", '  const std::string_view name(argc > 1 ? argv[1] : "");', *calls]
    return "\n".join([*begin, *parts, *end, "  return 2;", "}", ""])
