// From a trace to steps: what happens in each, and what memory holds before and after it.

import type {Finding, Instruction, Interval, Launch, Part, Read, Trace, Write} from "./trace";

/** How much one step shows: all between two barriers, one instruction of a warp, or one thread's part of it. */
export const LEVELS = ["barrier", "warp", "thread"] as const;
export type Level = (typeof LEVELS)[number];

export const WARP = 32;

export interface Access {
  kind: "read"|"write";
  /** Its number among those of the launch, in the order in which they are shown. */
  at: number;
  interval: number;
  fact: Read|Write;
}

export interface Step {
  kind: "before"|"accesses"|"race"|"failure";
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

export function isWrite(access: Access): access is Access&{fact: Write} {
  return access.kind === "write";
}

export function key(array: string, element: number): string {
  return `${array}[${element}]`;
}

/** One launch: its accesses in order, and what its places hold. */
export class Course {
  readonly accesses: Access[] = [];
  private readonly before: Memory = new Map();
  readonly writes = new Map<number, Access&{fact: Write}>();

  constructor(readonly launch: Launch) {
    launch.intervals.forEach((interval, at) => {
      const facts = [
        ...interval.reads.map((fact) => ({kind: "read" as const, fact})),
        ...interval.writes.map((fact) => ({kind: "write" as const, fact})),
      ];
      // The sort is stable: what an atomic reads comes before what it writes.
      facts.sort((a, b) => a.fact.order - b.fact.order || a.fact.thread - b.fact.thread);
      for (const one of facts) this.accesses.push({...one, at: this.accesses.length, interval: at});
    });
    for (const access of this.accesses)
      if (isWrite(access)) this.writes.set(access.fact.id, access);
    for (const row of launch.before)
      row.cells.forEach((text, k) => {
        if (text !== null) this.before.set(key(row.array, row.first + k), {text});
      });
  }

  /** What memory holds after the accesses before number `to`. */
  memory(to: number): Memory {
    const found: Memory = new Map(this.before);
    for (const access of this.accesses.slice(0, to))
      if (isWrite(access))
        found.set(key(access.fact.array, access.fact.element), {text: access.fact.text, write: access.fact});
    return found;
  }

  /** What warps do in a step, also at places that are not shown. */
  instructions(step: Step, level: Level): Instruction[] {
    const interval: Interval|undefined = this.launch.intervals[step.interval];
    if (!interval || step.kind !== "accesses") return [];
    if (level === "barrier") return interval.instructions;
    const order = this.accesses[step.from].fact.order;
    const found: Instruction[] = [];
    for (const one of interval.instructions) {
      const k = one.orders.indexOf(order);
      if (k >= 0) found.push({...one, first_warp: one.first_warp + k, orders: [order]});
    }
    return found;
  }
}

/** The steps of a level; `thread` keeps, of the finest steps, that thread's. */
export function stepsOf(trace: Trace, courses: Course[], level: Level, thread: number|null): Step[] {
  const steps: Step[] = [];
  courses.forEach((course, launch) => {
    if (!course.launch.traced) return;
    steps.push({kind: "before", launch, interval: -1, from: 0, to: 0});
    const races = racesOf(trace, course);
    const {accesses} = course;
    const group = (access: Access): string => level === "barrier" ?
        `${access.interval}` :
        `${access.interval} ${access.fact.order}${level === "thread" ? ` ${access.fact.thread}` : ""}`;
    for (let from = 0, to = 0; from < accesses.length; from = to) {
      while (to < accesses.length && group(accesses[to]) === group(accesses[from])) ++to;
      const interval = accesses[from].interval;
      if (level !== "thread" || thread === null || accesses[from].fact.thread === thread)
        steps.push({kind: "accesses", launch, interval, from, to});
      for (const {finding, to: end} of races)
        if (end > from && end <= to) steps.push({kind: "race", launch, interval, from: to, to, finding});
    }
    if (!accesses.length)
      for (const {finding} of races) steps.push({kind: "race", launch, interval: -1, from: 0, to: 0, finding});
  });
  if (trace.failure && courses.length) {
    const launch = courses.length - 1;
    const end = courses[launch].accesses.length;
    steps.push({kind: "failure", launch, interval: courses[launch].launch.intervals.length - 1, from: end, to: end});
  }
  return steps;
}

export interface Race {
  finding: Finding;
  /** The number of accesses after which it is shown. */
  to: number;
  /** Two accesses of the trace that race as the finding says; null where no shown place has them. */
  pair: [Access, Access]|null;
}

/** The races of a launch. */
export function racesOf(trace: Trace, course: Course): Race[] {
  return trace.races.filter((finding) => finding.kernel === course.launch.kernel && finding.parts.length === 2)
      .map((finding) => raceOf(finding, course));
}

/** A race with an example: the finding's own where its place is shown, else one like it. */
function raceOf(finding: Finding, course: Course): Race {
  const marked = course.accesses.filter((access) => access.fact.race && access.fact.array === finding.variable);
  const [firsts, seconds] = finding.parts.map((part) => marked.filter((access) => fits(access, part)));
  const pairs = firsts.flatMap(
      (first) =>
          seconds.filter((second) => meet(course, first, second)).map((second): [Access, Access] => [first, second]),
  );
  const [one, other] = finding.parts.map((part) => part.thread?.[0] ?? -1);
  const own = pairs.find(
      ([first, second]) =>
          first.fact.element === finding.element && first.fact.thread === one && second.fact.thread === other,
  );
  // Where warps race, two lanes of one warp are no good example: they are mostly seen to go in step.
  const is_within = warpOf(one) === warpOf(other);
  const alike = pairs.find(
      ([first, second]) =>
          first.at < second.at && (warpOf(first.fact.thread) === warpOf(second.fact.thread)) === is_within,
  );
  const pair = own ?? alike ?? null;
  const last = pair ? Math.max(...pair.map((access) => access.at)) : pairs[0]?.[1].at;
  return {finding, to: last === undefined ? course.accesses.length : last + 1, pair};
}

function warpOf(thread: number): number {
  return Math.floor(thread / WARP);
}

function fits(access: Access, part: Part): boolean {
  return access.fact.line === part.line &&
      (part.does !== "read" && part.does !== "write" ? true : access.kind === part.does);
}

/** Whether two accesses are of one place between the same barriers, in different threads. */
function meet(course: Course, one: Access, other: Access): boolean {
  const barriers = (access: Access): number => course.launch.intervals[access.interval].barriers;
  return (
      one.fact.thread !== other.fact.thread && one.fact.element === other.fact.element &&
      barriers(one) === barriers(other));
}
