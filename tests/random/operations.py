"""The operations that random kernels are made of: one per line, as a result type and a template.

Names of types in braces are replaced by random expressions of that type: u16 u32 u64 f16 f32 f64, p (a condition),
lane (0 to 31), amount (of a shift, mostly below 70), place (of a bit field, 8 bits), u4 and u8 (immediates). `f16` and `bf16` are unsigned shorts that
hold such a number, `h2` and `b2` unsigned ints that hold two. Alternatives stand as `a,b,c`.

Nothing here may be undefined, in C++ or in PTX: arithmetic is unsigned, divisors are odd, and NaNs become one NaN where
their bits become visible (prelude.cuh), since their payloads are not specified.
"""

import re

# ruff: noqa: E501

EXPRESSIONS = """
u32 {u32} `+,-,*,&,^,|` {u32}
u32 ~{u32}
u32 0u - {u32}
u32 {u32} `/,%` ({u32} | 1u)
u32 divide({u32}, {u32})
u32 remainder({u32}, {u32})
u32 {u32} `<<,>>` ({u32} & 31)
u32 (u32)((s32){u32} >> ({u32} & 31))
u32 {p} ? {u32} : {u32}
u32 (u32){p}
u32 (u32)(`u8,s8,u16,s16`){u32}
u32 (u32)((s8){u32} * (`s8,u8`){u32})
u32 (u32)((s16){u32} `+,-,*` (s32)(u8){u32})
u32 (u32){u64}
u32 (u32)({u64} >> 32)
u32 (u32)(s16){u16}
u32 (u32){u16}
u32 bits({f32})
u32 (u32)bits({f64})
u32 (u32)(bits({f64}) >> 32)
u32 (u32)__`clz,ffs`((s32){u32})
u32 (u32)__`clzll,ffsll`((s64){u64})
u32 (u32)__`popc,brev`({u32})
u32 (u32)__popcll({u64})
u32 __byte_perm({u32}, {u32}, {u32})
u32 __funnelshift_`l,r,lc,rc`({u32}, {u32}, {amount})
u32 (u32)__`mulhi,hadd,rhadd`((s32){u32}, (s32){u32})
u32 __`umulhi,uhadd,urhadd,umul24`({u32}, {u32})
u32 __usad({u32}, {u32}, {u32})
u32 __sad((s32){u32}, (s32){u32}, {u32})
u32 (u32)__dp4a((s32){u32}, (s32){u32}, (s32){u32})
u32 __dp4a({u32}, {u32}, {u32})
u32 __dp2a_`lo,hi`({u32}, {u32}, {u32})
u32 __v`add,sub``2,4`({u32}, {u32})
u32 __v`addss,addus,subss,subus,absdiffs,absdiffu,avgs,avgu,maxs,maxu,mins,minu,sads,sadu``2,4`({u32}, {u32})
u32 __v`cmp,set``eq,ne,gts,gtu,ges,geu,lts,ltu,les,leu``2,4`({u32}, {u32})
u32 __v`abs,neg,absss,negss``2,4`({u32})
u32 `min,max`({u32}, {u32})
u32 (u32)`min,max`((s32){u32}, (s32){u32})
u32 (u32)__float2`int,uint`_`rn,rz,ru,rd`({f32})
u32 (u32)__double2`int,uint`_`rn,rz,ru,rd`({f64})
u32 in[{u32} & 1023]
u32 c_words[{u32} & 63]
u32 (u32)(s32)reinterpret_cast<const `s8,u8`*>(in)[{u32} & 4095]
u32 (u32)(s32)reinterpret_cast<const `s16,u16`*>(in)[{u32} & 2047]
u32 __`ldg,ldcg,ldca,ldcs`(&in[{u32} & 1023])
u32 reinterpret_cast<const uint`2,4`*>(in)[{u32} & 255].`x,y`
u32 (u32)(s32)c_records[{u32} & 3].`a,b,e`
u32 pick_lane({u32} | 1u, {u32})
u64 {u64} `+,-,*,&,^,|` {u64}
u64 ~{u64}
u64 {u64} `/,%` ({u64} | 1u)
u64 divide({u64}, {u64})
u64 remainder({u64}, {u64})
u64 {u64} `<<,>>` ({u32} & 63)
u64 (u64)((s64){u64} >> ({u32} & 63))
u64 {p} ? {u64} : {u64}
u64 (u64){u32}
u64 (u64)(s64)(s32){u32}
u64 (u64){u32} << 32 | {u32}
u64 (u64){u32} * {u32}
u64 (u64)((s64)(s32){u32} * (s32){u32})
u64 (u64)(s64)(`s8,s16`){u64}
u64 (u64)(`u8,u16`){u64}
u64 bits({f64})
u64 __umul64hi({u64}, {u64})
u64 (u64)__mul64hi((s64){u64}, (s64){u64})
u64 __brevll({u64})
u64 `min,max`({u64}, {u64})
u64 (u64)`min,max`((s64){u64}, (s64){u64})
u64 (u64)__float2`ll,ull`_`rn,rz,ru,rd`({f32})
u64 (u64)__double2`ll,ull`_`rn,rz,ru,rd`({f64})
u64 reinterpret_cast<const u64*>(in)[{u32} & 511]
u64 c_records[{u32} & 3].d
u16 (u16)((u32){u16} `+,-,*,&,^,|` {u16})
u16 (u16)((s16){u16} >> ({u32} & 15))
u16 (u16)({u16} `<<,>>` ({u32} & 15))
u16 (u16){u32}
u16 (u16)(s8){u16}
u16 (u16)({u16} `/,%` ({u16} | 1))
u16 (u16)`min,max`((s16){u16}, (s16){u16})
u16 c_records[{u32} & 3].b
p {u32} `<,>,<=,>=,==,!=` {u32}
p (s32){u32} `<,>,<=,>=` (s32){u32}
p {u64} `<,>,<=,>=,==,!=` {u64}
p (s64){u64} `<,>,<=,>=` (s64){u64}
p (s16){u16} `<,>,<=,>=` (s16){u16}
p {f32} `<,>,<=,>=,==,!=` {f32}
p !({f32} `<,>,<=,>=` {f32})
p {f64} `<,>,<=,>=,==,!=` {f64}
p !({f64} `<,>,<=,>=` {f64})
p isnan({f32})
p isfinite({f64})
p {p} `&&,||` {p}
p !{p}
p {p} != {p}
p ({u32} & `1,3,16,255`) == 0
f32 __f`add,sub,mul,div`_`rn,rz,ru,rd`({f32}, {f32})
f32 __fmaf_`rn,rz,ru,rd`({f32}, {f32}, {f32})
f32 __f`sqrt,rcp`_`rn,rz,ru,rd`({f32})
f32 {f32} `+,-,*,/` {f32}
f32 f`min,max`f({f32}, {f32})
f32 -{f32}
f32 fabsf({f32})
f32 `truncf,floorf,ceilf,rintf,roundf`({f32})
f32 copysignf({f32}, plain({f32}))
f32 __saturatef({f32})
f32 {p} ? {f32} : {f32}
f32 __uint_as_float({u32})
f32 __`,u`int2float_`rn,rz,ru,rd`({u32})
f32 __`,u`ll2float_`rn,rz,ru,rd`({u64})
f32 __double2float_`rn,rz,ru,rd`({f64})
f32 c_records[{u32} & 3].c
f32 __int_as_float((s32)in[{u32} & 1023])
f64 __d`add,sub,mul,div`_`rn,rz,ru,rd`({f64}, {f64})
f64 __fma_`rn,rz,ru,rd`({f64}, {f64}, {f64})
f64 __d`sqrt,rcp`_`rn,rz,ru,rd`({f64})
f64 {f64} `+,-,*,/` {f64}
f64 f`min,max`({f64}, {f64})
f64 -{f64}
f64 fabs({f64})
f64 `trunc,floor,ceil,rint`({f64})
f64 copysign({f64}, plain({f64}))
f64 {p} ? {f64} : {f64}
f64 __longlong_as_double((s64){u64})
f64 __`,u`int2double_rn({u32})
f64 __`,u`ll2double_`rn,rz,ru,rd`({u64})
f64 (f64){f32}
"""

