// The picture of memory: arrays as rows of cells; above a cell who writes it, below who reads it, and from where a
// value has come.

import {svg} from "./dom";
import {arcHeight, CELL, CHIP, chipsOf, extentsOf, layoutOf, STEM} from "./geometry";

import type {Extent, Layout, RowPlace} from "./geometry";
import {key} from "./timeline";
import {type Mark, type View, isChosen} from "./view";
import {counted, linesOf, named, runsOf} from "./words";

export class MemoryView {
  readonly element: HTMLElement;
  private readonly extents = new Map<string, Map<string, Extent>>();

  constructor(private readonly choose: (what: {place?: string; thread?: number}) => void) {
    this.element = document.createElement("div");
    this.element.className = "st-memory";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", "Arrays");
    this.element.addEventListener("click", (event) => {
      const chip = (event.target as Element).closest<SVGElement>("[data-thread]");
      const cell = (event.target as Element).closest<SVGElement>("[data-place]");
      if (chip)
        this.choose({thread: Number(chip.dataset.thread)});
      else if (cell)
        this.choose({place: cell.dataset.place});
    });
  }

  show(view: View, caption: string): void {
    const id = `${view.step.launch} ${view.level}`;
    const extents = this.extents.get(id) ?? extentsOf(view);
    this.extents.set(id, extents);
    const layout = layoutOf(view, extents, this.element.clientWidth || 640);
    const picture = svg("svg", {
      role: "img",
      "aria-label": caption,
      width: layout.width,
      height: layout.height,
      viewBox: `0 0 ${layout.width} ${layout.height}`,
    });
    const drawing = new Drawing(view, layout);
    picture.append(...drawing.wires(), ...layout.rows.flatMap((row) => drawing.row(row)));
    const {scrollLeft} = this.element;
    this.element.replaceChildren(picture);
    if (!layout.rows.length) this.element.replaceChildren("Nothing of this kernel's memory can be drawn.");
    this.element.scrollLeft = scrollLeft;
  }
}

class Drawing {
  private readonly readers = new Map<string, Mark[]>();
  private readonly writers = new Map<string, Mark[]>();

  constructor(private readonly view: View, private readonly layout: Layout) {
    for (const mark of view.marks) {
      const marks = mark.kind === "read" ? this.readers : this.writers;
      const at = key(mark.array, mark.element);
      marks.set(at, [...(marks.get(at) ?? []), mark]);
    }
  }

  row(row: RowPlace): SVGElement[] {
    const {array, first, last} = row;
    const shown = last - first + 1;
    const all = array.size.toLocaleString("en");
    const of = array.size > shown ? (shown === 1 ? `place ${first} of ${all}` : `${shown} of ${all} places`) :
                                    counted(shown, "place");
    const name = svg("text", {class: "st-name", x: row.left, y: row.top + 15}, array.name);
    name.append(svg("tspan", {class: "st-muted", dx: 8}, `${array.space}, ${of}`));
    const parts = [name];
    for (let element = first; element <= last; ++element) parts.push(...this.cell(row, element));
    return parts;
  }

  private x(row: RowPlace, element: number): number {
    return row.left + (element - row.first + 0.5) * this.layout.cell;
  }

  private cell(row: RowPlace, element: number): SVGElement[] {
    const {view} = this;
    const at = key(row.array.name, element);
    const now = view.after.get(at), old = view.before.get(at);
    const writers = this.writers.get(at) ?? [], readers = this.readers.get(at) ?? [];
    const race = [...writers, ...readers].some((mark) => mark.race);
    const width = this.layout.cell - 5, x = this.x(row, element), left = x - width / 2;
    const states = [
      "st-cell",
      !now && "is-empty",
      readers.length > 0 && "is-read",
      writers.length > 0 && "is-written",
      race && "is-race",
      now?.write?.odd && "is-odd",
      view.place === at && "is-chosen",
      view.thread !== null && ![...writers, ...readers].some((mark) => isChosen(view, mark)) && "is-faint",
    ];
    const group = svg("g", {class: states.filter(Boolean).join(" "), "data-place": at});
    group.append(
        svg("title", {}, `${at}: ${now ? now.text : "not written yet"}${now?.write?.odd ? `, ${now.write.odd}` : ""}`),
        svg("rect", {x: left, y: row.cells, width, height: CELL, rx: 5}),
        svg("text", {class: "st-index", x: left + 1, y: row.cells - 3}, `${element}`),
    );
    const is_apart = view.step.kind === "race" && !now;
    const text = now?.text ?? "";
    const is_new = writers.length > 0 && old !== undefined && old.text !== text;
    const y = row.cells + CELL / 2 + (is_new ? 10 : 4.5);
    group.append(
        svg("text", {class: "st-value", x, y, "font-size": fitting(text, width)}, text || (is_apart ? "" : "·")));
    if (is_new)
      group.append(
          svg("text",
              {class: "st-old", x, y: row.cells + 12, "font-size": Math.min(9.5, fitting(old.text, width))},
              old.text));
    const sign = race ? "!" : now?.write?.odd ? "≠" : "";
    if (sign)
      group.append(svg("text", {class: "st-bang", x: left + 4 + 5.5 * `${element}`.length, y: row.cells - 2.5}, sign));
    return [group, ...this.writing(x, row.cells, writers), ...this.reading(x, row.cells + CELL, readers)];
  }

