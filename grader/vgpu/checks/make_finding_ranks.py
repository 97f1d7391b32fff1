"""Write the C++ of findings.toml: make_finding_ranks.py FINDINGS.toml OUTPUT.hpp."""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Write each id, or family with a dot at its end, with its rank; 0 is the most basic."""
    ranks = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["rank"]
    rows = [f'    {{"{name.removesuffix("*")}", {rank}}},' for rank, names in enumerate(ranks) for name in names]
    Path(sys.argv[2]).write_text(
        "\n".join(
            [
                "// Made of grader/findings.toml.",
                "#pragma once",
                "#include <cstddef>",
                "#include <string_view>",
                "namespace scanlab::vgpu {",
                "struct FindingRank {",
                "  std::string_view id;",
                "  std::size_t rank;",
                "};",
                "inline constexpr FindingRank finding_ranks[] = {",
                *rows,
                "};",
                "}  // namespace scanlab::vgpu",
                "",
            ]
        ),
        encoding="utf-8",
    )


main()