# A result type, an instruction and the types of its operands. They become functions of inline PTX.
INSTRUCTIONS = """
u32 `shl.b32,shr.u32,shr.s32` u32 amount
u64 `shl.b64,shr.u64,shr.s64` u64 amount
u16 `shl.b16,shr.u16,shr.s16` u16 amount
u32 shf.`l,r`.`clamp,wrap`.b32 u32 u32 amount
u32 bfe.`u32,s32` u32 place place
u64 bfe.`u64,s64` u64 place place
u32 bfi.b32 u32 u32 place place
u64 bfi.b64 u64 u64 place place
u32 bfind`,.shiftamt`.`u32,s32` u32
u32 bfind`,.shiftamt`.`u64,s64` u64
u32 lop3.b32 u32 u32 u32 #256
u32 prmt.b32`,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16` u32 u32 u32
u32 sad.`u32,s32` u32 u32 u32
u64 sad.`u64,s64` u64 u64 u64
u16 sad.`u16,s16` u16 u16 u16
u32 mad.`lo,hi`.`u32,s32` u32 u32 u32
u64 mad.`lo,hi`.`u64,s64` u64 u64 u64
u16 mad.`lo,hi`.`u16,s16` u16 u16 u16
u32 mad.wide.`u16,s16` u16 u16 u32
u64 mad.wide.`u32,s32` u32 u32 u64
u32 mul.wide.`u16,s16` u16 u16
u64 mul.wide.`u32,s32` u32 u32
u32 mad.hi.sat.s32 u32 u32 u32
u32 `add,sub`.sat.s32 u32 u32
u32 mul24.`lo,hi`.`u32,s32` u32 u32
u32 mad24.`lo,hi`.`u32,s32` u32 u32 u32
u32 mad24.hi.sat.s32 u32 u32 u32
u32 slct.`u32,s32,b32`.s32 u32 u32 u32
u64 slct.`u64,s64`.s32 u64 u64 u32
u32 slct`,.ftz`.u32.f32 u32 u32 f32
f32 slct.f32.s32 f32 f32 u32
u32 set.`eq,ne,lt,le,gt,ge`.u32.`u32,s32` u32 u32
u32 set.`lo,ls,hi,hs`.u32.u32 u32 u32
f32 set.`eq,ne,lt,le,gt,ge`.f32.`u32,s32` u32 u32
u32 set.`eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan``,.ftz`.u32.f32 f32 f32
f32 set.`eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan``,.ftz`.f32.f32 f32 f32
u32 set.`eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan`.u32.f64 f64 f64
u32 set.`lt,ge,eq,ne`.u32.`u64,s64` u64 u64
u32 dp4a.`u32,s32`.`u32,s32` u32 u32 u32
u32 dp2a.`lo,hi`.`u32,s32`.`u32,s32` u32 u32 u32
u32 bmsk.`clamp,wrap`.b32 amount amount
u32 szext.`clamp,wrap`.`u32,s32` u32 amount
u32 `popc,clz`.b64 u64
u32 cnot.b32 u32
u64 cnot.b64 u64
u16 `not,cnot`.b16 u16
u16 `min,max`.`u16,s16` u16 u16
u16 `abs,neg`.s16 u16
u32 `abs,neg`.s32 u32
u64 `abs,neg`.s64 u64
u16 mul.`lo,hi`.`u16,s16` u16 u16
u32 cvt`,.sat`.`u8,s8,u16,s16`.`u32,s32` u32
u32 cvt`,.sat`.`u8,s8,u16,s16,u32,s32`.`u64,s64` u64
u32 cvt.`u32,s32`.`u8,s8,u16,s16` u16
u32 cvt.sat.u32.`s8,s16` u16
u16 cvt.`u8,s8,u16,s16`.`u8,s8,u16,s16` u16
u16 cvt.sat.`u8.s8,u8.u16,u8.s16,s8.u8,s8.u16,s8.s16,u16.s8,u16.s16,s16.u16` u16
u64 cvt.`u64,s64`.`u8,s8,u16,s16` u16
u64 cvt.sat.u64.`s8,s16` u16
u64 cvt.`u64,s64`.`u8,s8,u16,s16,u32,s32` u32
u64 cvt.sat.u64.`s8,s16,s32` u32
u32 cvt.`rni,rzi,rmi,rpi``,.ftz`.`u8,s8,u16,s16,u32,s32`.f32 f32
u64 cvt.`rni,rzi,rmi,rpi``,.ftz`.`u64,s64`.f32 f32
u32 cvt.`rni,rzi,rmi,rpi`.`u8,s8,u16,s16,u32,s32`.f64 f64
u64 cvt.`rni,rzi,rmi,rpi`.`u64,s64`.f64 f64
u32 cvt.`rni,rzi,rmi,rpi`.`u8,s8,u16,s16,u32,s32`.f16 f16
u64 cvt.`rni,rzi,rmi,rpi`.`u64,s64`.f16 f16
f32 cvt.`rn,rz,rm,rp``,.ftz``,.sat`.f32.`u8,s8,u16,s16,u32,s32` u32
f32 cvt.`rn,rz,rm,rp`.f32.`u64,s64` u64
f64 cvt.`rn,rz,rm,rp``,.sat`.f64.`u64,s64` u64
f64 cvt.`rn,rz,rm,rp`.f64.`u8,s8,u16,s16,u32,s32` u32
f16 cvt.`rn,rz,rm,rp`.f16.`u8,s8,u16,s16,u32,s32` u32
f16 cvt.`rn,rz,rm,rp`.f16.`u64,s64` u64
f16 cvt.`rn,rz,rm,rp``,.ftz``,.sat`.f16.f32 f32
f16 cvt.`rn,rz,rm,rp``,.sat`.f16.f64 f64
f32 cvt`,.ftz``,.sat`.f32.f16 f16
f64 cvt`,.sat`.f64.f16 f16
f32 cvt.`rni,rzi,rmi,rpi``,.ftz``,.sat`.f32.f32 f32
f64 cvt.`rni,rzi,rmi,rpi``,.sat`.f64.f64 f64
f16 cvt.`rni,rzi,rmi,rpi`.f16.f16 f16
f32 cvt.`rn,rz,rm,rp``,.ftz``,.sat`.f32.f64 f64
f64 cvt`,.ftz``,.sat`.f64.f32 f32
bf16 cvt.`rn,rz``,.relu`.bf16.f32 f32
h2 cvt.`rn,rz``,.relu`.f16x2.f32 f32 f32
b2 cvt.`rn,rz``,.relu`.bf16x2.f32 f32 f32
f32 `add,sub,mul`.`rn,rz,rm,rp``,.ftz``,.sat`.f32 f32 f32
f32 fma.`rn,rz,rm,rp``,.ftz``,.sat`.f32 f32 f32 f32
f32 div.`rn,rz,rm,rp``,.ftz`.f32 f32 f32
f32 `rcp,sqrt`.`rn,rz,rm,rp``,.ftz`.f32 f32
f32 `min,max``,.ftz``,.NaN`.f32 f32 f32
f32 `abs,neg``,.ftz`.f32 f32
f64 `min,max`.f64 f64 f64
f64 `abs,neg`.f64 f64
f64 div.`rn,rz,rm,rp`.f64 f64 f64
f64 `rcp,sqrt`.`rn,rz,rm,rp`.f64 f64
f16 `add,sub,mul`.rn`,.ftz``,.sat`.f16 f16 f16
f16 fma.rn`,.ftz``,.sat,.relu`.f16 f16 f16 f16
f16 `min,max``,.ftz``,.NaN`.f16 f16 f16
f16 `abs,neg`.f16 f16
h2 `add,sub,mul`.rn`,.ftz``,.sat`.f16x2 h2 h2
h2 fma.rn`,.ftz``,.sat,.relu`.f16x2 h2 h2 h2
h2 `min,max``,.ftz``,.NaN`.f16x2 h2 h2
h2 `abs,neg`.f16x2 h2
h2 set.`eq,lt,geu,nan`.f16x2.f16x2 h2 h2
bf16 fma.rn`,.relu`.bf16 bf16 bf16 bf16
bf16 `min,max``,.NaN`.bf16 bf16 bf16
bf16 `abs,neg`.bf16 bf16
b2 fma.rn`,.relu`.bf16x2 b2 b2 b2
b2 `min,max``,.NaN`.bf16x2 b2 b2
"""

