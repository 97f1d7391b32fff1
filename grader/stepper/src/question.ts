// What a place will hold next: the question, four answers, and what a learner's own answer means.

import type {Write} from "./trace";
import {type Access, type Course, type Step, isWrite, key} from "./timeline";

const ANSWERS = 4;

export interface Question {
  place: string;
  write: Write;
  answers: string[];
}

/** The question before a step, or null where nothing in it is worth one. */
export function questionOf(course: Course, step: Step): Question|null {
  if (step.kind !== "accesses") return null;
  const last = new Map<string, Write>();
  for (const access of course.accesses.slice(step.from, step.to))
    if (isWrite(access)) last.set(key(access.fact.array, access.fact.element), access.fact);
  const before = course.memory(step.from);
  const asked = [...last].filter(([, write]) => write.adds && isPlain(write.text) && write.sources.length > 0);
  const changed = asked.filter(([place, write]) => before.get(place)?.text !== write.text);
  if (!changed.length) return null;
  // Which one is the same each time, and not always the first.
  const [place, write] = changed[(step.from * 7 + 3) % changed.length];
  return {place, write, answers: answersOf(course, write, before.get(place)?.text)};
}

/** Whether a text says all of a value: no sum that was cut off, and no sign for what is none. */
function isPlain(text: string): boolean {
  return /\d$/.test(text) || text === "id";
}

function answersOf(course: Course, write: Write, old: string|undefined): string[] {
  const right = write.text;
  const found = new Set<string>();
  const add = (text: string|undefined): void => {
    if (text !== undefined && text !== right && isPlain(text) && found.size < ANSWERS - 1) found.add(text);
  };
  // What those find who forget an operand, or take a place beside the right one.
  for (const source of write.sources)
    add(source.write === null ? undefined : course.writes.get(source.write)?.fact.text);
  if (write.runs?.length === 1) {
    const [first, last] = write.runs[0];
    add(run(first + 1, last));
    add(run(Math.max(0, first - 1), last));
    add(`${run(first, last)}+${last}`);
    add(run(first, last + 1));
  }
  add(old);
  const number = Number(right);
  for (let k = 1; found.size < ANSWERS - 1 && k < 9; ++k) add(Number.isNaN(number) ? `${k}` : `${number + k}`);
  const answers = [...found];
  answers.splice((write.id * 5 + write.thread) % (answers.length + 1), 0, right);
  return answers;
}

function run(first: number, last: number): string {
  return first >= last ? `${last}` : `${first}…${last}`;
}

/** An answer in the form of a trace's texts: `x3..x5 + x5` is `3…5+5`. */
export function normal(answer: string): string {
  const plain = answer.toLowerCase().replace(/\s*(\.{2,3}|…|–|-|\bto\b)\s*/g, "…").replace(/[x\s]/g, "");
  const parts = plain.split("+").map((part) => {
    const [first, last] = part.split("…");
    return last !== undefined && first === last ? first : part;
  });
  return parts.join("+").replace(/^identity$/, "id");
}

export type{Access};
