// How blocks talk to each other: a column for each block, time going down.

import type {Launch, Talk} from "./trace";
import {h} from "./dom";
import type {View} from "./view";
import {linesOf, placeName} from "./words";

export class BlocksView {
  readonly element = h("section", {class: "st-blocks", hidden: true});
  private launch: Launch|null = null;

  show(view: View): void {
    const {launch} = view.course;
    if (launch === this.launch) return;
    this.launch = launch;
    const talks = launch.talks ?? [];
    this.element.hidden = !talks.length;
    const blocks = [...new Set(talks.map((talk) => talk.block))].sort((a, b) => a - b);
    const head = blocks.map(
        (block) => h("th", {scope: "col"}, `block ${block}${block === view.trace.block ? " (this one)" : ""}`));
    const rows = talks.map((talk) => {
      const cells = blocks.map((block) => h("td", {}, ...(block === talk.block ? [mark(talk), ` ${says(talk)}`] : [])));
      return h("tr", {}, ...cells);
    });
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
    this.element.replaceChildren(
        h("p", {class: "st-title"}, "How blocks talk"),
        h("p",
          {class: "st-small"},
          "Where several blocks touch a place of global memory and one of them writes it, time going down."),
        h("div", {class: "st-box", tabindex: "0", role: "group", "aria-label": "How blocks talk"}, table));
  }
}

function mark(talk: Talk): HTMLElement {
  const sign = {read: "r", write: "w", atomic: "rw"}[talk.does];
  return h("b", {class: `st-does is-${talk.does}`, "aria-hidden": "true"}, sign);
}

function says(talk: Talk): string {
  const place = placeName(talk);
  const times = talk.times > 1 ? `, ${talk.times} times` : "";
  const does = {
    read: `reads ${place}: ${talk.text}`,
    write: `writes ${talk.text} to ${place}`,
    atomic: `atomic on ${place}`,
  }[talk.does];
  return `${does} (${linesOf([talk.line])}${times})`;
}
