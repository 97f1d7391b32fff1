"""Random kernels: what needs other threads (warps, barriers, shared memory, atomics), and the functions they call.

Races are impossible by construction. The body is a row of phases with barriers between them, and in a phase each shared
array is either split among the threads, one slot each, or only read. Atomics on common slots keep one commutative
operation for the whole kernel, and their results are read behind a barrier or by the host. A warp operation names lanes
that all get there: Context.mask.
"""

from collections.abc import Callable
from dataclasses import replace

from expressions import Scope, Wrappers
from prng import Random
from statements import LOCAL_BYTES, LOCAL_WORDS, Context, Counter, Statements

SHAPES = [(1, 1, 1), (7, 1, 1), (31, 1, 1), (32, 1, 1), (33, 1, 1), (64, 1, 1), (64, 1, 1), (96, 1, 1), (100, 1, 1)]
SHAPES += [(128, 1, 1), (160, 1, 1), (256, 1, 1), (8, 4, 1), (16, 8, 1), (5, 7, 1), (32, 3, 1), (33, 2, 1), (4, 4, 4)]
SHAPES += [(3, 5, 7), (2, 2, 2), (8, 8, 2), (1, 1, 64), (1, 40, 1)]
GRIDS = [(1, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 2, 2), (6, 1, 1), (1, 1, 3)]
# One operation for each group of slots.
ATOMICS = ["atomicAdd", "atomicMin", "atomicMax", "atomicAnd", "atomicOr", "atomicXor", "signed atomicMin", "atomicInc"]
ATOMICS_64 = ["atomicAdd", "atomicMin", "atomicMax", "atomicXor"]
PARAMETERS = {
    "u32": [
        "p.k32",
        "((u32)p.k8)",
        "((u32)(s32)p.k16)",
        "((u32)(s32)small)",
        "p.list[tid % 5]",
        "((u32)(s32)p.record.a)",
    ],
    "u64": ["p.k64", "p.record.d"],
    "u16": ["half", "p.record.b"],
    "f32": ["p.kf", "p.record.c"],
    "f64": ["wide"],
}


def declare_locals(body: Statements) -> None:
    body.put(f"u32 words[{LOCAL_WORDS}];")
    body.put(f"alignas(8) u8 bytes[{LOCAL_BYTES}];")
    for line in (f"{LOCAL_WORDS}; ++k) words[k] = {{}} + k;", f"{LOCAL_BYTES}; ++k) bytes[k] = (u8)({{}} >> (k & 7));"):
        body.put("#pragma unroll 1")
        body.put(f"for (u32 k = 0; k < {line.format(body.leaf('u32'))}")


