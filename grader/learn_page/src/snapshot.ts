// What the server sends: `grader/python/scanlab/learn/snapshot.py`. Its texts are a learner's and their program's.

export interface Rung {
  number: string;
  title: string;
  tries: string;
  is_passed: boolean;
  is_here: boolean;
  is_next: boolean;
}

export interface Mark {
  line: number;
  role: "read"|"write"|"other";
  label: string;
}

export interface Failure {
  kind: string;
  headline: string;
  says: string;
  facts: string[];
  words: string[];
  cure: string;
  marks: Mark[];
  tried: string;
  check: string;
  again: string;
  outputs: {head: string[]; rows: {cells: string[]; is_wrong: boolean}[]}|null;
}

export interface Check {
  title: string;
  verdict: string;
  points: string;
  remark: string;
  counter: string;
  count: number|null;
  n: number|null;
  at_least: number|null;
  at_most: number|null;
}

export interface Result {
  verdict: string;
  points: string;
  max_points: string;
  passed: number;
  run: number;
  device: string;
  failures: Failure[];
  more: number;
  advice: Failure[];
  proved: {sentence: string; checks: string[]}[];
  warnings: string[];
  printed: string[];
  checks: Check[];
}

export interface Snapshot {
  labs: Rung[];
  lab: {name: string; number: string; title: string; summary: string; path: string; tries: string};
  state: "begin"|"checking"|"closer"|"checked"|"trouble"|"gone";
  seconds: number;
  trouble: string;
  source: string|null;
  result: Result|null;
  hints: {texts: string[]; total: number};
  steps: {number: number; is_made: boolean; why: string};
  handout: {name: string; page: string; text: string};
  next: {number: string; title: string; summary: string}|null;
  difference: [string, string][]|null;
}
