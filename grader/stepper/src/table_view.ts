// A step as a table: for those who do not see the picture.

import {h} from "./dom";
import {key} from "./timeline";
import type {View} from "./view";
import {placeName} from "./words";

const MOST_ROWS = 200;

export class TableView {
  readonly element: HTMLDetailsElement;
  private readonly body =
      h("div", {class: "st-box", tabindex: "0", role: "group", "aria-label": "This step as a table"});

  constructor() {
    this.element = h("details", {class: "st-details"}, h("summary", {}, "This step as a table"), this.body);
  }

  show(view: View): void {
    const marks = view.thread === null ? view.marks : view.marks.filter((mark) => mark.thread === view.thread);
    const rows =
        marks.slice(0, MOST_ROWS)
            .map(
                (mark) => h(
                    "tr",
                    {},
                    h("td", {class: "st-num"}, mark.thread < 0 ? "?" : `${mark.thread}`),
                    h("td", {class: "st-num"}, `${mark.line || "?"}`),
                    h("td", {}, `${mark.race ? "! race: " : ""}${mark.kind}s`),
                    h("td", {}, placeName(mark)),
                    h("td", {}, mark.text),
                    h("td",
                      {},
                      mark.kind === "write" ? (view.before.get(key(mark.array, mark.element))?.text ?? "nothing yet") :
                                              ""),
                    h("td", {}, mark.write?.sources.map((source) => placeName(source)).join(" + ") ?? ""),
                    ),
            );
    const head =
        ["thread", "line", "does", "place", "value", "it held", "made of"].map((text) => h("th", {scope: "col"}, text));
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
    const more =
        marks.length > MOST_ROWS ? h("p", {class: "st-small"}, `and ${marks.length - MOST_ROWS} more accesses`) : null;
    this.body.replaceChildren(
        rows.length ? table : h("p", {class: "st-small"}, "Nothing is read or written."), ...(more ? [more] : []));
  }
}
