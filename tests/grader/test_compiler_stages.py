"""nvcc's stages side by side make the program and the messages that nvcc makes; unknown ones are left to nvcc."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scanlab.errors import KitError
from scanlab.judging.compile import compile_object
from scanlab.judging.compiler import stages
from scanlab.judging.compiler.recipe import DEVICE_FLAGS
from scanlab.judging.compiler.recipe import Source as ToCompile
from scanlab.judging.compiler.stages import compile_in_stages, stages_of
from scanlab.judging.toolchain import toolchain
from scanlab.process import Finished, run_group

FOLDER = Path("/made here")
DRY = f"""\
#$ _HERE_=/opt/cuda/bin
#$ PATH=/opt/cuda/bin:/usr/bin
#$ gcc -D__CUDA_ARCH__=800 -E -x c++ "scan.cu" -o "{FOLDER}/scan.cpp1.ii"
#$ gcc -E -x c++ "scan.cu" -o "{FOLDER}/scan.cpp4.ii"
#$ cudafe++ --stub_file_name "scan.stub.c" --gen_module_id_file --module_id_file_name "{FOLDER}/scan.module_id" \
"{FOLDER}/scan.cpp4.ii"
#$ "$CICC_PATH/cicc" --module_id_file_name "{FOLDER}/scan.module_id" "{FOLDER}/scan.cpp1.ii" -o "{FOLDER}/scan.ptx"
#$ fatbinary "--image3=kind=ptx,sm=80,file={FOLDER}/scan.ptx" --embedded-fatbin="{FOLDER}/scan.fatbin.c"
#$ gcc -c -x c++ "{FOLDER}/scan.cudafe1.cpp" -o "scan.o"
"""


def test_a_stage_needs_those_whose_files_it_goes_on_with() -> None:
    stages = stages_of(DRY, FOLDER)
    assert stages
    assert stages.variables == ("_HERE_=/opt/cuda/bin", "PATH=/opt/cuda/bin:/usr/bin")
    assert [stages.needs(number) for number in range(6)] == [[], [], [1], [0], [3], [0, 1, 2, 3, 4]]
    assert stages.id_file == FOLDER / "scan.module_id"
    assert not any("--gen_module_id_file" in command for command in stages.commands)
    assert ["-MF" in command for command in stages.commands] == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "nvcc warning : something new\n" + DRY,
        DRY.replace("#$ fatbinary", "#$ -- Something of its own --\n#$ fatbinary"),
        DRY.replace("--gen_module_id_file ", ""),
        DRY.replace(f'cicc" --module_id_file_name "{FOLDER}/scan', f'cicc" --module_id_file_name "{FOLDER}/other'),
    ],
    ids=["nothing", "a warning", "a step of its own", "no module id", "two module ids"],
)
def test_what_is_not_as_known_is_left_to_nvcc(said: str, tmp_path: Path) -> None:
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> Finished:
        asked.append(command)
        return Finished(0, said)

    assert stages_of(said, FOLDER) is None
    assert compile_in_stages(["nvcc", "-c", "a.cu", "-o", "a.o"], tmp_path / "h", tmp_path, "0" * 32, run) is None
    assert len(asked) == 1


@pytest.fixture(scope="module")
def nvcc() -> str:
    try:
        return str(toolchain().nvcc)
    except KitError:
        pytest.skip("no nvcc here")


PROGRAMS = {
    "right.cu": """
        #include <cstdio>
        #include "own.cuh"
        static __device__ int s_counter = 3;
        __global__ void add(int* p) { *p += s_counter + OWN; }
        int main() { add<<<1, 1>>>(nullptr); std::puts("ran"); }
        """,
    "warned.cu": "__global__ void k(int* p) { int unused = 3; }\nint main() { unsigned char v = 1000; return v; }",
    "syntax.cu": "__global__ void k(int* p) { *p = 1 }",
    "no_header.cu": '#include "nowhere.h"\n__global__ void k(int* p) { *p = 1; }',
    "both_sides.cu": "__global__ void k(int* p) { *p = nothing(3); }\nint main() { return nowhere; }",
    "host_only.cu": "#include <string>\nint main() { std::string s = 3.5f * nullptr; }",
    "assembler.cu": "int main() { asm volatile(\"no_such_instruction %eax\"); }",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_stages_make_what_nvcc_makes(nvcc: str, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a folder, with 'quotes'"
    kept = tmp_path / "stages"
    for one in (folder, kept):
        one.mkdir()
    (folder / name).write_text(PROGRAMS[name])
    (folder / "own.cuh").write_text("#define OWN 4\n")
    compile_ = [nvcc, *DEVICE_FLAGS["vgpu"], "-c", name, "-o"]

    def run(command: Sequence[str]) -> Finished:
        return run_group(command, 100, folder)

    staged = compile_in_stages([*compile_, "staged.o"], folder / "headers.d", kept, "0123456789abcdef", run)
    assert staged
    plain = run([*compile_, "plain.o", "-MD", "-MF", "plain.d"])
    assert bool(staged.code) == bool(plain.code) == (name not in ("right.cu", "warned.cu"))
    assert staged.output.replace(f"{kept}/", "").count(name) == plain.output.count(name)
    if name != "assembler.cu":  # it names a temporary file
        assert staged.output == plain.output
    if plain.code == 0:
        symbols = [subprocess.check_output(["nm", "-C", folder / made], text=True) for made in ("staged.o", "plain.o")]
        assert symbols[0].count("\n") == symbols[1].count("\n")
        headers = [set((folder / rules).read_text().replace("\\\n", " ").split()) for rules in ("headers.d", "plain.d")]
        assert {one for one in headers[0] ^ headers[1] if "." in one and not one.endswith(".o")} == set()


@pytest.mark.usefixtures("nvcc")
def test_a_file_is_compiled_in_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Finished | None] = []
    real = stages.compile_in_stages
    monkeypatch.setattr(stages, "compile_in_stages", lambda *all_: made.append(real(*all_)) or made[-1])
    source = tmp_path / "scan.cu"
    source.write_text(f"// {tmp_path}\n__global__ void k(int* p) {{ *p = 1; }}\n")
    entry = compile_object(ToCompile(source), "vgpu").parent
    assert made == [Finished(0, "")]
    assert re.fullmatch(r"_Z1kPi [0-9]{1,3}\n|", (entry / "registers.txt").read_text())  # nothing without ptxas
    assert {path.name for path in entry.iterdir()} == {
        "headers.d",
        "included.json",
        "object.o",
        "registers.txt",
        "said.txt",
        "sums.json",
    }
