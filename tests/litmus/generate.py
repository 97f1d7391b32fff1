"""Writes the litmus tests as one CUDA program.

    PROGRAM NAME|all [LAUNCHES [INSTANCES]]

prints for each test "test: NAME", and for each launch "outcome: r0=1 r1=0 x=2". With more than one instance, all of a
launch run at once, far from each other and aligned in time, as a GPU needs to show anything; then a line for each
outcome seen ends with "# COUNT".

A kernel has 16 words an instance: registers, then locations, which so are final values, too, when it ends. Threads in
the same block are lane 0 of different warps.
"""

from language import NOT_READ, SCOPES, Instruction, Test

PRELUDE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda/atomic>
#include <map>
#include <string>
#include <vector>

using Word = unsigned;
template <cuda::thread_scope scope>
using Ref = cuda::atomic_ref<Word, scope>;
using cuda::memory_order_acq_rel;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;
using cuda::memory_order_seq_cst;
using cuda::thread_scope_block;
using cuda::thread_scope_device;
using cuda::thread_scope_system;

constexpr unsigned words = 16, spread = 64;

// On a GPU the threads of an instance begin within a few instructions of each other, each launch a little differently.
// Relaxed, before everything, and bounded: it orders nothing, and waits for no block that has no place yet.
__noinline__ __device__ void align(unsigned stride, unsigned threads, unsigned jitter, Word* out) {
  volatile Word* const arrived = out + (words - 1) * stride;
  atomicAdd(const_cast<Word*>(arrived), 1u);
  for (int i = 0; i < 20000 && *arrived < threads; i++) {
  }
  const unsigned mixed = (blockIdx.x * 64 + threadIdx.x + jitter) * 2654435761u;
  for (unsigned i = 0; i < mixed >> 28; i++) (void)*arrived;
}

struct Test {
  const char* name;
  void (*kernel)(unsigned stride, unsigned jitter, Word* out);
  unsigned blocks, warps;
  std::vector<std::pair<const char*, unsigned>> observed;  // names, and which word
};

"""

MAIN = """
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\\n", cudaGetErrorName(error));
  std::exit(3);
}

void run(const Test& test, unsigned launches, unsigned instances) {
  const unsigned stride = instances == 1 ? 1 : spread;
  std::vector<Word> out(std::size_t{words} * stride * instances);
  const std::size_t bytes = out.size() * sizeof(Word);
  Word* d_out;
  check(cudaMalloc(&d_out, bytes));
  std::map<std::string, unsigned long> seen;
  std::printf("test: %s\\n", test.name);
  for (unsigned launch = 0; launch < launches; launch++) {
    check(cudaMemset(d_out, 0, bytes));
    test.kernel<<<test.blocks * instances, test.warps * 32>>>(stride, launch * 977, d_out);
    check(cudaGetLastError());
    check(cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost));
    for (unsigned instance = 0; instance < instances; instance++) {
      std::string outcome = "outcome:";
      for (const auto& [name, word] : test.observed)
        outcome += std::string(" ") + name + "=" + std::to_string(out[(instance * words + word) * stride]);
      if (instances == 1)
        std::printf("%s\\n", outcome.c_str());
      else
        seen[outcome]++;
    }
  }
  for (const auto& [outcome, count] : seen) std::printf("%s # %lu\\n", outcome.c_str(), count);
  std::fflush(stdout);
  check(cudaFree(d_out));
}

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "all";
  const unsigned launches = argc > 2 ? std::atoi(argv[2]) : 1, instances = argc > 3 ? std::atoi(argv[3]) : 1;
  bool found = false;
  for (const Test& test : tests) {
    if (std::strcmp(wanted, "all") != 0 && std::strcmp(wanted, test.name) != 0) continue;
    run(test, launches, instances);
    found = true;
  }
  if (!found) std::fprintf(stderr, "no test %s\\n", wanted);
  return found ? 0 : 2;
}
"""

CUDA_SCOPES = dict(zip(SCOPES, ("block", "device", "system"), strict=True))
CUDA_ORDERS = {"rlx": "relaxed", "acq": "acquire", "rel": "release", "acq_rel": "acq_rel", "sc": "seq_cst"}
METHODS = {"ld": "load", "st": "store", "xchg": "exchange", "add": "fetch_add"}
FUNCTIONS = {"xchg": "atomicExch", "add": "atomicAdd", "cas": "atomicCAS"}
SUFFIXES = {"cta": "_block", "gpu": "", "sys": "_system"}
PTX = {
    "ld": 'asm volatile("ld.{how}.u32 %0, [%1];" : "=r"({register}) : "l"({location}) : "memory");',
    "st": 'asm volatile("st.{how}.u32 [%0], %1;" ::"l"({location}), "r"({value}) : "memory");',
    "red": 'asm volatile("red.{how}.add.u32 [%0], %1;" ::"l"({location}), "r"({value}) : "memory");',
}


def statement(one: Instruction) -> str:
    """An instruction as CUDA C++ that people write."""
    location, values = one.location, [operand if "r" in operand else f"{operand}u" for operand in one.operands]
    order, scope = f"memory_order_{CUDA_ORDERS.get(one.order)}", f"thread_scope_{CUDA_SCOPES.get(one.scope)}"
    target = "" if one.register in ("", "_") else f"{one.register} = "
    if one.op == "fence":
        if one.spelling == "threadfence":
            return f"__threadfence{SUFFIXES[one.scope]}();"
        return f"cuda::atomic_thread_fence({order}, {scope});"
    if one.spelling == "ptx":
        how = f"{CUDA_ORDERS[one.order]}.{one.scope}"
        return PTX[one.op].format(how=how, register=one.register, location=location, value="".join(values))
    if one.spelling == "fn":
        return f"{target}{FUNCTIONS[one.op]}{SUFFIXES[one.scope]}({', '.join([location, *values])});"
    if one.spelling in ("plain", "volatile"):
        place = f"*{location}" if one.spelling == "plain" else f"*const_cast<volatile Word*>({location})"
        return f"{place} = {values[0]};" if one.op == "st" else f"{target}{place};"
    reference = f"Ref<{scope}>(*{location})"
    if one.op == "cas":
        # The old value comes back in `expected`, whether it was exchanged or not.
        return (
            f"{{ Word expected = {values[0]}; {reference}.compare_exchange_strong(expected, {values[1]}, {order});"
            f" {target}expected; }}"
        )
    return f"{target}{reference}.{METHODS[one.op]}({', '.join([*values, order])});"


def guarded(one: Instruction) -> str:
    return f"if ({one.guard[0]} == {one.guard[1]}) {statement(one)}" if one.guard else statement(one)


def lines_of(part: list[Instruction]) -> list[str]:
    """The statements, with a loop around those before `again`."""
    for end, one in enumerate(part):
        if one.op == "again":
            body = [f"  {guarded(each)}" for each in part[:end]]
            return ["do {", *body, f"}} while ({' || '.join(one.operands)});", *lines_of(part[end + 1 :])]
    return [guarded(one) for one in part]


def segments(thread: tuple[Instruction, ...]) -> list[list[Instruction]]:
    """What is between barriers, at which all of a block's threads have to meet."""
    parts: list[list[Instruction]] = [[]]
    for one in thread:
        if one.op == "bar":
            parts.append([])
        else:
            parts[-1].append(one)
    return parts


