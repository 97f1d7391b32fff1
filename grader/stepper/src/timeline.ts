// From a trace to steps: what happens in each, and what memory holds before and after it.

import type { Finding, Instruction, Interval, Launch, Part, Read, Trace, Write } from "./trace";

/** How much one step shows: all between two barriers, one instruction of a warp, or one thread's part of it. */
export const LEVELS = ["barrier", "warp", "thread"] as const;
export type Level = (typeof LEVELS)[number];

export const WARP = 32;

export interface Access {
  kind: "read" | "write";
  /** Its number among those of the launch, in the order in which they are shown. */
  at: number;
  interval: number;
  fact: Read | Write;
}

export interface Step {
  kind: "before" | "accesses" | "race" | "failure";
  launch: number;
  interval: number;
  /** Accesses of the launch from `from` on, and before `to`, have a part in it. */
  from: number;
  to: number;
  finding?: Finding;
}

export interface Cell {
  text: string;
  /** Who has written it; undefined: it stood there before the kernel. */
  write?: Write;
}

export type Memory = Map<string, Cell>;

export function isWrite(access: Access): access is Access & { fact: Write } {
  return access.kind === "write";
}

export function key(array: string, element: number): string {
  return `${array}[${element}]`;
}

/** One launch: its accesses in order, and what its places hold. */
export class Course {
  readonly accesses: Access[] = [];
  private readonly before: Memory = new Map();
  readonly writes = new Map<number, Access & { fact: Write }>();

  constructor(readonly launch: Launch) {
    launch.intervals.forEach((interval, at) => {
      const facts = [
        ...interval.reads.map((fact) => ({ kind: "read" as const, fact })),
        ...interval.writes.map((fact) => ({ kind: "write" as const, fact })),
      ];
      // The sort is stable: what an atomic reads comes before what it writes.
      facts.sort((a, b) => a.fact.order - b.fact.order || a.fact.thread - b.fact.thread);
      for (const one of facts) this.accesses.push({ ...one, at: this.accesses.length, interval: at });
    });
    for (const access of this.accesses) if (isWrite(access)) this.writes.set(access.fact.id, access);
    for (const row of launch.before)
      row.cells.forEach((text, k) => {
        if (text !== null) this.before.set(key(row.array, row.first + k), { text });
      });
  }

  /** What memory holds after the accesses before number `to`. */
  memory(to: number): Memory {
    const found: Memory = new Map(this.before);
    for (const access of this.accesses.slice(0, to))
      if (isWrite(access)) found.set(key(access.fact.array, access.fact.element), { text: access.fact.text, write: access.fact });
    return found;
  }

  /** What warps do in a step, also at places that are not shown. */
  instructions(step: Step, level: Level): Instruction[] {
    const interval: Interval | undefined = this.launch.intervals[step.interval];
    if (!interval || step.kind !== "accesses") return [];
    if (level === "barrier") return interval.instructions;
    const order = this.accesses[step.from].fact.order;
    const found: Instruction[] = [];
    for (const one of interval.instructions) {
      const k = one.orders.indexOf(order);
      if (k >= 0) found.push({ ...one, first_warp: one.first_warp + k, orders: [order] });
    }
    return found;
  }
}

/** The steps of a level; `thread` keeps, of the finest steps, that thread's. */
export function stepsOf(trace: Trace, courses: Course[], level: Level, thread: number | null): Step[] {
  const steps: Step[] = [];
  courses.forEach((course, launch) => {
    if (!course.launch.traced) return;
    steps.push({ kind: "before", launch, interval: -1, from: 0, to: 0 });
    const races = racesOf(trace, course);
    const shown = new Set<Finding>();
    const { accesses } = course;
    const group = (access: Access): string =>
      level === "barrier"
        ? `${access.interval}`
        : `${access.interval} ${access.fact.order}${level === "thread" ? ` ${access.fact.thread}` : ""}`;
    for (let from = 0, to = 0; from < accesses.length; from = to) {
      while (to < accesses.length && group(accesses[to]) === group(accesses[from])) ++to;
      const interval = accesses[from].interval;
      if (level !== "thread" || thread === null || accesses[from].fact.thread === thread)
        steps.push({ kind: "accesses", launch, interval, from, to });
      for (const race of races) {
        const is_over = race.second ? race.second.at < to : to === accesses.length;
        if (is_over && !shown.has(race.finding)) {
          shown.add(race.finding);
          steps.push({ kind: "race", launch, interval, from: to, to, finding: race.finding });
        }
      }
    }
    for (const { finding } of races)
      if (!shown.has(finding))
        steps.push({ kind: "race", launch, interval: -1, from: accesses.length, to: accesses.length, finding });
  });
  if (trace.failure && courses.length) {
    const launch = courses.length - 1;
    const end = courses[launch].accesses.length;
    steps.push({ kind: "failure", launch, interval: courses[launch].launch.intervals.length - 1, from: end, to: end });
  }
  return steps;
}

export interface Race {
  finding: Finding;
  /** Two accesses of the trace that race as the finding says; undefined where no shown place has them. */
  first?: Access;
  second?: Access;
}

/** Each race of a launch with an example of it: the finding's own where its place is shown, else the first other one. */
export function racesOf(trace: Trace, course: Course): Race[] {
  return trace.races
    .filter((finding) => finding.kernel === course.launch.kernel && finding.parts.length === 2)
    .map((finding) => ({ finding, ...exampleOf(finding, course) }));
}

function exampleOf(finding: Finding, course: Course): { first?: Access; second?: Access } {
  const [one, other] = finding.parts;
  const marked = course.accesses.filter((access) => access.fact.race && access.fact.array === finding.variable);
  const byLine = (part: Part): Access[] => marked.filter((access) => access.fact.line === part.line && fits(access, part));
  let found: { first?: Access; second?: Access } = {};
  const seconds = byLine(other);
  for (const first of byLine(one))
    for (const second of seconds) {
      const meets =
        first.fact.thread !== second.fact.thread &&
        first.fact.element === second.fact.element &&
        barriers(course, first) === barriers(course, second);
      if (!meets) continue;
      const [early, late] = first.at < second.at ? [first, second] : [second, first];
      if (first.fact.element === finding.element && first.fact.thread === one.thread?.[0] && second.fact.thread === other.thread?.[0])
        return { first: early, second: late };
      found = found.first ? found : { first: early, second: late };
    }
  return found;
}

function fits(access: Access, part: Part): boolean {
  return part.does === "read" ? access.kind === "read" : part.does === "write" ? access.kind === "write" : true;
}

function barriers(course: Course, access: Access): number {
  return course.launch.intervals[access.interval].barriers;
}
