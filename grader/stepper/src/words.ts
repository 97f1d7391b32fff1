// Numbers and names as people read them.

import type {Source} from "./trace";

const MOST_NAMED = 4;

/** `1 thread`, `8 threads`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Numbers as runs: 0, 1, 2, 5 are [0, 2] and [5, 5]. */
export function runsOf(numbers: Iterable<number>): [number, number][] {
  const runs: [number, number][] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last[1] + 1 === number)
      last[1] = number;
    else
      runs.push([number, number]);
  }
  return runs;
}

/** `0–7, 9`; of many runs the first ones. */
export function ranges(numbers: Iterable<number>, most = MOST_NAMED): string {
  const runs = runsOf(numbers);
  const texts = runs.slice(0, most).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return texts.join(", ") + (runs.length > most ? " …" : "");
}

/** `thread 5`, `threads 0–7`. */
export function named(word: string, numbers: Iterable<number>): string {
  const all = new Set(numbers);
  return `${word}${all.size === 1 ? "" : "s"} ${ranges(all)}`;
}

/** `line 5`, `lines 5, 7`; those of other files, which are 0, are `another file`. */
export function linesOf(numbers: Iterable<number>): string {
  const own = [...numbers].filter((line) => line);
  return own.length ? named("line", own) : "another file";
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(texts: string[]): string {
  return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts[texts.length - 1]}`;
}

/** `s_xy[5]` */
export function placeName(of: {array: string; element: number}): string {
  return `${of.array}[${of.element}]`;
}

/** `s_xy[3] + s_xy[5]`; empty where the value has come by registers. */
export function sum(sources: Source[]): string {
  return sources.map(placeName).join(" + ");
}

/** With a capital letter, where it begins with a word and not with a name of the program's. */
export function capital(text: string): string {
  return /^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
