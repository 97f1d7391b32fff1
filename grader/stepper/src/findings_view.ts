// What is wrong, above all else; and what the trace has to remark, below.

import type { Trace } from "./trace";
import { h } from "./dom";
import type { Step } from "./timeline";

/** The findings, each with a button that leads to its step; null where there are none. */
export function findingsView(trace: Trace, go: (is: (step: Step) => boolean) => void): HTMLElement | null {
  const items = trace.races.map((race, at) =>
    item(`Race ${at + 1}: ${race.kind}, ${race.variable}`, race.text, () => go((step) => step.finding === race)),
  );
  const cause = trace.failure?.cause;
  if (cause)
    items.push(item(cause.rationale || "The call did not end well", causeText(trace), () => go((step) => step.kind === "failure")));
  return items.length ? h("section", { class: "st-findings", "aria-label": "What is wrong" }, ...items) : null;
}

function item(title: string, text: string, show: () => void): HTMLElement {
  return h(
    "details",
    { class: "st-finding" },
    h("summary", {}, h("span", { class: "st-bang-mark", "aria-hidden": "true" }, "!"), title),
    h("pre", { tabindex: "0", "aria-label": title }, text),
    h("button", { type: "button", class: "st-button", click: show }, "Show the step"),
  );
}

function causeText(trace: Trace): string {
  const cause = trace.failure?.cause;
  if (!cause) return "";
  const compared = cause.expected ? `got ${cause.actual}, expected ${cause.expected}` : "";
  return [cause.headline, cause.rationale, compared, ...cause.details].filter(Boolean).join("\n");
}

/** Notes of the trace, and what the program has printed. */
export function notesView(trace: Trace): HTMLElement | null {
  const notes = [...trace.notes, ...trace.launches.flatMap((launch) => launch.notes)];
  const parts: Node[] = [];
  if (notes.length) parts.push(h("ul", {}, ...notes.map((note) => h("li", {}, note))));
  if (trace.printed.trim()) parts.push(h("p", {}, "The program printed:"), h("pre", { tabindex: "0", "aria-label": "Printed" }, trace.printed));
  return parts.length ? h("details", { class: "st-details" }, h("summary", {}, "Remarks"), ...parts) : null;
}
