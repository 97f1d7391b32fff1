// Where arrays, cells and threads lie in the picture of memory. It stays the same for all steps of a launch and level.

import type {ArrayFacts, Launch} from "./trace";
import type {Course, Level} from "./timeline";
import {key, stepsOf} from "./timeline";
import type {Mark, View} from "./view";

export const NAME = 24, CELL = 36, CHIP = 17, STEM = 11, GAP = 18, PAD = 4;
export const MOST_CHIPS = 2;
const NARROWEST = 40, WIDEST = 66;
/** The width of a character that can still be read. */
const LETTER = 5.6;
const COMMON_COLUMNS = 40;
/** Arrays of no more places stand beside each other. */
const FEW = 4;

export interface RowPlace {
  array: ArrayFacts;
  first: number;
  last: number;
  /** Where the cell of `first` begins. */
  left: number;
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
    const extent = found.get(array) ?? {readers: 0, is_written: false, arc: 0};
    found.set(array, extent);
    return extent;
  };
  const {course, level} = view;
  for (const step of stepsOf({...view.trace, races: [], failure: null}, [course], level, null)) {
    const readers = new Map<string, number[]>();
    for (const {kind, fact} of course.accesses.slice(step.from, step.to)) {
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
  for (const {array, element} of marks) {
    const facts = launch.arrays.find((one) => one.name === array);
    const is_shown =
        facts && facts.first !== null && facts.last !== null && element >= facts.first && element <= facts.last;
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
  const is_race = view.step.kind === "race";
  const raced = new Set(view.marks.map((mark) => mark.array));
  const shown = ordered(view.course);
  const least = Math.min(...shown.map((array) => array.first ?? 0));
  const is_common = Math.max(...shown.map((array) => array.last ?? 0)) - least < COMMON_COLUMNS;
  const columnOf = (array: ArrayFacts): number => (is_common && !isSmall(array) ? (array.first ?? 0) - least : 0);
  const columns = Math.max(1, ...shown.map((array) => columnOf(array) + count(array)));
  const narrowest = Math.max(NARROWEST, Math.min(WIDEST, 10 + LETTER * longest(view.course)));
  const cell = Math.max(narrowest, Math.min(WIDEST, Math.floor((room - 2 * PAD) / columns)));
  // A race is shown alone: of its array, with the place by itself where that is not among those shown.
  const apart = is_race ? others(view.course.launch, view.marks) : [];
  const arrays = is_race ? [...apart, ...shown.filter((array) => raced.has(array.name))] : shown;
  const rows: RowPlace[] = [];
  let y = 0, right = 0;
  for (const band of bandsOf(arrays, apart, cell, room)) {
    const own = band.map((array) => extents.get(array.name) ?? {readers: 1, is_written: true, arc: 0});
    const most = {
      readers: Math.max(...own.map((extent) => extent.readers)),
      is_written: own.some((extent) => extent.is_written),
      arc: Math.max(...own.map((extent) => (is_race ? 0 : extent.arc))),
    };
    const cells = y + NAME + most.arc + (most.is_written ? CHIP + STEM + 6 : STEM);
    const bottom = cells + CELL + (most.readers ? STEM + most.readers * (CHIP + 2) : 0);
    let left = PAD;
    for (const array of band) {
      const begins = left + (band.length > 1 || apart.includes(array) ? 0 : columnOf(array) * cell);
      rows.push({array, first: array.first ?? 0, last: array.last ?? 0, left: begins, top: y, cells, bottom});
      left += widthOf(array, cell);
      right = Math.max(right, begins + count(array) * cell, band.length > 1 ? left : 0);
    }
    y = bottom + GAP;
  }
  return {width: right + PAD, height: Math.max(y - GAP + 6, 40), cell, rows};
}

/** The length of the longest text that stands in a cell at some time. */
function longest(course: Course): number {
  return Math.max(0, ...course.accesses.map((access) => access.fact.text.length));
}

/** Arrays that stand beside each other, from above. */
function bandsOf(arrays: ArrayFacts[], apart: ArrayFacts[], cell: number, room: number): ArrayFacts[][] {
  const bands: ArrayFacts[][] = [];
  for (const array of arrays) {
    const last = bands[bands.length - 1];
    const used = last?.reduce((sum, one) => sum + widthOf(one, cell), 0) ?? 0;
    const fits = used + widthOf(array, cell) <= room && last?.every(isSmall) && isSmall(array);
    if (last && fits && !apart.includes(array) && !apart.includes(last[0]))
      last.push(array);
    else
      bands.push([array]);
  }
  return bands;
}

function count(array: ArrayFacts): number {
  return (array.last ?? 0) - (array.first ?? 0) + 1;
}

function isSmall(array: ArrayFacts): boolean {
  return count(array) <= FEW && array.space === "shared";
}

/** The room that a small array takes beside others: its cells, or its name with what is said of it. */
function widthOf(array: ArrayFacts, cell: number): number {
  return Math.max(count(array) * cell, array.name.length * 8 + 150) + 16;
}

export type{Extent, Level};
