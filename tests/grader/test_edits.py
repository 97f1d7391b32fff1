"""Programs as edits of others: where an edit is made, and what is said where it cannot be."""

from pathlib import Path

import pytest

from scanlab.labs import corpora
from scanlab.labs.edits import ENTRIES, EditError, apply, code_of, expand, parse

PROGRAM = """\
// Adds.
__global__ void add(int* d_x, int n) {
  const int i = threadIdx.x;  // its place

  // Tail guard.
  if (i < n) d_x[i] += 1;
  __syncthreads();
  if (i < n) d_x[i] += 2;
  __syncthreads();
}
"""
HEAD = "// expect: fail inclusive | reason\n// of: base.cu\n"


def edited(*places: str, program: str = PROGRAM) -> str:
    of, edits = parse(HEAD + "".join(f"@@\n{place}" for place in places))
    assert of == "base.cu"
    return apply(program, edits)


def test_lines_come_in_the_stead_of_others() -> None:
    assert edited("-  if (i < n) d_x[i] += 1;\n+  d_x[i] += 1;\n") == PROGRAM.replace(
        "if (i < n) d_x[i] += 1", "d_x[i] += 1"
    )


def test_a_place_is_found_by_what_stands_around_it() -> None:
    found = edited(" if (i < n) d_x[i] += 2;\n-__syncthreads();\n")
    assert found == PROGRAM.replace("+= 2;\n  __syncthreads();\n", "+= 2;\n")
    assert edited("-__syncthreads();\n if (i < n) d_x[i] += 2;\n") == PROGRAM.replace("  __syncthreads();\n", "", 1)


def test_what_stands_around_a_place_keeps_its_comments() -> None:
    found = edited(" const int i = threadIdx.x;\n+  if (i == 7) return;\n if (i < n) d_x[i] += 1;\n")
    assert found == PROGRAM.replace("its place\n", "its place\n  if (i == 7) return;\n")


def test_comments_empty_lines_and_spaces_do_not_count() -> None:
    of_another_look = "  const int i=threadIdx.x ; // anything\n-   if (i<n) d_x[i]+=1;\n+  d_x[i] += 1;\n"
    assert edited(of_another_look) == PROGRAM.replace(
        "\n\n  // Tail guard.\n  if (i < n) d_x[i] += 1", "\n\n  // Tail guard.\n  d_x[i] += 1"
    )


def test_comments_are_distinguished_from_texts() -> None:
    assert code_of('  puts("// no comment"); // one') == 'puts("//nocomment");'
    assert code_of("  c = '\"'; // \"") == "c='\"';"


def test_edits_are_made_one_after_the_other() -> None:
    assert "+= 3" in edited("-  if (i < n) d_x[i] += 1;\n+  one();\n", "-  one();\n+  d_x[i] += 3;\n")


@pytest.mark.parametrize("name", ["02_kogge_stone/wrong.diff", "slower/02_kogge_stone__wrong.diff"])
def test_where_nothing_is_named_it_is_the_labs_solution(tmp_path: Path, name: str) -> None:
    for path, text in (("solutions/02_kogge_stone/scan.cu", PROGRAM), (name, "@@\n-  if (i < n) d_x[i] += 1;\n")):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    assert expand(tmp_path / name, tmp_path) == PROGRAM.replace("  if (i < n) d_x[i] += 1;\n", "")


def test_edits_may_be_those_of_edits(tmp_path: Path) -> None:
    (tmp_path / "base.cu").write_text(PROGRAM)
    (tmp_path / "one.diff").write_text(f"{HEAD}@@\n-  if (i < n) d_x[i] += 1;\n+  one();\n")
    (tmp_path / "two.diff").write_text("// of: one.diff\n@@\n-  one();\n+  two();\n")
    assert expand(tmp_path / "two.diff", tmp_path) == PROGRAM.replace("if (i < n) d_x[i] += 1", "two()")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("-  __syncthreads();\n", "2 places, not one, where this stands: __syncthreads();"),
        ("-  nothing();\n", "0 places, not one, where this stands: nothing();"),
        ("+  anywhere();\n", "no place: nothing stands around   anywhere();"),
        ("   if (i < n) d_x[i] += 1;\n", "without a line that begins with - or +"),
        ("- one\nfree text\n", "begins neither with a space nor with - or +: free text"),
    ],
)
def test_an_edit_without_its_one_place_is_an_error(place: str, said: str) -> None:
    with pytest.raises(EditError) as error:
        edited(place)
    assert said in str(error.value)


def test_a_program_may_leave_out_the_entries_of_the_solutions(tmp_path: Path) -> None:
    file, own = tmp_path / "whole.cu", "void launch_scan(const Element* d_x, Element* d_y, int n) {\n}\n"
    for text, made in ((own, own + ENTRIES), (own + ENTRIES, own + ENTRIES), (PROGRAM, PROGRAM)):
        file.write_text(text)
        assert expand(file, tmp_path) == made


def test_the_file_and_its_base_are_named(tmp_path: Path) -> None:
    (tmp_path / "base.cu").write_text(PROGRAM)
    (tmp_path / "wrong.diff").write_text(f"{HEAD}@@\n-  nothing();\n")
    with pytest.raises(EditError, match=r"wrong\.diff: in base\.cu there are 0 places"):
        expand(tmp_path / "wrong.diff", tmp_path)
    (tmp_path / "alone.diff").write_text("// expect: fail inclusive | reason\n")
    with pytest.raises(FileNotFoundError, match=f"solutions/{tmp_path.name}/scan.cu"):
        expand(tmp_path / "alone.diff", tmp_path)


def test_every_edit_of_the_corpora_fits() -> None:
    paths = [
        path for folder in sorted(corpora.MUTANTS.iterdir()) if folder.is_dir() for path in corpora.programs_in(folder)
    ]
    assert len(paths) > 380
    for path in paths:
        assert "inclusive_scan" in corpora.text_of(path) or "compact" in corpora.text_of(path), path
