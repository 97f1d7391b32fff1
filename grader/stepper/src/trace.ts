// The trace as `grader/python/scanlab/trace/model.py` describes it: schema `scanlab-trace`, version 1.

export interface Place {
  file: string;
  line: number;
}

export interface ArrayFacts {
  name: string;
  space: "shared"|"global";
  holds: "elements"|"numbers";
  size: number;
  first: number|null;
  last: number|null;
}

export interface Read {
  thread: number;
  array: string;
  element: number;
  line: number;
  order: number;
  text: string;
  write: number|null;
  race?: boolean;
}

export interface Source {
  array: string;
  element: number;
  write: number|null;
  race?: boolean;
}

export interface Write {
  id: number;
  thread: number;
  array: string;
  element: number;
  line: number;
  order: number;
  text: string;
  runs: [number, number][]|null;
  adds: boolean;
  sources: Source[];
  odd?: string;
  race?: boolean;
}

export interface Row {
  array: string;
  first: number;
  cells: (string|null)[];
}

export interface Instruction {
  line: number;
  does: "read"|"write"|"atomic";
  array: string;
  first_warp: number;
  orders: number[];
  lanes: number;
  bytes: number;
  replays: number;
  sectors: number;
  least_sectors: number;
}

export interface Interval {
  barriers: number;
  warp_syncs: number;
  begins: Place|null;
  reads: Read[];
  writes: Write[];
  instructions: Instruction[];
}

export interface Talk {
  block: number;
  thread: number;
  line: number;
  does: "read"|"write"|"atomic";
  array: string;
  element: number;
  text: string;
  times: number;
}

export interface Launch {
  number: number;
  kernel: string;
  grid: [number, number, number];
  block_size: [number, number, number];
  traced: boolean;
  arrays: ArrayFacts[];
  before: Row[];
  intervals: Interval[];
  idle_threads: number;
  notes: string[];
  replays?: number;
  sectors?: number;
  least_sectors?: number;
  talks?: Talk[];
}

export interface Part {
  does: string;
  who: string;
  file: string;
  line: number;
  thread: [number, number, number]|null;
}

export interface Finding {
  id: string;
  headline: string;
  kernel: string;
  variable: string;
  element: number|null;
  kind: string;
  parts: Part[];
  details: string[];
  advice: string;
  text: string;
}

export interface Cause {
  headline: string;
  rationale: string;
  expected: string;
  actual: string;
  where: {file: string; line: number; thread: [number, number, number] | null}|null;
  details: string[];
}

export interface Trace {
  lab: string;
  source: string;
  entry: string;
  element: "affine"|"float";
  n: number;
  block: number;
  launches: Launch[];
  races: Finding[];
  failure: {verdict: string; cause: Cause}|null;
  printed: string;
  notes: string[];
}
