// The history of one place: who wrote it, from what, and in which step.

import {h} from "./dom";
import {from} from "./sentences";
import {isWrite, key} from "./timeline";
import {linesOf} from "./words";

import type {View} from "./view";

export class HistoryView {
  readonly element = h("section", {class: "st-history", hidden: true});

  constructor(private readonly go: (index: number) => void) {}

  show(view: View): void {
    const {place, course, steps} = view;
    this.element.hidden = place === null;
    if (place === null) return;
    const items: HTMLElement[] = [];
    const first = course.memory(0).get(place);
    if (first) items.push(h("li", {}, h("b", {}, first.text), " stood there before the kernel"));
    for (const access of course.accesses) {
      const {fact} = access;
      if (!isWrite(access) || key(fact.array, fact.element) !== place) continue;
      const index = steps.findIndex(
          (step) => step.launch === view.step.launch && step.kind === "accesses" && step.from <= access.at &&
              access.at < step.to);
      const text = [
        h("b", {}, fact.text),
        ` by thread ${fact.thread}, ${linesOf([fact.line])}${from(access.fact)}${fact.race ? " (race)" : ""}`
      ];
      const step = index < 0 ?
          null :
          h("button", {type: "button", class: "st-link", click: () => this.go(index)}, `step ${index}`);
      items.push(h("li", {class: index === view.index ? "is-now" : ""}, ...text, step ? " " : null, step));
    }
    const list = items.length ? h("ol", {}, ...items) : h("p", {class: "st-small"}, "Nothing has been written here.");
    this.element.replaceChildren(h("p", {class: "st-title"}, `What ${place} held`), list);
  }
}
