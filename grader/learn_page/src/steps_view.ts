// The stepper, with the steps of the learner's own kernel.

import {h} from "../../stepper/src/dom";
import type {Stepper} from "../../stepper/src/stepper";
import type {Snapshot} from "./snapshot";

/** What stepper.js defines, which the page loads before this script. */
declare const scanlabStepper: typeof import("../../stepper/src/index");

export class StepsView {
  readonly element: HTMLElement;
  private readonly about = h("p", {class: "lp-small", "aria-live": "polite"});
  private readonly place = h("div", {});
  private stepper: Stepper|null = null;
  private number = 0;

  constructor() {
    this.element =
        h("section",
          {class: "lp-section", id: "steps", "aria-label": "Steps of your kernel", hidden: true},
          h("h2", {class: "lp-title"}, "Your kernel, step by step"),
          this.about,
          this.place);
  }

  /** Shows the steps of this version; until they are there, those of the one before, of the same lab, stay. */
  show(now: Snapshot, is_same_lab: boolean): void {
    const {number, is_made, why} = now.steps;
    if (!is_same_lab || why || now.state === "begin" || now.state === "gone") this.clear();
    this.element.hidden = !this.stepper && !why && !is_made && !number;
    this.place.classList.toggle("is-old", !number);
    this.say(
        number      ? "Your kernel on 16 inputs that are all different. Inside, the arrow keys step." :
            why     ? why :
            is_made ? "Tracing this version …" :
                      "The steps of the version before; those of this one follow the check.");
    if (number && number !== this.number) void this.load(number);
  }

  private async load(number: number): Promise<void> {
    this.number = number;
    try {
      const answer = await fetch(`steps/${number}`);
      // Another version may have come meanwhile; its own snapshot loads its steps.
      if (!answer.ok || this.number !== number) return;
      const {trace, source} = await answer.json();
      if (this.number !== number) return;
      const chosen = this.stepper?.chosen ?? {};
      this.stepper?.destroy();
      this.stepper = scanlabStepper.mount(this.place, trace, source, chosen);
    } catch {
      this.number = 0;  // the next snapshot tries again
    }
  }

  private clear(): void {
    this.stepper?.destroy();
    this.stepper = null;
    this.number = 0;
  }

  private say(text: string): void {
    if (this.about.textContent !== text) this.about.textContent = text;
  }
}