class Kernel(Statements):
    def __init__(self, random: Random, wrappers: Wrappers, scope: Scope, counter: Counter, shape: tuple[int, int, int]):
        super().__init__(random, wrappers, scope, counter, fuel=random.between(8, 20))
        self.threads = shape[0] * shape[1] * shape[2]
        self.split_arrays: list[str] = []  # arrays whose slot `slot` is this thread's own in this phase
        self.warp_functions: list[str] = []
        self.struct_functions: list[str] = []

    def kinds(self, context: Context) -> list[tuple[int, Callable[[Context], None]]]:
        found = super().kinds(context)
        found += [(2, self.own_slot), (2, self.common_atomic), (1, self.own_atomic), (1, self.any_pointer)]
        if self.struct_functions:
            found += [(1, self.struct_call)]
        if context.mask is not None:
            found += [(6, self.warp_operation), (2, self.warp_exchange)]
            if context.depth < 4:
                found += [(5, self.masked_branch)]
                if context.loops < 2:
                    found += [(3, self.masked_loop)]
                found += [(2, self.matched_switch)]
        if context.whole_block and context.depth < 3:
            found += [(1, self.uniform_branch), (1, self.uniform_loop), (1, self.counted_barrier)]
            if self.threads % 32 == 0 and self.threads >= 64:
                found += [(1, self.named_barriers)]
        return found

    # ---- memory of its own, atomics ----------------------------------------------------------------------------------

    def u32_name(self) -> str:
        return self.random.choice(self.scope.writable["u32"])

    def own_slot(self, _: Context) -> None:
        if self.split_arrays and not self.random.one_in(3):
            name = self.random.choice(self.split_arrays)
            kind = {"s_words": "u32", "s_longs": "u64", "s_bytes": "u32", "s_halves": "u32"}[name]
            if self.random.one_in(2):
                self.put(f"{name}[slot] = {self.value(kind)};")
            else:
                self.put(f"{self.u32_name()} += (u32){name}[slot];")
            return
        index = f"{self.expression('u32', 1)} % own_words"
        match self.random.below(7):
            case 0:
                self.put(f"mine[{index}] = {self.value('u64')};")
            case 1:
                self.put(f"{self.random.choice(self.scope.writable['u64'])} ^= mine[{index}];")
            case 2:
                kind = self.resolve("`u8,u16,u32`")
                self.put(f"reinterpret_cast<{kind}*>(mine)[{index}] = ({kind}){self.value('u32')};")
            case 3:
                kind = self.resolve("`s8,s16,u16,u8`")
                self.put(f"{self.u32_name()} += (u32)(s32)reinterpret_cast<volatile {kind}*>(mine)[{index} + 3];")
            case 4:
                pair = f"make_ulonglong2({self.value('u64')}, {self.value('u64')})"
                self.put(f"reinterpret_cast<ulonglong2*>(mine)[{index} / 2] = {pair};")
            case 5:
                self.put(f"{{ const uint4 q = reinterpret_cast<const uint4*>(mine)[{index} / 2];")
                self.put(f"  {self.u32_name()} += q.x ^ q.y * 3 ^ q.z * 5 ^ q.w * 7; }}")
            case _:
                self.put(f"__stcg(&mine[{index}], {self.value('u64')});")

    def own_atomic(self, _: Context) -> None:
        """On a slot of its own even the old value is certain."""
        place = f"reinterpret_cast<u32*>(mine) + {self.expression('u32', 1)} % (2 * own_words)"
        if "s_words" in self.split_arrays and self.random.one_in(2):
            place = "&s_words[slot]"
        name = self.u32_name()
        match self.random.below(5):
            case 0:
                self.put(f"{name} ^= atomicCAS({place}, {self.expression('u32', 1)}, {self.value('u32')});")
            case 1:
                self.put(f"{name} ^= bits(atomicAdd(reinterpret_cast<f64*>(mine + 1), {self.value('f64')})) >> 20;")
                self.put("mine[1] = bits(*reinterpret_cast<f64*>(mine + 1));")  # other statements read it as integers
            case 2:
                self.put(
                    f"{name} ^= (u32)atomicCAS(mine + {self.expression('u32', 1)} % own_words, "
                    f"{self.expression('u64', 1)}, {self.value('u64')});"
                )
            case _:
                operation = self.resolve("`Exch,Add,Sub,Min,Max,And,Or,Xor,Inc,Dec`")
                self.put(f"{name} ^= atomic{operation}({place}, {self.value('u32')});")

    def common_atomic(self, _: Context) -> None:
        where = self.random.below(4)
        if where == 0:
            group = self.random.below(len(ATOMICS_64))
            index = f"{group * 4} + {self.expression('u32', 1)} % 4"
            self.put(f"{ATOMICS_64[group]}(&atomics_64[{index}], {self.value('u64')});")
            return
        group = self.random.below(len(ATOMICS))
        operation, value = ATOMICS[group], self.value("u32")
        place = f"&{'s_atomics' if where < 3 else 'atomics'}[{group * 4} + {self.expression('u32', 1)} % 4]"
        if operation.startswith("signed "):
            operation, place, value = (operation.split()[1], f"reinterpret_cast<s32*>({place})", f"(s32){value}")
        elif operation == "atomicInc":
            value = "12345u"
        elif operation == "atomicAdd" and self.random.one_in(3):
            self.put(f"ptx_atomic_add({place}, {value});")
            return
        self.put(f"{operation}({place}, {value});")

    def any_pointer(self, _: Context) -> None:
        """Generic addresses: this thread's local memory, its part of shared memory, or of global memory."""
        places = [f"&words[{self.expression('u32', 1)} % {LOCAL_WORDS}]"]
        places.append(f"reinterpret_cast<u32*>(mine) + {self.expression('u32', 1)} % (2 * own_words)")
        if "s_words" in self.split_arrays:
            places.append("&s_words[slot]")
        a, b = self.random.choice(places), self.random.choice(places)
        with self.block(f"{{ u32* const at = {self.value('p')} ? {a} : {b};"):
            self.put(f"*at {self.resolve('`=,+=,^=`')} {self.value('u32')};")
            self.put(f"{self.u32_name()} += poke(at, {self.expression('u32', 1)});")

    def struct_call(self, _: Context) -> None:
        function = self.random.choice(self.struct_functions)
        fields = f"{{(u16){self.value('u32')}, {self.value('u32')}, (s8){self.value('u32')}}}"
        self.put(f"{{ const Small got = {function}(Small{fields}, {self.value('f32')});")
        self.put(f"  {self.u32_name()} += got.x + 3 * got.y + 5 * (u32)(s32)got.z; }}")

    # ---- the warp ----------------------------------------------------------------------------------------------------

    def warp_operation(self, context: Context) -> None:
        m, name = context.mask, self.u32_name()
        width = self.random.choice([32, 32, 32, 16, 8, 4, 2, 1])
        match self.random.below(12):
            case 0 | 1:
                kind = self.random.choice(["u32", "u64", "f32", "f64"])
                target = self.random.choice(self.scope.writable[kind])
                function = self.resolve("shuffle`_up,_down`")
                delta = self.random.choice([0, 1, 2, 3, 5, 16, 31])
                self.put(
                    f"{target} = {function}<{kind}>({m}, {self.value(kind)}, {delta}, {width}, {self.leaf(kind)});"
                )
            case 2:
                change = self.random.choice([1, 2, 4, 8, 16, 31, 3])
                self.put(f"{name} = shuffle_xor({m}, {self.value('u32')}, {change}, {width}, {self.leaf('u32')});")
            case 3:
                self.put(
                    f"{name} ^= shuffle({m}, {self.value('u32')}, {self.value('u32')}, {width}, {self.leaf('u32')});"
                )
            case 4:
                self.put(f"{name} += __shfl_sync({m}, {self.value('u32')}, pick_lane({m}, {self.value('u32')}));")
            case 5:
                self.put(f"{name} ^= __ballot_sync({m}, {self.value('p')});")
            case 6:
                self.put(f"{name} += __{self.resolve('`all,any`')}_sync({m}, {self.value('p')});")
            case 7:
                kind = self.random.choice(["u32", "u64"])
                self.put(f"{name} ^= __match_any_sync({m}, {self.value(kind)} & {self.random.choice([1, 3, 7])});")
            case 8:
                with self.block("{ s32 same;"):
                    self.put(f"{name} ^= __match_all_sync({m}, {self.value('u32')} | 254u, &same);")
                    self.put(f"{name} += (u32)same * 1000;")
            case 9 | 10 if self.warp_functions:
                self.put(f"{name} ^= {self.random.choice(self.warp_functions)}({m}, {self.value('u32')});")
            case _:
                operation = self.resolve("`add,min,max,and,or,xor`")
                value = self.value("u32")
                if operation in ("min", "max") and self.random.one_in(2):
                    value = f"(s32){value}"
                self.put(f"{name} ^= (u32)__reduce_{operation}_sync({m}, {value});")

    def warp_exchange(self, context: Context) -> None:
        """Through shared memory that only the lanes of the mask touch meanwhile."""
        m = context.mask
        with self.block("{"):
            self.put(f"s_warps[tid] = {self.value('u32')};")
            self.put(f"__syncwarp({m});")
            self.put(f"{self.u32_name()} += s_warps[(tid & ~31u) + pick_lane({m}, {self.value('u32')})];")
            self.put(f"__syncwarp({m});")

    def masked_branch(self, context: Context) -> None:
        name = self.counter.name("here")
        with self.block(f"{{ const bool is_{name} = {self.value('p')};"):
            self.put(f"const u32 {name} = __ballot_sync({context.mask}, is_{name});")
            inner = context.alone()
            with self.readable(name):
                with self.block(f"if (is_{name}) {{"):
                    self.statements(replace(inner, mask=name), 3)
                if self.random.one_in(2):
                    with self.block("else {"):
                        self.statements(replace(inner, mask=f"({context.mask} & ~{name})"), 3)

    def masked_loop(self, context: Context) -> None:
        """Lanes leave one after the other; those that are still here work together."""
        name, i = self.counter.name("still"), self.counter.name("i")
        with self.block(f"{{ u32 {name} = {context.mask};"):
            trip = f"{self.value('u32')} % {self.random.between(2, 6)}"
            with self.block(f"for (u32 {i} = 0, end_{i} = {trip};; ++{i}) {{"), self.readable(name), self.readable(i):
                self.put(f"{name} = __ballot_sync({name}, {i} < end_{i});")
                self.put(f"if ({i} >= end_{i}) break;")
                inner = context.alone(loops=context.loops + 1, can_break=False)
                self.statements(replace(inner, mask=name), 3)
                if self.random.one_in(2):
                    self.put(f"if ({self.value('p')}) continue;")
                    self.statements(replace(inner, can_break=False), 2)

    def matched_switch(self, context: Context) -> None:
        name = self.counter.name("peers")
        count = self.random.choice([2, 3, 4, 6])
        with self.block(f"{{ const u32 key_{name} = {self.value('u32')} % {count};"):
            self.put(f"const u32 {name} = __match_any_sync({context.mask}, key_{name});")
            inner = replace(context.alone(can_break=False), mask=name)
            with self.readable(name), self.block(f"switch (key_{name}) {{"):
                for case in range(count):
                    with self.block(f"{f'case {case}' if case < count - 1 else 'default'}: {{"):
                        self.statements(inner, 2)
                    self.put("break;")

    # ---- the block ---------------------------------------------------------------------------------------------------

    def uniform_condition(self) -> str:
        return (
            f"(({self.random.choice(['block', 'p.k32', 'gridDim.x', '(u32)half'])} >> {self.random.below(3)}) & 1) != 0"
        )

    def uniform_branch(self, context: Context) -> None:
        inner = replace(context, depth=context.depth + 1)
        with self.block(f"if ({self.uniform_condition()}) {{"):
            self.statements(inner, 2)
            self.phase(inner, 3)
        if self.random.one_in(2):
            with self.block("else {"):
                self.phase(inner, 2)

    def uniform_loop(self, context: Context) -> None:
        i = self.counter.name("i")
        inner = replace(context, depth=context.depth + 1, loops=context.loops + 1, can_break=False)
        with (
            self.block(f"for (u32 {i} = 0; {i} < 1 + (block + {self.random.below(4)}) % 4; ++{i}) {{"),
            self.readable(i),
        ):
            self.phase(inner, 3)
            self.phase(inner, 2)

    def counted_barrier(self, _: Context) -> None:
        operation = self.resolve("`count,and,or`")
        self.put(f"{self.u32_name()} += (u32)__syncthreads_{operation}({self.value('p')});")

    def named_barriers(self, _: Context) -> None:
        """Some warps meet at one barrier, the others at another."""
        first = 32 * self.random.between(1, self.threads // 32 - 1)
        name = self.u32_name()
        self.put("__syncthreads();")
        self.put(f"s_warps[tid] = {self.value('u32')};")
        for id_, condition, low, count in (
            (1, f"tid < {first}", 0, first),
            (2, f"tid >= {first}", first, self.threads - first),
        ):
            with self.block(f"if ({condition}) {{"):
                self.put(f'asm volatile("{self.resolve("`bar,barrier`.sync")} {id_}, {count};" ::: "memory");')
                self.put(f"{name} += s_warps[{low} + {self.value('u32')} % {count}];")
        self.put("__syncthreads();")

    def phase(self, context: Context, most: int) -> None:
        """Barrier; each shared array is given a use; statements; barrier."""
        before = self.split_arrays
        arrays = ["s_words", "s_longs", "s_bytes", "s_halves"]
        self.split_arrays = [array for array in arrays if not self.random.one_in(3)]
        self.put("__syncthreads();")
        offset = self.random.below(self.threads)
        slot = self.random.choice([f"(tid + {offset}) % {self.threads}", f"{self.threads - 1} - tid", "tid"])
        with self.block(f"{{ const u32 slot = {slot};"):
            for array in arrays:
                if array not in self.split_arrays:
                    index = f"{self.value('u32')} % {self.threads}"
                    self.put(f"{self.u32_name()} += (u32)(s32){array}[{index}];")
            if self.random.one_in(2):
                self.put(f"{self.u32_name()} ^= slot;")
            self.statements(context, most)
        self.put("__syncthreads();")
        self.split_arrays = before

    # ---- the whole ---------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        for name, size in (("words", "u32"), ("longs", "u64"), ("bytes", "s8"), ("halves", "s16"), ("warps", "u32")):
            self.put(f"__shared__ {size} s_{name}[{self.threads}];")
        self.put("__shared__ u32 s_atomics[atomic_slots];")
        self.put("const u32 tid = thread_of_block(), block = block_of_grid(), full = lanes_of_warp();")
        self.put(f"const u32 gid = block * {self.threads} + tid;")
        self.put("u64* const mine = own + (u64)gid * own_words;")
        for kind, constant in (("u16", "u16"), ("u32", "u32"), ("u64", "u64")):
            for i, name in enumerate(self.scope.writable[kind]):
                self.put(f"{constant} {name} = ({constant})(in[(gid + {i * 37}) % input_words] * {2 * i + 1}ull);")
        for i, name in enumerate(self.scope.writable["f32"]):
            self.put(f"f32 {name} = __uint_as_float(in[(gid * 3 + {i}) % input_words]);")
        for i, name in enumerate(self.scope.writable["f64"]):
            self.put(f"f64 {name} = __longlong_as_double((s64)reinterpret_cast<const u64*>(in)[(gid + {i}) % 512]);")
        declare_locals(self)
        self.put("s_words[tid] = in[tid]; s_longs[tid] = tid * 0x123456789ull; s_bytes[tid] = (s8)(tid * 7);")
        self.put("s_halves[tid] = (s16)(tid * 777); s_warps[tid] = 0;")
        self.put("for (u32 k = tid; k < atomic_slots; k += threads_of_block()) s_atomics[k] = c_words[k];")
        self.put("__syncthreads();")

    def finish(self) -> None:
        """The threads end one by one: early, or with the hash of everything they have."""
        self.put("__syncthreads();")
        self.put("u64 hash = s_atomics[tid % atomic_slots] + s_words[tid] + mix(s_longs[tid]) + (u8)s_bytes[tid];")
        self.put("hash += (u64)(s64)s_halves[tid] << 30;")
        self.put("__syncthreads();")  # atomics may follow
        context = Context(depth=2)
        with self.block(f"if ({self.value('p')}) {{"):
            self.statements(context, 2)
            self.put(f"out[gid] = mix(hash ^ {self.value('u64')});")
            self.put("return;")
        self.statements(context, 2)
        for kind in ("u16", "u32", "u64"):
            for name in self.scope.writable[kind]:
                self.put(f"hash = mix(hash ^ {name});")
        for kind in ("f32", "f64"):
            for name in self.scope.writable[kind]:
                self.put(f"hash = mix(hash + bits({name}));")
        self.put("#pragma unroll 1")
        self.put(f"for (u32 k = 0; k < {LOCAL_WORDS}; ++k) hash = mix(hash ^ words[k]);")
        self.put("#pragma unroll 1")
        self.put(f"for (u32 k = 0; k < {LOCAL_BYTES}; ++k) hash = mix(hash ^ bytes[k]);")
        self.put("out[gid] = hash;")
