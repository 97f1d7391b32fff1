// What all parts of the stepper show: one step of a trace, and what is chosen.

import type {Finding, Trace, Write} from "./trace";
import {type Access, type Course, type Level, type Memory, type Step, isWrite, racesOf} from "./timeline";

export interface View {
  trace: Trace;
  courses: Course[];
  course: Course;
  steps: Step[];
  index: number;
  step: Step;
  level: Level;
  before: Memory;
  after: Memory;
  marks: Mark[];
  /** What is chosen: a thread's number, and a place as `key` names it. */
  thread: number|null;
  place: string|null;
}

/** A thread that reads or writes a place in this step. */
export interface Mark {
  kind: "read"|"write";
  thread: number;
  array: string;
  element: number;
  line: number;
  text: string;
  race: boolean;
  write?: Write;
}

export function viewOf(
    trace: Trace,
    courses: Course[],
    steps: Step[],
    index: number,
    chosen: {level: Level; thread: number | null; place: string | null},
    ): View {
  const step = steps[index];
  const course = courses[step.launch];
  const [before, after] = [course.memory(step.from), course.memory(step.to)];
  const marks = step.finding ?
      marksOfRace(trace, course, step.finding) :
      course.accesses.slice(step.from, step.to).map((access) => markOf(access, Boolean(access.fact.race)));
  return {trace, courses, course, steps, index, step, before, after, marks, ...chosen};
}

function markOf(access: Access, race: boolean): Mark {
  const {thread, array, element, line, text} = access.fact;
  return {
    kind: access.kind,
    thread,
    array,
    element,
    line,
    text,
    race,
    write: isWrite(access) ? access.fact : undefined
  };
}

function marksOfRace(trace: Trace, course: Course, finding: Finding): Mark[] {
  const race = racesOf(trace, course).find((one) => one.finding === finding);
  if (race?.pair) return race.pair.map((access) => markOf(access, true));
  return finding.parts.map((part) => ({
                             kind: part.does === "read" ? ("read" as const) : ("write" as const),
                             thread: part.thread?.[0] ?? -1,
                             array: finding.variable,
                             element: finding.element ?? 0,
                             line: part.line,
                             text: "",
                             race: true,
                           }));
}

/** Whether a mark is of the chosen thread and place, or nothing is chosen. */
export function isChosen(view: View, mark: Mark): boolean {
  return view.thread === null || view.thread === mark.thread;
}