  private writing(x: number, bottom: number, marks: Mark[]): SVGElement[] {
    if (!marks.length) return [];
    const top = bottom - STEM - CHIP;
    const parts = [this.arrow(x, top + CHIP, bottom, marks, "write"), this.chip(x, top, marks, "write")];
    if (marks.some((mark) => mark.write?.adds))
      parts.push(svg("circle", {class: `st-adds${this.states(marks)}`, cx: x, cy: top - 3.5, r: 3.5}));
    return parts;
  }

  private reading(x: number, top: number, marks: Mark[]): SVGElement[] {
    if (!marks.length) return [];
    const chips = chipsOf(marks.map((mark) => mark.thread));
    const parts = [this.arrow(x, top, top + STEM, marks, "read")];
    chips.forEach((threads, at) => {
      const own = marks.filter((mark) => threads.includes(mark.thread));
      parts.push(this.chip(x, top + STEM + at * (CHIP + 2), own, "read"));
    });
    return parts;
  }

  private chip(x: number, top: number, marks: Mark[], kind: "read"|"write"): SVGElement {
    const threads = [...new Set(marks.map((mark) => mark.thread))];
    const text = chipText(threads);
    const width = Math.min(this.layout.cell - 4, 10 + 6.2 * text.length);
    const group = svg("g", {class: `st-chip is-${kind}${this.states(marks)}`, "data-thread": threads[0]});
    const lines = linesOf(marks.map((mark) => mark.line));
    // A race is alone in the picture: there is room to say what each of the two does.
    const says = this.view.step.kind === "race" ? `${kind}s, ${lines}` : "";
    group.append(
        svg("title", {}, `${named("thread", threads)} ${kind}${threads.length === 1 ? "s" : ""}, ${lines}`),
        svg("rect", {x: x - width / 2, y: top, width, height: CHIP, rx: CHIP / 2}),
        svg("text", {x, y: top + 12.2, "font-size": text.length > 6 ? 8.5 : 10.5}, text),
        says && svg("text", {class: "st-says", x: x + width / 2 + 6, y: top + 12.5}, says),
    );
    return group;
  }

  private arrow(x: number, from: number, to: number, marks: Mark[], kind: string): SVGElement {
    const d = `M${x} ${from} V${to - 1} M${x - 3.5} ${to - 5} L${x} ${to - 0.5} L${x + 3.5} ${to - 5}`;
    return svg("path", {class: `st-arrow is-${kind}${this.states(marks)}`, d});
  }

  private states(marks: Mark[]): string {
    const is_chosen = marks.some((mark) => isChosen(this.view, mark));
    return (marks.some((mark) => mark.race) ? " is-race" : "") + (is_chosen ? "" : " is-faint");
  }

  /** From where each value that is written in this step has come. */
  wires(): SVGElement[] {
    if (this.view.step.kind === "race") return [];
    const found: {path: SVGElement; rank: number}[] = [];
    const rows = new Map(this.layout.rows.map((row) => [row.array.name, row]));
    for (const marks of this.writers.values()) {
      const mark = marks[marks.length - 1], to = rows.get(mark.array), write = mark.write;
      if (!to || !write) continue;
      for (const source of write.sources) {
        const from = rows.get(source.array);
        if (!from || source.element < from.first || source.element > from.last) continue;
        if (from === to && source.element === mark.element) continue;
        const race = Boolean(source.race || write.race);
        const states = ["st-wire", write.adds && "is-sum", race && "is-race", !isChosen(this.view, mark) && "is-faint"];
        const d = this.path(from, source.element, to, mark.element);
        found.push({
          path: svg("path", {class: states.filter(Boolean).join(" "), d}),
          rank: Number(race) * 2 + Number(write.adds)
        });
      }
    }
    return found.sort((a, b) => a.rank - b.rank).map(({path}) => path);
  }

  private path(from: RowPlace, source: number, to: RowPlace, target: number): string {
    const xs = this.x(from, source), xt = this.x(to, target);
    const chip = to.cells - STEM - CHIP - 4;
    if (from === to) {
      const side = Math.sign(xt - xs), x1 = xs + side * (this.layout.cell / 2 - 7),
            high = chip - arcHeight(target - source);
      return `M${x1} ${from.cells} C${x1} ${high} ${xt - side * 4} ${high} ${xt} ${chip}`;
    }
    const below = this.under(from, source);
    if (from.cells < to.cells) {
      const bend = Math.max(14, (chip - below) * 0.5);
      return `M${xs} ${below} C${xs} ${below + bend} ${xt} ${chip - bend} ${xt} ${chip}`;
    }
    // From a row below: beside the chips, to the cell's lower edge.
    const start = from.cells, end = this.under(to, target), bend = Math.max(14, (start - end) * 0.5);
    return `M${xs} ${start} C${xs} ${start - bend} ${xt} ${end + bend} ${xt} ${end}`;
  }

  /** The lower end of a cell with those who read it. */
  private under(row: RowPlace, element: number): number {
    const readers = this.readers.get(key(row.array.name, element)) ?? [];
    const chips = chipsOf(readers.map((mark) => mark.thread)).length;
    return row.cells + CELL + (readers.length ? STEM + chips * (CHIP + 2) - 2 : 0);
  }
}

function chipText(threads: number[]): string {
  if (threads[0] < 0) return "t ?";
  if (threads.length === 1) return `t${threads[0]}`;
  const runs = runsOf(threads);
  return runs.length === 1 ? `t${runs[0][0]}–${runs[0][1]}` : `${threads.length} t`;
}

function fitting(text: string, width: number): number {
  return Math.max(6.5, Math.min(13, (width - 4) / (0.61 * Math.max(text.length, 1))));
}
