// The labs as a path, where the learner stands, and what happens now.

import {h} from "../../stepper/src/dom";
import type {Rung, Snapshot} from "./snapshot";

export class HeadView {
  readonly element: HTMLElement;
  private readonly path = h("ol", {class: "lp-path", "aria-label": "Labs"});
  private readonly count = h("span", {class: "lp-count"});
  private readonly title = h("h1", {});
  private readonly file = h("span", {class: "lp-file"});
  private readonly state = h("span", {class: "lp-state", role: "status"});
  private readonly parts = h("nav", {class: "lp-parts", "aria-label": "On this page"});
  private labs = "";

  constructor() {
    this.element =
        h("header",
          {class: "lp-head"},
          h("div", {class: "lp-way"}, h("span", {class: "lp-name"}, "scanlab"), this.path, this.count, this.parts),
          h("div", {class: "lp-bar"}, h("div", {}, this.title, this.file), this.state));
  }

  show(now: Snapshot): void {
    const labs = JSON.stringify(now.labs);
    if (labs !== this.labs) {
      this.path.replaceChildren(...now.labs.map(rung));
      this.count.textContent = `${now.labs.filter((lab) => lab.is_passed).length} of ${now.labs.length} labs passed`;
    }
    this.labs = labs;
    this.title.textContent = `${now.lab.number} ${now.lab.title}`;
    this.file.textContent = now.lab.path + (now.lab.tries ? ` · ${now.lab.tries}` : "");
    document.title = `${sign(now)} ${now.lab.number} ${now.lab.title}`;
    this.element.classList.toggle("is-busy", now.state === "checking" || now.state === "closer");
    this.say(stateText(now));
  }

  /** Links to the parts that there are now. */
  lead(parts: HTMLElement[]): void {
    const names = parts.filter((part) => !part.hidden).map((part) => part.id);
    if (names.join() === [...this.parts.children].map((link) => link.textContent).join()) return;
    this.parts.replaceChildren(...names.map((name) => h("a", {href: `#${name}`}, name)));
  }

  say(text: string): void {
    if (this.state.textContent !== text) this.state.textContent = text;
  }

  end(): void {
    this.element.classList.remove("is-busy");
    this.element.classList.add("is-over");
    document.title = "ended: scanlab learn";
    this.say("The loop in the terminal has ended.");
  }
}

function rung(lab: Rung): HTMLElement {
  const state = [
    lab.is_passed ? "passed" : "",
    lab.is_here ? "this one" : "",
    lab.is_next && !lab.is_here ? "next" : "",
  ].filter(Boolean);
  const names = `${lab.is_passed ? " is-passed" : ""}${lab.is_here ? " is-here" : ""}${lab.is_next ? " is-next" : ""}`;
  const text = `${lab.number} ${lab.title}${lab.tries ? `: ${lab.tries}` : ""}`;
  return h(
      "li",
      {class: `lp-rung${names}`, title: text, ...(lab.is_here ? {"aria-current": "step"} : {})},
      h("span", {"aria-hidden": "true"}, lab.is_passed ? "✓" : `${Number(lab.number)}`),
      h("span", {class: "lp-unseen"}, [text, ...state].join(", ")),
  );
}

function sign(now: Snapshot): string {
  if (now.state === "checking") return "…";
  return now.result ? (now.result.verdict === "pass" ? "✓" : "✗") : "·";
}

function stateText(now: Snapshot): string {
  if (now.state === "checking") return "Checking …";
  if (now.state === "closer") return "Looking closer …";
  if (now.state === "begin") return "Save the file: it is checked at once";
  return now.result ? `Checked in ${now.seconds.toFixed(1)} s. Save to check again` : "Save to check again";
}
