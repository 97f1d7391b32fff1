// What instructions compute, to the last bit: a hash of the results of every form over the same 4096 inputs, half of
// them special values, half random bits. arithmetic.expected was recorded on an NVIDIA H200 (CUDA 13.0). With the name
// of a form as its argument the program prints every input and result instead.
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

using u64 = unsigned long long;

// Operand classes: the register, its constraint in inline assembly, and its bits.
using TypeR = unsigned;
using TypeL = u64;
using TypeH = unsigned short;
using TypeF = float;
using TypeD = double;
#define CONSTRAINT_R "r"
#define CONSTRAINT_L "l"
#define CONSTRAINT_H "h"
#define CONSTRAINT_F "f"
#define CONSTRAINT_D "d"

template <class T>
__device__ T as(u64 bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
__device__ u64 bits_of(T value) {
  u64 bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

// Form<k> is the k-th instruction below.
template <int k>
struct Form;
constexpr int first = __COUNTER__ + 1;

#define FORM(PTX, TYPES, RESULT, PLACES, ...)                                               \
  template <>                                                                               \
  struct Form<__COUNTER__ - first> {                                                        \
    static const char* name() { return PTX; }                                               \
    static const char* types() { return TYPES; }                                            \
    static __device__ u64 run(u64 a, u64 b, u64 c, u64 d) {                                 \
      Type##RESULT result;                                                                  \
      asm volatile(PTX " %0, " PLACES ";" : "=" CONSTRAINT_##RESULT(result) : __VA_ARGS__); \
      return bits_of(result);                                                               \
    }                                                                                       \
  };
#define IN(CLASS, value) CONSTRAINT_##CLASS(as<Type##CLASS>(value))
#define FORM1(PTX, RESULT, A) FORM(PTX, #A, RESULT, "%1", IN(A, a))
#define FORM2(PTX, RESULT, A, B) FORM(PTX, #A #B, RESULT, "%1, %2", IN(A, a), IN(B, b))
#define FORM3(PTX, RESULT, A, B, C) FORM(PTX, #A #B #C, RESULT, "%1, %2, %3", IN(A, a), IN(B, b), IN(C, c))
#define FORM4(PTX, RESULT, A, B, C, D) \
  FORM(PTX, #A #B #C #D, RESULT, "%1, %2, %3, %4", IN(A, a), IN(B, b), IN(C, c), IN(D, d))

// The same operands, several instructions, which differ in a part of their names.
#define QUOTIENTS(BITS, CLASS)             \
  FORM2("div.u" BITS, CLASS, CLASS, CLASS) \
  FORM2("rem.u" BITS, CLASS, CLASS, CLASS) \
  FORM2("div.s" BITS, CLASS, CLASS, CLASS) FORM2("rem.s" BITS, CLASS, CLASS, CLASS)
#define ROUNDED(FORM, OP, TYPE, ...) \
  FORM(OP ".rn" TYPE, __VA_ARGS__)   \
  FORM(OP ".rz" TYPE, __VA_ARGS__) FORM(OP ".rm" TYPE, __VA_ARGS__) FORM(OP ".rp" TYPE, __VA_ARGS__)
#define FTZ_OR_NOT(OP, ...) FORM2(OP ".f32", __VA_ARGS__) FORM2(OP ".ftz.f32", __VA_ARGS__)
#define ROUNDED_FLOATS(OP) ROUNDED(FTZ_OR_NOT, OP, "", F, F, F)
#define TO_INTEGER(TYPE, CLASS)           \
  FORM1("cvt.rni." TYPE ".f32", CLASS, F) \
  FORM1("cvt.rzi." TYPE ".f32", CLASS, F) \
  FORM1("cvt.rmi." TYPE ".f32", CLASS, F) \
  FORM1("cvt.rpi." TYPE ".f32", CLASS, F) FORM1("cvt.rzi." TYPE ".f64", CLASS, D)

QUOTIENTS("32", R)
QUOTIENTS("64", L)
QUOTIENTS("16", H)
ROUNDED_FLOATS("add")
ROUNDED_FLOATS("sub")
ROUNDED_FLOATS("mul")
ROUNDED_FLOATS("div")
FORM2("add.sat.f32", F, F, F)
FORM2("sub.sat.f32", F, F, F)
FORM2("mul.sat.f32", F, F, F)
FORM2("add.ftz.sat.f32", F, F, F)
FORM2("mul.ftz.sat.f32", F, F, F)
FORM2("min.f32", F, F, F)
FORM2("max.f32", F, F, F)
FORM2("min.NaN.f32", F, F, F)
FORM2("max.NaN.f32", F, F, F)
FORM2("min.xorsign.abs.f32", F, F, F)
FORM2("max.NaN.xorsign.abs.f32", F, F, F)
FORM2("min.ftz.f32", F, F, F)
FORM2("max.ftz.f32", F, F, F)
FORM2("copysign.f32", F, F, F)
FORM1("abs.f32", F, F)
FORM1("neg.f32", F, F)
FORM1("abs.ftz.f32", F, F)
FORM1("neg.ftz.f32", F, F)
FORM1("sqrt.rn.f32", F, F)
FORM1("sqrt.rn.ftz.f32", F, F)
FORM1("sqrt.rz.f32", F, F)
FORM1("rcp.rn.f32", F, F)
FORM1("rcp.rn.ftz.f32", F, F)
FORM1("rcp.rp.f32", F, F)
FORM1("cvt.rni.f32.f32", F, F)
FORM1("cvt.rzi.f32.f32", F, F)
FORM1("cvt.rmi.f32.f32", F, F)
FORM1("cvt.rpi.f32.f32", F, F)
FORM1("cvt.sat.f32.f32", F, F)
FORM1("cvt.ftz.f32.f32", F, F)
ROUNDED(FORM3, "fma", ".f32", F, F, F, F)
FORM3("fma.rn.ftz.f32", F, F, F, F)
FORM3("fma.rn.sat.f32", F, F, F, F)
FORM3("fma.rn.ftz.sat.f32", F, F, F, F)
ROUNDED(FORM2, "add", ".f64", D, D, D)
ROUNDED(FORM2, "sub", ".f64", D, D, D)
ROUNDED(FORM2, "mul", ".f64", D, D, D)
ROUNDED(FORM2, "div", ".f64", D, D, D)
FORM2("min.f64", D, D, D)
FORM2("max.f64", D, D, D)
FORM2("copysign.f64", D, D, D)
FORM1("abs.f64", D, D)
FORM1("neg.f64", D, D)
FORM1("sqrt.rn.f64", D, D)
FORM1("rcp.rn.f64", D, D)
FORM1("sqrt.rm.f64", D, D)
FORM1("cvt.rni.f64.f64", D, D)
FORM1("cvt.rzi.f64.f64", D, D)
FORM3("fma.rn.f64", D, D, D, D)
TO_INTEGER("u8", R)
TO_INTEGER("s8", R)
TO_INTEGER("u16", H)
TO_INTEGER("s16", H)
TO_INTEGER("u32", R)
TO_INTEGER("s32", R)
TO_INTEGER("u64", L)
TO_INTEGER("s64", L)
ROUNDED(FORM1, "cvt", ".f32.u32", F, R)
ROUNDED(FORM1, "cvt", ".f32.s32", F, R)
ROUNDED(FORM1, "cvt", ".f32.u64", F, L)
ROUNDED(FORM1, "cvt", ".f32.s64", F, L)
ROUNDED(FORM1, "cvt", ".f32.f64", F, D)
FORM1("cvt.f64.f32", D, F)
FORM1("cvt.rn.f16.f32", H, F)
FORM1("cvt.rn.bf16.f32", H, F)
FORM1("cvt.rz.f16.f32", H, F)
FORM1("cvt.rz.bf16.f32", H, F)
FORM1("cvt.rn.relu.f16.f32", H, F)
FORM1("cvt.rna.tf32.f32", R, F)
FORM1("cvt.f32.f16", F, H)
FORM2("add.f16", H, H, H)
FORM2("sub.f16", H, H, H)
FORM2("mul.f16", H, H, H)
FORM2("add.sat.f16", H, H, H)
FORM2("mul.ftz.f16", H, H, H)
FORM2("min.f16", H, H, H)
FORM2("max.f16", H, H, H)
FORM2("min.NaN.f16", H, H, H)
FORM2("max.NaN.f16", H, H, H)
FORM2("add.ftz.f16", H, H, H)
FORM1("neg.f16", H, H)
FORM1("neg.bf16", H, H)
FORM1("abs.f16", H, H)
FORM1("abs.bf16", H, H)
FORM3("fma.rn.f16", H, H, H, H)
FORM3("fma.rn.relu.f16", H, H, H, H)
FORM2("shl.b32", R, R, R)
FORM2("shr.u32", R, R, R)
FORM2("shr.s32", R, R, R)
FORM2("shl.b64", L, L, R)
FORM2("shr.u64", L, L, R)
FORM2("shr.s64", L, L, R)
FORM3("bfe.u32", R, R, R, R)
FORM3("bfe.s32", R, R, R, R)
FORM4("bfi.b32", R, R, R, R, R)
FORM1("bfind.u32", R, R)
FORM1("bfind.s32", R, R)
FORM1("bfind.shiftamt.u32", R, R)
FORM1("popc.b32", R, R)
FORM1("clz.b32", R, R)
FORM1("brev.b32", R, R)
FORM3("prmt.b32", R, R, R, R)
FORM3("prmt.b32.f4e", R, R, R, R)
FORM3("prmt.b32.b4e", R, R, R, R)
FORM3("prmt.b32.rc8", R, R, R, R)
FORM3("prmt.b32.ecl", R, R, R, R)
FORM3("prmt.b32.ecr", R, R, R, R)
FORM3("prmt.b32.rc16", R, R, R, R)
FORM3("shf.l.wrap.b32", R, R, R, R)
FORM3("shf.r.clamp.b32", R, R, R, R)
FORM2("mul.hi.s32", R, R, R)
FORM3("mad.hi.u32", R, R, R, R)
FORM3("mad.hi.sat.s32", R, R, R, R)
FORM2("add.sat.s32", R, R, R)
FORM3("dp4a.s32.s32", R, R, R, R)
FORM3("dp4a.u32.s32", R, R, R, R)
FORM3("sad.s32", R, R, R, R)
FORM1("abs.s32", R, R)
FORM2("mul24.lo.s32", R, R, R)
FORM2("mul24.hi.u32", R, R, R)
FORM3("slct.f32.f32", F, F, F, F)

constexpr int forms = __COUNTER__ - first;
constexpr int cases = 4096;

template <int k>
__global__ void evaluate(const u64* d_in, u64* d_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const u64* in = d_in + 4 * i;
  d_out[i] = Form<k>::run(in[0], in[1], in[2], in[3]);
}

// SplitMix64 (Steele, Lea and Flood 2014).
static u64 mix(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

static u64 input(char type, u64 r) {
  static const std::vector<u64> f = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fffffff,
                                     0xffc12345, 0x7f812345, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000,
                                     0x00800001, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x40400000,
                                     0xc0200000, 0x4b000001, 0x33800000, 0x34000000, 0x4f000000, 0x5f000000};
  static const std::vector<u64> d = {0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
                                     0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000777,
                                     0x7ff0000000000123, 0x0000000000000001, 0x000fffffffffffff, 0x0010000000000000,
                                     0x3fefffffffffffff, 0x7fefffffffffffff, 0x3fe0000000000000, 0x4008000000000000,
                                     0x41e0000000000000, 0x43e0000000000000, 0x36a0000000000000, 0x380fffffffffffff};
  static const std::vector<u64> h = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e01, 0xfe01, 0x7d01, 1,
                                     0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3555, 0x3f80, 0x7f80, 0x7fc1, 0xff80};
  static const std::vector<u64> integers = {
      0x0000000000000000, 0x0000000000000001, 0x0000000000000002, 0x0000000000000003, 0x0000000000000007,
      0x000000000000001f, 0x0000000000000020, 0x0000000000000021, 0x000000000000003f, 0x0000000000000040,
      0x000000007fffffff, 0x0000000080000000, 0x00000000ffffffff, 0x00000000fffffffe, 0x0000000000000008,
      0x0000000055555555, 0x0000000000ff00ff, 0x8000000000000000, 0x7fffffffffffffff, 0xffffffffffffffff};
  const std::vector<u64>& special = type == 'F' ? f : type == 'D' ? d : type == 'H' ? h : integers;
  const u64 value = r & 1 ? special[(r >> 8) % special.size()] : mix(r);
  return type == 'F' || type == 'R' ? value & 0xffffffff : type == 'H' ? value & 0xffff : value;
}

template <int k>
void run(const char* wanted, u64* d_in, u64* d_out) {
  if (!wanted || strcmp(wanted, Form<k>::name()) == 0) {
    std::vector<u64> in(4 * cases), out(cases);
    const char* types = Form<k>::types();
    for (int i = 0; i < cases; ++i)
      for (int place = 0; types[place]; ++place) in[4 * i + place] = input(types[place], mix(4 * i + place));
    cudaMemcpy(d_in, in.data(), in.size() * sizeof(u64), cudaMemcpyHostToDevice);
    evaluate<k><<<cases / 128, 128>>>(d_in, d_out);
    const cudaError_t error = cudaMemcpy(out.data(), d_out, out.size() * sizeof(u64), cudaMemcpyDeviceToHost);
    u64 hash = 0;
    for (int i = 0; i < cases; ++i) {
      hash = mix(hash ^ out[i]);
      if (wanted)
        printf("%llx %llx %llx %llx = %llx\n", in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3], out[i]);
    }
    printf("%-24s %016llx%s\n", Form<k>::name(), hash, error ? " and an error" : "");
  }
}

template <int... k>
void run_all(const char* wanted, u64* d_in, u64* d_out, std::integer_sequence<int, k...>) {
  (run<k>(wanted, d_in, d_out), ...);
}

int main(int count, char** arguments) {
  u64 *d_in, *d_out;
  cudaMalloc(&d_in, 4 * cases * sizeof(u64));
  cudaMalloc(&d_out, cases * sizeof(u64));
  run_all(count > 1 ? arguments[1] : nullptr, d_in, d_out, std::make_integer_sequence<int, forms>{});
}
