// What is wrong, above all else; and what the trace has to remark, below.

import type {Trace} from "./trace";
import {h} from "./dom";
import type {Course, Step} from "./timeline";
import {linesOf, named, placeName} from "./words";

const MOST_ODD = 8;

/** The findings, each with a button that leads to its step; null where there are none. */
export function findingsView(trace: Trace, courses: Course[], go: (is: (step: Step) => boolean) => void): HTMLElement|
    null {
  const items = trace.races.map((race, at) => {
    const lines = named("line", race.parts.map((part) => part.line));
    return item(
        `Race ${at + 1}: ${race.variable}, ${lines} (${race.kind})`,
        race.text,
        () => go((step) => step.finding === race));
  });
  const cause = trace.failure?.cause;
  if (cause) {
    const title = cause.actual || cause.rationale || "The call did not end well";
    items.push(item(title, causeText(trace), () => go((step) => step.kind === "failure")));
  }
  courses.forEach((course, launch) => {
    const odd = [...course.writes.values()].filter((access) => access.fact.odd);
    if (!odd.length) return;
    const [{at, fact}] = odd;
    const others = odd.slice(1, MOST_ODD).map(({fact: one}) => `${placeName(one)}, ${linesOf([one.line])}: ${one.odd}`);
    const more = odd.length > MOST_ODD ? [`and ${odd.length - MOST_ODD} more`] : [];
    items.push(item(
        `Odd value: ${placeName(fact)}, ${linesOf([fact.line])}, ${fact.odd}`,
        ["It is the first one; what is made of it is odd as well.", ...others, ...more].join("\n"),
        () => go((step) => step.kind === "accesses" && step.launch === launch && step.from <= at && at < step.to)));
  });
  return items.length ? h("section", {class: "st-findings", "aria-label": "What is wrong"}, ...items) : null;
}

function item(title: string, text: string, show: () => void): HTMLElement {
  const mark = h("span", {class: "st-bang-mark", "aria-hidden": "true"}, "!");
  return h(
      "div",
      {class: "st-finding"},
      h("details", {}, h("summary", {}, mark, title), h("pre", {tabindex: "0", "aria-label": title}, text)),
      h("button",
        {type: "button", class: "st-button", click: show, "aria-label": `Show the step: ${title}`},
        "Show the step"),
  );
}

function causeText(trace: Trace): string {
  const cause = trace.failure?.cause;
  if (!cause) return "";
  const compared = cause.expected ? `got ${cause.actual}, expected ${cause.expected}` : "";
  return [cause.headline, cause.expected ? "" : cause.actual, compared, cause.rationale, ...cause.details]
      .filter(Boolean)
      .join("\n");
}

/** Notes of the trace, and what the program has printed. */
export function notesView(trace: Trace): HTMLElement|null {
  const notes = [...trace.notes, ...trace.launches.flatMap((launch) => launch.notes)];
  const parts: Node[] = [];
  if (notes.length) parts.push(h("ul", {}, ...notes.map((note) => h("li", {}, note))));
  if (trace.printed.trim())
    parts.push(h("p", {}, "The program printed:"), h("pre", {tabindex: "0", "aria-label": "Printed"}, trace.printed));
  return parts.length ? h("details", {class: "st-details"}, h("summary", {}, "Remarks"), ...parts) : null;
}
