#!/usr/bin/env python3
"""Writes random CUDA kernels whose results every GPU, real or virtual, has to agree about bit by bit.

    generate.py SEED COUNT > file.cu        kernels of the seeds SEED to SEED + COUNT - 1, and a main that runs them

The program needs this folder as an include folder and -fmad=false; it prints a line "seed hash" for each kernel. What a
seed's kernel computes does not depend on the other seeds of the file, on the compiler's options, or on the version of
Python.
"""

import sys

from expressions import Scope, Wrappers
from kernels import GRIDS, PARAMETERS, SHAPES, Kernel, declare_locals
from prng import Random
from statements import Context, Counter, Statements


class Functions:
    """The device functions of one kernel."""

    def __init__(self, seed: int, random: Random, wrappers: Wrappers, counter: Counter):
        self.seed, self.random, self.wrappers, self.counter = (seed, random, wrappers, counter)
        self.texts: list[str] = []
        self.calls: list[str] = []  # templates of expressions

    def body(self, parameters: dict[str, list[str]], fuel: int) -> Statements:
        scope = Scope(dict(parameters), functions=list(self.calls))
        scope.writable["f32"] = ["f"]
        body = Statements(self.random, self.wrappers, scope, self.counter, fuel)
        body.put(f"f32 f = __uint_as_float({parameters['u32'][0]});")
        declare_locals(body)
        return body

    def add(self, head: str, body: Statements) -> None:
        self.texts.append(f"__device__ {head} {{\n" + "\n".join(body.lines) + "\n}\n")

    def plain(self, attribute: str) -> str:
        name = f"f{self.seed}_{len(self.texts)}"
        body = self.body({"u32": ["a", "b"], "u64": ["w"]}, 5)
        body.lines.insert(0, "  u64 w = (u64)a << 32 | b;")
        body.statements(Context(depth=2), 3)
        body.put(f"if ({body.value('p')}) return {body.value('u32')};")
        body.statements(Context(depth=2), 2)
        body.put(f"return {body.value('u32')};")
        self.add(f"{attribute} u32 {name}(u32 a, u32 b)", body)
        return name

    def table(self, names: list[str]) -> None:
        """Calls through pointers, the lanes of a warp to different functions."""
        name = f"table{self.seed}"
        self.texts.append(f"__device__ u32 (*{name}[{len(names)}])(u32, u32) = {{{', '.join(names)}}};\n")
        self.calls.append(f"{name}[{{u32}} % {len(names)}]({{u32}}, {{u32}})")

    def recursive(self) -> None:
        name = f"r{self.seed}"
        body = self.body({"u32": ["a"], "u64": ["w"]}, 3)
        body.lines.insert(0, "  u64 w = a * 0x100000001ull;")
        body.put("if (left == 0) return a;")
        body.statements(Context(depth=3), 2)
        body.put(f"if ({body.value('p')}) a ^= {name}(left - 1, {body.value('u32')});")
        body.statements(Context(depth=3), 1)
        body.put(f"return {name}(left - 1, {body.expression('u32', 1)}) + a;")
        self.texts.append(f"__device__ __noinline__ u32 {name}(u32 left, u32 a);\n")
        self.add(f"__noinline__ u32 {name}(u32 left, u32 a)", body)
        self.calls.append(f"{name}({{u32}} % 4, {{u32}})")

    def of_struct(self) -> str:
        name = f"g{self.seed}"
        body = self.body({"u32": ["s.y", "n"], "u16": ["s.x"], "u64": ["w"]}, 3)
        body.lines.insert(0, "  u32 n = (u32)(s32)s.z; u64 w = n;")
        body.scope.readable["f32"] = ["x"]
        body.statements(Context(depth=2), 2)
        body.put(f"if ({body.value('p')}) return s;")
        body.put(
            f"return Small{{(u16){body.value('u32')}, {body.value('u32')} + n, (s8)({body.value('u32')} + words[2])}};"
        )
        self.add(f"{self.random.choice(['__noinline__', '__forceinline__'])} Small {name}(Small s, f32 x)", body)
        return name

    def of_warp(self, kernel_shape: tuple[int, int, int]) -> str:
        """Warp operations in a function that lanes call from divergent code: `mask` names them."""
        name = f"w{self.seed}"
        attribute = self.random.choice(["__noinline__", "__noinline__", "__forceinline__"])
        scope = Scope({"u32": ["a", "b"], "u64": ["w"], "f32": ["f"], "f64": ["d"]}, {"u32": ["mask"]})
        body = WarpFunction(self.random, self.wrappers, scope, self.counter, kernel_shape)
        body.fuel = 4
        body.put("u32 b = mask + a; u64 w = (u64)a * b; f32 f = __uint_as_float(b); f64 d = f;")
        declare_locals(body)
        body.statements(Context(depth=2, mask="mask"), 3)
        body.put(f"return {body.value('u32')};")
        self.add(f"{attribute} u32 {name}(u32 mask, u32 a)", body)
        return name


