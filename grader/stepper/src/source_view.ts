// The learner's file: lines of this step are marked, and findings stand under theirs.

import type {Trace} from "./trace";
import {h} from "./dom";
import {coloured} from "./tokens";
import type {View} from "./view";
import {named} from "./words";

type Role = "read"|"write"|"both"|"barrier"|"race";
const SIGNS: Record<Role, [string, string]> = {
  read: ["r", "reads"],
  write: ["w", "writes"],
  both: ["rw", "reads and writes"],
  barrier: ["▬", "barrier"],
  race: ["!", "race"],
};

export class SourceView {
  readonly element: HTMLElement;
  private readonly lines: HTMLElement[] = [];
  private readonly signs: HTMLElement[] = [];

  constructor(trace: Trace, source: string) {
    const list = h("ol", {class: "st-lines"});
    const notes = notesOf(trace);
    coloured(source).forEach((pieces, at) => {
      const sign = h("span", {class: "st-sign"});
      const code =
          h("code", {}, ...pieces.map(([kind, text]) => (kind ? h("span", {class: `st-${kind}`}, text) : text)));
      const line =
          h("li", {class: "st-line"}, h("span", {class: "st-number", "aria-hidden": "true"}, `${at + 1}`), sign, code);
      for (const note of notes.get(at + 1) ?? []) line.append(h("span", {class: "st-note"}, h("span", {}, note)));
      this.lines.push(line);
      this.signs.push(sign);
      list.append(line);
    });
    this.element =
        h("div", {class: "st-source", tabindex: "0", role: "group", "aria-label": `Source, ${trace.source}`}, list);
  }

  show(view: View): void {
    const roles = rolesOf(view);
    const strong =
        view.thread === null ? null : new Set(view.marks.filter((m) => m.thread === view.thread).map((m) => m.line));
    this.lines.forEach((line, at) => {
      const role = roles.get(at + 1);
      line.className = `st-line${role ? ` is-${role}` : ""}${role && strong && !strong.has(at + 1) ? " is-faint" : ""}`;
      if (role)
        line.setAttribute("aria-current", "step");
      else
        line.removeAttribute("aria-current");
      this.signs[at].textContent = role ? SIGNS[role][0] : "";
      this.signs[at].title = role ? SIGNS[role][1] : "";
    });
    const busy = [...roles].filter(([, role]) => role !== "barrier").map(([line]) => line);
    const kernel = this.lines.findIndex((line) => line.textContent?.includes(`${view.course.launch.kernel}(`));
    this.scrollTo(busy.length || view.step.kind !== "before" ? busy : [kernel + 1]);
  }

  /** Scrolls the file alone, never the page. */
  private scrollTo(numbers: number[]): void {
    if (!numbers.length) return;
    const [first, last] = [this.lines[Math.min(...numbers) - 1], this.lines[Math.max(...numbers) - 1]];
    if (!first || !last) return;
    const top = first.offsetTop, bottom = last.offsetTop + last.offsetHeight, room = this.element.clientHeight;
    const {scrollTop} = this.element;
    if (top < scrollTop + 8 || bottom > scrollTop + room - 8)
      this.element.scrollTop = Math.max(0, Math.min((top + bottom - room) / 2, top - 24));
  }
}

function rolesOf(view: View): Map<number, Role> {
  const roles = new Map<number, Role>();
  const add = (line: number, role: Role): void => {
    const before = roles.get(line);
    roles.set(line, before && before !== role && before !== "race" ? "both" : role);
  };
  const {step, course, trace} = view;
  if (step.kind === "failure") {
    const line = trace.failure?.cause.where?.line;
    if (line) roles.set(line, "race");
    return roles;
  }
  if (step.kind === "race") {
    for (const mark of view.marks) roles.set(mark.line, "race");
    return roles;
  }
  for (const mark of view.marks) add(mark.line, mark.kind);
  for (const one of course.instructions(step, view.level)) add(one.line, one.does === "atomic" ? "both" : one.does);
  const begins = course.launch.intervals[step.interval]?.begins?.line;
  if (begins && view.level === "barrier" && !roles.has(begins)) roles.set(begins, "barrier");
  roles.delete(0);
  return roles;
}

/** What stands under a line: each text once, with the numbers of the races that say it. */
function notesOf(trace: Trace): Map<number, string[]> {
  const notes = new Map<number, Map<string, number[]>>();
  const add = (line: number, text: string, number?: number): void => {
    const own = notes.get(line) ?? new Map<string, number[]>();
    notes.set(line, own.set(text, [...(own.get(text) ?? []), ...(number ? [number] : [])]));
  };
  trace.races.forEach(
      (race, at) => race.parts.forEach((part, k) => {
        const other = race.parts[1 - k];
        const meets = other && other.line !== part.line ? ` meets line ${other.line}` : "";
        add(part.line, `this ${part.does} of ${race.variable}${meets}`, at + 1);
      }),
  );
  const cause = trace.failure?.cause;
  if (cause?.where) add(cause.where.line, cause.actual || cause.rationale);
  const shown = ([text, numbers]: [string, number[]]): string =>
      `! ${numbers.length ? `${named("race", numbers)}: ` : ""}${text}`;
  return new Map([...notes].map(([line, texts]) => [line, [...texts].map(shown)]));
}
