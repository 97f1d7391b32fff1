"""The litmus tests. Verdicts are reasoned from the sources in README.md; run.py asks the oracle whether it agrees.

A shape is a program with gaps, {0}, {1}, …; a row of it has a name, the verdict, and what is in the gaps. Threads are
in blocks of their own, unless the name ends with "in a block", or names the blocks in brackets: (a a b).
"""

from language import Test, parse

ALLOWED, FORBIDDEN, LOAD_BUFFERING = "allowed", "forbidden", "allowed by load buffering only"
A, F, L = ALLOWED, FORBIDDEN, LOAD_BUFFERING
X, V, P = "rlx.gpu", "volatile", "plain"
TF, TB, TS = "threadfence", "threadfence_block", "threadfence_system"
AR, SC = "fence acq_rel.gpu", "fence sc.gpu"

# Each entry: the shape's name, its program, the outcome that is asked for, and its rows.
SHAPES = [
    # Message passing: data, a fence, flag; flag, a fence, data.
    ("MP", "st x 1 {0}; {1}; st y 1 {2} | ld r0 y {3}; {4}; ld r1 x {5}", "r0=1 r1=0", [
        ("relaxed", A, X, "", X, X, "", X),
        ("volatile", A, V, "", V, V, "", V),
        ("relaxed in a block", A, "rlx.cta", "", "rlx.cta", "rlx.cta", "", "rlx.cta"),
        ("threadfence+threadfence", F, X, TF, X, X, TF, X),
        ("threadfence+none", A, X, TF, X, X, "", X),
        ("none+threadfence", A, X, "", X, X, TF, X),
        ("volatile+threadfence+threadfence", F, V, TF, V, V, TF, V),
        ("volatile+threadfence_block+threadfence_block", A, V, TB, V, V, TB, V),
        ("threadfence_block+threadfence_block", A, X, TB, X, X, TB, X),
        ("threadfence_block+threadfence_block in a block", F, X, TB, X, X, TB, X),
        ("threadfence_block+threadfence", A, X, TB, X, X, TF, X),
        ("threadfence+threadfence_block", A, X, TF, X, X, TB, X),
        ("threadfence_block+threadfence in a block", F, X, TB, X, X, TF, X),
        ("threadfence+threadfence_system", F, X, TF, X, X, TS, X),
        ("threadfence_system+threadfence_system", F, X, TS, X, X, TS, X),
        ("fence_acq_rel+fence_acq_rel", F, X, AR, X, X, AR, X),
        ("fence_rel+fence_acq", F, X, "fence rel.gpu", X, X, "fence acq.gpu", X),
        ("fence_acq_rel.cta+fence_acq_rel.cta", A, X, "fence acq_rel.cta", X, X, "fence acq_rel.cta", X),
        ("fence_acq_rel.cta+fence_acq_rel.cta in a block", F, X, "fence acq_rel.cta", X, X, "fence acq_rel.cta", X),
        ("fence_sc+fence_acq_rel", F, X, SC, X, X, AR, X),
        ("rel+acq", F, X, "", "rel.gpu", "acq.gpu", "", X),
        ("rel+relaxed", A, X, "", "rel.gpu", X, "", X),
        ("relaxed+acq", A, X, "", X, "acq.gpu", "", X),
        ("sc+sc", F, X, "", "sc.gpu", "sc.gpu", "", X),
        ("rel.cta+acq.cta", A, X, "", "rel.cta", "acq.cta", "", X),
        ("rel.cta+acq.cta in a block", F, X, "", "rel.cta", "acq.cta", "", X),
        ("rel.gpu+acq.cta", A, X, "", "rel.gpu", "acq.cta", "", X),
        ("rel.sys+acq.gpu", F, X, "", "rel.sys", "acq.gpu", "", X),
        ("threadfence+acq", F, X, TF, X, "acq.gpu", "", X),
        ("rel+threadfence", F, X, "", "rel.gpu", X, TF, X),
        ("ptx rel+acq", F, "ptx.rlx.gpu", "", "ptx.rel.gpu", "ptx.acq.gpu", "", "ptx.rlx.sys"),
    ]),
    # The same with plain data, which is read only after the flag.
    ("MP+plain", "st x 1 plain; {0}; {1} | {2}; {3}; ?r0==1 ld r1 x plain", "r0=1 r1=0", [
        ("rel+acq", F, "", "st y 1 rel.gpu", "ld r0 y acq.gpu", ""),
        ("threadfence+threadfence", F, TF, "st y 1 volatile", "ld r0 y volatile", TF),
        ("threadfence+xchg", F, TF, "xchg _ y 1 fn.gpu", "add r0 y 0 fn.gpu", TF),
        ("rel+acq in a block", F, "", "st y 1 rel.cta", "ld r0 y acq.cta", ""),
    ]),
    # Reads-modify-writes are relaxed: they order nothing by themselves.
    ("MP+atomics", "st x 1 volatile; xchg _ y 1 {0} | add r0 y 0 {1}; ld r1 x volatile", "r0=1 r1=0", [
        ("fn+fn", A, "fn.gpu", "fn.gpu"),
        ("rel+acq", F, "rel.gpu", "acq.gpu"),
        ("acq_rel+acq_rel", F, "acq_rel.gpu", "acq_rel.gpu"),
        ("sc+sc", F, "sc.gpu", "sc.gpu"),
    ]),
    # One that changes nothing reads old values as a load does.
    ("MP+polls", f"st x 1 {X}; {{0}}; st y 1 {X} | add r0 y 0 fn.gpu; {{1}}; {{2}}", "r0=1 r1=0", [
        ("none+none, add", A, "", "", "add r1 x 0 fn.gpu"),
        ("threadfence+none, add", A, TF, "", "add r1 x 0 fn.gpu"),
        ("threadfence+threadfence, add", F, TF, TF, "add r1 x 0 fn.gpu"),
        ("none+none, cas that fails", A, "", "", "cas r1 x 2 3 fn.gpu"),
        ("threadfence+threadfence, cas that fails", F, TF, TF, "cas r1 x 2 3 fn.gpu"),
        ("none+none, xchg", A, "", "", "xchg r1 x 1 fn.gpu"),
    ]),
    # But it is a write, too: the second of two reads from the first one's, and learns what that releases. A
    # compare-and-swap that fails is no write (ISA 8.4).
    ("SB+same place", f"st x 1 {X}; {{0}}; ld r0 y {X} | st y 1 {X}; {{1}}; ld r1 x {X}", "r0=0 r1=0", [
        ("add 0 relaxed", A, f"add _ z 0 {X}", f"add _ z 0 {X}"),
        ("add 0 acq_rel", F, "add _ z 0 acq_rel.gpu", "add _ z 0 acq_rel.gpu"),
        ("add 0 between threadfence_block", A, f"{TB}; add _ z 0 {X}; {TB}", f"{TB}; add _ z 0 {X}; {TB}"),
        ("add 0 between fence_acq_rel", F, f"{AR}; add _ z 0 {X}; {AR}", f"{AR}; add _ z 0 {X}; {AR}"),
        ("add 0 acq_rel, cas that fails", A, "add _ z 0 acq_rel.gpu", "cas _ z 5 6 acq_rel.gpu"),
        ("add 0 acq_rel, xchg", F, "add _ z 0 acq_rel.gpu", "xchg _ z 0 acq_rel.gpu"),
        ("add 0 acq_rel elsewhere", A, "add _ z 0 acq_rel.gpu", "add _ w 0 acq_rel.gpu"),
    ]),
    # A reduction forms no acquire pattern (ISA 8.11.1).
    ("MP+red", f"st x 1 {X}; st y 1 rel.gpu | {{0}}; {AR}; ld r0 x {X}", "r0=0 y=2", [
        ("red", A, "red y 1 ptx.rlx.gpu"),
    ]),
    ("MP+syncthreads", "st x 1 {0}; syncthreads | syncthreads; ld r0 x {0}", "r0=0", [
        ("plain in a block", F, P),
        ("relaxed in a block", F, "rlx.cta"),
    ]),
    # A barrier passes on what a thread of the block has acquired, or what another one releases; it acquires nothing
    # from other blocks.
    ("MP+cumulative", "{0} | {1} | {2}", "r0=1 r1=0", [
        ("acq and syncthreads (a a b)", F, "ld r0 y acq.gpu; syncthreads", f"syncthreads; ld r1 x {X}",
         f"st x 1 {X}; st y 1 rel.gpu"),
        ("no acq and syncthreads (a a b)", A, f"ld r0 y {X}; syncthreads", f"syncthreads; ld r1 x {X}",
         f"st x 1 {X}; st y 1 rel.gpu"),
        ("syncthreads and rel (a a b)", F, f"st x 1 {X}; syncthreads", "syncthreads; st y 1 rel.gpu",
         f"ld r0 y acq.gpu; ld r1 x {X}"),
        ("syncthreads and threadfence (a a b)", F, f"st x 1 {X}; syncthreads", f"syncthreads; {TF}; st y 1 {X}",
         f"ld r0 y {X}; {TF}; ld r1 x {X}"),
        ("syncthreads and no fence (a a b)", A, f"st x 1 {X}; syncthreads", f"syncthreads; st y 1 {X}",
         f"ld r0 y {X}; {TF}; ld r1 x {X}"),
    ]),
    # Release sequences (ISA 8.8 and 8.9.2): through read-modify-writes of others, and own later writes.
    ("MP+sequence", f"st x 1 {X}; {{0}} | {{1}} | {{2}}; ld r2 x {X}", "r1=2 r2=0", [
        ("rel+add+acq", F, "st y 1 rel.gpu", f"add r0 y 1 {X}; ", "ld r1 y acq.gpu"),
        ("threadfence+add+threadfence", F, f"{TF}; st y 1 volatile", "add r0 y 1 fn.gpu", f"ld r1 y volatile; {TF}"),
        ("rel+add.cta+acq", A, "st y 1 rel.gpu", "add r0 y 1 rlx.cta", "ld r1 y acq.gpu"),
        ("rel+write+acq", A, "st y 1 rel.gpu", f"st y 2 {X}", "ld r1 y acq.gpu"),
    ]),
    ("MP+sequence+xchg", f"st x 1 {X}; st y 1 rel.gpu | xchg r0 y 2 {X} | ld r1 y acq.gpu; ld r2 x {X}",
     "r0=1 r1=2 r2=0", [("rel+xchg+acq", F)]),
    ("MP+own", f"st x 1 {X}; {{0}}; st y 2 {X} | ld r0 y acq.gpu; ld r1 x {X}", "r0=2 r1=0", [
        ("rel, own write+acq", F, "st y 1 rel.gpu"),  # C++20 no longer gives it
        ("threadfence, own writes+acq", F, f"{TF}; st y 1 {X}"),
        ("rel elsewhere, own write+acq", A, "st z 1 rel.gpu"),
    ]),
    # The read that observes the release is relaxed, and a later one of the same location acquires: an acquire pattern
    # of PTX, not of C++.
    ("MP+late", f"st x 1 {X}; st y 1 rel.gpu | st y 2 {X} | ld r0 y {X}; {{0}}; ld r2 x {X}", "r0=1 r1=2 r2=0", [
        ("acq of the same location", F, "ld r1 y acq.gpu"),
        ("relaxed", A, f"ld r1 y {X}"),
    ]),
    ("MP+late elsewhere", f"st x 1 {X}; st y 1 rel.gpu | ld r0 y {X}; ld r1 z acq.gpu; ld r2 x {X}", "r0=1 r2=0",
     [("acq of another location", A)]),
    # Store buffering.
    ("SB", "st x 1 {0}; {1}; ld r0 y {2} | st y 1 {0}; {3}; ld r1 x {2}", "r0=0 r1=0", [
        ("relaxed", A, X, "", X, ""),
        ("rel+acq", A, "rel.gpu", "", "acq.gpu", ""),
        ("sc", F, "sc.gpu", "", "sc.gpu", ""),
        ("fence_acq_rel+fence_acq_rel", A, X, AR, X, AR),
        ("fence_sc+fence_sc", F, X, SC, X, SC),
        ("fence_sc+none", A, X, SC, X, ""),
        ("fence_sc+fence_acq_rel", A, X, SC, X, AR),
        ("threadfence+threadfence", F, X, TF, X, TF),
        ("volatile+threadfence+threadfence", F, V, TF, V, TF),
        ("threadfence+threadfence_system", F, X, TF, X, TS),
        ("threadfence_block+threadfence_block", A, X, TB, X, TB),
        ("threadfence_block+threadfence_block in a block", F, X, TB, X, TB),
        ("threadfence_block+threadfence", A, X, TB, X, TF),
        ("syncthreads in a block", F, P, "syncthreads", P, "syncthreads"),
    ]),
    ("SB+xchg", "xchg _ x 1 {0}; ld r0 y {1} | xchg _ y 1 {0}; ld r1 x {1}", "r0=0 r1=0", [
        ("acq_rel", A, "acq_rel.gpu", "acq.gpu"),
        ("sc", F, "sc.gpu", "sc.gpu"),
    ]),
    # Load buffering: PTX allows it, a view machine does not show it.
    ("LB", "ld r0 x {0}; {1}; st y 1 {2} | ld r1 y {0}; {3}; st x 1 {2}", "r0=1 r1=1", [
        ("relaxed", L, X, "", X, ""),
        ("volatile", L, V, "", V, ""),
        ("threadfence+none", L, X, TF, X, ""),
        ("threadfence+threadfence", F, X, TF, X, TF),
        ("threadfence_block+threadfence_block", L, X, TB, X, TB),
        ("fence_acq_rel+fence_acq_rel", F, X, AR, X, AR),
        ("acq+rel", F, "acq.gpu", "", "rel.gpu", ""),
        ("acq+relaxed", L, "acq.gpu", "", X, ""),
        ("relaxed+rel", L, X, "", "rel.gpu", ""),
    ]),
    ("LB+one way", f"ld r0 x {X}; {{0}} | {{1}}; st x 1 {X}", "r0=1 r1=1", [
        ("rel+acq", F, "st y 1 rel.gpu", "ld r1 y acq.gpu"),
        ("rel.cta+acq.gpu", L, "st y 1 rel.cta", "ld r1 y acq.gpu"),
    ]),
    ("LB+data", f"ld r0 x {X}; st y {{0}} {X} | ld r1 y {X}; st x {{1}} {X}", "r1=1", [
        ("data+data", F, "r0", "r1"),  # 1 out of thin air
        ("data+none", L, "r0", "1"),
    ]),
    ("LB+guard", f"ld r0 x {X}; ?r0==1 st y 1 {X} | ld r1 y {X}; ?r1==1 st x 1 {X}", "r0=1", [("guard+guard", F)]),
    # Independent reads of independent writes.
    ("IRIW", "st x 1 {0} | st y 1 {0} | ld r0 x {1}; {2}; ld r1 y {1} | ld r2 y {1}; {3}; ld r3 x {1}",
     "r0=1 r1=0 r2=1 r3=0", [
        ("relaxed", A, X, X, "", ""),
        ("rel+acq", A, "rel.gpu", "acq.gpu", "", ""),
        ("sc", F, "sc.gpu", "sc.gpu", "", ""),
        ("fence_acq_rel+fence_acq_rel", A, X, X, AR, AR),
        ("fence_sc+fence_acq_rel", A, X, X, SC, AR),
        ("threadfence+threadfence", F, X, X, TF, TF),
        ("threadfence_block+threadfence_block", A, X, X, TB, TB),
        ("threadfence_block+threadfence_block (a b c c)", F, X, X, TB, TB),
    ]),
    # Causality from writer to writer to reader.
    ("WRC", f"st x 1 {X} | ld r0 x {X}; {{0}}; st y 1 {{1}} | ld r1 y {{2}}; {{3}}; ld r2 x {X}", "r0=1 r1=1 r2=0", [
        ("relaxed", A, "", X, X, ""),
        ("rel+acq", F, "", "rel.gpu", "acq.gpu", ""),
        ("threadfence+threadfence", F, TF, X, X, TF),
        ("threadfence+none", A, TF, X, X, ""),
        ("threadfence_block+threadfence (a a b)", A, TB, X, X, TF),
        ("rel+acq (a a b)", F, "", "rel.gpu", "acq.gpu", ""),
    ]),
    ("ISA2", f"st x 1 {X}; {{0}}; st y 1 {{1}} | ld r0 y {{2}}; {{3}}; st z 1 {{4}}"
     f" | ld r1 z {{5}}; {{6}}; ld r2 x {X}", "r0=1 r1=1 r2=0", [
        ("relaxed", A, "", X, X, "", X, X, ""),
        ("rel+acq", F, "", "rel.gpu", "acq.gpu", "", "rel.gpu", "acq.gpu", ""),
        ("threadfence+threadfence+threadfence", F, TF, X, X, TF, X, X, TF),
        ("rel.cta+acq.cta, rel+acq (a a b)", F, "", "rel.cta", "acq.cta", "", "rel.gpu", "acq.gpu", ""),
        ("threadfence_block+threadfence+threadfence (a a b)", F, TB, X, X, TF, X, X, TF),
        ("threadfence_block+threadfence+threadfence", A, TB, X, X, TF, X, X, TF),
    ]),
    ("2+2W", "st x 1 {0}; {1}; st y 2 {0} | st y 1 {0}; {2}; st x 2 {0}", "x=1 y=1", [
        ("relaxed", A, X, "", ""),
        ("rel", A, "rel.gpu", "", ""),
        ("fence_acq_rel+fence_acq_rel", A, X, AR, AR),
        ("threadfence+threadfence", F, X, TF, TF),
        ("threadfence_block+threadfence_block", A, X, TB, TB),
        ("sc", F, "sc.gpu", "", ""),
    ]),
    ("R", "st x 1 {0}; {1}; st y 1 {0} | st y 2 {0}; {2}; ld r0 x {3}", "y=2 r0=0", [
        ("relaxed", A, X, "", "", X),
        ("rel+acq", A, "rel.gpu", "", "", "acq.gpu"),
        ("fence_acq_rel+fence_acq_rel", A, X, AR, AR, X),
        ("threadfence+threadfence", F, X, TF, TF, X),
        ("sc", F, "sc.gpu", "", "", "sc.gpu"),
    ]),
    ("S", "st x 2 {0}; {1}; st y 1 {2} | ld r0 y {3}; {4}; st x {5} {0}", "r0=1 x=2", [
        ("relaxed", A, X, "", X, X, "", "1"),
        ("rel+acq", F, X, "", "rel.gpu", "acq.gpu", "", "1"),
        ("threadfence+threadfence", F, X, TF, X, X, TF, "1"),
        ("threadfence+none", A, X, TF, X, X, "", "1"),
        ("rel+data", A, X, "", "rel.gpu", X, "", "r0"),
    ]),
    ("RWC", f"st x 1 {X} | ld r0 x {X}; {{0}}; ld r1 y {X} | st y 1 {X}; {{1}}; ld r2 x {X}", "r0=1 r1=0 r2=0", [
        ("relaxed", A, "", ""),
        ("fence_acq_rel+fence_acq_rel", A, AR, AR),
        ("threadfence+threadfence", F, TF, TF),
    ]),
    # Coherence.
    ("CoRR", "st x 1 {0} | ld r0 x {1}; ld r1 x {1}", "r0=1 r1=0", [
        ("relaxed", F, X, X),
        ("volatile", F, V, V),
        ("relaxed.cta in a block", F, "rlx.cta", "rlx.cta"),
        ("relaxed.cta", A, "rlx.cta", "rlx.cta"),
    ]),
    ("CoRR+polls", "st x 1 {0} | add r0 x 0 {0}; add r1 x 0 {0}", "r0=1 r1=0",
     [("add", F, X), ("add release", F, "rel.gpu")]),
    ("CoRR2", "st x 1 {0} | st x 2 {0} | ld r0 x {0}; ld r1 x {0} | ld r2 x {0}; ld r3 x {0}", "r0=1 r1=2 r2=2 r3=1",
     [("relaxed", F, X)]),
    ("CoWW", "st x 1 {0}; st x 2 {0}", "x=1", [("relaxed", F, X)]),
    ("CoWR", "st x 1 {0}; ld r0 x {0} | st x 2 {0}", "r0=2 x=1", [("relaxed", F, X)]),
    ("CoRW1", "ld r0 x {0}; st x 1 {0}", "r0=1", [("relaxed", F, X)]),
    ("CoRW2", "ld r0 x {0}; st x 1 {0} | st x 2 {0}", "r0=2 x=2", [("relaxed", F, X), ("volatile", F, V)]),
    # Atomicity of read-modify-writes.
    ("RMW", "{0} | {1}", "r0=0 r1=0", [
        ("add+add", F, f"add r0 x 1 {X}", f"add r1 x 1 {X}"),
        ("atomicAdd+atomicAdd", F, "add r0 x 1 fn.gpu", "add r1 x 1 fn.gpu"),
        ("atomicAdd_block+atomicAdd_block", A, "add r0 x 1 fn.cta", "add r1 x 1 fn.cta"),
        ("atomicAdd_block+atomicAdd", A, "add r0 x 1 fn.cta", "add r1 x 1 fn.gpu"),
        ("atomicAdd_block+atomicAdd_block in a block", F, "add r0 x 1 fn.cta", "add r1 x 1 fn.cta"),
        ("xchg+xchg", F, "xchg r0 x 1 fn.gpu", "xchg r1 x 2 fn.sys"),
        ("cas+cas", F, "cas r0 x 0 1 fn.gpu", f"cas r1 x 0 2 {X}"),
    ]),
    ("RMW+repeat", "xchg r0 x 1 fn.gpu | xchg r1 x 1 fn.gpu", "r0=1 r1=1", [("xchg+xchg", F)]),
    ("RMW+poll", f"add r0 x 1 fn.gpu | {{0}}; st y 1 {X} | ld r2 y {X}; ld r3 x {X}", "r1=0 r2=1 r3=0", [
        ("add", A, "add r1 x 0 fn.gpu"),
        ("add acq_rel", A, "add r1 x 0 acq_rel.gpu"),
    ]),
    ("RMW+write", "add r0 x 1 fn.gpu | st x 5 {0}", "r0=0 x=1", [("relaxed", F, X), ("volatile", F, V)]),
    ("RMW+write read", "add r0 x 1 fn.gpu | st x 5 {0}", "r0=5 x=5", [("relaxed", F, X), ("volatile", F, V)]),
    # A lock: each thread increments what the lock protects.
    ("Lock", "cas r0 l 0 1 {0}; {1}; ?r0==0 ld r1 x {2}; ?r0==0 st x r1+1 {2}; {3}; ?r0==0 {4}"
     " | cas r2 l 0 1 {0}; {1}; ?r2==0 ld r3 x {2}; ?r2==0 st x r3+1 {2}; {3}; ?r2==0 {4}", "r0=0 r1=0 r2=0 r3=0", [
        ("acq+rel", F, "acq.gpu", "", P, "", "st l 0 rel.gpu"),
        ("threadfence+threadfence", F, "fn.gpu", TF, P, TF, "xchg _ l 0 fn.gpu"),
        ("none+threadfence", A, "fn.gpu", "", V, TF, "xchg _ l 0 fn.gpu"),
        ("threadfence+none", A, "fn.gpu", TF, V, "", "xchg _ l 0 fn.gpu"),
        ("threadfence_block+threadfence_block", A, "fn.gpu", TB, V, TB, "xchg _ l 0 fn.gpu"),
        ("threadfence_block+threadfence_block in a block", F, "fn.cta", TB, P, TB, "xchg _ l 0 fn.cta"),
    ]),
    # A lock handed over to a thread that only writes.
    ("Handover", f"st x 1 {X}; {TF}; xchg _ l 1 fn.gpu | cas r0 l 1 2 {{0}}; {{1}}; ?r0==1 st x 2 {X}", "r0=1 x=1", [
        ("threadfence+threadfence", F, "fn.gpu", TF),
        ("threadfence+acq", F, "acq.gpu", ""),
        ("threadfence+none", A, "fn.gpu", ""),
    ]),
    # Rounds that are repeated: a thread reads until what it has read fits. What counts is what the last one reads.
    ("Retry", f"st x 1 {X}; {{0}}; st x 2 {X} | ld r0 x {X}; {{1}}; ld r1 x {X}; again r0==1 r0!=r1", "r0=0 r1=0", [
        ("none+none", A, "", ""),
        ("threadfence+threadfence", A, TF, TF),
        ("fence_acq_rel+fence_acq_rel", A, AR, AR),
    ]),
    ("Wait+SB", f"st x 1 {X}; {{0}}; st y 1 {X} | {{1}}; ld r0 x {X}; {{2}}; ld r1 y {X}; again r1==0", "r0=0 r1=1", [
        ("threadfence+threadfence+none", A, TF, TF, ""),
        ("threadfence+none+none", A, TF, "", ""),
        ("none+threadfence+threadfence", A, "", TF, TF),
    ]),
    ("Wait+MP", f"st x 1 {X}; {{0}}; st y 1 {X} | ld r0 y {X}; {{1}}; ld r1 x {X}; again r0==0", "r0=1 r1=0", [
        ("threadfence+threadfence", F, TF, TF),
        ("threadfence+none", A, TF, ""),
        ("none+threadfence", A, "", TF),
    ]),
    # The last block to arrive reads what the others wrote, as in threadFenceReduction of the CUDA samples.
    ("Last", "st x 1 {0}; {1}; add r0 c 1 fn.gpu | add r1 c 1 fn.gpu; {2}; ?r1==1 ld r2 x {0}", "r1=1 r2=0", [
        ("threadfence+threadfence", F, P, TF, TF),
        ("threadfence+none", A, V, TF, ""),
        ("none+threadfence", A, V, "", TF),
    ]),
]  # fmt: skip


def blocks_of(name: str, threads: int) -> tuple[int, ...]:
    if name.endswith(" in a block"):
        return (0,) * threads
    if name.endswith(")"):
        letters = name[name.rindex("(") + 1 : -1].split()
        return tuple(sorted(set(letters)).index(letter) for letter in letters)
    return tuple(range(threads))


def all_tests() -> list[Test]:
    tests = []
    for shape, program, exists, rows in SHAPES:
        for row, verdict, *gaps in rows:
            threads = parse(program.format(*gaps))
            tests.append(Test(f"{shape}: {row}", threads, blocks_of(row, len(threads)), exists, verdict))
    names = [test.name for test in tests]
    assert len(set(names)) == len(names)
    return tests