class WarpFunction(Kernel):
    """Of a kernel's statements those that need nothing but a mask."""

    def kinds(self, context: Context) -> list:
        without = (self.own_slot, self.own_atomic, self.common_atomic, self.any_pointer, self.warp_exchange)
        return [(weight, kind) for weight, kind in super().kinds(context) if kind not in without]


def kernel(seed: int, wrappers: Wrappers) -> tuple[list[str], str]:
    """The texts of its functions and itself, and its entry in the table of cases."""
    random, counter = Random(seed * 0x9E3779B97F4A7C15 + 1), Counter()
    shape, grid = random.choice(SHAPES), random.choice(GRIDS)
    functions = Functions(seed, random, wrappers, counter)
    names = [functions.plain(random.choice(["__noinline__", "__forceinline__"])) for _ in range(random.below(3))]
    functions.calls += [f"{name}({{u32}}, {{u32}})" for name in names]
    if random.one_in(3):
        functions.table([functions.plain("__noinline__") for _ in range(random.between(2, 4))])
    if random.one_in(3):
        functions.recursive()

    writable = {
        "u16": ["h0", "h1"],
        "u32": ["a", "b", "c", "d"],
        "u64": ["v", "w"],
        "f32": ["f", "g"],
        "f64": ["x", "y"],
    }
    readable = {kind: list(names) for kind, names in PARAMETERS.items()}
    readable["u32"] += ["tid", "block", "threadIdx.x", "blockIdx.x"]
    body = Kernel(random, wrappers, Scope(writable, readable, functions.calls, True), counter, shape)
    if random.one_in(3):
        body.struct_functions.append(functions.of_struct())
    if random.one_in(2):
        body.warp_functions.append(functions.of_warp(shape))
    body.setup()
    context = Context(mask="full", whole_block=True)
    for _ in range(random.between(2, 3)):
        body.phase(context, random.between(3, 5))
    body.finish()

    head = (
        f"__global__ void k{seed}(const u32* __restrict__ in, u64* out, u64* own, u32* atomics, u64* atomics_64,\n"
        "    Parameters p, s8 small, u16 half, f64 wide) {"
    )
    texts = [*functions.texts, "\n".join([head, *body.lines, "}\n"])]
    dims = ", ".join("{" + ", ".join(map(str, three)) + "}" for three in (grid, shape))
    return texts, f"    {{{seed}ull, k{seed}, {dims}}},"


HELPERS = """
__device__ __noinline__ u32 poke(u32* at, u32 value) {
  const u32 before = *at;
  *at = before * 3 + value;
  return before;
}
__device__ inline u32 ptx_atomic_add(u32* at, u32 value) {
  u32 before;
  asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(value) : "memory");
  return before & 0;
}
"""


def program(seeds: range) -> str:
    wrappers, texts, cases = Wrappers(), [], []
    for seed in seeds:
        more, case = kernel(seed, wrappers)
        texts += more
        cases.append(case)
    parts = ['#include "main.cuh"\n', HELPERS, *wrappers.texts, *texts]
    parts += [
        "static const Case cases[] = {",
        *cases,
        "};\n",
        "int main(int argc, char** argv) {\n  return run(cases, argc, argv);\n}",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    sys.stdout.write(program(range(first, first + count)))
