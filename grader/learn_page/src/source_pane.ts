// The learner's file, with what is wrong under its lines.

import {h} from "../../stepper/src/dom";
import {coloured} from "../../stepper/src/tokens";
import type {Failure, Mark, Snapshot} from "./snapshot";

const MOST_NOTES = 4;
const LINES_ABOVE = 6;

export class SourcePane {
  readonly element: HTMLElement;
  private readonly name = h("h2", {class: "lp-title"}, "Your file");
  private readonly pane =
      h("div", {class: "st-source lp-source", tabindex: "0", role: "group", "aria-label": "Source"});
  private lines: HTMLElement[] = [];

  constructor() {
    this.element = h("section", {"aria-label": "Your file"}, this.name, this.pane);
  }

  /** Shows the file; of the same lab it stays where it was scrolled to. */
  show(now: Snapshot, is_same_lab: boolean): void {
    const {scrollTop, scrollLeft} = this.pane;
    const notes = notesOf(now.result?.failures ?? []);
    this.element.hidden = now.source === null;
    this.lines = coloured(now.source ?? "").map((pieces, at) => line(at + 1, pieces, notes.get(at + 1) ?? []));
    this.pane.replaceChildren(h("ol", {class: "st-lines"}, ...this.lines));
    if (is_same_lab) {
      this.pane.scrollTo({top: scrollTop, left: scrollLeft});
      return;
    }
    const first = Math.min(...notes.keys());
    const begins = this.lines.findIndex((one) => one.textContent?.includes(">>> your code"));
    this.scroll(Number.isFinite(first) ? first - 1 : begins);
  }

  /** Shows a line, and leads the keyboard there. */
  goTo(number: number): void {
    this.scroll(number - 1);
    this.pane.focus({preventScroll: true});
    this.element.scrollIntoView({block: "nearest"});
  }

  private scroll(index: number): void {
    const top = this.lines[Math.max(0, index - LINES_ABOVE)];
    if (top) this.pane.scrollTop = top.offsetTop;
  }
}

interface Note {
  is_first: boolean;
  mark: Mark;
}

function line(number: number, pieces: [string, string][], notes: Note[]): HTMLElement {
  const role = notes.find((note) => note.is_first) ? " is-race" : notes.length ? " lp-also" : "";
  return h(
      "li",
      {class: `st-line${role}`},
      h("span", {class: "st-number", "aria-hidden": "true"}, `${number}`),
      h("span", {class: "st-sign", "aria-hidden": "true"}, notes.length ? "!" : ""),
      h("code", {}, ...pieces.map(([kind, text]) => (kind ? h("span", {class: `st-${kind}`}, text) : text))),
      ...notes.slice(0, MOST_NOTES)
          .map(({mark}) => h("span", {class: "st-note"}, h("span", {}, mark.label || "wrong here"))));
}

/** What stands under a line, each text once; the first failure's are marked more strongly. */
function notesOf(failures: Failure[]): Map<number, Note[]> {
  const notes = new Map<number, Note[]>();
  failures.forEach((failure, at) => {
    for (const mark of failure.marks) {
      const own = notes.get(mark.line) ?? [];
      if (!own.some((note) => note.mark.label === mark.label)) own.push({is_first: at === 0, mark});
      notes.set(mark.line, own);
    }
  });
  return notes;
}
