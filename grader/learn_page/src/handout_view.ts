// The handout: the site's page in a frame, in which no script runs, or its text.

import {h} from "../../stepper/src/dom";
import type {Snapshot} from "./snapshot";

export class HandoutView {
  readonly element = h("section", {class: "lp-handout", id: "handout", "aria-label": "Handout"});
  private shown = "";

  show({handout}: Snapshot): void {
    const key = JSON.stringify(handout);
    if (key === this.shown) return;
    this.shown = key;
    const body = handout.page ?
        h("iframe", {src: handout.page, title: "Handout", sandbox: "allow-same-origin allow-popups"}) :
        h("pre", {class: "lp-markdown", tabindex: "0", "aria-label": "Handout's text"}, handout.text);
    const alone = handout.page ? h("a", {href: handout.page, target: "_blank", rel: "noopener"}, "open alone") : null;
    this.element.hidden = !handout.page && !handout.text;
    this.element.replaceChildren(
        h("div", {class: "lp-handout-head"}, h("h2", {class: "lp-title"}, "Handout"), alone), body);
  }
}
