"""What a submission may not name: the kit's own macros and instructions, and directives of the line table."""

from pathlib import Path

import pytest

from scanlab.judging.compile import build_runner
from scanlab.judging.compiler.errors import CompileError
from scanlab.judging.own_names import named
from scanlab.labs.corpora import MUTANTS, programs_in, text_of
from scanlab.labs.folders import all_labs
from scanlab.labs.skeleton import given_lines
from scanlab.paths import ROOT

EXPLOITS = ROOT / "tests/exploits"
OWN = ("made_up_names", "trees_of_names")
"""Exploits that ask whether elements are names."""

REFUSED = [
    ("#ifdef SCANLAB_PROVENANCE", "SCANLAB_PROVENANCE"),
    ("#if defined(SCANLAB_PROVENANCE) || !defined(SCANLAB_ELEMENT_AFFINE)", "SCANLAB_PROVENANCE"),
    ("#undef SCANLAB_PROVENANCE", "SCANLAB_PROVENANCE"),
    ("#ifdef SCANLAB_PROV\\\nENANCE", "SCANLAB_PROVENANCE"),
    ("#ifdef SCANLAB_PROV\\ \r\nENANCE", "SCANLAB_PROVENANCE"),
    ("#ifdef /* a\nb */ SCANLAB_BULK_STORES", "SCANLAB_BULK_STORES"),
    ("#if PASTED(SCANLAB_PROVE, NANCE)", "SCANLAB_PROVE"),
    ("#define SCANLAB_ELEMENT_AFFINE", "SCANLAB_ELEMENT_AFFINE"),
    ("%:undef SCANLAB_ELEMENT_AFFINE", "SCANLAB_ELEMENT_AFFINE"),
    ("#define SCANLAB_CUDA_CHECK(call) (call)", "SCANLAB_CUDA_CHECK"),
    ('asm("scanlab.add {%0, %1}, {%2, %3}, {%4, %5};" : "=r"(one) : "r"(1));', "scanlab.add"),
    ('asm("{ .reg .b32 a;\\n"\n    "scanlab."  "keep a, {%0, %1}; }");', "scanlab.keep"),
    ("asm(TEXT(scanlab.add {%0, %1}));", "scanlab.add"),
    ('asm(R"(\n  scanlab.add {%0, %1}, {%2, %3}, {%4, %5};\n)");', "scanlab.add"),
    ('asm volatile(".loc 4000000000 77 1");', ".loc"),
    ('asm volatile("add.u32 %0, %0, 1;\\n\\t"\n  ".file 7 \\"x\\"");', ".file"),
]


@pytest.mark.parametrize(("text", "name"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_the_kits_own_is_refused_with_its_line(text: str, name: str) -> None:
    found = named(f'#include "scanlab.cuh"\n\n{text}\nint main() {{}}\n')
    assert found
    assert name in found[1]
    assert found[0] in range(3, 4 + text.count("\n"))


ALLOWED = [
    "SCANLAB_CUDA_CHECK(cudaPeekAtLastError());",
    "#ifdef SCANLAB_ELEMENT_AFFINE  // another type: a shuffle moves its parts",
    "// never ask for SCANLAB_PROVENANCE, nor write scanlab.add",
    "/* SCANLAB_PROVENANCE\n   scanlab.add */",
    'printf("SCANLAB_PROVENANCE");',
    'asm volatile("add.f32 %0, %0, %1;" : "+f"(sum) : "f"(other));',
    'std::puts("a.file 7 times");',
]


@pytest.mark.parametrize("text", ALLOWED)
def test_what_labs_document_and_what_is_no_code_is_allowed(text: str) -> None:
    assert named(f'#include "scanlab.cuh"\n{text}\n') is None


def test_given_lines_are_not_the_learners() -> None:
    line = "#ifdef SCANLAB_BULK_STORES"
    assert named(f"  {line}\n", {line}) is None
    assert named(f"{line}\n{line} && SCANLAB_PROVENANCE\n", {line}) == (
        2,
        "SCANLAB_BULK_STORES is the kit's own: a scan is the same for each element",
    )


def test_no_program_of_the_repository_is_refused() -> None:
    sources = {lab.solution: given_lines(lab) for lab in all_labs() if lab.solution.is_file()}
    sources |= {lab.source: given_lines(lab) for lab in all_labs()}
    texts = [(path, path.read_text(), given) for path, given in sources.items()]
    folders = [folder for folder in [EXPLOITS, *sorted(MUTANTS.glob("*"))] if folder.is_dir()]
    for path in (path for folder in folders for path in programs_in(folder)):
        try:
            texts.append((path, text_of(path), frozenset()))
        except (ValueError, OSError, UnicodeDecodeError):
            continue  # it is made when it is graded
    refused = {path.stem.rpartition("__")[2]: found for path, text, given in texts if (found := named(text, given))}
    assert sorted(refused) == sorted(name for name in OWN if EXPLOITS.is_dir())


def test_a_submission_is_refused_before_it_is_compiled(tmp_path: Path) -> None:
    path = tmp_path / "scan.cu"
    path.write_text('#include "scanlab.cuh"\n#ifdef SCANLAB_PROVENANCE\n#endif\n')
    with pytest.raises(CompileError, match=r"scan\.cu:2: SCANLAB_PROVENANCE is the kit's own: a scan is the same"):
        build_runner(path, "float", "vgpu", is_sandboxed=False, given=frozenset())
