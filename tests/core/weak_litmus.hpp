// Litmus tests with all outcomes that PTX's memory model allows, by reasoning; load buffering apart, which is not
// shown.
#pragma once

#include "litmus.hpp"

namespace scanlab::test {

struct ExpectedLitmus {
  std::string name;
  Litmus litmus;
  Outcomes allowed;
};

inline std::vector<ExpectedLitmus> weak_litmus() {
  const std::string rlx = "relaxed.gpu", cta = "relaxed.cta", sys = "relaxed.sys", acq = "acquire.gpu",
                    rel = "release.gpu", sc = "sc.gpu", ar = "acq_rel.gpu", ar_cta = "acq_rel.cta", sc_cta = "sc.cta";
  const Outcomes any2{"0 0", "0 1", "1 0", "1 1"}, ordered{"0 0", "0 1", "1 1"};
  std::vector<ExpectedLitmus> all;
  /// Message passing, r1 = flag, r2 = data.
  const auto mp = [&](const std::string& name, int reader_block, const std::string& writer, const std::string& reader,
                      const Outcomes& allowed) {
    all.push_back({name, {{{0, writer}, {reader_block, reader}}, 2, {}}, allowed});
  };
  const auto write = [&](const std::string& data, const std::string& between, const std::string& flag) {
    return st(data, x, 1) + between + st(flag, y, 1);
  };
  const auto read = [&](const std::string& flag, const std::string& between, const std::string& data) {
    return ld(flag, 1, y) + between + ld(data, 2, x);
  };
  mp("MP relaxed", 1, write(rlx, "", rlx), read(rlx, "", rlx), any2);
  mp("MP volatile", 1, write("volatile", "", "volatile"), read("volatile", "", "volatile"), any2);
  mp("MP with fences", 1, write(rlx, fence(ar), rlx), read(rlx, fence(ar), rlx), ordered);
  mp("MP volatile with fence.sc", 1, write("volatile", fence(sc), "volatile"), read("volatile", fence(sc), "volatile"),
     ordered);
  mp("MP release, acquire", 1, write(rlx, "", rel), read(acq, "", rlx), ordered);
  mp("MP fence, acquire", 1, write(rlx, fence(ar), rlx), read(acq, "", rlx), ordered);
  mp("MP release, fence", 1, write(rlx, "", rel), read(rlx, fence(ar), rlx), ordered);
  mp("MP writer's fence only", 1, write(rlx, fence(sc), rlx), read(rlx, "", rlx), any2);
  mp("MP reader's fence only", 1, write(rlx, "", rlx), read(rlx, fence(sc), rlx), any2);
  mp("MP block fences between blocks", 1, write(rlx, fence(ar_cta), rlx), read(rlx, fence(ar_cta), rlx), any2);
  mp("MP one block fence between blocks", 1, write(rlx, fence(ar_cta), rlx), read(rlx, fence(ar), rlx), any2);
  mp("MP block fences in a block", 0, write(rlx, fence(ar_cta), rlx), read(rlx, fence(ar_cta), rlx), ordered);
  mp("MP block accesses in a block", 0, write(cta, fence(ar_cta), cta), read(cta, fence(ar_cta), cta), ordered);
  mp("MP block flag between blocks", 1, write(rlx, fence(ar), cta), read(rlx, fence(ar), rlx), any2);
  mp("MP acquire of a block between blocks", 1, write(rlx, "", rel), read("acquire.cta", "", rlx), any2);
  mp("MP relaxed in a block", 0, write(rlx, "", rlx), read(rlx, "", rlx), any2);
  mp("MP system scope", 1, write(sys, fence("acq_rel.sys"), sys), read(sys, fence("acq_rel.sys"), sys), ordered);
  mp("MP flag exchanged", 1, st(rlx, x, 1) + fence(ar) + "atom.global.exch.b32 %r20, [%out+64], 1;\n",
     atom("global.add", 1, y, 0) + fence(ar) + ld(rlx, 2, x), ordered);
  mp("MP a read, then an acquire of the flag", 1, write(rlx, "", rel), ld(rlx, 1, y) + ld(acq, 20, y) + ld(rlx, 2, x),
     ordered);
  mp("MP a release, then a write of the flag", 1, st(rlx, x, 1) + st(rel, y, 2) + st(rlx, y, 1), read(acq, "", rlx),
     {"0 0", "0 1", "2 1", "1 1"});

  /// Store buffering.
  const auto sb = [&](const std::string& name, int second, const std::string& f, const std::string& g,
                      const Outcomes& allowed) {
    all.push_back({name,
                   {{{0, st(rlx, x, 1) + f + ld(rlx, 1, y)}, {second, st(rlx, y, 1) + g + ld(rlx, 2, x)}}, 2, {}},
                   allowed});
  };
  const Outcomes not_both{"0 1", "1 0", "1 1"};
  sb("SB relaxed", 1, "", "", any2);
  sb("SB acq_rel fences", 1, fence(ar), fence(ar), any2);
  sb("SB fence.sc", 1, fence(sc), fence(sc), not_both);
  sb("SB membar", 1, "membar.gl;\n", "membar.gl;\n", not_both);
  sb("SB one fence.sc", 1, fence(sc), fence(ar), any2);
  sb("SB fence.sc.cta between blocks", 1, fence(sc_cta), fence(sc_cta), any2);
  sb("SB fence.sc.cta and gpu between blocks", 1, fence(sc_cta), fence(sc), any2);
  sb("SB fence.sc.cta in a block", 0, fence(sc_cta), fence(sc_cta), not_both);
  sb("SB fence.sc.cta and gpu in a block", 0, fence(sc_cta), fence(sc), not_both);

  // Coherence.
  all.push_back({"CoRR",
                 {{{0, st(rlx, x, 1) + st(rlx, x, 2)}, {1, ld(rlx, 1, x) + ld(rlx, 2, x)}}, 2, {}},
                 {"0 0", "0 1", "0 2", "1 1", "1 2", "2 2"}});
  all.push_back(
      {"CoWW and CoRW", {{{0, st(rlx, x, 1) + ld(rlx, 1, x)}, {1, st(rlx, x, 2)}}, 1, {x}}, {"1 1", "1 2", "2 2"}});
  all.push_back({"CoRR of two writers",
                 {{{0, st(rlx, x, 1)},
                   {1, st(rlx, x, 2)},
                   {2, ld(rlx, 1, x) + ld(rlx, 2, x)},
                   {3, ld(rlx, 3, x) + ld(rlx, 4, x)}},
                  4,
                  {}},
                 {}});
  for (const char* one : {"0 0", "0 1", "0 2", "1 1", "1 2", "2 1", "2 2"})
    for (const char* other : {"0 0", "0 1", "0 2", "1 1", "1 2", "2 1", "2 2"}) {
      const std::string text = fmt::format("{} {}", one, other);
      if (text != "1 2 2 1" && text != "2 1 1 2") all.back().allowed.insert(text);
    }

  // 2+2W.
  const auto two_writes = [&](const std::string& name, const std::string& f, const Outcomes& allowed) {
    all.push_back(
        {name, {{{0, st(rlx, x, 1) + f + st(rlx, y, 2)}, {1, st(rlx, y, 1) + f + st(rlx, x, 2)}}, 0, {x, y}}, allowed});
  };
  two_writes("2+2W", "", {"1 1", "1 2", "2 1", "2 2"});
  two_writes("2+2W fence.sc", fence(sc), {"1 2", "2 1", "2 2"});

  // Cumulativity: x is written by one thread, passed on by a second, read by a third.
  const auto wrc = [&](const std::string& name, const std::string& f, const std::string& g, const Outcomes& allowed) {
    all.push_back(
        {name,
         {{{0, st(rlx, x, 1)}, {1, ld(rlx, 1, x) + f + st(rlx, y, 1)}, {2, ld(rlx, 2, y) + g + ld(rlx, 3, x)}}, 3, {}},
         allowed});
  };
  const Outcomes any3{"0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 0", "1 1 1"};
  Outcomes causal = any3;
  causal.erase("1 1 0");
  wrc("WRC relaxed", "", "", any3);
  wrc("WRC with fences", fence(ar), fence(ar), causal);
  wrc("WRC without the second fence", fence(ar), "", any3);
  all.push_back({"ISA2",
                 {{{0, st(rlx, x, 1) + fence(ar) + st(rlx, y, 1)},
                   {1, ld(rlx, 1, y) + fence(ar) + st(rlx, z, 1)},
                   {2, ld(rlx, 2, z) + fence(ar) + ld(rlx, 3, x)}},
                  3,
                  {}},
                 causal});
  all.push_back({"ISA2 through a barrier of a block",
                 {{{0, st(rlx, x, 1) + bar()},
                   {0, bar() + fence(ar) + st(rlx, y, 1)},
                   {1, ld(rlx, 1, y) + fence(ar) + ld(rlx, 2, x)}},
                  2,
                  {}},
                 ordered});
  all.push_back({"scopes in turn",
                 {{{0, st(rlx, x, 1) + fence(ar_cta) + st(cta, y, 1)},
                   {0, ld(cta, 1, y) + fence(ar) + st(rlx, z, 1)},
                   {1, ld(rlx, 2, z) + fence(ar) + ld(rlx, 3, x)}},
                  3,
                  {}},
                 causal});

  // Independent reads of independent writes.
  const auto iriw = [&](const std::string& name, const std::string& how, const std::string& f, bool is_forbidden) {
    ExpectedLitmus e{name,
                     {{{0, st(rlx, x, 1)},
                       {1, st(rlx, y, 1)},
                       {2, ld(how, 1, x) + f + ld(how, 2, y)},
                       {3, ld(how, 3, y) + f + ld(how, 4, x)}},
                      4,
                      {}},
                     {}};
    for (int k = 0; k < 16; ++k) e.allowed.insert(fmt::format("{} {} {} {}", k >> 3, k >> 2 & 1, k >> 1 & 1, k & 1));
    if (is_forbidden) e.allowed.erase("1 0 1 0");
    all.push_back(e);
  };
  iriw("IRIW relaxed", rlx, "", false);
  iriw("IRIW acquire", acq, "", false);
  iriw("IRIW acq_rel fences", rlx, fence(ar), false);
  iriw("IRIW fence.sc", rlx, fence(sc), true);

  // Release sequences: the reader sees the second thread's increment of the first one's flag.
  const auto sequence = [&](const std::string& name, const std::string& how, const Outcomes& allowed) {
    all.push_back(
        {name,
         {{{0, st(rlx, x, 1) + st(rel, y, 1)}, {1, atom(how, 1, y, 1)}, {2, ld(acq, 2, y) + ld(rlx, 3, x)}}, 3, {}},
         allowed});
  };
  // r1 = 0: the increment came first, and the store may come after it in modification order, or before it only if it
  // was read: so the last value is 1. 2 is seen only after the release.
  sequence("release sequence", "relaxed.gpu.global.add",
           {"0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 1", "1 2 1"});
  sequence("release sequence broken by a block's scope", "relaxed.cta.global.add",
           {"0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 1", "1 2 0", "1 2 1"});

  // Atomicity.
  all.push_back({"two increments",
                 {{{0, atom("relaxed.gpu.global.add", 1, x, 1)}, {1, atom("relaxed.gpu.global.add", 2, x, 1)}}, 2, {x}},
                 {"0 1 2", "1 0 2"}});
  all.push_back(
      {"an increment that comes before a store in modification order, after it in causality's way",
       {{{0, st(rlx, x, 5) + st(rlx, y, 1)}, {1, ld(rlx, 1, y) + atom("relaxed.gpu.global.add", 2, x, 1)}}, 2, {x}},
       // Never 0 0 1: the store would be between the increment and what that has read.
       {"0 0 5", "0 5 6", "1 0 5", "1 5 6"}});

  // Atomics that change nothing: they read old values, as loads do.
  const std::string poll = "relaxed.gpu.global.add";
  mp("MP polled by atomics", 1, write(rlx, fence(ar), rlx), atom(poll, 1, y, 0) + atom(poll, 2, x, 0), any2);
  mp("MP polled by atomics, with fences", 1, write(rlx, fence(ar), rlx),
     atom(poll, 1, y, 0) + fence(ar) + atom(poll, 2, x, 0), ordered);
  all.push_back({"an atomic that changes nothing, of a location with another one",
                 {{{0, atom(poll, 1, x, 1)}, {1, atom(poll, 2, x, 0) + atom(poll, 3, x, 0)}}, 3, {x}},
                 {"0 0 0 1", "0 0 1 1", "0 1 1 1"}});
  // Each is a write that the other one reads from, if the first of the two releases something.
  const auto sb_by_place = [&](const std::string& name, const std::string& one, const std::string& other,
                               const Outcomes& allowed) { sb("SB, " + name, 1, one, other, allowed); };
  const auto at_z = [](const std::string& how, int value) { return atom(how, 20, z, value); };
  const std::string fails = "atom.acq_rel.gpu.global.cas.b32 %r20, [%out+128], 5, 6;\n",
                    repeats = "atom.acq_rel.gpu.global.cas.b32 %r20, [%out+128], 0, 0;\n";
  sb_by_place("relaxed atomics that change nothing", at_z(poll, 0), at_z(poll, 0), any2);
  sb_by_place("acq_rel atomics that change nothing", at_z("acq_rel.gpu.global.add", 0),
              at_z("acq_rel.gpu.global.add", 0), not_both);
  sb_by_place("a compare-and-swap that fails writes nothing", fails, at_z("acq_rel.gpu.global.add", 0), any2);
  sb_by_place("one that writes what is there", repeats, at_z("acq_rel.gpu.global.add", 0), not_both);
  return all;
}

}  // namespace scanlab::test
