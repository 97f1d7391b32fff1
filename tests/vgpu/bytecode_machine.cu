// An interpreter inside a kernel: a dense switch (a jump table), a sparse one, a loop that programs leave by return,
// break and goto; each lane runs another program. Divergence at every instruction.
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

enum Op : unsigned char {
  PUSH,
  DUP,
  SWAP,
  DROP,
  OVER,
  ADD,
  SUB,
  MUL,
  DIV,
  MOD,
  NEG,
  EQ,
  LT,
  JMP,
  JZ,
  LOAD,
  STORE,
  CALL,
  RET,
  OUT,
  HALT
};

struct State {
  int output[8], outputs, steps, status;
};

__host__ __device__ void run(const signed char* code, int size, int input, State& s) {
  int stack[16], calls[4], memory[4] = {input, 0, 0, 0};
  int sp = 0, cp = 0, pc = 0;
  s.outputs = 0;
  s.status = 0;
  for (s.steps = 0; s.steps < 2000; ++s.steps) {
    if (pc < 0 || pc >= size) goto outside;
    {
      const int op = code[pc++];
      if (sp > 14) {
        s.status = 2;
        return;
      }
      int t;
      switch (op) {
        case PUSH:
          stack[sp++] = code[pc++];
          break;
        case DUP:
          stack[sp] = stack[sp - 1];
          ++sp;
          break;
        case SWAP:
          t = stack[sp - 1];
          stack[sp - 1] = stack[sp - 2];
          stack[sp - 2] = t;
          break;
        case DROP:
          --sp;
          break;
        case OVER:
          stack[sp] = stack[sp - 2];
          ++sp;
          break;
        case ADD:
          --sp;
          stack[sp - 1] += stack[sp];
          break;
        case SUB:
          --sp;
          stack[sp - 1] -= stack[sp];
          break;
        case MUL:
          --sp;
          stack[sp - 1] *= stack[sp];
          break;
        case DIV:
        case MOD:
          --sp;
          if (stack[sp] == 0) {
            s.status = 3;
            return;
          }
          stack[sp - 1] = op == DIV ? stack[sp - 1] / stack[sp] : stack[sp - 1] % stack[sp];
          break;
        case NEG:
          stack[sp - 1] = -stack[sp - 1];
          break;
        case EQ:
          --sp;
          stack[sp - 1] = stack[sp - 1] == stack[sp];
          break;
        case LT:
          --sp;
          stack[sp - 1] = stack[sp - 1] < stack[sp];
          break;
        case JMP:
          pc += code[pc];
          break;
        case JZ:
          t = code[pc];
          pc += stack[--sp] == 0 ? t : 1;
          break;
        case LOAD:
          stack[sp++] = memory[code[pc++]];
          break;
        case STORE:
          memory[code[pc++]] = stack[--sp];
          break;
        case CALL:
          t = code[pc++];
          calls[cp++] = pc;
          pc = t;
          break;
        case RET:
          pc = calls[--cp];
          break;
        case OUT:
          s.output[s.outputs++ & 7] = stack[--sp];
          break;
        case HALT:
          return;
        default:
          s.status = 4;
          return;
      }
    }
    continue;
  outside:
    s.status = 5;
    break;
  }
  if (s.steps == 2000) s.status = 1;
}

__global__ void machine(const signed char* code, const int* first, int programs, State* states) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, p = i % programs;
  State s;
  run(code + first[p], first[p + 1] - first[p], i / programs, s);
  states[i] = s;
}

// Cases far apart, negative ones, ranges, fall-through, and a default in the middle.
__host__ __device__ int sparse(int v) {
  int r = 0;
  switch (v) {
    case -1000000:
      r = 1;
      break;
    case -1:
      r += 2;
    case 0:
      r += 4;
    default:
      r += 8;
      break;
    case 7:
      r = 16;
    case 70:
      return r + 32;
    case 700:
      r = 64;
      break;
    case 0x7fffffff:
      r = -1;
      break;
  }
  return r * 3;
}
__global__ void sparse_kernel(const int* in, int* out) {
  out[threadIdx.x] = sparse(in[threadIdx.x]);
}

int main() {
  const std::vector<std::vector<signed char>> programs = {
      // factorial of memory[0]
      {PUSH, 1,    STORE, 1,    LOAD, 0,   JZ,    17, LOAD, 0,   LOAD, 1, MUL, STORE,
       1,    LOAD, 0,     PUSH, -1,   ADD, STORE, 0,  JMP,  -19, LOAD, 1, OUT, HALT},
      // Collatz: steps until 1
      {LOAD, 0,    PUSH, 1,   ADD,   STORE, 0,   LOAD, 0,    PUSH, 1, EQ,   JZ, 5,   LOAD,  1, OUT,  HALT,
       LOAD, 1,    PUSH, 1,   ADD,   STORE, 1,   LOAD, 0,    PUSH, 2, MOD,  JZ, 14,  LOAD,  0, PUSH, 3,
       MUL,  PUSH, 1,    ADD, STORE, 0,     JMP, -36,  HALT, LOAD, 0, PUSH, 2,  DIV, STORE, 0, JMP,  -46},
      {JMP, -1},                                         // for ever
      {PUSH, 1, JMP, -3},                                // overflows the stack
      {PUSH, 9, LOAD, 0, PUSH, 3, SUB, DIV, OUT, HALT},  // 9 / (n - 3)
      {LOAD, 0, DUP, PUSH, 5, LT, JZ, 3, OUT, HALT, 99},
      {PUSH, 3, CALL, 8, OUT, HALT, 0, 0, DUP, MUL, NEG, RET},
      {JMP, 100},
      {PUSH, 1, PUSH, 2, OVER, SWAP, DROP, ADD, OUT, HALT},
  };
  std::vector<signed char> code;
  std::vector<int> first{0};
  for (auto& p : programs) {
    code.insert(code.end(), p.begin(), p.end());
    first.push_back(code.size());
  }
  const int n = 4 * 61, count = programs.size();
  int statuses[6] = {}, wrong = 0;
  const Array<State> d_states(n);
  machine<<<4, 61>>>(Array(code), Array(first), count, d_states);
  const auto states = d_states.read();
  for (int i = 0; i < n; ++i) {
    State s;
    run(&code[first[i % count]], first[i % count + 1] - first[i % count], i / count, s);
    bool same = s.outputs == states[i].outputs && s.steps == states[i].steps && s.status == states[i].status;
    for (int k = 0; same && k < s.outputs; ++k) same = s.output[k] == states[i].output[k];
    wrong += !same;
    ++statuses[s.status];
  }
  printf("%d wrong; statuses", wrong);
  for (int s : statuses) printf(" %d", s > 0);
  printf("; 5! = %d, 7 takes %d steps, -9 = %d\n", states[5 * count].output[0], states[6 * count + 1].output[0],
         states[6].output[0]);

  const Array values({-1000000, -1, 0, 1, 7, 70, 700, 0x7fffffff, -2, 8, 69, 71, 699, 701, 1 << 31, 64});
  const Array<int> results(16);
  sparse_kernel<<<1, 16>>>(values, results);
  for (int k = 0; k < 16; ++k) printf("%d%c", results.read()[k], k == 15 ? '\n' : ' ');
  return cudaDeviceSynchronize();
}
