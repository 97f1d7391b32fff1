"""Random statements that any thread may run alone: assignments, branches, loops, switches, jumps, local arrays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from expressions import Expressions, Scope, Wrappers
from prng import Random

WRITABLE = ("u16", "u32", "u64", "f32", "f64")
LOCAL_WORDS, LOCAL_BYTES = 8, 16


@dataclass(frozen=True)
class Context:
    """Where a statement stands."""

    depth: int = 0  # of nested statements
    loops: int = 0
    can_break: bool = False
    mask: str | None = None  # the lanes that are here, as a C++ expression; None: unknown
    whole_block: bool = False  # every thread of the block is here

    def alone(self, **changes: object) -> "Context":
        """A place that any lanes may reach."""
        return replace(self, depth=self.depth + 1, mask=None, whole_block=False, **changes)


class Counter:
    """Fresh names, for a whole kernel and its functions."""

    def __init__(self) -> None:
        self.count = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"


class Statements(Expressions):
    def __init__(self, random: Random, wrappers: Wrappers, scope: Scope, counter: Counter, fuel: int):
        super().__init__(random, wrappers, scope)
        self.counter, self.fuel = counter, fuel
        self.lines: list[str] = []
        self.indent = 1

    # ---- text --------------------------------------------------------------------------------------------------------

    def put(self, line: str) -> None:
        self.lines.append("  " * self.indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.put(head)
        self.indent += 1
        yield
        self.indent -= 1
        self.put("}")

    @contextmanager
    def readable(self, name: str) -> Iterator[None]:
        """A u32 that statements may read and not write: a counter, a mask."""
        names = self.scope.readable.setdefault("u32", [])
        names.append(name)
        yield
        names.remove(name)

    def value(self, kind: str) -> str:
        return self.expression(kind, self.random.choice([1, 1, 2, 2, 3]))

    # ---- statements --------------------------------------------------------------------------------------------------

    def kinds(self, context: Context) -> list[tuple[int, Callable[[Context], None]]]:
        """Statements that may stand here, with weights."""
        found: list[tuple[int, Callable[[Context], None]]] = [(8, self.assign), (3, self.local_array)]
        if context.depth < 4:
            found += [(4, self.branch), (2, self.switch)]
        if context.loops < 2 and context.depth < 4:
            found += [(3, self.loop), (1, self.jumps)]
        if context.can_break:
            found += [(1, self.leave)]
        return found

    def statement(self, context: Context) -> None:
        self.fuel -= 1
        kinds = self.kinds(context)
        draw = self.random.below(sum(weight for weight, _ in kinds))
        for weight, kind in kinds:
            draw -= weight
            if draw < 0:
                kind(context)
                return

    def statements(self, context: Context, most: int) -> None:
        for _ in range(self.random.between(1, most)):
            self.statement(context if self.fuel > 0 else replace(context, depth=99))

    def assign(self, _: Context) -> None:
        kind = self.random.choice([kind for kind in WRITABLE if self.scope.writable.get(kind)])
        name = self.random.choice(self.scope.writable[kind])
        if kind == "u32" and self.random.one_in(3):
            self.put(f"{name} {self.resolve('`+=,-=,^=,*=`')} {self.value(kind)};")
        elif kind == "f32" and self.random.one_in(6):
            self.put(f"{{ volatile f32 t = {self.value(kind)}; {name} = t; }}")
        elif kind == "u16" and self.random.one_in(6):
            self.put(f"{{ volatile u8 t = (u8){self.value(kind)}; t += 200; {name} += t; }}")
        else:
            self.put(f"{name} = {self.value(kind)};")

    def local_array(self, _: Context) -> None:
        index = self.expression("u32", 1)
        name = self.random.choice(self.scope.writable["u32"])
        match self.random.below(6):
            case 0:
                self.put(f"words[{index} % {LOCAL_WORDS}] = {self.value('u32')};")
            case 1:
                self.put(f"{name} ^= words[{index} % {LOCAL_WORDS}];")
            case 2:
                self.put(f"bytes[{index} % {LOCAL_BYTES}] = (u8){self.value('u32')};")
            case 3:
                sign = self.resolve("`s8,u8`")
                self.put(f"{name} += (u32)(s32)({sign})bytes[{index} % {LOCAL_BYTES}];")
            case 4:
                step = self.random.choice([2, 4, 8])
                kind = {2: "s16", 4: "u32", 8: "u64"}[step]
                place = f"&bytes[{index} % {LOCAL_BYTES // step} * {step}]"
                self.put(f"{{ {kind} t; memcpy(&t, {place}, {step}); {name} -= (u32)t; }}")
            case _:
                self.put(self.resolve("#pragma unroll `1,2,8`"))
                self.put(f"for (u32 k = 0; k < {LOCAL_WORDS}; ++k) {name} = {name} * 5 + words[k];")

    def branch(self, context: Context) -> None:
        inner = context.alone()
        with self.block(f"if ({self.value('p')}) {{"):
            self.statements(inner, 3)
        if self.random.one_in(2):
            with self.block("else {"):
                self.statements(inner, 3)

    def loop(self, context: Context) -> None:
        inner = context.alone(loops=context.loops + 1, can_break=True)
        i = self.counter.name("i")
        trip = f"{self.value('u32')} % {self.random.between(2, 7)}"
        if self.random.one_in(3):
            with self.block(f"{{ u32 {i} = {trip};"):
                with self.block("do {"), self.readable(i):
                    self.statements(inner, 3)
                self.put(f"while ({i}-- != 0);")
            return
        with (
            self.block(f"for (u32 {i} = {self.random.below(2)}, end_{i} = {trip}; {i} < end_{i}; ++{i}) {{"),
            self.readable(i),
        ):
            self.statements(inner, 4)

    def leave(self, _: Context) -> None:
        self.put(f"if ({self.value('p')}) {self.resolve('`break,continue`')};")

    def switch(self, context: Context) -> None:
        inner = context.alone(can_break=False)
        count = self.random.choice([3, 4, 5, 8, 12])
        spread = self.random.choice([1, 1, 1, 3, 1000])
        with self.block(f"switch ({self.value('u32')} % {count + 1} * {spread}) {{"):
            for case in range(count):
                with self.block(f"case {case * spread}: {{"):
                    self.statements(inner, 2)
                if not self.random.one_in(4):
                    self.put("break;")
            with self.block("default: {"):
                self.statements(inner, 1)

    def jumps(self, context: Context) -> None:
        """Blocks that jump to each other: loops with several entries, which structured code never has."""
        inner = context.alone(loops=context.loops + 1, can_break=False)
        name = self.counter.name("jump")
        count = self.random.between(2, 4)
        with self.block(f"{{ u32 left = {self.random.between(3, 9)} + ({self.value('u32')} & 3);"):
            self.put(f"if ({self.value('p')}) goto {name}_{self.random.below(count)};")
            for k in range(count):
                with self.block(f"{name}_{k}: {{"):
                    self.statements(inner, 2)
                self.put(f"if (left-- == 0) goto {name}_end;")
                self.put(f"if ({self.value('p')}) goto {name}_{self.random.below(count)};")
                if self.random.one_in(3):
                    self.put(f"goto {name}_{self.random.below(count)};")
            self.put(f"{name}_end:;")
