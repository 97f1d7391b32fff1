// Where arrays, cells and threads lie in the picture of memory. It stays the same for all steps of a launch and level.

import type { ArrayFacts, Launch } from "./trace";
import type { Course, Level } from "./timeline";
import { key, stepsOf } from "./timeline";
import type { Mark, View } from "./view";

export const NAME = 24, CELL = 36, CHIP = 17, STEM = 11, GAP = 18, PAD = 4;
export const MOST_CHIPS = 2;
const NARROWEST = 40, WIDEST = 60;
const COMMON_COLUMNS = 40;

export interface RowPlace {
  array: ArrayFacts;
  first: number;
  last: number;
  /** The column of `first`. */
  column: number;
  /** Tops of the name, and of the cells. */
  top: number;
  cells: number;
  bottom: number;
}

export interface Layout {
  width: number;
  height: number;
  cell: number;
  rows: RowPlace[];
}

/** The threads that read a place, in its chips: a few by themselves, many together. */
export function chipsOf(threads: number[]): number[][] {
  const sorted = [...new Set(threads)].sort((a, b) => a - b);
  return sorted.length <= MOST_CHIPS ? sorted.map((thread) => [thread]) : [sorted];
}

export function arcHeight(columns: number): number {
  return 10 + 4 * Math.min(Math.abs(columns), 8);
}

interface Extent {
  readers: number;
  is_written: boolean;
  arc: number;
}

/** The most that any step of the launch needs of each array. */
export function extentsOf(view: View): Map<string, Extent> {
  const found = new Map<string, Extent>();
  const of = (array: string): Extent => {
    const extent = found.get(array) ?? { readers: 0, is_written: false, arc: 0 };
    found.set(array, extent);
    return extent;
  };
  const { course, level } = view;
  for (const step of stepsOf({ ...view.trace, races: [], failure: null }, [course], level, null)) {
    const readers = new Map<string, number[]>();
    for (const { kind, fact } of course.accesses.slice(step.from, step.to)) {
      const extent = of(fact.array);
      if (kind === "read") {
        const at = key(fact.array, fact.element);
        readers.set(at, [...(readers.get(at) ?? []), fact.thread]);
        extent.readers = Math.max(extent.readers, chipsOf(readers.get(at) ?? []).length);
      } else {
        extent.is_written = true;
        if ("sources" in fact)
          for (const source of fact.sources)
            if (source.array === fact.array && source.element !== fact.element)
              extent.arc = Math.max(extent.arc, arcHeight(source.element - fact.element));
      }
    }
  }
  return found;
}

/** Inputs above, what the block shares between, what it writes below. */
function ordered(course: Course): ArrayFacts[] {
  const written = new Set([...course.writes.values()].map((access) => access.fact.array));
  const rank = (array: ArrayFacts): number => (array.space === "shared" ? 1 : written.has(array.name) ? 2 : 0);
  return course.launch.arrays.filter((array) => array.first !== null).sort((a, b) => rank(a) - rank(b));
}

/** Places that a race names and the launch does not show stand by themselves. */
function others(launch: Launch, marks: Mark[]): ArrayFacts[] {
  const found = new Map<string, ArrayFacts>();
  for (const { array, element } of marks) {
    const facts = launch.arrays.find((one) => one.name === array);
    const is_shown = facts && facts.first !== null && facts.last !== null && element >= facts.first && element <= facts.last;
    if (!is_shown)
      found.set(key(array, element), {
        name: array,
        space: facts?.space ?? "global",
        holds: "elements",
        size: facts?.size ?? 0,
        first: element,
        last: element,
      });
  }
  return [...found.values()];
}

export function layoutOf(view: View, extents: Map<string, Extent>, room: number): Layout {
  const { launch } = view.course;
  const arrays = [...ordered(view.course), ...others(launch, view.step.kind === "race" ? view.marks : [])];
  const firsts = arrays.map((array) => array.first ?? 0), lasts = arrays.map((array) => array.last ?? 0);
  const least = Math.min(...firsts, Infinity);
  const is_common = Math.max(...lasts, 0) - least < COMMON_COLUMNS;
  const columns = Math.max(1, ...arrays.map((_, at) => lasts[at] - (is_common ? least : firsts[at]) + 1));
  const cell = Math.max(NARROWEST, Math.min(WIDEST, Math.floor((room - 2 * PAD) / columns)));
  let y = 0;
  const rows = arrays.map((array, at): RowPlace => {
    const extent = extents.get(array.name) ?? { readers: 1, is_written: true, arc: 0 };
    const top = y;
    const cells = top + NAME + extent.arc + (extent.is_written ? CHIP + STEM + 6 : STEM);
    const bottom = cells + CELL + (extent.readers ? STEM + extent.readers * (CHIP + 2) : 0);
    y = bottom + GAP;
    return { array, first: firsts[at], last: lasts[at], column: is_common ? firsts[at] - least : 0, top, cells, bottom };
  });
  return { width: columns * cell + 2 * PAD, height: Math.max(y - GAP + 6, 40), cell, rows };
}

export type { Extent, Level };