# Several instructions in one piece of inline PTX: %0 is the result. Flags, predicates, and what nvcc hardly ever emits.
SEQUENCES = """
u64 .reg .b32 lo, hi, x, y, z, w; mov.b64 {x, y}, %1; mov.b64 {z, w}, %2; add.cc.u32 lo, x, z; addc.u32 hi, y, w; mov.b64 %0, {lo, hi}; / u64 u64
u64 .reg .b32 lo, hi, x, y, z, w; mov.b64 {x, y}, %1; mov.b64 {z, w}, %2; sub.cc.u32 lo, x, z; subc.u32 hi, y, w; mov.b64 %0, {hi, lo}; / u64 u64
u32 .reg .b32 t; add.cc.u32 t, %1, %2; addc.cc.u32 t, t, %3; addc.u32 %0, t, 0; / u32 u32 u32
u32 .reg .b32 t; sub.cc.u32 t, %1, %2; subc.cc.u32 t, t, %3; subc.u32 %0, t, 0; / u32 u32 u32
u64 .reg .b64 t; add.cc.u64 t, %1, %2; addc.cc.u64 t, t, %3; addc.u64 %0, t, 1; / u64 u64 u64
u64 .reg .b64 t; sub.cc.s64 t, %1, %2; subc.u64 %0, t, %3; / u64 u64 u64
u32 .reg .b32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.cc.u32 t, %1, %2, t; addc.u32 %0, t, 7; / u32 u32 u32
u32 .reg .b32 t; mad.hi.cc.s32 t, %1, %2, %3; madc.lo.u32 %0, t, %2, %1; / u32 u32 u32
u32 .reg .pred p, q; setp.`lt,ge,ne`.u32 p|q, %1, %2; mov.u32 %0, %3; @p add.u32 %0, %0, %1; @!q xor.b32 %0, %0, %2; / u32 u32 u32
u32 .reg .pred p, q, r; setp.lt.u32 p, %1, %2; setp.gt.`and,or,xor`.s32 q|r, %1, %3, `p,!p`; selp.b32 %0, %2, %3, q; @r mul.lo.u32 %0, %0, 3; / u32 u32 u32
u32 .reg .pred p, q; setp.`equ,ltu,gtu,nan,num``,.ftz`.f32 p|q, %1, %2; selp.u32 %0, 5, 9, p; @q add.u32 %0, %0, 100; / f32 f32
u32 .reg .pred p; setp.`lt,geu,nan,num`.f16 p, %1, %2; selp.u32 %0, 5, 9, p; @!p add.u32 %0, %0, 100; / f16 f16
u32 .reg .pred p, q; setp.`lt,geu,nan,num`.f16x2 p|q, %1, %2; selp.u32 %0, 5, 9, p; @q add.u32 %0, %0, 100; / h2 h2
u32 .reg .pred p; testp.`finite,infinite,number,notanumber,normal,subnormal`.f32 p, %1; selp.u32 %0, 3, 4, p; / f32
u32 .reg .pred p; testp.`finite,infinite,number,notanumber,normal,subnormal`.f64 p, %1; selp.u32 %0, 3, 4, p; / f64
u32 .reg .pred p, q; setp.ne.u32 p, %1, %2; setp.lo.u32 q, %3, %1; `and,or,xor`.pred p, p, q; not.pred q, q; @p bra L; mov.u32 %0, 11; bra M; L: add.u32 %0, %1, %2; @q sub.u32 %0, %0, %3; M: / u32 u32 u32
u32 .reg .b16 a, b; mov.b32 {a, b}, %1; add.u16 a, a, b; mov.b32 %0, {b, a}; / u32
u32 .reg .u32 i; .reg .pred p; mov.u32 i, 0; mov.u32 %0, %1; N: add.u32 %0, %0, i; add.u32 i, i, 1; and.b32 %0, %0, 0xffff; setp.lt.u32 p, i, %2; @p bra N; / u32 lane
u32 .reg .b8 b; cvt.u8.u32 b, %1; cvt.`s32.s8,u32.u8` %0, b; / u32
u64 .reg .b64 t; {.reg .b64 t; xor.b64 t, %1, %2; shr.u64 %0, t, 7;} mov.b64 t, 3; add.u64 %0, %0, t; / u64 u64
u32 mov.u32 %0, %%lane`id,mask_lt,mask_le,mask_gt,mask_ge,mask_eq`; /
"""


def lines(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split(" ", 1)) for line in text.strip().splitlines()]


ALTERNATIVES = re.compile(r"`([^`]*)`")
EXPRESSION_LINES, INSTRUCTION_LINES, SEQUENCE_LINES = (lines(EXPRESSIONS), lines(INSTRUCTIONS), lines(SEQUENCES))
