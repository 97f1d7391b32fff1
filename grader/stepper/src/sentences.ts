// What happens in a step, in words: for those who listen, and for all others a caption.

import type {Write} from "./trace";
import {WARP} from "./timeline";
import {counted, linesOf, listed, named, placeName, capital, sum} from "./words";
import {type Mark, type View, isChosen} from "./view";

/** Where a step is: `Step 3 of 21`, and between which barriers. */
export function whereOf(view: View): string {
  const {step, course} = view;
  const launch = view.courses.length > 1 ? `Launch ${course.launch.number}, ${course.launch.kernel}: ` : "";
  const interval = course.launch.intervals[step.interval];
  if (step.kind === "before") return `${launch}before the kernel`;
  if (step.kind === "failure") return "The end";
  if (!interval) return `${launch}a race`;
  const begins = interval.begins?.line ? ` (line ${interval.begins.line})` : "";
  const none = course.launch.intervals.some((one) => one.barriers) ? "before the first barrier" : "in the kernel";
  const barrier = interval.barriers ? `after barrier ${interval.barriers}${begins}` : none;
  const syncs = interval.warp_syncs ? `, warp sync ${interval.warp_syncs}` : "";
  return `${launch}${barrier}${syncs}`;
}

/** What happens in the step. */
export function whatOf(view: View): string {
  const {step, course, trace} = view;
  const marks = view.marks.filter((mark) => isChosen(view, mark));
  if (step.kind === "before") {
    const arrays = course.launch.before.map((row) => row.array);
    const stands =
        arrays.length ? `${listed(arrays)} ${arrays.length > 1 ? "hold" : "holds"} what stood there before.` : "";
    return `${course.launch.kernel} begins. ${capital(stands)}`.trim();
  }
  if (step.kind === "failure") {
    const cause = trace.failure?.cause;
    const line = cause?.where?.line ? ` in line ${cause.where.line}` : "";
    return `The run ends here${line}: ${cause?.actual || cause?.rationale || "it did not end well"}.`;
  }
  if (step.kind === "race") return raceSentence(view);
  if (!marks.length) return view.thread === null ? "Nothing." : `Thread ${view.thread} reads and writes nothing here.`;
  if (view.level === "barrier") return capital(byKind(marks));
  const threads = new Set(marks.map((mark) => mark.thread));
  if (threads.size === 1) return `${capital(marks.map(one).join("; "))}.`;
  const warps = new Set([...threads].map((thread) => Math.floor(thread / WARP)));
  return `${capital(named("warp", warps))}: ${byKind(marks)}`;
}

function byKind(marks: Mark[]): string {
  const found: string[] = [];
  for (const kind of ["read", "write"] as const) {
    const groups = new Map<string, Mark[]>();
    for (const mark of marks)
      if (mark.kind === kind) groups.set(mark.array, [...(groups.get(mark.array) ?? []), mark]);
    for (const [array, own] of groups) {
      const threads = new Set(own.map((mark) => mark.thread));
      const sums = own.filter((mark) => mark.write?.adds).length;
      const verb = threads.size === 1 ? `${kind}s` : kind;
      found.push(
          `${named("thread", threads)} ${verb} ${array}, in ${linesOf(own.map((mark) => mark.line))}` +
              (sums ? ` (${counted(sums, "sum")})` : ""),
      );
    }
  }
  const odd = marks.find((mark) => mark.write?.odd);
  return `${found.join("; ")}.${odd ? ` ${placeName(odd)} is odd: ${odd.write?.odd}.` : ""}`;
}

function one(mark: Mark): string {
  const place = placeName(mark);
  return mark.kind === "read" ?
      `thread ${mark.thread} reads ${place} in ${linesOf([mark.line])} and finds ${mark.text}` :
      `thread ${mark.thread} writes ${mark.text} to ${place} in ${linesOf([mark.line])}${from(mark.write)}${
          mark.write?.odd ? ` (odd: ${mark.write.odd})` : ""}`;
}

/** `: s_xy[3] + s_xy[5]`, of what a value was made. */
export function from(write: Write|undefined): string {
  if (!write) return "";
  if (!write.sources.length) return write.runs?.length ? ", from registers" : "";
  return `: ${sum(write.sources)}`;
}

function raceSentence(view: View): string {
  const finding = view.step.finding;
  if (!finding) return "";
  const [first, second] = view.marks;
  const does = (mark: Mark): string => {
    const who = mark.thread < 0 ? "a thread" : `thread ${mark.thread}`;
    return `${who} ${mark.kind}s ${placeName(mark)} in ${linesOf([mark.line])}`;
  };
  return `Race (${finding.kind}): ${does(first)}, ${does(second)}; ${finding.advice || "nothing orders them"}.`;
}