def kernel(test: Test, number: int) -> str:
    registers, locations = test.registers(), test.locations()
    assert len(registers) + len(locations) < 16  # the last word is the alignment's
    lines = [f"// {test.name}", f"__global__ void litmus_{number}(unsigned stride, unsigned jitter, Word* out) {{"]
    blocks = len(set(test.blocks))
    lines.append(f"  const unsigned block = blockIdx.x % {blocks}, thread = threadIdx.x;")
    lines.append(f"  out += blockIdx.x / {blocks} * words * stride;")
    for index, location in enumerate(locations):
        lines.append(f"  Word* const {location} = out + {len(registers) + index} * stride;")
    if registers:
        lines.append(f"  Word {', '.join(f'{register} = {NOT_READ}' for register in registers)};")
    parts = [segments(thread) for thread in test.threads]
    for stage in range(max(map(len, parts))):
        if stage:
            lines.append("  __syncthreads();")
        for index, part in enumerate(parts):
            if stage >= len(part):
                continue
            warp = test.blocks[:index].count(test.blocks[index])
            lines.append(f"  if (block == {test.blocks[index]} && thread == {warp * 32}) {{")
            lines += [f"    if (stride > 1) align(stride, {len(parts)}, jitter, out);"] if stage == 0 else []
            lines += [f"    {line}" for line in lines_of(part[stage])]
            if stage == len(part) - 1:
                own = {one.register for one in test.threads[index]}
                lines += [f"    out[{i} * stride] = {r};" for i, r in enumerate(registers) if r in own]
            lines.append("  }")
    return "\n".join([*lines, "}\n"])


def entry(test: Test, number: int) -> str:
    words = [*test.registers(), *test.locations()]
    observed = ", ".join(f'{{"{name}", {words.index(name)}}}' for name in test.observed())
    warps = max(map(test.blocks.count, test.blocks))
    return f'    {{"{test.name}", litmus_{number}, {len(set(test.blocks))}, {warps}, {{{observed}}}}},'


def program(tests: list[Test]) -> str:
    kernels = [kernel(test, number) for number, test in enumerate(tests)]
    entries = [entry(test, number) for number, test in enumerate(tests)]
    return PRELUDE + "\n".join(kernels) + "\nconst Test tests[] = {\n" + "\n".join(entries) + "\n};\n" + MAIN
